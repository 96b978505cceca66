//! Names of features and of bonus factors β in specifications, and their meanings.

use crate::learn::linear::{Beta, FeatureChoice, Weights};
use crate::learn::vocabulary::vocabulary;

vocabulary! {
    /// Features of state and causes by name.
    pub(super) enum FeatureWord {
        /// Those of the world file, else one-hot.
        World = "world",
        /// One for every state and cause.
        OneHot = "one-hot",
        /// One for every combination of each factor's and reward term's scope.
        Factors = "factors",
        /// Chebyshev polynomials of total degree 1.
        Polynomial1 = "polynomial-1",
        /// Of total degree 2.
        Polynomial2 = "polynomial-2",
        /// Of total degree 3.
        Polynomial3 = "polynomial-3",
        /// Two Gaussian bumps for each variable.
        Radial2 = "radial-2",
        /// Three bumps.
        Radial3 = "radial-3",
        /// Four bumps.
        Radial4 = "radial-4",
    }
}

impl FeatureWord {
    pub(super) fn features(self) -> FeatureChoice {
        let polynomial = |degree| FeatureChoice::Polynomial { degree };
        let radial = |centres| FeatureChoice::Radial { centres, width: 1.0 };
        match self {
            FeatureWord::World => FeatureChoice::World,
            FeatureWord::OneHot => FeatureChoice::OneHot,
            FeatureWord::Factors => FeatureChoice::Factors,
            FeatureWord::Polynomial1 => polynomial(1),
            FeatureWord::Polynomial2 => polynomial(2),
            FeatureWord::Polynomial3 => polynomial(3),
            FeatureWord::Radial2 => radial(2),
            FeatureWord::Radial3 => radial(3),
            FeatureWord::Radial4 => radial(4),
        }
    }
}

vocabulary! {
    /// Formulas for β by name.
    pub(super) enum BetaWord {
        /// Jin et al. 2019 with c = 1.
        Published = "published",
        /// The self-normalised bound.
        SelfNormalised = "self-normalised",
        /// The same over a cover of all value functions.
        CoveringNumber = "covering-number",
        /// Half the range of the targets.
        Deviation = "deviation",
        /// As the residuals have it.
        Residuals = "residuals",
    }
}

impl BetaWord {
    pub(super) fn beta(self) -> Beta {
        match self {
            BetaWord::Published => Beta::Published,
            BetaWord::SelfNormalised => Beta::SelfNormalised,
            BetaWord::CoveringNumber => Beta::CoveringNumber,
            BetaWord::Deviation => Beta::Deviation,
            BetaWord::Residuals => Beta::Residuals,
        }
    }
}

vocabulary! {
    /// Weights of steps by name.
    pub(super) enum WeightsWord {
        /// All alike.
        None = "none",
        /// By how little the values ahead can vary.
        Variance = "variance",
    }
}

impl WeightsWord {
    pub(super) fn weights(self) -> Weights {
        match self {
            WeightsWord::None => Weights::None,
            WeightsWord::Variance => Weights::Variance,
        }
    }
}
