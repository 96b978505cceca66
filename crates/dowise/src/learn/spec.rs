//! A learner as text: a name and what is changed about it, such as `c-ucbvi:width=paper-plain,scale=0.002`.

mod choice;
mod linear;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use self::choice::{CHOICES, Choice, Family};
use super::options::{Estimate, Options};
use super::{Knowledge, LearnError, Learner, Preset, UnknownPreset};
use crate::world::{World, nearest};

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
    /// (position in [`CHOICES`], canonical value), in increasing order.
    changes: Vec<(usize, String)>,
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
        CHOICES.iter().map(|c| c.name).collect()
    }

    /// (name, allowed values, what it does) for every option.
    pub fn describe_options() -> Vec<(&'static str, String, &'static str)> {
        CHOICES.iter().map(|c| (c.name, c.expected(), c.about)).collect()
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
    pub fn changes(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.changes.iter().map(|(i, v)| (CHOICES[*i].name, v.as_str()))
    }

    /// The changes as text, `option=value` separated by commas; empty if there are none.
    pub fn changes_text(&self) -> String {
        self.changes().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",")
    }

    /// Whether the option can change anything about this learner.
    pub fn takes(&self, option: &str) -> Result<bool, SpecError> {
        let choice = &CHOICES[position(option)?];
        Ok(self.refusal(choice).is_none())
    }

    /// The same learner with an option changed, in place of what it was.
    pub fn with(&self, option: &str, value: &str) -> Result<LearnerSpec, SpecError> {
        let i = position(option)?;
        let mut spec = self.clone();
        spec.changes.retain(|(j, _)| *j != i);
        spec.add(i, value)?;
        spec.checked()
    }

    /// The options, for so many episodes and a seed.
    pub fn options(&self, episodes: u64, seed: u64) -> Options {
        let mut options = self.preset.options(episodes, seed);
        for (i, value) in &self.changes {
            CHOICES[*i].apply(value, &mut options);
        }
        options
    }

    /// What the learner is told of a world: less than usual if `unknown` says so.
    pub fn knowledge(&self, world: &World) -> Result<Knowledge, LearnError> {
        let unknown = self.changes().find(|(k, _)| *k == "unknown").map_or("", |(_, v)| v);
        let knowledge = Knowledge::of(world);
        let knowledge = if unknown.contains("kernel") { knowledge.without_mechanisms() } else { knowledge };
        Ok(if unknown.contains("rewards") { knowledge.without_rewards() } else { knowledge })
    }

    /// The learner itself. Everything that runs learners by name makes them here.
    pub fn learner(&self, world: &World, episodes: u64, seed: u64) -> Result<Learner, LearnError> {
        let told = self.knowledge(world)?;
        match self.linear_options(episodes, seed) {
            Some(options) => Learner::linear(&told, options),
            None => Learner::new(&told, self.options(episodes, seed)),
        }
    }

    /// How it gets from counts to values, in words for tables and figures, such as `paper-plain × 0.002`.
    pub fn estimate(&self) -> String {
        if let Some(options) = self.linear_options(1, 0) {
            return LearnerSpec::linear_estimate(&options);
        }
        let options = self.options(1, 0);
        match options.estimate {
            Estimate::Width(_) if options.scale != 1.0 => {
                format!("{} × {}", choice::name_of(&options), options.scale)
            }
            Estimate::Posterior { prior } => format!("posterior, prior {prior}"),
            Estimate::Sets(_) => format!("{} sets", choice::name_of(&options)),
            Estimate::EpsilonGreedy { epsilon } => format!("epsilon {epsilon}"),
            _ => choice::name_of(&options).to_owned(),
        }
    }

    fn add(&mut self, i: usize, value: &str) -> Result<(), SpecError> {
        let choice = &CHOICES[i];
        if self.changes.iter().any(|(j, _)| *j == i) {
            return Err(SpecError::Twice { option: choice.name });
        }
        let canonical = choice.canonical(value).ok_or_else(|| SpecError::Value {
            option: choice.name,
            value: value.to_owned(),
            nearest: nearest(value, choice.values().iter().map(String::as_str)).map(str::to_owned),
            expected: choice.expected(),
        })?;
        let at = self.changes.partition_point(|(j, _)| *j < i);
        self.changes.insert(at, (i, canonical));
        Ok(())
    }

    /// Why this option would be pointless here.
    fn refusal(&self, choice: &Choice) -> Option<&'static str> {
        let family = Family::of(&self.preset.options(1, 0).estimate);
        let has = |name: &str| self.changes().any(|(k, _)| k == name);
        if family == Family::Linear {
            let visited = self.changes().any(|change| change == ("schedule", "visited"));
            return match choice.name {
                "schedule" if visited => Some("it plans for all states at once; choose episode or doubling"),
                "width" | "sets" | "scale" | "prior" | "epsilon" | "monotone" | "guard" => {
                    Some("it regresses on features instead of counting; see beta and beta-scale")
                }
                _ => None,
            };
        }
        match choice.name {
            "features" | "beta" | "beta-scale" | "lambda" | "regress-rewards" => {
                Some("it counts; only lsvi-ucb, c-lsvi-ucb and c-rlsvi regress on features")
            }
            "width" | "sets" if family != Family::Optimistic => {
                Some("it is not optimistic, so it has neither widths nor sets")
            }
            "sets" if has("width") => Some("it has a width, and sets take the place of widths"),
            "scale" if family != Family::Optimistic || !has("width") => {
                Some("it multiplies a width; choose one, for example width=paper-plain")
            }
            "prior" if family != Family::Sampling => Some("only posterior sampling has a prior"),
            "epsilon" if family != Family::EpsilonGreedy => Some("only epsilon-greedy explores so"),
            "cap" | "delta" | "monotone" if family != Family::Optimistic => Some("it is not optimistic"),
            _ if family == Family::Uniform => Some("it learns nothing"),
            _ => None,
        }
    }

    fn checked(self) -> Result<LearnerSpec, SpecError> {
        for (i, _) in &self.changes {
            if let Some(why) = self.refusal(&CHOICES[*i]) {
                let learner = self.preset.name().to_owned();
                return Err(SpecError::NoEffect { learner, option: CHOICES[*i].name, why });
            }
        }
        Ok(self)
    }
}

fn position(option: &str) -> Result<usize, SpecError> {
    CHOICES.iter().position(|c| c.name == option).ok_or_else(|| SpecError::Option {
        option: option.to_owned(),
        nearest: nearest(option, CHOICES.iter().map(|c| c.name)).map(str::to_owned),
    })
}

impl FromStr for LearnerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<LearnerSpec, SpecError> {
        let (name, changes) = text.split_once(':').unwrap_or((text, ""));
        let mut spec = LearnerSpec::new(name.trim().parse()?);
        for pair in changes.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (option, value) = pair.split_once('=').ok_or_else(|| SpecError::NotAPair { text: pair.to_owned() })?;
            spec.add(position(option.trim())?, value.trim())?;
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
