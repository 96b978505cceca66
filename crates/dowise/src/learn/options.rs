//! Options of tabular learners: every choice by name.

use serde::{Deserialize, Serialize};

use super::vocabulary::vocabulary;

vocabulary! {
    /// How the learner sees the state.
    pub enum States {
        /// As one factor with S values.
        Flat = "flat",
        /// As the world's factors with their scopes.
        Factored = "factored",
    }
}

vocabulary! {
    /// What the learner takes for the causes of what happens.
    pub enum Causes {
        /// The interventions themselves.
        Actions = "actions",
        /// The joint value of all key variables (and of levers that act directly), for every factor.
        Keys = "keys",
        /// For each factor only its own parents among them.
        OwnKeys = "own-keys",
    }
}

/// How counts become values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimate {
    /// Empirical mean plus a width.
    Width(Width),
    /// The optimistic member of a confidence set for every row; no scale to tune.
    Sets(Sets),
    /// One sample from the Dirichlet posterior of every row.
    Posterior {
        /// Weight of the prior in visits, shared equally by the values of a row.
        prior: f64,
    },
    /// Empirical mean; unseen rows get the cap.
    Greedy,
    /// As greedy, but with this probability an intervention drawn from all.
    EpsilonGreedy {
        /// Probability of exploring at a step.
        epsilon: f64,
    },
    /// Interventions drawn from all, always.
    Uniform,
    /// Ridge regression on features instead of counts; such a learner is a [`LinearLearner`](crate::learn::linear::LinearLearner).
    Linear,
}

vocabulary! {
    /// The widths of the literature: what is added to the empirical mean. N: visits of the row; L, l: logarithms given at each.
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
        /// Kullback–Leibler interval or ball whose radius holds for all numbers of visits at once, by a mixture: no episodes to count on.
        Mixture = "mixture",
        /// Kullback–Leibler interval for binary factors, L1 ball for others, by a union over all steps.
        Kl = "kl",
        /// Hoeffding interval for binary factors, L1 ball (Weissman) for others, by a union over all steps.
        L1 = "l1",
    }
}

impl Default for Sets {
    /// Those that need no number of episodes.
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
    /// When the learner plans again.
    pub enum Schedule {
        /// Before each episode (the paper).
        Episode = "episode",
        /// When some row has been seen 1, 2, 4, 8, … times: a logarithmic number of plans, same order of regret.
        Doubling = "doubling",
        /// When some row of a transition has been seen half as often again as at the last plan (twice as often, if fewer than eight times), or some row of a
        /// mechanism or reward 1, 2, 4, 8, … times: fewer plans than by doubling, since every plan counts for all rows.
        Growing = "growing",
        /// Never whole: at each visited state one look ahead (real-time dynamic programming). S times cheaper, same order of regret.
        Visited = "visited",
    }
}

/// What a learner forgets, for worlds that change. Time is measured in steps taken in; an episode is as many as it has stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forget {
    /// Nothing: the world stays as it is.
    #[default]
    Never,
    /// Every step, after a number of episodes.
    Window {
        /// Episodes that are remembered.
        episodes: u64,
    },
    /// Every step, after a time of its own: a share of what was seen is still remembered an episode later, of that the same share
    /// another episode later.
    Discount {
        /// That share, between 0 and 1.
        share: f64,
    },
    /// What a row held before it changed, once that is noticed; nothing else.
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
    /// How the state is seen.
    pub states: States,
    /// What causes are.
    pub causes: Causes,
    /// How counts become values.
    pub estimate: Estimate,
    /// Multiplies every width, and of a posterior the standard deviation of samples of unknown mechanisms; 1 is as published. No effect
    /// on sets.
    pub scale: f64,
    /// Probability with which the guarantee may fail (δ).
    pub delta: f64,
    /// Number of episodes that the logarithms of widths, and of sets other than [`Sets::Mixture`], count on (K).
    pub episodes: u64,
    /// Ceiling of the values.
    pub cap: Cap,
    /// Whether a value may never rise above what it was in an earlier plan (Azar et al.).
    pub monotone: bool,
    /// Whether each stage has counts of its own.
    pub stage_dependent: bool,
    /// When to plan.
    pub schedule: Schedule,
    /// Whether to test the graph with every step, and to change it as little as possible where it is contradicted.
    pub guard: bool,
    /// What is forgotten, for worlds that change.
    #[serde(default, skip_serializing_if = "Forget::is_never")]
    pub forget: Forget,
    /// Seed of ties, posterior samples and exploration.
    pub seed: u64,
}

impl Options {
    /// When a learner of these options plans by default.
    ///
    /// The optimistic member of a confidence set hardly moves until its row has been seen half as often again, so learners with sets wait for
    /// that (as UCRL2 waits until one has doubled): each plan is optimistic with the probability that it had before, since the sets hold at
    /// all times at once, and a row of n visits causes O(log n) plans instead of n. Samples have to be drawn anew for each episode, widths are kept as
    /// published, and visits that are forgotten by age do not grow for ever.
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
