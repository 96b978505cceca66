//! Exploration rules of the experiments: which width, confidence set or posterior all learners of a figure share.

use dowise::learn::LearnerSpec;

/// How all learners of a figure explore: the family of learners and its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplorationRule {
    /// Short, for file names and JSON.
    pub key: &'static str,
    /// In words, for figures and tables.
    pub about: &'static str,
    /// Which learners.
    pub learners: [&'static str; 4],
    /// Their options.
    pub options: &'static str,
}

const UCBVI: [&str; 4] = ["ucbvi", "f-ucbvi", "c-ucbvi", "cf-ucbvi"];
const PSRL: [&str; 4] = ["psrl", "f-psrl", "c-psrl", "cf-psrl"];

/// The rule of the figures: no constant in it is fitted, and widths small enough that the four learners differ.
/// It was chosen among several that were tried, knowing what they give; [`FITTED`] stands beside it for that reason.
pub(super) const FIGURES: ExplorationRule = ExplorationRule {
    key: "figures",
    about: "the width of rlberry, 1/√N + (steps left)/N for each factor, no constant fitted, values capped at H",
    learners: UCBVI,
    options: "width=rlberry,cap=horizon",
};

/// The rule that comes nearest to the published curves with one scale for all learners and all experiments.
pub(super) const FITTED: ExplorationRule = ExplorationRule {
    key: "fitted",
    about: "the paper's width without √S, times 0.002 for every learner, values capped at H",
    learners: UCBVI,
    options: "width=paper-plain,scale=0.002,cap=horizon",
};

pub(super) const LITERAL: ExplorationRule = ExplorationRule {
    key: "literal",
    about: "the paper's widths with all printed constants, values capped at H",
    learners: UCBVI,
    options: "width=paper,cap=horizon",
};

pub(super) const SETS: ExplorationRule = ExplorationRule {
    key: "sets",
    about: "the optimistic member of a confidence set, nothing to tune, a plan before each episode as in the paper",
    learners: UCBVI,
    options: "schedule=episode",
};

pub(super) const SAMPLING: ExplorationRule =
    ExplorationRule { key: "sampling", about: "posterior sampling, nothing to tune", learners: PSRL, options: "" };

/// The rules, the one of the figures first.
pub fn rules() -> [ExplorationRule; 5] {
    [FIGURES, FITTED, SETS, SAMPLING, LITERAL]
}

impl ExplorationRule {
    /// A learner under this rule, by its position: plain, F, C, CF.
    pub fn learner(&self, position: usize) -> LearnerSpec {
        let name = self.learners[position];
        let text = if self.options.is_empty() { name.to_owned() } else { format!("{name}:{}", self.options) };
        text.parse().expect("invariant: every rule is the text of a learner")
    }

    /// All its learners as text.
    pub(super) fn texts(&self) -> Vec<String> {
        (0..4).map(|i| self.learner(i).to_string()).collect()
    }
}
