//! Options of linear learners: every choice by name.

use serde::{Deserialize, Serialize};

use crate::learn::Cap;

/// The regressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regression {
    /// ψ(s, a) = Σ_z P(z | s, a) φ(s, z) of every intervention (the paper); enumerates all interventions.
    Interventions,
    /// φ(s, z) of the observed key variables (ours); never enumerates interventions.
    Causes,
}

/// The choice of features.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureChoice {
    /// The world's own; one-hot if it has none.
    World,
    /// One for every state and configuration.
    OneHot,
    /// One for every combination of each factor's and reward term's scope.
    Factors,
    /// Chebyshev polynomials.
    Polynomial {
        /// Greatest total degree.
        degree: usize,
    },
    /// Gaussian bumps.
    Radial {
        /// Bumps for each variable.
        centres: usize,
        /// Their width in distances between neighbours.
        width: f64,
    },
}

/// The estimator of values from weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinearEstimate {
    /// Least squares plus β √(φᵀΛ⁻¹φ).
    Width,
    /// A sample of N(w, β² Λ⁻¹) for each stage, no width (randomised least-squares value iteration).
    Sampled,
}

/// The choice of β; [`LinearOptions::beta_scale`] multiplies it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beta {
    /// d H √ι with ι = ln(2 d T / δ), times the range of a step's reward: Jin et al. 2019 with c = 1.
    Published,
    /// ρ_h (½ √(2 ln(H/δ) + ln(det Λ / λ^d)) + √(λ d)), ρ_h the range of the targets of a stage: the self-normalised
    /// bound of Abbasi-Yadkori et al. 2011 for one fixed value function. It omits the union over value functions that
    /// the proof for general features needs; with one-hot features optimism follows by monotonicity.
    SelfNormalised,
    /// The same over a cover of all value functions of plans, so that optimism holds with probability 1 − δ for any
    /// features, in every linear world: ρ_h/2 √(ln(det Λ / λ^d) + 2 ln(H N / δ)) + ρ_h/2 + √(λd) m_h, N the covering
    /// number (docs/theory/guarantees.md). Far wider than necessary.
    #[serde(alias = "covered")]
    CoveringNumber,
    /// ρ_h / 2: no target has a greater standard deviation. The natural choice for samples.
    Deviation,
    /// Samples of a Bayesian posterior: noise estimated from the residuals, and a prior as wide as the targets' range
    /// (λ is then σ²/ρ², instead of [`LinearOptions::lambda`]). No tuning. For samples only.
    Residuals,
    /// A fixed number.
    Fixed(f64),
}

/// The choice of regressed rewards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rewards {
    /// Known terms are added; unknown ones are regressed.
    #[serde(alias = "told")]
    Known,
    /// All of them, as published.
    Regressed,
}

/// Weights of steps in a regression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// All equal.
    #[default]
    None,
    /// Inverse variance of the next values: u = (ρ/2)²/σ̄² times, between 1 and 16, with σ̄² an upper bound of the
    /// variance of the target from a first unweighted regression. For learners with a width.
    Variance,
}

impl Weights {
    fn are_alike(&self) -> bool {
        *self == Weights::None
    }
}

/// Replanning trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// Before each episode (published).
    Episode,
    /// When det Λ of some design has doubled since the last plan (Wang, Zhou and Gu 2021): O(d H ln K) plans.
    Doubling,
}

/// All choices of a linear learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearOptions {
    /// The regressor.
    pub regression: Regression,
    /// The features, unless given.
    pub features: FeatureChoice,
    /// The estimator of values from weights.
    pub estimate: LinearEstimate,
    /// The choice of β.
    pub beta: Beta,
    /// Factor of β; 1 is the formula as it stands.
    pub beta_scale: f64,
    /// Regularisation (λ).
    pub lambda: f64,
    /// Probability with which the guarantee may fail (δ; p in Jin et al.).
    pub delta: f64,
    /// Number of episodes (K) in the logarithm.
    pub episodes: u64,
    /// Ceiling of the values; they are also clipped from below, at the least possible return.
    pub cap: Cap,
    /// Whether each stage has its own design (published), or all stages share one.
    pub stage_dependent: bool,
    /// The regressed rewards.
    pub rewards: Rewards,
    /// Weights of steps.
    #[serde(default, skip_serializing_if = "Weights::are_alike")]
    pub weights: Weights,
    /// Replanning trigger.
    pub switching: Switching,
    /// Seed of ties and samples.
    pub seed: u64,
}

impl Default for LinearOptions {
    /// LSVI-UCB as published.
    fn default() -> Self {
        LinearOptions {
            regression: Regression::Interventions,
            features: FeatureChoice::World,
            estimate: LinearEstimate::Width,
            beta: Beta::Published,
            beta_scale: 1.0,
            lambda: 1.0,
            delta: 0.1,
            episodes: 5000,
            cap: Cap::Horizon,
            stage_dependent: true,
            rewards: Rewards::Regressed,
            weights: Weights::None,
            switching: Switching::Episode,
            seed: 0,
        }
    }
}
