//! Monte Carlo permutation test, for comparisons with too few visits for asymptotic p-values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::statistic::Reference;
use super::tables::Tables;

/// A row to permute. Only visits outside the most frequent class of one side are drawn; the rest follows from the
/// margins.
struct Row {
    /// Classes of the side with fewer visits outside its most frequent class: one for each such visit.
    rare: Vec<u32>,
    /// Its most frequent class, which takes what is left.
    frequent: u32,
    /// Classes of the other side, one for each visit, to be drawn without replacement.
    pool: Vec<u32>,
    /// Visits of each class of that side.
    pool_margin: Vec<f64>,
    /// Whether `rare` holds classes of `outcome` rather than of `other`.
    transposed: bool,
    /// Expected counts of the table, `[other][outcome]`.
    expected: Vec<f64>,
    /// For Pearson's statistic: the merged cell of each cell, and its expected count.
    pearson: Option<(Vec<u32>, Vec<f64>)>,
}

/// Sampling stops when this many permutations are at least as extreme as the data.
const AS_FAR: u32 = 20;

/// Sequential Monte Carlo p-value (Besag and Clifford 1991).
///
/// Draws until 20 permutations are as extreme, then p = 20 / draws; or `most` times, then p = (as extreme + 1) / (most
/// + 1). Both are valid for any number of visits: under independence, P(p ≤ α) ≤ α.
pub(crate) fn p_by_permutations(tables: &Tables, reference: &Reference, seen: f64, most: u32, seed: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (n_other, n_outcome) = (tables.merged[0].n, tables.merged[1].n);
    let mut rows = rows(tables);
    let mut deviations = vec![0.0; (n_other - 1) * (n_outcome - 1)];
    let mut cells = vec![0.0; n_other * n_outcome];
    let mut coarse = Vec::new();
    let mut as_far = 0;
    for draw in 1..=most {
        deviations.fill(0.0);
        let mut pearson = 0.0;
        for row in &mut rows {
            row.draw(&mut rng, n_outcome, &mut cells);
            for x in 0..n_other - 1 {
                for y in 0..n_outcome - 1 {
                    let at = x * n_outcome + y;
                    deviations[x * (n_outcome - 1) + y] += cells[at] - row.expected[at];
                }
            }
            if let Some((to, expected)) = &row.pearson {
                coarse.clear();
                coarse.resize(expected.len(), 0.0);
                cells.iter().zip(to).for_each(|(n, &to)| coarse[to as usize] += n);
                pearson += coarse.iter().zip(expected).map(|(n, e)| (n - e) * (n - e) / e).sum::<f64>();
            }
        }
        // Tolerance for rounding of sums in equal tables.
        if reference.of_deviations(&deviations, pearson).least() <= seen * (1.0 + 1e-9) {
            as_far += 1;
            if as_far == AS_FAR {
                return f64::from(AS_FAR) / f64::from(draw);
            }
        }
    }
    f64::from(as_far + 1) / (f64::from(most) + 1.0)
}

impl Row {
    /// Draws the counts `[other][outcome]` of a random permutation: a partial Fisher–Yates shuffle.
    fn draw(&mut self, rng: &mut ChaCha8Rng, n_outcome: usize, cells: &mut [f64]) {
        let at = |rare: u32, drawn: usize| match self.transposed {
            false => rare as usize * n_outcome + drawn,
            true => drawn * n_outcome + rare as usize,
        };
        cells.fill(0.0);
        for (drawn, &n) in self.pool_margin.iter().enumerate() {
            cells[at(self.frequent, drawn)] = n;
        }
        let last = self.pool.len();
        for (i, &rare) in self.rare.iter().enumerate() {
            self.pool.swap(i, rng.random_range(i..last));
            let drawn = self.pool[i] as usize;
            cells[at(rare, drawn)] += 1.0;
            cells[at(self.frequent, drawn)] -= 1.0;
        }
    }
}

/// Visits to draw for one permutation of all rows.
pub(crate) fn work(tables: &Tables) -> f64 {
    let rare = |margin: &[f64], total: f64| total - margin.iter().copied().fold(0.0, f64::max);
    tables.tables.iter().map(|t| rare(&t.others, t.total).min(rare(&t.outcomes, t.total))).sum()
}

/// The most frequent class; the first of several.
fn most_frequent(margin: &[f64]) -> usize {
    (0..margin.len()).max_by(|&a, &b| margin[a].total_cmp(&margin[b]).then(b.cmp(&a))).unwrap_or(0)
}

fn rows(tables: &Tables) -> Vec<Row> {
    let made = tables.tables.iter().zip(&tables.coarse).map(|(t, merge)| {
        let visits = |margin: &[f64]| -> Vec<u32> {
            margin.iter().enumerate().flat_map(|(i, &n)| std::iter::repeat_n(i as u32, n as usize)).collect()
        };
        let expected = |others: &[f64], outcomes: &[f64]| -> Vec<f64> {
            others.iter().flat_map(|r| outcomes.iter().map(move |c| r * c / t.total)).collect()
        };
        let pearson = merge.as_ref().map(|[x, y]| {
            let coarse = t.merged(x, y);
            let to = |at: usize| (x.to[at / t.n_outcome] * y.n + y.to[at % t.n_outcome]) as u32;
            ((0..t.counts.len()).map(to).collect(), expected(&coarse.others, &coarse.outcomes))
        });
        let frequent = [&t.others, &t.outcomes].map(|margin| most_frequent(margin));
        let transposed = t.outcomes[frequent[1]] > t.others[frequent[0]];
        let (side, pool) = if transposed { (&t.outcomes, &t.others) } else { (&t.others, &t.outcomes) };
        let frequent = frequent[usize::from(transposed)] as u32;
        Row {
            rare: visits(side).into_iter().filter(|&class| class != frequent).collect(),
            frequent,
            pool: visits(pool),
            pool_margin: pool.clone(),
            transposed,
            expected: expected(&t.others, &t.outcomes),
            pearson,
        }
    });
    made.collect()
}
