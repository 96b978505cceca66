//! The assumptions behind an answer from a log, and whether the log contradicts them.
//!
//! A recommendation is a function of this record ([`plan_safely`](super::plan_safely)): if an assumption fails, nothing
//! is recommended.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::evaluate::{Logged, Support};
use super::graph_test::GraphReport;
use super::{Episodes, LogSummary, MissingnessTest, Tested};
use crate::learn::Knowledge;
use crate::world::{LearnedForm, Mechanism};

/// Level of the graph test: a true graph is rejected with at most this probability.
const GRAPH_LEVEL: f64 = 0.05;

/// Share of episodes without data from which on a policy has no overlap with the log.
pub(crate) const NO_OVERLAP: f64 = 0.01;

/// Share of steps with little data from which on the record says so.
const THIN: f64 = 0.1;

/// Complete episodes below which the mean return says too little to compare a model with.
const FEW_EPISODES: f64 = 20.0;

/// Something that has to be true for an answer to hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// The independences that the causal graph implies.
    Graph,
    /// Whether the fitted model reproduces the logged returns (a posterior predictive check).
    LoggedReturns,
    /// Whether missing values are missing at random.
    Missingness,
    /// Whether episodes end only where the world says so.
    Endings,
    /// Whether the log contains what the policy does (positivity).
    Overlap,
    /// Whether a hidden variable acts on a lever and on its outcome.
    Confounding,
    /// Whether the past acts on a step only through the state.
    Markov,
    /// Whether mechanisms have the parametric form in which they are learned.
    Forms,
    /// Numbers taken from the world file instead of the log.
    WorldFile,
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
            About::Confounding => "no unmeasured confounding",
            About::Markov => "Markov property",
            About::Forms => "parametric forms",
            About::WorldFile => "numbers of the world file",
        }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The check was run, and the log does not contradict the assumption.
    Passed,
    /// The log contradicts it.
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
}

impl GraphCheck {
    /// Summarises a report. Tests on steps selected by their outcome are invalid: conditioning on a common effect makes
    /// independent variables dependent. If recording depends on the outcome, independences of variables that are
    /// sometimes missing therefore count as not tested.
    pub(crate) fn of(report: &GraphReport) -> GraphCheck {
        let selected = report.missingness.iter().any(MissingnessTest::depends_on_outcome);
        let is_valid = |test: &Tested| !selected || test.missing == 0;
        let contradictions = report.contradictions();
        let contradicted =
            contradictions.iter().filter(|t| is_valid(t)).map(|t| format!("{} ({})", t.meaning, t.claim));
        let tested = report.tested.iter().filter(|t| is_valid(t)).count();
        let untested = report.untested.len() + report.tested.len() - tested;
        GraphCheck { tested, untested, contradicted: contradicted.collect() }
    }

    /// Finishes a test that has counted a whole log.
    pub(crate) fn finished(test: &super::GraphTest) -> GraphCheck {
        GraphCheck::of(&test.finish(GRAPH_LEVEL))
    }
}

/// The record of a log whose steps are available.
pub(crate) fn of_log(log: &Episodes, logged: &Logged) -> Vec<Assumption> {
    let knowledge = log.knowledge();
    let endings = log.ends_against_the_world().then(|| endings(!logged.agree()));
    let em = log.uses_em();
    // Unexpected ends come first because they explain why returns differ.
    let rest = [endings, Some(reproduced(logged))].into_iter().flatten();
    let missing = (&log.missingness_tests()[..], em, log.left_out().without_next);
    record(knowledge, Some(&GraphCheck::finished(log.graph_test())), rest, missing, log.randomised())
}

/// The record of a log's summary, without its steps.
pub(crate) fn of_summary(seen: &LogSummary, em: bool) -> Vec<Assumption> {
    let knowledge = &seen.evidence.view.knowledge;
    let ended_early = seen.returns.is_some_and(|sums| sums.ends_early) && knowledge.world().ends().is_none();
    let not_asked = Assumption {
        about: About::LoggedReturns,
        status: Status::NotTested,
        statement: "Whether the model reproduces the logged returns cannot be tested without the log itself."
            .to_owned(),
        remedy: "plan from the log, with --from LOG".to_owned(),
    };
    let rest = [ended_early.then(|| endings(true)), Some(not_asked)].into_iter().flatten();
    record(knowledge, seen.graph.as_ref(), rest, (&seen.missingness, em, 0), &[])
}

fn record(
    knowledge: &Knowledge,
    graph_check: Option<&GraphCheck>,
    rest: impl Iterator<Item = Assumption>,
    missing: (&[MissingnessTest], bool, u64),
    randomised: &[String],
) -> Vec<Assumption> {
    // Causes before their symptoms: values missing not at random and unexpected ends also contradict graphs and
    // returns.
    let mut all = vec![missingness(missing), graph(graph_check)];
    all.extend(rest);
    all.push(confounding(knowledge, randomised));
    all.push(markov());
    all.extend(forms(knowledge));
    all.extend(world_file(knowledge));
    all
}

