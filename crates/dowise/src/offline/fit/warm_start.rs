//! The assumptions under which a log shows what live steps would show: for a learner that begins with it.

use super::{FitError, FitOptions, Fitting};
use crate::data::{BinnedVariable, LogStep};
use crate::learn::Knowledge;
use crate::offline::assumptions::AssumptionRecord;
use crate::world::World;

/// Checks the assumptions of a warm start, episode by episode.
///
/// A fit of the numbers that the learner does not know, of which only the assumption record is kept.
#[derive(Clone, Debug)]
pub struct WarmStartCheck(Fitting);

impl WarmStartCheck {
    /// A check for a learner with this knowledge of a world; `randomised` levers were set by a draw in the log.
    pub fn new(knowledge: &Knowledge, world: &World, randomised: Vec<String>) -> Result<WarmStartCheck, FitError> {
        let options = FitOptions { keep: known(knowledge), randomised, ..FitOptions::default() };
        Fitting::new(world, options).map(WarmStartCheck)
    }

    /// The world that steps of the log are read in.
    pub fn world(&self) -> &World {
        self.0.world()
    }

    /// Adds a whole episode.
    pub fn add_episode(&mut self, steps: &[LogStep<'_>]) -> Result<(), Box<(u64, FitError)>> {
        self.0.add_episode(steps)
    }

    /// States that so many rows of the log were excluded because of errors, of so many.
    pub fn exclude(&mut self, rows: u64, of: u64) {
        self.0.exclude(rows, of);
    }

    /// States which variables were cut into bins.
    pub fn cut(&mut self, binned: &[BinnedVariable]) {
        self.0.cut(binned);
    }

    /// The assumptions, and whether the log contradicts them.
    pub fn finish(self) -> Result<AssumptionRecord, FitError> {
        Ok(self.0.fit()?.report().record.clone().for_warm_start())
    }
}

/// Names of the numbers that a learner knows and does not learn from a log.
fn known(knowledge: &Knowledge) -> Vec<String> {
    let mut names: Vec<String> = knowledge.known_transitions().iter().map(|name| (*name).to_owned()).collect();
    names.extend(knowledge.rewards().iter().filter(|r| r.table.is_some()).map(|r| r.name.clone()));
    names.extend(knowledge.knows_mechanisms().then(|| "mechanisms".to_owned()));
    names
}
