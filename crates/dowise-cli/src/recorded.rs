//! Whether what was recorded depends on what the step came to, in words.

use dowise::offline::RecordingTest;

use crate::output::Output;
use crate::table::{self, Align, count};

/// A table of what is missing and whether that depends on what the step came to; empty if nothing is missing.
pub(crate) fn section(tests: &[RecordingTest], not_counted: u64, output: &Output) -> String {
    if tests.is_empty() {
        return String::new();
    }
    let row = |test: &RecordingTest| {
        let share = 100.0 * test.missing as f64 / test.steps.max(1) as f64;
        let verdict = match &test.differs {
            Some(differs) if test.depends_on_what_followed() => format!("depends on {differs}, or on what it was"),
            Some(_) => "nothing speaks against a fair sample".to_owned(),
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
        "given the state, what was done and the rest that was recorded",
    ];
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    let rows: Vec<Vec<String>> = tests.iter().map(row).collect();
    let mut text = format!("\n{}\n{}", output.heading("Recorded or not"), table::table(&header, &rows, &align));
    let legend = "p: how often chance alone would make recorded and other steps differ as much in the next state or in what was paid, in any of these tests. Whether something is missing depending on its own value \
                  shows only as far as that value shows there: p = 1 does not say that it is not.";
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
pub(crate) fn warnings(tests: &[RecordingTest], em: bool) -> Vec<String> {
    let doubtful = tests.iter().filter(|t| t.is_unfair(em) || (t.is_payment && t.depends_on_what_followed()));
    doubtful.map(unfair).collect()
}

/// Says so where what was recorded is no fair sample.
pub(crate) fn unfair(test: &RecordingTest) -> String {
    let p = if test.p < 1e-12 { "below 1e-12".to_owned() } else { probability(test.p) };
    let (what, steps) = (&test.what, count(test.missing));
    if test.is_payment {
        return format!(
            "NOT ALL IS PAID FOR: whether {what} was recorded depends on what followed, or on what was paid (p {p}; {steps} steps lack it). The former is allowed for, by the \
             graph; that it does not depend on what was paid itself cannot be seen in a log, and neither guaranteed bounds nor posterior need hold if it does."
        );
    }
    let differs = test.differs.as_deref().unwrap_or("what followed");
    format!(
        "NOT A FAIR SAMPLE: whether {what} was recorded depends on {differs}, or on what it was (p {p}; {steps} steps lack it). What was recorded is then \
         not what happens on average, and neither guaranteed bounds nor posterior need hold. Record it in every step; --em allows for a dependence on the next state, and on nothing else."
    )
}

/// On what guaranteed values rest where key variables are missing in some steps; `None` where nothing is.
pub(crate) fn condition(tests: &[RecordingTest], learns_mechanisms: bool) -> Option<String> {
    let missing: Vec<&str> = tests.iter().filter(|t| !t.is_payment).map(|t| t.what.as_str()).collect();
    if missing.is_empty() {
        return None;
    }
    let what = missing.join(", ");
    Some(match learns_mechanisms {
        true => format!(
            "Guaranteed values hold on a condition, since {what} is missing in some steps and mechanisms are learned: whether it was recorded depends on the state, what was done and what else was \
             recorded before or beside it alone; not on what it was, nor on what was paid or followed. That it does not depend on what it was, no log can show."
        ),
        false => format!(
            "Guaranteed values hold on a condition, since {what} is missing in some steps: whether it was recorded does not depend on what was paid or followed, given what it was and the state."
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
