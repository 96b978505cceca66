//! A results directory: whose it is, which runs are done, and where things lie.

use std::path::{Path, PathBuf};

use crate::{RunRecord, Study, StudyError, atomic};

/// A directory that belongs to one study.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Takes a directory for a study: a new or empty one, or one in which the same study was begun.
    pub fn claim(path: &Path, study: &Study) -> Result<Directory, StudyError> {
        let other = |why: String| Err(StudyError::OtherStudy { directory: path.to_owned(), why });
        let settings = path.join("study.toml");
        let text = study.to_toml();
        match std::fs::read_to_string(&settings) {
            Ok(found) if found == text => {}
            Ok(found) => return other(difference(&found, study)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                if std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
                    return other("is not empty and holds no study; choose another directory with --out".into());
                }
                create(&path.join("runs"))?;
                atomic::write(&settings, text.as_bytes())?;
            }
            Err(source) => return Err(StudyError::Read { path: settings, source }),
        }
        create(&path.join("runs"))?;
        Ok(Directory { path: path.to_owned() })
    }

    /// Opens a directory in which a study was run, and reads what the study was.
    pub fn open(path: &Path) -> Result<(Directory, Study), StudyError> {
        let settings = path.join("study.toml");
        let text =
            std::fs::read_to_string(&settings).map_err(|source| StudyError::Read { path: settings.clone(), source })?;
        let study = Study::from_toml(&text).map_err(|_| StudyError::Table {
            path: settings,
            message: "this is not the record of a results directory; give the directory that `dowise compare` wrote"
                .into(),
        })?;
        Ok((Directory { path: path.to_owned() }, study))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whole or not at all, making its directory if need be.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StudyError> {
        atomic::write_file(&self.file(name), bytes)
    }

    /// What came of a run, if it is done. A file that cannot be understood counts as not done.
    pub fn record(&self, setting: usize, repetition: u64) -> Option<RunRecord> {
        let text = std::fs::read_to_string(self.run_file(setting, repetition)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps what came of a run.
    pub fn keep(&self, setting: usize, repetition: u64, record: &RunRecord) -> Result<(), StudyError> {
        let text = serde_json::to_string(record).expect("plain data always serialises");
        atomic::write(&self.run_file(setting, repetition), text.as_bytes())
    }

    fn run_file(&self, setting: usize, repetition: u64) -> PathBuf {
        self.path.join("runs").join(format!("{setting:04}-{repetition:04}.json"))
    }
}

fn create(path: &Path) -> Result<(), StudyError> {
    std::fs::create_dir_all(path).map_err(|source| StudyError::Write { path: path.to_owned(), source })
}

/// Says what is different about the study that a directory holds.
fn difference(found: &str, wanted: &Study) -> String {
    let choose = "choose another directory with --out, or delete this one";
    let Ok(found) = Study::from_toml(found) else {
        return format!("holds a study.toml that cannot be understood; {choose}");
    };
    let what = if found.dowise != wanted.dowise {
        format!("by dowise {}, and this is {}", found.dowise, wanted.dowise)
    } else if found.streams != wanted.streams {
        format!("with other random draws ({}; now {})", found.streams, wanted.streams)
    } else if found.name != wanted.name {
        format!("called \"{}\"", found.name)
    } else if found.seed != wanted.seed {
        format!("with seed {} instead of {}", found.seed, wanted.seed)
    } else if found.repetitions != wanted.repetitions {
        format!("with {} repetitions instead of {}", found.repetitions, wanted.repetitions)
    } else {
        let pairs = || found.settings.iter().zip(&wanted.settings);
        match pairs().find(|(a, b)| a != b) {
            Some((a, b)) if a.episodes != b.episodes => format!("of {} episodes instead of {}", a.episodes, b.episodes),
            Some((a, b)) if a.learner != b.learner => format!("with {} where there is now {}", a.learner, b.learner),
            Some((a, b)) if a.world != b.world => format!("in {} where there is now {}", a.world, b.world),
            Some((a, _)) => format!("in {}, which has changed since", a.world),
            None if found.settings.len() != wanted.settings.len() => {
                format!("of {} combinations instead of {}", found.settings.len(), wanted.settings.len())
            }
            None => "with other settings".into(),
        }
    };
    format!("holds the results of another study, {what}; {choose}")
}
