//! Logs: every row is a step or left out, steps can be counted as evidence, and what is written again is the same evidence.

use std::io::Cursor;
use std::ops::ControlFlow;

use dowise::data::{CsvTable, LogError, LogReader, LogReport, LogStep, LogWriter, Severity, WrittenColumns};
use dowise::learn::Evidence;
use dowise::{Knowledge, Options, World};

use super::{Outcome, reason};
use crate::Case;

pub(super) fn run(worlds: &[(World, Knowledge)], case: &Case) -> Outcome {
    let Some((world, knowledge)) = worlds.get(case.base) else { return reason("no such base") };
    let (episodes, report) = match read(world, &case.text) {
        Ok(read) => read,
        Err(error) => return reason(&error.to_string()),
    };
    let n: usize = episodes.iter().map(Vec::len).sum();
    if report.steps != n as u64 || report.steps + report.left_out != report.rows {
        let message = format!("{} rows, {n} steps, {} left out", report.rows, report.left_out);
        return Outcome::Wrong(format!("rows are lost: {message}"));
    }
    if report.left_out > 0 && report.findings.list().is_empty() {
        return Outcome::Wrong("rows are left out without a finding".into());
    }
    let _ = report.findings.to_string();
    let counted = |episodes: &[Vec<LogStep<'static>>]| -> Result<Evidence, String> {
        let mut seen = Evidence::new(knowledge, &Options::default()).map_err(|e| e.to_string())?;
        for step in episodes.iter().flatten() {
            seen.add(&step.observation).map_err(|e| e.to_string())?;
        }
        Ok(seen)
    };
    let first = match counted(&episodes) {
        Ok(first) => first,
        Err(error) => return Outcome::Wrong(format!("a step of a log is refused: {error}")),
    };
    // Saving takes as long as all the rest, since the world is part of it; a hash of all that was counted nearly always does.
    let same = |a: &Evidence, b: &Evidence| {
        let alike = a.steps() == b.steps() && a.fingerprint() == b.fingerprint();
        alike && (!case.seed.is_multiple_of(8) || a.save() == b.save())
    };
    let again = written(world, &episodes).and_then(|text| read(world, &text).map_err(|e| e.to_string()));
    match again {
        Err(error) => Outcome::Wrong(format!("a log is refused after being written: {error}")),
        Ok((_, report)) if report.findings.has_errors() => {
            Outcome::Wrong(format!("a log has errors after being written:\n{}", report.findings))
        }
        Ok((again, _)) => match counted(&again) {
            Ok(second) if same(&second, &first) => match report.findings.list().first() {
                Some(finding) if finding.severity == Severity::Error => reason(&finding.to_string()),
                Some(_) | None => Outcome::Accepted,
            },
            Ok(_) => Outcome::Wrong("a log is other evidence after being written".into()),
            Err(error) => Outcome::Wrong(format!("a step of a log is refused after being written: {error}")),
        },
    }
}

type Read = (Vec<Vec<LogStep<'static>>>, LogReport);

fn read(world: &World, text: &str) -> Result<Read, LogError> {
    let table = CsvTable::new(Cursor::new(text.to_owned().into_bytes()), "log")?;
    let mut episodes = Vec::new();
    let report = LogReader::new(table, world, None)?.episodes(|steps| {
        episodes.push(steps.iter().map(|step| step.clone().into_owned()).collect());
        ControlFlow::Continue(())
    })?;
    Ok((episodes, report))
}

fn written(world: &World, episodes: &[Vec<LogStep<'static>>]) -> Result<String, String> {
    let with = WrittenColumns { weight: true, propensity: true, end: true, ..WrittenColumns::default() };
    let mut writer = LogWriter::new(world, Vec::new(), with).map_err(|e| e.to_string())?;
    for (i, steps) in episodes.iter().enumerate() {
        writer.episode(&format!("e{i}"), steps, &[]).map_err(|e| e.to_string())?;
    }
    String::from_utf8(writer.finish().map_err(|e| e.to_string())?).map_err(|e| e.to_string())
}
