//! Storage form of a world: its specification as text and its tables as numbers.

use std::sync::Arc;

use super::file::Stated;
use super::{Form, Mechanism, MechanismSpec, RewardForm, VarId, World, WorldError};

/// The storage form of a world; [`World::from_parts`] restores the same world, bit by bit.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldParts {
    /// The world file without its tables.
    pub text: String,
    /// One for each state factor, then one for each mechanism within a step.
    pub mechanisms: Vec<MechanismPart>,
    /// One for each reward term; `None`: unknown.
    pub rewards: Vec<Option<Arc<[f64]>>>,
}

/// One mechanism by names.
#[derive(Clone, Debug, PartialEq)]
pub struct MechanismPart {
    /// The variables that it determines.
    pub children: Vec<String>,
    /// Its parents.
    pub parents: Vec<String>,
    /// Its numbers; `None`: unknown.
    pub table: Option<Arc<[f64]>>,
}

impl World {
    /// Converts to the storage form.
    pub fn to_parts(&self) -> WorldParts {
        let mut bare = self.clone();
        bare.transitions.iter_mut().chain(&mut bare.mechanisms).for_each(|m| m.table = None);
        bare.rewards.iter_mut().for_each(|r| r.table = None);
        let names = |ids: &[VarId]| ids.iter().map(|&id| self.variable(id).name.clone()).collect();
        let part = |m: &Mechanism| MechanismPart {
            children: names(&m.children),
            parents: names(&m.parents),
            table: m.table.clone(),
        };
        WorldParts {
            text: bare.to_toml(),
            mechanisms: self.transitions.iter().chain(&self.mechanisms).map(part).collect(),
            rewards: self.rewards.iter().map(|r| r.table.clone()).collect(),
        }
    }

    /// Restores and validates a world.
    pub fn from_parts(parts: WorldParts) -> Result<World, WorldError> {
        let mut stated = Stated::read(&parts.text, "<parts>", None)?;
        let spec = &mut stated.spec;
        let n_state = spec.transitions.len().min(parts.mechanisms.len());
        let learn: Vec<_> = spec.transitions.iter().chain(&spec.mechanisms).map(|m| m.learn.clone()).collect();
        let children = |m: &MechanismSpec| m.children.iter().filter_map(|c| c.value.get().cloned()).collect::<Vec<_>>();
        let names: Vec<Vec<String>> = spec.transitions.iter().chain(&spec.mechanisms).map(children).collect();
        let said = |of: &[String]| names.iter().position(|s| s == of).and_then(|i| learn[i].clone());
        // Low-rank transitions in the text have no table.
        let none = || if stated.low_rank.is_some() { Form::LowRank } else { Form::Unknown };
        let mut made = parts.mechanisms.into_iter().enumerate().map(|(i, part)| MechanismSpec {
            learn: said(&part.children),
            children: part.children.into_iter().map(Into::into).collect(),
            parents: part.parents.into_iter().map(Into::into).collect(),
            form: match part.table {
                Some(table) => Form::Table(table.to_vec()),
                None if i < n_state => none(),
                None => Form::Unknown,
            },
            at: None,
        });
        spec.transitions = made.by_ref().take(n_state).collect();
        // Behaviour mechanisms are in the text, with their numbers.
        let in_parts: Vec<MechanismSpec> = made.collect();
        let is_in_parts = |m: &MechanismSpec| in_parts.iter().any(|other| children(other) == children(m));
        let behaviour_mechanisms: Vec<MechanismSpec> = spec.mechanisms.drain(..).filter(|m| !is_in_parts(m)).collect();
        spec.mechanisms = in_parts.into_iter().chain(behaviour_mechanisms).collect();
        for (term, table) in spec.rewards.iter_mut().zip(parts.rewards) {
            term.form = table.map_or(RewardForm::Unknown, |t| RewardForm::Table(t.to_vec()));
        }
        stated.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_survives_being_taken_apart() {
        for name in crate::worlds::names() {
            let world = World::from_toml(&crate::worlds::text(name, &[]).unwrap(), name).unwrap();
            let again = World::from_parts(world.to_parts()).unwrap();
            assert_eq!(again.to_toml(), world.to_toml(), "{name}");
        }
    }

    #[test]
    fn damaged_parts_are_refused() {
        let world = World::from_toml(&crate::worlds::text("river-swim", &[]).unwrap(), "river").unwrap();
        let mut parts = world.to_parts();
        parts.mechanisms[0].table = Some(vec![0.5; 3].into());
        assert!(World::from_parts(parts).is_err());
    }
}
