//! A world as text: a file, or the name of a ready-made world with its settings, such as `paper:levels=4`.

use std::fmt;
use std::path::{Path, PathBuf};

use dowise::{World, worlds};
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::files::{MOST_TEXT, open_regular};

/// Which world a run is played in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum WorldChoice {
    /// A world file.
    File(PathBuf),
    /// A ready-made world with settings; if it is generated and `seed` is not among them, each repetition draws a fresh one.
    Named {
        /// Its name.
        name: String,
        /// (setting, value), in the order given.
        settings: Vec<(String, String)>,
    },
}

impl WorldChoice {
    /// Reads a choice: what has a slash in it, or a dot and no colon, is a file, everything else a name with its settings.
    pub fn read(text: &str) -> WorldChoice {
        let text = text.trim();
        // No ready-made world has a dot in its name, but values of settings may.
        let dotted = text.contains('.') && !text.contains(':');
        if text.ends_with(".toml") || dotted || text.contains(['/', '\\']) {
            return WorldChoice::File(PathBuf::from(text));
        }
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let pair = |p: &str| match p.split_once('=') {
            Some((k, v)) => (k.trim().to_owned(), v.trim().to_owned()),
            None => (p.to_owned(), String::new()),
        };
        let settings = settings.split(',').map(str::trim).filter(|p| !p.is_empty()).map(pair).collect();
        WorldChoice::Named { name: name.trim().to_owned(), settings }
    }

    /// The same with files taken relative to a directory.
    pub(crate) fn relative_to(self, base: &Path) -> WorldChoice {
        match self {
            WorldChoice::File(file) if !base.as_os_str().is_empty() => WorldChoice::File(base.join(file)),
            other @ (WorldChoice::File(_) | WorldChoice::Named { .. }) => other,
        }
    }

    /// Whether it has this setting.
    pub fn takes(&self, setting: &str) -> bool {
        match self {
            WorldChoice::File(_) => false,
            WorldChoice::Named { name, .. } => worlds::settings(name).iter().any(|s| s.key == setting),
        }
    }

    /// The same world with a setting changed.
    pub fn with(&self, setting: &str, value: &str) -> WorldChoice {
        let mut choice = self.clone();
        if let WorldChoice::Named { settings, .. } = &mut choice {
            settings.retain(|(k, _)| k != setting);
            settings.push((setting.to_owned(), value.to_owned()));
        }
        choice
    }

    /// The same world without a setting.
    pub(crate) fn without(&self, setting: &str) -> WorldChoice {
        let mut choice = self.clone();
        if let WorldChoice::Named { settings, .. } = &mut choice {
            settings.retain(|(k, _)| k != setting);
        }
        choice
    }

    /// Whether each repetition draws a world of its own.
    pub fn is_fresh(&self) -> bool {
        match self {
            WorldChoice::File(_) => false,
            WorldChoice::Named { settings, .. } => self.takes("seed") && !settings.iter().any(|(k, _)| k == "seed"),
        }
    }

    /// Its name: the file's without its directory, or the ready-made world's.
    pub fn name(&self) -> String {
        match self {
            WorldChoice::File(file) => {
                file.file_name().map_or_else(|| file.display().to_string(), |n| n.to_string_lossy().into_owned())
            }
            WorldChoice::Named { name, .. } => name.clone(),
        }
    }

    /// Its settings, `setting=value` separated by commas.
    pub fn parameters(&self) -> String {
        match self {
            WorldChoice::File(_) => String::new(),
            WorldChoice::Named { settings, .. } => {
                settings.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",")
            }
        }
    }

    /// The world; `seed` is for fresh ones.
    pub fn make(&self, seed: u64) -> Result<World, StudyError> {
        match self {
            WorldChoice::File(file) => {
                // Whether it can be read is distinguished from what it says.
                open_regular(file, MOST_TEXT)?;
                World::from_file(file).map(|world| world.or_named(&self.name())).map_err(StudyError::World)
            }
            WorldChoice::Named { name, settings } => {
                let seed = seed.to_string();
                let mut choices: Vec<(&str, &str)> = settings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
                if self.is_fresh() {
                    choices.push(("seed", &seed));
                }
                Ok(worlds::world(name, &choices)?)
            }
        }
    }
}

impl fmt::Display for WorldChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldChoice::File(file) => write!(f, "{}", file.display()),
            WorldChoice::Named { name, .. } => {
                let parameters = self.parameters();
                f.write_str(name)?;
                if parameters.is_empty() { Ok(()) } else { write!(f, ":{parameters}") }
            }
        }
    }
}

impl From<WorldChoice> for String {
    fn from(choice: WorldChoice) -> String {
        choice.to_string()
    }
}

impl From<String> for WorldChoice {
    fn from(text: String) -> WorldChoice {
        WorldChoice::read(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written_back() {
        for text in ["paper", "paper:levels=4,factors=3", "worlds/campaign.toml", "deep-sea:size=5,seed=3"] {
            assert_eq!(WorldChoice::read(text).to_string(), text);
        }
        assert!(WorldChoice::read("paper:levels=4").is_fresh());
        assert!(!WorldChoice::read("paper:seed=4").is_fresh());
        assert!(!WorldChoice::read("campaign").is_fresh());
    }

    #[test]
    fn fresh_worlds_differ_and_fixed_ones_do_not() {
        let text = |choice: &str, seed| WorldChoice::read(choice).make(seed).unwrap().to_toml();
        assert_ne!(text("paper:factors=1", 0), text("paper:factors=1", 1));
        assert_eq!(text("paper:factors=1,seed=5", 0), text("paper:factors=1,seed=5", 1));
    }

    #[test]
    fn wrong_names_and_settings_are_named() {
        let says = |text: &str| WorldChoice::read(text).make(0).unwrap_err().to_string();
        assert!(says("papper").contains("did you mean \"paper\"?"));
        assert!(says("paper:level=3").contains("did you mean \"levels\"?"));
        assert!(says("nowhere.toml").starts_with("cannot read nowhere.toml"));
        assert!(says("log.csv").starts_with("cannot read log.csv"));
    }
}
