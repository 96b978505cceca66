//! Whether what was recorded depends on what the step came to, in words.

use dowise::offline::MissingnessTest;

use crate::output::Output;
use crate::table::{self, Align, count};

/// A table of what is missing and whether that depends on what the step came to; empty if nothing is missing.
pub(crate) fn section(tests: &[MissingnessTest], not_counted: u64, output: &Output) -> String {
    if tests.is_empty() {
        return String::new();
    }
    let row = |test: &MissingnessTest| {
        let share = 100.0 * test.missing as f64 / test.steps.max(1) as f64;
        let verdict = match &test.differs {
            Some(differs) if test.depends_on_outcome() => format!("depends on {differs}, or on its own value"),
            Some(_) => "nothing contradicts missing at random".to_owned(),
            None => "too few steps to say".to_owned(),
        };
        let p = if test.differs.is_some() { probability(test.p) } else { String::new() };
        vec![test.what.clone(), count(test.missing), format!("{share:.1} %"), p, verdict]
    };
    let header = [
        "not recorded in some steps",
        "steps",
        "share",
        "p",
        "given the state, the intervention and the other recorded values",
    ];
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    let rows: Vec<Vec<String>> = tests.iter().map(row).collect();
    let mut text = format!("\n{}\n{}", output.heading("Recorded or not"), table::table(&header, &rows, &align));
    let legend = "p: adjusted p-value of the test that recorded and other steps have the same next states and rewards. A dependence on the missing value itself shows only through these, so that p = 1 does not prove missing at random.";
    text += &format!("{}\n", table::wrapped(legend));
    if not_counted > 0 {
        let steps = count(not_counted);
        text += &format!(
            "{steps} steps of states and interventions beyond those that fit into memory are not in these tests.\n"
        );
    }
    text
}

/// Everything that makes answers doubtful that rest on what was recorded.
pub(crate) fn warnings(tests: &[MissingnessTest], em: bool) -> Vec<String> {
    let doubtful = tests.iter().filter(|t| t.is_missing_not_at_random(em) || (t.is_payment && t.depends_on_outcome()));
    doubtful.map(unfair).collect()
}

/// Says so where what was recorded is not missing at random.
pub(crate) fn unfair(test: &MissingnessTest) -> String {
    let p = if test.p < 1e-12 { "below 1e-12".to_owned() } else { probability(test.p) };
    let (what, steps) = (&test.what, count(test.missing));
    if test.is_payment {
        return format!(
            "REWARDS MISSING NOT AT RANDOM: whether {what} was recorded depends on the next state or on its own amount (p {p}; missing in {steps} steps). The model allows for the former. No log can rule out the latter; if it is true, neither the guaranteed bounds nor the posterior hold."
        );
    }
    let differs = test.differs.as_deref().unwrap_or("what followed");
    format!(
        "MISSING NOT AT RANDOM: whether {what} was recorded depends on {differs}, or on its own value (p {p}; missing in {steps} steps). Estimates that use it may be biased, and neither the guaranteed bounds nor the posterior need hold. Record it in every step; --em allows for a dependence on the next state, and on nothing else."
    )
}

/// On what guaranteed values rest where key variables are missing in some steps; `None` where nothing is.
pub(crate) fn condition(tests: &[MissingnessTest], learns_mechanisms: bool) -> Option<String> {
    let missing: Vec<&str> = tests.iter().filter(|t| !t.is_payment).map(|t| t.what.as_str()).collect();
    if missing.is_empty() {
        return None;
    }
    let what = missing.join(", ");
    Some(match learns_mechanisms {
        true => format!(
            "Guaranteed values assume missing at random, since {what} is missing in some steps and mechanisms are learned: whether it was recorded depends only on the state, the intervention and the values recorded before or beside it; not on its own value, the rewards or the next state. No log can show that it does not depend on its own value."
        ),
        false => format!(
            "Guaranteed values assume missing at random, since {what} is missing in some steps: given its value and the state, whether it was recorded does not depend on rewards or the next state."
        ),
    })
}

/// A p-value with as many digits as count.
pub(crate) fn probability(p: f64) -> String {
    match p {
        1.0 => "1".to_owned(),
        p if p >= 0.001 => format!("{p:.3}"),
        p if p > 0.0 => format!("{p:.0e}"),
        _ => "0".to_owned(),
    }
}
