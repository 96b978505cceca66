//! Causal linear MDPs: least-squares value iteration on features φ(s, z), at a cost that does not grow with the run.
//!
//! In a causal linear MDP P(s' | s, z) = ⟨φ(s, z), μ(s')⟩ and R(s, z) = ⟨φ(s, z), ω⟩ with ‖φ‖ ≤ 1. The mean feature of
//! an intervention, ψ(s, a) = Σ_z P(z | s, a) φ(s, z), makes it a linear MDP in (s, a), so LSVI-UCB (Jin et al. 2019)
//! applies. [`LinearLearner`] implements the published method and an improved one. The improved method regresses on
//! the observed φ(s, z), puts the width there, and averages over z afterwards, so it uses the observed z.

mod covering_number;
mod design;
mod doubt;
mod enumerated;
mod episodes;
mod error;
mod evidence;
mod explain;
mod features;
mod findings;
mod fit;
mod gram;
mod learner;
mod misspecification;
mod model;
mod options;
mod policy;
mod preset;
mod problem;
mod residuals;
mod save;
mod setup;
mod visited;
mod weighted;

pub use crate::plan::FeatureFunction;
pub use doubt::Doubt;
pub use enumerated::EnumeratedStates;
pub use error::{FeatureError, LinearError};
pub(crate) use explain::Lookahead;
pub use features::{Features, Norms};
pub use findings::FeatureFinding;
pub use learner::LinearLearner;
pub use misspecification::Misspecification;
pub use options::{Beta, FeatureChoice, LinearEstimate, LinearOptions, Regression, Rewards, Switching, Weights};
pub use policy::LinearPolicy;
pub(crate) use preset::LINEAR;
pub use preset::{LinearPreset, UnknownLinearPreset};
pub(crate) use save::SavedLinear;

/// The former name of linear learners over visited states, which [`LinearLearner::over_visited_states`] makes.
pub type VisitedStatesLearner = LinearLearner;

/// The former name of policies of learners over visited states.
pub type VisitedStatesPolicy = LinearPolicy;

/// The former name of errors of learners over visited states.
pub type VisitedStatesError = LinearError;

/// Most bytes of features, and of a learner in total, on any machine: time grows with the cube of the number of
/// features.
pub(crate) const MOST_BYTES: u128 = 4 << 30;
