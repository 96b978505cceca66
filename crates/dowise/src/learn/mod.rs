//! Learners: observations, evidence, beliefs, policies, and what wraps them.
//!
//! ```text
//! Observation → Evidence → Belief (by an Estimator) → Policy → Session
//! ```
//!
//! | part | file |
//! |---|---|
//! | what a learner is given | `knowledge.rs` |
//! | one step, validated, by names or numbers | `observation.rs` |
//! | which table row an observation belongs to, for each view of a world | `view/` |
//! | sufficient statistics: visit counts and exact sums of rewards; additive, mergeable, subtractable | `evidence/` |
//! | mechanisms with a parametric form | `forms/` |
//! | estimators: mean, optimistic, pessimistic, posterior sample | `belief/` |
//! | the result of a plan, immutable and shared | `policy.rs` |
//! | one running episode | `session.rs` |
//! | the tabular learner: evidence, estimator, replanning trigger | `tabular.rs`, `replanning.rs` |
//! | linear learners, over enumerated or visited states | `linear/` |
//! | suboptimality certificates | `certificate/` |
//! | sequential test of the graph (e-processes) | `monitor/` |
//! | conservative exploration, non-stationarity, graph repair | `wrappers/` |
//! | a learner of either kind with its wrappers and sessions | `learner.rs` |
//! | published names, options, a learner as text | `preset.rs`, `options.rs`, `spec.rs` |
//! | action values at a state, for the service and explanations | `action_values.rs`, `explain.rs` |
//! | memory estimates, saved learners | `memory.rs`, `save.rs` |

mod action_values;
mod agent;
mod belief;
mod certificate;
mod error;
mod evidence;
mod explain;
mod forms;
mod knowledge;
mod learner;
pub mod linear;
mod mechanisms;
mod memory;
mod monitor;
mod next_state_rewards;
mod observation;
mod options;
mod plans;
mod policy;
mod preset;
mod replanning;
mod save;
mod selector;
mod session;
mod spec;
mod tabular;
mod to_learn;
mod view;
mod vocabulary;
mod wrappers;

pub(crate) use belief::{Belief, dirichlet_of, mean_tables, sampled_tables};
pub(crate) use error::{LearnResult, MOST_ACTIONS, MOST_CELLS};
pub(crate) use evidence::{Counts, Entry, Looked, PaymentEntry, Payments, SavedEvidence, WHOLE as PAID_WHOLE};
pub(crate) use forms::Fit;
pub(crate) use mechanisms::{MechanismRule, Mechanisms};
pub(crate) use memory::{hold_belief, kernel_bytes};
pub(crate) use next_state_rewards::{NextStateRewards, NextStateTerm};
pub(crate) use plans::Plans;
pub(crate) use save::MOST_SAVED;
pub(crate) use selector::Selector;
pub(crate) use tabular::Tabular;
pub(crate) use view::{ActionList, MISSING, MechanismRow, MechanismRows, View};

pub use action_values::ActionValues;
pub use agent::Agent;
pub use belief::Estimator;
pub use certificate::Certificate;
pub use error::LearnError;
pub use evidence::{ArrowSeen, Evidence, EvidenceError, SeenOf, TableSeen};
pub(crate) use explain::explain_looked;
pub use explain::{Explanation, Preferred};
pub use knowledge::Knowledge;
pub use learner::Learner;
pub use monitor::{ClaimWatched, GraphFinding, GraphMonitor, GraphWatch};
pub use observation::{Observation, ObservationError};
pub use options::{Cap, Causes, Estimate, Forget, Options, Schedule, Sets, States, Width};
pub use policy::Policy;
pub use preset::{Preset, UnknownPreset};
pub use save::RestoreError;
pub use session::{Session, SessionError};
pub use spec::{LearnerSpec, SpecError};
pub use to_learn::ToLearn;
pub use wrappers::{
    Amendment, BaselineReport, ChangeNoticed, LogContradicted, SafetyBudget, share_of_episode, share_of_step,
};

/// Version of the random draws of learners and Monte Carlo evaluators for a given seed. Raise it whenever an episode
/// of some learner changes, or its evaluation does, so that results of different versions are not mixed.
pub const DRAWS: u32 = 11;
