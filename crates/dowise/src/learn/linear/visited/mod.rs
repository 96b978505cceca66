//! Storage over visited states, for non-enumerable state spaces: decisions are computed at the current state.
//!
//! Least-squares value iteration needs values only at observed next states: Σ φ (r + V(s')) runs over observed steps.
//! So the learner stores the steps and their next states, and computes their values by backward induction when it
//! replans (when det Λ has doubled, O(d ln K) times). It evaluates any other state only when it decides there. Nothing
//! is as large as S.

mod design;
mod plan;
mod policy;
mod save;
mod states;
mod storage;

pub(super) use policy::WeightsPolicy;
pub(super) use save::{SavedVisited, is_saved};
pub(super) use storage::{VisitedStates, rows_of};
