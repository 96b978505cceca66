//! `dowise-fuzz`: tries many inputs, and says what failed. See docs/reference/reliability.md.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use dowise_fuzz::supervise::{Report, Settings, supervise};
use dowise_fuzz::work::{attempt, keep_panics, work};
use dowise_fuzz::{Case, Corpus, Kind};

/// All kinds.
const KINDS: &str = "world,study,learner,evidence,graph,spec,log";

#[derive(Parser)]
#[command(about = "Throws broken, odd and extreme inputs at dowise")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Tries cases until time or cases are used up.
    Run {
        /// Decides all cases.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Number of the first case.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Most cases.
        #[arg(long, default_value_t = u64::MAX)]
        cases: u64,
        /// Most seconds.
        #[arg(long, default_value_t = 600)]
        seconds: u64,
        /// Most seconds for one case.
        #[arg(long, default_value_t = 10)]
        case_seconds: u64,
        /// Kinds of input: world, study, learner, evidence, graph, spec, log.
        #[arg(long, value_delimiter = ',', value_parser = kind, default_value = KINDS)]
        kinds: Vec<Kind>,
        /// Directory for cases that fail.
        #[arg(long, default_value = "target/fuzz-failures")]
        failures: PathBuf,
        /// Also lists every reason for which inputs were refused.
        #[arg(long)]
        reasons: bool,
    },
    /// Tries a case that was kept; exits with 1 and says what happened if it fails.
    Replay {
        /// The file.
        file: PathBuf,
    },
    /// Prints the case of a number.
    Show {
        /// As in the run.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Number of the case.
        case: u64,
        /// As in the run.
        #[arg(long, value_delimiter = ',', value_parser = kind, default_value = KINDS)]
        kinds: Vec<Kind>,
    },
    /// What a run starts: tries cases and tells how it goes.
    #[command(hide = true)]
    Work {
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        from: u64,
        #[arg(long)]
        to: u64,
        #[arg(long)]
        at: PathBuf,
        #[arg(long, value_delimiter = ',', value_parser = kind)]
        kinds: Vec<Kind>,
    },
}

fn kind(word: &str) -> Result<Kind, String> {
    Kind::read(word).ok_or_else(|| format!("there is no kind `{word}`"))
}

fn main() -> ExitCode {
    match command(Arguments::parse().command) {
        Ok(code) => code,
        Err(e) => {
            println!("{e}");
            ExitCode::from(3)
        }
    }
}

fn command(command: Command) -> std::io::Result<ExitCode> {
    match command {
        Command::Work { seed, from, to, at, kinds } => {
            work(seed, &kinds, from, to, &at, &mut std::io::stdout())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Show { seed, case, kinds } => {
            println!("{}", Case::made(&Corpus::new(), &kinds, seed, case).to_file());
            Ok(ExitCode::SUCCESS)
        }
        Command::Replay { file } => {
            let text = std::fs::read_to_string(&file)?;
            let Some(case) = Case::from_file(&text) else {
                return Err(std::io::Error::other(format!("{} is not a case", file.display())));
            };
            keep_panics();
            let (outcome, failed) = attempt(&Corpus::new(), &case);
            match failed {
                Some(what) => println!("{what}"),
                None => {
                    println!("{outcome:?}");
                    return Ok(ExitCode::SUCCESS);
                }
            }
            Ok(ExitCode::FAILURE)
        }
        Command::Run { seed, from, cases, seconds, case_seconds, kinds, failures, reasons } => {
            let settings = Settings {
                seed,
                kinds,
                from,
                cases,
                time: Duration::from_secs(seconds),
                case_time: Duration::from_secs(case_seconds),
                failures,
            };
            println!("seed {seed}, cases from {from} on");
            let mut knowledge = 0.0;
            let report = supervise(&settings, &std::env::current_exe()?, |report| {
                if report.seconds >= knowledge + 30.0 {
                    knowledge = report.seconds;
                    println!("{}", line(report));
                }
            })?;
            print_report(&report, &settings, reasons);
            Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

fn line(report: &Report) -> String {
    let rate = report.executions as f64 / report.seconds.max(1e-9);
    let (n, failures) = (report.executions, report.failures.len());
    format!("{n} executions in {:.0} s, {rate:.0} a second; {failures} kinds of failure", report.seconds)
}

fn print_report(report: &Report, settings: &Settings, reasons: bool) {
    println!("{}", line(report));
    for (kind, [tried, accepted]) in &report.tally.by_kind {
        let share = 100.0 * *accepted as f64 / (*tried).max(1) as f64;
        let distinct = report.tally.reasons.keys().filter(|r| r.starts_with(&format!("{kind}:"))).count();
        println!("  {kind}: {tried} tried, {share:.1} % accepted, {distinct} distinct errors");
    }
    if reasons {
        report.tally.reasons.iter().for_each(|(reason, n)| println!("  {n:>9} {reason}"));
    }
    for failure in report.failures.values() {
        println!(
            "FAILED {} times, first in case {} of seed {}: {}",
            failure.times, failure.case, settings.seed, failure.what
        );
        println!("  try it again: dowise-fuzz replay {}", failure.file.display());
    }
}
