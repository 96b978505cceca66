//! The causal graph within one step as a [`Dag`]: a node for each variable, by its [`VarId`].

use super::{Mechanism, VarId, World};
use crate::graph::Dag;

impl World {
    /// The arrows within a step that interventions act through: those of the mechanisms.
    pub(crate) fn mechanism_dag(&self) -> Dag {
        self.dag(self.mechanisms.iter().map(|m| (m, &[][..])))
    }

    /// The arrows within a step of a log: those of the mechanisms, and of the behaviour mechanisms by which levers may have been set.
    /// Nothing acts on the levers in `cut` but their behaviour mechanisms.
    pub(crate) fn step_dag(&self, cut: &[VarId]) -> Dag {
        self.dag(self.mechanisms.iter().map(|m| (m, cut)).chain(self.behaviour_mechanisms.iter().map(|m| (m, &[][..]))))
    }

    fn dag<'a>(&self, mechanisms: impl Iterator<Item = (&'a Mechanism, &'a [VarId])>) -> Dag {
        let mut parents = vec![Vec::new(); self.variables.len()];
        for (mechanism, cut) in mechanisms {
            for child in mechanism.children.iter().filter(|id| !cut.contains(id)) {
                parents[child.ix()].extend(mechanism.parents.iter().map(|p| p.ix()));
            }
        }
        Dag::new(parents)
    }
}
