//! A store as a log: episodes with all that was decided and observed, in the format of docs/reference/logs.md.

use std::io;

use dowise::data::{End, LogStep, LogWriter, WrittenColumns};

use crate::served::Served;
use crate::step::Step;
use crate::store::{Store, StoreError};

/// Steps that are read at a time.
const PAGE: usize = 1000;

/// The log of a world as CSV, episode by episode.
pub(crate) fn export(served: &Served, store: &dyn Store) -> Result<Vec<u8>, StoreError> {
    let wrong = |e: io::Error| StoreError(e.to_string());
    let columns = WrittenColumns { propensity: true, policy: true, end: true, ..WrittenColumns::default() };
    let mut log = LogWriter::new(&served.world, Vec::new(), columns).map_err(wrong)?;
    let mut number = 0;
    let mut episode: Vec<Step> = Vec::new();
    let mut after = (String::new(), -1);
    loop {
        let steps = store.steps_after(&served.name, (&after.0, after.1), PAGE)?;
        if let Some(last) = steps.last() {
            after = (last.episode.clone(), last.stage as i64);
        }
        let done = steps.is_empty();
        for step in steps {
            if episode.first().is_some_and(|first| first.episode != step.episode) {
                write(served, &mut log, number, &episode).map_err(wrong)?;
                episode.clear();
                number += 1;
            }
            episode.push(step);
        }
        if done {
            if !episode.is_empty() {
                write(served, &mut log, number, &episode).map_err(wrong)?;
            }
            return log.finish().map_err(wrong);
        }
    }
}

fn write(served: &Served, log: &mut LogWriter<'_, Vec<u8>>, number: u64, steps: &[Step]) -> io::Result<()> {
    let versions: Vec<String> = steps.iter().map(|step| step.version.to_string()).collect();
    let mut rows = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        let seen = step.with(step.parts.clone()).observation(served);
        let mut row = LogStep::new(number, seen.map_err(|e| io::Error::other(e.to_string()))?);
        let as_decided = step.parts.did.is_none_or(|did| did == step.action);
        row.propensity = as_decided.then_some(step.propensity);
        row.policy = as_decided.then_some(i as u32);
        row.end = match (step.parts.done, i + 1 == steps.len()) {
            (true, _) => Some(End::Terminated),
            (false, true) if step.stage + 1 < served.world.horizon() => Some(End::Truncated),
            (false, _) => None,
        };
        rows.push(row);
    }
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    log.episode(&steps[0].episode, &rows, &versions)
}
