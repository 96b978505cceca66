//! The assumptions that an answer rests on, in words.

use dowise::offline::{Assumption, Status};

use crate::output::Output;
use crate::table;

/// One paragraph for each assumption: how it came out, what it says, and what to do about it.
pub(crate) fn section(assumptions: &[Assumption], output: &Output) -> String {
    let mut text = format!("{}\n", output.heading("Assumptions"));
    for assumption in assumptions {
        let Assumption { about, status, statement, remedy } = assumption;
        let line = format!("{}, {}: {statement}{}", about.words(), status.words(), to_do(*status, remedy));
        text += &format!("{}\n", table::wrapped(&line));
    }
    text
}

/// The first assumption that failed, with what to do.
pub(crate) fn failed(assumptions: &[Assumption]) -> Option<String> {
    let failed = assumptions.iter().find(|assumption| assumption.status == Status::Failed)?;
    Some(format!("{}{}", failed.statement, to_do(failed.status, &failed.remedy)))
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
