//! The decomposition of a world into components: groups of levers, next values and rewards.

use std::sync::Arc;

use crate::kernel::groups::{GroupShape, Union};
use crate::kernel::state_scope;
use crate::world::{VarId, World};

/// A reward term as a function of the present.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// Its position among the terms of the world.
    pub(crate) of: usize,
    pub(crate) scope: Vec<VarId>,
    /// Its table, if known.
    pub(crate) table: Option<Arc<[f64]>>,
}

/// Groups that act on a common next value or reward, with everything that they act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartShape {
    /// Positions among the groups of the kernel, in order.
    pub(crate) groups: Vec<usize>,
    /// State factors whose next values they determine, in order.
    pub(crate) factors: Vec<usize>,
    /// Reward terms that they determine, in order.
    pub(crate) terms: Vec<usize>,
    /// State factors in any of these scopes, in order.
    pub(crate) state: Vec<usize>,
}

/// The components of a world, ordered by their first next value, those without one first; and the terms that depend on
/// the state alone, which belong to no component.
///
/// Given state and intervention, next values of different components are independent, and each reward term belongs to
/// one component.
pub(super) fn parts(world: &World, groups: &[GroupShape], terms: &[Term]) -> (Vec<PartShape>, Vec<usize>) {
    let (n_groups, n_factors) = (groups.len(), world.state().len());
    let mut union = Union::new(n_groups + n_factors + terms.len());
    let acting = |ids: &[VarId]| -> Vec<usize> {
        (0..n_groups).filter(|&g| groups[g].causes.iter().any(|id| ids.contains(id))).collect()
    };
    for (i, transition) in world.transitions().iter().enumerate() {
        acting(&transition.parents).into_iter().for_each(|g| union.join(g, n_groups + i));
    }
    let (mut of_state, mut of_groups) = (Vec::new(), Vec::new());
    for (t, term) in terms.iter().enumerate() {
        let acting = acting(&term.scope);
        if acting.is_empty() {
            of_state.push(t);
        } else {
            of_groups.push(t);
            acting.into_iter().for_each(|g| union.join(g, n_groups + n_factors + t));
        }
    }
    let mut roots: Vec<usize> = (0..n_groups + n_factors).map(|node| union.root(node)).collect();
    roots.sort_unstable();
    roots.dedup();
    let mut parts: Vec<PartShape> = (roots.into_iter())
        .map(|root| {
            let factors: Vec<usize> = (0..n_factors).filter(|&i| union.root(n_groups + i) == root).collect();
            let own = |t: &usize| union.root(n_groups + n_factors + t) == root;
            let terms_here: Vec<usize> = of_groups.iter().copied().filter(own).collect();
            let groups_here: Vec<usize> = (0..n_groups).filter(|&g| union.root(g) == root).collect();
            let mut state: Vec<usize> = groups_here.iter().flat_map(|&g| groups[g].state.iter().copied()).collect();
            state.extend(factors.iter().flat_map(|&i| state_scope(world, &world.transitions()[i].parents)));
            state.extend(terms_here.iter().flat_map(|&t| state_scope(world, &terms[t].scope)));
            state.sort_unstable();
            state.dedup();
            PartShape { groups: groups_here, factors, terms: terms_here, state }
        })
        .collect();
    parts.sort_by_key(|part| part.factors.first().map_or(0, |f| f + 1));
    (parts, of_state)
}
