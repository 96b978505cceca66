//! Policies that do not depend on what was seen: interventions at random, and a policy that was given, such as today's.
//!
//! The value of such a policy is a fixed function, so the narrow sets of `difference.rs` hold for it. Where what it sets off is known
//! exactly, others are compared with it cause by cause; where it is not, by the bounds of its value alone.

use super::difference::{Ahead, Difference, Effect, Here, Joint, Other, raise, sparse};
use crate::learn::LearnResult;
use crate::learn::options::Options;
use crate::learn::selector::Selector;
use crate::learn::tabular::Tabular;
use crate::plan::{Buffers, Chooser, Follow, FollowMixed, Plan, Ties, backward_induction};
use crate::world::Action;

/// What a fixed policy sets off, and between what its value lies.
pub(super) struct Fixed {
    /// `[stage][state]`, or `[state]` if all stages are alike; none where it is not known exactly.
    effects: Vec<Effect>,
    /// `[stage][state]`
    pub(super) up: Vec<f64>,
    pub(super) low: Vec<f64>,
}

impl Fixed {
    pub(super) fn is_known(&self) -> bool {
        !self.effects.is_empty()
    }
}

/// A policy to compare with, `[stage][state]`.
pub(crate) struct Given<'a> {
    pub(crate) policy_hs: &'a [Action],
    /// Its value by starting state, if that is known.
    pub(crate) value_s: Option<&'a [f64]>,
    /// Whether it was chosen before anything was seen, so that its value is a fixed function.
    pub(crate) beforehand: bool,
}

