//! The tables of a study as CSV files: runs, curves, summary and timings, tidy, one row for each observation.

use std::path::Path;

use crate::{Directory, Setting, Study, StudyError, Summary};

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Position of its setting in the study.
    pub setting: usize,
    /// Repetition, from 0.
    pub repetition: u64,
    /// Seed of the world and of the run.
    pub seed: u64,
    /// Sum of regrets.
    pub regret: f64,
    /// Sum of rewards received.
    pub reward: f64,
    /// Value of the best policy.
    pub optimal: f64,
    /// Value of the policy that would be followed next.
    pub value: f64,
}

/// One point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveRow {
    /// Position of its setting in the study.
    pub setting: usize,
    /// Repetition, from 0.
    pub repetition: u64,
    /// Episode, from 1.
    pub episode: u64,
    /// Sum of regrets up to it.
    pub regret: f64,
}

/// All that a study found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// One row for each run.
    pub runs: Vec<RunRow>,
    /// Regret at the checkpoints.
    pub curves: Vec<CurveRow>,
    /// Seconds of each run, in the order of `runs`; empty where they were not read.
    pub seconds: Vec<f64>,
}

/// Columns that say which setting a row belongs to; what was swept stands behind them.
const SETTING: [&str; 9] =
    ["setting", "world", "parameters", "learner", "options", "estimate", "width", "scale", "episodes"];

impl Tables {
    /// Gathers the results of all runs; every one must be done.
    pub fn collect(study: &Study, directory: &Directory) -> Result<Tables, StudyError> {
        let mut tables = Tables::default();
        for (i, setting) in study.settings.iter().enumerate() {
            let checkpoints = study.checkpoints.of(setting.episodes);
            for repetition in 0..study.repetitions {
                let record = directory.record(i, repetition).ok_or_else(|| StudyError::Table {
                    path: directory.path().to_owned(),
                    message: format!("run {repetition} of {} in {} is missing", setting.learner, setting.world),
                })?;
                tables.runs.push(RunRow {
                    setting: i,
                    repetition,
                    seed: study.seed + repetition,
                    regret: record.total_regret(),
                    reward: record.reward,
                    optimal: record.optimal,
                    value: record.value,
                });
                tables.seconds.push(record.seconds);
                tables.curves.extend(checkpoints.iter().zip(&record.regret).map(|(&episode, &regret)| CurveRow {
                    setting: i,
                    repetition,
                    episode,
                    regret,
                }));
            }
        }
        Ok(tables)
    }

    /// Writes `runs.csv`, `curves.csv`, `summary.csv` and `timings.csv`.
    pub fn write(&self, study: &Study, directory: &Directory) -> Result<(), StudyError> {
        let runs = self.runs.iter().map(|r| {
            let numbers = [r.regret, r.reward, r.optimal, r.value].map(|x| x.to_string());
            (r.setting, [vec![r.repetition.to_string(), r.seed.to_string()], numbers.to_vec()].concat())
        });
        let columns = ["repetition", "seed", "regret", "reward", "optimal_value", "final_value"];
        directory.write("runs.csv", &csv(study, &columns, runs))?;
        let curves = self
            .curves
            .iter()
            .map(|c| (c.setting, vec![c.repetition.to_string(), c.episode.to_string(), c.regret.to_string()]));
        directory.write("curves.csv", &csv(study, &["repetition", "episode", "regret"], curves))?;
        let summaries = (0..study.settings.len()).map(|i| {
            let s = self.summary(i);
            let numbers = [s.mean, s.sd, s.min, s.q25, s.median, s.q75, s.max].map(|x| x.to_string());
            (i, [vec![s.n.to_string()], numbers.to_vec()].concat())
        });
        let columns = ["runs", "mean", "sd", "min", "q25", "median", "q75", "max"];
        directory.write("summary.csv", &csv(study, &columns, summaries))?;
        let timings = self.runs.iter().zip(&self.seconds).map(|(r, seconds)| {
            let rate = study.settings[r.setting].episodes as f64 / seconds.max(1e-9);
            (r.setting, vec![r.repetition.to_string(), format!("{seconds:.4}"), format!("{rate:.0}")])
        });
        directory.write("timings.csv", &csv(study, &["repetition", "seconds", "episodes_per_second"], timings))
    }

