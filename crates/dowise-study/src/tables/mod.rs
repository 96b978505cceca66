//! The tables of a study: runs and curves, tidy, one row for each observation.

mod checksums;
mod read;
mod write;

use crate::{Directory, Study, StudyError, Summary};
use dowise::tolerance::VALUE_DIFFERENCE;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Position of its combination in the study.
    pub combination: usize,
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
    /// Value of interventions at random.
    pub random: f64,
}

impl RunRow {
    /// How far the learned policy is on the way from interventions at random (0) to the best (1); not a number if these are equal.
    pub fn reached(&self) -> f64 {
        share_of_way(self.value, self.random, self.optimal).unwrap_or(f64::NAN)
    }
}

/// How far a value is on the way from interventions at random (0) to the best (1); `None` where these differ by no more than rounding, or where play found the
/// plan no better than interventions at random.
pub fn share_of_way(value: f64, random: f64, best: f64) -> Option<f64> {
    let way = best - random;
    (way > VALUE_DIFFERENCE * best.abs().max(random.abs())).then(|| (value - random) / way)
}

/// One point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveRow {
    /// Position of its combination in the study.
    pub combination: usize,
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
    /// Seconds of each run, in the order of `runs`.
    pub seconds: Vec<f64>,
    /// For each run an upper bound of the absolute sum of rewards of an episode in its world.
    pub bounds: Vec<f64>,
}

impl Tables {
    /// Gathers the results of all runs; every one must be done.
    pub fn collect(study: &Study, directory: &Directory) -> Result<Tables, StudyError> {
        let mut tables = Tables::default();
        for (i, combination) in study.combinations.iter().enumerate() {
            let checkpoints = study.checkpoints.of(combination.episodes);
            for repetition in 0..study.repetitions {
                let sound = directory.record(study, i, repetition)?.ok_or_else(|| StudyError::Table {
                    path: directory.path().to_owned(),
                    message: format!("run {repetition} of {} in {} is missing", combination.learner, combination.world),
                })?;
                let record = sound.record;
                tables.runs.push(RunRow {
                    combination: i,
                    repetition,
                    seed: study.seed + repetition,
                    regret: record.total_regret(),
                    reward: record.reward,
                    optimal: record.optimal,
                    value: record.value,
                    random: record.random,
                });
                tables.seconds.push(record.seconds);
                tables.bounds.push(sound.bound);
                tables.curves.extend(checkpoints.iter().zip(&record.regret).map(|(&episode, &regret)| CurveRow {
                    combination: i,
                    repetition,
                    episode,
                    regret,
                }));
            }
        }
        Ok(tables)
    }

    /// Final regrets of a combination.
    pub fn regrets(&self, combination: usize) -> impl Iterator<Item = f64> + '_ {
        self.runs.iter().filter(move |r| r.combination == combination).map(|r| r.regret)
    }

    /// What the final regrets of a combination look like.
    pub fn summary(&self, combination: usize) -> Summary {
        Summary::of(self.regrets(combination))
    }

    /// What the regrets of a combination look like at each checkpoint.
    pub fn curve(&self, combination: usize) -> Vec<(u64, Summary)> {
        let rows: Vec<&CurveRow> = self.curves.iter().filter(|c| c.combination == combination).collect();
        let mut episodes: Vec<u64> = rows.iter().map(|c| c.episode).collect();
        episodes.sort_unstable();
        episodes.dedup();
        let at = |k: u64| Summary::of(rows.iter().filter(|c| c.episode == k).map(|c| c.regret));
        episodes.into_iter().map(|k| (k, at(k))).collect()
    }
}
