//! A run that is evaluated by Monte Carlo, as a file.

use std::path::Path;

use dowise::linear::VisitedStatesLearner;
use dowise::simulate::Position;
use dowise::{LearnerSpec, World};
use dowise_study::{seal, world_fingerprint};
use serde::{Deserialize, Serialize};

use super::super::saved::{check_seal, read_text, write_text};
use crate::output::{Failure, Output};

/// A run as a file.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedRun {
    format: String,
    pub(super) learner: LearnerSpec,
    seed: u64,
    pub(super) position: Position,
    pub(super) rewards: Vec<f64>,
    world: String,
    pub(super) state: String,
}

/// Runs of format 1 had no checksum.
const FORMAT: &str = "dowise unlisted run 2";

impl SavedRun {
    pub(super) fn new(
        world: &World,
        (learner, seed): (LearnerSpec, u64),
        (position, rewards): (Position, Vec<f64>),
        state: String,
    ) -> SavedRun {
        let (format, world) = (FORMAT.to_owned(), world_fingerprint(world));
        SavedRun { format, learner, seed, position, rewards, world, state }
    }

    /// Writes the run with its checksum.
    pub(super) fn write(&self, file: &Path, output: &Output) -> Result<(), Failure> {
        let text = serde_json::to_string(self).expect("invariant: names and numbers can be written");
        let open = text.strip_suffix('}').expect("invariant: a struct is written as an object");
        write_text(file, &format!("{}}}\n", seal(open)), output)
    }
}

/// Reads a run, and refuses one of another world.
pub(super) fn read(file: &Path, world: &World) -> Result<SavedRun, Failure> {
    let shown = file.display();
    let text = read_text(file)?;
    // A file of another kind has no checksum; that it is of another kind is said below.
    if text.contains(FORMAT) {
        check_seal(file, &text)?;
    }
    let saved: SavedRun = serde_json::from_str(&text).map_err(|e| {
        Failure::Usage(format!("{shown}: this is not a saved run that was evaluated by Monte Carlo: {e}"))
    })?;
    if saved.format != FORMAT {
        return Err(Failure::Usage(format!(
            "{shown}: its format is {}, and this program reads {FORMAT}",
            saved.format
        )));
    }
    if saved.world != world_fingerprint(world) {
        return Err(Failure::Usage(format!("{shown}: it was saved in another world")));
    }
    Ok(saved)
}

/// The learner of a saved run, and what it is called.
pub(in crate::commands) fn saved(file: &Path, world: &World) -> Result<(LearnerSpec, VisitedStatesLearner), Failure> {
    let saved = read(file, world)?;
    let usage = |e: &dyn std::fmt::Display| Failure::Usage(format!("{}: {e}", file.display()));
    let knowledge = saved.learner.knowledge(world).map_err(|e| usage(&e))?;
    let learner = VisitedStatesLearner::restore(&knowledge, &saved.state).map_err(|e| usage(&e))?;
    Ok((saved.learner, learner))
}

/// The seed of a saved run, which draws the world; `None` if the file is none of ours.
pub(in crate::commands) fn seed_of(file: &Path) -> Option<u64> {
    #[derive(Deserialize)]
    struct Part {
        format: String,
        seed: u64,
    }
    let text = read_text(file).ok()?;
    let part: Part = serde_json::from_str(&text).ok()?;
    (part.format == FORMAT).then_some(part.seed)
}