    /// Reads `runs.csv` and `curves.csv` back, and `timings.csv` if it is there.
    pub fn read(study: &Study, directory: &Directory) -> Result<Tables, StudyError> {
        let mut tables = Tables::default();
        let n = study.settings.len();
        read(
            &directory.file("runs.csv"),
            n,
            &["repetition", "seed", "regret", "reward", "optimal_value", "final_value"],
            |setting, x| {
                tables.runs.push(RunRow {
                    setting,
                    repetition: x[0] as u64,
                    seed: x[1] as u64,
                    regret: x[2],
                    reward: x[3],
                    optimal: x[4],
                    value: x[5],
                });
            },
        )?;
        read(&directory.file("curves.csv"), n, &["repetition", "episode", "regret"], |setting, x| {
            tables.curves.push(CurveRow { setting, repetition: x[0] as u64, episode: x[1] as u64, regret: x[2] });
        })?;
        if directory.file("timings.csv").exists() {
            read(&directory.file("timings.csv"), n, &["seconds"], |_, x| tables.seconds.push(x[0]))?;
        }
        Ok(tables)
    }

    /// Final regrets of a setting.
    pub fn regrets(&self, setting: usize) -> impl Iterator<Item = f64> + '_ {
        self.runs.iter().filter(move |r| r.setting == setting).map(|r| r.regret)
    }

    /// What the final regrets of a setting look like.
    pub fn summary(&self, setting: usize) -> Summary {
        Summary::of(self.regrets(setting))
    }

    /// What the regrets of a setting look like at each checkpoint.
    pub fn curve(&self, setting: usize) -> Vec<(u64, Summary)> {
        let rows: Vec<&CurveRow> = self.curves.iter().filter(|c| c.setting == setting).collect();
        let mut episodes: Vec<u64> = rows.iter().map(|c| c.episode).collect();
        episodes.sort_unstable();
        episodes.dedup();
        let at = |k: u64| Summary::of(rows.iter().filter(|c| c.episode == k).map(|c| c.regret));
        episodes.into_iter().map(|k| (k, at(k))).collect()
    }
}

fn setting_fields(i: usize, setting: &Setting, swept: &[String]) -> Vec<String> {
    let options = setting.learner.options(setting.episodes, 0);
    let width = setting.learner.changes().find(|(k, _)| *k == "width").map_or("", |(_, v)| v);
    let scale = if width.is_empty() { String::new() } else { options.scale.to_string() };
    let mut fields = vec![
        i.to_string(),
        setting.world.name(),
        setting.world.parameters(),
        setting.learner.preset().name().to_owned(),
        setting.learner.changes_text(),
        setting.learner.estimate(),
        width.to_owned(),
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

/// Reads the setting and some columns of numbers of each row.
fn read(
    file: &Path,
    n_settings: usize,
    columns: &[&str],
    mut row: impl FnMut(usize, &[f64]),
) -> Result<(), StudyError> {
    let wrong = |message: String| StudyError::Table { path: file.to_owned(), message };
    let source = std::fs::File::open(file).map_err(|source| StudyError::Read { path: file.to_owned(), source })?;
    let mut reader = csv::Reader::from_reader(std::io::BufReader::new(source));
    let header = reader.headers().map_err(|e| wrong(e.to_string()))?.clone();
    let place =
        |name: &str| header.iter().position(|h| h == name).ok_or_else(|| wrong(format!("there is no column `{name}`")));
    let setting = place("setting")?;
    let places: Vec<usize> = columns.iter().map(|c| place(c)).collect::<Result<_, _>>()?;
    let mut numbers = vec![0.0; columns.len()];
    for (line, record) in reader.records().enumerate() {
        let record = record.map_err(|e| wrong(e.to_string()))?;
        let number = |i: usize| {
            let field = record.get(i).unwrap_or("");
            field.parse::<f64>().map_err(|_| wrong(format!("line {}: `{field}` is not a number", line + 2)))
        };
        for (x, &i) in numbers.iter_mut().zip(&places) {
            *x = number(i)?;
        }
        let setting = number(setting)? as usize;
        if setting >= n_settings {
            return Err(wrong(format!("line {}: there is no setting {setting} in study.toml", line + 2)));
        }
        row(setting, &numbers);
    }
    Ok(())
}
