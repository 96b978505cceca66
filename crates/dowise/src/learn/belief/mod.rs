//! Beliefs: estimates of transitions and rewards from evidence. This file alone chooses among the belief backends.
//!
//! | estimator | backend | file |
//! |---|---|---|
//! | mean, with a width or without | dense tables, or sparse rows | `mean.rs`, `sparse.rs` |
//! | optimistic or pessimistic estimate | confidence sets and their radii | `sets/`, `confidence.rs`, `mixture.rs` |
//! | posterior sample | whole tables, lazily sampled rows, or stick-breaking | `sample.rs`, `posterior/` |
//!
//! A belief answers one-step lookaheads. Optimism enters here and nowhere else.

mod added;
mod confidence;
mod decomposed;
mod frame;
mod intervals;
mod lookahead;
mod mean;
mod mechanisms;
mod mixture;
mod next_state_rewards;
mod pooled;
mod posterior;
mod rewards;
mod sample;
mod selector;
mod sets;
mod sparse;
mod stale;
mod width;

pub(crate) use confidence::Confidence;
pub(crate) use decomposed::PartsSelector;
pub(crate) use intervals::{Interval, Intervals};
pub(crate) use mechanisms::{MechanismEstimator, mean_tables, read_kernel, sampled_tables};
pub(crate) use mixture::{of_many as mixture_penalty, of_two as mixture_penalty_of_shares};
pub(crate) use posterior::{BATCH, LazyRows, StickBreaking, dirichlet_of};
pub(crate) use selector::mean_kernel;
pub(crate) use sets::{ball_bytes, kept_bytes};

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use self::added::Added;
use self::decomposed::{DecomposedBelief, Rule};
use self::frame::Frame;
use self::mean::MeanBelief;
use self::next_state_rewards::NextStateMeans;
use self::rewards::{RewardEstimator, read_arriving, read_rewards};
use self::sample::SampleBelief;
use self::sets::{SetsBelief, Side};
use self::sparse::SparseBelief;
use self::stale::Stale;
use self::width::{Sizes, Widths};
use super::LearnResult;
use super::evidence::{Changed, Evidence};
use super::next_state_rewards::NextStateRewards;
use super::options::{Sets, Width};
use super::view::View;
use crate::kernel::Member;
use crate::world::Continuation;

/// Prior weight below which the estimator uses frequencies; options allow no smaller prior.
const LEAST_PRIOR: f64 = 1e-6;

/// Estimator: how transitions and rewards are estimated from evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimator {
    /// The mean plus a scaled width; the cap for unvisited rows.
    Width(Width, f64),
    /// The mean; the cap for unvisited rows.
    Greedy,
    /// The posterior mean with this prior weight in visits. Without a prior: frequencies, and zero for unvisited rows.
    Mean {
        /// Weight of the prior in visits, shared equally by the values of a row.
        prior: f64,
    },
    /// The posterior mean with partial pooling of the separately learned rows of unknown mechanisms (empirical Bayes).
    /// The prior's centre is an additive logit, with pairwise interactions where the counts support them. The counts
    /// also determine the weight of that centre.
    Pooled {
        /// Weight of the prior in visits for rows that are not pooled.
        prior: f64,
    },
    /// The optimistic estimate over a confidence set of every row: an upper bound on the value with probability 1 − δ.
    Optimistic(Sets),
    /// The pessimistic estimate over a confidence set of every row: a lower bound on the value with probability 1 − δ.
    Pessimistic(Sets),
    /// One sample from the Dirichlet posterior of every row.
    Sample {
        /// Weight of the prior in visits, shared equally by the values of a row.
        prior: f64,
    },
}

/// Parameters of an estimator besides its kind.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// Number of episodes (K) in the logarithms.
    pub(crate) episodes: u64,
    /// δ
    pub(crate) delta: f64,
    /// Range of the rewards of a step, costs included.
    pub(crate) range: f64,
    /// Ceiling of q at each stage.
    pub(crate) caps: Vec<f64>,
    /// Whether values must never rise above those of earlier plans.
    pub(crate) monotone: bool,
    /// Whether lookaheads cover whole stages, never single states, and the ceiling exceeds every reachable value. Then
    /// rows that cannot be optimal need not be sampled.
    pub(crate) whole_stages: bool,
    /// Margin by which a row that is not sampled must fall short.
    pub(crate) margin: f64,
    /// Factor of the standard deviation of sampled unknown mechanisms.
    pub(crate) spread: f64,
    /// For whole states: the number of fixed value functions that balls must cover, in place of whole rows.
    pub(crate) values: Option<usize>,
}

