//! Estimated strength of every edge of the causal graph, from known and learned mechanisms, for display.

use super::{Evidence, SeenOf};
use crate::learn::options::Causes;
use crate::world::{Mechanism, VarId, World};

/// Most rows of a table, and values of a parent, for which a strength is computed.
const MOST_ROWS: usize = 1 << 16;
const MOST_VALUES: usize = 64;

/// Estimated strength of one edge of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrowSeen {
    /// The kind of table that the edge leads into.
    pub of: SeenOf,
    /// The parent.
    pub parent: String,
    /// The child: a variable, state factor or reward term.
    pub child: String,
    /// Effect size of the parent on the child, from 0 to 1: the greatest total-variation distance between the child's
    /// distributions for two values of the parent, other parents fixed, averaged over these (by visits, if learned).
    /// For a reward, the greatest difference as a share of its range. `None`: no data, or a table that is too large.
    pub strength: Option<f64>,
}

/// Fills in a row's distribution; returns its weight, 0 for an unknown row.
type Row<'a> = &'a dyn Fn(usize, &mut [f64]) -> f64;

/// Rows of a table: their weights and distributions.
struct Rows<'a> {
    sizes: Vec<usize>,
    n_values: usize,
    row: Row<'a>,
}

impl Rows<'_> {
    /// Strength of the parent at a position.
    fn strength(&self, axis: usize) -> Option<f64> {
        let n_rows = self.sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size))?;
        let (n, stride) = (self.sizes[axis], self.sizes[axis + 1..].iter().product::<usize>());
        if n_rows > MOST_ROWS || n > MOST_VALUES {
            return None;
        }
        let mut rows = vec![0.0; n * self.n_values];
        let (mut sum, mut weight) = (0.0, 0.0);
        for context in 0..n_rows / n {
            let first = context / stride * stride * n + context % stride;
            let mut seen = Vec::with_capacity(n);
            let mut of_context = 0.0;
            for (v, out) in rows.chunks_exact_mut(self.n_values).enumerate() {
                let of_row = (self.row)(first + v * stride, out);
                if of_row > 0.0 {
                    seen.push(v);
                    of_context += of_row;
                }
            }
            if seen.len() < 2 {
                continue;
            }
            let distance = |a: usize, b: usize| -> f64 {
                let [a, b] = [a, b].map(|v| &rows[v * self.n_values..][..self.n_values]);
                a.iter().zip(b).map(|(p, q)| (p - q).abs()).sum::<f64>() / 2.0
            };
            let pairs = seen.iter().enumerate().flat_map(|(i, &a)| seen[..i].iter().map(move |&b| (a, b)));
            sum += of_context * pairs.map(|(a, b)| distance(a, b)).fold(0.0, f64::max);
            weight += of_context;
        }
        (weight > 0.0).then(|| sum / weight)
    }
}

/// Posterior mean of a row of counts with a prior of one visit, uniform over values; returns its visits.
fn posterior(counts: impl Iterator<Item = u32>, out: &mut [f64]) -> f64 {
    let mut n = 0.0;
    for (p, count) in out.iter_mut().zip(counts) {
        *p = f64::from(count);
        n += *p;
    }
    let each = 1.0 / out.len() as f64;
    out.iter_mut().for_each(|p| *p = (*p + each) / (n + 1.0));
    n
}

impl Evidence {
    /// Estimated strengths of all edges of the graph; unknown rows have a prior of one visit, uniform over values.
    ///
    /// Learners with whole states, or with configurations other than each factor's own parents, have no table for an
    /// edge into a next state. Its strength is then `None`.
    pub fn arrows(&self) -> Vec<ArrowSeen> {
        let (world, view) = (self.view.knowledge.world(), &self.view);
        let mut out = Vec::new();
        for (i, transition) in world.transitions().iter().enumerate() {
            let factor = view.layout.factors.iter().position(|f| f.factor.is_some() && f.members == (i..i + 1));
            let counts: Vec<_> = factor.iter().flat_map(|&f| self.transitions.iter().map(move |b| &b[f])).collect();
            let learned = |row: usize, out: &mut [f64]| {
                let value = |v: usize| counts.iter().map(|c| c.values(row)[v]).fold(0, u32::saturating_add);
                posterior((0..out.len()).map(value), out)
            };
            let own = view.causes == Causes::OwnKeys && counts.iter().all(|c| c.n_r.len() == n_rows(world, transition));
            add(&mut out, world, transition, SeenOf::Transition, (factor.is_some() && own).then_some(&learned));
        }
        let unknown = view.mechanisms.as_ref();
        for mechanism in world.mechanisms() {
            // A mechanism with hidden parents marginalised out has a different table.
            let found = unknown.into_iter().flat_map(|m| m.unknown.iter().zip(&self.mechanisms).map(move |r| (m, r)));
            let same = |m: &Mechanism| m.children == mechanism.children && m.parents == mechanism.parents;
            let found = found
                .map(|(m, (rows, counts))| (&m.world.mechanisms()[rows.position], counts))
                .find(|(learned, _)| same(learned));
            let counts = found.map(|(_, counts)| counts);
            let learned =
                |row: usize, out: &mut [f64]| posterior(counts.map_or(&[][..], |c| c.values(row)).iter().copied(), out);
            add(&mut out, world, mechanism, SeenOf::Mechanism, counts.is_some().then_some(&learned));
        }
        for (i, term) in world.rewards().iter().enumerate() {
            let ([lo, hi], sizes) = (term.range, world.sizes(&term.scope));
            let paid = view.payments.terms.iter().zip(&self.payments).find(|(t, _)| t.of == [i]).map(|(_, p)| p);
            let row = |row: usize, out: &mut [f64]| {
                let (share, weight) = match (&term.table, paid) {
                    (Some(table), _) => ((table[row] - lo) / (hi - lo), 1.0),
                    (None, Some(p)) => (p.sum(row) / f64::from(p.n[row]).max(1.0), f64::from(p.n[row])),
                    (None, None) => (0.0, 0.0),
                };
                out.copy_from_slice(&[share, 1.0 - share]);
                weight
            };
            // The rows of next values differ from those of the scope.
            let own = term.next.is_empty() && paid.is_none_or(|p| p.n.len() == sizes.iter().product::<usize>());
            let rows = Rows { sizes, n_values: 2, row: &row };
            for (axis, &parent) in term.scope.iter().enumerate() {
                let strength = if own && hi > lo { rows.strength(axis) } else { None };
                let parent = world.variable(parent).name.clone();
                out.push(ArrowSeen { of: SeenOf::Reward, parent, child: term.name.clone(), strength });
            }
            for &next in &term.next {
                let parent = format!("{} next", world.variable(next).name);
                out.push(ArrowSeen { of: SeenOf::Reward, parent, child: term.name.clone(), strength: None });
            }
        }
        out
    }
}

