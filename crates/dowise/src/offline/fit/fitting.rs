//! Fits a world to a log: counts its steps, then estimates all tables.

use std::sync::Arc;

use super::FitError;
use super::confounded::Confounded;
use super::em::Incomplete;
use super::experiments::{Experiments, with_experiments};
use super::fitted::Fitted;
use super::keep::Kept;
use super::report::OpenQuestion;
use super::seen::Seen;
use super::structure::{Marginalised, Structure, structure};
use super::tables::{Rule, Tallies};
use crate::data::{BinnedVariable, End, LogStep};
use crate::learn::{Evidence, Knowledge, NextStateRewards, Options, View};
use crate::offline::assumptions::Declared;
use crate::offline::episodes::Step;
use crate::offline::returns::{bounds, gain};
use crate::offline::summary::ReturnSums;
use crate::offline::{GraphTest, MissingnessCounts, PropensityCounts};
use crate::world::World;

/// Imputations of a log with missing values, for intervals.
const COMPLETED: usize = 40;

/// Options of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// Variables and reward terms whose numbers stay as in the world file; `mechanisms`, `transitions`, `rewards` and
    /// `start` stand for all of a kind. Everything else is fitted.
    pub keep: Vec<String>,
    /// Prior weight in visits, shared equally by the values of a row.
    pub prior: f64,
    /// Level of the credible intervals.
    pub level: f64,
    /// Whether EM imputes missing key variables from the rest of the step, next state included. Otherwise an incomplete
    /// step counts only for tables whose variables are complete.
    pub em: bool,
    /// Randomised levers: their values depend on recorded variables only, so no hidden parent acts on them. No column
    /// can prove this, since a propensity may be estimated afterwards; it has to be declared.
    pub randomised: Vec<String>,
    /// Whether the log has steps whose levers were set by a draw ([`LogStep::randomised`]). Mechanisms that confounding
    /// makes unidentified are then learned from these steps alone. Not with EM.
    pub randomised_steps: bool,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions {
            keep: Vec::new(),
            prior: 2.0,
            level: 0.95,
            em: false,
            randomised: Vec::new(),
            randomised_steps: false,
        }
    }
}

/// A fit under way.
#[derive(Clone, Debug)]
pub struct Fitting {
    pub(super) options: FitOptions,
    /// Rows that were excluded because of errors, and rows of the log.
    excluded: [u64; 2],
    pub(super) kept: Kept,
    pub(super) world: World,
    pub(super) marginalised: Vec<Marginalised>,
    pub(super) confounded: Vec<Confounded>,
    pub(super) knowledge: Knowledge,
    pub(super) evidence: Evidence,
    pub(super) seen: Seen,
    pub(super) next_state_rewards: NextStateRewards,
    pub(super) incomplete: Incomplete,
    /// Moments of the returns of whole episodes: assuming no early ends, and allowing them.
    pub(super) returns: [ReturnSums; 2],
    /// Whether an episode ended before the horizon.
    pub(super) terminates: bool,
    arrival: Vec<f64>,
    /// Outcomes of steps with and without each recorded value.
    pub(super) recorded: MissingnessCounts,
    /// Tests of the independences that the graph implies, in whole episodes.
    pub(super) graph: GraphTest,
    /// Interventions by state, with their propensities.
    pub(super) propensities: PropensityCounts,
    /// What is learned from randomised steps only; `None` if nothing is.
    experiments: Option<Experiments>,
}

impl Fitting {
    /// A fit without data.
    pub fn new(world: &World, options: FitOptions) -> Result<Fitting, FitError> {
        if !(options.prior > 0.0 && options.prior <= 1e6) {
            return Err(FitError::Option {
                name: "prior",
                value: options.prior,
                expected: "a prior is worth a number of visits of each row, above 0 and up to 1000000",
            });
        }
        if !(options.level > 0.0 && options.level < 1.0) {
            return Err(FitError::Option {
                name: "level",
                value: options.level,
                expected: "a level is a probability above 0 and below 1, such as 0.95",
            });
        }
        let own = Kept::read(world, &options.keep)?;
        let mut kept = own.clone();
        let mut found = structure(world, &mut kept, &options.randomised)?;
        let mut experiments = None;
        if options.randomised_steps && !options.em {
            let as_logged = kept.skeleton(&found.world);
            if let Some(by_draw) = with_experiments(world, own, (&found, as_logged), &options.randomised)? {
                (found, kept, experiments) = (by_draw.structure, by_draw.kept, Some(by_draw.only));
            }
        }
        let Structure { world, marginalised, confounded } = found;
        let knowledge = kept.skeleton(&world);
        let evidence = Evidence::new(&knowledge, &Options::default())?;
        let experiments = experiments.map(|of| Experiments::new(of, &evidence));
        let (recorded, graph) = (MissingnessCounts::new(&knowledge), graph_test(&knowledge, experiments.as_ref()));
        let (seen, next_state_rewards, incomplete) =
            (Seen::new(&knowledge), NextStateRewards::new(&evidence.view), Incomplete::default());
        let (returns, terminates, arrival) = ([ReturnSums::default(); 2], false, knowledge.world().arrival());
        Ok(Fitting {
            options,
            excluded: [0; 2],
            kept,
            world,
            marginalised,
            confounded,
            evidence,
            seen,
            next_state_rewards,
            incomplete,
            returns,
            terminates,
            arrival,
            recorded,
            graph,
            propensities: PropensityCounts::new(&knowledge),
            knowledge,
            experiments,
        })
    }

