//! Learning where states cannot be enumerated: from the states that were met, with decisions computed at the state at hand.
//!
//! Least-squares value iteration needs values at observed next states and nowhere else: Σ φ (r + V(s')) runs over steps that were
//! made. So the learner keeps the steps and the states they led to, computes their values backwards when it plans (when det Λ has
//! doubled, O(d ln K) times), and looks at any other state only when it has to decide there. Nothing is as large as S.

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
