//! A run as a file, evaluated exactly or by Monte Carlo: how it is read, checked and written.

use std::path::{Path, PathBuf};

use dowise::linear::LinearLearner;
use dowise::offline::AssumptionRecord;
use dowise::saved::{self, SavedError};
use dowise::simulate::Position;
use dowise::{Arena, Learner, LearnerSpec, World};
use dowise_study::{episodes_fault, read_text_file, world_fingerprint, write_file};
use serde::{Deserialize, Serialize};

use super::noticed::FromLog;
use crate::output::{Failure, Output};
use crate::{assumptions, study};

/// Bytes of the largest saved run: 1 GiB.
const MOST_SAVED: u64 = 1 << 30;

/// The text of a saved run.
fn read_text(file: &Path) -> Result<String, Failure> {
    read_text_file(file, MOST_SAVED).map_err(|e| Failure::Io(e.to_string()))
}

/// Refuses a saved run whose text does not have the checksum that it names.
fn check_seal(file: &Path, text: &str) -> Result<(), Failure> {
    let shown = file.display();
    let refuse =
        |why: SavedError| Failure::Usage(format!("{shown}: checksum: {why}; go on from another file, or begin again"));
    saved::check(text).map_err(refuse)
}

/// Writes the text of a saved run, and says so.
fn write_text(file: &Path, text: &str, output: &Output) -> Result<(), Failure> {
    write_file(file, text.as_bytes()).map_err(|e| study::failure(e, output))?;
    output.talk(format_args!("saved as {}", file.display()));
    Ok(())
}

/// What `dowise learn` has to know beside the learner to go on as if it had never stopped.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::commands) struct SavedRun {
    pub(in crate::commands) learner: LearnerSpec,
    pub(in crate::commands) seed: u64,
    pub(in crate::commands) position: Option<Position>,
    /// Regret of each episode so far.
    pub(in crate::commands) regrets: Vec<f64>,
    /// Sum of rewards received.
    pub(in crate::commands) reward: f64,
    /// What was taken in of a log before.
    #[serde(default, skip_serializing_if = "FromLog::is_none")]
    pub(in crate::commands) log: FromLog,
    /// Assumptions that failed for the log or the evidence of a warm start: guarantees are void.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "unfair")]
    pub(in crate::commands) void_because: Vec<String>,
    /// The assumptions under which the log or the evidence of a warm start shows what live steps would show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) assumptions: Option<AssumptionRecord>,
    /// Fingerprint of the world, which the learner was given only in part.
    world: String,
}

impl SavedRun {
    pub(in crate::commands) fn new(learner: LearnerSpec, seed: u64) -> SavedRun {
        let (regrets, log) = (Vec::new(), FromLog::default());
        let (void_because, assumptions, world) = (Vec::new(), None, String::new());
        SavedRun { learner, seed, position: None, regrets, reward: 0.0, log, void_because, assumptions, world }
    }

    /// Keeps the assumptions of a warm start.
    pub(in crate::commands) fn rest_on(&mut self, record: AssumptionRecord) {
        self.void_because.extend(assumptions::all_failed(&record));
        self.assumptions = Some(record);
    }

    /// Keeps why the assumptions of a warm start could not be checked.
    pub(in crate::commands) fn unchecked(&mut self, why: &str) {
        self.void_because.push(format!("The assumptions of the log could not be checked: {why}."));
    }

    /// Writes learner and run into one file, which [`Learner::restore_in`] can read as well.
    pub(in crate::commands) fn write(
        &mut self,
        learner: &Learner,
        arena: &Arena,
        file: &Path,
        output: &Output,
    ) -> Result<(), Failure> {
        self.world = world_fingerprint(arena.world());
        let text = learner.save();
        let object = text.strip_suffix('}').expect("invariant: a learner is saved as a JSON object");
        let run = serde_json::to_string(self).expect("invariant: names and numbers can be written");
        let run = run.strip_suffix('}').expect("invariant: a struct is written as an object");
        let whole = format!("{}}}}}\n", saved::with_checksum(&format!("{object},\"run\":{run}")));
        if whole.len() as u64 > MOST_SAVED {
            let (file, n) = (file.display(), whole.len());
            return Err(Failure::Io(format!(
                "cannot write {file}: learner and run take {n} bytes, and at most {MOST_SAVED} could be read again"
            )));
        }
        write_text(file, &whole, output)
    }
}

/// A file to go on from: read first for its seed, which draws the world, and then for its learner.
pub(in crate::commands) enum Saved {
    Exact(SavedExact),
    MonteCarlo(SavedMonteCarlo),
}

impl Saved {
    pub(in crate::commands) fn read(file: &Path) -> Result<Saved, Failure> {
        let text = read_text(file)?;
        match SavedMonteCarlo::is_in(&text) {
            true => Ok(Saved::MonteCarlo(SavedMonteCarlo::read(file, &text)?)),
            false => Ok(Saved::Exact(SavedExact::read(file, text)?)),
        }
    }

    /// The seed of the run, which draws the world.
    pub(in crate::commands) fn seed(&self) -> u64 {
        match self {
            Saved::Exact(saved) => saved.run.seed,
            Saved::MonteCarlo(saved) => saved.seed,
        }
    }
}