/// Evidence as seen by an estimator, laid out for backward induction.
#[derive(Clone, Debug)]
pub(crate) struct Belief {
    reading: Estimator,
    frame: Frame,
    stale: Stale,
    /// ln(2 · cells · T / δ): the logarithm for widths of rewards in every row at every count.
    log: f64,
    /// Confidence radii of frequencies.
    confidence: Confidence,
    kept: Backend,
    /// Factor of the standard deviation of sampled unknown mechanisms.
    spread: f64,
    /// Confidence intervals of unknown mechanisms, once a kernel was built with them.
    intervals: Option<Intervals>,
    /// Whether confidence sets rely on the parametric forms of mechanisms.
    forms: bool,
    /// Reward observations of next-state terms, if these replace their means.
    next_state_rewards: Option<Arc<NextStateRewards>>,
    arrived: NextStateMeans,
    /// Whether samples of rewards use the prior of the posterior mean.
    centred_rewards: bool,
    /// Cost of the cheapest intervention.
    least_cost: f64,
}

/// The closed list of belief backends.
#[derive(Clone, Debug)]
enum Backend {
    Mean(MeanBelief),
    Sparse(SparseBelief),
    Sets(SetsBelief),
    Sample(SampleBelief),
    LazyRows(Box<LazyRows>, Vec<u32>),
    StickBreaking(StickBreaking),
    Decomposed(DecomposedBelief),
}

impl Belief {
    /// The belief of an estimator from all evidence.
    pub(crate) fn new(evidence: &Evidence, reading: Estimator, terms: Terms) -> Belief {
        let view: &Arc<View> = &evidence.view;
        let (layout, n_blocks) = (&view.layout, view.n_blocks);
        let sizes = Sizes {
            horizon: layout.horizon as f64,
            episodes: terms.episodes as f64,
            delta: terms.delta,
            range: terms.range,
            arrival: Continuation::of(view.knowledge.world()).map_or(0.0, |continuation| continuation.arrival_range()),
        };
        let log = crate::math::ln(2.0 * view.cells() as f64 * sizes.episodes * sizes.horizon / sizes.delta);
        let kind = match reading {
            Estimator::Optimistic(kind) | Estimator::Pessimistic(kind) => kind,
            // Unknown mechanisms are estimated with a width.
            Estimator::Width(..)
            | Estimator::Greedy
            | Estimator::Mean { .. }
            | Estimator::Pooled { .. }
            | Estimator::Sample { .. } => Sets::L1,
        };
        let confidence = Confidence::new(kind, view, terms.delta, sizes.episodes * sizes.horizon);
        let confidence = match terms.values {
            Some(functions) if layout.flat => confidence.for_means(functions * layout.horizon),
            Some(_) | None => confidence,
        };
        let frame = Frame::new(view, terms.caps, terms.monotone);
        let added = |width, scale| Added::new(Widths::new(width, view.causes, layout, sizes, scale), layout, n_blocks);
        let with_width = |added: Added| {
            // Only if q is a function of its row and the mean next value alone.
            let plain = !terms.monotone && !added.widths.needs_variance() && !added.widths.needs_visits();
            if plain && layout.flat && SparseBelief::pays(layout.n_states()) {
                Backend::Sparse(SparseBelief::new(&frame, added))
            } else {
                Backend::Mean(MeanBelief::new(&frame, 0.0, Some(added)))
            }
        };
        let kept = match reading {
            _ if view.decomposed.is_some() => Backend::Decomposed(DecomposedBelief::new(
                view,
                decomposed(reading, confidence).expect("invariant: asked before"),
            )),
            Estimator::Width(width, scale) => with_width(added(width, scale)),
            // A width with scale 0: infinite for unvisited rows, zero elsewhere.
            Estimator::Greedy => with_width(added(Width::Quasi, 0.0)),
            Estimator::Mean { prior } | Estimator::Pooled { prior } => {
                Backend::Mean(MeanBelief::new(&frame, prior, None))
            }
            Estimator::Optimistic(_) => {
                let margin = terms.whole_stages.then_some(terms.margin);
                Backend::Sets(SetsBelief::new(&frame, confidence, Side::Best, margin))
            }
            Estimator::Pessimistic(_) => Backend::Sets(SetsBelief::new(&frame, confidence, Side::Worst, None)),
            Estimator::Sample { prior } if StickBreaking::fits(layout, prior) => {
                Backend::StickBreaking(StickBreaking::new(&frame, prior))
            }
            Estimator::Sample { prior } => match &view.actions {
                Some(list)
                    if layout.flat
                        && terms.whole_stages
                        && view.payments.is_known()
                        && LazyRows::pays(layout.n_states(), layout.n_causes) =>
                {
                    let net = list.net(&frame.reward_sc);
                    let lazy_rows = LazyRows::new(layout.n_states(), &net, n_blocks, prior, terms.margin);
                    Backend::LazyRows(Box::new(lazy_rows), Vec::new())
                }
                Some(_) | None => Backend::Sample(SampleBelief::new(&frame, prior)),
            },
        };
        let (stale, spread) = (Stale::all(evidence), terms.spread);
        let least_cost = view.knowledge.interventions().cost_range()[0];
        Belief {
            reading,
            frame,
            stale,
            log,
            confidence,
            kept,
            spread,
            intervals: None,
            forms: true,
            next_state_rewards: None,
            centred_rewards: false,
            arrived: NextStateMeans::default(),
            least_cost,
        }
    }

