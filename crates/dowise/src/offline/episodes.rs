//! Complete episodes of a log for off-policy evaluation: evidence in cross-fitting folds, and every step.

use std::collections::HashMap;
use std::sync::Arc;

use super::assumptions::Declared;
use super::censoring::{Censoring, CensoringCounts};
use super::fit::{Experiments, Fitting, Incomplete};
use super::graph_test::GraphTest;
use super::missingness::{MissingnessCounts, MissingnessTest};
use super::propensities::{PropensityCounts, PropensityTest};
use super::returns::{bounds, gain};
use super::summary::LogSummary;
use super::unrecorded::Unrecorded;
use crate::data::{BinnedVariable, End, LogStep};
use crate::hash::join;
use crate::learn::{
    Evidence, EvidenceError, Knowledge, LearnError, LearnResult, MISSING, NextStateRewards, Options, View,
};
use crate::random::splitmix64;
use crate::world::{Action, RewardTerm};

/// Episodes of a log, counted along the graph and kept step by step.
///
/// Evidence is counted in folds of episodes (cross-fitting): a model of the other folds has not seen the episode that
/// it is compared with. The fold of an episode depends on its content, and of equal episodes on how many came before:
/// estimates are the same for every order of the episodes.
///
/// ```
/// use dowise::data::LogStep;
/// use dowise::offline::Episodes;
/// use dowise::{Knowledge, Observation, worlds};
/// let world = worlds::world("river-swim", &[])?;
/// let knowledge = Knowledge::of(&world);
/// let mut log = Episodes::new(&knowledge, 5)?;
/// let step = Observation::at(&knowledge, 0, 0)?.did(&knowledge, 0)?.saw(&knowledge, [("push", "forward")])?.then(&knowledge, 1)?;
/// log.add(&[LogStep::new(0, step)])?;
/// assert_eq!((log.len(), log.steps()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Episodes {
    pub(crate) view: Arc<View>,
    pub(crate) steps: Vec<Step>,
    pub(crate) episodes: Vec<Episode>,
    /// Known reward of arriving in a state; empty if there is none or if it is not known.
    arrival: Vec<f64>,
    folds: Vec<Evidence>,
    /// Payments of next-state reward terms by next values, in the same folds.
    next_state_rewards: Vec<NextStateRewards>,
    /// Missing payments and next states, by row.
    unrecorded: Unrecorded,
    /// Outcomes of steps with and without each recorded value.
    recorded: MissingnessCounts,
    /// Tests of the independences that the graph implies.
    graph: GraphTest,
    declared: Declared,
    /// What is learned from randomised steps only; `None` if nothing is.
    experiments: Option<Experiments>,
    /// Interventions by state, with their propensities.
    propensities: PropensityCounts,
    censoring: CensoringCounts,
    /// Whether an episode ended before the horizon.
    terminates: bool,
    /// How many episodes had this content.
    copies: HashMap<u64, u64>,
    left_out: LeftOut,
    /// Steps with missing key variables, if EM is to impute them, and the pattern of each such step.
    incomplete: Option<Incomplete>,
    pub(crate) patterns: Vec<(usize, usize)>,
}

/// One step, as far as the log records it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) stage: u32,
    pub(crate) state: u32,
    /// Joint key values; `None` if one of them is missing.
    pub(crate) cause: Option<u32>,
    pub(crate) action: Option<Action>,
    /// Reward before costs. If the log lacks it and the world knows it, the world's reward of the joint key values and
    /// the next state. NaN: unknown.
    pub(crate) paid: f64,
    /// NaN: not recorded.
    pub(crate) propensity: f64,
    pub(crate) next: Option<u32>,
    /// Whether its levers were set by a draw.
    pub(crate) randomised: bool,
}

/// The position of an episode's steps.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) first: usize,
    pub(crate) n: usize,
    /// Its multiplicity.
    pub(crate) weight: u32,
    /// Its cross-fitting fold.
    pub(crate) fold: u32,
    pub(crate) end: Option<End>,
}

/// Parts of a log that some estimates cannot use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Episodes that do not begin at the first stage: they have neither a start nor a return.
    pub late: u64,
    /// Episodes with an unknown payment before their end: they have no return.
    pub incomplete: u64,
    /// Steps without an intervention; they are not counted.
    pub without_action: u64,
    /// Steps without a variable that acts on the next state or the reward: they have no importance ratio.
    pub without_cause: u64,
    /// Steps before the horizon without a next state.
    pub without_next: u64,
}

