//! Performance-difference bounds: how much one policy can exceed another. Uncertainty common to both policies cancels.
//!
//! For any policies π' and π (V' the value of π', q' what a cause is worth if π' is followed afterwards),
//!
//! ```text
//! V'_h(s) − V^π_h(s) = Σ_c (P(c | s, π') − P(c | s, π)) q'_h(s, c) − cost' + cost + Σ_c P(c | s, π) p(· | s, c)·(V' − V^π)_{h+1}.
//! ```
//!
//! The last term is bounded by the optimistic member for the bound one stage ahead; the first by the sets in two ways, of which the
//! smaller counts. With d_c the difference of the probabilities: (1) q' between its own bounds, Σ d⁺ q_up − d⁻ q_low; (2) with V'
//! ahead within w of m up to a constant (`relative.rs`), which cancels since Σ_c d_c = 0,
//!
//! ```text
//! Σ_c d_c (r_c + p_c·V') ≤ Σ_c d⁺ (r_c + p_c·m)_up − d⁻ (r_c + p_c·m)_low + Σ_y w(y) max |Σ_c d_c p_c(y)|,
//! ```
//!
//! where the maximum is over the sets: next states that all causes lead to alike cancel in it. For the best policy, the greatest
//! over all interventions that can still be best; the bound is never above up − low.
//!
//! Where episodes end, later steps count less or arriving somewhere pays, V' ahead is what next states are worth to a step,
//! u(y) = arrival(y) + γ 1{y has not ended} V'(y), and the difference ahead counts γ 1{y has not ended} times.

use super::joint_set::Together;
use super::random::AtRandom;
use super::relative::Relative;
use super::step::{Ahead, Effect, Ends, Here, Joint, RowsOf, Wrapper, sparse};
use super::{Certificate, SETS};
use crate::learn::belief::{Belief, Estimator};
use crate::learn::options::Options;
use crate::learn::selector::Selector;
use crate::learn::tabular::Tabular;
use crate::learn::{LearnResult, Plans};
use crate::plan::{Buffers, Chooser, Follow, Lookahead, Plan, Ties, backward_induction};
use crate::tolerance::STAGE_VALUE;
use crate::world::Action;

/// Most interventions of a state that are compared one by one.
const MOST_CORNERS: usize = 1 << 12;

/// Most numbers for the effects of all compared interventions.
const MOST_EFFECTS: usize = 1 << 23;

/// Most multiplications for comparing next states in a certificate: about a second.
const MOST_WORK: u128 = 1 << 30;

/// Optimistic and pessimistic estimates from a learner's evidence, for comparing policies.
pub(crate) struct Difference<'a> {
    pub(super) tabular: &'a Tabular,
    delta: f64,
    /// The optimistic estimate for the values of reference policies, which do not depend on the data. For whole
    /// states, these sets are much smaller than those below.
    pub(super) best: Belief,
    pub(super) worst: Belief,
    /// The optimistic estimate over sets that hold for whole rows, so for every function and policy.
    whole_best: Belief,
    pub(super) whole_worst: Belief,
    pub(super) best_selector: Selector,
    pub(super) worst_selector: Selector,
    /// The optimistic plan, an upper bound on the optimal value; the pessimistic plan is a lower bound.
    pub(super) up: Plan,
    pub(super) low: Plan,
    /// Least remaining reward at each stage, and one after the last.
    pub(super) floors: Vec<f64>,
    /// The interventions that can be optimal, for every state, if they are few enough.
    pub(super) corners: Option<Vec<Vec<Effect>>>,
    /// Bounds of single probabilities, `[block][factor]`, if the work is affordable.
    pub(super) entries: Vec<Vec<[Vec<f64>; 2]>>,
    /// Joint confidence sets of the rows of each state, if they apply.
    pub(super) together: Option<Together>,
    /// δ of these sets.
    delta_together: f64,
    /// The random policy, if its effect is known exactly.
    pub(super) random: Option<AtRandom>,
    /// Upper bounds on the values of configurations under the optimal continuation, `[stage][state][cause]`; empty if
    /// interventions are not compared.
    q_up: Vec<Vec<f64>>,
    /// Relative values of the optimal and of the random policy. With terminal states there are two each, one with the
    /// constant 0 throughout.
    pub(super) relative: [Vec<Relative>; 2],
}

