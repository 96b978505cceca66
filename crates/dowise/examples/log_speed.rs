//! How many steps a second (of processor time) are read from a CSV file and taken in as evidence: `cargo run --release --example log_speed [STEPS]`.

#![allow(clippy::print_stdout)] // a benchmark prints its result

use std::ops::ControlFlow;
use std::time::Instant;

use dowise::data::{Chooser, CsvTable, LogReader, LogWriter, WrittenColumns, simulate_log};
use dowise::learn::Evidence;
use dowise::{Knowledge, Options, Simulator, worlds};

/// Seconds of this thread on the processor, where the system tells them; seconds by the clock otherwise.
fn clock() -> f64 {
    static BEGUN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = stat.and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| BEGUN.elapsed().as_secs_f64(), |n| n / 1e9)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: u64 = std::env::args().nth(1).map_or(Ok(600_000), |n| n.parse())?;
    println!("world       columns  bytes/row   steps read a second   with evidence   whole episodes");
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
        // The best of three: other programs may be running.
        for _ in 0..3 {
            let log = reader()?;
            let begun = clock();
            let report = log.steps(|_| ControlFlow::Continue(()))?;
            rates[0] = rates[0].max(report.steps as f64 / (clock() - begun));
            let log = reader()?;
            let begun = clock();
            log.steps(|step| match seen.add(&step.observation) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            })?;
            rates[1] = rates[1].max(report.steps as f64 / (clock() - begun));
            let log = reader()?;
            let begun = clock();
            log.episodes(|_| ControlFlow::Continue(()))?;
            rates[2] = rates[2].max(report.steps as f64 / (clock() - begun));
        }
        let rows = text.iter().filter(|&&b| b == b'\n').count().max(1);
        let [read, learn, whole] = rates.map(|r| format!("{:.2} M", r / 1e6));
        println!("{name:<11} {columns:>7} {:>10} {read:>21} {learn:>15} {whole:>16}", text.len() / rows);
    }
    Ok(())
}
