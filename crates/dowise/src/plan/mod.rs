//! Backward induction: the one recursion behind exact plans and every learner.

mod contract;
mod decomposed;
mod error;
mod evaluate;
mod follow;
mod improve;
mod low_rank;
mod mixed;
mod near_ties;
mod observed;
mod on_demand;
mod per_state_scale;
mod truth;

pub(crate) use contract::{Binary, Contraction, Expect, Mean};
pub use error::PlanError;
pub(crate) use evaluate::Evaluator;
pub(crate) use follow::{Follow, FollowMixed, check_policy};
pub(crate) use observed::Watched;
pub use on_demand::FeatureFunction;
pub(crate) use on_demand::{RewardsAt, RowsAt};
pub use truth::Planner;
pub(crate) use truth::rewards_by_cause;

use rayon::prelude::*;

use crate::kernel::{Found, Kernel, Scratch, Tie, WarmStart};
use crate::loops::simd;
use crate::random::splitmix64;
use crate::world::{Action, World};

/// Relative tolerance within which two interventions count as equally good.
///
/// Times the largest value an episode can have. Far above rounding, far below anything that matters, unless rewards or costs
/// are of very different size: exact plans then settle ties in each state by what rounding can have made there.
pub const TIE_TOLERANCE: f64 = 1e-9;

/// Times the range of rewards, what the range of rewards and costs together may be, to set the scale of a learner's ties.
const MOST_COSTS: f64 = 1e3;

/// Share of the least amount at stake that may be lost in a step to a tie.
const OF_LEAST: f64 = 1e-4;

/// Share of the range of a step that rounding may make, and more: no tolerance is narrower.
const ROUNDING: f64 = 1e-14;

/// How far two interventions may differ that a learner takes for equally good.
///
/// `range` is that of a step, costs included, and `knowledge` has the rewards and costs. Neither a prohibitive cost nor a catastrophe
/// that can be avoided is a scale for what else is at stake: with it every intervention without that cost would be as good as any
/// other, and nothing would be learned. So ties are no wider than a share of the least reward or cost either.
pub(crate) fn tie_tolerance(horizon: usize, range: f64, knowledge: &World) -> f64 {
    let [lo, hi] = knowledge.reward_range();
    let scale = if hi > lo { range.min(MOST_COSTS * (hi - lo)) } else { range };
    let usual = TIE_TOLERANCE * scale;
    let tolerance = usual.min(OF_LEAST * least_amount(knowledge, ROUNDING * range)).max((ROUNDING * range).min(usual));
    horizon as f64 * tolerance.max(f64::MIN_POSITIVE)
}

/// The least size of a reward or cost above what rounding can have left of sums; infinite if there is none.
fn least_amount(knowledge: &World, above: f64) -> f64 {
    let rewards = knowledge.rewards().iter().filter_map(|term| term.table.as_deref()).flatten();
    let amounts = rewards.chain(knowledge.interventions().costs().iter().flatten());
    amounts.map(|amount| amount.abs()).filter(|&size| size > 10.0 * above).fold(f64::INFINITY, f64::min)
}

/// Values one stage ahead become a value for every state and cause.
pub(crate) trait Lookahead: Sync {
    /// Fills `q[state][cause]` for a stage (from 0) from the values of the next stage.
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>);

    /// The same as losses: cap − q.
    fn losses(&mut self, stage: usize, next_value: &[f64], out: &mut Vec<f64>) {
        self.look(stage, next_value, out);
        turn_into_losses(out, self.cap(stage));
    }

    /// What values are measured from; an upper bound of every q and of the value at a stage wherever values are compared.
    fn cap(&self, stage: usize) -> f64;

    /// Whether one row of q serves every state: then that row alone is filled.
    fn is_shared(&self) -> bool {
        false
    }

    /// For each state, whether an episode that reaches it has ended: it is worth nothing, whatever is chosen. `None` if no state
    /// ends an episode.
    fn ended(&self) -> Option<&[bool]> {
        None
    }

    /// Told of every choice: the state, its losses, and what the chooser found; gives the value of the state.
    fn chosen(&self, stage: usize, _state: usize, _loss: &[f64], found: &Found) -> f64 {
        self.cap(stage) - found.least
    }

    /// Told of every stage when all of its states are done: the losses, `[state][cause]`, its values and those of the next.
    #[inline]
    fn done(&mut self, _stage: usize, _loss_sc: &[f64], _value_s: &[f64], _next_s: &[f64]) {}
}

