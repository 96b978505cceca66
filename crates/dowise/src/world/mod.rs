//! A world: a whole problem, checked when it is made and immutable afterwards.

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
pub(crate) mod unread;
mod variable;
mod write;

use std::sync::Arc;

pub(crate) use allowed::{any_allowed, n_allowed, some_allowed};
pub use analysis::{Analysis, Bound, Cells, Unknown, VariableSize};
pub use assumed::{Assumed, LearnedForm};
pub(crate) use assumed::{FormEffect, FormNumbers};
pub(crate) use basis::Basis;
pub(crate) use build::{MOST_VALUES, MOST_VALUES_IN_ALL, nearest, too_many_values};
pub use builder::{Names, Values, WorldBuilder};
pub(crate) use continuation::Continuation;
pub use continuation::{Feature, Unsupported};
pub use factored_view::{Dependent, FactoredView, Outside};
pub use features::FeatureMap;
pub use interventions::{Action, Forbid, Interventions, LeverRule};
pub use low_rank::LowRank;
pub use naming::{Given, GivenValue, NamingError};
pub use parts::{MechanismPart, WorldParts};
pub use problem::{At, Finding, Located, Place, Problem, Severity, Source, WorldError};
pub use spec::*;
pub use variable::{Kind, VarId, Variable};

use crate::Space;

/// P(children | parents), as a table or still to be learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanism {
    /// The variables it decides (for a transition: the state factor whose next value it decides).
    pub children: Vec<VarId>,
    /// What it depends on.
    pub parents: Vec<VarId>,
    /// Rows over the parents (first slowest), in each row the children's values (first slowest); `None`: to be learned.
    pub table: Option<Arc<[f64]>>,
    /// What those assume who have to learn it.
    pub assumed: Assumed,
}

/// One term of the reward: a number for every combination of its scope.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardTerm {
    /// Its name.
    pub name: String,
    /// What it depends on: state factors, key variables, levers.
    pub scope: Vec<VarId>,
    /// State factors whose next values it depends on as well.
    pub next: Vec<VarId>,
    /// Expected reward for every combination (first of the scope slowest, then the next values); `None`: to be learned.
    pub table: Option<Arc<[f64]>>,
    /// Least and greatest reward of this term that one may receive.
    pub range: [f64; 2],
    /// Whether the reward received is random: one end of `range`, with the table's mean.
    pub random: bool,
    /// Whether learners are not known the table.
    pub learned: bool,
}

/// Where episodes start.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// Independently for each state factor: one distribution each.
    Product(Vec<Vec<f64>>),
    /// These states with these probabilities.
    States(Vec<(usize, f64)>),
}

/// Where episodes end before the horizon: no intervention follows, and nothing is paid after.
#[derive(Clone, Debug)]
pub struct Ends {
    /// As it was stated: any of these.
    pub conditions: Vec<Condition>,
    /// Whether an episode has ended, state by state.
    pub states: Arc<[bool]>,
}

/// A whole problem: variables, mechanisms, rewards, horizon, interventions and start.
///
/// Everything is checked by [`World::new`]; after that code may index freely.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) horizon: usize,
    /// How much less a reward counts with every step that it comes later.
    pub(crate) discount: f64,
    /// Where episodes end before the horizon.
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
    /// What acts on levers that every intervention sets.
    pub(crate) habits: Vec<Mechanism>,
    pub(crate) rewards: Vec<RewardTerm>,
    pub(crate) reward_range: [f64; 2],
    pub(crate) interventions: Interventions,
    pub(crate) start: Start,
    pub(crate) state_space: Space,
    pub(crate) features: Option<FeatureMap>,
    /// How the state moves, where that is stated by anchors; no transition has a table then.
    pub(crate) low_rank: Option<LowRank>,
    /// The state factor that counts the steps, if there is one.
    /// State factors next to each other whose next values learners count together, because they were found to depend on each other;
    /// they have the same parents. No world file says so.
    pub(crate) joined: Vec<std::ops::Range<usize>>,
    /// Whether next values of different factors depend on each other once their causes are known: the rows of a world of low rank do, also
    /// where they are not known.
    pub(crate) tied: bool,
    pub(crate) clock: Option<VarId>,
    pub(crate) findings: Vec<Problem>,
    /// The texts that it was read from, for the places of `findings`.
    pub(crate) sources: Vec<Source>,
}

