//! Writes the tables of a study as CSV files.

use super::Tables;
use super::sums::Sums;
use crate::{Directory, Setting, Study, StudyError};

/// Columns that say which setting a row belongs to; what was swept stands behind them.
const SETTING: [&str; 9] =
    ["setting", "world", "parameters", "learner", "options", "estimate", "width", "scale", "episodes"];

impl Tables {
    /// Writes `runs.csv`, `curves.csv`, `summary.csv` and `timings.csv`, and last of all `tables.json` with their checksums.
    pub fn write(&self, study: &Study, directory: &Directory) -> Result<(), StudyError> {
        let mut sums = Sums::new(directory, &self.bounds);
        let mut write = |name: &'static str, bytes: Vec<u8>| {
            directory.write(name, &bytes)?;
            sums.add(name, &bytes);
            Ok::<(), StudyError>(())
        };
        let runs = self.runs.iter().map(|r| {
            let numbers = [r.regret, r.reward, r.optimal, r.value].map(|x| x.to_string());
            (r.setting, [vec![r.repetition.to_string(), r.seed.to_string()], numbers.to_vec()].concat())
        });
        let columns = ["repetition", "seed", "regret", "reward", "optimal_value", "final_value"];
        write("runs.csv", csv(study, &columns, runs))?;
        let curves = self
            .curves
            .iter()
            .map(|c| (c.setting, vec![c.repetition.to_string(), c.episode.to_string(), c.regret.to_string()]));
        write("curves.csv", csv(study, &["repetition", "episode", "regret"], curves))?;
        let summaries = (0..study.settings.len()).map(|i| {
            let s = self.summary(i);
            let numbers = [s.mean, s.sd, s.min, s.q25, s.median, s.q75, s.max].map(|x| x.to_string());
            (i, [vec![s.n.to_string()], numbers.to_vec()].concat())
        });
        let columns = ["runs", "mean", "sd", "min", "q25", "median", "q75", "max"];
        write("summary.csv", csv(study, &columns, summaries))?;
        let timings = self.runs.iter().zip(&self.seconds).map(|(r, seconds)| {
            let rate = study.settings[r.setting].episodes as f64 / seconds.max(1e-9);
            (r.setting, vec![r.repetition.to_string(), format!("{seconds:.4}"), format!("{rate:.0}")])
        });
        write("timings.csv", csv(study, &["repetition", "seconds", "episodes_per_second"], timings))?;
        sums.write(directory)
    }
}

fn setting_fields(i: usize, setting: &Setting, swept: &[String]) -> Vec<String> {
    let options = setting.learner.options(setting.episodes, 0);
    let width = setting.learner.changes().find(|(k, _)| *k == "width").map_or(String::new(), |(_, v)| v);
    let scale = if width.is_empty() { String::new() } else { options.scale.to_string() };
    let mut fields = vec![
        i.to_string(),
        setting.world.name(),
        setting.world.parameters(),
        setting.learner.preset().name().to_owned(),
        setting.learner.changes_text(),
        setting.learner.estimate(),
        width,
        scale,
        setting.episodes.to_string(),
    ];
    // The number of episodes has a column of its own already.
    let others = swept.iter().filter(|s| *s != "episodes");
    fields.extend(others.map(|s| setting.sweep.get(s).cloned().unwrap_or_default()));
    fields
}

fn csv(study: &Study, columns: &[&str], rows: impl Iterator<Item = (usize, Vec<String>)>) -> Vec<u8> {
    let swept: Vec<&str> = study.swept.iter().map(String::as_str).filter(|s| *s != "episodes").collect();
    let mut out = csv::Writer::from_writer(Vec::new());
    let header = [&SETTING[..], &swept[..], columns].concat();
    out.write_record(header).expect("memory takes everything");
    for (i, fields) in rows {
        let row = [setting_fields(i, &study.settings[i], &study.swept), fields].concat();
        out.write_record(row).expect("memory takes everything");
    }
    out.into_inner().expect("memory takes everything")
}
