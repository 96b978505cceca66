//! The world: a causal MDP with variables, graph, mechanisms, rewards and horizon; validated and immutable.

mod allowed;
mod analysis;
mod assumed;
mod basis;
mod build;
mod builder;
mod continuation;
mod factored_view;
mod features;
pub(crate) mod file;
mod interventions;
mod low_rank;
mod naming;
mod parts;
mod problem;
mod size;
mod spec;
mod step_dag;
mod variable;
mod write;
mod written;

use std::sync::Arc;

pub(crate) use allowed::{any_allowed, n_allowed, some_allowed};
pub use analysis::{Analysis, Bound, Cells, Unknown, VariableSize};
pub use assumed::{Assumed, LearnedForm};
pub(crate) use assumed::{FormEffect, FormNumbers};
pub(crate) use basis::Basis;
pub(crate) use build::{MOST_VALUES, MOST_VALUES_IN_ALL, adjusted, spread, too_many_values};
pub use builder::{Names, Values, WorldBuilder};
pub(crate) use continuation::Continuation;
pub use continuation::{Feature, Unsupported};
pub use factored_view::{Dependent, FactoredView, Outside};
pub use features::FeatureMap;
pub use interventions::{Action, Forbid, Interventions, LeverRule};
pub use low_rank::LowRank;
pub use naming::{Given, GivenValue, NamingError};
pub use parts::{MechanismPart, WorldParts};
pub use problem::WorldError;
pub use spec::*;
pub use variable::{Kind, VarId, Variable};
pub use written::{Name, Number, Written};

use crate::Space;
pub use crate::diagnostics::{At, Finding, Located, Place, Problem, Severity, Source};

/// P(children | parents), as a table or unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanism {
    /// The variables that it determines (for a transition: the state factor of the next value).
    pub children: Vec<VarId>,
    /// Its parents.
    pub parents: Vec<VarId>,
    /// Rows over the parents (first slowest), in each row the children's values (first slowest); `None`: to be learned.
    pub table: Option<Arc<[f64]>>,
    /// Assumptions of learners about it.
    pub assumed: Assumed,
}

/// One reward term: a number for every configuration of its scope.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardTerm {
    /// Its name.
    pub name: String,
    /// Its scope: state factors, key variables, levers.
    pub scope: Vec<VarId>,
    /// State factors whose next values are also in its scope.
    pub next: Vec<VarId>,
    /// Expected reward for every configuration (first of the scope slowest, then the next values); `None`: unknown.
    pub table: Option<Arc<[f64]>>,
    /// Least and greatest payment of this term.
    pub range: [f64; 2],
    /// Whether payments are random: one end of `range`, with the table's mean.
    pub random: bool,
    /// Whether the table is unknown to learners.
    pub learned: bool,
}

/// The initial-state distribution.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// Independent state factors: one distribution each.
    Product(Vec<Vec<f64>>),
    /// These states with these probabilities.
    States(Vec<(usize, f64)>),
}

/// Terminal states: the episode ends before the horizon, without further interventions or rewards.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The conditions as specified: any of these.
    pub conditions: Vec<Condition>,
    /// Whether each state is terminal.
    pub states: Arc<[bool]>,
}

/// A causal MDP: variables, mechanisms, rewards, horizon, interventions and initial states.
///
/// [`World::new`] validates everything; after that code may index freely.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) horizon: usize,
    /// The discount factor per step.
    pub(crate) discount: f64,
    /// Terminal states before the horizon.
    pub(crate) ends: Option<Ends>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) state: Vec<VarId>,
    pub(crate) levers: Vec<VarId>,
    pub(crate) keys: Vec<VarId>,
    pub(crate) hidden: Vec<VarId>,
    /// One for each state factor, in the order of `state`.
    pub(crate) transitions: Vec<Mechanism>,
    /// Parents before children. Every key and hidden variable is the child of exactly one, a lever of at most one.
    pub(crate) mechanisms: Vec<Mechanism>,
    /// Behaviour mechanisms: parents of levers that every intervention sets.
    pub(crate) behaviour_mechanisms: Vec<Mechanism>,
    /// Levers that the file declares to be set by nothing, so that they share no hidden cause with other levers.
    pub(crate) unmoved: Vec<String>,
    pub(crate) rewards: Vec<RewardTerm>,
    pub(crate) reward_range: [f64; 2],
    pub(crate) interventions: Interventions,
    pub(crate) start: Start,
    pub(crate) state_space: Space,
    pub(crate) features: Option<FeatureMap>,
    /// Low-rank transitions; then no transition has a table.
    pub(crate) low_rank: Option<LowRank>,
    /// Adjacent state factors whose next values learners count jointly, because graph repair found them dependent; they
    /// have the same parents. A world file cannot declare this.
    pub(crate) joined: Vec<std::ops::Range<usize>>,
    /// Whether next values of different factors are dependent given the joint key values, as in low-rank worlds, known
    /// or not.
    pub(crate) tied: bool,
    /// The time index as a state factor, if there is one.
    pub(crate) time_index: Option<VarId>,
    pub(crate) findings: Vec<Problem>,
    /// The texts that it was read from, for the locations of `findings`.
    pub(crate) sources: Vec<Source>,
}

impl World {
    /// Title.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same world with this title, unless it already has one.
    pub fn or_named(mut self, name: &str) -> World {
        if self.name.trim().is_empty() {
            self.name = name.to_owned();
        }
        self
    }

    /// A short description.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Number of steps in an episode (H).
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// The discount factor per step; 1 without discounting.
    pub fn discount(&self) -> f64 {
        self.discount
    }

    /// Terminal states before the horizon, if there are any.
    pub fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// The time index as a state factor, if there is one: `stage`, from 1.
    pub fn time_index(&self) -> Option<VarId> {
        self.time_index
    }