    /// Marks a changed row as stale.
    #[inline]
    pub(crate) fn touch(&mut self, changed: Changed) {
        self.stale.add(changed);
    }

    /// Ceiling of q at each stage.
    pub(crate) fn caps(&self) -> &[f64] {
        &self.frame.caps
    }

    /// Upper bounds on q from earlier plans; empty if values may rise.
    pub(crate) fn ceiling(&self) -> &[f64] {
        &self.frame.ceiling
    }

    /// Restores a saved ceiling of the same length.
    pub(crate) fn set_ceiling(&mut self, ceiling: Vec<f64>) {
        self.frame.ceiling = ceiling;
    }

    /// Updates transitions and rewards from the evidence. Samples are functions of the evidence, of `seed`, and of the
    /// generator, which only unknown rewards need.
    pub(crate) fn update(&mut self, evidence: &Evidence, seed: u64, rng: Option<&mut ChaCha8Rng>) {
        let Belief { frame, stale, .. } = self;
        match &mut self.kept {
            Backend::Mean(belief) => belief.update(frame, evidence, stale),
            Backend::Sparse(belief) => belief.update(frame, evidence, stale),
            Backend::Sets(belief) => belief.update(frame, evidence, stale),
            Backend::Sample(belief) => belief.update(frame, evidence, stale, seed),
            Backend::Decomposed(belief) => belief.update(evidence, stale, seed),
            Backend::StickBreaking(belief) => belief.update(evidence, stale, seed),
            Backend::LazyRows(lazy_rows, touched) => {
                for (block, counts) in evidence.transitions.iter().enumerate() {
                    stale.take(block, 0, touched);
                    touched.iter().for_each(|&row| lazy_rows.set(block, row as usize, counts[0].values(row as usize)));
                }
                lazy_rows.draw_anew(seed);
            }
        }
        if evidence.view.payments.is_known() {
            return;
        }
        let log = self.log;
        let mut reading = match self.reading {
            Estimator::Width(_, scale) => RewardEstimator::Width { log, scale },
            Estimator::Greedy => RewardEstimator::Width { log, scale: 0.0 },
            Estimator::Optimistic(_) => RewardEstimator::Optimistic(self.confidence),
            Estimator::Pessimistic(_) => RewardEstimator::Pessimistic(self.confidence),
            Estimator::Sample { .. } => RewardEstimator::Sample {
                rng: rng.expect("invariant: there is a generator where rewards are sampled"),
                centred: self.centred_rewards,
            },
            Estimator::Mean { prior } | Estimator::Pooled { prior } if prior < LEAST_PRIOR => RewardEstimator::Mean,
            Estimator::Mean { .. } | Estimator::Pooled { .. } => RewardEstimator::PosteriorMean,
        };
        if let Backend::Decomposed(belief) = &mut self.kept {
            return belief.read_rewards(evidence, &mut reading);
        }
        let next_state_rewards = self.next_state_rewards.clone();
        read_rewards(evidence, &mut reading, next_state_rewards.as_deref(), &mut self.frame.reward_sc);
        if let Some(next_state_rewards) = &next_state_rewards {
            let terms = &evidence.view.payments.terms;
            let read = |of: &_| read_arriving(of, &mut reading, terms[of.term].n_rows);
            self.arrived.paid = next_state_rewards.terms.iter().map(read).collect();
            self.add_next_state_rewards(next_state_rewards);
        }
        match &mut self.kept {
            Backend::Sparse(belief) => belief.rewards_changed(),
            Backend::Mean(_)
            | Backend::Sets(_)
            | Backend::Sample(_)
            | Backend::LazyRows(..)
            | Backend::StickBreaking(_)
            | Backend::Decomposed(_) => {}
        }
    }

    /// Samples rewards from the posterior whose mean is [`Estimator::Mean`]: estimates from a log need no exploration.
    pub(crate) fn centre_rewards(&mut self) {
        self.centred_rewards = true;
    }

