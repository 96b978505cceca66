//! Tables of P(c | state factors, settings) of one group, by variable elimination.

use std::collections::BTreeMap;

use super::elimination::{Node, Potential, TooLarge, eliminate, most_entries};
use super::groups::GroupShape;
use super::lever_values::LeverValues;
use crate::Space;
use crate::world::{LeverRule, VarId, World};

/// P(c | state factors, settings) as `[row][cause][setting]`: one elimination for each set of levers left alone.
pub(super) fn tabulate(
    world: &World,
    shape: &GroupShape,
    tables: &[Option<&[f64]>],
    state_space: &Space,
    cause_space: &Space,
    lever_values: &LeverValues,
) -> Result<Vec<f64>, TooLarge> {
    let mut prob = vec![0.0; state_space.len() * cause_space.len() * lever_values.len()];
    for pattern in patterns(lever_values) {
        let places = &pattern.settings;
        tabulate_pattern(world, shape, tables, lever_values, &pattern, places, lever_values.len(), &mut prob)?;
    }
    Ok(prob)
}

/// The settings that set the same levers.
pub(super) struct Pattern {
    /// The levers that are set, as bits at their positions in the group.
    pub(super) is_set: u64,
    pub(super) settings: Vec<usize>,
}

/// The settings of a group, grouped by the levers that they set.
pub(super) fn patterns(lever_values: &LeverValues) -> Vec<Pattern> {
    let mut by_pattern: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for i in 0..lever_values.len() {
        by_pattern.entry(lever_values.is_set(i)).or_default().push(i);
    }
    by_pattern.into_iter().map(|(is_set, settings)| Pattern { is_set, settings }).collect()
}

/// Writes the distributions of a pattern's settings into `out`, `[row][cause][column]`: the i-th setting at column
/// `places[i]`.
///
/// do(x): a lever that is set loses its mechanism, and its value is an axis of the result. A lever left alone keeps its
/// mechanism and is marginalised out.
#[allow(clippy::too_many_arguments)] // a table's axes and where it goes
pub(super) fn tabulate_pattern(
    world: &World,
    shape: &GroupShape,
    tables: &[Option<&[f64]>],
    lever_values: &LeverValues,
    pattern: &Pattern,
    places: &[usize],
    n_columns: usize,
    out: &mut [f64],
) -> Result<(), TooLarge> {
    let n_variables = world.variables().len();
    let set: Vec<usize> = (0..shape.levers.len()).filter(|p| pattern.is_set >> p & 1 == 1).collect();
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
    // A lever with direct effects has two nodes: the value set (or drawn from its mechanism), and its copy in the
    // configuration.
    let cause_node = |id: &VarId| -> Node { if world.levers().contains(id) { n_variables + id.ix() } else { id.ix() } };
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
    let moves: Vec<(usize, usize)> = pattern.settings.iter().zip(places).map(|(&i, &to)| (to, combo(i))).collect();
    for (columns, combos) in out.chunks_exact_mut(n_columns).zip(result.data.chunks_exact(combos.len())) {
        moves.iter().for_each(|&(to, combo)| columns[to] = combos[combo]);
    }
    Ok(())
}

/// Maximum bytes of [`tabulate`] besides its result.
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
        // The extremes: set levers are axes of the result, the others are marginalised out.
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
