//! P(causes | state factors, settings) of one group, by elimination, and the radius of its confidence set.

use std::collections::BTreeMap;

use super::elimination::{Node, Potential, TooLarge, eliminate, most_entries};
use super::groups::GroupShape;
use super::lever_values::LeverValues;
use crate::Space;
use crate::world::{LeverRule, VarId, World};

/// P(causes | state factors, settings) as `[row][cause][setting]`, by elimination: one pass for each set of levers left alone.
///
/// Setting a lever cuts it off from its own parents: its mechanism is left out and its value is an axis of the result.
/// A lever left alone keeps its mechanism and is summed out.
pub(super) fn tabulate(
    world: &World,
    shape: &GroupShape,
    tables: &[Option<&[f64]>],
    state_space: &Space,
    cause_space: &Space,
    lever_values: &LeverValues,
) -> Result<Vec<f64>, TooLarge> {
    let mut by_pattern: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for i in 0..lever_values.len() {
        by_pattern.entry(lever_values.is_set(i)).or_default().push(i);
    }
    let n_variables = world.variables().len();
    let mut prob = vec![0.0; state_space.len() * cause_space.len() * lever_values.len()];
    for (is_set, members) in by_pattern {
        let set: Vec<usize> = (0..shape.levers.len()).filter(|p| is_set >> p & 1 == 1).collect();
        let set_ids: Vec<VarId> = set.iter().map(|&p| world.levers()[shape.levers[p]]).collect();
        let mut potentials: Vec<Potential> = shape
            .mechanisms
            .iter()
            .filter(|&&m| !world.mechanisms()[m].children.iter().any(|id| set_ids.contains(id)))
            .map(|&m| {
                let mechanism = &world.mechanisms()[m];
                let nodes = mechanism.parents.iter().chain(&mechanism.children).copied().collect::<Vec<VarId>>();
                Potential {
                    sizes: world.sizes(&nodes),
                    nodes: nodes.iter().map(|id| id.ix()).collect(),
                    data: tables[m].expect("invariant: every mechanism of a group has a table").to_vec(),
                }
            })
            .collect();
        // A lever that is itself a cause appears twice: as the value that was set (or drawn from its mechanism) and as the cause.
        let cause_node =
            |id: &VarId| -> Node { if world.levers().contains(id) { n_variables + id.ix() } else { id.ix() } };
        for id in shape.causes.iter().filter(|id| world.levers().contains(id)) {
            let n = world.variable(*id).size();
            let data = (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect();
            potentials.push(Potential { nodes: vec![id.ix(), cause_node(id)], sizes: vec![n, n], data });
        }
        let axis = |node: Node, id: VarId| (node, world.variable(id).size());
        let mut keep: Vec<(Node, usize)> =
            shape.state.iter().map(|&i| world.state()[i]).map(|id| axis(id.ix(), id)).collect();
        keep.extend(shape.causes.iter().map(|id| axis(cause_node(id), *id)));
        keep.extend(set_ids.iter().map(|&id| axis(id.ix(), id)));
        let result = eliminate(potentials, &keep)?;
        let combos = Space::new(&world.sizes(&set_ids)).expect("invariant: the set levers are axes of the result");
        let combo = |i: usize| -> usize {
            set.iter()
                .zip(combos.strides())
                .map(|(&p, s)| lever_values.value(i, p).expect("invariant: every lever of the pattern is set") * s)
                .sum()
        };
        let places: Vec<(usize, usize)> = members.iter().map(|&i| (i, combo(i))).collect();
        let blocks = prob.chunks_exact_mut(lever_values.len()).zip(result.data.chunks_exact(combos.len()));
        for (settings, combos) in blocks {
            places.iter().for_each(|&(i, combo)| settings[i] = combos[combo]);
        }
    }
    Ok(prob)
}

/// Bytes that [`tabulate`] takes at most besides its result.
pub(super) fn bytes_meanwhile(world: &World, shape: &GroupShape) -> u128 {
    let all = world.interventions();
    let every = shape.levers.iter().enumerate().fold(0u64, |bits, (p, _)| bits | 1 << p.min(63));
    let mut patterns: Vec<u64> = match all.lever_rule() {
        LeverRule::All => vec![every],
        LeverRule::List(list) => {
            let is_set = |a| move |p: &usize| all.lever(a, shape.levers[*p]).is_some();
            let bits = |a| (0..shape.levers.len()).filter(is_set(a)).fold(0, |bits, p| bits | 1 << p.min(63));
            list.iter().map(|&a| bits(a)).collect()
        }
        // Between leaving all alone and setting all: what is set has axes in the result, the rest is summed out.
        LeverRule::AtMost(_) => vec![0, every],
    };
    patterns.sort_unstable();
    patterns.dedup();
    let n_variables = world.variables().len();
    let axis = |id: VarId| (id.ix(), world.variable(id).size());
    let cause = |id: VarId| (if world.levers().contains(&id) { n_variables + id.ix() } else { id.ix() }, axis(id).1);
    let entries = patterns.into_iter().map(|is_set| {
        let positions = (0..shape.levers.len()).filter(|p| is_set >> p & 1 == 1);
        let set: Vec<VarId> = positions.map(|p| world.levers()[shape.levers[p]]).collect();
        let mechanisms = shape.mechanisms.iter().map(|&m| &world.mechanisms()[m]);
        let left = mechanisms.filter(|m| !m.children.iter().any(|id| set.contains(id)));
        let mut tables: Vec<Vec<(Node, usize)>> =
            left.map(|m| m.parents.iter().chain(&m.children).map(|&id| axis(id)).collect()).collect();
        let levers = shape.causes.iter().filter(|id| world.levers().contains(id));
        tables.extend(levers.map(|&id| vec![axis(id), cause(id)]));
        let mut keep: Vec<(Node, usize)> = shape.state.iter().map(|&i| axis(world.state()[i])).collect();
        keep.extend(shape.causes.iter().map(|&id| cause(id)));
        keep.extend(set.iter().map(|&id| axis(id)));
        most_entries(tables, &keep)
    });
    entries.max().unwrap_or(0).saturating_mul(8)
}

/// Sum of the radii of a group's mechanisms, `[row][setting]`: the greatest over parents that a setting leaves open (key
/// and hidden variables, levers left alone).
pub(super) fn total_radius(
    world: &World,
    shape: &GroupShape,
    radii: &[Vec<f64>],
    state_space: &Space,
    lever_values: &LeverValues,
) -> Vec<f64> {
    let mut total = vec![0.0; state_space.len() * lever_values.len()];
    for &m in shape.mechanisms.iter().filter(|&&m| !radii[m].is_empty()) {
        let mechanism = &world.mechanisms()[m];
        let parents = Space::new(&world.sizes(&mechanism.parents)).expect("invariant: a world's tables are countable");
        let place = |id: &VarId| shape.levers.iter().position(|&l| world.levers()[l] == *id);
        for row in 0..state_space.len() {
            for i in 0..lever_values.len() {
                if mechanism.children.iter().any(|id| place(id).is_some_and(|p| lever_values.value(i, p).is_some())) {
                    continue;
                }
                let fixed: Vec<Option<usize>> = mechanism
                    .parents
                    .iter()
                    .map(|id| match shape.state.iter().position(|&f| world.state()[f] == *id) {
                        Some(p) => Some(state_space.digit(row, p)),
                        None => place(id).and_then(|p| lever_values.value(i, p)),
                    })
                    .collect();
                let fits =
                    |r: &usize| fixed.iter().enumerate().all(|(p, v)| v.is_none_or(|v| parents.digit(*r, p) == v));
                let open = fixed.iter().any(|v| v.is_none());
                let worst = if open {
                    (0..parents.len()).filter(fits).map(|r| radii[m][r]).fold(0.0, f64::max)
                } else {
                    radii[m][parents.index(&fixed.iter().flatten().copied().collect::<Vec<_>>())]
                };
                total[row * lever_values.len() + i] += worst;
            }
        }
    }
    total
}
