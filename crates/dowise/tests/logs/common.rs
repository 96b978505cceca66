//! Worlds with logs, and logs read back.

use std::ops::ControlFlow;

use dowise::data::{
    Chooser, CsvTable, LogError, LogMap, LogReader, LogReport, LogStep, LogWriter, WrittenColumns, simulate_log,
};
use dowise::learn::Evidence;
use dowise::{Knowledge, Options, Simulator, World, worlds};

pub(crate) fn world(name: &str) -> World {
    let settings: &[(&str, &str)] = match name {
        "paper" | "linear" => &[("seed", "1")],
        _ => &[],
    };
    worlds::world(name, settings).unwrap()
}

/// Simulated episodes, with values of their own.
pub(crate) fn episodes(world: &World, n: u64, seed: u64) -> Vec<Vec<LogStep<'static>>> {
    let simulator = Simulator::new(world).unwrap();
    let mut all = Vec::new();
    simulate_log(&simulator, Chooser::AtRandom, n, seed, |steps| {
        all.push(steps.iter().map(|s| s.clone().into_owned()).collect());
        ControlFlow::Continue(())
    });
    all
}

pub(crate) fn written(world: &World, episodes: &[Vec<LogStep<'static>>]) -> String {
    let with = WrittenColumns { propensity: true, policy: true, end: true, ..WrittenColumns::default() };
    let mut writer = LogWriter::new(world, Vec::new(), with).unwrap();
    for (i, steps) in episodes.iter().enumerate() {
        writer.episode(&(i + 1).to_string(), steps, &["at random"]).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

pub(crate) fn table(text: impl Into<Vec<u8>>) -> Result<CsvTable, LogError> {
    CsvTable::new(std::io::Cursor::new(text.into()), "log.csv")
}

pub(crate) fn read_with(
    world: &World,
    text: impl Into<Vec<u8>>,
    map: Option<&LogMap>,
) -> Result<(Vec<LogStep<'static>>, LogReport), LogError> {
    let mut steps = Vec::new();
    let report = LogReader::new(table(text)?, world, map)?.steps(|step| {
        steps.push(step.clone().into_owned());
        ControlFlow::Continue(())
    })?;
    Ok((steps, report))
}

pub(crate) fn read(world: &World, text: impl Into<Vec<u8>>) -> (Vec<LogStep<'static>>, LogReport) {
    read_with(world, text, None).unwrap()
}

/// What is seen in these steps, everything unknown.
pub(crate) fn evidence<'a>(world: &World, steps: impl IntoIterator<Item = &'a LogStep<'static>>) -> String {
    let knowledge = Knowledge::of(world).without_mechanisms().without_rewards();
    let mut seen = Evidence::new(&knowledge, &Options::default()).unwrap();
    for step in steps {
        for _ in 0..step.weight {
            seen.add(&step.observation).unwrap();
        }
    }
    seen.save()
}
