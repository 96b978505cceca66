//! The assumptions behind an answer from a log, and whether the log contradicts them.
//!
//! A recommendation is a function of this record ([`plan_safely`](super::plan_safely)): if an assumption fails, nothing
//! is recommended.

mod assignment;
mod checks;
mod identification;
mod sampling;

use serde::{Deserialize, Serialize};

pub use self::identification::{Identification, Identified};

use self::assignment::{confounding, propensities};
use self::checks::{endings, excluded, forms, graph, markov, missingness, reproduced, stationarity, world_file};
pub(crate) use self::checks::{outcomes, overlap, short};
use self::identification::identified;
use self::sampling::{censoring, sampling};
use super::censoring::Censoring;
use super::evaluate::Logged;
use super::fit::RandomisedOnly;
use super::form_fit::form_fits;
use super::graph_test::{GraphReport, rejected};
use super::{Episodes, LogSummary, MissingnessTest, PropensityTest, Tested, Untested};
use crate::learn::{Evidence, NextStateRewards};

/// Level of the graph test: a true graph is rejected with at most this probability.
const GRAPH_LEVEL: f64 = 0.05;

/// Level of the test of the Markov property.
const MARKOV_LEVEL: f64 = 0.01;

/// Share of episodes without data from which on a policy has no overlap with the log.
pub(crate) const NO_OVERLAP: f64 = 0.01;

/// Everything that an answer from a log rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssumptionRecord {
    /// Why the log shows each mechanism and reward term.
    pub identification: Vec<Identified>,
    /// The assumptions, and whether the log contradicts them.
    pub assumptions: Vec<Assumption>,
}

impl AssumptionRecord {
    /// The assumption about a subject; `None` if the answer does not rest on one.
    pub fn about(&self, subject: About) -> Option<&Assumption> {
        self.assumptions.iter().find(|assumption| assumption.about == subject)
    }

    /// The first assumption that the log contradicts.
    pub fn failed(&self) -> Option<&Assumption> {
        self.assumptions.iter().find(|assumption| assumption.status == Status::Failed)
    }

    /// The same for a learner that begins with the log: it counts every step, and predicts no logged returns.
    pub fn for_warm_start(mut self) -> AssumptionRecord {
        self.assumptions.retain(|assumption| assumption.about != About::LoggedReturns);
        for assumption in &mut self.assumptions {
            if assumption.about == About::Identification && assumption.status == Status::Failed {
                *assumption = checks::identification_of_warm_start(&self.identification);
            }
            if assumption.about == About::WorldFile {
                assumption.remedy = "make sure that they are right, or learn them with unknown=all".to_owned();
            }
        }
        self
    }

    pub(crate) fn push(&mut self, assumption: Assumption) {
        self.assumptions.push(assumption);
    }
}

/// Statements about a log that its rows do not contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Declared {
    /// Randomised levers.
    pub(crate) randomised: Vec<String>,
    /// Variables whose mechanisms the log does not identify; the world file's numbers stand in.
    pub(crate) not_fitted: Vec<String>,
    /// Rows that were excluded because of errors, and rows of the log.
    pub(crate) excluded: [u64; 2],
    /// What is learned from randomised steps only.
    pub(crate) randomised_only: Option<RandomisedOnly>,
}

/// Something that has to be true for an answer to hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assumption {
    /// The subject of the assumption.
    pub about: About,
    /// The result of its check.
    pub status: Status,
    /// The assumption and the result of its check, in one or two sentences.
    pub statement: String,
    /// The remedy; empty if there is nothing to do.
    pub remedy: String,
}

/// The subject of an assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// The independences that the causal graph implies.
    Graph,
    /// Whether the fitted model reproduces the logged returns (a posterior predictive check).
    LoggedReturns,
    /// Whether rows that were excluded because of errors are like the others.
    Excluded,
    /// Whether missing values are missing at random.
    Missingness,
    /// Whether episodes end only where the world says so.
    Endings,
    /// Whether the log contains what the policy does (positivity).
    Overlap,
    /// Whether logged steps that do what the policy does turned out as the model says.
    Outcomes,
    /// Whether a hidden variable acts on a lever and on its outcome.
    Confounding,
    /// Whether the past acts on a step only through the state.
    Markov,
    /// Whether the world stayed the same during the log.
    Stationarity,
    /// Whether mechanisms have the parametric form in which they are learned.
    Forms,
    /// Whether interventions occur as often as their propensities say.
    Propensities,
    /// Numbers taken from the world file instead of the log.
    WorldFile,
    /// Whether the log identifies what the answer needs.
    Identification,
    /// Whether episodes that stop without an end go on as others do.
    Censoring,
    /// Whether the log has all episodes, and they are independent.
    Sampling,
}

