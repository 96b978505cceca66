//! The assumptions one by one: each with its check, its statement in words and its remedy.

use std::collections::HashSet;

use super::{
    About, Assumption, GRAPH_LEVEL, GraphCheck, Identification, Identified, MARKOV_LEVEL, MarkovCheck, NO_OVERLAP,
    Status,
};
use crate::learn::Knowledge;
use crate::messages::and;
use crate::offline::MissingnessTest;
use crate::offline::evaluate::{Extrapolation, Logged, OutcomeCheck, Support};
use crate::offline::form_fit::FormFit;
use crate::world::{LearnedForm, Mechanism};

/// Level of the tests of parametric forms, and of outcomes of a plan's settings.
const FORMS_LEVEL: f64 = 0.01;
const OUTCOMES_LEVEL: f64 = 0.01;

/// Share of excluded rows from which on nothing is recommended.
const MOST_EXCLUDED: f64 = 0.01;

/// Share of steps with little data from which on the record says so.
const THIN: f64 = 0.1;

/// Complete episodes below which the mean return says too little to compare a model with.
const FEW_EPISODES: f64 = 20.0;

pub(super) fn graph(check: Option<&GraphCheck>) -> Assumption {
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
        Some(GraphCheck { tested, weak, .. }) => {
            let (status, rest) = sharpness(weak);
            of(status, format!("None of {tested} implied independences fails at level {GRAPH_LEVEL}{rest}."), "")
        }
    }
}

/// Whether the log contains what a policy does. Without overlap the model's value is the prior's; guaranteed bounds allow for anything there.
pub(crate) fn overlap(support: &Support, beyond: Option<&Extrapolation>) -> Assumption {
    const RANDOMISE: &str = "randomise the intervention for some time where the policy differs from the log";
    let untested = beyond.and_then(|beyond| beyond.untested.as_ref());
    let untested = untested.filter(|on| on.share >= NO_OVERLAP && support.share < NO_OVERLAP);
    let (status, statement, remedy) = if let Some(on) = untested {
        let why = format!(
            "{:.0} % of the policy's steps rest on {}, which the log cannot test: it has no step with these values.",
            100.0 * on.share,
            on.claim
        );
        (Status::NotTested, why, RANDOMISE)
    } else if support.share < NO_OVERLAP {
        let thin = if support.thin < THIN {
            String::new()
        } else {
            format!(", but {:.0} % of its steps rest on fewer than 20 observations", 100.0 * support.thin)
        };
        match beyond.filter(|beyond| beyond.share >= NO_OVERLAP) {
            None => (Status::Passed, format!("The log contains what the policy does{thin}."), ""),
            Some(beyond) => {
                let why = format!(
                    "The log contains every mechanism that the policy uses{thin}. But in {:.0} % of its steps, no logged step had \
                     the same intervention in the same state: that other levers and state factors do not matter there follows \
                     from the graph.",
                    100.0 * beyond.share
                );
                (Status::Assumed, why, "")
            }
        }
    } else {
        let why = format!(
            "{:.0} % of the policy's episodes reach states, interventions or key values without data, where the model's value is the prior's.",
            100.0 * support.share
        );
        (Status::NotTested, why, RANDOMISE)
    };
    Assumption { about: About::Overlap, status, statement, remedy: remedy.to_owned() }
}

