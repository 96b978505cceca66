//! Parameters excluded from a fit: their numbers stay as in the world file.

use std::collections::BTreeSet;

use super::FitError;
use crate::kernel::groups;
use crate::learn::Knowledge;
use crate::messages::nearest;
use crate::world::{Mechanism, RewardTerm, World};

/// Words that stand for all names of a kind.
const WORDS: [&str; 4] = ["mechanisms", "rewards", "transitions", "start"];

/// Variables and reward terms whose numbers stay, and whether the start stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) names: BTreeSet<String>,
    pub(super) start: bool,
}

impl Kept {
    /// Parses words and names; reports all errors at once.
    pub(super) fn read(world: &World, asked: &[String]) -> Result<Kept, FitError> {
        let mut kept = Kept::default();
        let mut wrong = Vec::new();
        let name = |m: &Mechanism| world.variable(m.children[0]).name.clone();
        for word in asked {
            let mechanisms = world.mechanisms().iter().filter(|m| m.table.is_some()).map(name);
            let transitions = world.transitions().iter().filter(|m| m.table.is_some()).map(name);
            let rewards = world.rewards().iter().filter(|r| r.table.is_some()).map(|r| r.name.clone());
            match word.as_str() {
                "start" => kept.start = true,
                "mechanisms" => kept.names.extend(mechanisms),
                "transitions" => kept.names.extend(transitions),
                "rewards" => kept.names.extend(rewards),
                _ => match numbers_of(world, word) {
                    Some(true) => drop(kept.names.insert(word.clone())),
                    Some(false) => {
                        wrong.push(format!("\"{word}\" has no numbers in the world file that could be kept"))
                    }
                    None => {
                        let variables = world.variables().iter().map(|v| v.name.as_str());
                        let names = variables.chain(world.rewards().iter().map(|r| r.name.as_str())).chain(WORDS);
                        let meant = nearest(word, names).map_or(String::new(), |n| format!(" (did you mean \"{n}\"?)"));
                        wrong.push(format!("there is no variable or reward term \"{word}\"{meant}"));
                    }
                },
            }
        }
        // The time index is deterministic and never learned.
        kept.names.extend(world.time_index().map(|id| world.variable(id).name.clone()));
        if wrong.is_empty() { Ok(kept) } else { Err(FitError::Keep { wrong }) }
    }

    /// Whether a mechanism or transition is kept.
    pub(super) fn has(&self, world: &World, m: &Mechanism) -> bool {
        m.children.iter().any(|&id| self.names.contains(&world.variable(id).name))
    }

    /// The world without fitted numbers: the knowledge for counting evidence.
    pub(super) fn skeleton(&self, world: &World) -> Knowledge {
        let mut bare = world.clone();
        for &m in &needed(world) {
            if self.has(world, &world.mechanisms[m]) {
                bare.mechanisms[m].assumed.learned = false;
            } else {
                bare.mechanisms[m].forget();
            }
        }
        let fitted = |r: &&mut RewardTerm| !self.names.contains(&r.name);
        bare.rewards.iter_mut().filter(fitted).for_each(|r| r.table = None);
        // Kept numbers are known, also those that learners of the world would have to learn.
        bare.rewards.iter_mut().for_each(|r| r.learned &= !self.names.contains(&r.name));
        let knowledge: Vec<&str> = world
            .transitions
            .iter()
            .filter(|m| m.table.is_some() && self.has(world, m))
            .map(|m| world.variable(m.children[0]).name.as_str())
            .collect();
        Knowledge::of(&bare)
            .with_transitions_of(world, &knowledge)
            .expect("invariant: only factors that have numbers are kept")
    }
}

/// Mechanisms with relevant descendants; the others do not affect any outcome.
pub(super) fn needed(world: &World) -> Vec<usize> {
    let mut needed: Vec<usize> = groups::groups(world).into_iter().flat_map(|g| g.mechanisms).collect();
    needed.sort_unstable();
    needed
}

/// Whether the variable or reward term of this name has numbers; `None` if the name is unknown.
fn numbers_of(world: &World, name: &str) -> Option<bool> {
    let of = |m: &&Mechanism| m.children.iter().any(|&id| world.variable(id).name == name);
    let mechanism = world.transitions().iter().chain(world.mechanisms()).find(of).map(|m| m.table.is_some());
    let term = world.rewards().iter().find(|r| r.name == name).map(|r| r.table.is_some());
    match (mechanism, term) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(false) || b.unwrap_or(false)),
    }
}
