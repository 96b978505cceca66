//! Why a study cannot be made, run, or read.

use std::io;
use std::path::PathBuf;

use dowise::WorldError;
use dowise::learn::{LearnError, SpecError};
use dowise::plan::PlanError;
use dowise::worlds::TemplateError;

/// Why a study cannot be made, run, or read.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The study file is not what it should be.
    #[error("{file}: {message}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, and where.
        message: String,
    },
    /// Parts of the study contradict each other or exceed a limit.
    #[error("{0}")]
    Invalid(String),
    /// No such learner, or it has no such option.
    #[error(transparent)]
    Learner(#[from] SpecError),
    /// No such ready-made world, or it has no such setting.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A world file that is wrong.
    #[error("{0}")]
    World(WorldError),
    /// A world that cannot be simulated.
    #[error("{world}: {message}")]
    NotSimulable {
        /// The world.
        world: String,
        /// Why not.
        message: String,
    },
    /// A world that cannot be planned in.
    #[error("{world}: {source}")]
    Plan {
        /// The world.
        world: String,
        /// Why not.
        source: PlanError,
    },
    /// A learner that cannot be made for a world.
    #[error("{learner} on {world}: {source}")]
    Learn {
        /// The learner.
        learner: String,
        /// The world.
        world: String,
        /// Why not.
        source: Box<LearnError>,
    },
    /// The directory holds something else.
    #[error("{} {why}", .directory.display())]
    OtherStudy {
        /// The directory.
        directory: PathBuf,
        /// What it holds, and what to do.
        why: String,
    },
    /// Something could not be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something that is not to be read, or not readable as what it should be.
    #[error("cannot read {}: {why}", .path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Something that is not to be replaced by a file.
    #[error("cannot write {}: {why}", .path.display())]
    Unwritable {
        /// What.
        path: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// The record of a run is damaged, impossible or of another run.
    #[error("{}: {field}: {why}; delete the file, and the same command runs this repetition again", .path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Which of its fields.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The results of a run are impossible: a defect of dowise, or numbers too large to compute with.
    #[error("{learner} in {world}, repetition {repetition}: {field}: {why}; nothing was written for this run")]
    Impossible {
        /// The learner.
        learner: String,
        /// The world.
        world: String,
        /// The repetition.
        repetition: u64,
        /// Which part of the result.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Something could not be written.
    #[error("cannot write {}: {source}; what was there before is kept", .path.display())]
    Write {
        /// What.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A table that was not written by a study.
    #[error("{}: {message}", .path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A figure that could not be drawn.
    #[error("cannot draw {name}: {message}")]
    Draw {
        /// The figure.
        name: String,
        /// Why not.
        message: String,
    },
}

impl StudyError {
    /// Whether reading or writing failed, as opposed to the study being wrong.
    pub fn is_io(&self) -> bool {
        matches!(
            self,
            StudyError::Read { .. }
                | StudyError::Unreadable { .. }
                | StudyError::Write { .. }
                | StudyError::Unwritable { .. }
                | StudyError::Draw { .. }
        )
    }
}
