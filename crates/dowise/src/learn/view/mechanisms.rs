//! Unknown P(z | s, a): the mechanisms within a step to learn, with their scopes in the causal graph.

use std::sync::Arc;

use super::projection::project;
use crate::Space;
use crate::kernel::groups;
use crate::learn::LearnResult;
use crate::learn::forms::FormModel;
use crate::world::{VarId, World};

/// Rows of all unknown mechanisms.
#[derive(Clone, Debug)]
pub(crate) struct MechanismRows {
    /// The world with unknown mechanisms rewritten so that each has only observed variables.
    pub(crate) world: World,
    pub(crate) unknown: Vec<MechanismRow>,
}

/// Rows of one mechanism.
#[derive(Clone, Debug)]
pub(crate) struct MechanismRow {
    /// Position among the mechanisms of the rewritten world.
    pub(crate) position: usize,
    /// Joint values of its parents.
    pub(crate) rows: Space,
    /// Number of joint values of its children.
    pub(crate) n_values: usize,
    /// Its parametric model; `None`: each row is learned separately.
    pub(crate) model: Option<Arc<FormModel>>,
    /// A prior guess of its rows, with its weight in visits of each.
    pub(crate) guess: Option<(Arc<[f64]>, f64)>,
    /// The declared mechanisms that it represents.
    pub(crate) made_from: Vec<usize>,
    /// Positions of the levers among its children, as bits: a set lever is uninformative about its own mechanism.
    levers: u64,
}

/// The value of a variable that was not observed.
pub(crate) const MISSING: u32 = u32::MAX;

impl MechanismRows {
    /// `None` if everything is known.
    pub(crate) fn new(knowledge: &World) -> LearnResult<Option<MechanismRows>> {
        let projection = project(knowledge)?;
        let world = projection.world;
        let needed: Vec<usize> = groups::groups(&world).into_iter().flat_map(|g| g.mechanisms).collect();
        let mut unknown = Vec::new();
        for (position, m) in world.mechanisms().iter().enumerate() {
            if m.table.is_some() || !needed.contains(&position) {
                continue;
            }
            let rows = Space::new(&world.sizes(&m.parents)).expect("invariant: a world's tables were counted");
            let n_values = world.sizes(&m.children).iter().product();
            let lever = |id: &VarId| world.levers().iter().position(|l| l == id);
            let levers = m.children.iter().filter_map(lever).fold(0, |bits, l| bits | 1 << l);
            let model = FormModel::new(knowledge, &projection.made_from[position], m)?.map(Arc::new);
            let made_from = projection.made_from[position].clone();
            let guess = m.assumed.guess.clone().zip(m.assumed.weight);
            unknown.push(MechanismRow { position, rows, n_values, model, guess, made_from, levers });
        }
        Ok(if unknown.is_empty() { None } else { Some(MechanismRows { world, unknown }) })
    }

    /// Number of distributions, for any form.
    pub(crate) fn rows(&self) -> usize {
        self.unknown.iter().map(|m| m.rows.len()).sum()
    }

    /// Number of distributions or parameters to learn.
    pub(crate) fn cells(&self) -> usize {
        self.unknown.iter().map(|m| m.model.as_ref().map_or(m.rows.len(), |model| model.n_parameters())).sum()
    }

    /// Row and joint value of a mechanism in a step with these values of all variables (by [`VarId`]); `None` if the
    /// step is uninformative: a child was set (`set` has the levers as bits), or a value is missing.
    pub(crate) fn place(&self, of: &MechanismRow, set: u64, values: &[u32]) -> Option<(usize, usize)> {
        let m = &self.world.mechanisms()[of.position];
        if of.levers & set != 0 {
            return None;
        }
        let mut row = 0;
        for (id, stride) in m.parents.iter().zip(of.rows.strides()) {
            let value = values[id.ix()];
            if value == MISSING {
                return None;
            }
            row += value as usize * stride;
        }
        let mut joint = 0;
        for id in &m.children {
            let value = values[id.ix()];
            if value == MISSING {
                return None;
            }
            joint = joint * self.world.variable(*id).size() + value as usize;
        }
        Some((row, joint))
    }
}
