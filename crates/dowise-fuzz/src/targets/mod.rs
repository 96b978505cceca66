//! What must hold for an input of each kind.

mod evidence;
mod graph;
mod learner;
mod log;
mod spec;
mod study;
mod world;

use crate::{Case, Corpus, Kind};

/// What came of an input; a panic is a failure too, and so is an end of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was accepted, and what must hold then holds.
    Accepted,
    /// It was refused; the reason without what differs from input to input.
    Refused(String),
    /// Something that must hold does not.
    Wrong(String),
}

/// Tries a case.
pub fn run(corpus: &Corpus, case: &Case) -> Outcome {
    match case.kind {
        Kind::World => world::run(&case.text, case.seed),
        Kind::Study => study::run(&case.text, case.seed),
        Kind::Learner => learner::run(&corpus.of_learners, case),
        Kind::Evidence => evidence::run(&corpus.of_evidence, case),
        Kind::Graph => graph::run(corpus.format(case.base), case),
        Kind::Spec => spec::run(&corpus.arenas, case),
        Kind::Log => log::run(&corpus.of_logs, case),
    }
}

/// A message without names and numbers.
fn reason(message: &str) -> Outcome {
    let mut out = String::new();
    let mut quote = None;
    for c in message.lines().next().unwrap_or("").chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None if c == '"' || c == '`' => {
                quote = Some(c);
                out.push('_');
            }
            None if c.is_ascii_digit() => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            None => out.push(c),
        }
    }
    Outcome::Refused(out.chars().take(100).collect())
}
