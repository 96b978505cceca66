//! Options of tabular learners: every choice by name.

use serde::{Deserialize, Serialize};

use super::vocabulary::vocabulary;

vocabulary! {
    /// The learner's view of the state.
    pub enum States {
        /// As one factor with S values.
        Flat = "flat",
        /// As the world's factors with their scopes.
        Factored = "factored",
    }
}

vocabulary! {
    /// The configurations that the learner counts by.
    pub enum Causes {
        /// The interventions themselves.
        Actions = "actions",
        /// The joint value of all key variables (and of levers that act directly), for every factor.
        Keys = "keys",
        /// For each factor only its own parents among them.
        OwnKeys = "own-keys",
    }
}

/// The estimator of values from counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimate {
    /// Empirical mean plus a width.
    Width(Width),
    /// The optimistic estimate over a confidence set of every row; no scale to tune.
    Sets(Sets),
    /// One sample from the Dirichlet posterior of every row.
    Posterior {
        /// Weight of the prior in visits, shared equally by the values of a row.
        prior: f64,
    },
    /// Empirical mean; unvisited rows get the cap.
    Greedy,
    /// As greedy, but with this probability a uniformly random intervention.
    EpsilonGreedy {
        /// Probability of exploring at a step.
        epsilon: f64,
    },
    /// Always uniformly random interventions.
    Uniform,
    /// Ridge regression on features instead of counts; such a learner is a [`LinearLearner`](crate::learn::linear::LinearLearner).
    Linear,
}

vocabulary! {
    /// Widths (exploration bonuses) of the literature, added to the empirical mean. N: visits of the row; L, l:
    /// logarithms given at each.
    pub enum Width {
        /// The paper's: C 7HL√(S/N), CF Σ 7HL√(S_i/N_i), UCBVI as published by Azar et al., F as CF with actions.
        Paper = "paper",
        /// The paper's without the √S and √S_i, which fits its figures; one rule for all four learners.
        PaperPlain = "paper-plain",
        /// Azar et al. 2017, Chernoff–Hoeffding: 7HL/√N.
        AzarHoeffding = "azar-hoeffding",
        /// Azar et al. 2017, Bernstein–Freedman; flat states only.
        AzarBernstein = "azar-bernstein",
        /// ρ_h/2 times the L1 radius √(2(S ln 2 + ln(S C T/δ))/N), ρ_h the range of the values ahead.
        Weissman = "weissman",
        /// Hoeffding on the optimal values: ρ_h √(ln(2 S C H T/δ)/(2N)); for factors with cross terms.
        HoeffdingV = "hoeffding-v",
        /// Empirical Bernstein on the optimal values, valid by monotonicity; flat states only.
        Bernstein = "bernstein",
        /// Quasi-optimism: 1/N.
        Quasi = "quasi",
        /// rlberry's simplified Bernstein: 1/√N + ρ/N, at most ρ.
        Rlberry = "rlberry",
    }
}

vocabulary! {
    /// Confidence sets.
    pub enum Sets {
        /// Kullback–Leibler interval or ball whose radius holds for all numbers of visits simultaneously, by a
        /// mixture: no number of episodes needed.
        Mixture = "mixture",
        /// Kullback–Leibler interval for binary factors, L1 ball for others, by a union over all steps.
        Kl = "kl",
        /// Hoeffding interval for binary factors, L1 ball (Weissman) for others, by a union over all steps.
        L1 = "l1",
    }
}

impl Default for Sets {
    /// The sets that need no number of episodes.
    fn default() -> Self {
        Sets::Mixture
    }
}

vocabulary! {
    /// The ceiling of optimistic values.
    pub enum Cap {
        /// The stages left times the greatest reward of a step.
        Stage = "stage",
        /// H times the greatest reward of a step, at every stage.
        Horizon = "horizon",
        /// H at every stage and every world, as printed in the paper: optimism breaks if rewards sum to more than 1 a step.
        Literal = "literal",
    }
}