/// Why an episode is rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EpisodeError {
    /// A step does not fit this world, or cannot be counted.
    #[error("line {line}: {error}")]
    Step {
        /// Line of the file; 0 if there is none.
        line: u64,
        /// The reason.
        error: EvidenceError,
    },
    /// Stages out of order.
    #[error("line {line}: stage {found} comes after stage {before} of the same episode; give its steps by stage")]
    Order {
        /// Line of the file; 0 if there is none.
        line: u64,
        /// From 1.
        found: usize,
        /// From 1.
        before: usize,
    },
}

impl Episodes {
    /// An empty log with this many folds (at least 2).
    pub fn new(knowledge: &Knowledge, folds: usize) -> LearnResult<Episodes> {
        if folds < 2 {
            let expected = "at least 2, so that a model can be made without the episode that it is compared with";
            return Err(LearnError::Option { name: "folds", value: folds as f64, expected });
        }
        let options = Options::default();
        let first = Evidence::new(knowledge, &options)?;
        let view = first.view.clone();
        let next_state_rewards = NextStateRewards::new(&view);
        Ok(Episodes {
            unrecorded: Unrecorded::new(&view, &next_state_rewards),
            next_state_rewards: vec![next_state_rewards; folds],
            folds: vec![first; folds],
            recorded: MissingnessCounts::new(knowledge),
            graph: GraphTest::new(knowledge),
            declared: Declared::default(),
            experiments: None,
            propensities: PropensityCounts::new(knowledge),
            censoring: CensoringCounts::new(knowledge),
            terminates: false,
            copies: HashMap::new(),
            arrival: knowledge.world().arrival(),
            view,
            steps: Vec::new(),
            episodes: Vec::new(),
            left_out: LeftOut::default(),
            incomplete: None,
            patterns: Vec::new(),
        })
    }

    /// An empty log for the world of a fit: with its graph, its kept numbers, and its randomised levers.
    pub fn of_fit(fitting: &Fitting, folds: usize) -> LearnResult<Episodes> {
        let (declared, experiments) = (fitting.declared(), fitting.experiments().cloned());
        Ok(Episodes {
            declared,
            experiments,
            graph: fitting.new_graph_test(),
            ..Episodes::new(fitting.knowledge(), folds)?
        })
    }

    /// Imputes missing key variables from the rest of the step, including the next state, by EM. This is valid if
    /// missingness depends on the next state. Call it before adding episodes. If mechanisms are learned from randomised
    /// steps only, nothing is imputed: incomplete steps then count where they are complete, as without EM.
    pub fn with_em(mut self) -> Episodes {
        self.incomplete = self.experiments.is_none().then(Incomplete::default);
        self
    }

    /// States that so many rows of the log were excluded because of errors, of so many.
    pub fn exclude(&mut self, rows: u64, of: u64) {
        self.declared.excluded = [rows, of];
    }

    /// States which variables were cut into bins.
    pub fn cut(&mut self, binned: &[BinnedVariable]) {
        self.graph.cut(binned);
    }

    /// Whether mechanisms are learned from randomised steps only. Then P(c | s, do(a)) is not the distribution of key
    /// variables in other steps with intervention a.
    pub(crate) fn learns_from_experiments(&self) -> bool {
        self.experiments.is_some()
    }

    /// Whether the log has randomised steps and others.
    pub(crate) fn is_partly_randomised(&self) -> bool {
        [true, false].iter().all(|&kind| self.steps.iter().any(|step| step.randomised == kind))
    }

    /// Whether interventions occur as often as their propensities say.
    pub fn propensity_test(&self) -> PropensityTest {
        self.propensities.test()
    }

    /// Statements about the log that its rows do not contain.
    pub(crate) fn declared(&self) -> &Declared {
        &self.declared
    }

    /// Tests of the independences that the graph implies, counted over all episodes.
    pub(crate) fn graph_test(&self) -> &GraphTest {
        &self.graph
    }

    /// Whether EM imputes missing key variables of at least one step.
    pub fn uses_em(&self) -> bool {
        self.incomplete.as_ref().is_some_and(|incomplete| !incomplete.is_empty())
    }

