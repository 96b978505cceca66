//! P(z | s, a) not known: which mechanisms within a step have to be learned, with the scopes of the causal graph.

use crate::Space;
use crate::kernel::groups;
use crate::learn::{LearnError, LearnResult, MOST_CELLS};
use crate::world::{Kind, LeverRule, Mechanism, VarId, World};

/// Rows of all mechanisms that have to be learned.
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
    /// Positions of the levers among its children, as bits: one that was set says nothing about its own mechanism.
    levers: u64,
}

/// The value of a variable that was not observed.
pub(crate) const MISSING: u32 = u32::MAX;

impl MechanismRows {
    /// `None` if everything is known.
    pub(crate) fn new(world: &World) -> LearnResult<Option<MechanismRows>> {
        let world = observed_only(world)?;
        // Mechanisms that no cause depends on are not needed, nor is that of a lever that is never left alone.
        let needed: Vec<usize> = groups::groups(&world).into_iter().flat_map(|g| g.mechanisms).collect();
        let unknown: Vec<MechanismRow> = world
            .mechanisms()
            .iter()
            .enumerate()
            .filter(|(i, m)| m.table.is_none() && needed.contains(i))
            .map(|(position, m)| {
                let rows = Space::new(&world.sizes(&m.parents)).expect("invariant: a world's tables were counted");
                let n_values = world.sizes(&m.children).iter().product();
                let lever = |id: &VarId| world.levers().iter().position(|l| l == id);
                let levers = m.children.iter().filter_map(lever).fold(0, |bits, l| bits | 1 << l);
                MechanismRow { position, rows, n_values, levers }
            })
            .collect();
        Ok(if unknown.is_empty() { None } else { Some(MechanismRows { world, unknown }) })
    }

    /// Number of rows to learn.
    pub(crate) fn cells(&self) -> usize {
        self.unknown.iter().map(|m| m.rows.len()).sum()
    }

    /// Row and joint value of a mechanism in a step with these values of all variables (by [`VarId`]); `None` if the step says
    /// nothing about it: a child was set (`set` has the levers as bits), or something was not observed.
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

/// Where a group has hidden variables and something unknown, its mechanisms are replaced by one joint mechanism of its key
/// variables given its levers and state factors: hidden variables cannot be counted, but what passes through them can.
fn observed_only(world: &World) -> LearnResult<World> {
    let mut out = world.clone();
    let is = |id: &VarId, kind: Kind| world.variable(*id).kind == kind;
    let may_be_left = !matches!(world.interventions().lever_rule(), LeverRule::All);
    let mut replaced: Vec<(Vec<usize>, Mechanism)> = Vec::new();
    for group in groups::groups(world) {
        let mechanisms: Vec<&Mechanism> = group.mechanisms.iter().map(|&m| &world.mechanisms()[m]).collect();
        let hidden = mechanisms.iter().flat_map(|m| m.children.iter().chain(&m.parents)).any(|id| is(id, Kind::Hidden));
        if !hidden || mechanisms.iter().all(|m| m.table.is_some()) {
            continue;
        }
        let lever_own: Vec<&&Mechanism> =
            mechanisms.iter().filter(|m| m.children.iter().any(|id| is(id, Kind::Lever))).collect();
        if let Some(m) = lever_own.iter().find(|m| m.parents.iter().any(|id| !is(id, Kind::State))) {
            return Err(LearnError::Confounded { lever: world.variable(m.children[0]).name.clone() });
        }
        let children: Vec<VarId> = group.causes.iter().copied().filter(|id| is(id, Kind::Key)).collect();
        let mut parents: Vec<VarId> = group.state.iter().map(|&i| world.state()[i]).collect();
        parents.extend(group.levers.iter().map(|&l| world.levers()[l]));
        let kept = |m: &usize| may_be_left && world.mechanisms()[*m].children.iter().any(|id| is(id, Kind::Lever));
        let gone = group.mechanisms.iter().copied().filter(|m| !kept(m)).collect();
        let rows = Space::new(&world.sizes(&parents)).map(|s| s.len());
        if rows.is_none_or(|n| n > MOST_CELLS) {
            return Err(LearnError::TooManyCells { what: "P(z | s, a)".to_owned(), cells: rows.map(|n| n as u128) });
        }
        replaced.push((gone, Mechanism { children, parents, table: None }));
    }
    let gone: Vec<usize> = replaced.iter().flat_map(|(gone, _)| gone.iter().copied()).collect();
    let mut kept: Vec<Mechanism> =
        (0..out.mechanisms.len()).filter(|m| !gone.contains(m)).map(|m| out.mechanisms[m].clone()).collect();
    // Their parents are state factors and levers, whose own mechanisms (if any) were kept and come first.
    kept.extend(replaced.into_iter().map(|(_, joint)| joint));
    out.mechanisms = kept;
    Ok(out)
}
