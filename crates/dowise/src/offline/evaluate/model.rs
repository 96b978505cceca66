//! Model-based policy evaluation: a log's evidence as a model in which policies are followed.

use std::sync::Arc;

use super::behaviour::Behaviour;
use crate::Space;
use crate::kernel::Effects;
use crate::kernel::{Kernel, Scratch};
use crate::learn::{
    Belief, Estimator, Evidence, LearnResult, NextStateRewards, NextStateTerm, Options, Payments, Selector, Sets,
    Tabular, View, hold_belief, mean_tables,
};
use crate::memory::Held;
use crate::offline::LogSummary;
use crate::offline::fit::Completed;
use crate::offline::unrecorded::{Fill, Unrecorded};
use crate::plan::{Buffers, Chooser, Follow, Lookahead, Plan, Ties, Watched, backward_induction};
use crate::world::{Action, RewardTerm, Start, World};

/// Evidence for any estimator.
pub(crate) struct Model {
    tabular: Tabular,
    next_state_rewards: Option<Arc<NextStateRewards>>,
    completed: Option<Completed>,
    /// The model with every missing payment at the least, and at the greatest possible amount; `None` if none is
    /// missing.
    filled: Option<Box<[Model; 2]>>,
    horizon: usize,
    n_states: usize,
    _held: Held,
}

/// Learned rewards without data.
pub(crate) struct UnseenRewards {
    /// The expected reward less the one at an end of its range, `[state][joint key values]`.
    pub(crate) less_sc: Vec<f64>,
    /// Means over rows without data: expected, least and greatest.
    pub(crate) means: [f64; 3],
}

