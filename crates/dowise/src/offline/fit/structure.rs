//! The world to fit: the declared graph with hidden variables marginalised out of free tables.

use super::FitError;
use super::confounded::Confounded;
use super::keep::Kept;
use crate::learn::{LearnError, MechanismRows};
use crate::messages::nearest;
use crate::world::file::Stated;
use crate::world::{Kind, VarId, World, adjusted, spread};

/// Hidden variables that were marginalised out, and the key variables that are learned jointly instead.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Marginalised {
    /// The hidden variables.
    pub hidden: Vec<String>,
    /// Their observed children.
    pub keys: Vec<String>,
}

/// The world to fit.
pub(super) struct Structure {
    pub(super) world: World,
    pub(super) marginalised: Vec<Marginalised>,
    pub(super) confounded: Vec<Confounded>,
}

/// The world to fit, a function of the world file alone, so that a log can be read against it.
///
/// Mechanisms that confounding makes unidentified are kept, with the numbers of the world file or else uniform ones.
/// `randomised` levers depend on recorded variables only: their other parents are removed.
pub(super) fn structure(world: &World, kept: &mut Kept, randomised: &[String]) -> Result<Structure, FitError> {
    let mut world = world.clone();
    let mut confounded: Vec<Confounded> = Vec::new();
    let levers: Vec<&str> = world.levers.iter().map(|id| world.variable(*id).name.as_str()).collect();
    if let Some(name) = randomised.iter().find(|name| !levers.contains(&name.as_str())) {
        let meant = nearest(name, levers.iter().copied()).map_or(String::new(), str::to_owned);
        return Err(FitError::Randomised { name: name.clone(), meant });
    }
    let drawn = |world: &World, id: VarId| randomised.contains(&world.variable(id).name);
    let behaviour_mechanisms = std::mem::take(&mut world.behaviour_mechanisms);
    world.behaviour_mechanisms = behaviour_mechanisms.into_iter().filter(|m| !drawn(&world, m.children[0])).collect();
    world = adjusted_for_levers(world, kept, randomised)?;
    for lever in Confounded::by_behaviour(&world, kept) {
        let mut found = Confounded::find(&world, lever);
        found.keep(&mut world, kept);
        confounded.push(found);
    }
    let rows = loop {
        match MechanismRows::new(kept.skeleton(&world).world()) {
            Ok(rows) => break rows,
            Err(LearnError::Confounded { lever }) => {
                let known = confounded.iter().position(|c| c.lever == lever);
                let mut found = match known {
                    // The variables in between link the hidden variables to further mechanisms.
                    Some(at) => confounded.remove(at).with_whole_group(&world),
                    None => Confounded::find(&world, lever),
                };
                if !found.keep(&mut world, kept) {
                    return Err(found.refusal());
                }
                confounded.push(found);
            }
            Err(other) => return Err(FitError::Learn(other)),
        }
    };
    let (world, marginalised) = without_hidden(&world, rows)?;
    Ok(Structure { world, marginalised, confounded })
}

/// The world in which hidden causes of a lever act on the levers that are set with it too, and outcomes that adjusting
/// for logged levers identifies are adjusted.
fn adjusted_for_levers(world: World, kept: &Kept, randomised: &[String]) -> Result<World, FitError> {
    let has_hidden = world.variables.iter().any(|variable| variable.kind == Kind::Hidden);
    if !has_hidden || world.behaviour_mechanisms.is_empty() {
        return Ok(world);
    }
    let mut stated = Stated::read(&world.to_toml(), world.name(), None).map_err(FitError::World)?;
    spread(&mut stated.spec, &[randomised, &world.unmoved].concat());
    if let Some((spec, _)) = adjusted(&stated.spec, &|name| !kept.names.contains(name)) {
        stated.spec = spec;
    }
    stated.build().map_err(FitError::World)
}

/// The world with hidden variables marginalised out of free tables.
fn without_hidden(world: &World, rows: Option<MechanismRows>) -> Result<(World, Vec<Marginalised>), FitError> {
    let names =
        |ids: &mut dyn Iterator<Item = VarId>| ids.map(|id| world.variable(id).name.clone()).collect::<Vec<_>>();
    let is = |id: VarId, kind: Kind| world.variable(id).kind == kind;
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
        summed.push(Marginalised { hidden: names(&mut hidden.into_iter()), keys: names(&mut keys.into_iter()) });
    }
    // A hidden variable with another child stays, with its mechanism; nothing relevant depends on it any more.
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
    // A behaviour mechanism with marginalised parents does not confound the rest; otherwise it would have been kept.
    let mut behaviour_mechanisms = world.behaviour_mechanisms.clone();
    for behaviour in &mut behaviour_mechanisms {
        let n = behaviour.parents.len();
        behaviour.parents.retain(|id| !is(*id, Kind::Hidden) || has_mechanism(id));
        if behaviour.parents.len() < n {
            behaviour.table = None;
        }
    }
    behaviour_mechanisms.retain(|behaviour| !behaviour.parents.is_empty());
    let hidden = world.hidden.iter().copied().filter(|id| has_mechanism(id)).collect();
    out.hidden = hidden;
    out.behaviour_mechanisms = behaviour_mechanisms;
    // Reads the world again, so that its variables are numbered without gaps.
    let out = World::from_toml(&out.to_toml(), world.name()).map_err(FitError::World)?;
    Ok((out, summed))
}
