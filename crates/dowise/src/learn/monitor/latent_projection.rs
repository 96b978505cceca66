//! Latent projection within a step: the observed parents of a variable after hidden variables are marginalised out.
//!
//! Let a key variable, or a lever that is not set, have hidden parents H (and their hidden ancestors). It depends on
//! the observed parents W of all of these. If none of W is drawn after H, P(v | W, all variables drawn neither after H
//! nor after v) = Σ_H Π P(· | parents), since hidden variables are drawn afresh in every step. A lever in W that
//! descends from H is used only if it was set.

use std::sync::Arc;

use crate::world::{Kind, VarId, World};

/// Most combinations of values in the marginalisation of hidden variables.
const MOST_SUMMED: usize = 1 << 18;

/// Latent projection of an observed variable.
#[derive(Clone, Debug)]
pub(in crate::learn) struct Within {
    id: VarId,
    /// Its observed parents, in the order of rows.
    pub(super) scope: Vec<VarId>,
    /// Its own mechanism first, then those of its hidden ancestors.
    pub(in crate::learn) mechanisms: Vec<usize>,
    /// Levers, by position, that must be set for a step to count.
    pub(super) set: Vec<usize>,
    /// By [`VarId`]: variables drawn before it that descend neither from its hidden ancestors nor from itself.
    before: Vec<bool>,
}

impl Within {
    /// `Err` says in words why the observed variables do not determine its distribution.
    pub(in crate::learn) fn of(world: &World, id: VarId) -> Result<Within, String> {
        let all = world.mechanisms();
        let decides = |id: VarId| all.iter().position(|m| m.children.contains(&id));
        let hidden = |id: &VarId| world.variable(*id).kind == Kind::Hidden;
        let own = decides(id).ok_or("nothing is said about what acts on it")?;
        let mut mechanisms = vec![own];
        let mut next = 0;
        while let Some(&m) = mechanisms.get(next) {
            let more = all[m].parents.iter().filter(|id| hidden(id)).filter_map(|&h| decides(h));
            let more: Vec<usize> = more.filter(|m| !mechanisms.contains(m)).collect();
            more.into_iter().for_each(|m| {
                if !mechanisms.contains(&m) {
                    mechanisms.push(m)
                }
            });
            next += 1;
        }
        let mut scope: Vec<VarId> = Vec::new();
        for &m in &mechanisms {
            let seen = all[m].parents.iter().filter(|id| !hidden(id));
            scope.extend(seen.filter(|id| !scope.contains(id)).copied().collect::<Vec<_>>());
        }
        let of_hidden: Vec<VarId> = mechanisms[1..].iter().flat_map(|&m| &all[m].children).copied().collect();
        let mut after = downstream(world, &of_hidden, &[]);
        let mut set = Vec::new();
        if scope.iter().any(|w| after[w.ix()]) {
            let levers = world.levers().iter().enumerate().filter(|&(_, l)| *l != id && after[l.ix()]);
            set = levers.map(|(l, _)| l).collect();
            let cut: Vec<VarId> = set.iter().map(|&l| world.levers()[l]).collect();
            after = downstream(world, &of_hidden, &cut);
            if let Some(&w) = scope.iter().find(|w| after[w.ix()]) {
                let name = |id: VarId| world.variable(id).name.as_str();
                let names: Vec<&str> = of_hidden.iter().filter(|id| hidden(id)).map(|&id| name(id)).collect();
                return Err(format!(
                    "{}, on which it depends, follows from the hidden {} too",
                    name(w),
                    names.join(", ")
                ));
            }
        }
        let follows = downstream(world, &all[own].children, &[]);
        let mut before = vec![false; world.variables().len()];
        for m in &all[..own] {
            m.children.iter().for_each(|c| before[c.ix()] = !after[c.ix()] && !follows[c.ix()]);
        }
        Ok(Within { id, scope, mechanisms, set, before })
    }

    /// Whether the value of a key variable or of an unset lever may be used as a predictor.
    pub(super) fn is_before(&self, id: VarId) -> bool {
        self.before[id.ix()]
    }

    /// P(value | scope), `[row][value]`, if all of its mechanisms are known; `Err` if there are too many combinations
    /// to sum over.
    pub(super) fn table(&self, world: &World) -> Result<Option<Arc<[f64]>>, String> {
        let all = world.mechanisms();
        let mut parts = Vec::new();
        for &m in &self.mechanisms {
            let Some(table) = all[m].table.as_deref() else { return Ok(None) };
            parts.push((&all[m], table));
        }
        let drawn = self.mechanisms.iter().flat_map(|&m| &all[m].children);
        let axes: Vec<VarId> = self.scope.iter().chain(drawn).copied().collect();
        let sizes = world.sizes(&axes);
        let cells = sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        // A single table was counted when the world was built.
        let Some(cells) = cells.filter(|&n| n <= MOST_SUMMED || parts.len() == 1) else {
            return Err("to marginalise out what is hidden would take too long".to_owned());
        };
        let place = |id: &VarId| axes.iter().position(|a| a == id).expect("invariant: parents are seen or drawn");
        // Axes of the parents, then of the children, of each mechanism.
        let of: Vec<(Vec<usize>, &[f64])> =
            parts.iter().map(|(m, table)| (m.parents.iter().chain(&m.children).map(place).collect(), *table)).collect();
        let (n, own) = (world.variable(self.id).size(), place(&self.id));
        let rows: usize = sizes[..self.scope.len()].iter().product();
        let (mut out, mut digits) = (vec![0.0; rows * n], vec![0usize; axes.len()]);
        for _ in 0..cells {
            let p: f64 =
                of.iter().map(|(axes, table)| table[axes.iter().fold(0, |at, &a| at * sizes[a] + digits[a])]).product();
            let row = (0..self.scope.len()).fold(0, |at, a| at * sizes[a] + digits[a]);
            out[row * n + digits[own]] += p;
            for (digit, &size) in digits.iter_mut().zip(&sizes).rev() {
                *digit += 1;
                if *digit < size {
                    break;
                }
                *digit = 0;
            }
        }
        Ok(Some(out.into()))
    }
}

/// By [`VarId`]: whether a variable is one of these or a descendant of one within a step; `cut` levers have no
/// parents.
fn downstream(world: &World, from: &[VarId], cut: &[VarId]) -> Vec<bool> {
    let from: Vec<usize> = from.iter().filter(|id| !cut.contains(id)).map(|id| id.ix()).collect();
    world.step_dag(cut).descendants(&from)
}