/// The policy that is followed.
#[derive(Clone, Copy)]
pub(crate) enum Followed<'a> {
    /// A deterministic policy, `[stage][state]`.
    Policy(&'a [Action]),
    /// The behaviour policy: joint key values and costs are sampled anew at every step.
    Logged(&'a Behaviour),
}

impl Model {
    /// A model of evidence whose confidence sets fail with probability δ.
    pub(crate) fn new(counted: LogSummary, delta: f64) -> LearnResult<Model> {
        let LogSummary { evidence, next_state_rewards, .. } = counted;
        Model::with(evidence, next_state_rewards, None, delta)
    }

    /// The same with EM imputations; posterior samples use the multiple imputations.
    pub(crate) fn completed(counted: LogSummary, completed: Option<Completed>, delta: f64) -> LearnResult<Model> {
        match completed {
            None => {
                let unrecorded = counted.unrecorded.clone().filter(|unrecorded| unrecorded.lacks_payments());
                let mut model = Model::new(counted, delta)?;
                if let Some(unrecorded) = unrecorded {
                    let [least, greatest] =
                        [Fill::Least, Fill::Greatest].map(|fill| model.with_payments(&unrecorded, fill, delta));
                    model.filled = Some(Box::new([least?, greatest?]));
                }
                Ok(model)
            }
            Some(completed) => Model::with(completed.mean.clone(), counted.next_state_rewards, Some(completed), delta),
        }
    }

    fn with(
        evidence: Evidence,
        next_state_rewards: Option<Arc<NextStateRewards>>,
        completed: Option<Completed>,
        delta: f64,
    ) -> LearnResult<Model> {
        let tabular = Tabular::with(evidence, Options { delta, ..Options::default() })?;
        let held = hold_belief(&tabular)?;
        let (horizon, n_states) = (tabular.plan.horizon, tabular.plan.n_states);
        let next_state_rewards = next_state_rewards.filter(|next_state_rewards| !next_state_rewards.terms.is_empty());
        Ok(Model { tabular, next_state_rewards, completed, filled: None, horizon, n_states, _held: held })
    }

    fn with_payments(&self, unrecorded: &Unrecorded, fill: Fill, delta: f64) -> LearnResult<Model> {
        let mut evidence = self.evidence().clone();
        let mut next = self.next_state_rewards.as_ref().map(|next| NextStateRewards::clone(next));
        unrecorded.fill(&mut evidence, next.as_mut(), fill);
        Model::with(evidence, next.map(Arc::new), None, delta)
    }

    /// The model with every missing payment this part of the way from its row's mean to one end of its range.
    pub(crate) fn with_part_of_payments(&self, unrecorded: &Unrecorded, fill: Fill, part: f64) -> LearnResult<Model> {
        let mut evidence = self.evidence().clone();
        let mut next = self.next_state_rewards.as_ref().map(|next| NextStateRewards::clone(next));
        unrecorded.fill_part(&mut evidence, next.as_mut(), fill, part);
        Model::with(evidence, next.map(Arc::new), None, 0.1)
    }

    /// The models that bound every way in which payments may be missing; this one if none is.
    pub(crate) fn bounding(&self) -> [&Model; 2] {
        self.filled.as_deref().map_or([self, self], |[least, greatest]| [least, greatest])
    }

    /// The model with this much less reward in each state and for each joint key values.
    pub(crate) fn with_less(&self, less_sc: &[f64]) -> LearnResult<Model> {
        let mut view = View::clone(&self.evidence().view);
        view.payments.known.iter_mut().zip(less_sc).for_each(|(known, less)| *known -= less);
        let evidence = self.evidence().clone().moved_to(&Arc::new(view));
        Model::with(evidence, self.next_state_rewards.clone(), None, 0.1)
    }

    /// By how much learned rewards without data are above one end of their ranges; `None` if all have data.
    pub(crate) fn unseen_rewards(&self, end: Fill) -> Option<UnseenRewards> {
        let (view, n_states) = (self.view(), self.state_space().len());
        let n_causes = view.payments.n_causes;
        let mut less_sc = vec![0.0; n_states * n_causes];
        let (mut sums, mut rows) = ([0.0; 3], 0.0);
        for (i, (term, paid)) in view.payments.terms.iter().zip(&self.evidence().payments).enumerate() {
            if self.arriving(i).is_some() || !paid.n.contains(&0) {
                continue;
            }
            let ([low, high], centre) = (term.range, paid.centre());
            let bound = if end == Fill::Least { low } else { high };
            let mean = |row: usize| low + (high - low) * paid.mean_at(centre, row);
            for row in (0..paid.n.len()).filter(|&row| paid.n[row] == 0) {
                [mean(row), low, high].iter().zip(&mut sums).for_each(|(x, sum)| *sum += x);
                rows += 1.0;
            }
            for (cell, less) in less_sc.iter_mut().enumerate() {
                let row = term.row(self.state_space(), cell / n_causes, cell % n_causes, n_causes);
                *less += if paid.n[row] == 0 { mean(row) - bound } else { 0.0 };
            }
        }
        (rows > 0.0).then(|| UnseenRewards { less_sc, means: sums.map(|sum| sum / rows) })
    }

    /// The model with nearly flat priors for forms of mechanisms; `None` if no learned mechanism has a form.
    ///
    /// This is for forms what frequencies are for tables. The prior of a form shrinks every effect to zero, and a
    /// well-chosen policy relies on large effects. Behind hidden variables the shrinkage can reach the posterior's
    /// width.
    pub(crate) fn with_wide_forms(&self) -> LearnResult<Option<Model>> {
        match widened(&self.tabular.evidence) {
            Some(evidence) => Ok(Some(Model::with(evidence, self.next_state_rewards.clone(), None, 0.1)?)),
            None => Ok(None),
        }
    }

    /// A model with such priors, whether or not there are forms.
    pub(crate) fn of_what_was_seen(counted: LogSummary) -> LearnResult<Model> {
        let evidence = widened(&counted.evidence).unwrap_or(counted.evidence);
        Model::new(LogSummary { evidence, ..counted }, 0.1)
    }

    /// The EM imputations, if there are any.
    pub(crate) fn expected(&self) -> Option<&Completed> {
        self.completed.as_ref()
    }

    /// A model of the i-th imputed log; `None` if nothing was missing.
    pub(crate) fn drawn(&self, i: usize) -> LearnResult<Option<Model>> {
        let Some(completed) = &self.completed else { return Ok(None) };
        let evidence = completed.draws[i % completed.draws.len()].clone();
        Ok(Some(Model::with(evidence, self.next_state_rewards.clone(), None, 0.1)?))
    }

    pub(crate) fn view(&self) -> &View {
        self.tabular.view()
    }

    pub(crate) fn evidence(&self) -> &Evidence {
        &self.tabular.evidence
    }

    pub(crate) fn belief(&self, reading: Estimator) -> Belief {
        let mut belief = match reading {
            // Bounds that rest on a form would be wrong if the form is.
            Estimator::Optimistic(_) | Estimator::Pessimistic(_) => self.tabular.belief_by(reading).without_forms(),
            _ => self.tabular.belief_by(reading),
        };
        belief.centre_rewards();
        self.next_state_rewards
            .iter()
            .for_each(|next_state_rewards| belief.use_next_state_rewards(next_state_rewards.clone()));
        belief
    }

    /// Draws a belief and returns the effects of interventions under it.
    pub(crate) fn draw(&self, belief: &mut Belief, seed: u64) -> LearnResult<Selector> {
        self.tabular.draw(belief, seed)
    }

    /// The optimal plan under an estimator.
    pub(crate) fn plan(&self, reading: Estimator) -> LearnResult<Plan> {
        if let (Estimator::Pessimistic(_), Some(filled)) = (reading, &self.filled) {
            return filled[0].plan(reading);
        }
        reading.fits(self.view(), false)?;
        let mut belief = self.belief(reading);
        let selector = self.draw(&mut belief, 0)?;
        let mut plan = Plan::new(self.horizon, self.n_states);
        let tolerance = self.tabular.tolerance();
        backward_induction(&mut belief, &selector, tolerance, Ties::First, &mut Buffers::default(), &mut plan);
        Ok(plan)
    }

    /// Values of a policy or of the behaviour policy, `[stage][state]`, under an estimator.
    pub(crate) fn value(&self, reading: Estimator, who: Followed<'_>) -> LearnResult<Vec<f64>> {
        let mut belief = self.belief(reading);
        let selector = self.draw(&mut belief, 0)?;
        Ok(self.value_by(&mut belief, &selector, who, |_, _, _, _| {}))
    }

    /// Lower bounds on the values of a policy or of the behaviour policy, `[stage][state]`, by the pessimistic estimate.
    /// They are at least its [`value`](Self::value) under that estimate.
    ///
    /// # Cost
    /// Twice that of a value.
    pub(crate) fn least_value(&self, who: Followed<'_>) -> LearnResult<Vec<f64>> {
        let mut belief = self.belief(Estimator::Pessimistic(Sets::Mixture));
        let selector = self.draw(&mut belief, 0)?;
        let Followed::Policy(policy_hs) = who else {
            return Ok(self.value_by(&mut belief, &selector, who, |_, _, _, _| {}));
        };
        let corners = self.draw(&mut self.belief(Estimator::Optimistic(Sets::Mixture)), 0)?;
        let effects = Tighter { radius: FromLeast(Model::kernel(&selector)), corners: Model::kernel(&corners) };
        let mut policy = Follow::default();
        policy.decode(&effects, policy_hs);
        Ok(self.value_along(&mut belief, &policy.through(&effects, self.n_states)))
    }

    /// The same with a belief that was already drawn. `watch` receives for every stage −q (`[state][cause]`), its
    /// values, and those of the next stage.
    ///
    /// # Cost
    /// H look-aheads, each with S sums over joint key values.
    pub(crate) fn value_by(
        &self,
        belief: &mut Belief,
        selector: &Selector,
        who: Followed<'_>,
        watch: impl FnMut(usize, &[f64], &[f64], &[f64]) + Sync,
    ) -> Vec<f64> {
        let mut look = Watched { look: belief, watch };
        match who {
            Followed::Policy(policy_hs) => {
                let effects = FromLeast(Model::kernel(selector));
                let mut policy = Follow::default();
                policy.decode(&effects, policy_hs);
                self.along(&mut look, &policy.through(&effects, self.n_states))
            }
            Followed::Logged(who) => self.along(&mut look, who),
        }
    }

    /// Values under a chooser, by a belief that was already drawn.
    pub(crate) fn value_along(&self, belief: &mut Belief, chooser: &impl Chooser) -> Vec<f64> {
        self.along(&mut Watched { look: belief, watch: |_: usize, _: &[f64], _: &[f64], _: &[f64]| {} }, chooser)
    }

    fn along(&self, look: &mut impl Lookahead, chooser: &impl Chooser) -> Vec<f64> {
        let mut plan = Plan::new(self.horizon, self.n_states);
        backward_induction(look, chooser, 0.0, Ties::First, &mut Buffers::default(), &mut plan);
        plan.value_hs
    }

    /// P(c | s, do(a)) under a drawn belief.
    pub(crate) fn kernel(selector: &Selector) -> &Kernel {
        match selector {
            Selector::Kernel(kernel) => kernel,
            Selector::Listed(_) | Selector::Parts(_) => unreachable!("invariant: causes are joint key variables here"),
        }
    }

    /// The posterior mean as a world with this initial-state distribution. Hidden variables of learned mechanisms are
    /// marginalised out.
    pub(crate) fn mean_world(&self, prior: f64, start: Start) -> World {
        let (view, evidence) = (self.view(), self.evidence());
        let mut world = match &view.mechanisms {
            Some(rows) => rows.world.clone(),
            None => view.knowledge.world().clone(),
        };
        let learned = view.mechanisms.as_ref().map(|rows| mean_tables(&evidence.mechanisms, rows, prior));
        for (i, m) in world.mechanisms.iter_mut().enumerate().filter(|(_, m)| m.table.is_none()) {
            let table = learned.as_ref().and_then(|tables| tables[i].as_deref());
            // Mechanisms without descendants are not counted.
            let sizes = |ids: &[crate::world::VarId]| -> usize {
                ids.iter().map(|id| view.knowledge.variable(*id).size()).product()
            };
            let n = sizes(&m.children);
            let rows = sizes(&m.parents);
            m.table = Some(table.map_or_else(|| vec![1.0 / n as f64; n * rows].into(), Into::into));
        }
        for (m, counts) in world.transitions.iter_mut().zip(&evidence.transitions[0]).filter(|(m, _)| m.table.is_none())
        {
            let n = counts.n_values;
            let row = |r: usize| {
                let total = f64::from(counts.n_r[r]) + prior;
                counts.values(r).iter().map(move |&k| (f64::from(k) + prior / n as f64) / total)
            };
            m.table = Some((0..counts.n_r.len()).flat_map(row).collect());
        }
        for (i, (term, paid)) in view.payments.terms.iter().zip(&evidence.payments).enumerate() {
            let [lo, hi] = term.range;
            let mean_of = |paid: &Payments| -> Vec<f64> {
                let centre = paid.centre();
                (0..paid.n.len()).map(|row| lo + (hi - lo) * paid.mean_at(centre, row)).collect()
            };
            if let Some(arriving) = self.arriving(i) {
                world.rewards[term.of[0]].table =
                    Some(arriving.known.clone().unwrap_or_else(|| mean_of(&arriving.paid).into()));
                continue;
            }
            let of = &world.rewards[term.of[0]];
            // For a next-state term the mean was learned; it depends on the parents of the next values.
            let scope = world.expected_scope(of);
            let table = Some(mean_of(paid).into());
            world.rewards[term.of[0]] = RewardTerm { scope, next: Vec::new(), table, ..of.clone() };
        }
        world.start = start;
        world
    }

    /// Counts of a reward term by next values, if it has them.
    pub(crate) fn arriving(&self, term: usize) -> Option<&NextStateTerm> {
        self.next_state_rewards.as_ref()?.of_term(term)
    }

    pub(crate) fn state_space(&self) -> &Space {
        &self.view().layout.state_space
    }
}

/// The same counts with nearly flat priors for forms; `None` if there are no forms.
fn widened(evidence: &Evidence) -> Option<Evidence> {
    let rows = evidence.view.mechanisms.as_ref()?;
    rows.unknown.iter().find(|of| of.model.is_some())?;
    let mut view = View::clone(&evidence.view);
    for of in view.mechanisms.iter_mut().flat_map(|rows| &mut rows.unknown) {
        of.model = of.model.as_ref().map(|model| Arc::new(model.with_wide_priors()));
    }
    Some(evidence.clone().moved_to(&Arc::new(view)))
}

/// Effects of interventions for losses that may be negative: pessimistic sets start from the least loss.
struct FromLeast<'a>(&'a Kernel);

