//! Prior knowledge of a learner: the structure of a world and its known parameters, without the unknown ones.

use std::sync::Arc;

use super::error::{LearnError, LearnResult};
use crate::Space;
use crate::hash::fnv;
use crate::messages::nearest;
use crate::world::{
    Assumed, FeatureMap, Interventions, Kind, LearnedForm, Mechanism, RewardTerm, Start, VarId, Variable, World,
};

/// Prior knowledge of a learner about a world: variables, graph, horizon, interventions, and known parameters.
///
/// A learner is built from this, so it cannot look at the truth it is evaluated by: transitions that it has to learn, where
/// episodes start, and the text of the world file are removed when it is made. Cloning shares one copy.
///
/// ```
/// use dowise::{Knowledge, World, worlds};
/// let world = World::from_toml(&worlds::text("campaign", &[])?, "campaign.toml")?;
/// let knowledge = Knowledge::of(&world).with_transitions_of(&world, &["purse"])?.without_rewards();
/// assert!(knowledge.knows_mechanisms() && !knowledge.knows_rewards());
/// assert_eq!(knowledge.known_transitions(), ["purse"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Knowledge(Arc<World>);

impl Knowledge {
    /// The knowledge of the paper's learners: the graph, P(z | s, a) and the rewards as far as the world gives them.
    pub fn of(world: &World) -> Knowledge {
        let mut knowledge = world.clone();
        forget_transitions(&mut knowledge);
        knowledge.mechanisms.iter_mut().filter(|m| m.assumed.learned).for_each(Mechanism::forget);
        knowledge.rewards.iter_mut().filter(|r| r.learned).for_each(|r| r.table = None);
        knowledge.start = Start::States(Vec::new());
        knowledge.about.clear();
        knowledge.findings.clear();
        knowledge.sources.clear();
        Knowledge(Arc::new(knowledge))
    }

    /// Adds the known P(next value | scope) of these state factors, which need not be learned.
    pub fn with_transitions_of(mut self, world: &World, factors: &[&str]) -> LearnResult<Knowledge> {
        let knowledge = Arc::make_mut(&mut self.0);
        for &name in factors {
            let names = || world.state().iter().map(|&id| world.variable(id).name.as_str());
            let Some(i) = names().position(|n| n == name) else {
                let factor = name.to_owned();
                let nearest = nearest(name, names()).map(str::to_owned);
                return Err(LearnError::NoFactor { factor, nearest, factors: names().map(str::to_owned).collect() });
            };
            if world.transitions[i].table.is_none() {
                return Err(LearnError::NotGiven { factor: name.to_owned() });
            }
            knowledge.transitions[i].table = world.transitions[i].table.clone();
        }
        Ok(self)
    }

    /// Makes every mechanism of levers, hidden and key variables unknown: P(z | s, a) has to be learned.
    pub fn without_mechanisms(mut self) -> Knowledge {
        Arc::make_mut(&mut self.0).mechanisms.iter_mut().for_each(Mechanism::forget);
        self
    }

    /// Removes the parametric forms of mechanisms: each row is learned separately.
    pub fn without_forms(mut self) -> Knowledge {
        let mechanisms = &mut Arc::make_mut(&mut self.0).mechanisms;
        mechanisms.iter_mut().for_each(|m| (m.assumed.form, m.assumed.sd) = (LearnedForm::Table, None));
        self
    }

    /// Makes the rewards unknown.
    pub fn without_rewards(mut self) -> Knowledge {
        Arc::make_mut(&mut self.0).rewards.iter_mut().for_each(|r| r.table = None);
        self
    }

    /// Makes known transitions unknown.
    pub(crate) fn without_transitions(mut self) -> Knowledge {
        forget_transitions(Arc::make_mut(&mut self.0));
        self
    }

