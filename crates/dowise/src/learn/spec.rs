//! Learner specification as text: a preset with changed options, such as `c-ucbvi:width=paper-plain,scale=0.002`.

mod change;
mod table;
mod words;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use self::change::Change;
use self::table::{LearnerOption, Linear, OPTIONS, Tabular};
use super::options::{Estimate, Options};
use super::view::Layout;
use super::{Knowledge, LearnError, Learner, MOST_CELLS, Preset, UnknownPreset};
use crate::kernel::CauseSpace;
use crate::learn::linear::{Beta, LinearEstimate, LinearLearner, LinearOptions, Weights};
use crate::messages::nearest;
use crate::world::World;

/// A learner with its options, as one line of text.
///
/// The name of a [`Preset`], and after a colon whatever differs from it. Reading and writing are inverse to each other;
/// what is written lists the options in a fixed order, so that equal learners have equal texts.
///
/// ```
/// # use dowise::learn::LearnerSpec;
/// let spec: LearnerSpec = "c-ucbvi:scale=0.0020,width=paper-plain".parse()?;
/// assert_eq!(spec.to_string(), "c-ucbvi:width=paper-plain,scale=0.002");
/// assert_eq!(spec.options(5000, 1).scale, 0.002);
/// # Ok::<(), dowise::learn::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LearnerSpec {
    preset: Preset,
    /// In the order of the options, each once.
    changes: Vec<Change>,
}

