//! Whole episodes of a log, as evaluation needs them: evidence in folds, and every step by its cause and payment.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fit::FEW;
use super::recorded::{Recording, RecordingTest};
use crate::Space;
use crate::data::{End, LogStep};
use crate::learn::{Evidence, EvidenceError, Knowledge, LearnError, LearnResult, MISSING, Observation, Options, View};
use crate::world::{Action, RewardTerm, VarId};

/// Episodes of a log, counted as the graph says and kept step by step.
///
/// Evidence is counted in folds of episodes, so that a model can be made that has not seen the episode it is compared with.
///
/// ```
/// use dowise::data::LogStep;
/// use dowise::offline::Episodes;
/// use dowise::{Knowledge, Observation, worlds};
/// let world = worlds::world("river-swim", &[])?;
/// let told = Knowledge::of(&world);
/// let mut log = Episodes::new(&told, 5)?;
/// let step = Observation::at(&told, 0, 0)?.did(&told, 0)?.saw(&told, [("push", "forward")])?.then(&told, 1)?;
/// log.add(&[LogStep::new(0, step)])?;
/// assert_eq!((log.len(), log.steps()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Episodes {
    pub(crate) view: Arc<View>,
    pub(crate) steps: Vec<Step>,
    pub(crate) episodes: Vec<Episode>,
    /// What arriving in a state pays by the world; empty if nothing, or if that is not known.
    arrival: Vec<f64>,
    folds: Vec<Evidence>,
    /// For each reward term on next values that is learned, how often it was recorded.
    on_next: Vec<OnNext>,
    /// Whether an episode ended before the horizon.
    terminates: bool,
    left_out: LeftOut,
}

/// How often a reward term on next values was recorded.
#[derive(Clone, Debug)]
struct OnNext {
    /// Its position.
    term: usize,
    /// Positions of the state factors whose next values count.
    axes: Vec<usize>,
    missing: u64,
    /// By those next values, the steps in which it was recorded and those in which it was not.
    by_next: BTreeMap<Vec<usize>, [u64; 2]>,
}

impl OnNext {
    fn of(told: &Knowledge) -> Vec<OnNext> {
        let terms = told.rewards().iter().enumerate().filter(|(_, r)| r.table.is_none() && !r.next.is_empty());
        let axis = |id: &VarId| told.state().iter().position(|s| s == id);
        let of = |(term, r): (usize, &RewardTerm)| OnNext {
            term,
            axes: r.next.iter().filter_map(axis).collect(),
            missing: 0,
            by_next: BTreeMap::new(),
        };
        terms.map(of).collect()
    }

    fn add(&mut self, states: &Space, observation: &Observation<'_>) {
        let lacks = observation.rewards()[self.term].is_nan();
        self.missing += u64::from(lacks);
        if let Some(next) = observation.next_state() {
            let values = self.axes.iter().map(|&axis| states.digit(next, axis)).collect();
            self.by_next.entry(values).or_default()[usize::from(lacks)] += 1;
        }
    }
}

/// One step, as far as the log says it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) stage: u32,
    pub(crate) state: u32,
    /// `None` where a variable that causes something was not observed.
    pub(crate) cause: Option<u32>,
    pub(crate) action: Option<Action>,
    /// What was paid, costs not taken off; where the log does not say it, what the world says that the cause and the next state pay.
    /// NaN: not known.
    pub(crate) paid: f64,
    /// NaN: not said.
    pub(crate) propensity: f64,
    pub(crate) next: Option<u32>,
}

/// Where the steps of an episode are.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) first: usize,
    pub(crate) n: usize,
    /// How often it counts.
    pub(crate) weight: u32,
    pub(crate) end: Option<End>,
}

/// What a log has that some of the answers cannot use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Episodes that do not begin at the first stage: they say nothing about where episodes start and what one brings.
    pub late: u64,
    /// Episodes of which not every payment is known, up to their end: they have no return.
    pub incomplete: u64,
    /// Steps that do not say what was done, and are not counted.
    pub without_action: u64,
    /// Steps without a variable that acts on the next state or the reward: no ratio can be computed.
    pub without_cause: u64,
}

/// Why an episode cannot be taken in.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EpisodeError {
    /// A step is not one of this world, or cannot be counted.
    #[error("line {line}: {error}")]
    Step {
        /// Line of the file; 0 where there is none.
        line: u64,
        /// Why.
        error: EvidenceError,
    },
    /// Stages out of order.
    #[error("line {line}: stage {found} comes after stage {before} of the same episode; give its steps by stage")]
    Order {
        /// Line of the file; 0 where there is none.
        line: u64,
        /// From 1.
        found: usize,
        /// From 1.
        before: usize,
    },
}

