//! One group of levers and key variables: its settings, and what each setting sets off.

use std::collections::BTreeMap;

use super::KernelError;
use super::elimination::{MAX_ENTRIES, Node, Potential, TooLarge, eliminate};
use super::groups::GroupShape;
use super::prune::{Setting, prune};
use crate::Space;
use crate::world::{Action, Forbid, Interventions, Setting as Allowed, VarId, World};

/// Levers and cause variables that belong together, with P(causes | state factors, settings).
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) shape: GroupShape,
    cause_space: Space,
    /// What this group's part of an intervention can be, in increasing order of its number.
    pub(crate) settings: Vec<Setting>,
    /// Row (joint value of the state factors it depends on) of every state; empty if there is one row only.
    row_of_state: Vec<u32>,
    /// `[row][cause][setting]`: settings innermost, so that a sum over causes streams.
    prob: Vec<f64>,
    /// For each row the settings worth looking at, or all of them.
    kept: Vec<Option<Kept>>,
    /// How far `prob` may be off, `[row][setting]`; empty if it is exact.
    radius: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Kept {
    settings: Vec<u32>,
    prob: Vec<f64>,
}

/// The settings worth looking at in a state: `prob` is `[cause][setting]`.
pub(crate) struct Row<'a> {
    pub(crate) n: usize,
    pub(crate) prob: &'a [f64],
    settings: Option<&'a [u32]>,
}

impl Row<'_> {
    /// The group's number of the i-th setting of this row.
    pub(crate) fn setting(&self, i: usize) -> usize {
        self.settings.map_or(i, |s| s[i] as usize)
    }
}

impl Group {
    pub(crate) fn new(
        world: &World,
        shape: GroupShape,
        tables: &[Option<&[f64]>],
        radii: Option<&[Vec<f64>]>,
        cross: &[Forbid],
        limited: bool,
        work: &mut i64,
    ) -> Result<Group, KernelError> {
        let too_large = |e: TooLarge| KernelError::TooLarge {
            levers: shape.levers.iter().map(|&l| world.variable(world.levers()[l]).name.clone()).collect(),
            entries: e.entries,
        };
        let state_ids: Vec<VarId> = shape.state.iter().map(|&i| world.state()[i]).collect();
        let state_space = Space::new(&world.sizes(&state_ids)).expect("no larger than the state space");
        let cause_space = Space::new(&world.sizes(&shape.causes)).expect("no larger than the cause space");
        let choices = lever_choices(world.interventions(), &shape.levers).map_err(too_large)?;
        let entries = state_space.len().checked_mul(cause_space.len()).and_then(|n| n.checked_mul(choices.len()));
        if entries.is_none_or(|n| n > MAX_ENTRIES) {
            return Err(too_large(TooLarge { entries }));
        }
        let prob = tabulate(world, &shape, tables, &state_space, &cause_space, &choices).map_err(too_large)?;
        let settings: Vec<Setting> = choices
            .iter()
            .map(|choice| {
                let all = world.interventions();
                let set = shape.levers.iter().zip(choice).filter_map(|(&lever, value)| value.map(|v| (lever, v)));
                Setting {
                    part: shape.levers.iter().zip(choice).map(|(&lever, &value)| all.part(lever, value)).sum(),
                    cost: set.clone().map(|(lever, v)| all.costs().get(lever).map_or(0.0, |c| c[v])).sum(),
                    n_set: set.clone().count(),
                    signature: signature(all, cross, &shape.levers, set),
                }
            })
            .collect();
        let radius = radii.map_or(Vec::new(), |r| total_radius(world, &shape, r, &state_space, &choices));
        let row_of_state = rows_of_states(world.state_space(), &shape.state, &state_space);
        let mut group = Group { shape, cause_space, settings, row_of_state, prob, kept: Vec::new(), radius };
        group.kept = (0..state_space.len())
            .map(|row| group.prune_row(world, &state_space, row, &choices, limited, work))
            .collect();
        Ok(group)
    }

    pub(crate) fn n_causes(&self) -> usize {
        self.cause_space.len()
    }

    pub(crate) fn row_of(&self, state: usize) -> usize {
        self.row_of_state.get(state).map_or(0, |&row| row as usize)
    }

    pub(crate) fn prob(&self, row: usize, cause: usize, setting: usize) -> f64 {
        self.prob[(row * self.n_causes() + cause) * self.settings.len() + setting]
    }