    /// Uses confidence sets of each row of a mechanism separately, which are exact, in place of those of forms, which
    /// are approximate.
    pub(crate) fn without_forms(mut self) -> Belief {
        self.forms = false;
        self
    }

    /// Estimated rewards, `[state][cause]`.
    pub(crate) fn rewards(&self) -> &[f64] {
        &self.frame.reward_sc
    }

    /// Optimistic or pessimistic E[u(s') | s, c] of a stage, `[state][cause]`, for next-state values u: no rewards
    /// except next-state rewards, and no ceiling.
    pub(crate) fn expect_by_sets(&mut self, stage: usize, next_value: &[f64], out: &mut Vec<f64>) {
        let worth = self.worth_of(next_value);
        let (frame, belief) = self.by_sets();
        belief.expect(frame, stage, &worth, out);
    }

    /// The same for a difference between values of the next stage: without next-state rewards.
    pub(crate) fn expect_difference(&mut self, stage: usize, next: &[f64], out: &mut Vec<f64>) {
        let later = self.later_of(next);
        let (frame, belief) = self.by_sets();
        belief.expect(frame, stage, &later, out);
    }

    /// Continuation values of next states, from their values.
    pub(crate) fn worth_of(&self, next_value: &[f64]) -> Vec<f64> {
        let mut changed = Vec::new();
        self.frame.worth(next_value, &mut changed).to_vec()
    }

    /// Whether next-state rewards differ between next states.
    pub(crate) fn pays_on_next_state(&self) -> bool {
        self.frame.continuation.as_ref().is_some_and(|continuation| continuation.arrival_range() > 0.0)
    }

    /// The contribution to a step of a difference between values of the next stage.
    pub(crate) fn later_of(&self, next: &[f64]) -> Vec<f64> {
        let mut later = Vec::new();
        match &self.frame.continuation {
            None => later.extend_from_slice(next),
            Some(continuation) => continuation.later(next, &mut later),
        }
        later
    }

    /// Bounds of every single probability of a factor, as `[state row][cause][value]`.
    pub(crate) fn entries_of_sets(&mut self, stage: usize, factor: usize) -> [Vec<f64>; 2] {
        let (frame, belief) = self.by_sets();
        belief.entries(frame, frame.view.block(stage), factor)
    }

    fn by_sets(&mut self) -> (&mut Frame, &mut SetsBelief) {
        match &mut self.kept {
            Backend::Sets(belief) => (&mut self.frame, belief),
            Backend::Mean(_)
            | Backend::Sparse(_)
            | Backend::Sample(_)
            | Backend::LazyRows(..)
            | Backend::StickBreaking(_)
            | Backend::Decomposed(_) => {
                panic!("invariant: only confidence sets are asked for their bounds")
            }
        }
    }

    /// The same belief with dense tables, for comparison.
    #[cfg(test)]
    pub(crate) fn use_tables(&mut self, evidence: &Evidence) {
        let Backend::Sparse(belief) = &self.kept else { panic!("not a belief by nonzero entries") };
        let added = belief.fresh_widths(&self.frame);
        self.kept = Backend::Mean(MeanBelief::new(&self.frame, 0.0, Some(added)));
        self.stale = Stale::all(evidence);
    }
}

/// The estimator of rows for decomposed planning; `None` for estimators that need all joint key values.
fn decomposed(reading: Estimator, confidence: Confidence) -> Option<Rule> {
    match reading {
        Estimator::Mean { prior } | Estimator::Pooled { prior } => Some(Rule::Mean { prior }),
        Estimator::Sample { prior } => Some(Rule::Sample { prior }),
        Estimator::Optimistic(_) => Some(Rule::Within(confidence, Member::Optimistic)),
        Estimator::Pessimistic(_) => Some(Rule::Within(confidence, Member::Pessimistic)),
        Estimator::Width(..) | Estimator::Greedy => None,
    }
}

impl Estimator {
    /// Whether this estimator supports the evidence of a view. Decomposed planning can evaluate a policy
    /// pessimistically, but cannot compute a pessimistic plan.
    pub(crate) fn fits(self, view: &View, following: bool) -> LearnResult<()> {
        let fits = match self {
            Estimator::Mean { .. } | Estimator::Pooled { .. } | Estimator::Sample { .. } | Estimator::Optimistic(_) => {
                true
            }
            Estimator::Pessimistic(_) => following,
            Estimator::Width(..) | Estimator::Greedy => false,
        };
        if view.decomposed.is_some() && !fits { Err(super::LearnError::Decomposed) } else { Ok(()) }
    }
}