impl World {
    /// Title.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same world with this title, unless it has one.
    pub fn or_named(mut self, name: &str) -> World {
        if self.name.trim().is_empty() {
            self.name = name.to_owned();
        }
        self
    }

    /// A sentence or two for people.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Number of steps in an episode (H).
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// How much less a reward counts with every step that it comes later; 1 where all steps count alike.
    pub fn discount(&self) -> f64 {
        self.discount
    }

    /// Where episodes end before the horizon, if they can.
    pub fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// The state factor that counts the steps, if there is one: `stage`, from 1.
    pub fn clock(&self) -> Option<VarId> {
        self.clock
    }

    /// Whether a state can occur at a stage (from 0): its clock, if there is one, shows that stage.
    pub fn occurs_at(&self, stage: usize, state: usize) -> bool {
        self.clock.is_none_or(|id| self.state_space.digit(state, self.state_axis(id)) == stage)
    }

    /// Whether an episode that reaches this state has ended.
    pub fn has_ended(&self, state: usize) -> bool {
        self.ended().is_some_and(|ended| ended[state])
    }

    /// For each state, whether an episode that reaches it has ended; `None` if no state ends an episode.
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

    /// What acts on levers that every intervention sets. No plan needs it, but whoever chose in a log may have gone by it: where
    /// that is hidden and moves an effect as well, the log does not say what setting the lever does.
    pub fn habits(&self) -> &[Mechanism] {
        &self.habits
    }

    /// Reward terms.
    pub fn rewards(&self) -> &[RewardTerm] {
        &self.rewards
    }

    /// Least and greatest reward of one step, costs not counted.
    pub fn reward_range(&self) -> [f64; 2] {
        self.reward_range
    }

    /// Which interventions are allowed, and what they cost.
    pub fn interventions(&self) -> &Interventions {
        &self.interventions
    }

    /// An intervention that is allowed in a state, always the same: for states in which nothing is decided.
    pub fn some_action(&self, state: usize) -> Action {
        some_allowed(&self.interventions, &self.state_space.digits(state))
            .expect("invariant: every state has an allowed intervention")
    }

    /// Whether anything is decided in a state at a stage (from 0): the episode has not ended and the state can occur there.
    pub fn decides_at(&self, stage: usize, state: usize) -> bool {
        !self.has_ended(state) && self.occurs_at(stage, state)
    }

    /// How likely an episode starts in each state.
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

    /// Where episodes start.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// The state as a product of its factors; its length is S.
    pub fn state_space(&self) -> &Space {
        &self.state_space
    }

    /// Number of features (d) that the world states, for regressions; `None` if it has none, or more than can be counted.
    pub fn n_features(&self) -> Option<u64> {
        self.features().and_then(|map| map.dimension(self)).and_then(|d| d.try_into().ok())
    }

    /// Whether states are few enough to be enumerated, at every stage. In a world whose states are not, plans and tables cannot be made;
    /// [`VisitedStatesLearner`](crate::linear::VisitedStatesLearner) learns from the states that it meets.
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

    /// Warnings and notes found while the world was checked.
    pub fn findings(&self) -> &[Problem] {
        &self.findings
    }

    /// The texts that the world was read from: what the places of [`World::findings`] point into.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The variables that the next state or the reward depends on besides the state: key variables that act,
    /// in order, then levers that act directly (hybrid worlds). Their joint values are the causes (Z).
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

    /// Whether it is known how every state factor moves.
    pub(crate) fn knows_transitions(&self) -> bool {
        self.low_rank.is_some() || self.transitions.iter().all(|m| m.table.is_some())
    }

    /// Whether every mechanism and reward is known, so that the world can be simulated and planned in.
    pub fn is_fully_known(&self) -> bool {
        self.knows_transitions()
            && self.mechanisms.iter().all(|m| m.table.is_some())
            && self.rewards.iter().all(|r| r.table.is_some())
    }
}
