//! Presets: published names of learners and their options. Nothing else in the library knows these names.

use std::fmt;
use std::str::FromStr;

use super::options::{Cap, Causes, Estimate, Options, Sets, States, Width};
use crate::learn::linear::{LINEAR, LinearPreset};
use crate::messages::nearest;

/// A published (or our own) learner by name: its way of seeing a world and of being optimistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    name: &'static str,
    about: &'static str,
    states: States,
    causes: Causes,
    kind: PresetKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PresetKind {
    Ucbvi,
    Psrl,
    Greedy,
    EpsilonGreedy,
    Uniform,
    Linear,
}

/// A name that stands for no learner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no learner called `{name}`{}; the names are {}", .nearest.as_ref().map_or(String::new(), |n| format!(", did you mean `{n}`?")), Preset::all().iter().map(|p| p.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownPreset {
    /// As given.
    pub name: String,
    /// The nearest name, if one is near.
    pub nearest: Option<String>,
}

const ALL: [Preset; 17] = {
    use Causes::*;
    use PresetKind::*;
    use States::*;
    const fn p(name: &'static str, states: States, causes: Causes, kind: PresetKind, about: &'static str) -> Preset {
        Preset { name, about, states, causes, kind }
    }
    [
        p("ucbvi", Flat, Actions, Ucbvi, "every state and intervention on its own (Azar et al. 2017)"),
        p("f-ucbvi", Factored, Actions, Ucbvi, "factored states, every intervention on its own (Tian et al. 2020)"),
        p("c-ucbvi", Flat, Keys, Ucbvi, "every state, key variables instead of interventions (the paper)"),
        p("cf-ucbvi", Factored, Keys, Ucbvi, "factored states, all key variables for each factor (the paper)"),
        p("graph-ucbvi", Factored, OwnKeys, Ucbvi, "factored states, each factor with its own key variables (ours)"),
        p("psrl", Flat, Actions, Psrl, "posterior sampling, every state and intervention on its own"),
        p("f-psrl", Factored, Actions, Psrl, "posterior sampling, factored states"),
        p("c-psrl", Flat, Keys, Psrl, "posterior sampling, key variables"),
        p("cf-psrl", Factored, Keys, Psrl, "posterior sampling, factored states, all key variables"),
        p(
            "graph-psrl",
            Factored,
            OwnKeys,
            Psrl,
            "posterior sampling, factored states, each factor's own key variables",
        ),
        p("greedy", Factored, OwnKeys, Greedy, "no exploration beyond what was never seen"),
        p("epsilon-greedy", Factored, OwnKeys, EpsilonGreedy, "greedy, but one step in twenty at random"),
        p("uniform", Factored, OwnKeys, Uniform, "interventions at random"),
        p(LINEAR[0].name(), Flat, Actions, Linear, LINEAR[0].about()),
        p(LINEAR[1].name(), Flat, Keys, Linear, LINEAR[1].about()),
        p(LINEAR[2].name(), Flat, Keys, Linear, LINEAR[2].about()),
        p(LINEAR[3].name(), Flat, Keys, Linear, LINEAR[3].about()),
    ]
};

impl Preset {
    /// All presets.
    pub fn all() -> &'static [Preset] {
        &ALL
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One line about it.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Its options for a number of episodes and a seed.
    ///
    /// The UCBVI family is optimistic over confidence sets, which need no scale; set [`Options::estimate`] for the widths of
    /// the literature, or use [`Preset::paper_options`] for the paper's own.
    pub fn options(&self, episodes: u64, seed: u64) -> Options {
        let estimate = match self.kind {
            PresetKind::Ucbvi => Estimate::Sets(Sets::default()),
            PresetKind::Psrl => Estimate::Posterior { prior: 2.0 },
            PresetKind::Greedy => Estimate::Greedy,
            PresetKind::EpsilonGreedy => Estimate::EpsilonGreedy { epsilon: 0.05 },
            PresetKind::Uniform => Estimate::Uniform,
            PresetKind::Linear => Estimate::Linear,
        };
        Options { states: self.states, causes: self.causes, estimate, episodes, seed, ..Options::default() }.usual()
    }

    /// The same among the learners that regress on features; `None` for those that count.
    pub fn linear(&self) -> Option<LinearPreset> {
        LINEAR.into_iter().find(|p| p.name() == self.name)
    }

    /// As printed in the paper: its widths with all constants, values capped at H at every stage.
    pub fn paper_options(&self, episodes: u64, seed: u64) -> Options {
        let options = self.options(episodes, seed);
        match self.kind {
            PresetKind::Ucbvi => {
                Options { estimate: Estimate::Width(Width::Paper), cap: Cap::Horizon, ..options }.usual()
            }
            PresetKind::Psrl
            | PresetKind::Greedy
            | PresetKind::EpsilonGreedy
            | PresetKind::Uniform
            | PresetKind::Linear => options,
        }
    }
}

/// The learner that has another name elsewhere.
fn synonym(name: &str) -> Option<&'static str> {
    match name.to_lowercase().replace('_', "-").as_str() {
        "ts" | "thompson" | "thompson-sampling" | "posterior-sampling" => Some("graph-psrl"),
        "ucb" | "ucb1" | "ofu" => Some("graph-ucbvi"),
        "random" | "uniform-random" => Some("uniform"),
        "lsvi" | "lin-ucb" | "linucb" => Some("c-lsvi-ucb"),
        _ => None,
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Preset, UnknownPreset> {
        ALL.iter().find(|p| p.name == name).copied().ok_or_else(|| UnknownPreset {
            name: name.to_owned(),
            nearest: synonym(name).or_else(|| nearest(name, ALL.iter().map(|p| p.name))).map(str::to_owned),
        })
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
