//! Writes the tables of a study as CSV files.

use super::Tables;
use super::checksums::Checksums;
use crate::{Combination, Directory, Study, StudyError};

/// Columns that say which combination a row belongs to; what was swept stands behind them.
const COMBINATION: [&str; 9] =
    ["setting", "world", "parameters", "learner", "options", "estimate", "width", "scale", "episodes"];

impl Tables {
    /// Writes `runs.csv`, `curves.csv`, `summary.csv` and `timings.csv`, and last of all `tables.json` with their checksums.
    pub fn write(&self, study: &Study, directory: &Directory) -> Result<(), StudyError> {
        let mut checksums = Checksums::new(directory, &self.bounds);
        let mut write = |name: &'static str, bytes: Vec<u8>| {
            directory.write(name, &bytes)?;
            checksums.add(name, &bytes);
            Ok::<(), StudyError>(())
        };
        let runs = self.runs.iter().map(|r| {
            let numbers = [r.regret, r.reward, r.optimal, r.value, r.random].map(|x| x.to_string());
            (r.combination, [vec![r.repetition.to_string(), r.seed.to_string()], numbers.to_vec()].concat())
        });
        let columns = ["repetition", "seed", "regret", "reward", "optimal_value", "final_value", "random_value"];
        write("runs.csv", csv(study, &columns, runs))?;
        let curves = self
            .curves
            .iter()
            .map(|c| (c.combination, vec![c.repetition.to_string(), c.episode.to_string(), c.regret.to_string()]));
        write("curves.csv", csv(study, &["repetition", "episode", "regret"], curves))?;
        let summaries = (0..study.combinations.len()).map(|i| {
            let s = self.summary(i);
            let numbers = [s.mean, s.sd, s.min, s.q25, s.median, s.q75, s.max].map(|x| x.to_string());
            (i, [vec![s.n.to_string()], numbers.to_vec()].concat())
        });
        let columns = ["runs", "mean", "sd", "min", "q25", "median", "q75", "max"];
        write("summary.csv", csv(study, &columns, summaries))?;
        let timings = self.runs.iter().zip(&self.seconds).map(|(r, seconds)| {
            let rate = study.combinations[r.combination].episodes as f64 / seconds.max(1e-9);
            (r.combination, vec![r.repetition.to_string(), format!("{seconds:.4}"), format!("{rate:.0}")])
        });
        write("timings.csv", csv(study, &["repetition", "seconds", "episodes_per_second"], timings))?;
        checksums.write(directory)
    }
}

fn combination_fields(i: usize, combination: &Combination, swept: &[String]) -> Vec<String> {
    let options = combination.learner.options(combination.episodes, 0);
    let width = combination.learner.changes().find(|(k, _)| *k == "width").map_or(String::new(), |(_, v)| v);
    let scale = if width.is_empty() { String::new() } else { options.scale.to_string() };
    let mut fields = vec![
        i.to_string(),
        combination.world.name(),
        combination.world.parameters(),
        combination.learner.preset().name().to_owned(),
        combination.learner.changes_text(),
        combination.learner.estimate(),
        width,
        scale,
        combination.episodes.to_string(),
    ];
    // The number of episodes has a column of its own already.
    let others = swept.iter().filter(|s| *s != "episodes");
    fields.extend(others.map(|s| combination.sweep.get(s).cloned().unwrap_or_default()));
    fields
}

fn csv(study: &Study, columns: &[&str], rows: impl Iterator<Item = (usize, Vec<String>)>) -> Vec<u8> {
    let swept: Vec<&str> = study.swept.iter().map(String::as_str).filter(|s| *s != "episodes").collect();
    let mut out = csv::Writer::from_writer(Vec::new());
    let header = [&COMBINATION[..], &swept[..], columns].concat();
    out.write_record(header).expect("invariant: writing to memory does not fail");
    for (i, fields) in rows {
        let row = [combination_fields(i, &study.combinations[i], &study.swept), fields].concat();
        out.write_record(row).expect("invariant: writing to memory does not fail");
    }
    out.into_inner().expect("invariant: writing to memory does not fail")
}