impl About {
    /// The subject in words.
    pub fn words(self) -> &'static str {
        match self {
            About::Graph => "causal graph",
            About::LoggedReturns => "logged returns reproduced",
            About::Missingness => "missing at random",
            About::Endings => "ends of episodes",
            About::Overlap => "overlap",
            About::Outcomes => "logged outcomes of the plan's settings",
            About::Confounding => "no unmeasured confounding",
            About::Markov => "Markov property",
            About::Stationarity => "stationarity",
            About::Excluded => "excluded rows",
            About::Forms => "parametric forms",
            About::Propensities => "propensities",
            About::WorldFile => "numbers of the world file",
            About::Identification => "identification",
            About::Censoring => "episodes that stop early",
            About::Sampling => "sampling of episodes",
        }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The check was run, and the log does not contradict the assumption.
    Passed,
    /// The log contradicts it, or cannot show what the answer needs.
    Failed,
    /// A log can test the assumption, but this one did not or has too little data.
    NotTested,
    /// No log can test the assumption: the user has to vouch for it.
    Assumed,
}

impl Status {
    /// The result in words.
    pub fn words(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "FAILED",
            Status::NotTested => "not tested",
            Status::Assumed => "assumed",
        }
    }
}

/// Summary of a graph test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphCheck {
    /// Implied independences with a test.
    pub tested: usize,
    /// Implied independences with too little data.
    pub untested: usize,
    /// The consequence of each contradicted independence for the graph, smallest p-value first.
    pub contradicted: Vec<String>,
    /// What the log does not show, in words; empty if every test is sharp.
    #[serde(default)]
    pub weak: String,
    /// Independences of the previous step; `None` if they were not tested.
    #[serde(default)]
    pub markov: Option<MarkovCheck>,
    /// Independences of the time of an episode; `None` if they were not tested.
    #[serde(default)]
    pub stationarity: Option<MarkovCheck>,
    /// Comparison of outcomes in randomised and other steps; `None` if the log does not have both.
    #[serde(default)]
    pub confounding: Option<MarkovCheck>,
}

/// Summary of a test of the Markov property, of stationarity, or of no unmeasured confounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkovCheck {
    /// Implied independences with a test.
    pub tested: usize,
    /// Implied independences with too little data.
    pub untested: usize,
    /// The meaning of each contradicted independence, smallest p-value first.
    pub contradicted: Vec<String>,
    /// What the log does not show, in words; empty if every test is sharp.
    #[serde(default)]
    pub weak: String,
}

impl GraphCheck {
    /// Summarises a report. Tests on steps selected by their outcome are invalid: conditioning on a common effect makes
    /// independent variables dependent. If recording depends on the outcome, independences of variables that are
    /// sometimes missing therefore count as not tested.
    pub(crate) fn of(report: &GraphReport) -> GraphCheck {
        let selected = report.missingness.iter().any(MissingnessTest::depends_on_outcome);
        let is_valid = |test: &Tested| !selected || test.missing == 0;
        let summary = |rejected: &[Tested], tested: &[Tested], untested: &[Untested]| {
            let contradicted = rejected.iter().filter(|t| is_valid(t)).map(|t| format!("{} ({})", t.meaning, t.claim));
            let valid: Vec<&Tested> = tested.iter().filter(|t| is_valid(t)).collect();
            MarkovCheck {
                tested: valid.len(),
                untested: untested.len() + tested.len() - valid.len(),
                contradicted: contradicted.collect(),
                weak: weak(&valid, untested, tested.len() - valid.len()),
            }
        };
        let of_step = summary(report.contradictions(), &report.tested, &report.untested);
        let later = |tested: &[Tested], untested: &[Untested]| {
            let rejected = rejected(tested, MARKOV_LEVEL);
            Some(summary(rejected, tested, untested))
        };
        let MarkovCheck { tested, untested, contradicted, weak } = of_step;
        let markov = later(&report.markov, &report.markov_untested);
        let stationarity = later(&report.stationarity, &report.stationarity_untested);
        let has_both = !(report.confounding.is_empty() && report.confounding_untested.is_empty());
        let confounding = later(&report.confounding, &report.confounding_untested).filter(|_| has_both);
        GraphCheck { tested, untested, contradicted, weak, markov, stationarity, confounding }
    }

    /// Finishes a test that has counted a whole log.
    pub(crate) fn finished(test: &super::GraphTest) -> GraphCheck {
        GraphCheck::of(&test.finish(GRAPH_LEVEL))
    }
}

/// A test that would miss a larger difference in a probability than this is called weak.
const SHARP: f64 = 0.2;

