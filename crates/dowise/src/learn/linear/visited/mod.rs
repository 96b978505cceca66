//! Learner over visited states, for non-enumerable state spaces: decisions are computed at the current state.
//!
//! Least-squares value iteration needs values only at observed next states: Σ φ (r + V(s')) runs over observed steps.
//! So the learner stores the steps and their next states, and computes their values by backward induction when it
//! replans (when det Λ has doubled, O(d ln K) times). It evaluates any other state only when it decides there. Nothing
//! is as large as S.

mod design;
mod doubt;
mod error;
mod explain;
mod learner;
mod plan;
mod policy;
mod save;
mod states;

pub use error::VisitedStatesError;
pub use learner::VisitedStatesLearner;
pub use policy::VisitedStatesPolicy;
