//! The assumptions that an answer rests on, in words.

use dowise::offline::{Assumption, AssumptionRecord, Identification, Identified, Status};

use crate::output::Output;
use crate::table::{self, count};

/// One paragraph for each assumption: how it came out, what it says, and what to do about it. Then how each quantity is
/// identified.
pub(crate) fn section(record: &AssumptionRecord, output: &Output) -> String {
    let mut text = format!("{}\n", output.heading("Assumptions"));
    for assumption in &record.assumptions {
        let Assumption { about, status, statement, remedy } = assumption;
        let line = format!("{}, {}: {statement}{}", about.words(), status.words(), to_do(*status, remedy));
        text += &format!("{}\n", table::wrapped(&line));
    }
    text + &identification(&record.identification, output)
}

/// The quantities, grouped by the method that identifies them; what the log does not say comes first.
fn identification(all: &[Identified], output: &Output) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", output.heading("Identification"));
    for by in Identification::ALL {
        let by_this = all.iter().filter(|of| of.by == by).map(quantity).collect::<Vec<_>>();
        if !by_this.is_empty() {
            text += &format!("{}\n", table::wrapped(&format!("{}: {}", by.words(), by_this.join(", "))));
        }
    }
    text
}

/// A quantity, with the number of rows that no logged step shows, and of steps if only randomised ones count.
fn quantity(of: &Identified) -> String {
    let steps = (of.by == Identification::RandomisedSteps).then(|| format!("{} steps", count(of.steps)));
    let rows = (of.unseen > 0).then(|| format!("no data in {} of {} rows", count(of.unseen), count(of.rows)));
    match [steps, rows].into_iter().flatten().collect::<Vec<_>>()[..] {
        [] => of.quantity.clone(),
        ref notes => format!("{} ({})", of.quantity, notes.join(", ")),
    }
}

/// The first assumption that failed, with what to do.
pub(crate) fn failed(record: &AssumptionRecord) -> Option<String> {
    record.failed().map(with_remedy)
}

/// All assumptions that failed, with what to do.
pub(crate) fn all_failed(record: &AssumptionRecord) -> impl Iterator<Item = String> {
    record.assumptions.iter().filter(|assumption| assumption.status == Status::Failed).map(with_remedy)
}

fn with_remedy(failed: &Assumption) -> String {
    format!("{}{}", failed.statement, to_do(failed.status, &failed.remedy))
}

fn to_do(status: Status, remedy: &str) -> String {
    match (status, remedy) {
        (Status::Passed, _) | (_, "") => String::new(),
        (Status::Failed | Status::NotTested | Status::Assumed, remedy) => {
            let mut letters = remedy.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            format!(" {first}{}.", letters.as_str())
        }
    }
}
