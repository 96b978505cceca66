//! `dowise slurm`: a script that runs a study as an array of jobs.

use std::path::{Path, PathBuf};

use dowise_study::StudyFile;

use crate::number::whole;
use crate::output::{Failure, Output, Status};
use crate::study;

/// Print a Slurm script that runs a study as an array of jobs, one for each shard
///
/// The study is checked before anything is sent. A job that fails is run again by its number alone; `dowise merge` puts
/// the parts together.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The study file.
    study: PathBuf,
    /// Number of jobs [default: one for every 10 runs, 100 at most].
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    shards: Option<u64>,
    /// Threads of a job.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole, allow_negative_numbers = true)]
    cpus: u64,
    /// Longest time of a job.
    #[arg(long, value_name = "HH:MM:SS", default_value = "01:00:00")]
    time: String,
    /// Where the parts go, one directory for each.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  dowise slurm study.toml > study.sbatch && sbatch study.sbatch
  dowise merge study-parts/* --out study-results
  sbatch --array=7,12 study.sbatch            shards 7 and 12 again";

/// Most jobs that are asked for by themselves.
const MOST_SHARDS: u64 = 100;

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let fail = |e| study::failure(e, output);
    let base = args.study.parent().map(Path::to_owned).unwrap_or_default();
    let resolved = StudyFile::read(&args.study).and_then(|file| file.resolve(&base)).map_err(fail)?;
    let runs = resolved.n_runs() as u64;
    let shards = args.shards.unwrap_or_else(|| runs.div_ceil(10).min(MOST_SHARDS)).min(runs);
    if shards == 0 || args.cpus == 0 {
        return Err(Failure::Usage("--shards and --cpus are numbers from 1 on".into()));
    }
    if !is_time(&args.time) {
        let help = "give hours, minutes and seconds, such as 01:30:00, or days before them, 2-12:00:00";
        return Err(Failure::Usage(format!("--time {}: {help}", args.time)));
    }
    let stem = args.study.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let out = args.out.unwrap_or_else(|| PathBuf::from(format!("{stem}-parts")));
    output.data(script(&args.study, &stem, &out, shards, args.cpus, &args.time))?;
    output.talk(format_args!(
        "{runs} runs in {shards} jobs; afterwards: dowise merge {}/* --out {stem}-results",
        quoted(&out)
    ));
    Ok(Status::Fine)
}

fn script(study: &Path, stem: &str, out: &Path, shards: u64, cpus: u64, time: &str) -> String {
    let name: String = stem.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    let (study, out) = (quoted(study), quoted(out));
    format!(
        "#!/bin/bash\n\
         #SBATCH --job-name={name}\n\
         #SBATCH --array=1-{shards}\n\
         #SBATCH --cpus-per-task={cpus}\n\
         #SBATCH --time={time}\n\
         #SBATCH --output={name}-%A_%a.log\n\
         # A job that was stopped goes on where it was when it is given again.\n\
         set -euo pipefail\n\
         mkdir -p {out}\n\
         dowise compare --study {study} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\" --threads {cpus} --out {out}/\"$SLURM_ARRAY_TASK_ID\"\n"
    )
}

/// Whether a text is a time above zero as Slurm reads it: `MM`, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM` or `D-HH:MM:SS`. Only the
/// first number may go beyond what its unit holds.
fn is_time(text: &str) -> bool {
    let (days, rest) = text.split_once('-').map_or((None, text), |(days, rest)| (Some(days), rest));
    let parts: Vec<&str> = days.into_iter().chain(rest.split(':')).collect();
    let limits: &[u32] = match (days.is_some(), parts.len()) {
        (true, 2..=4) => &[u32::MAX, 23, 59, 59],
        (false, 1..=2) => &[u32::MAX, 59],
        (false, 3) => &[u32::MAX, 59, 59],
        (_, _) => return false,
    };
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.bytes().all(|b| b.is_ascii_digit()));
    let numbers: Option<Vec<u32>> = parts.iter().map(|part| number(part)).collect();
    numbers.is_some_and(|n| n.iter().zip(limits).all(|(n, most)| n <= most) && n.iter().any(|&n| n > 0))
}

/// A path as the shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_slurm_takes() {
        for good in ["90", "1:30", "01:00:00", "99:59:59", "2-12", "1-23:59", "7-00:00:00"] {
            assert!(is_time(good), "{good}");
        }
        for bad in
            ["", "0", "00:00:00", "99:99:99", "1:60", "1:60:00", "1-24:00", "1:2:3:4", "-1", "1-", "+1", "1-2-3", "a"]
        {
            assert!(!is_time(bad), "{bad}");
        }
    }

    #[test]
    fn names_that_a_shell_would_take_apart_are_quoted() {
        assert_eq!(quoted(Path::new("a/b-1.toml")), "a/b-1.toml");
        assert_eq!(quoted(Path::new("my study's.toml")), r"'my study'\''s.toml'");
    }
}
