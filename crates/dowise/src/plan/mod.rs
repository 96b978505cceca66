//! Backward induction (the Bellman recursion) behind exact planning, policy evaluation and every learner.

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

use crate::tolerance::STEP_RANGE;
use rayon::prelude::*;

use crate::kernel::{Found, Kernel, Scratch, Tie, WarmStart};
use crate::loops::simd;
use crate::random::splitmix64;
use crate::world::{Action, World};

/// Relative tolerance within which two interventions count as equally good.
///
/// It is multiplied by the largest value of an episode: far above rounding, far below relevant differences. If rewards
/// or costs differ greatly in size, exact plans settle ties in each state at the scale of rounding there.
pub const TIE_TOLERANCE: f64 = 1e-9;

/// Maximum ratio of the range of rewards and costs to the range of rewards, for the scale of a learner's ties.
const MOST_COSTS: f64 = 1e3;

/// Share of the least reward or cost that a tie may lose in a step.
const OF_LEAST: f64 = 1e-4;

/// Difference within which a learner treats two interventions as equally good.
///
/// `range` is that of a step, costs included; `knowledge` has the rewards and costs. A prohibitive cost or an avoidable
/// catastrophe must not set the scale: otherwise all other interventions would tie and nothing would be learned. The
/// tolerance is therefore also at most a share of the least reward or cost.
pub(crate) fn tie_tolerance(horizon: usize, range: f64, knowledge: &World) -> f64 {
    let [lo, hi] = knowledge.reward_range();
    let scale = if hi > lo { range.min(MOST_COSTS * (hi - lo)) } else { range };
    let usual = TIE_TOLERANCE * scale;
    let tolerance =
        usual.min(OF_LEAST * least_amount(knowledge, STEP_RANGE * range)).max((STEP_RANGE * range).min(usual));
    horizon as f64 * tolerance.max(f64::MIN_POSITIVE)
}

/// The least absolute reward or cost above rounding error of sums; infinite if there is none.
fn least_amount(knowledge: &World, above: f64) -> f64 {
    let rewards = knowledge.rewards().iter().filter_map(|term| term.table.as_deref()).flatten();
    let amounts = rewards.chain(knowledge.interventions().costs().iter().flatten());
    amounts.map(|amount| amount.abs()).filter(|&size| size > 10.0 * above).fold(f64::INFINITY, f64::min)
}

/// Bellman backup: maps values of the next stage to q for every state and joint key values.
pub(crate) trait Lookahead: Sync {
    /// Fills `q[state][cause]` for a stage (from 0) from the values of the next stage.
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>);

    /// The same as losses: cap − q.
    fn losses(&mut self, stage: usize, next_value: &[f64], out: &mut Vec<f64>) {
        self.look(stage, next_value, out);
        turn_into_losses(out, self.cap(stage));
    }

    /// Reference of the losses; where values are compared, an upper bound of every q and value at the stage.
    fn cap(&self, stage: usize) -> f64;

    /// Whether one row of q serves every state: then only that row is filled.
    fn is_shared(&self) -> bool {
        false
    }

    /// For each state, whether it is terminal and thus has value 0; `None` if there are no terminal states.
    fn ended(&self) -> Option<&[bool]> {
        None
    }

    /// Callback for every choice: the state, its losses, and the chooser's result. Returns the value of the state.
    fn chosen(&self, stage: usize, _state: usize, _loss: &[f64], found: &Found) -> f64 {
        self.cap(stage) - found.least
    }

    /// Callback after every stage: the losses, `[state][cause]`, its values and those of the next stage.
    #[inline]
    fn done(&mut self, _stage: usize, _loss_sc: &[f64], _value_s: &[f64], _next_s: &[f64]) {}
}

/// Selects an intervention from losses of joint key values: the optimal one, or that of a policy ([`Follow`]).
pub(crate) trait Chooser: Sync {
    /// Number of joint key values.
    fn n_causes(&self) -> usize;

    /// Minimises Σ_c P(c | state, a) · loss(c) + cost(a) over the interventions a that are allowed in the state.
    fn best(&self, stage: usize, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> Found;

    /// As [`Chooser::best`], with a warm start from the last call for the same stage and state; the same results.
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

/// Tie-breaking among interventions of equal value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The smallest intervention: levers left alone first, then values in the order of the file.
    ///
    /// Only extreme points of a group's distributions are compared: an intervention whose distribution is a mixture of
    /// others may tie with them and is skipped. Of equivalent interventions the smallest counts; if the number of
    /// levers is limited, the one that sets the fewest levers.
    First,
    /// Uniformly at random, as a function of this seed, the stage and the state. In decomposed planning, equivalent
    /// settings of a component count as one, represented by the first.
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

/// A policy and its values at every stage and state.
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
    /// A plan of zeros with the right size.
    pub fn new(horizon: usize, n_states: usize) -> Plan {
        Plan {
            horizon,
            n_states,
            value_hs: vec![0.0; (horizon + 1) * n_states],
            policy_hs: vec![Action(0); horizon * n_states],
        }
    }

    /// Expected return from a stage (from 0) and state on.
    pub fn value(&self, stage: usize, state: usize) -> f64 {
        self.value_hs[stage * self.n_states + state]
    }

    /// The intervention at a stage and state.
    pub fn action(&self, stage: usize, state: usize) -> Action {
        self.policy_hs[stage * self.n_states + state]
    }
}

/// States below which a stage runs on one thread.
const PARALLEL_STATES: usize = 1 << 10;

/// The same threshold if every search visits all next states.
const SHARED_STATES: usize = 1 << 7;

/// Fills `plan` backwards: q from the look-ahead, then the chooser's intervention for every state.
///
/// V_h(s) = max_a { Σ_c P(c | s, a) q_h(s, c) − cost(a) }, computed as cap − min_a { Σ_c P(c | s, a) (cap − q) +
/// cost(a) }.
///
/// # Cost
/// H times one look-ahead and S searches ([`Kernel`]); large stages run on several threads, with the same results.
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
    /// Warm starts, `[stage][state]`; empty for a single plan.
    pub(crate) anchors: Vec<WarmStart>,
}