/// Picks an intervention from a loss for every cause: the best one, or the one that a policy says ([`Follow`]).
pub(crate) trait Chooser: Sync {
    /// Number of causes.
    fn n_causes(&self) -> usize;

    /// Minimises Σ_c P(c | state, a) · loss(c) + cost(a) over the interventions a that are allowed in the state.
    fn best(&self, stage: usize, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> Found;

    /// As [`Chooser::best`], with a memory of the last call for the same stage and state; the same results.
    fn best_anchored(
        &self,
        stage: usize,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        _anchor: &mut WarmStart,
        scratch: &mut Scratch,
    ) -> Found {
        self.best(stage, state, loss, tolerance, tie, scratch)
    }
}

impl Chooser for Kernel {
    fn n_causes(&self) -> usize {
        Kernel::n_causes(self)
    }

    fn best(
        &self,
        _stage: usize,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        scratch: &mut Scratch,
    ) -> Found {
        Kernel::best(self, state, loss, tolerance, tie, scratch)
    }

    fn best_anchored(
        &self,
        _stage: usize,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        anchor: &mut WarmStart,
        scratch: &mut Scratch,
    ) -> Found {
        Kernel::best_anchored(self, state, loss, tolerance, tie, anchor, scratch)
    }
}

/// How interventions of equal value are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The smallest intervention: levers left alone first, then values in the order of the file.
    ///
    /// Only corners of what a group of levers can do are compared: an intervention whose distribution is a mixture of others' may
    /// tie with them and is passed over. Of interventions that do the same the smallest counts (where the number of levers
    /// is limited, of those that set the fewest levers).
    First,
    /// At random, all alike, as a function of this number, the stage and the state. Where a world is planned by components, settings of
    /// a part that lead to the same next values and pay the same count as one, for which the first stands.
    Seeded(u64),
}

impl Ties {
    pub(crate) fn at(self, stage: usize, state: usize) -> Tie {
        match self {
            Ties::First => Tie::First,
            Ties::Seeded(seed) => Tie::Random(splitmix64(splitmix64(seed ^ ((stage as u64) << 48)) ^ state as u64)),
        }
    }
}

/// A policy and its values: what to do, and what is to be expected, at every stage and state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Number of stages (H).
    pub horizon: usize,
    /// Number of states (S).
    pub n_states: usize,
    /// `[stage][state]`, with one further stage of zeros.
    pub value_hs: Vec<f64>,
    /// `[stage][state]`
    pub policy_hs: Vec<Action>,
}

impl Plan {
    /// An empty plan of the right size.
    pub fn new(horizon: usize, n_states: usize) -> Plan {
        Plan {
            horizon,
            n_states,
            value_hs: vec![0.0; (horizon + 1) * n_states],
            policy_hs: vec![Action(0); horizon * n_states],
        }
    }

    /// Expected sum of rewards from a stage (from 0) and state on.
    pub fn value(&self, stage: usize, state: usize) -> f64 {
        self.value_hs[stage * self.n_states + state]
    }

    /// What to do.
    pub fn action(&self, stage: usize, state: usize) -> Action {
        self.policy_hs[stage * self.n_states + state]
    }
}

/// States below which a stage is not worth sharing between threads.
const PARALLEL_STATES: usize = 1 << 10;

/// The same where every search looks at all next states.
const SHARED_STATES: usize = 1 << 7;

