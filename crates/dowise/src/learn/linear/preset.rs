//! Presets of linear learners: published names and their options.

use std::fmt;
use std::str::FromStr;

use super::options::{Beta, LinearEstimate, LinearOptions, Regression, Rewards, Switching};
use crate::learn::Cap;
use crate::messages::nearest;

/// A linear learner by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearPreset {
    kind: LinearKind,
    name: &'static str,
    about: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinearKind {
    Published,
    OnCauses,
    SampledOnCauses,
    Bayesian,
}

/// An unknown name of a linear learner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no linear learner called `{name}`{}; the names are {}", .nearest.map_or(String::new(), |n| format!(", did you mean `{n}`?")), LINEAR.map(|p| p.name).join(", "))]
pub struct UnknownLinearPreset {
    /// As given.
    pub name: String,
    /// The nearest name, if one is near.
    pub nearest: Option<&'static str>,
}

pub(crate) const LINEAR: [LinearPreset; 4] = [
    LinearPreset {
        kind: LinearKind::Published,
        name: "lsvi-ucb",
        about: "ridge regression on the features of interventions, as published (Jin et al. 2019)",
    },
    LinearPreset {
        kind: LinearKind::OnCauses,
        name: "c-lsvi-ucb",
        about: "ridge regression on the features of the key variables observed (ours)",
    },
    LinearPreset {
        kind: LinearKind::SampledOnCauses,
        name: "c-rlsvi",
        about: "the same with a random sample of the weights instead of a width",
    },
    LinearPreset {
        kind: LinearKind::Bayesian,
        name: "c-blsvi",
        about: "posterior samples of the weights, with the noise that the residuals show; nothing to tune (ours)",
    },
];

impl LinearPreset {
    /// All presets.
    pub fn all() -> &'static [LinearPreset] {
        &LINEAR
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// One line about it.
    pub const fn about(&self) -> &'static str {
        self.about
    }

    /// Its options for a number of episodes and a seed.
    ///
    /// `lsvi-ucb` is the published algorithm with λ = 1, c = 1, regressed rewards, and a design for each stage. Ours
    /// share one design between the stages, since the world is stationary, and add known rewards. `c-blsvi` plans when
    /// det Λ has doubled: with many states plans dominate the time, and longer-lived samples work as well.
    pub fn options(&self, episodes: u64, seed: u64) -> LinearOptions {
        let published = LinearOptions { episodes, seed, ..LinearOptions::default() };
        let ours = LinearOptions {
            regression: Regression::Causes,
            beta: Beta::SelfNormalised,
            cap: Cap::Stage,
            stage_dependent: false,
            rewards: Rewards::Known,
            ..published.clone()
        };
        match self.kind {
            LinearKind::Published => published,
            LinearKind::OnCauses => ours,
            LinearKind::SampledOnCauses => {
                LinearOptions { estimate: LinearEstimate::Sampled, beta: Beta::Deviation, ..ours }
            }
            LinearKind::Bayesian => LinearOptions {
                estimate: LinearEstimate::Sampled,
                beta: Beta::Residuals,
                switching: Switching::Doubling,
                ..ours
            },
        }
    }
}

impl FromStr for LinearPreset {
    type Err = UnknownLinearPreset;

    fn from_str(name: &str) -> Result<LinearPreset, UnknownLinearPreset> {
        LINEAR.iter().find(|p| p.name == name).copied().ok_or_else(|| UnknownLinearPreset {
            name: name.to_owned(),
            nearest: nearest(name, LINEAR.iter().map(|p| p.name)),
        })
    }
}

impl fmt::Display for LinearPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