/// The reference policy of a comparison.
#[derive(Clone, Copy)]
pub(super) enum Other {
    Best = 0,
    Random = 1,
}

impl<'a> Difference<'a> {
    /// Prepares comparisons with the optimal policy and with the random policy.
    pub(crate) fn new(tabular: &'a Tabular, options: &Options) -> LearnResult<Difference<'a>> {
        let mut difference = Difference::read(tabular, options, Some(2))?;
        difference.corners = difference.list_corners();
        difference.entries = difference.list_entries();
        difference.together = difference.list_together();
        if difference.corners.is_some() {
            difference.q_up = (0..difference.up.horizon).map(|stage| difference.greatest_q(stage)).collect();
        }
        difference.random = difference.at_random();
        for other in [Other::Best, Other::Random] {
            difference.relative[other as usize] = difference.all_relative_values(other);
        }
        Ok(difference)
    }

    /// Optimistic and pessimistic estimates and plans from the evidence; `values` fixed value functions are bounded.
    pub(super) fn read(tabular: &'a Tabular, options: &Options, values: Option<usize>) -> LearnResult<Difference<'a>> {
        let delta = options.delta;
        // If there are two kinds of sets, each may fail with half of the probability.
        let two = tabular.view().layout.flat || Together::fits(tabular.view());
        // Forms are not used here: sets hold for every row of a mechanism, of which there are more than parameters.
        let rows = tabular.view().rows() as f64 / tabular.view().rows_alone() as f64;
        let delta_of_each = options.delta * if two { 0.5 } else { 1.0 } * rows.min(1.0);
        let options = &Options { delta: delta_of_each, ..options.clone() };
        let [mut best, mut worst] = [Estimator::Optimistic(SETS), Estimator::Pessimistic(SETS)]
            .map(|r| tabular.belief_with(r, options, values).without_forms());
        let (best_selector, worst_selector) = (tabular.draw(&mut best, 0)?, tabular.draw(&mut worst, 0)?);
        let [mut whole_best, mut whole_worst] = [Estimator::Optimistic(SETS), Estimator::Pessimistic(SETS)]
            .map(|r| tabular.belief_with(r, options, None).without_forms());
        tabular.draw(&mut whole_best, 0)?;
        tabular.draw(&mut whole_worst, 0)?;
        let [up, low] = [(&mut best, &best_selector), (&mut worst, &worst_selector)].map(|(belief, selector)| {
            let mut plan = Plan::new(tabular.plan().horizon, tabular.plan().n_states);
            let (ties, mut buffers) = (Ties::First, Buffers::default());
            backward_induction(belief, selector, tabular.tolerance(), ties, &mut buffers, &mut plan);
            plan
        });
        let (knowledge, horizon) = (tabular.knowledge(), up.horizon);
        let [least, _] = knowledge.world().step_range();
        let floors = (0..=horizon).map(|stage| (horizon - stage) as f64 * least).collect();
        let mut difference = Difference {
            tabular,
            delta,
            best,
            worst,
            whole_best,
            whole_worst,
            best_selector,
            worst_selector,
            up,
            low,
            floors,
            corners: None,
            entries: Vec::new(),
            together: None,
            delta_together: options.delta,
            random: None,
            q_up: Vec::new(),
            relative: Default::default(),
        };
        raise(&mut difference.low.value_hs, &difference.floors, difference.up.n_states);
        Ok(difference)
    }

    /// The pessimistic plan.
    pub(crate) fn worst_plan(&self) -> &Plan {
        &self.low
    }

    /// The certificate of an allowed policy.
    pub(crate) fn certify(&mut self, policy_hs: Vec<Action>) -> Certificate {
        let n = self.up.n_states;
        let least = self.follow_worst(&policy_hs);
        let gap = self.excess(Other::Best, &policy_hs, &least);
        let above = self.random.is_some().then(|| self.excess(Other::Random, &policy_hs, &least));
        let off = self.rounding();
        let [at_least_s, best_at_most_s] =
            [(&least, -off), (&self.up.value_hs, off)].map(|(v, off)| v[..n].iter().map(|v| v + off).collect());
        Certificate {
            delta: self.delta,
            at_least_s,
            best_at_most_s,
            gap_s: gap.iter().map(|x| x + 2.0 * off).collect(),
            above_random_s: above.map(|excess| excess.iter().map(|x| -x - 2.0 * off).collect()),
            rounding: 2.0 * off,
            evidence: self.tabular.evidence.fingerprint(),
            policy_hs,
        }
    }

    /// Rounding error of the values; zero if there is only one policy.
    fn rounding(&self) -> f64 {
        let only_one = self.corners.as_ref().is_some_and(|corners| corners.iter().all(|effects| effects.len() == 1));
        let largest = self.best.caps().iter().chain(&self.floors).fold(0.0, |most: f64, v| most.max(v.abs()));
        if only_one { 0.0 } else { STAGE_VALUE * self.up.horizon as f64 * largest }
    }

    /// Pessimistic value of a policy, `[stage][state]`.
    pub(super) fn follow_worst(&mut self, policy_hs: &[Action]) -> Vec<f64> {
        let mut plan = Plan::new(self.up.horizon, self.up.n_states);
        let mut follow = Follow::default();
        follow.decode(&self.worst_selector, policy_hs);
        let following = follow.through(&self.worst_selector, plan.n_states);
        backward_induction(&mut self.whole_worst, &following, 0.0, Ties::First, &mut Buffers::default(), &mut plan);
        raise(&mut plan.value_hs, &self.floors, plan.n_states);
        plan.value_hs
    }

    /// Upper bound on V' − V^π at the first stage; `least` is a lower bound on the value of π.
    fn excess(&mut self, other: Other, policy_hs: &[Action], least: &[f64]) -> Vec<f64> {
        let n = self.up.n_states;
        let n_causes = self.best_selector.n_causes();
        let mut excess = vec![0.0; n];
        let (mut ahead, mut joint, mut d, mut roll) = (Ahead::default(), Joint::default(), Vec::new(), Vec::new());
        // If interventions cannot be compared one by one, only the two bounds remain.
        let compared = self.compares(other);
        for stage in (0..self.up.horizon).rev() {
            if compared {
                self.look_ahead(other, stage, &mut ahead);
                self.whole_best.expect_difference(stage, &excess, &mut roll);
            }
            let [up, _] = self.interval(other, stage);
            for (state, excess) in excess.iter_mut().enumerate() {
                if self.has_ended(state) {
                    *excess = 0.0;
                    continue;
                }
                let (at, cells) = (stage * n + state, state * n_causes..(state + 1) * n_causes);
                let plain = up[state] - least[at];
                *excess = plain;
                if !compared {
                    continue;
                }
                self.fill_joint(stage, state, &mut joint);
                let own = self.effect(state, policy_hs[at]);
                let rows = self.rows_together(stage, state);
                let mut here = Here { ahead: &ahead, cells: cells.clone(), joint: &mut joint, d: &mut d, rows };
                let gain = match other {
                    Other::Random => here.gain(self.random_effect(state), &own),
                    Other::Best => self.can_be_best(stage, state).map(|a| here.gain(a, &own)).fold(0.0, f64::max),
                };
                *excess = plain.min(gain + own.later(&roll[cells]));
            }
        }
        if let Other::Best = other {
            excess.iter_mut().for_each(|x| *x = x.max(0.0));
        }
        excess
    }

    /// Whether a state is terminal, so that every policy has value 0 there.
    pub(super) fn has_ended(&self, state: usize) -> bool {
        self.best.ended().is_some_and(|ended| ended[state])
    }

    /// The joint confidence set of a state's rows, if there is one.
    pub(super) fn rows_together(&self, stage: usize, state: usize) -> Option<RowsOf<'_>> {
        let block = self.tabular.view().block(stage);
        self.together.as_ref().map(|together| RowsOf { together, block, state })
    }

    fn greatest_q(&mut self, stage: usize) -> Vec<f64> {
        let (n, mut q) = (self.up.n_states, Vec::new());
        self.best.look(stage, &self.up.value_hs[(stage + 1) * n..(stage + 2) * n], &mut q);
        q
    }

    /// The interventions that can be optimal in a state at a stage: their upper bounds reach the lower bound of the
    /// optimum.
    pub(super) fn can_be_best(&self, stage: usize, state: usize) -> impl Iterator<Item = &Effect> {
        let (n, low) = (self.up.n_states, &self.low.value_hs);
        let n_causes = self.best_selector.n_causes();
        let q_up = self.q_up.get(stage).map_or(&[][..], |q| &q[state * n_causes..][..n_causes]);
        let least = low[stage * n + state] - self.tabular.tolerance();
        let corners = self.corners.as_ref().map_or(&[][..], |corners| &corners[state]);
        corners.iter().filter(move |a| a.mean(q_up) >= least)
    }

    pub(super) fn compares(&self, other: Other) -> bool {
        match other {
            Other::Best => self.corners.is_some(),
            Other::Random => self.random.is_some(),
        }
    }

    /// Bounds on the value of the reference policy at a stage: upper, and lower.
    pub(super) fn interval(&self, other: Other, stage: usize) -> [&[f64]; 2] {
        let n = self.up.n_states;
        let [up, low] = match (other, &self.random) {
            (Other::Random, Some(random)) => [&random.up, &random.low],
            (Other::Best, _) | (Other::Random, None) => [&self.up.value_hs, &self.low.value_hs],
        };
        [&up[stage * n..(stage + 1) * n], &low[stage * n..(stage + 1) * n]]
    }

    /// Values of configurations at a stage under the reference policy's continuation.
    pub(super) fn look_ahead(&mut self, other: Other, stage: usize, ahead: &mut Ahead) {
        let [up, low] = self.interval(other, stage + 1).map(<[f64]>::to_vec);
        ahead.reward = [&self.best, &self.worst].map(|belief| belief.rewards().to_vec());
        let cap = self.best.caps()[stage];
        ahead.q = [look(&mut self.best, stage, &up), look(&mut self.worst, stage, &low)];
        ahead.q[0].iter_mut().for_each(|q| *q = q.min(cap));
        ahead.around.clear();
        for i in 0..self.relative[other as usize].len() {
            let relative = &self.relative[other as usize][i];
            let [middle, half] = relative.at(stage + 1, self.up.n_states).map(<[f64]>::to_vec);
            let constant = relative.constant(stage + 1);
            ahead.around.push(Wrapper {
                middle_up: look(&mut self.best, stage, &middle),
                middle_low: look(&mut self.worst, stage, &middle),
                middle: self.best.worth_of(&middle),
                half: self.best.later_of(&half),
                constant,
                goes_on: self.goes_on(stage, constant),
            });
        }
    }

    /// The weight of a constant of the next stage, if it depends on the next state.
    pub(super) fn goes_on(&mut self, stage: usize, constant: f64) -> Option<Ends> {
        if self.best.ended().is_none() || constant == 0.0 {
            return None;
        }
        let ones = vec![1.0; self.up.n_states];
        let weight = self.best.later_of(&ones);
        let [up, low] = [&mut self.best, &mut self.worst].map(|belief| {
            let mut out = Vec::new();
            belief.expect_difference(stage, &ones, &mut out);
            out
        });
        Some(Ends { up, low, weight })
    }

    /// The effect of an intervention in a state.
    pub(super) fn effect(&self, state: usize, action: Action) -> Effect {
        let cost = self.tabular.knowledge().interventions().cost(action);
        let at = match &self.best_selector {
            Selector::Listed(list) => vec![(list.rank(action) as u32, 1.0)],
            Selector::Parts(_) => panic!("invariant: worlds in parts have certificates of their own"),
            Selector::Kernel(kernel) => {
                let mut prob = vec![0.0; kernel.n_causes()];
                kernel.distribution(state, action, &mut prob);
                sparse(&prob)
            }
        };
        Effect { cost, at }
    }

    /// The interventions that can be optimal in each state; `None` if they are too many, or their effects are unknown.
    pub(super) fn list_corners(&self) -> Option<Vec<Vec<Effect>>> {
        let (knowledge, mut room) = (self.tabular.knowledge(), MOST_EFFECTS);
        let states = knowledge.state_space();
        let mut corners = Vec::with_capacity(states.len());
        for state in 0..states.len() {
            let actions = match &self.best_selector {
                Selector::Kernel(kernel) => kernel.corners(state, MOST_CORNERS)?,
                Selector::Parts(_) => return None,
                Selector::Listed(list) => {
                    let digits = states.digits(state);
                    list.actions.iter().copied().filter(|&a| knowledge.interventions().allows(&digits, a)).collect()
                }
            };
            let effects: Vec<Effect> = actions.into_iter().map(|a| self.effect(state, a)).collect();
            room = room.checked_sub(effects.iter().map(|e| e.at.len()).sum())?;
            corners.push(effects);
        }
        Some(corners)
    }

    /// Bounds of single probabilities for every block and factor; none if comparing next states is too much work.
    fn list_entries(&mut self) -> Vec<Vec<[Vec<f64>; 2]>> {
        if self.work() > MOST_WORK {
            return Vec::new();
        }
        let (n_factors, n_blocks) = (self.tabular.view().layout.factors.len(), self.tabular.view().n_blocks);
        let best = &mut self.best;
        (0..n_blocks).map(|block| (0..n_factors).map(|f| best.entries_of_sets(block, f)).collect()).collect()
    }

    /// Joint confidence sets of the rows of each state, if they apply and are affordable.
    fn list_together(&self) -> Option<Together> {
        let (view, evidence) = (self.tabular.view(), &self.tabular.evidence);
        let use_them = Together::fits(view) && !self.entries.is_empty();
        (use_them && Together::work(view) * self.work() <= MOST_WORK)
            .then(|| Together::new(evidence, &self.entries, self.delta_together))
    }

    /// Number of multiplications for comparing next states.
    fn work(&self) -> u128 {
        let Some(corners) = &self.corners else { return u128::MAX };
        let layout = &self.tabular.view().layout;
        let compared: usize = corners.iter().flatten().map(|e| 2 * e.at.len()).sum();
        let own = layout.n_states() * layout.n_causes;
        (compared + own) as u128 * (layout.horizon * layout.n_states()) as u128
    }

    /// Bounds of the probabilities of all next states, for every configuration in a state.
    pub(super) fn fill_joint(&self, stage: usize, state: usize, joint: &mut Joint) {
        let view = self.tabular.view();
        let Some(factors) = self.entries.get(view.block(stage)) else {
            joint.n_next = 0;
            return;
        };
        let (layout, n_causes) = (&view.layout, view.layout.n_causes);
        joint.n_next = layout.n_states();
        for (end, out) in [&mut joint.low, &mut joint.high].into_iter().enumerate() {
            out.clear();
            for cause in 0..n_causes {
                let from = out.len();
                out.push(1.0);
                for (factor, entries) in layout.factors.iter().zip(factors) {
                    let row = factor.state_row(&layout.state_space, state);
                    let own = &entries[end][(row * n_causes + cause) * factor.n_values..][..factor.n_values];
                    // From the back, so that unread entries are not overwritten.
                    let filled = out.len() - from;
                    out.resize(from + filled * own.len(), 0.0);
                    for i in (0..filled).rev() {
                        let p = out[from + i];
                        (0..own.len()).rev().for_each(|v| out[from + i * own.len() + v] = p * own[v]);
                    }
                }
            }
        }
    }
}

/// Optimistic or pessimistic r_c + E[u(s') | s, c], `[state][cause]`, for these next-state values.
pub(super) fn look(belief: &mut Belief, stage: usize, next: &[f64]) -> Vec<f64> {
    let mut out = Vec::new();
    belief.expect_by_sets(stage, next, &mut out);
    out.iter_mut().zip(belief.rewards()).for_each(|(q, r)| *q += r);
    out
}

/// Raises values to the least remaining reward.
pub(super) fn raise(value_hs: &mut [f64], floors: &[f64], n_states: usize) {
    for (values, floor) in value_hs.chunks_exact_mut(n_states).zip(floors) {
        values.iter_mut().for_each(|v| *v = v.max(*floor));
    }
}