/// Why a text describes no learner.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// No learner of that name.
    #[error(transparent)]
    Learner(#[from] UnknownPreset),
    /// Something that is not `option=value`.
    #[error("`{text}` is not option=value; a learner is written like c-ucbvi:width=paper-plain,scale=0.002")]
    NotAPair {
        /// As given.
        text: String,
    },
    /// No option of that name.
    #[error("learners have no option `{option}`{}; there are {}", did_you_mean(.nearest), LearnerSpec::option_names().join(", "))]
    Option {
        /// As given.
        option: String,
        /// The nearest name, if one is near.
        nearest: Option<String>,
    },
    /// A value that the option does not have.
    #[error("{option} = `{value}`{}; it must be {expected}", did_you_mean(.nearest))]
    Value {
        /// The option.
        option: &'static str,
        /// As given.
        value: String,
        /// The nearest value, if one is near.
        nearest: Option<String>,
        /// What is allowed.
        expected: String,
    },
    /// An option that would change nothing about this learner, or contradicts another.
    #[error("{learner} takes no `{option}`: {why}")]
    NoEffect {
        /// The learner.
        learner: String,
        /// The option.
        option: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// An option given twice.
    #[error("`{option}` is given twice")]
    Twice {
        /// The option.
        option: &'static str,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |n| format!(", did you mean `{n}`?"))
}

impl LearnerSpec {
    /// A learner just as its preset is.
    pub fn new(preset: Preset) -> LearnerSpec {
        LearnerSpec { preset, changes: Vec::new() }
    }

    /// Names of the options.
    pub fn option_names() -> Vec<&'static str> {
        OPTIONS.iter().map(|o| o.name).collect()
    }

    /// (name, allowed values, what it does) for every option.
    pub fn describe_options() -> Vec<(&'static str, String, &'static str)> {
        OPTIONS.iter().map(|o| (o.name, o.values.expected(), o.about)).collect()
    }

    /// The options as lines of a Markdown table: option, values, default, learners that take it.
    pub fn options_table() -> Vec<String> {
        OPTIONS.iter().map(LearnerOption::documented).collect()
    }

    /// Reads several, separated by commas: `c-ucbvi:width=paper,scale=0.1,psrl` are two.
    pub fn list(text: &str) -> Result<Vec<LearnerSpec>, SpecError> {
        let mut texts: Vec<String> = Vec::new();
        for piece in text.split([',', ' ', '\n']).map(str::trim).filter(|p| !p.is_empty()) {
            match texts.last_mut() {
                // An option of the learner before it: no learner's name has an equals sign before its colon.
                Some(last) if piece.split(':').next().is_some_and(|p| p.contains('=')) => {
                    last.push(',');
                    last.push_str(piece);
                }
                _ => texts.push(piece.to_owned()),
            }
        }
        texts.iter().map(|t| t.parse()).collect()
    }

    /// Its preset.
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// What differs from the preset: (option, value).
    pub fn changes(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.changes.iter().map(|change| (change.option.name, change.value.to_string()))
    }

    /// The changes as text, `option=value` separated by commas; empty if there are none.
    pub fn changes_text(&self) -> String {
        self.changes().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",")
    }

    /// Whether the option can change anything about this learner.
    pub fn takes(&self, option: &str) -> Result<bool, SpecError> {
        Ok(self.refusal(&Change::example(find(option)?)).is_none())
    }

    /// The same learner with an option changed, in place of what it was.
    pub fn with(&self, option: &str, value: &str) -> Result<LearnerSpec, SpecError> {
        let option = find(option)?;
        let mut spec = self.clone();
        spec.changes.retain(|change| change.option.name != option.name);
        spec.add(option, value)?;
        spec.checked()
    }

    /// The options, for this many episodes and a seed.
    pub fn options(&self, episodes: u64, seed: u64) -> Options {
        let mut options = self.preset.options(episodes, seed);
        for Change { option, value } in &self.changes {
            match option.tabular {
                Tabular::Sets(set) => set(value, &mut options),
                Tabular::Takes | Tabular::Refuses(_) => {}
            }
        }
        if self.is_given("schedule") { options } else { options.usual() }
    }

    /// The options of a learner that regresses on features, for this many episodes and a seed; `None` for others.
    pub fn linear_options(&self, episodes: u64, seed: u64) -> Option<LinearOptions> {
        let mut options = self.preset.linear()?.options(episodes, seed);
        for Change { option, value } in &self.changes {
            match option.linear {
                Linear::Sets(set) => set(value, &mut options),
                Linear::Takes | Linear::Refuses(_) => {}
            }
        }
        Some(options)
    }

    /// What the learner knows of a world: less than usual if `unknown` says so, more if `known` does.
    pub fn knowledge(&self, world: &World) -> Result<Knowledge, LearnError> {
        let known = Ok(Knowledge::of(world));
        self.changes.iter().fold(known, |known, Change { option, value }| (option.knowledge)(value, world, known?))
    }

    /// The learner of whoever names none, and why it is not `graph-psrl`, where it is not: `c-blsvi` where tables cannot go, since states
    /// are not listed, or there would be more counters than are allowed in a world that has features.
    pub fn default_for(world: &World) -> (LearnerSpec, Option<&'static str>) {
        let named = |name: &str| name.parse::<LearnerSpec>().expect("invariant: the name of a preset is a learner");
        let counters = || {
            let Options { states, causes, .. } = named("graph-psrl").options(1, 0);
            Layout::counters(world, &CauseSpace::new(world), states, causes, 0)
        };
        match world.features() {
            _ if !world.is_enumerable() => (
                named("c-blsvi"),
                Some("graph-psrl counts by states, which cannot be listed here: c-blsvi takes its place"),
            ),
            Some(_) if counters() > MOST_CELLS as u128 => {
                let why = "graph-psrl would need more counters than are allowed, and there are features: c-blsvi takes its place";
                (named("c-blsvi"), Some(why))
            }
            Some(_) | None => (named("graph-psrl"), None),
        }
    }

    /// The learner itself. Everything that runs learners by name makes them here.
    pub fn learner(&self, world: &World, episodes: u64, seed: u64) -> Result<Learner, LearnError> {
        let knowledge = self.knowledge(world)?;
        match self.linear_options(episodes, seed) {
            Some(options) => Learner::linear(&knowledge, options),
            None => Learner::new(&knowledge, self.options(episodes, seed)),
        }
    }

    /// Bytes that the learner takes at most, known before it is made: see [`Learner::bytes`].
    pub fn bytes(&self, world: &World, episodes: u64) -> Result<u128, LearnError> {
        let knowledge = self.knowledge(world)?;
        Ok(match self.linear_options(episodes, 0) {
            Some(options) => LinearLearner::bytes(&knowledge, &options),
            None => Learner::bytes(&knowledge, &self.options(episodes, 0)),
        })
    }

    /// Whether it learns nothing and draws every intervention: then it has no policy to deploy, and what it is worth is what
    /// interventions at random are worth.
    pub fn is_at_random(&self) -> bool {
        self.linear_options(1, 0).is_none() && self.options(1, 0).estimate == Estimate::Uniform
    }

    /// How it gets from counts to values, in words for tables and figures, such as `paper-plain × 0.002`.
    pub fn estimate(&self) -> String {
        if let Some(options) = self.linear_options(1, 0) {
            return linear_estimate(&options);
        }
        let options = self.options(1, 0);
        match options.estimate {
            Estimate::Width(width) if options.scale != 1.0 => format!("{} × {}", width.word(), options.scale),
            Estimate::Width(width) => width.word().to_owned(),
            Estimate::Posterior { prior } if options.scale != 1.0 => {
                format!("posterior, prior {prior}, spread × {}", options.scale)
            }
            Estimate::Posterior { prior } => format!("posterior, prior {prior}"),
            Estimate::Sets(sets) => format!("{} sets", sets.word()),
            Estimate::EpsilonGreedy { epsilon } => format!("epsilon {epsilon}"),
            Estimate::Greedy => "greedy".into(),
            Estimate::Uniform => "uniform".into(),
            Estimate::Linear => "linear".into(),
        }
    }

    fn is_given(&self, option: &str) -> bool {
        self.changes.iter().any(|change| change.option.name == option)
    }

    fn add(&mut self, option: &'static LearnerOption, value: &str) -> Result<(), SpecError> {
        if self.is_given(option.name) {
            return Err(SpecError::Twice { option: option.name });
        }
        let value = option.read(value).ok_or_else(|| SpecError::Value {
            option: option.name,
            value: value.to_owned(),
            nearest: nearest(value, option.values.words().into_iter()).map(str::to_owned),
            expected: option.values.expected(),
        })?;
        let change = Change { option, value };
        let at = self.changes.partition_point(|other| other.position() < change.position());
        self.changes.insert(at, change);
        Ok(())
    }

    /// Why an option would be pointless here.
    fn refusal(&self, change: &Change) -> Option<&'static str> {
        change.option.refusal(&change.value, self.preset, &|option| self.is_given(option))
    }

    fn checked(self) -> Result<LearnerSpec, SpecError> {
        for change in &self.changes {
            if let Some(why) = self.refusal(change) {
                let learner = self.preset.name().to_owned();
                return Err(SpecError::NoEffect { learner, option: change.option.name, why });
            }
        }
        Ok(self)
    }
}