/// What tests do not show, in words: claims with too little data, and the largest difference that a test would miss.
fn weak(tested: &[&Tested], untested: &[Untested], invalid: usize) -> String {
    let mut out = Vec::new();
    let untested: Vec<&Untested> = untested.iter().filter(|u| !u.outcome_is_constant).collect();
    let n = untested.len() + invalid;
    if n > 0 {
        let mut names: Vec<&str> = untested.iter().take(2).map(|u| u.claim.as_str()).collect();
        names.extend((n > names.len() && !names.is_empty()).then_some("…"));
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join("; ")) };
        out.push(format!("{n} could not be tested{names}"));
    }
    let blunt: Vec<&&Tested> = tested.iter().filter(|t| t.detectable > SHARP).collect();
    if let Some(bluntest) = blunt.iter().max_by(|a, b| a.detectable.total_cmp(&b.detectable)) {
        out.push(format!(
            "{} would miss a difference in a probability of {:.2} ({})",
            match blunt.len() {
                1 => "one test".to_owned(),
                n => format!("{n} tests are weak: one"),
            },
            bluntest.detectable,
            bluntest.claim
        ));
    }
    out.join("; ")
}

/// The record of a log whose steps are available.
pub(crate) fn of_log(log: &Episodes, logged: &Logged) -> AssumptionRecord {
    let endings = log.ends_against_the_world().then(endings);
    // Unexpected ends come first because they explain why returns differ.
    let rest = [endings, Some(reproduced(logged))].into_iter().flatten();
    let seen = log.summary();
    let parts = Parts {
        evidence: &seen.evidence,
        next_state_rewards: seen.next_state_rewards.as_deref(),
        declared: log.declared(),
        graph: Some(&GraphCheck::finished(log.graph_test())),
        missingness: &seen.missingness,
        propensities: seen.propensities.as_ref(),
        em: log.uses_em(),
        without_next: log.left_out().without_next,
        censoring: log.censoring(),
    };
    parts.record(rest)
}

/// The record of a log's summary, without its steps.
pub(crate) fn of_summary(seen: &LogSummary, em: bool) -> AssumptionRecord {
    let parts = Parts {
        evidence: &seen.evidence,
        next_state_rewards: seen.next_state_rewards.as_deref(),
        declared: &seen.declared,
        graph: seen.graph.as_ref(),
        missingness: &seen.missingness,
        propensities: seen.propensities.as_ref(),
        em,
        without_next: 0,
        censoring: Censoring::default(),
    };
    let knowledge = &seen.evidence.view.knowledge;
    let ended_early = seen.returns.is_some_and(|sums| sums.ends_early) && knowledge.world().ends().is_none();
    let not_asked = Assumption {
        about: About::LoggedReturns,
        status: Status::NotTested,
        statement: "Whether the model reproduces the logged returns cannot be tested without the log itself."
            .to_owned(),
        remedy: "plan from the log, with --from LOG".to_owned(),
    };
    parts.record([ended_early.then(endings), Some(not_asked)].into_iter().flatten())
}

/// The parts of a log that a record is made from.
struct Parts<'a> {
    evidence: &'a Evidence,
    next_state_rewards: Option<&'a NextStateRewards>,
    declared: &'a Declared,
    graph: Option<&'a GraphCheck>,
    missingness: &'a [MissingnessTest],
    propensities: Option<&'a PropensityTest>,
    em: bool,
    /// Steps without a next state that did not end their episode.
    without_next: u64,
    censoring: Censoring,
}

impl Parts<'_> {
    fn record(&self, rest: impl Iterator<Item = Assumption>) -> AssumptionRecord {
        let knowledge = &self.evidence.view.knowledge;
        // Causes before their symptoms: values missing not at random and unexpected ends also contradict graphs and
        // returns.
        let mut assumptions: Vec<Assumption> = excluded(self.declared.excluded).into_iter().collect();
        assumptions.extend(propensities(self.propensities));
        let identification = identified(self.evidence, self.next_state_rewards, self.declared);
        let never: Vec<String> = identification
            .iter()
            .filter(|of| of.by == Identification::PriorOnly)
            .map(|of| of.quantity.clone())
            .collect();
        let lacking = missingness((self.missingness, self.em, self.without_next), &never);
        assumptions.extend([lacking, graph(self.graph)]);
        assumptions.extend(rest);
        let compared = self.graph.and_then(|check| check.confounding.as_ref());
        assumptions.push(confounding(knowledge, self.declared, compared));
        assumptions.push(markov(knowledge, self.graph.and_then(|check| check.markov.as_ref())));
        assumptions.push(stationarity(self.graph.and_then(|check| check.stationarity.as_ref())));
        assumptions.extend(forms(knowledge, &form_fits(self.evidence, 0)));
        assumptions.extend(world_file(knowledge));
        assumptions.extend(checks::identification(&identification));
        assumptions.extend(censoring(&self.censoring));
        assumptions.push(sampling());
        AssumptionRecord { identification, assumptions }
    }
}