    /// Adds one episode: steps in the order of their stages, with gaps allowed.
    pub fn add(&mut self, steps: &[LogStep<'_>]) -> Result<(), EpisodeError> {
        let Some(first) = steps.first() else { return Ok(()) };
        for pair in steps.windows(2) {
            let [before, found] = [&pair[0], &pair[1]].map(|s| s.observation.stage() + 1);
            if found <= before {
                return Err(EpisodeError::Order { line: pair[1].line, found, before });
            }
        }
        // Folds are merged again later, so their total must not overflow either.
        let counted: u64 = self.folds.iter().map(Evidence::steps).sum();
        let more: u64 = steps.iter().map(|s| u64::from(s.weight)).sum();
        if counted + more > u64::from(u32::MAX) {
            return Err(EpisodeError::Step { line: first.line, error: EvidenceError::Full });
        }
        for step in steps {
            let wrong = |error| EpisodeError::Step { line: step.line, error };
            match self.folds[0].check_addition(&step.observation) {
                Ok(_) | Err(EvidenceError::NothingDone) => {}
                Err(error) => return Err(wrong(error)),
            }
        }
        let counted = self.graph.add_episode(steps);
        counted.map_err(|error| EpisodeError::Step { line: first.line, error })?;
        let at = self.steps.len();
        self.steps.extend(steps.iter().map(|step| Step::of(&self.view, &self.arrival, step)));
        let end = steps.last().and_then(|s| s.end);
        let fold = self.fold_of(at, end);
        for (at, step) in (at..).zip(steps) {
            let observation = &step.observation;
            if observation.action().is_none() {
                self.left_out.without_action += 1;
            } else if step.weight > 0 {
                let pattern =
                    self.incomplete.as_mut().and_then(|i| i.add(&self.view.knowledge, observation, step.weight));
                self.patterns.extend(pattern.map(|pattern| (at, pattern)));
                let left_out = self.experiments.as_ref().map_or(&[][..], |found| found.left_out(step));
                let added = self.folds[fold].add_times_without(observation, step.weight, left_out);
                added.map_err(|error| EpisodeError::Step { line: step.line, error })?;
                self.next_state_rewards[fold].add(observation, step.weight);
            }
            self.recorded.add(observation, step.weight);
            self.propensities.add(step);
            let kept = &self.steps[at];
            if let Some(cause) = kept.cause.filter(|_| step.weight > 0 && kept.action.is_some()) {
                self.unrecorded.add(&self.view, &self.next_state_rewards[fold], step, cause as usize);
            }
            self.left_out.without_cause += u64::from(kept.cause.is_none());
            let last = observation.stage() + 1 == self.view.layout.horizon;
            self.left_out.without_next += u64::from(!last && observation.next_state().is_none());
        }
        self.censoring.add(steps);
        let episode = Episode { first: at, n: steps.len(), weight: first.weight, fold: fold as u32, end };
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

    /// The fold of the episode whose steps begin at `at`: its content picks one, and equal episodes take turns.
    fn fold_of(&mut self, at: usize, end: Option<End>) -> usize {
        let content = self.steps[at..].iter().fold(end.map_or(0, |end| end as u64 + 1), |hash, step| {
            let number = |x: Option<u32>| x.map_or(u64::MAX, u64::from);
            let action = step.action.map_or(u64::MAX, |a| a.0);
            let paid = if step.paid.is_nan() { u64::MAX } else { step.paid.to_bits() };
            let words =
                [u64::from(step.stage), u64::from(step.state), number(step.cause), action, paid, number(step.next)];
            let hash = words.into_iter().fold(hash, join);
            if step.randomised { join(hash, 1) } else { hash }
        });
        let copies = self.copies.entry(content).or_default();
        *copies += 1;
        (splitmix64(content).wrapping_add(*copies) % self.folds.len() as u64) as usize
    }

    /// Whether some next-state reward is learned.
    pub(crate) fn pays_for_next_values(&self) -> bool {
        !self.next_state_rewards[0].terms.is_empty()
    }

    /// Number of episodes.
    pub fn len(&self) -> usize {
        self.episodes.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Parts of the log that some estimates cannot use.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Missing payments and next states, by row.
    pub(crate) fn unrecorded(&self) -> &Unrecorded {
        &self.unrecorded
    }

    /// Whether episodes stop without an end, and whether that depends on what happened.
    pub(crate) fn censoring(&self) -> Censoring {
        self.censoring.test()
    }

    /// Share of steps without a next state, `[state][joint key values]`.
    pub(crate) fn share_dropped(&self) -> Vec<f64> {
        let n_causes = self.view.payments.n_causes;
        let mut steps = vec![0.0; self.view.layout.n_states() * n_causes];
        for episode in &self.episodes {
            for step in self.steps_of(episode) {
                let cell = step.cause.map(|cause| step.state as usize * n_causes + cause as usize);
                cell.into_iter().for_each(|cell| steps[cell] += f64::from(episode.weight));
            }
        }
        let dropped = self.unrecorded.dropped();
        let share = |(cell, n): (usize, &f64)| dropped.get(&cell).map_or(0.0, |&d| f64::from(d) / n.max(1.0));
        steps.iter().enumerate().map(share).collect()
    }

    /// Missingness tests of all variables and learned payments that are missing in some steps.
    pub fn missingness_tests(&self) -> Vec<MissingnessTest> {
        learned_tests(&self.recorded, &self.view.knowledge)
    }

    /// The prior knowledge under which the log was counted.
    pub fn knowledge(&self) -> &Knowledge {
        &self.view.knowledge
    }

    /// The evidence of all folds.
    pub fn evidence(&self) -> Evidence {
        self.evidence_without(None)
    }

    /// The summary of all folds, without the steps.
    pub fn summary(&self) -> LogSummary {
        self.summary_without(None)
    }

    /// The summary without one fold.
    pub(crate) fn summary_without(&self, fold: Option<usize>) -> LogSummary {
        let mut next_state_rewards = NextStateRewards::new(&self.view);
        let others = self.next_state_rewards.iter().enumerate().filter(|(i, _)| fold != Some(*i));
        others.for_each(|(_, part)| next_state_rewards.merge(part));
        let incomplete = self.incomplete.clone().filter(|_| fold.is_none());
        let missingness = if fold.is_none() { self.missingness_tests() } else { Vec::new() };
        LogSummary {
            incomplete,
            missingness,
            declared: self.declared.clone(),
            propensities: fold.is_none().then(|| self.propensity_test()).filter(|test| test.steps > 0),
            unrecorded: fold.is_none().then(|| Arc::new(self.unrecorded.clone())),
            ..LogSummary::new(self.evidence_without(fold), Some(Arc::new(next_state_rewards)))
        }
    }

    /// The evidence without one fold.
    fn evidence_without(&self, fold: Option<usize>) -> Evidence {
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
        self.episodes[episode].fold as usize
    }

    pub(crate) fn steps_of(&self, episode: &Episode) -> &[Step] {
        &self.steps[episode.first..episode.first + episode.n]
    }

    /// Whether an episode ended before the horizon although the world has no terminal states.
    pub(crate) fn ends_against_the_world(&self) -> bool {
        self.terminates && self.view.knowledge.world().ends().is_none()
    }

    /// Whether an episode may have fewer steps than the horizon has.
    pub(crate) fn ends_early(&self) -> bool {
        self.terminates || self.view.knowledge.world().ends().is_some()
    }

    /// See [`bounds`].
    pub(crate) fn bounds(&self, episode: &Episode) -> Option<[f64; 2]> {
        bounds(&self.view, self.steps_of(episode), episode.end, self.ends_early())
    }

    /// See [`gain`].
    pub(crate) fn gain(&self, episode: &Episode) -> Option<f64> {
        gain(&self.view, self.steps_of(episode), episode.end)
    }
}

/// Missingness tests, without those of known payments.
pub(crate) fn learned_tests(recorded: &MissingnessCounts, knowledge: &Knowledge) -> Vec<MissingnessTest> {
    let known = |test: &MissingnessTest| {
        let of = |r: &&RewardTerm| test.what == format!("reward {}", r.name);
        test.is_payment && knowledge.rewards().iter().find(of).is_some_and(|r| r.table.is_some())
    };
    recorded.tests().into_iter().filter(|test| !known(test)).collect()
}

impl Step {
    pub(crate) fn of(view: &View, arrival: &[f64], step: &LogStep<'_>) -> Step {
        let seen = &step.observation;
        let (cause, missing) = view.key_causes.of_seen(seen.values(), MISSING);
        let cause = (missing == 0).then_some(cause);
        let paid: f64 = seen.rewards().iter().sum();
        let pays_for_next = view.knowledge.rewards().iter().any(|term| !term.next.is_empty());
        let paid = match cause {
            // Known rewards need not be logged.
            Some(c) if paid.is_nan() && view.payments.is_known() => {
                let arriving = match seen.whole_next_state() {
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
            randomised: step.randomised == Some(true),
            // Next-state rewards need all next values.
            next: if pays_for_next { seen.whole_next_state() } else { seen.next_state() }.map(|s| s as u32),
        }
    }
}