fn find(option: &str) -> Result<&'static LearnerOption, SpecError> {
    OPTIONS.iter().find(|o| o.name == option).ok_or_else(|| SpecError::Option {
        option: option.to_owned(),
        nearest: nearest(option, OPTIONS.iter().map(|o| o.name)).map(str::to_owned),
    })
}

/// How the weights become values, in words: `published β × 0.01`.
fn linear_estimate(options: &LinearOptions) -> String {
    let beta = match options.beta {
        Beta::Published => "published β".to_owned(),
        Beta::SelfNormalised => "self-normalised β".to_owned(),
        Beta::CoveringNumber => "covered β".to_owned(),
        Beta::Deviation => "deviation".to_owned(),
        Beta::Residuals => "residuals".to_owned(),
        Beta::Fixed(beta) => format!("β = {beta}"),
    };
    let sampled = if options.estimate == LinearEstimate::Sampled { "sampled, " } else { "" };
    let scale = if options.beta_scale == 1.0 { String::new() } else { format!(" × {}", options.beta_scale) };
    let weights = if options.weights == Weights::None { "" } else { ", weighed by variance" };
    format!("{sampled}{beta}{scale}{weights}")
}

impl FromStr for LearnerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<LearnerSpec, SpecError> {
        let (name, changes) = text.split_once(':').unwrap_or((text, ""));
        let mut spec = LearnerSpec::new(name.trim().parse()?);
        for pair in changes.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (option, value) = pair.split_once('=').ok_or_else(|| SpecError::NotAPair { text: pair.to_owned() })?;
            spec.add(find(option.trim())?, value.trim())?;
        }
        spec.checked()
    }
}

impl fmt::Display for LearnerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.preset.name())?;
        if self.changes.is_empty() { Ok(()) } else { write!(f, ":{}", self.changes_text()) }
    }
}

impl From<LearnerSpec> for String {
    fn from(spec: LearnerSpec) -> String {
        spec.to_string()
    }
}

impl TryFrom<String> for LearnerSpec {
    type Error = SpecError;

    fn try_from(text: String) -> Result<LearnerSpec, SpecError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests;