pub(super) fn reproduced(logged: &Logged) -> Assumption {
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

/// The model continues episodes that are over. That it reproduces the logged returns is no excuse: another policy may
/// reach the ends more often.
pub(super) fn endings() -> Assumption {
    Assumption {
        about: About::Endings,
        status: Status::Failed,
        statement: "Episodes of the log were `terminated` before the horizon, and the world says that none ends."
            .to_owned(),
        remedy:
            "say where episodes end (`ends` in the world file; add a state factor if an intervention can end them), or \
                 write `truncated` if only the recording stopped; then plan again"
                .to_owned(),
    }
}

/// Whether what is missing is missing at random; `never` are the quantities that no logged step shows.
pub(super) fn missingness(
    (missingness, em, without_next): (&[MissingnessTest], bool, u64),
    never: &[String],
) -> Assumption {
    let about = About::Missingness;
    let missing: Vec<&MissingnessTest> = missingness.iter().filter(|test| test.missing > 0).collect();
    if missing.is_empty() && without_next == 0 && never.is_empty() {
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
    if !never.is_empty() {
        let statement = format!("No logged step shows {}: a value that it needs is missing in every step.", and(never));
        let remedy = "record it, or give its numbers in the world file and confirm them with --keep".to_owned();
        return Assumption { about, status: Status::NotTested, statement, remedy };
    }
    let mut lacking = names(&missing);
    lacking.extend((without_next > 0).then(|| format!("the next state (missing in {without_next} steps)")));
    let statement = format!(
        "Whether {} was recorded does not depend on its own value, given the rest of the step. No log can show this.",
        lacking.join(", ")
    );
    Assumption { about, status: Status::Assumed, statement, remedy: "record it in every step".to_owned() }
}

/// Whether rows that were excluded because of errors are like the others, if there are any.
pub(super) fn excluded([rows, of]: [u64; 2]) -> Option<Assumption> {
    let share = rows as f64 / of.max(1) as f64;
    (rows > 0).then(|| Assumption {
        about: About::Excluded,
        status: if share >= MOST_EXCLUDED { Status::Failed } else { Status::Assumed },
        statement: format!(
            "{rows} of {of} rows were excluded because of errors, as if they were like the others. If an error depends on the \
             outcome, such as a payment outside its range, the rest of the log is a selection by outcome."
        ),
        remedy: "mend these rows, or widen the ranges in the world file".to_owned(),
    })
}

/// The earlier steps that the test of the Markov property uses.
fn steps_before(knowledge: &Knowledge) -> &'static str {
    if knowledge.horizon() > 2 { "the two steps before" } else { "the previous step" }
}

/// Whether an effect comes a step later, or a lasting hidden trait of an episode acts on several steps.
pub(super) fn markov(knowledge: &Knowledge, check: Option<&MarkovCheck>) -> Assumption {
    const CLAIM: &str = "Earlier steps act on a step only through its state";
    let remedy = "if an effect may come later, add a state factor that remembers its cause";
    let (status, statement, remedy) = match check {
        _ if knowledge.horizon() == 1 => {
            (Status::Passed, "Episodes have one step: nothing can come later.".to_owned(), "")
        }
        None => (Status::NotTested, format!("{CLAIM}. This was not tested."), remedy),
        Some(MarkovCheck { contradicted, tested, .. }) if !contradicted.is_empty() => {
            let more = match contradicted.len() - 1 {
                0 => String::new(),
                n => format!("; and {n} more of {tested} independences of {} fail", steps_before(knowledge)),
            };
            let why = format!("The log contradicts it at level {MARKOV_LEVEL}: {}{more}.", contradicted[0]);
            (Status::Failed, why, "add that state factor to the world file and to the log, then plan again")
        }
        Some(MarkovCheck { tested: 0, .. }) => {
            (Status::NotTested, format!("{CLAIM}. The log says too little about it."), remedy)
        }
        Some(MarkovCheck { tested, weak, .. }) => {
            let (status, rest) = sharpness(weak);
            let later = if knowledge.horizon() > 3 { " Effects that come later were not tested." } else { "" };
            let why = format!(
                "{CLAIM}: none of {tested} independences of {} fails at level {MARKOV_LEVEL}{rest}.{later}",
                steps_before(knowledge)
            );
            (status, why, "")
        }
    };
    Assumption { about: About::Markov, status, statement, remedy: remedy.to_owned() }
}

/// Whether outcomes have the same distribution early and late in the log.
pub(super) fn stationarity(check: Option<&MarkovCheck>) -> Assumption {
    const CLAIM: &str = "The world did not change during the log";
    let remedy = "leave out the episodes before the change";
    let (status, statement, remedy) = match check {
        None => (Status::NotTested, format!("{CLAIM}. This was not tested."), ""),
        Some(MarkovCheck { contradicted, .. }) if !contradicted.is_empty() => {
            let why = format!("The log contradicts stationarity at level {MARKOV_LEVEL}: {}.", contradicted[0]);
            (Status::Failed, why, remedy)
        }
        Some(MarkovCheck { tested: 0, .. }) => {
            (Status::NotTested, format!("{CLAIM}. The log says too little about this."), "")
        }
        Some(MarkovCheck { tested, weak, .. }) => {
            let (status, rest) = sharpness(weak);
            let why = format!(
                "{CLAIM}: none of {tested} outcomes depends on the number of its episode at level {MARKOV_LEVEL}{rest}. Cycles \
                 were not tested, and that it stays the same, no log can show."
            );
            (status, why, "")
        }
    };
    Assumption { about: About::Stationarity, status, statement, remedy: remedy.to_owned() }
}

/// The status of tests of which none fails, and what they do not show.
pub(super) fn sharpness(weak: &str) -> (Status, String) {
    if weak.is_empty() { (Status::Passed, String::new()) } else { (Status::NotTested, format!("; {weak}")) }
}

/// The mechanisms that are learned in a parametric form, if there are any, and whether the log contradicts the forms.
pub(super) fn forms(knowledge: &Knowledge, fits: &[FormFit]) -> Option<Assumption> {
    let world = knowledge.world();
    let has_form = |m: &&Mechanism| m.table.is_none() && m.assumed.form != LearnedForm::Table;
    let learned = world.mechanisms().iter().chain(world.transitions()).filter(has_form);
    let names: Vec<&str> = learned.map(|m| world.variable(m.children[0]).name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let names = names.join(", ");
    let rejected: Vec<&FormFit> = fits.iter().filter(|fit| fit.is_rejected(FORMS_LEVEL)).collect();
    let (status, statement, remedy) = match rejected[..] {
        [first, ..] => {
            let [n, share, fitted] = first.worst;
            let why = format!(
                "The form of {} does not fit the log at level {FORMS_LEVEL}: in the worst row a value with frequency {} in {n} \
                 visits has probability {} by the form.",
                first.name,
                short(share),
                short(fitted)
            );
            (Status::Failed, why, "learn it as a table (`learn = \"table\"`), or split it by the parent that interacts")
        }
        [] => {
            let fits =
                if fits.is_empty() { String::new() } else { " The frequencies of the log agree with it.".to_owned() };
            let why = format!(
                "The parents of {names} have no interactions beyond those of the stated form.{fits} Guaranteed bounds do not \
                 use the form."
            );
            (
                if fits.is_empty() { Status::NotTested } else { Status::Passed },
                why,
                "compare with a fit by tables (`learn = \"table\"`)",
            )
        }
    };
    Some(Assumption { about: About::Forms, status, statement, remedy: remedy.to_owned() })
}

/// Whether logged steps that do what a plan does turned out as well as the model says.
pub(crate) fn outcomes(check: &OutcomeCheck) -> Assumption {
    let (status, statement, remedy) = match &check.shortfall {
        _ if check.compared == 0 => {
            (Status::NotTested, "Hardly any logged step does what the plan does.".to_owned(), "")
        }
        Some(found) if found.p <= OUTCOMES_LEVEL => {
            let why = format!(
                "Where the log does what the plan does, with {}, the outcome of {} steps is worth {} less than the model says, on \
                 average (p = {}).",
                found.setting,
                found.steps,
                short(found.amount),
                short(found.p)
            );
            (Status::Failed, why, "add the arrow that is missing, or learn the mechanism as a table, then plan again")
        }
        _ => {
            let why = format!(
                "{} settings of the plan's levers occur in the log ({} steps). None of them turned out worse than the model says, \
                 at level {OUTCOMES_LEVEL}.",
                check.compared, check.steps
            );
            (Status::Passed, why, "")
        }
    };
    Assumption { about: About::Outcomes, status, statement, remedy: remedy.to_owned() }
}

/// The assumption about numbers taken from the world file, if there are any.
pub(super) fn world_file(knowledge: &Knowledge) -> Option<Assumption> {
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

/// The quantities that the log does not identify, if there are any: nobody has confirmed the numbers that stand in.
pub(super) fn identification(all: &[Identified]) -> Option<Assumption> {
    let lacking = lacking(all)?;
    Some(Assumption {
        about: About::Identification,
        status: Status::Failed,
        statement: format!(
            "The log does not identify {lacking}: a hidden cause acts on a lever and on it. The numbers of the world file stand in."
        ),
        remedy:
            "randomise the lever in some rows and mark them in the column `randomised`, or in all and pass --randomised; \
                 or, if you know these numbers from elsewhere, confirm them with --keep"
                .to_owned(),
    })
}

/// The same for a learner that counts all steps of the log.
pub(super) fn identification_of_warm_start(all: &[Identified]) -> Assumption {
    Assumption {
        about: About::Identification,
        status: Status::Failed,
        statement: format!(
            "The log does not identify {}: a hidden cause acts on a lever and on it. The learner counts the log \
             nevertheless, so it begins with a bias.",
            lacking(all).unwrap_or_default()
        ),
        remedy: "learn without the log; if the lever was randomised, pass --randomised".to_owned(),
    }
}

/// The quantities that are not identified, in words; `None` if all are.
fn lacking(all: &[Identified]) -> Option<String> {
    let lacking: Vec<String> =
        all.iter().filter(|of| of.by == Identification::NotIdentified).map(|of| of.quantity.clone()).collect();
    (!lacking.is_empty()).then(|| and(&lacking))
}

/// Formats four significant digits, at most six decimals.
pub(crate) fn short(x: f64) -> String {
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