vocabulary! {
    /// Replanning trigger.
    pub enum Schedule {
        /// Before each episode (the paper).
        Episode = "episode",
        /// When some row reaches 1, 2, 4, 8, … visits: a logarithmic number of plans, same order of regret.
        Doubling = "doubling",
        /// When visit counts have grown by half: some row of a transition has half as many visits again as at the last
        /// plan (twice as many, if fewer than eight), or some row of a mechanism or reward reaches 1, 2, 4, 8, …
        /// visits. Fewer plans than by doubling, since every plan counts for all rows.
        Growing = "growing",
        /// Never whole: one lookahead at each visited state (real-time dynamic programming). S times cheaper, same
        /// order of regret.
        Visited = "visited",
    }
}

/// Non-stationarity: what a learner forgets. Time is measured in steps; an episode is as many as it has stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forget {
    /// Nothing: the world is stationary.
    #[default]
    Never,
    /// Sliding window: every step, after a number of episodes.
    Window {
        /// Length of the window in episodes.
        episodes: u64,
    },
    /// Discount: every step, after a random time; after each episode this share of the data remains.
    Discount {
        /// That share, between 0 and 1.
        share: f64,
    },
    /// Change-point reset: the visits of a row before its detected change.
    Reset,
}

impl Forget {
    /// Whether nothing is ever forgotten.
    pub fn is_never(&self) -> bool {
        *self == Forget::Never
    }
}

/// All choices of a learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The view of the state.
    pub states: States,
    /// The configurations.
    pub causes: Causes,
    /// The estimator.
    pub estimate: Estimate,
    /// Factor of every width, and of the standard deviation of sampled unknown mechanisms; 1 is as published. No
    /// effect on sets.
    pub scale: f64,
    /// Probability with which the guarantee may fail (δ).
    pub delta: f64,
    /// Number of episodes (K) in the logarithms of widths, and of sets other than [`Sets::Mixture`].
    pub episodes: u64,
    /// Ceiling of the values.
    pub cap: Cap,
    /// Whether values must never rise above those of an earlier plan (Azar et al.).
    pub monotone: bool,
    /// Whether each stage has its own counts.
    pub stage_dependent: bool,
    /// Replanning trigger.
    pub schedule: Schedule,
    /// Graph monitor and repair: whether to test the graph with every step, and to revise it minimally if it is
    /// contradicted.
    pub guard: bool,
    /// Non-stationarity: what is forgotten.
    #[serde(default, skip_serializing_if = "Forget::is_never")]
    pub forget: Forget,
    /// Seed of ties, posterior samples and exploration.
    pub seed: u64,
}

impl Options {
    /// The default replanning trigger of these options.
    ///
    /// The optimistic estimate hardly changes until a row has half as many visits again, so learners with sets wait
    /// for that (as UCRL2 waits for doubling). Each plan stays optimistic with the same probability, since the sets
    /// hold at all times simultaneously, and a row of n visits causes O(log n) plans instead of n. Samples are drawn
    /// for each episode, widths are kept as published, and visits in a sliding window do not grow for ever.
    pub fn usual_schedule(&self) -> Schedule {
        match self.estimate {
            Estimate::Sets(_) => match self.forget {
                Forget::Never | Forget::Reset => Schedule::Growing,
                Forget::Window { .. } | Forget::Discount { .. } => Schedule::Episode,
            },
            Estimate::Width(_)
            | Estimate::Posterior { .. }
            | Estimate::Greedy
            | Estimate::EpsilonGreedy { .. }
            | Estimate::Uniform
            | Estimate::Linear => Schedule::Episode,
        }
    }

    /// These options with the [usual schedule](Options::usual_schedule).
    pub(crate) fn usual(self) -> Options {
        Options { schedule: self.usual_schedule(), ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            states: States::Factored,
            causes: Causes::OwnKeys,
            estimate: Estimate::Posterior { prior: 2.0 },
            scale: 1.0,
            delta: 0.1,
            episodes: 5000,
            cap: Cap::Stage,
            monotone: false,
            stage_dependent: false,
            schedule: Schedule::Episode,
            guard: false,
            forget: Forget::Never,
            seed: 0,
        }
    }
}