    /// How far the distribution of a setting may be off (total variation).
    pub(crate) fn radius(&self, row: usize, setting: usize) -> f64 {
        self.radius.get(row * self.settings.len() + setting).copied().unwrap_or(0.0)
    }

    /// What a setting adds by itself: its cost, less what being off by its radius could gain where losses differ by `spread`.
    pub(crate) fn own(&self, row: usize, setting: usize, spread: f64) -> f64 {
        self.settings[setting].cost - spread * self.radius(row, setting)
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.radius.is_empty()
    }

    pub(crate) fn row(&self, row: usize) -> Row<'_> {
        match &self.kept[row] {
            Some(kept) => Row { n: kept.settings.len(), prob: &kept.prob, settings: Some(&kept.settings) },
            None => {
                let n = self.settings.len();
                let block = self.n_causes() * n;
                Row { n, prob: &self.prob[row * block..(row + 1) * block], settings: None }
            }
        }
    }

    /// The setting that is this group's part of an intervention.
    pub(crate) fn setting_of(&self, all: &Interventions, action: Action) -> usize {
        let part = self.shape.levers.iter().map(|&lever| all.part(lever, all.lever(action, lever))).sum::<u64>();
        self.settings.binary_search_by_key(&part, |s| s.part).expect("an allowed intervention")
    }

    /// Which settings of a row are worth looking at; `None` if all are.
    fn prune_row(
        &self,
        world: &World,
        state_space: &Space,
        row: usize,
        choices: &[Vec<Option<usize>>],
        limited: bool,
        work: &mut i64,
    ) -> Option<Kept> {
        let digits = state_space.digits(row);
        let forbidden = |choice: &Vec<Option<usize>>| {
            world.interventions().forbid().iter().any(|rule| {
                rule.levers.iter().all(|(lever, values)| {
                    let place = self.shape.levers.iter().position(|l| l == lever);
                    place.and_then(|p| choice[p]).is_some_and(|v| values[v])
                }) && rule.when.iter().all(|(factor, values)| {
                    let place = self.shape.state.iter().position(|f| f == factor);
                    place.is_some_and(|p| values[digits[p]])
                })
            })
        };
        let allowed: Vec<u32> = (0..choices.len()).filter(|&i| !forbidden(&choices[i])).map(|i| i as u32).collect();
        let n = self.settings.len();
        let block = &self.prob[row * self.n_causes() * n..(row + 1) * self.n_causes() * n];
        // What may be off cannot be compared by its middle alone, so nothing is dropped then.
        let settings = if self.is_exact() {
            prune(&allowed, &self.settings, block, self.n_causes(), limited, work)
        } else {
            allowed
        };
        if settings.len() == n {
            return None;
        }
        let prob =
            (0..self.n_causes()).flat_map(|c| settings.iter().map(move |&i| block[c * n + i as usize])).collect();
        Some(Kept { settings, prob })
    }
}

/// What combinations forbidden across groups make of a setting; settings in which these agree can stand in for each other.
///
/// One bit for each rule whose levers in this group are all set as it forbids; for very many rules the levers themselves.
fn signature(
    all: &Interventions,
    cross: &[Forbid],
    levers: &[usize],
    set: impl Iterator<Item = (usize, usize)>,
) -> u64 {
    let set: Vec<(usize, usize)> = set.collect();
    let value = |lever: usize| set.iter().find(|(l, _)| *l == lever).map(|(_, v)| *v);
    if cross.len() > 64 {
        let named = |lever: &usize| cross.iter().any(|rule| rule.levers.iter().any(|(l, _)| l == lever));
        return set.iter().filter(|(lever, _)| named(lever)).map(|&(lever, v)| all.part(lever, Some(v))).sum();
    }
    let matches = |rule: &Forbid| {
        let mut mine = rule.levers.iter().filter(|(l, _)| levers.contains(l));
        mine.all(|(l, values)| value(*l).is_some_and(|v| values[v]))
    };
    (0..cross.len()).filter(|&r| matches(&cross[r])).map(|r| 1 << r).sum()
}

/// Row of every state: the joint value of some of its factors. Empty if there is one row only.
fn rows_of_states(states: &Space, factors: &[usize], rows: &Space) -> Vec<u32> {
    if factors.is_empty() {
        return Vec::new();
    }
    (0..states.len())
        .map(|s| {
            factors.iter().zip(rows.strides()).map(|(&f, stride)| states.digit(s, f) * stride).sum::<usize>() as u32
        })
        .collect()
}