/// A saved run that is evaluated exactly.
pub(in crate::commands) struct SavedExact {
    file: PathBuf,
    text: String,
    pub(in crate::commands) run: SavedRun,
}

impl SavedExact {
    fn read(file: &Path, text: String) -> Result<SavedExact, Failure> {
        #[derive(Deserialize)]
        struct Part {
            run: Option<SavedRun>,
        }
        let shown = file.display();
        let part: Part = serde_json::from_str(&text)
            .map_err(|e| Failure::Usage(format!("{shown}: this is not a saved learner: {e}")))?;
        let run = part.run.ok_or_else(|| {
            Failure::Usage(format!("{shown}: this is not a saved learner; `dowise learn --save` writes one"))
        })?;
        check_seal(file, &text)?;
        Ok(SavedExact { file: file.to_owned(), text, run })
    }

    pub(in crate::commands) fn learner(&self, arena: &Arena) -> Result<Learner, Failure> {
        let wrong = |message: String| Failure::Usage(format!("{}: {message}", self.file.display()));
        let learner = Learner::restore_in(arena.world(), &self.text).map_err(|e| wrong(e.to_string()))?;
        // The learner was not known everything: what it was evaluated by must be the same too.
        if self.run.world != world_fingerprint(arena.world()) {
            return Err(wrong(
                "the run was made in another world: something that the learner does not know has changed".into(),
            ));
        }
        if !self.is_of(&learner) {
            let named = &self.run.learner;
            return Err(wrong(format!(
                "run.learner: {named} with seed {} is not what is saved; the file is damaged",
                self.run.seed
            )));
        }
        let played = self.run.position.map_or(0, |p| p.episode);
        if (played, played) != (learner.episodes(), self.run.regrets.len() as u64) {
            return Err(wrong("the learner and its run do not have the same episodes; the file is damaged".into()));
        }
        match episodes_fault(&self.run.regrets, self.run.reward, arena.reward_bound()) {
            Some((field, why)) => Err(wrong(format!("run.{field}: {why}; the file is damaged"))),
            None => Ok(learner),
        }
    }

    /// Whether a learner has the options and the seed that the run names.
    fn is_of(&self, learner: &Learner) -> bool {
        let (spec, planned, seed) = (&self.run.learner, learner.planned_episodes(), self.run.seed);
        match learner.as_linear() {
            Some(linear) => spec.linear_options(planned, seed).as_ref() == Some(linear.options()),
            None => {
                spec.linear_options(planned, seed).is_none()
                    && learner.declared_options() == Some(&spec.options(planned, seed))
            }
        }
    }
}

/// A run that is evaluated by Monte Carlo, as a file.
#[derive(Serialize, Deserialize)]
pub(in crate::commands) struct SavedMonteCarlo {
    format: String,
    pub(in crate::commands) learner: LearnerSpec,
    pub(super) seed: u64,
    pub(super) position: Position,
    pub(super) rewards: Vec<f64>,
    world: String,
    /// The learner.
    state: String,
    /// Where it was read.
    #[serde(skip)]
    file: PathBuf,
}

/// Runs of format 1 had no checksum.
const FORMAT: &str = "dowise unlisted run 2";

impl SavedMonteCarlo {
    pub(super) fn new(
        world: &World,
        (learner, seed): (LearnerSpec, u64),
        (position, rewards): (Position, Vec<f64>),
        state: String,
    ) -> SavedMonteCarlo {
        let (format, world) = (FORMAT.to_owned(), world_fingerprint(world));
        SavedMonteCarlo { format, learner, seed, position, rewards, world, state, file: PathBuf::new() }
    }

    /// Writes the run with its checksum.
    pub(super) fn write(&self, file: &Path, output: &Output) -> Result<(), Failure> {
        let text = serde_json::to_string(self).expect("invariant: names and numbers can be written");
        let open = text.strip_suffix('}').expect("invariant: a struct is written as an object");
        write_text(file, &format!("{}}}\n", saved::with_checksum(open)), output)
    }

    /// Whether a text is such a run, damaged or not.
    fn is_in(text: &str) -> bool {
        text.contains(&format!("\"format\":\"{FORMAT}\""))
    }

    fn read(file: &Path, text: &str) -> Result<SavedMonteCarlo, Failure> {
        check_seal(file, text)?;
        let saved: SavedMonteCarlo = serde_json::from_str(text).map_err(|e| {
            let shown = file.display();
            Failure::Usage(format!("{shown}: this is not a saved run that was evaluated by Monte Carlo: {e}"))
        })?;
        Ok(SavedMonteCarlo { file: file.to_owned(), ..saved })
    }

    /// The saved learner; an error if it is of another world.
    pub(in crate::commands) fn learner(&self, world: &World) -> Result<LinearLearner, Failure> {
        let wrong = |e: &dyn std::fmt::Display| Failure::Usage(format!("{}: {e}", self.file.display()));
        if self.world != world_fingerprint(world) {
            return Err(wrong(&"it was saved in another world"));
        }
        let knowledge = self.learner.knowledge(world).map_err(|e| wrong(&e))?;
        LinearLearner::restore(&knowledge, &self.state).map_err(|e| wrong(&e))
    }
}
