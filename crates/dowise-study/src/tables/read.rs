//! Reads the tables of a study back, and holds them against the study.

use std::path::PathBuf;

use super::checksums::Checksums;
use super::{CurveRow, RunRow, Tables};
use crate::validation::{curve_fault, values_fault};
use crate::{Directory, Study, StudyError};

impl Tables {
    /// Reads `runs.csv`, `curves.csv` and `timings.csv` back, if they are what the study wrote.
    pub fn read(study: &Study, directory: &Directory) -> Result<Tables, StudyError> {
        let checksums = Checksums::read(directory)?;
        let mut tables = Tables { bounds: checksums.bounds.clone(), ..Tables::default() };
        let columns = ["repetition", "seed", "regret", "reward", "optimal_value", "final_value", "random_value"];
        let runs = Sheet::new(&checksums, directory, "runs.csv", &columns)?;
        runs.rows(|row| {
            tables.runs.push(RunRow {
                combination: row.whole(0)?,
                repetition: row.whole(1)?,
                seed: row.whole(2)?,
                regret: row.number(3)?,
                reward: row.number(4)?,
                optimal: row.number(5)?,
                value: row.number(6)?,
                random: row.number(7)?,
            });
            Ok(())
        })?;
        let curves = Sheet::new(&checksums, directory, "curves.csv", &["repetition", "episode", "regret"])?;
        curves.rows(|row| {
            tables.curves.push(CurveRow {
                combination: row.whole(0)?,
                repetition: row.whole(1)?,
                episode: row.whole(2)?,
                regret: row.number(3)?,
            });
            Ok(())
        })?;
        let timings = Sheet::new(&checksums, directory, "timings.csv", &["seconds"])?;
        timings.rows(|row| {
            tables.seconds.push(row.number(1)?);
            Ok(())
        })?;
        tables.hold_against(study).map_err(|(sheet, message)| match sheet {
            "runs.csv" => runs.wrong(message),
            "curves.csv" => curves.wrong(message),
            _ => timings.wrong(message),
        })?;
        Ok(tables)
    }

    /// The sheet and what is wrong with it, unless its rows are those of the study and its numbers are possible results.
    fn hold_against(&self, study: &Study) -> Result<(), (&'static str, String)> {
        let n = study.n_runs();
        if (self.runs.len(), self.seconds.len(), self.bounds.len()) != (n, n, n) {
            return Err(("runs.csv", format!("there are {} rows, and the study has {n} runs", self.runs.len())));
        }
        let mut rows = self.runs.iter().zip(&self.bounds);
        let mut curve = self.curves.as_slice();
        for (i, combination) in study.combinations.iter().enumerate() {
            let checkpoints = study.checkpoints.of(combination.episodes);
            for repetition in 0..study.repetitions {
                let (run, &bound) = rows.next().expect("invariant: there is a row for each run");
                let seed = study.seed + repetition;
                if (run.combination, run.repetition, run.seed) != (i, repetition, seed) {
                    let found =
                        format!("setting {}, repetition {}, seed {}", run.combination, run.repetition, run.seed);
                    let wanted = format!("setting {i}, repetition {repetition}, seed {seed}");
                    return Err(("runs.csv", format!("there is {found} where {wanted} should be")));
                }
                let named = |sheet: &'static str, (field, why): (&str, String)| {
                    (sheet, format!("setting {i}, repetition {repetition}: {field}: {why}"))
                };
                if let Some(fault) = values_fault(run.optimal, [run.value, run.random], bound, combination.monte_carlo)
                {
                    return Err(named("runs.csv", fault));
                }
                let Some((own, rest)) = curve.split_at_checked(checkpoints.len()) else {
                    return Err(("curves.csv", format!("the rows end in setting {i}, repetition {repetition}")));
                };
                let own_row =
                    |(c, &k): (&CurveRow, &u64)| (c.combination, c.repetition, c.episode) == (i, repetition, k);
                if !own.iter().zip(&checkpoints).all(own_row) {
                    let why = "its rows are not those of the study's checkpoints".to_owned();
                    return Err(named("curves.csv", ("episode", why)));
                }
                let regret: Vec<f64> = own.iter().map(|c| c.regret).collect();
                if let Some(fault) = curve_fault(&regret, &checkpoints, bound, combination.monte_carlo) {
                    return Err(named("curves.csv", fault));
                }
                if regret.last().is_none_or(|last| *last != run.regret) {
                    let why = format!("{} is not where the curve ends", run.regret);
                    return Err(named("runs.csv", ("regret", why)));
                }
                curve = rest;
            }
        }
        if curve.is_empty() { Ok(()) } else { Err(("curves.csv", format!("there are {} rows too many", curve.len()))) }
    }
}

/// A CSV file and the positions of the columns to read; the first is `setting`, the number of the combination.
struct Sheet {
    path: PathBuf,
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl Sheet {
    fn new(checksums: &Checksums, directory: &Directory, name: &str, columns: &[&str]) -> Result<Sheet, StudyError> {
        let mut sheet = Sheet { path: directory.file(name), bytes: checksums.table(directory, name)?, places: vec![] };
        let header = csv::Reader::from_reader(sheet.bytes.as_slice()).headers().cloned();
        let header = header.map_err(|e| sheet.wrong(e.to_string()))?;
        for column in ["setting"].iter().chain(columns) {
            let place = header.iter().position(|h| h == *column);
            sheet.places.push(place.ok_or_else(|| sheet.wrong(format!("there is no column `{column}`")))?);
        }
        Ok(sheet)
    }

    fn wrong(&self, message: String) -> StudyError {
        StudyError::Table { path: self.path.clone(), message }
    }

    fn rows(&self, mut each: impl FnMut(&Row<'_>) -> Result<(), String>) -> Result<(), StudyError> {
        for (i, record) in csv::Reader::from_reader(self.bytes.as_slice()).records().enumerate() {
            let record = record.map_err(|e| self.wrong(e.to_string()))?;
            each(&Row { record: &record, places: &self.places })
                .map_err(|message| self.wrong(format!("line {}: {message}", i + 2)))?;
        }
        Ok(())
    }
}

struct Row<'a> {
    record: &'a csv::StringRecord,
    places: &'a [usize],
}

impl Row<'_> {
    fn number(&self, column: usize) -> Result<f64, String> {
        self.parse(column, "a number").and_then(|x: f64| {
            if x.is_finite() { Ok(x) } else { Err(format!("`{x}` is not a number that can be drawn")) }
        })
    }

    fn whole<T: std::str::FromStr>(&self, column: usize) -> Result<T, String> {
        self.parse(column, "a whole number from 0 on")
    }

    fn parse<T: std::str::FromStr>(&self, column: usize, what: &str) -> Result<T, String> {
        let field = self.record.get(self.places[column]).unwrap_or("");
        field.parse().map_err(|_| format!("`{field}` is not {what}"))
    }
}