fn graph(check: Option<&GraphCheck>) -> Assumption {
    let of = |status, statement, remedy: &str| {
        let (about, remedy) = (About::Graph, remedy.to_owned());
        Assumption { about, status, statement, remedy }
    };
    match check {
        None => of(
            Status::NotTested,
            "The graph was not tested against the log.".to_owned(),
            "fit again, or plan from the log, with --from LOG",
        ),
        Some(GraphCheck { contradicted, tested, .. }) if !contradicted.is_empty() => {
            let more = match contradicted.len() - 1 {
                0 => String::new(),
                n => format!("; and {n} more of {tested} implied independences fail"),
            };
            let why = format!("The log contradicts the graph at level {GRAPH_LEVEL}: {}{more}.", contradicted[0]);
            of(Status::Failed, why, "`dowise test` lists what fails; change the graph, then plan again")
        }
        Some(GraphCheck { tested: 0, untested: 0, .. }) => {
            of(Status::Assumed, "The graph implies no independence that a log could contradict.".to_owned(), "")
        }
        Some(GraphCheck { tested: 0, untested, .. }) => of(
            Status::NotTested,
            format!("The log says too little about each of the {untested} independences that the graph implies."),
            "",
        ),
        Some(GraphCheck { tested, untested, .. }) => {
            let rest = if *untested > 0 { format!("; {untested} more could not be tested") } else { String::new() };
            of(
                Status::Passed,
                format!("None of {tested} implied independences fails at level {GRAPH_LEVEL}{rest}."),
                "",
            )
        }
    }
}

/// Whether the log contains what a policy does. Without overlap the model's value is the prior's; guaranteed bounds allow for anything there.
pub(crate) fn overlap(support: &Support) -> Assumption {
    let (status, statement, remedy) = if support.share < NO_OVERLAP {
        let thin = if support.thin < THIN {
            String::new()
        } else {
            format!(", but {:.0} % of its steps rest on fewer than 20 observations", 100.0 * support.thin)
        };
        (Status::Passed, format!("The log contains what the policy does{thin}."), "")
    } else {
        let why = format!(
            "{:.0} % of the policy's episodes reach states, interventions or key values without data, where the model's value is the prior's.",
            100.0 * support.share
        );
        (Status::NotTested, why, "randomise the intervention for some time where the policy differs from the log")
    };
    Assumption { about: About::Overlap, status, statement, remedy: remedy.to_owned() }
}

fn reproduced(logged: &Logged) -> Assumption {
    let (status, statement, remedy) = match (logged.model, logged.returns) {
        (Some(_), Some(returns)) if returns.episodes < FEW_EPISODES => {
            let why = format!("{} episodes are too few to compare their returns with the model.", returns.episodes);
            (Status::NotTested, why, "record more whole episodes")
        }
        (Some(model), Some(returns)) => {
            let [by_model, by_log] =
                [(model.mean, model.posterior), (returns.mean, returns.normal)].map(|(mean, interval)| {
                    format!("{} ({} to {})", short(mean), short(interval.low), short(interval.high))
                });
            if logged.agree() {
                let why = format!("The model gives the behaviour policy {by_model}, the logged returns are {by_log}.");
                (Status::Passed, why, "")
            } else {
                let why = format!(
                    "The model does not reproduce the log: it gives the behaviour policy {by_model}, and the logged episodes \
                     returned {by_log}."
                );
                let remedy = "look for a wrong arrow or form, an effect that comes later, ends of episodes or values that are not recorded";
                (Status::Failed, why, remedy)
            }
        }
        _ => {
            let why = "No logged episode is complete, so that there is no return to compare the model with.";
            (Status::NotTested, why.to_owned(), "record whole episodes")
        }
    };
    Assumption { about: About::LoggedReturns, status, statement, remedy: remedy.to_owned() }
}

fn endings(failed: bool) -> Assumption {
    let rest = if failed { "" } else { ", but the model gives their returns" };
    Assumption {
        about: About::Endings,
        status: if failed { Status::Failed } else { Status::Passed },
        statement: format!("Episodes of the log ended before the horizon, and the world says that none does{rest}."),
        remedy: "say where episodes end (`ends` in the world file), then plan again".to_owned(),
    }
}

