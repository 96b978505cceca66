//! How many steps a second are read from a CSV file and taken in as evidence: `cargo run --release --example log_speed [STEPS]`.
//!
//! By the clock, the best of five; and the processor time of a million steps with evidence, of the thread that makes steps of rows and
//! of the one that splits the text into rows. The longer of the two is what a machine with a core for each can do.

#![allow(clippy::print_stdout)] // a benchmark prints its result

use std::ops::ControlFlow;
use std::time::Instant;

use dowise::data::{Chooser, CsvTable, LogReader, LogWriter, WrittenColumns, simulate_log};
use dowise::learn::Evidence;
use dowise::{Knowledge, Options, Simulator, worlds};

/// Seconds on the processor of this thread, and of all threads that this program has had; nothing where the system does not tell.
fn processor() -> [f64; 2] {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let own = read("/proc/thread-self/schedstat").split(' ').next().and_then(|n| n.parse::<f64>().ok());
    // After the name, which is in brackets: the 12th and 13th are the time in the program and in the system, in hundredths.
    let stat = read("/proc/self/stat");
    let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let all: f64 = times.filter_map(|n| n.parse::<f64>().ok()).sum();
    [own.unwrap_or(0.0) / 1e9, all / 1e2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: u64 = std::env::args().nth(1).map_or(Ok(600_000), |n| n.parse())?;
    println!(
        "world       columns  bytes/row   steps read a second   with evidence   whole episodes   processor s/M: steps, rows"
    );
    for name in ["treatment", "campaign", "river-swim"] {
        let world = worlds::world(name, &[])?;
        let with = WrittenColumns { propensity: true, policy: true, end: true, ..WrittenColumns::default() };
        let mut writer = LogWriter::new(&world, Vec::new(), with)?;
        let simulator = Simulator::new(&world)?;
        let mut wrote = Ok(());
        simulate_log(&simulator, Chooser::AtRandom, wanted.div_ceil(world.horizon() as u64), 1, |steps| {
            wrote = writer.episode(&steps[0].episode.to_string(), steps, &["at random"]);
            if wrote.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        wrote?;
        let text = writer.finish()?;
        let columns = text.split(|&b| b == b'\n').next().map_or(0, |l| l.split(|&b| b == b',').count());
        let reader = || -> Result<_, Box<dyn std::error::Error>> {
            let table = CsvTable::new(std::io::Cursor::new(text.clone()), "log.csv")?;
            Ok(LogReader::new(table, &world, None)?)
        };
        let mut seen = Evidence::new(&Knowledge::of(&world), &Options::default())?;
        let mut rates = [0.0f64; 3];
        let mut busy = [f64::INFINITY; 2];
        // Other programs may be running.
        for _ in 0..5 {
            let log = reader()?;
            let begun = Instant::now();
            let report = log.steps(|_| ControlFlow::Continue(()))?;
            rates[0] = rates[0].max(report.steps as f64 / begun.elapsed().as_secs_f64());
            let log = reader()?;
            let (begun, before) = (Instant::now(), processor());
            log.steps(|step| match seen.add(&step.observation) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            })?;
            rates[1] = rates[1].max(report.steps as f64 / begun.elapsed().as_secs_f64());
            let after = processor();
            let [own, all] = [0, 1].map(|i| (after[i] - before[i]) * 1e6 / report.steps as f64);
            busy = [busy[0].min(own), busy[1].min((all - own).max(0.0))];
            let log = reader()?;
            let begun = Instant::now();
            log.episodes(|_| ControlFlow::Continue(()))?;
            rates[2] = rates[2].max(report.steps as f64 / begun.elapsed().as_secs_f64());
        }
        let rows = text.iter().filter(|&&b| b == b'\n').count().max(1);
        let [read, learn, whole] = rates.map(|r| format!("{:.2} M", r / 1e6));
        println!(
            "{name:<11} {columns:>7} {:>10} {read:>21} {learn:>15} {whole:>16} {:>23.2}, {:.2}",
            text.len() / rows,
            busy[0],
            busy[1]
        );
    }
    Ok(())
}