impl<'a> Difference<'a> {
    /// Ready to compare with a policy that was given, and with nothing else.
    pub(crate) fn against(tabular: &'a Tabular, options: &Options, given: &Given<'_>) -> LearnResult<Difference<'a>> {
        let values = given.beforehand.then_some(1);
        let mut difference = Difference::read(tabular, options, values)?;
        let certain = match &difference.best_selector {
            Selector::Kernel(kernel) => kernel.is_certain(),
            Selector::Listed(_) => true,
        };
        let n = difference.up.n_states;
        let mut effects = Vec::new();
        if certain {
            let at = given.policy_hs.iter().enumerate();
            effects.extend(at.map(|(i, &action)| difference.effect(i % n, action)));
        }
        let [up, low] = difference.follow_both(given.policy_hs);
        let mut fixed = Fixed { effects, up, low };
        if let Some(value_s) = given.value_s {
            fixed.up[..n].copy_from_slice(value_s);
            fixed.low[..n].copy_from_slice(value_s);
        }
        let compared = fixed.effects.iter().map(|e| 2 * e.at.len()).sum::<usize>() / difference.up.horizon;
        let known = fixed.is_known();
        difference.given = Some(fixed);
        if known {
            difference.entries = difference.entries_if_cheap(compared);
            difference.relative[Other::Given as usize] = difference.relative_values(Other::Given);
        }
        Ok(difference)
    }

    /// At most and at least what a fixed policy is worth, `[stage][state]`.
    fn follow_both(&mut self, policy_hs: &[Action]) -> [Vec<f64>; 2] {
        let beliefs = [(&mut self.best, &self.best_selector), (&mut self.worst, &self.worst_selector)];
        let [up, mut low] = beliefs.map(|(belief, selector)| {
            let mut plan = Plan::new(self.up.horizon, self.up.n_states);
            let mut follow = Follow::default();
            follow.decode(selector, policy_hs);
            let following = follow.through(selector, plan.n_states);
            backward_induction(belief, &following, 0.0, Ties::First, &mut Buffers::default(), &mut plan);
            plan.value_hs
        });
        raise(&mut low, &self.floors, self.up.n_states);
        [up, low]
    }

    /// At most and at least what the given policy is worth, by starting state.
    pub(crate) fn given_value(&self) -> [&[f64]; 2] {
        self.interval(Other::Given, 0)
    }

    /// By how much each of some policies exceeds the given one at least, by starting state.
    pub(crate) fn above_given(&mut self, policies: &[&[Action]]) -> Vec<Vec<f64>> {
        let least: Vec<Vec<f64>> = policies.iter().map(|policy| self.follow_worst(policy)).collect();
        let pairs: Vec<(&[Action], &[f64])> = policies.iter().copied().zip(least.iter().map(Vec::as_slice)).collect();
        let mut excesses = self.excesses(Other::Given, &pairs);
        excesses.iter_mut().flatten().for_each(|x| *x = -*x);
        excesses
    }

    /// The policy that is surely better than the given one by most, and by how much at least, by starting state: never less than
    /// nothing, since what the given policy does is one of the choices. `None` where interventions cannot be compared.
    ///
    /// For a policy π, with V' and q' those of the given one,
    ///
    /// ```text
    /// V^π_h(s) − V'_h(s) = Σ_c (P(c | s, π) − P(c | s, π')) q'_h(s, c) − cost + cost' + Σ_c P(c | s, π) p(· | s, c)·(V^π − V')_{h+1},
    /// ```
    ///
    /// of which both parts are bounded from below and the intervention is taken that makes their sum greatest.
    pub(crate) fn surely_better(&mut self) -> Option<(Vec<Action>, Vec<f64>)> {
        if !self.compares(Other::Given) {
            return None;
        }
        let corners = self.list_corners()?;
        let (n, horizon, n_causes) = (self.up.n_states, self.up.horizon, self.best_selector.n_causes());
        let (mut policy, mut above) = (vec![Action(0); horizon * n], vec![0.0; n]);
        let (mut ahead, mut roll, mut joint, mut d) = (Ahead::default(), Vec::new(), Joint::default(), Vec::new());
        for stage in (0..horizon).rev() {
            self.look_ahead(Other::Given, stage, &mut ahead);
            self.whole_worst.expect_by_sets(stage, &above, &mut roll);
            for state in 0..n {
                let cells = state * n_causes..(state + 1) * n_causes;
                self.fill_joint(stage, state, &mut joint);
                let given = self.fixed_effect(Other::Given, stage, state);
                let mut best = (given.later(&roll[cells.clone()]), given.action);
                for effect in &corners[state] {
                    let mut here = Here { ahead: &ahead, cells: cells.clone(), joint: &mut joint, d: &mut d };
                    let more = effect.later(&roll[cells.clone()]) - here.gain(given, effect);
                    if more > best.0 {
                        best = (more, effect.action);
                    }
                }
                (above[state], policy[stage * n + state]) = best;
            }
        }
        Some((policy, above))
    }

    pub(super) fn fixed(&self, other: Other) -> Option<&Fixed> {
        match other {
            Other::Best => None,
            Other::Random => self.random.as_ref(),
            Other::Given => self.given.as_ref(),
        }
    }

    /// What a fixed policy sets off, which is known.
    pub(super) fn fixed_effect(&self, other: Other, stage: usize, state: usize) -> &Effect {
        let fixed = self.fixed(other).expect("invariant: only policies that are there are compared with");
        let n = self.up.n_states;
        if fixed.effects.len() == n { &fixed.effects[state] } else { &fixed.effects[stage * n + state] }
    }

    /// Interventions at random, if what they set off is known exactly, and between what their value lies.
    pub(super) fn at_random(&mut self) -> Option<Fixed> {
        let (n, n_causes) = (self.up.n_states, self.best_selector.n_causes());
        let follow = match &self.best_selector {
            Selector::Kernel(kernel) => {
                let random = kernel.is_certain().then(|| kernel.at_random()).filter(|random| random.exact)?;
                FollowMixed { n_states: n, n_causes, prob: random.prob_sc, cost: random.cost_s }
            }
            Selector::Listed(_) => {
                let corners = self.corners.as_ref()?;
                let (mut prob, mut cost) = (vec![0.0; n * n_causes], vec![0.0; n]);
                for (state, effects) in corners.iter().enumerate() {
                    let share = 1.0 / effects.len() as f64;
                    for effect in effects {
                        cost[state] += share * effect.cost;
                        effect.at.iter().for_each(|&(c, p)| prob[state * n_causes + c as usize] += share * p);
                    }
                }
                FollowMixed { n_states: n, n_causes, prob, cost }
            }
        };
        let [up, mut low] = [&mut self.best, &mut self.worst].map(|belief| {
            let mut plan = Plan::new(self.up.horizon, n);
            backward_induction(belief, &follow, 0.0, Ties::First, &mut Buffers::default(), &mut plan);
            plan.value_hs
        });
        raise(&mut low, &self.floors, n);
        let rows = follow.prob.chunks_exact(n_causes).zip(&follow.cost);
        let effects = rows.map(|(prob, &cost)| Effect { action: Action(0), cost, at: sparse(prob) }).collect();
        Some(Fixed { effects, up, low })
    }
}