fn n_rows(world: &World, m: &Mechanism) -> usize {
    world.sizes(&m.parents).iter().product()
}

/// Adds the edges of a mechanism: by its known table, or else by the learned one.
fn add(out: &mut Vec<ArrowSeen>, world: &World, m: &Mechanism, of: SeenOf, learned: Option<Row<'_>>) {
    let n_values: usize = world.sizes(&m.children).iter().product();
    let table = m.table.as_deref();
    let knowledge = |row: usize, out: &mut [f64]| {
        out.copy_from_slice(&table.expect("invariant: asked only where there is one")[row * n_values..][..n_values]);
        1.0
    };
    let row: Option<Row<'_>> = if table.is_some() { Some(&knowledge) } else { learned };
    let rows = row.map(|row| Rows { sizes: world.sizes(&m.parents), n_values, row });
    let name = |id: VarId| world.variable(id).name.clone();
    for &child in &m.children {
        for (axis, &parent) in m.parents.iter().enumerate() {
            let strength = rows.as_ref().and_then(|rows| rows.strength(axis));
            out.push(ArrowSeen { of, parent: name(parent), child: name(child), strength });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Knowledge, Observation, Options};
    use crate::world::World;

    fn world() -> World {
        let world = World::builder("w", 2).state("s", 2).lever("x", 2).lever("u", 3).key("z", 2);
        let world = world.mechanism("z", ["x", "u"], vec![0.9, 0.1, 0.9, 0.1, 0.5, 0.5, 0.2, 0.8, 0.2, 0.8, 0.2, 0.8]);
        let world = world.next("s", ["s", "z"], vec![1.0, 0.0, 0.25, 0.75, 0.5, 0.5, 0.5, 0.5]);
        world.reward("r", "s", [0.0, 4.0]).build().expect("a world")
    }

    fn strength(arrows: &[ArrowSeen], parent: &str, child: &str) -> Option<f64> {
        arrows.iter().find(|a| a.parent == parent && a.child == child).expect("an arrow").strength
    }

    #[test]
    fn arrow_strengths_come_from_known_tables_or_from_counts() {
        let knowledge = Knowledge::of(&world());
        let mut evidence = Evidence::new(&knowledge, &Options::default()).expect("evidence");
        let arrows = evidence.arrows();
        // By hand: x changes z by 0.7, 0.7 and 0.3 for the three values of u; u by 0.4 for x = 0 and not at all for x
        // = 1.
        let near =
            |found: Option<f64>, by: f64| assert!(found.is_some_and(|f| (f - by).abs() < 1e-12), "{found:?} {by}");
        near(strength(&arrows, "x", "z"), (0.7 + 0.7 + 0.3) / 3.0);
        near(strength(&arrows, "u", "z"), 0.2);
        near(strength(&arrows, "s", "r"), 1.0);
        assert_eq!(strength(&arrows, "z", "s"), None, "nothing was seen");
        // In s = 0: z = 0 goes to 0 three times, z = 1 to 1 once.
        for (z, next, times) in [(0u32, 0, 3), (1, 1, 1)] {
            let step = Observation::at(&knowledge, 0, 0).and_then(|o| o.did(&knowledge, 0)).expect("a step");
            let step = step.saw(&knowledge, &[z][..]).and_then(|o| o.then(&knowledge, next)).expect("a step");
            evidence.add_times(&step, times).expect("room");
        }
        let arrows = evidence.arrows();
        near(strength(&arrows, "z", "s"), 3.5 / 4.0 - 0.5 / 2.0);
        assert_eq!(strength(&arrows, "s", "s"), None, "only one value of s was seen");
    }
}