    /// The same with some part of the structure changed; the caller keeps what holds for every world.
    pub(crate) fn changed(mut self, change: impl FnOnce(&mut World)) -> Knowledge {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// A short name for exactly this knowledge: equal knowledge has equal fingerprints, other knowledge almost surely not.
    /// Title and description of the world play no part.
    pub fn fingerprint(&self) -> String {
        let mut plain = World::clone(&self.0);
        plain.name.clear();
        // How a mechanism could be learned does not matter to those who know it.
        plain.mechanisms.iter_mut().filter(|m| m.table.is_some()).for_each(|m| m.assumed = Assumed::default());
        // Nor does it matter which rewards were to be learned.
        plain.rewards.iter_mut().for_each(|r| r.learned = false);
        format!("{:016x}", fnv(plain.to_toml().as_bytes()))
    }

    /// Whether every mechanism within a step is known.
    pub fn knows_mechanisms(&self) -> bool {
        self.0.mechanisms.iter().all(|m| m.table.is_some())
    }

    /// Whether every reward term is known.
    pub fn knows_rewards(&self) -> bool {
        self.0.rewards.iter().all(|r| r.table.is_some())
    }

    /// Reward terms whose expected value has to be learned: those that are not known, and those that pay by the present and the next
    /// state together while how that comes about is not known.
    pub fn learned_rewards(&self) -> Vec<&str> {
        let world = self.world();
        world.rewards.iter().filter(|r| world.mean_is_learned(r)).map(|r| r.name.as_str()).collect()
    }

    /// Key and hidden variables whose mechanisms are given.
    pub fn known_mechanisms(&self) -> Vec<&str> {
        self.names_of(|m| m.table.is_some())
    }

    /// Key and hidden variables whose mechanisms are learned beginning with a guess.
    pub fn guessed_mechanisms(&self) -> Vec<&str> {
        self.names_of(|m| m.table.is_none() && m.assumed.guess.is_some())
    }

    fn names_of(&self, which: impl Fn(&Mechanism) -> bool) -> Vec<&str> {
        let children = self.0.mechanisms.iter().filter(|m| which(m)).flat_map(|m| &m.children);
        let inner = children.map(|&id| self.0.variable(id)).filter(|v| matches!(v.kind, Kind::Key | Kind::Hidden));
        inner.map(|v| v.name.as_str()).collect()
    }

    /// State factors whose transitions are given.
    pub fn known_transitions(&self) -> Vec<&str> {
        let knowledge = self.0.transitions.iter().zip(&self.0.state).filter(|(m, _)| m.table.is_some());
        knowledge.map(|(_, &id)| self.0.variable(id).name.as_str()).collect()
    }

    /// Title of the world.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Number of steps in an episode (H).
    pub fn horizon(&self) -> usize {
        self.0.horizon()
    }

    /// All variables.
    pub fn variables(&self) -> &[Variable] {
        self.0.variables()
    }

    /// One variable.
    pub fn variable(&self, id: VarId) -> &Variable {
        self.0.variable(id)
    }

    /// State factors, in order.
    pub fn state(&self) -> &[VarId] {
        self.0.state()
    }

    /// Levers, in order.
    pub fn levers(&self) -> &[VarId] {
        self.0.levers()
    }

    /// Key variables, in order.
    pub fn keys(&self) -> &[VarId] {
        self.0.keys()
    }

    /// Reward terms; those that have to be learned have no table.
    pub fn rewards(&self) -> &[RewardTerm] {
        self.0.rewards()
    }

    /// Least and greatest reward of one step, costs not counted.
    pub fn reward_range(&self) -> [f64; 2] {
        self.0.reward_range()
    }

    /// Which interventions are allowed, and what they cost.
    pub fn interventions(&self) -> &Interventions {
        self.0.interventions()
    }

    /// The state as a product of its factors; its length is S.
    pub fn state_space(&self) -> &Space {
        self.0.state_space()
    }

    /// Number of states (S).
    pub fn n_states(&self) -> usize {
        self.0.n_states()
    }

    /// The features φ(s, z) that the world carries for linear learners, if any.
    pub fn features(&self) -> Option<&FeatureMap> {
        self.0.features()
    }

    /// Whether a learner with this knowledge can run in a world: states, interventions, key variables, reward terms,
    /// horizon, discount and terminal states are the same. Edges and parameters may differ.
    pub fn can_play(&self, world: &World) -> bool {
        self.variables() == world.variables()
            && self.interventions() == world.interventions()
            && self.rewards().len() == world.rewards().len()
            && self.horizon() == world.horizon()
            && self.0.discount() == world.discount()
            && self.0.ends().map(|ends| &ends.states) == world.ends().map(|ends| &ends.states)
    }

    /// The world without its unknown parameters: the basis of kernels and layouts.
    pub(crate) fn world(&self) -> &World {
        &self.0
    }
}

/// Makes the transitions of state factors unknown, except for the time index.
fn forget_transitions(world: &mut World) {
    world.tied |= world.low_rank.take().is_some();
    let time_index = world.time_index;
    world.transitions.iter_mut().filter(|m| time_index != Some(m.children[0])).for_each(|m| m.table = None);
}