    /// The world to fit, with hidden variables marginalised out; logs are read against it. Its numbers are those of the
    /// world file and matter only if kept.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The knowledge for building observations: the graph and the kept numbers.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// Confounded levers: their effects are not fitted.
    pub fn confounded(&self) -> &[Confounded] {
        &self.confounded
    }

    /// World-file numbers that stand in for unidentified effects; an evaluation or guarantee has to state them. An
    /// error that names the experiment if the world file lacks such numbers.
    pub fn rests_on(&self) -> Result<Vec<OpenQuestion>, FitError> {
        match self.confounded.iter().find(|c| !c.without_numbers.is_empty()) {
            Some(without) => Err(without.refusal()),
            None => Ok(self.confounded.iter().map(Confounded::question).collect()),
        }
    }

    /// Randomised levers, and variables whose mechanisms the log does not identify.
    pub(crate) fn declared(&self) -> Declared {
        Declared {
            randomised: self.options.randomised.clone(),
            not_fitted: self.confounded.iter().flat_map(|c| c.not_fitted.clone()).collect(),
            excluded: self.excluded,
            randomised_only: self.experiments.as_ref().map(|found| found.of.clone()),
        }
    }

    /// What is learned from randomised steps only; `None` if nothing is.
    pub(crate) fn experiments(&self) -> Option<&Experiments> {
        self.experiments.as_ref()
    }

    /// A graph test for the world of this fit, without data.
    pub(crate) fn new_graph_test(&self) -> GraphTest {
        graph_test(&self.knowledge, self.experiments.as_ref())
    }

    /// States which variables were cut into bins.
    pub fn cut(&mut self, binned: &[BinnedVariable]) {
        self.graph.cut(binned);
    }

    /// States that so many rows of the log were excluded because of errors, of so many.
    pub fn exclude(&mut self, rows: u64, of: u64) {
        self.excluded = [rows, of];
    }

    /// The evidence so far.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Adds a step with its weight as multiplicity.
    pub fn add(&mut self, step: &LogStep<'_>) -> Result<(), FitError> {
        if step.weight == 0 {
            return Ok(());
        }
        if step.observation.action().is_none() {
            self.seen.without_action += u64::from(step.weight);
            return Ok(());
        }
        let left_out = self.experiments.as_ref().map_or(&[][..], |found| found.left_out(step));
        self.evidence.add_times_without(&step.observation, step.weight, left_out)?;
        self.propensities.add(step);
        self.seen.add(&self.knowledge, step);
        self.next_state_rewards.add(&step.observation, step.weight);
        self.recorded.add(&step.observation, step.weight);
        if self.options.em {
            self.incomplete.add(&self.knowledge, &step.observation, step.weight);
        }
        Ok(())
    }

    /// Adds a whole episode: its steps in the order of their stages, and its return as a reference for later plans.
    pub fn add_episode(&mut self, steps: &[LogStep<'_>]) -> Result<(), Box<(u64, FitError)>> {
        let line = steps.first().map_or(0, |step| step.line);
        self.graph.add_episode(steps).map_err(|error| Box::new((line, error.into())))?;
        for step in steps {
            self.add(step).map_err(|error| Box::new((step.line, error)))?;
        }
        let Some(last) = steps.last() else { return Ok(()) };
        let view = &self.evidence.view;
        let early = last.observation.stage() + 1 < view.layout.horizon;
        self.terminates |= early && last.end == Some(End::Terminated);
        let kept: Vec<Step> = steps.iter().map(|step| Step::of(view, &self.arrival, step)).collect();
        let is_complete = gain(view, &kept, last.end).is_some();
        for (sums, ends_early) in self.returns.iter_mut().zip([false, true]) {
            if let Some(bounds) = bounds(view, &kept, last.end, ends_early) {
                sums.add(bounds, steps[0].weight, is_complete);
            }
        }
        Ok(())
    }

    /// Moments of the returns of whole episodes; `None` if there are none.
    pub(super) fn returns(&self) -> Option<ReturnSums> {
        let ends_early = self.terminates || self.knowledge.world().ends().is_some();
        let found = self.returns[usize::from(ends_early)];
        (found.middle.n > 0.0).then_some(ReturnSums { ends_early, ..found })
    }

    /// Fits all tables.
    pub fn fit(self) -> Result<Fitted, FitError> {
        if self.evidence.steps() == 0 {
            return Err(FitError::NoSteps);
        }
        let rule = Rule { prior: self.options.prior, level: self.options.level };
        let mut tallies = Tallies::of(&self.evidence);
        let em = self.options.em.then(|| self.incomplete.expect(&self.evidence, &mut tallies, rule));
        let drawn = match &em {
            Some(em) if em.steps > 0 => self.incomplete.draws(&self.evidence, &tallies, rule, COMPLETED, 0),
            Some(_) | None => Vec::new(),
        };
        Fitted::new(self, (&tallies, &drawn), rule, em)
    }

    /// The evidence, counted for the world with its fitted numbers.
    pub(super) fn evidence_of(evidence: Evidence, kept: &Kept, world: &World) -> Result<Evidence, FitError> {
        let options = Options::default();
        let knowledge = kept.skeleton(world);
        let view = View::new(&knowledge, options.states, options.causes, options.stage_dependent)?;
        Ok(evidence.moved_to(&Arc::new(view)))
    }
}

/// A graph test of a world; where mechanisms are learned from randomised steps only, other steps have another graph.
fn graph_test(knowledge: &Knowledge, experiments: Option<&Experiments>) -> GraphTest {
    match experiments {
        Some(found) => GraphTest::with_experiments(knowledge, &found.as_logged),
        None => GraphTest::new(knowledge),
    }
}