    /// Whether a state can occur at a stage (from 0): its time index, if there is one, equals that stage.
    pub fn occurs_at(&self, stage: usize, state: usize) -> bool {
        self.time_index.is_none_or(|id| self.state_space.digit(state, self.state_axis(id)) == stage)
    }

    /// Whether a state is terminal.
    pub fn has_ended(&self, state: usize) -> bool {
        self.ended().is_some_and(|ended| ended[state])
    }

    /// For each state, whether it is terminal; `None` if there are no terminal states.
    pub(crate) fn ended(&self) -> Option<&[bool]> {
        self.ends.as_ref().map(|ends| &ends.states[..])
    }

    /// All variables.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// One variable.
    pub fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.ix()]
    }

    /// The variable with this name.
    pub fn find(&self, name: &str) -> Option<VarId> {
        self.variables.iter().position(|v| v.name == name).map(|i| VarId(i as u16))
    }

    /// State factors, in order.
    pub fn state(&self) -> &[VarId] {
        &self.state
    }

    /// Levers, in order.
    pub fn levers(&self) -> &[VarId] {
        &self.levers
    }

    /// Key variables, in order.
    pub fn keys(&self) -> &[VarId] {
        &self.keys
    }

    /// Hidden variables, in order.
    pub fn hidden(&self) -> &[VarId] {
        &self.hidden
    }

    /// P(next value | scope), one for each state factor.
    pub fn transitions(&self) -> &[Mechanism] {
        &self.transitions
    }

    /// P(children | parents) within a step, parents before children.
    pub fn mechanisms(&self) -> &[Mechanism] {
        &self.mechanisms
    }

    /// Behaviour mechanisms: parents of levers that every intervention sets. Plans do not need them, but the behaviour
    /// policy of a log may depend on them: a hidden parent that also affects the outcome confounds the lever's effect.
    pub fn behaviour_mechanisms(&self) -> &[Mechanism] {
        &self.behaviour_mechanisms
    }

    /// Reward terms.
    pub fn rewards(&self) -> &[RewardTerm] {
        &self.rewards
    }

    /// Least and greatest reward of one step, before costs.
    pub fn reward_range(&self) -> [f64; 2] {
        self.reward_range
    }

    /// The allowed interventions and their costs.
    pub fn interventions(&self) -> &Interventions {
        &self.interventions
    }

    /// A fixed intervention that is allowed in a state, for states without a decision.
    pub fn some_action(&self, state: usize) -> Action {
        some_allowed(&self.interventions, &self.state_space.digits(state))
            .expect("invariant: every state has an allowed intervention")
    }

    /// Whether there is a decision in a state at a stage (from 0): it is not terminal and can occur there.
    pub fn decides_at(&self, stage: usize, state: usize) -> bool {
        !self.has_ended(state) && self.occurs_at(stage, state)
    }

    /// The initial-state distribution over all states.
    pub fn start_distribution(&self) -> Vec<f64> {
        match &self.start {
            Start::States(states) => {
                let mut out = vec![0.0; self.n_states()];
                states.iter().for_each(|&(s, p)| out[s] += p);
                out
            }
            Start::Product(factors) => factors
                .iter()
                .fold(vec![1.0], |out, factor| out.iter().flat_map(|p| factor.iter().map(move |q| p * q)).collect()),
        }
    }

    /// The initial-state distribution.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// The state as a product of its factors; its length is S.
    pub fn state_space(&self) -> &Space {
        &self.state_space
    }

    /// Number of features (d) for linear learners; `None` if there are none, or too many to count.
    pub fn n_features(&self) -> Option<u64> {
        self.features().and_then(|map| map.dimension(self)).and_then(|d| d.try_into().ok())
    }

    /// Whether states are enumerable at every stage. Otherwise plans and tables are impossible;
    /// [`LinearLearner`](crate::linear::LinearLearner) learns from visited states.
    pub fn is_enumerable(&self) -> bool {
        build::is_enumerable(&self.state_space, self.horizon)
    }

    /// Number of states (S).
    pub fn n_states(&self) -> usize {
        self.state_space.len()
    }

    /// The features φ(s, z) that the world carries for linear learners, if any.
    pub fn features(&self) -> Option<&FeatureMap> {
        self.features.as_ref()
    }

    /// Warnings and notes from validation.
    pub fn findings(&self) -> &[Problem] {
        &self.findings
    }

    /// The texts that the world was read from, for the locations of [`World::findings`].
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The variables besides the state that the next state or the reward depends on: key variables with effects, in
    /// order, then levers with direct effects (hybrid worlds). Their joint values are the configurations (Z).
    pub fn cause_variables(&self) -> Vec<VarId> {
        let acts = |id: &VarId| {
            self.transitions.iter().any(|m| m.parents.contains(id)) || self.rewards.iter().any(|r| r.scope.contains(id))
        };
        self.keys.iter().chain(&self.levers).filter(|id| acts(id)).copied().collect()
    }

    /// Sizes of these variables' domains.
    pub fn sizes(&self, ids: &[VarId]) -> Vec<usize> {
        ids.iter().map(|&id| self.variable(id).size()).collect()
    }

    /// Whether all transitions are known.
    pub(crate) fn knows_transitions(&self) -> bool {
        self.low_rank.is_some() || self.transitions.iter().all(|m| m.table.is_some())
    }

    /// Whether everything is known, so that the world can be simulated and planned in.
    pub fn is_fully_known(&self) -> bool {
        self.knows_transitions()
            && self.mechanisms.iter().all(|m| m.table.is_some())
            && self.rewards.iter().all(|r| r.table.is_some())
    }
}
