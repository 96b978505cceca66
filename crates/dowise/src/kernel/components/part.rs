//! One component: its key variables, next values, and row indices of transition and reward tables.

use super::causes_of;
use super::shape::{PartShape, Term};
use crate::Space;
use crate::kernel::CauseSpace;
use crate::kernel::group::{Columns, Group, rows_of_states};
use crate::kernel::groups::GroupShape;
use crate::kernel::prune::Setting;
use crate::kernel::rows_by_cause;
use crate::world::World;

/// A component of a world.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) shape: PartShape,
    /// Its levers and state factors as a group whose configurations are next values.
    pub(super) group: GroupShape,
    pub(super) rows_of_states: Vec<u32>,
    pub(super) n_causes: usize,
    /// The joint next values of its factors.
    pub(super) block: Space,
    /// Its rows: joint values of the state factors that it depends on.
    pub(super) row_space: Space,
    /// For each of its factors, the row of the factor's own table, `[row][cause]`.
    pub(super) factor_rows: Vec<Vec<u32>>,
    /// The same for its reward terms.
    pub(super) term_rows: Vec<Vec<u32>>,
}

impl Part {
    /// `groups` are those of the world.
    pub(super) fn new(world: &World, groups: &[GroupShape], terms: &[Term], shape: PartShape) -> Part {
        let space = world.state_space();
        let variables = causes_of(groups, &shape);
        let sizes = world.sizes(&variables);
        let causes = Space::new(&sizes).expect("invariant: a part has no more causes than its world");
        let causes = CauseSpace { variables, space: causes };
        let of = |factors: &[usize]| {
            let sizes: Vec<usize> = factors.iter().map(|&f| space.sizes()[f]).collect();
            Space::new(&sizes).expect("invariant: some state factors have no more values than all of them")
        };
        let (row_space, block) = (of(&shape.state), of(&shape.factors));
        let own_rows = |ids: &[crate::world::VarId]| -> Vec<u32> {
            rows_by_cause(world, ids, &shape.state, &causes).into_iter().map(|r| r as u32).collect()
        };
        let group = GroupShape {
            causes: shape.factors.iter().map(|&f| world.state()[f]).collect(),
            levers: shape.groups.iter().flat_map(|&g| groups[g].levers.iter().copied()).collect(),
            mechanisms: Vec::new(),
            state: shape.state.clone(),
        };
        Part {
            group,
            rows_of_states: rows_of_states(space, &shape.state, &row_space),
            n_causes: causes.len(),
            row_space,
            factor_rows: shape.factors.iter().map(|&f| own_rows(&world.transitions()[f].parents)).collect(),
            term_rows: shape.terms.iter().map(|&t| own_rows(&terms[t].scope)).collect(),
            block,
            shape,
        }
    }

    pub(super) fn row_of(&self, state: usize) -> usize {
        self.rows_of_states.get(state).map_or(0, |&row| row as usize)
    }

    /// Reward of a configuration in a row.
    pub(super) fn paid(&self, rewards: &[&[f64]], row: usize, cause: usize) -> f64 {
        let terms = self.shape.terms.iter().zip(&self.term_rows);
        terms.map(|(&t, rows)| rewards[t][rows[row * self.n_causes + cause] as usize]).sum()
    }

    /// P(joint next value | row, cause); `next` returns a factor's probability from its own table.
    pub(super) fn moved(
        &self,
        row: usize,
        cause: usize,
        block: usize,
        next: impl Fn(usize, usize, usize, usize) -> f64,
    ) -> f64 {
        let factors = self.shape.factors.iter().zip(&self.factor_rows).enumerate();
        let of_factor = |(i, (&f, rows)): (usize, (&usize, &Vec<u32>))| {
            let own = rows[row * self.n_causes + cause] as usize;
            next(f, self.block.sizes()[i], own, self.block.digit(block, i))
        };
        factors.map(of_factor).product()
    }
}

/// A group without levers: the reward of each state under every intervention.
pub(super) fn group_of_states(n_states: usize, paid: impl Fn(usize) -> f64) -> Group {
    let shape = GroupShape { causes: vec![], levers: vec![], mechanisms: vec![], state: vec![] };
    let column = |s: usize| Columns {
        settings: vec![Setting { part: 0, cost: -paid(s), n_set: 0, signature: 0 }],
        prob: vec![1.0],
        radius: Vec::new(),
    };
    let nothing = Space::new(&[]).expect("invariant: no factors have one joint value");
    Group::of_columns(shape, nothing, (0..n_states as u32).collect(), (0..n_states).map(column).collect())
}
