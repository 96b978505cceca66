//! A run as a file: reading and writing for all runs, and the content of a run that is evaluated exactly.

use std::path::{Path, PathBuf};

use dowise::simulate::Position;
use dowise::{Arena, Learner, LearnerSpec};
use dowise_study::{episodes_fault, read_text_file, seal, seal_fault, world_fingerprint, write_file};
use serde::{Deserialize, Serialize};

use super::noticed::FromLog;
use crate::output::{Failure, Output};
use crate::study;

/// Bytes of the largest saved run: 1 GiB.
const MOST_SAVED: u64 = 1 << 30;

/// The text of a saved run.
pub(super) fn read_text(file: &Path) -> Result<String, Failure> {
    read_text_file(file, MOST_SAVED).map_err(|e| Failure::Io(e.to_string()))
}

/// Refuses a saved run whose text does not have the checksum that it names.
pub(super) fn check_seal(file: &Path, text: &str) -> Result<(), Failure> {
    let shown = file.display();
    let refuse = |why| Failure::Usage(format!("{shown}: checksum: {why}; go on from another file, or begin again"));
    seal_fault(text).map_or(Ok(()), |why| Err(refuse(why)))
}

/// Writes the text of a saved run, and says so.
pub(super) fn write_text(file: &Path, text: &str, output: &Output) -> Result<(), Failure> {
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
    /// Why what was taken in is not missing at random of what interventions bring.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::commands) unfair: Vec<String>,
    /// Fingerprint of the world, which the learner was given only in part.
    world: String,
}

impl SavedRun {
    pub(in crate::commands) fn new(learner: LearnerSpec, seed: u64) -> SavedRun {
        let (regrets, log) = (Vec::new(), FromLog::default());
        let (unfair, world) = (Vec::new(), String::new());
        SavedRun { learner, seed, position: None, regrets, reward: 0.0, log, unfair, world }
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
        let whole = format!("{}}}}}\n", seal(&format!("{object},\"run\":{run}")));
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
pub(in crate::commands) struct Resumed {
    file: PathBuf,
    text: String,
    pub(in crate::commands) run: SavedRun,
}

impl Resumed {
    pub(in crate::commands) fn read(file: &Path) -> Result<Resumed, Failure> {
        #[derive(Deserialize)]
        struct Part {
            run: Option<SavedRun>,
        }
        let shown = file.display();
        let text = read_text(file)?;
        let part: Part = serde_json::from_str(&text)
            .map_err(|e| Failure::Usage(format!("{shown}: this is not a saved learner: {e}")))?;
        let run = part.run.ok_or_else(|| {
            Failure::Usage(format!("{shown}: there is no run to go on with; `dowise learn --save` writes one"))
        })?;
        check_seal(file, &text)?;
        Ok(Resumed { file: file.to_owned(), text, run })
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
