//! What a learner is told: the world without the transitions it has to find out.

use std::ops::Deref;

use crate::world::World;

/// A world as a learner may see it: structure, horizon, interventions, and those numbers that are given, never the transitions.
///
/// A learner is built from this, so it cannot look at the truth it is judged by.
#[derive(Clone, Debug)]
pub struct Knowledge(World);

impl Knowledge {
    /// All that the paper's learners know: the graph, P(z | s, a) and the rewards as far as the world gives them.
    pub fn of(world: &World) -> Knowledge {
        let mut told = world.clone();
        told.transitions.iter_mut().for_each(|m| m.table = None);
        // A random payment is known by its mean; where episodes start is the world's affair.
        Knowledge(told)
    }

    /// Forgets every mechanism of levers, hidden and key variables: P(z | s, a) has to be learned.
    pub fn without_mechanisms(mut self) -> Knowledge {
        self.0.mechanisms.iter_mut().for_each(|m| m.table = None);
        self
    }

    /// Forgets the rewards: they have to be learned.
    pub fn without_rewards(mut self) -> Knowledge {
        self.0.rewards.iter_mut().for_each(|r| r.table = None);
        self
    }

    /// A short name for exactly this knowledge: equal knowledge has equal fingerprints, other knowledge almost surely not.
    pub fn fingerprint(&self) -> String {
        // FNV-1a over the text of the world: stable across versions, which the standard library's hashes are not.
        let hash = self
            .0
            .to_toml()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        format!("{hash:016x}")
    }

    /// Whether every mechanism within a step is known.
    pub fn knows_mechanisms(&self) -> bool {
        self.0.mechanisms.iter().all(|m| m.table.is_some())
    }

    /// Whether every reward term is known.
    pub fn knows_rewards(&self) -> bool {
        self.0.rewards.iter().all(|r| r.table.is_some())
    }
}

impl Deref for Knowledge {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}
