//! Effect size of a dependence, and the row where it is strongest.

use serde::Serialize;

use crate::offline::contingency::{Table, Tables, pearson};

/// Effect size of a conditional dependence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// Cramér's V over all rows, bias-corrected: 0 independent, 1 deterministic.
    pub association: f64,
    /// The class of the other variable with the clearest association over all rows.
    pub other: String,
    /// The class of the outcome with the clearest association over all rows.
    pub outcome: String,
    /// Difference of the outcome's probability with and without that class within a row: Mantel–Haenszel mean over
    /// rows.
    pub difference: f64,
    /// The row in which the dependence is clearest.
    pub strongest: RowEffect,
}

/// A dependence within one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowEffect {
    /// Values of the conditioning set.
    pub row: String,
    /// The class of the other variable.
    pub other: String,
    /// The class of the outcome.
    pub outcome: String,
    /// Share of the outcome among visits with that class.
    pub share: f64,
    /// Share of the outcome among visits without it.
    pub elsewhere: f64,
    /// Visits with that class.
    pub visits: u64,
    /// Visits without it.
    pub visits_elsewhere: u64,
}

/// Names of the classes of both variables, and of rows.
pub(super) trait Words {
    fn other(&self, class: usize) -> String;
    fn outcome(&self, class: usize) -> String;
    fn row(&self, place: usize) -> String;
}

/// n − r c / N, its variance under permutations, and r (N − r) / N.
fn cell(t: &Table, x: usize, y: usize) -> [f64; 3] {
    let (n, r, c) = (t.total, t.others[x], t.outcomes[y]);
    let off = t.counts[x * t.n_outcome + y] - r * c / n;
    [off, r * (n - r) * c * (n - c) / (n * n * (n - 1.0)), r * (n - r) / n]
}

fn clear([off, variance, _]: [f64; 3]) -> f64 {
    if variance > 0.0 { off * off / variance } else { 0.0 }
}

impl Effect {
    pub(super) fn of(tables: &Tables, words: &impl Words) -> Effect {
        let list = &tables.tables;
        let (n_other, n_outcome) = (list[0].n_other, list[0].n_outcome);
        let cells = || (0..n_other).flat_map(|x| (0..n_outcome).map(move |y| (x, y)));
        let pooled = |(x, y)| {
            let add = |[a, b, c]: [f64; 3], [d, e, f]: [f64; 3]| [a + d, b + e, c + f];
            list.iter().map(|t| cell(t, x, y)).fold([0.0; 3], add)
        };
        let first = |best: Option<(f64, _)>, clear: f64, what| match best {
            Some((most, kept)) if most >= clear => Some((most, kept)),
            Some(_) | None => Some((clear, what)),
        };
        let most = cells().fold(None, |best, at| first(best, clear(pooled(at)), (0, at)));
        let (_, (_, (x, y))) = most.expect("invariant: a table that varies has cells");
        let [off, _, weight] = pooled((x, y));
        let each = list.iter().enumerate().flat_map(|(i, _)| cells().map(move |at| (i, at)));
        let most = each.fold(None, |best, (i, (x, y))| first(best, clear(cell(&list[i], x, y)), (i, (x, y))));
        let (_, (i, (rx, ry))) = most.expect("invariant: there is a table");
        let t = &list[i];
        let both = t.counts[rx * t.n_outcome + ry];
        let strongest = RowEffect {
            row: words.row(tables.places[i]),
            other: words.other(rx),
            outcome: words.outcome(ry),
            share: both / t.others[rx],
            elsewhere: (t.outcomes[ry] - both) / (t.total - t.others[rx]),
            visits: t.others[rx] as u64,
            visits_elsewhere: (t.total - t.others[rx]) as u64,
        };
        Effect {
            association: association(list),
            other: words.other(x),
            outcome: words.outcome(y),
            difference: if weight > 0.0 { off / weight } else { 0.0 },
            strongest,
        }
    }
}

/// √(Σ (X² − its mean) / Σ N min(r − 1, c − 1)), 0 where X² is below its mean.
fn association(tables: &[Table]) -> f64 {
    let (mut over, mut most) = (0.0, 0.0);
    for t in tables {
        let several = |margin: &[f64]| margin.iter().filter(|&&n| n > 0.0).count() as f64 - 1.0;
        let (r, c) = (several(&t.others), several(&t.outcomes));
        over += pearson(t) - t.total * r * c / (t.total - 1.0);
        most += t.total * r.min(c);
    }
    (over.max(0.0) / most).min(1.0).sqrt()
}
