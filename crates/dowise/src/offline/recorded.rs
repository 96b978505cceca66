//! Whether what was recorded depends on what followed: then what is left is no fair sample of what happens.

use super::Episodes;
use super::episodes::Step;
use super::graph_test::upper_gamma;

/// Steps on either side, recorded and not, below which a state and an intervention say nothing.
const LEAST: f64 = 10.0;

/// Expected number of steps below which next states are put together.
const EXPECTED: f64 = 5.0;

/// What was recorded or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// All variables that act on the next state or the reward.
    Causes,
    /// What was paid.
    Payments,
}

/// Whether being recorded depends on the next state, given the state and the intervention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordingTest {
    /// What was recorded or not.
    pub what: Recording,
    /// Steps in which it was not.
    pub missing: u64,
    /// How often chance alone would make recorded and unrecorded steps differ as much in what followed.
    pub p: f64,
}

impl RecordingTest {
    /// Whether chance would hardly do it.
    pub fn depends_on_what_followed(&self) -> bool {
        self.p < 0.001
    }
}

impl Episodes {
    /// Whether what is missing depends on what followed, one test for variables and one for payments, where some are missing.
    ///
    /// Pearson's statistic of recorded or not against the next state, summed over states and interventions in which both were seen often
    /// enough; next states with few expected steps are put together. Under independence it has about a χ² distribution.
    ///
    /// # Cost
    /// Sorting the steps.
    pub fn recording_tests(&self) -> Vec<RecordingTest> {
        let causes = self.recording_test(Recording::Causes, |step| step.cause.is_none());
        let payments = self.recording_test(Recording::Payments, |step| step.paid.is_nan());
        causes.into_iter().chain(payments).collect()
    }

    fn recording_test(&self, what: Recording, is_missing: impl Fn(&Step) -> bool) -> Option<RecordingTest> {
        let missing = self.steps.iter().filter(|step| is_missing(step)).count() as u64;
        if missing == 0 {
            return None;
        }
        let of = |step: &Step| Some((step.state, step.action?, step.next?, is_missing(step)));
        let mut steps: Vec<_> = self.steps.iter().filter_map(of).collect();
        steps.sort_unstable();
        let (mut statistic, mut freedom) = (0.0, 0.0);
        for row in steps.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let share = row.iter().filter(|s| s.3).count() as f64 / row.len() as f64;
            let n = row.len() as f64;
            if share * n < LEAST || (1.0 - share) * n < LEAST {
                continue;
            }
            // (steps, of which not recorded) of each next state, those with few expected steps together.
            let (mut classes, mut rest): (Vec<[f64; 2]>, [f64; 2]) = (Vec::new(), [0.0; 2]);
            for same in row.chunk_by(|a, b| a.2 == b.2) {
                let found = [same.len() as f64, same.iter().filter(|s| s.3).count() as f64];
                if found[0] * share.min(1.0 - share) >= EXPECTED {
                    classes.push(found);
                } else {
                    rest = [rest[0] + found[0], rest[1] + found[1]];
                }
            }
            if rest[0] * share.min(1.0 - share) >= EXPECTED {
                classes.push(rest);
            }
            if classes.len() < 2 {
                continue;
            }
            let (all, lacking) = classes.iter().fold((0.0, 0.0), |(n, m), c| (n + c[0], m + c[1]));
            let share = lacking / all;
            if share <= 0.0 || share >= 1.0 {
                continue;
            }
            statistic += classes
                .iter()
                .map(|[n, m]| (m - n * share) * (m - n * share) / (n * share * (1.0 - share)))
                .sum::<f64>();
            freedom += classes.len() as f64 - 1.0;
        }
        let p = if freedom > 0.0 { upper_gamma(0.5 * freedom, 0.5 * statistic) } else { 1.0 };
        Some(RecordingTest { what, missing, p })
    }
}
