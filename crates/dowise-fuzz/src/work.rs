//! Tries one case after the other, in a process that may end at any of them.

use std::collections::BTreeMap;
use std::io::{Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Case, Corpus, Kind, Outcome, run};

/// What a worker says on a line of its standard output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Said {
    /// A case failed: its number, and what happened.
    Failed(u64, String),
    /// How far it has come: what was done since it said so last.
    Done(Tally),
}

/// Counts of what came of cases.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Tried and accepted, by kind.
    pub by_kind: BTreeMap<String, [u64; 2]>,
    /// Reasons for which inputs were refused, `kind: reason`, and how often.
    pub reasons: BTreeMap<String, u64>,
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: Tally) {
        for (kind, [tried, accepted]) in other.by_kind {
            let here = self.by_kind.entry(kind).or_default();
            *here = [here[0] + tried, here[1] + accepted];
        }
        for (reason, n) in other.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
    }

    fn count(&mut self, kind: Kind, outcome: &Outcome) {
        let here = self.by_kind.entry(kind.word().to_owned()).or_default();
        here[0] += 1;
        match outcome {
            Outcome::Accepted => here[1] += 1,
            Outcome::Refused(reason) => *self.reasons.entry(format!("{}: {reason}", kind.word())).or_default() += 1,
            Outcome::Wrong(_) => {}
        }
    }
}

static PANICKED: Mutex<String> = Mutex::new(String::new());

/// Lets panics be kept instead of printed.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let said = info.payload_as_str().unwrap_or("");
        if let Ok(mut kept) = PANICKED.lock() {
            *kept = format!("panic at {place}: {said}");
        }
    }));
}

/// Tries a case; the text says what happened if it failed.
pub fn attempt(corpus: &Corpus, case: &Case) -> (Outcome, Option<String>) {
    match catch_unwind(AssertUnwindSafe(|| run(corpus, case))) {
        Ok(Outcome::Wrong(what)) => (Outcome::Wrong(what.clone()), Some(what)),
        Ok(outcome) => (outcome, None),
        Err(_) => {
            let what = PANICKED.lock().map(|kept| kept.clone()).unwrap_or_default();
            (Outcome::Wrong(what.clone()), Some(what))
        }
    }
}

/// Tries the cases from a number on, up to another; the number of the present one stands in a file.
pub fn work(seed: u64, kinds: &[Kind], from: u64, to: u64, at: &Path, out: &mut impl Write) -> std::io::Result<()> {
    keep_panics();
    let corpus = Corpus::new();
    let mut place = std::fs::OpenOptions::new().write(true).open(at)?;
    let mut say = |said: &Said| -> std::io::Result<()> {
        writeln!(out, "{}", serde_json::to_string(said).expect("invariant: numbers and texts can be written"))?;
        out.flush()
    };
    let (mut tally, mut last) = (Tally::default(), Instant::now());
    for number in from..to {
        place.seek(SeekFrom::Start(0))?;
        place.write_all(&number.to_le_bytes())?;
        let case = Case::made(&corpus, kinds, seed, number);
        let (outcome, failed) = attempt(&corpus, &case);
        tally.count(case.kind, &outcome);
        if let Some(what) = failed {
            say(&Said::Failed(number, what))?;
        }
        if last.elapsed() > Duration::from_secs(1) {
            say(&Said::Done(std::mem::take(&mut tally)))?;
            last = Instant::now();
        }
    }
    say(&Said::Done(tally))
}