fn missingness((missingness, em, without_next): (&[MissingnessTest], bool, u64)) -> Assumption {
    let about = About::Missingness;
    let missing: Vec<&MissingnessTest> = missingness.iter().filter(|test| test.missing > 0).collect();
    if missing.is_empty() && without_next == 0 {
        let statement = "No key variable, lever, payment or next state that has to be learned is missing.".to_owned();
        return Assumption { about, status: Status::Passed, statement, remedy: String::new() };
    }
    let names = |tests: &[&MissingnessTest]| tests.iter().map(|test| test.what.clone()).collect::<Vec<_>>();
    let unfair: Vec<&MissingnessTest> =
        missing.iter().copied().filter(|test| test.is_missing_not_at_random(em)).collect();
    if !unfair.is_empty() {
        let statement = format!(
            "Missing not at random: whether {} was recorded depends on the outcome of the step. Estimates that use it may be biased.",
            names(&unfair).join(", ")
        );
        let remedy = "record it in every step, then plan again".to_owned();
        return Assumption { about, status: Status::Failed, statement, remedy };
    }
    let mut lacking = names(&missing);
    lacking.extend((without_next > 0).then(|| format!("the next state (missing in {without_next} steps)")));
    let statement = format!(
        "Whether {} was recorded does not depend on its own value, given the rest of the step. No log can show this.",
        lacking.join(", ")
    );
    Assumption { about, status: Status::Assumed, statement, remedy: "record it in every step".to_owned() }
}

fn confounding(knowledge: &Knowledge, randomised: &[String]) -> Assumption {
    let about = About::Confounding;
    let levers: Vec<&str> = knowledge.levers().iter().map(|&id| knowledge.variable(id).name.as_str()).collect();
    let free: Vec<&str> = levers.into_iter().filter(|name| !randomised.iter().any(|r| r == name)).collect();
    if free.is_empty() {
        let statement = "Every lever was randomised, as stated with --randomised.".to_owned();
        return Assumption { about, status: Status::Passed, statement, remedy: String::new() };
    }
    let statement = format!(
        "No cause of the outcome that is missing in the log or the graph affected how {} was set. No log can show this.",
        free.join(", ")
    );
    let remedy =
        "if a lever was randomised, pass --randomised; if not, declare its hidden causes in the world file".to_owned();
    Assumption { about, status: Status::Assumed, statement, remedy }
}

/// No test looks for effects that come a step later: a log could show them.
fn markov() -> Assumption {
    Assumption {
        about: About::Markov,
        status: Status::NotTested,
        statement: "Earlier steps act on a step only through its state: no effect of a lever comes a step later."
            .to_owned(),
        remedy: "if an effect may come later, add a state factor that remembers its cause".to_owned(),
    }
}

/// The mechanisms that are learned in a parametric form, if there are any. Their fit to the log is not tested row by row.
fn forms(knowledge: &Knowledge) -> Option<Assumption> {
    let world = knowledge.world();
    let has_form = |m: &&Mechanism| m.table.is_none() && m.assumed.form != LearnedForm::Table;
    let learned = world.mechanisms().iter().chain(world.transitions()).filter(has_form);
    let names: Vec<&str> = learned.map(|m| world.variable(m.children[0]).name.as_str()).collect();
    (!names.is_empty()).then(|| Assumption {
        about: About::Forms,
        status: Status::NotTested,
        statement: format!(
            "The parents of {} have no interactions beyond those of the stated form. With forms, guaranteed bounds are approximate.",
            names.join(", ")
        ),
        remedy: "compare with a fit by tables (`learn = \"table\"`)".to_owned(),
    })
}

/// The assumption about numbers taken from the world file, if there are any.
fn world_file(knowledge: &Knowledge) -> Option<Assumption> {
    let world = knowledge.world();
    let mechanisms = world.mechanisms().iter().chain(world.transitions()).filter(|m| m.table.is_some());
    let mut names: Vec<&str> = mechanisms.map(|m| world.variable(m.children[0]).name.as_str()).collect();
    names.extend(world.rewards().iter().filter(|term| term.table.is_some()).map(|term| term.name.as_str()));
    // A reward term may share its name with the variable that it pays for.
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    (!names.is_empty()).then(|| Assumption {
        about: About::WorldFile,
        status: Status::Assumed,
        statement: format!("The numbers of {} are those of the world file, not of the log.", names.join(", ")),
        remedy: "make sure that they are right, or, where the log can say them, leave them out of --keep".to_owned(),
    })
}

/// Formats four significant digits, at most six decimals.
fn short(x: f64) -> String {
    let scientific = format!("{x:.3e}");
    let exponent: i32 = scientific.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
    format!("{x:.*}", (3 - exponent).clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_have_four_digits() {
        for (x, expected) in [
            (0.0, "0.000"),
            (1.3256, "1.326"),
            (12345.6, "12346"),
            (-0.05629, "-0.05629"),
            (1e-9, "0.000000"),
            (0.99999, "1.000"),
        ] {
            assert_eq!(short(x), expected);
        }
    }
}