impl Episodes {
    /// No episodes yet, to be counted in this many folds (at least 2).
    pub fn new(told: &Knowledge, folds: usize) -> LearnResult<Episodes> {
        if folds < 2 {
            let expected = "at least 2, so that a model can be made without the episode that it is compared with";
            return Err(LearnError::Option { name: "folds", value: folds as f64, expected });
        }
        let options = Options::default();
        let first = Evidence::new(told, &options)?;
        let view = first.view.clone();
        Ok(Episodes {
            folds: vec![first; folds],
            on_next: OnNext::of(told),
            terminates: false,
            arrival: told.world().arrival(),
            view,
            steps: Vec::new(),
            episodes: Vec::new(),
            left_out: LeftOut::default(),
        })
    }

    /// Takes in one episode: its steps in the order of their stages, some of which may be missing.
    pub fn add(&mut self, steps: &[LogStep<'_>]) -> Result<(), EpisodeError> {
        let Some(first) = steps.first() else { return Ok(()) };
        for pair in steps.windows(2) {
            let [before, found] = [&pair[0], &pair[1]].map(|s| s.observation.stage() + 1);
            if found <= before {
                return Err(EpisodeError::Order { line: pair[1].line, found, before });
            }
        }
        let fold = self.episodes.len() % self.folds.len();
        // Folds are added up again, and what they have together must be countable too.
        let counted: u64 = self.folds.iter().map(Evidence::steps).sum();
        let more: u64 = steps.iter().map(|s| u64::from(s.weight)).sum();
        if counted + more > u64::from(u32::MAX) {
            return Err(EpisodeError::Step { line: first.line, error: EvidenceError::Full });
        }
        for step in steps {
            let wrong = |error| EpisodeError::Step { line: step.line, error };
            match self.folds[fold].check_addition(&step.observation) {
                Ok(_) | Err(EvidenceError::NothingDone) => {}
                Err(error) => return Err(wrong(error)),
            }
        }
        let at = self.steps.len();
        for step in steps {
            let observation = &step.observation;
            if observation.action().is_none() {
                self.left_out.without_action += 1;
            } else if step.weight > 0 {
                let added = self.folds[fold].add_times(observation, step.weight);
                added.map_err(|error| EpisodeError::Step { line: step.line, error })?;
            }
            self.on_next.iter_mut().for_each(|term| term.add(&self.view.layout.state_space, observation));
            let kept = Step::of(&self.view, &self.arrival, step);
            self.left_out.without_cause += u64::from(kept.cause.is_none());
            self.steps.push(kept);
        }
        let end = steps.last().and_then(|s| s.end);
        let episode = Episode { first: at, n: steps.len(), weight: first.weight, end };
        let early = steps.last().is_some_and(|s| s.observation.stage() + 1 < self.view.layout.horizon);
        self.terminates |= early && end == Some(End::Terminated);
        if self.steps[at].stage > 0 {
            self.left_out.late += 1;
        } else if self.gain(&episode).is_none() {
            self.left_out.incomplete += 1;
        }
        self.episodes.push(episode);
        Ok(())
    }

    /// Number of episodes.
    pub fn len(&self) -> usize {
        self.episodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// What some answers cannot use.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// A reward term on next values that is learned and was not recorded in more than 1 % of the steps, depending on what followed, and in how many:
    /// for some next values never, or chance alone would hardly (p < 0.05) make recorded and other steps differ as much in what followed.
    ///
    /// What such a term pays is counted by what next values depend on; where it is recorded less often after some next values than after others, that is the mean
    /// of the others.
    pub(crate) fn unpaid(&self) -> Option<(&str, u64)> {
        let many = |term: &&OnNext| term.missing as f64 > FEW * self.steps.len() as f64;
        let depends = |term: &OnNext| {
            let never = term.by_next.values().any(|[paid, missing]| *paid == 0 && *missing > 0);
            let payments = |test: &RecordingTest| test.what == Recording::Payments && test.p < 0.05;
            never || self.recording_tests().iter().any(payments)
        };
        let found = self.on_next.iter().filter(many).find(|term| depends(term))?;
        Some((&self.view.told.rewards()[found.term].name, found.missing))
    }

    /// What the log's episodes were counted for.
    pub fn knowledge(&self) -> &Knowledge {
        &self.view.told
    }

    /// All that was seen.
    pub fn evidence(&self) -> Evidence {
        self.evidence_without(None)
    }

    /// What was seen, a fold left out.
    pub(crate) fn evidence_without(&self, fold: Option<usize>) -> Evidence {
        let mut all = Evidence::of(&self.view);
        for (i, part) in self.folds.iter().enumerate() {
            if fold != Some(i) {
                all.merge(part)
                    .expect("invariant: folds are counted alike, and no row has more visits than can be counted");
            }
        }
        all
    }

    pub(crate) fn n_folds(&self) -> usize {
        self.folds.len()
    }

    /// The fold of an episode.
    pub(crate) fn fold(&self, episode: usize) -> usize {
        episode % self.folds.len()
    }

    pub(crate) fn steps_of(&self, episode: &Episode) -> &[Step] {
        &self.steps[episode.first..episode.first + episode.n]
    }

    /// Whether an episode may have fewer steps than the horizon has.
    pub(crate) fn ends_early(&self) -> bool {
        self.terminates || self.view.told.world().ends().is_some()
    }

    /// The least and the most that an episode can have brought, costs taken off and later steps discounted as the world says: what is not
    /// recorded, up to its end or, where that is not known, up to the horizon, is taken at its worst and at its best. `None` if it does
    /// not begin at the first stage.
    pub(crate) fn bounds(&self, episode: &Episode) -> Option<[f64; 2]> {
        let steps = self.steps_of(episode);
        let last = steps.first().filter(|first| first.stage == 0).and(steps.last())?;
        let (told, horizon) = (&self.view.told, self.view.layout.horizon);
        let world = told.world();
        let (of_step, of_payment) = (world.step_range(), world.reward_range());
        let mut steps = steps.iter().peekable();
        let (mut sum, mut weight) = ([0.0; 2], 1.0);
        for stage in 0..=last.stage {
            let found = match steps.next_if(|step| step.stage == stage).map(|step| (step.action, step.paid)) {
                Some((Some(action), paid)) if !paid.is_nan() => [paid - told.interventions().cost(action); 2],
                Some((Some(action), _)) => of_payment.map(|x| x - told.interventions().cost(action)),
                Some((None, _)) | None => of_step,
            };
            sum.iter_mut().zip(found).for_each(|(sum, x)| *sum += weight * x);
            weight *= world.discount();
        }
        if !self.is_over(episode) {
            let mut rest = [0.0; 2];
            for _ in last.stage as usize + 1..horizon {
                rest.iter_mut().zip(of_step).for_each(|(rest, x)| *rest += weight * x);
                weight *= world.discount();
            }
            // It may have ended at once.
            if world.ends().is_some() || self.terminates {
                rest = [rest[0].min(0.0), rest[1].max(0.0)];
            }
            sum.iter_mut().zip(rest).for_each(|(sum, x)| *sum += x);
        }
        Some(sum)
    }

    /// Whether nothing follows an episode's last step.
    fn is_over(&self, episode: &Episode) -> bool {
        let world = self.view.told.world();
        let has_ended = |step: &Step| step.next.is_some_and(|s| world.has_ended(s as usize));
        let last = self.steps_of(episode).last();
        last.is_some_and(|step| step.stage as usize + 1 == self.view.layout.horizon || has_ended(step))
            || episode.end == Some(End::Terminated)
    }

    /// What an episode brought, costs taken off and later steps discounted as the world says; `None` if it does not begin at the first stage or not every payment is known.
    pub(crate) fn gain(&self, episode: &Episode) -> Option<f64> {
        let steps = self.steps_of(episode);
        let world = self.view.told.world();
        let in_order = steps.iter().enumerate().all(|(h, step)| step.stage as usize == h);
        if !self.is_over(episode) || !in_order {
            return None;
        }
        let all = self.view.told.interventions();
        let mut weight = 1.0;
        let gains = steps.iter().map(|step| {
            let gain = step.action.map_or(f64::NAN, |a| weight * (step.paid - all.cost(a)));
            weight *= world.discount();
            gain
        });
        Some(gains.sum::<f64>()).filter(|sum| !sum.is_nan())
    }
}

impl Step {
    fn of(view: &View, arrival: &[f64], step: &LogStep<'_>) -> Step {
        let seen = &step.observation;
        let (cause, missing) = view.key_causes.of_seen(seen.values(), MISSING);
        let cause = (missing == 0).then_some(cause);
        let paid: f64 = seen.rewards().iter().sum();
        let paid = match cause {
            // What a world says is paid need not be logged.
            Some(c) if paid.is_nan() && view.payments.is_known() => {
                let arriving = match seen.next_state() {
                    _ if arrival.is_empty() => 0.0,
                    Some(next) => arrival[next],
                    None => f64::NAN,
                };
                view.payments.known[seen.state() * view.payments.n_causes + c] + arriving
            }
            Some(_) | None => paid,
        };
        Step {
            stage: seen.stage() as u32,
            state: seen.state() as u32,
            cause: cause.map(|c| c as u32),
            action: seen.action(),
            paid,
            propensity: step.propensity.unwrap_or(f64::NAN),
            next: seen.next_state().map(|s| s as u32),
        }
    }
}
