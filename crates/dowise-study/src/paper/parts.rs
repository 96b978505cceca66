//! The parts of a reproduction, each a study of its own.

use crate::{Checkpoints, StudyFile, Sweep};

use super::extras;
use super::rules::{ExplorationRule, FIGURES, FITTED, SETS, rules};

/// A part: one of the paper's experiments, or one that it does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Four learners, m = 4, dₛ = 3, H = 5.
    Experiment1,
    /// m = 3 … 7, dₛ = 3, H = 2.
    Experiment2,
    /// d_s = 2 … 5, m = 3, H = 2.
    Experiment3,
    /// Experiment 2 under the other rules.
    Others2,
    /// Experiment 3 with confidence sets.
    Others3,
    /// Regret against the scale of the width.
    Scales,
    /// Worlds in which exploration is hard.
    Hard,
    /// Up to a million interventions, learners that know the key variables.
    Many,
    /// As many interventions as learners that count each of them can bear.
    ManyPlain,
    /// P(z | s, a) unknown.
    Unknown,
    /// Causal linear MDPs with more and more interventions, learners that see causes.
    LinearActions,
    /// As many interventions as plain learners bear.
    LinearActionsPlain,
    /// Causal linear MDPs with more and more states, learners that regress.
    LinearStates,
    /// As many states as tables bear.
    LinearStatesTables,
}

/// Episodes, repetitions and seed of a reproduction; by default the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReproductionSize {
    /// Episodes of a run (K).
    pub episodes: u64,
    /// Fresh environments, the same for every learner.
    pub repetitions: u64,
    /// Seed of the first.
    pub seed: u64,
}

impl Default for ReproductionSize {
    fn default() -> Self {
        ReproductionSize { episodes: 5000, repetitions: 10, seed: 0 }
    }
}

impl Part {
    /// The paper's experiments.
    pub const EXPERIMENTS: [Part; 3] = [Part::Experiment1, Part::Experiment2, Part::Experiment3];

    /// What the paper does not show.
    pub const EXTRAS: [Part; 11] = [
        Part::Others2,
        Part::Others3,
        Part::Scales,
        Part::Hard,
        Part::Many,
        Part::ManyPlain,
        Part::Unknown,
        Part::LinearActions,
        Part::LinearActionsPlain,
        Part::LinearStates,
        Part::LinearStatesTables,
    ];

    /// Name of its directory.
    pub fn folder(self) -> &'static str {
        match self {
            Part::Experiment1 => "experiment-1",
            Part::Experiment2 => "experiment-2",
            Part::Experiment3 => "experiment-3",
            Part::Others2 => "experiment-2-others",
            Part::Others3 => "experiment-3-others",
            Part::Scales => "scales",
            Part::Hard => "hard-exploration",
            Part::Many => "many-interventions",
            Part::ManyPlain => "many-interventions-plain",
            Part::Unknown => "unknown-kernel",
            Part::LinearActions => "linear-interventions",
            Part::LinearActionsPlain => "linear-interventions-plain",
            Part::LinearStates => "linear-states",
            Part::LinearStatesTables => "linear-states-tables",
        }
    }

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Part::Experiment1 => "Experiment 1: four learners (m = 4, n = 3, dₛ = 3, H = 5)",
            Part::Experiment2 => "Experiment 2: more interventions (A = m³, dₛ = 3, H = 2)",
            Part::Experiment3 => "Experiment 3: more state factors (m = 3, H = 2)",
            Part::Others2 => "Experiment 2 under the other rules",
            Part::Others3 => "Experiment 3 under the other rules",
            Part::Scales => "Sensitivity to the scale of the width",
            Part::Hard => "Hard exploration",
            Part::Many => "Up to a million interventions, Z = 8",
            Part::ManyPlain => "As many interventions as plain learners bear",
            Part::Unknown => "P(z | s, a) and the rewards unknown",
            Part::LinearActions => "Causal linear MDPs: up to a million interventions",
            Part::LinearActionsPlain => "Causal linear MDPs: as many interventions as plain learners bear",
            Part::LinearStates => "Causal linear MDPs: up to 65,536 states",
            Part::LinearStatesTables => "Causal linear MDPs: as many states as tables bear",
        }
    }

    /// The study of this part.
    pub fn study(self, size: ReproductionSize) -> StudyFile {
        let file = |worlds: &[&str], learners: Vec<Vec<String>>, sweep: Sweep| StudyFile {
            name: self.title().into(),
            worlds: worlds.iter().map(|w| (*w).to_owned()).collect(),
            learners: learners.concat(),
            episodes: size.episodes,
            repetitions: size.repetitions,
            seed: size.seed,
            checkpoints: Checkpoints::Count(50),
            sweep,
            ..StudyFile::default()
        };
        let uniform = || vec!["uniform".to_owned()];
        let world = |key: &str, values: std::ops::RangeInclusive<u32>| Sweep {
            world: vec![(key.to_owned(), values.map(|v| v.to_string()).collect())],
            ..Sweep::default()
        };
        let bare = || file(&[], vec![], Sweep::default());
        match self {
            Part::Experiment1 => {
                let learners = rules().iter().map(ExplorationRule::texts).chain([uniform()]).collect();
                file(&["paper:levels=4,levers=3,factors=3,horizon=5"], learners, Sweep::default())
            }
            Part::Experiment2 | Part::Others2 => {
                let learners = if self == Part::Others2 {
                    vec![SETS.texts(), FITTED.texts()]
                } else {
                    vec![FIGURES.texts(), uniform()]
                };
                file(&["paper:levers=3,factors=3,horizon=2"], learners, world("levels", 3..=7))
            }
            Part::Experiment3 | Part::Others3 => {
                // The paper leaves UCBVI out here, since it learns nothing in K episodes.
                let three = |rule: ExplorationRule| rule.texts()[1..].to_vec();
                let learners = if self == Part::Others3 {
                    vec![three(SETS)]
                } else {
                    vec![three(FIGURES), three(FITTED), uniform()]
                };
                file(&["paper:levels=3,levers=3,horizon=2"], learners, world("factors", 2..=5))
            }
            Part::Scales => extras::scales(bare(), size),
            Part::Hard => extras::hard(bare(), size),
            Part::Many => extras::many(bare(), size),
            Part::ManyPlain => extras::many_plain(bare(), size),
            Part::Unknown => extras::unknown(bare(), size),
            Part::LinearActions => {
                extras::linear(bare(), size, &extras::CAUSAL, ("levels", &["8", "32", "128", "1000"]))
            }
            Part::LinearActionsPlain => {
                extras::linear(bare(), size, &extras::PLAIN, ("levels", &["2", "4", "8", "16"]))
            }
            Part::LinearStates => {
                extras::linear(bare(), size, &extras::CAUSAL, ("states", &["64", "1024", "8192", "65536"]))
            }
            Part::LinearStatesTables => {
                extras::linear(bare(), size, &extras::TABLES, ("states", &["6", "12", "24", "48"]))
            }
        }
    }
}