impl Effects for FromLeast<'_> {
    fn n_causes(&self) -> usize {
        self.0.n_causes()
    }

    fn n_parts(&self) -> usize {
        self.0.n_parts()
    }

    fn decode(&self, action: Action, out: &mut Vec<u32>) {
        self.0.decode(action, out);
    }

    fn cost(&self, action: Action) -> f64 {
        self.0.cost(action)
    }

    fn expect(&self, _stage: usize, state: usize, parts: &[u32], of: &[f64], scratch: &mut Scratch) -> f64 {
        if self.0.is_certain() {
            self.0.expect(state, parts, of, &mut scratch.values)
        } else {
            self.0.expect_member_from_least(state, parts, of, scratch)
        }
    }
}

/// Upper bounds on Σ_c P(c | s, do(a)) loss(c) over the confidence sets of mechanisms: the tighter of two.
struct Tighter<'a> {
    /// P within a distance of its centre.
    radius: FromLeast<'a>,
    /// The kernel of the optimistic member, which is found among extreme points: the greatest sum of losses is the
    /// greatest loss g less the least sum of g − loss.
    corners: &'a Kernel,
}

impl Effects for Tighter<'_> {
    fn n_causes(&self) -> usize {
        self.radius.n_causes()
    }

    fn n_parts(&self) -> usize {
        self.radius.n_parts() + self.corners.n_parts()
    }

    fn decode(&self, action: Action, out: &mut Vec<u32>) {
        self.radius.decode(action, out);
        self.corners.decode(action, out);
    }

    fn cost(&self, action: Action) -> f64 {
        self.radius.cost(action)
    }

    fn expect(&self, stage: usize, state: usize, parts: &[u32], of: &[f64], scratch: &mut Scratch) -> f64 {
        let (by_radius, by_corners) = parts.split_at(self.radius.n_parts());
        let within = self.radius.expect(stage, state, by_radius, of, scratch);
        if self.corners.is_certain() {
            return within;
        }
        let greatest = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let below: Vec<f64> = of.iter().map(|loss| greatest - loss).collect();
        within.min(greatest - self.corners.expect_member(state, by_corners, &below, scratch))
    }
}
