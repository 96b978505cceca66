//! The study file as it is written: worlds × learners × options × repetitions, and what is swept.

use std::path::Path;

use dowise::messages::nearest;
use toml::{Table, Value};

use crate::{Checkpoints, Evaluation, MOST_TEXT, StudyError, read_text_file};

/// What is varied: each list of values is crossed with all the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// (setting of a world, values).
    pub world: Vec<(String, Vec<String>)>,
    /// (option of a learner, values).
    pub learner: Vec<(String, Vec<String>)>,
    /// Numbers of episodes.
    pub episodes: Vec<u64>,
}

/// A study as it is written, in a file or on a command line; nothing is checked yet.
///
/// ```
/// let text = r#"
/// worlds = ["paper:factors=2", "campaign.toml"]
/// learners = ["c-ucbvi", "psrl:prior=0.5"]
/// episodes = 1000
/// repetitions = 10
/// [sweep.world]
/// levels = [3, 4, 5]
/// "#;
/// let study = dowise_study::StudyFile::from_toml(text, "study.toml")?;
/// assert_eq!(study.sweep.world, [("levels".to_owned(), vec!["3".to_owned(), "4".to_owned(), "5".to_owned()])]);
/// # Ok::<(), dowise_study::StudyError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StudyFile {
    /// Title, for figures and reports.
    pub name: String,
    /// World files and ready-made worlds, as [`crate::WorldChoice`] reads them.
    pub worlds: Vec<String>,
    /// Learners, as [`dowise::LearnerSpec`] reads them.
    pub learners: Vec<String>,
    /// (option, value) for every learner that takes the option.
    pub options: Vec<(String, String)>,
    /// Episodes of a run.
    pub episodes: u64,
    /// Runs of each combination.
    pub repetitions: u64,
    /// Seed of the first repetition; the others count on from there.
    pub seed: u64,
    /// Where regret is written down.
    pub checkpoints: Checkpoints,
    /// How policies are evaluated; exactly where states can be enumerated, if nothing is chosen.
    pub evaluation: Option<Evaluation>,
    /// What is varied.
    pub sweep: Sweep,
}

impl Default for StudyFile {
    fn default() -> Self {
        StudyFile {
            name: "Study".into(),
            worlds: vec![],
            learners: vec![],
            options: vec![],
            episodes: 1000,
            repetitions: 10,
            seed: 0,
            checkpoints: Checkpoints::default(),
            evaluation: None,
            sweep: Sweep::default(),
        }
    }
}

const KEYS: [&str; 10] =
    ["name", "worlds", "learners", "options", "episodes", "repetitions", "seed", "checkpoints", "evaluate", "sweep"];

impl StudyFile {
    /// Reads a study file.
    pub fn read(file: &Path) -> Result<StudyFile, StudyError> {
        let text = read_text_file(file, MOST_TEXT)?;
        StudyFile::from_toml(&text, &file.display().to_string())
    }

    /// Reads the text of a study file; `name` is for messages.
    pub fn from_toml(text: &str, name: &str) -> Result<StudyFile, StudyError> {
        let wrong = |message: String| StudyError::File { file: name.to_owned(), message };
        let table: Table = text.parse().map_err(|e: toml::de::Error| wrong(e.to_string().trim_end().to_owned()))?;
        read(&table).map_err(wrong)
    }
}

fn read(table: &Table) -> Result<StudyFile, String> {
    // `evaluation` is what `evaluate` was called before.
    let keys = table.keys().map(String::as_str).filter(|key| *key != "judge");
    known(keys, &KEYS, "a study")?;
    let mut study = StudyFile::default();
    for (key, value) in table {
        match key.as_str() {
            "name" => study.name = text(key, value)?,
            "worlds" => study.worlds = texts(key, value)?,
            "learners" => study.learners = texts(key, value)?,
            "episodes" => study.episodes = whole(key, value)?,
            "repetitions" => study.repetitions = whole(key, value)?,
            "seed" => study.seed = whole(key, value)?,
            "evaluate" | "judge" => {
                study.evaluation = Some(text(key, value)?.parse().map_err(|e| format!("`{key}`: {e}"))?)
            }
            "checkpoints" => {
                study.checkpoints = match value {
                    Value::Array(list) => {
                        Checkpoints::List(list.iter().map(|v| whole(key, v)).collect::<Result<_, _>>()?)
                    }
                    one => Checkpoints::Count(whole(key, one)?),
                }
            }
            "options" => {
                let pairs = inner(key, value)?.iter().map(|(k, v)| Ok((k.clone(), scalar(k, v)?)));
                study.options = pairs.collect::<Result<_, String>>()?;
            }
            _ => study.sweep = sweep(inner(key, value)?)?,
        }
    }
    for (key, list) in [("worlds", &study.worlds), ("learners", &study.learners)] {
        if list.is_empty() {
            return Err(format!("`{key}` is missing or empty; give at least one, for example {}", example(key)));
        }
    }
    Ok(study)
}