/// Everything that interventions can do to these levers, in increasing order.
fn lever_choices(all: &Interventions, levers: &[usize]) -> Result<Vec<Vec<Option<usize>>>, TooLarge> {
    if let Allowed::List(list) = all.setting() {
        return Ok(list.iter().map(|&a| levers.iter().map(|&lever| all.lever(a, lever)).collect()).collect());
    }
    let alone = usize::from(!matches!(all.setting(), Allowed::All));
    let limit = match all.setting() {
        Allowed::AtMost(k) => *k,
        _ => levers.len(),
    };
    let sizes: Vec<usize> = levers.iter().map(|&lever| all.sizes()[lever] + alone).collect();
    let space = Space::new(&sizes).ok_or(TooLarge { entries: None })?;
    if space.len() > MAX_ENTRIES {
        return Err(TooLarge { entries: Some(space.len()) });
    }
    Ok((0..space.len())
        .map(|i| {
            space.digits(i).into_iter().map(|d| if alone == 1 { d.checked_sub(1) } else { Some(d) }).collect::<Vec<_>>()
        })
        .filter(|choice| choice.iter().filter(|v| v.is_some()).count() <= limit)
        .collect())
}

/// P(causes | state factors, settings) as `[row][cause][setting]`, by elimination: one pass for each set of levers left alone.
///
/// Setting a lever cuts it off from its own parents: its mechanism is left out and its value is an axis of the result.
/// A lever left alone keeps its mechanism and is summed out.
fn tabulate(
    world: &World,
    shape: &GroupShape,
    tables: &[Option<&[f64]>],
    state_space: &Space,
    cause_space: &Space,
    choices: &[Vec<Option<usize>>],
) -> Result<Vec<f64>, TooLarge> {
    let mut by_pattern: BTreeMap<Vec<bool>, Vec<usize>> = BTreeMap::new();
    for (i, choice) in choices.iter().enumerate() {
        by_pattern.entry(choice.iter().map(|v| v.is_some()).collect()).or_default().push(i);
    }
    let n_variables = world.variables().len();
    let mut prob = vec![0.0; state_space.len() * cause_space.len() * choices.len()];
    for (is_set, members) in by_pattern {
        let set: Vec<usize> = (0..shape.levers.len()).filter(|&p| is_set[p]).collect();
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
                    data: tables[m].expect("checked by the caller").to_vec(),
                }
            })
            .collect();
        // A lever that is itself a cause appears twice: as what was set (or decided itself) and as what was set off.
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
        let combos = Space::new(&world.sizes(&set_ids)).expect("part of the result");
        for rc in 0..state_space.len() * cause_space.len() {
            for &i in &members {
                let combo: usize =
                    set.iter().zip(combos.strides()).map(|(&p, s)| choices[i][p].expect("set") * s).sum();
                prob[rc * choices.len() + i] = result.data[rc * combos.len() + combo];
            }
        }
    }
    Ok(prob)
}

/// Sum over a group's mechanisms of how far each may be off, `[row][setting]`. Parents that a setting leaves open (key and
/// hidden variables, levers left alone) are taken at their worst.
fn total_radius(
    world: &World,
    shape: &GroupShape,
    radii: &[Vec<f64>],
    state_space: &Space,
    choices: &[Vec<Option<usize>>],
) -> Vec<f64> {
    let mut total = vec![0.0; state_space.len() * choices.len()];
    for &m in shape.mechanisms.iter().filter(|&&m| !radii[m].is_empty()) {
        let mechanism = &world.mechanisms()[m];
        let parents = Space::new(&world.sizes(&mechanism.parents)).expect("counted when the world was made");
        let place = |id: &VarId| shape.levers.iter().position(|&l| world.levers()[l] == *id);
        for row in 0..state_space.len() {
            for (i, choice) in choices.iter().enumerate() {
                if mechanism.children.iter().any(|id| place(id).is_some_and(|p| choice[p].is_some())) {
                    continue;
                }
                let fixed: Vec<Option<usize>> = mechanism
                    .parents
                    .iter()
                    .map(|id| match shape.state.iter().position(|&f| world.state()[f] == *id) {
                        Some(p) => Some(state_space.digit(row, p)),
                        None => place(id).and_then(|p| choice[p]),
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
                total[row * choices.len() + i] += worst;
            }
        }
    }
    total
}
