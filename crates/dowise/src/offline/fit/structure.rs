//! The world that is fitted: the graph of the world file, without hidden variables behind free tables.

use super::FitError;
use super::keep::{Kept, needed};
use crate::learn::{LearnError, MechanismRows};
use crate::world::{Kind, Mechanism, VarId, World};

/// Hidden variables that were summed out, and the key variables that are learned together instead.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SummedOut {
    /// The hidden variables.
    pub hidden: Vec<String>,
    /// The key variables behind them.
    pub keys: Vec<String>,
}

/// The world that is fitted. It depends on the world file alone, so that a log can be read against it.
pub(super) fn structure(world: &World, kept: &Kept) -> Result<(World, Vec<SummedOut>), FitError> {
    let names =
        |ids: &mut dyn Iterator<Item = VarId>| ids.map(|id| world.variable(id).name.clone()).collect::<Vec<_>>();
    let is = |id: VarId, kind: Kind| world.variable(id).kind == kind;
    let told = kept.skeleton(world);
    let rows = MechanismRows::new(told.world()).map_err(|error| match error {
        LearnError::Confounded { lever } => confounded(world, lever),
        other => FitError::Learn(other),
    })?;
    let (mut dropped, mut made, mut summed) = (Vec::new(), Vec::new(), Vec::new());
    for of in rows.iter().flat_map(|rows| rows.unknown.iter().filter(|of| of.model.is_none())) {
        let members = || of.made_from.iter().map(|&m| &world.mechanisms[m]);
        let variables = || members().flat_map(|m| m.children.iter().chain(&m.parents)).copied();
        if !variables().any(|id| is(id, Kind::Hidden)) {
            continue;
        }
        let rows = rows.as_ref().expect("invariant: its rows were found there");
        dropped.extend(of.made_from.iter().copied());
        made.push(rows.world.mechanisms()[of.position].clone());
        let mut children = members().flat_map(|m| &m.children).copied();
        let (hidden, keys): (Vec<VarId>, Vec<VarId>) = children.by_ref().partition(|&id| is(id, Kind::Hidden));
        summed.push(SummedOut { hidden: names(&mut hidden.into_iter()), keys: names(&mut keys.into_iter()) });
    }
    // A hidden variable that something else names stays, with its mechanism; nothing that matters depends on it any more.
    loop {
        let stays = |m: usize| !dropped.contains(&m);
        let named: Vec<VarId> = (0..world.mechanisms.len())
            .filter(|&m| stays(m))
            .flat_map(|m| world.mechanisms[m].parents.clone())
            .collect();
        let back = dropped.iter().position(|&m| {
            let children = &world.mechanisms[m].children;
            children.iter().all(|&id| is(id, Kind::Hidden)) && children.iter().any(|id| named.contains(id))
        });
        match back {
            Some(at) => drop(dropped.swap_remove(at)),
            None => break,
        }
    }
    let mut out = world.clone();
    let left = (0..world.mechanisms.len()).filter(|m| !dropped.contains(m)).map(|m| world.mechanisms[m].clone());
    out.mechanisms = left.chain(made).collect();
    let has_mechanism = |id: &VarId| out.mechanisms.iter().any(|m| m.children.contains(id));
    let hidden = world.hidden.iter().copied().filter(|id| has_mechanism(id)).collect();
    out.hidden = hidden;
    // Read again, so that its variables are numbered without gaps.
    let out = World::from_toml(&out.to_toml(), world.name()).map_err(FitError::World)?;
    Ok((out, summed))
}

/// Which hidden variables move a lever and something else, by name.
fn confounded(world: &World, lever: String) -> FitError {
    let is_hidden = |id: &VarId| world.variable(*id).kind == Kind::Hidden;
    let own = |id: VarId| world.mechanisms.iter().find(|m| m.children.contains(&id));
    let id = world.find(&lever).expect("invariant: the lever was found in this world");
    let mut hidden: Vec<VarId> = own(id).map_or(Vec::new(), |m| m.parents.clone());
    hidden.retain(is_hidden);
    let mut next = 0;
    while let Some(&at) = hidden.get(next) {
        let above = own(at).map_or(Vec::new(), |m| m.parents.clone());
        above.into_iter().filter(is_hidden).for_each(|id| {
            if !hidden.contains(&id) {
                hidden.push(id)
            }
        });
        next += 1;
    }
    // What else the hidden variables move, through other hidden variables too.
    let mut moved = hidden.clone();
    let mut effects = Vec::new();
    let needed = needed(world);
    let of = |m: &Mechanism, moved: &[VarId]| m.parents.iter().any(|p| moved.contains(p));
    for &m in &needed {
        let mechanism = &world.mechanisms[m];
        if of(mechanism, &moved) {
            for &child in mechanism.children.iter().filter(|c| **c != id) {
                if is_hidden(&child) { moved.push(child) } else { effects.push(child) }
            }
        }
    }
    let names = |ids: &[VarId]| ids.iter().map(|&id| world.variable(id).name.clone()).collect();
    FitError::Confounded { lever, hidden: names(&hidden), effects: names(&effects) }
}