/// Fills `plan` backwards: q from the lookahead, then for every state the chooser's intervention.
///
/// V_h(s) = max_a { Σ_c P(c | s, a) q_h(s, c) − cost(a) }, computed as cap − min_a { Σ_c P(c | s, a) (cap − q) + cost(a) }.
///
/// # Cost
/// H times one lookahead and S searches ([`Kernel`]); large stages are shared between threads, with the same results.
pub(crate) fn backward_induction(
    lookahead: &mut impl Lookahead,
    chooser: &impl Chooser,
    tolerance: f64,
    ties: Ties,
    buffers: &mut Buffers,
    plan: &mut Plan,
) {
    let n = plan.n_states;
    let n_causes = chooser.n_causes();
    for stage in (0..plan.horizon).rev() {
        let (now, next) = plan.value_hs.split_at_mut((stage + 1) * n);
        let cap = lookahead.cap(stage);
        let (value, policy) = (&mut now[stage * n..], &mut plan.policy_hs[stage * n..(stage + 1) * n]);
        if lookahead.is_shared() {
            lookahead.losses(stage, &next[..n], &mut buffers.q_sc);
            let (loss, lookahead) = (&buffers.q_sc[..], &*lookahead);
            let ended = lookahead.ended();
            let least = if n < SHARED_STATES { n } else { SHARED_STATES / 4 };
            value.par_iter_mut().zip(policy.par_iter_mut()).enumerate().with_min_len(least).for_each_init(
                Scratch::default,
                |scratch, (s, (v, a))| {
                    let found = chooser.best(stage, s, loss, tolerance, ties.at(stage, s), scratch);
                    let over = ended.is_some_and(|ended| ended[s]);
                    (*v, *a) = (if over { 0.0 } else { lookahead.chosen(stage, s, loss, &found) }, found.action);
                },
            );
        } else if n < PARALLEL_STATES {
            lookahead.losses(stage, &next[..n], &mut buffers.q_sc);
            let ended = lookahead.ended();
            let rows = buffers.q_sc.chunks_exact(n_causes);
            for (s, ((loss, v), a)) in rows.zip(&mut *value).zip(policy).enumerate() {
                let (tie, scratch) = (ties.at(stage, s), &mut buffers.scratch);
                let found = match buffers.anchors.get_mut(stage * n + s) {
                    None => chooser.best(stage, s, loss, tolerance, tie, scratch),
                    Some(anchor) => chooser.best_anchored(stage, s, loss, tolerance, tie, anchor, scratch),
                };
                let over = ended.is_some_and(|ended| ended[s]);
                (*v, *a) = (if over { 0.0 } else { lookahead.chosen(stage, s, loss, &found) }, found.action);
            }
        } else {
            lookahead.look(stage, &next[..n], &mut buffers.q_sc);
            let lookahead = &*lookahead;
            let ended = lookahead.ended();
            buffers
                .q_sc
                .par_chunks_exact_mut(n_causes)
                .zip(value.par_iter_mut())
                .zip(policy.par_iter_mut())
                .enumerate()
                .with_min_len(PARALLEL_STATES / 4)
                .for_each_init(Scratch::default, |scratch, (s, ((q, v), a))| {
                    turn_into_losses(q, cap);
                    let found = chooser.best(stage, s, q, tolerance, ties.at(stage, s), scratch);
                    let over = ended.is_some_and(|ended| ended[s]);
                    (*v, *a) = (if over { 0.0 } else { lookahead.chosen(stage, s, q, &found) }, found.action);
                });
        }
        lookahead.done(stage, &buffers.q_sc, value, &next[..n]);
    }
}

pub(crate) fn turn_into_losses(q: &mut [f64], cap: f64) {
    simd::wide(
        #[inline(always)]
        || {
            for q in q {
                *q = cap - *q;
            }
        },
    );
}

/// Buffers of a backward induction, kept between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) q_sc: Vec<f64>,
    pub(crate) scratch: Scratch,
    /// A memory for every stage and state, `[stage][state]`; empty for a single plan, which has nothing to remember.
    pub(crate) anchors: Vec<WarmStart>,
}