fn example(key: &str) -> &'static str {
    if key == "worlds" { "worlds = [\"river-swim\"]" } else { "learners = [\"c-ucbvi\", \"c-psrl\"]" }
}

fn sweep(table: &Table) -> Result<Sweep, String> {
    known(table.keys().map(String::as_str), &["world", "learner", "episodes"], "`sweep`")?;
    let mut sweep = Sweep::default();
    for (key, value) in table {
        match key.as_str() {
            "episodes" => match value {
                Value::Array(list) => sweep.episodes = list.iter().map(|v| whole(key, v)).collect::<Result<_, _>>()?,
                other => return Err(format!("sweep.episodes is a list of numbers, not {other}")),
            },
            _ => {
                let lists = inner(key, value)?.iter().map(|(k, v)| Ok((k.clone(), scalars(k, v)?)));
                let lists = lists.collect::<Result<_, String>>()?;
                if key == "world" { sweep.world = lists } else { sweep.learner = lists }
            }
        }
    }
    Ok(sweep)
}

fn known<'a>(mut given: impl Iterator<Item = &'a str>, keys: &[&str], what: &str) -> Result<(), String> {
    match given.find(|k| !keys.contains(k)) {
        None => Ok(()),
        Some(key) => {
            let hint = nearest(key, keys.iter().copied()).map(|near| format!(", did you mean `{near}`?"));
            Err(format!("{what} has no `{key}`{}; there are {}", hint.unwrap_or_default(), keys.join(", ")))
        }
    }
}

fn inner<'a>(key: &str, value: &'a Value) -> Result<&'a Table, String> {
    value.as_table().ok_or_else(|| format!("`{key}` is a table, [{key}] with one line for each name; not {value}"))
}

fn text(key: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` is a text in quotes, not {value}"))
}

fn texts(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let list = value.as_array().ok_or_else(|| format!("`{key}` is a list of texts, not {value}"))?;
    list.iter().map(|v| text(key, v)).collect()
}

fn whole(key: &str, value: &Value) -> Result<u64, String> {
    let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
    number.ok_or_else(|| format!("`{key}` is a whole number from 0 on, not {value}"))
}

fn scalar(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(s) => Ok(s.clone()),
        Value::Integer(n) => Ok(n.to_string()),
        Value::Float(x) => Ok(x.to_string()),
        Value::Boolean(b) => Ok(b.to_string()),
        other => Err(format!("`{key}` is a number, a text, true or false, not {other}")),
    }
}

fn scalars(key: &str, value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(list) if !list.is_empty() => list.iter().map(|v| scalar(key, v)).collect(),
        other => Err(format!("`{key}` is swept over a list such as [1, 2, 5], not {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str) -> String {
        StudyFile::from_toml(text, "s.toml").unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_named() {
        assert!(says("epsiodes = 3").contains("no `epsiodes`, did you mean `episodes`?"));
        assert!(says("worlds = [\"paper\"]").contains("`learners` is missing or empty"));
        assert!(
            says("judge = \"guess\"")
                .contains("`judge`: \"guess\" is no way to evaluate policies; there are exact and monte-carlo")
        );
        assert!(says("seed = -1").contains("whole number from 0 on, not -1"));
        assert!(says("[sweep]\nwrold = 3").contains("did you mean `world`?"));
        assert!(says("[sweep.world]\nlevels = 3").contains("list such as [1, 2, 5], not 3"));
        assert!(says("seed = ").starts_with("s.toml: TOML parse error at line 1"));
    }
}
