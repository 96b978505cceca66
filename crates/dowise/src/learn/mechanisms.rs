//! P(z | s, a) not known: mechanisms within a step are counted like transitions, with the scopes of the causal graph.

use rand::Rng;

use super::counts::Counts;
use super::posterior::dirichlet;
use super::{LearnError, LearnResult};
use crate::Space;
use crate::kernel::{Kernel, groups};
use crate::world::{Kind, Mechanism, Setting, VarId, World};

/// What was seen of the mechanisms that are not known.
#[derive(Clone, Debug)]
pub(crate) struct Mechanisms {
    /// The world with unknown mechanisms rewritten so that each has only observed variables.
    world: World,
    /// (position of the mechanism, rows over its parents, counts)
    unknown: Vec<(usize, Space, Counts)>,
}

/// How counts become numbers.
pub(crate) enum Reading<'a, R> {
    /// Frequencies, with the radius scale · min(1, √(log/(2N)) or half the L1 radius) for the optimistic choice.
    Optimistic { log: f64, scale: f64 },
    /// A sample of the Dirichlet posterior.
    Sampled { prior: f64, rng: &'a mut R },
    /// Frequencies; nothing seen: all values alike.
    Mean,
}

impl Mechanisms {
    /// `None` if everything is known.
    pub(crate) fn new(world: &World) -> LearnResult<Option<Mechanisms>> {
        let world = observed_only(world)?;
        // What no cause depends on is nobody's business; nor is how a lever behaves that is never left alone.
        let needed: Vec<usize> = groups::groups(&world).into_iter().flat_map(|g| g.mechanisms).collect();
        let unknown: Vec<(usize, Space, Counts)> = world
            .mechanisms()
            .iter()
            .enumerate()
            .filter(|(i, m)| m.table.is_none() && needed.contains(i))
            .map(|(i, m)| {
                let rows = Space::new(&world.sizes(&m.parents)).expect("counted when the world was made");
                let n_values = world.sizes(&m.children).iter().product();
                (i, rows.clone(), Counts::new(rows.len(), n_values))
            })
            .collect();
        Ok(if unknown.is_empty() { None } else { Some(Mechanisms { world, unknown }) })
    }

    /// Number of cells to learn.
    pub(crate) fn cells(&self) -> usize {
        self.unknown.iter().map(|(_, rows, _)| rows.len()).sum()
    }

    /// Counts one step: `values` of all variables by [`VarId`]; a lever that was set says nothing about its own mechanism.
    /// Whether some row has now been seen 1, 2, 4, 8, … times.
    pub(crate) fn observe(&mut self, was_set: impl Fn(VarId) -> bool, values: &[u32]) -> bool {
        let mut doubled = false;
        for (i, rows, counts) in &mut self.unknown {
            let m = &self.world.mechanisms()[*i];
            if m.children.iter().any(|&id| was_set(id)) {
                continue;
            }
            let row = m.parents.iter().zip(rows.strides()).map(|(id, stride)| values[id.ix()] as usize * stride).sum();
            let value =
                m.children.iter().fold(0, |v, id| v * self.world.variable(*id).size() + values[id.ix()] as usize);
            counts.add(row, value);
            doubled |= counts.n_r[row].is_power_of_two();
        }
        doubled
    }

    /// The kernel that the counts amount to.
    pub(crate) fn kernel<R: Rng>(&self, mut reading: Reading<'_, R>) -> LearnResult<Kernel> {
        let learned: Vec<(usize, Vec<f64>)> = self
            .unknown
            .iter()
            .map(|(i, rows, counts)| {
                let n = counts.n_values;
                let mut table = vec![0.0; rows.len() * n];
                for (row, out) in table.chunks_exact_mut(n).enumerate() {
                    match &mut reading {
                        Reading::Sampled { prior, rng } => dirichlet(counts.values(row), *prior, *rng, out),
                        _ if counts.n_r[row] == 0 => out.fill(1.0 / n as f64),
                        _ => {
                            let total = f64::from(counts.n_r[row]);
                            out.iter_mut().zip(counts.values(row)).for_each(|(o, &k)| *o = f64::from(k) / total);
                        }
                    }
                }
                (*i, table)
            })
            .collect();
        let mut tables: Vec<Option<&[f64]>> = self.world.mechanisms().iter().map(|m| m.table.as_deref()).collect();
        learned.iter().for_each(|(i, table)| tables[*i] = Some(table));
        let optimism = match reading {
            Reading::Optimistic { log, scale } => Some((log, scale)),
            _ => None,
        };
        let radius = optimism.map(|(log, scale)| self.radii(log, scale));
        Ok(Kernel::with_tables(&self.world, &tables, radius.as_deref())?)
    }

    /// For each mechanism of the world the distance by which each row may be off (total variation); empty if known.
    fn radii(&self, log: f64, scale: f64) -> Vec<Vec<f64>> {
        let mut radii = vec![Vec::new(); self.world.mechanisms().len()];
        for (i, _, counts) in &self.unknown {
            let extra =
                if counts.n_values == 2 { 0.0 } else { (counts.n_values as f64 - 1.0) * std::f64::consts::LN_2 };
            radii[*i] = counts
                .n_r
                .iter()
                .map(|&n| if n == 0 { 1.0 } else { (scale * ((log + extra) / (2.0 * f64::from(n))).sqrt()).min(1.0) })
                .collect();
        }
        radii
    }

    /// What was counted, for saving and restoring.
    pub(crate) fn counts_mut(&mut self) -> impl Iterator<Item = &mut Counts> {
        self.unknown.iter_mut().map(|(_, _, counts)| counts)
    }

    /// What was counted.
    pub(crate) fn counts(&self) -> impl Iterator<Item = &Counts> {
        self.unknown.iter().map(|(_, _, counts)| counts)
    }
}

/// Where a group has hidden variables and something unknown, its mechanisms are replaced by one joint mechanism of its key
/// variables given its levers and state factors: hidden variables cannot be counted, but what passes through them can.
fn observed_only(world: &World) -> LearnResult<World> {
    let mut out = world.clone();
    let is = |id: &VarId, kind: Kind| world.variable(*id).kind == kind;
    let may_be_left = !matches!(world.interventions().setting(), Setting::All);
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
        if rows.is_none_or(|n| n > super::MOST_CELLS) {
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
