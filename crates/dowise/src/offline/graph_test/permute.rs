//! Monte Carlo permutation test, for claims with too few visits for asymptotic p-values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::statistic::Reference;
use super::tables::Tables;

/// A row to permute: the class of `other` of each visit, and outcomes to be shuffled.
struct Row {
    others: Vec<u32>,
    outcomes: Vec<u32>,
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
pub(super) fn p_by_permutations(tables: &Tables, reference: &Reference, seen: f64, most: u32, seed: u64) -> f64 {
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
            for i in (1..row.outcomes.len()).rev() {
                row.outcomes.swap(i, rng.random_range(0..=i));
            }
            cells.fill(0.0);
            for (&x, &y) in row.others.iter().zip(&row.outcomes) {
                cells[x as usize * n_outcome + y as usize] += 1.0;
            }
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
        Row {
            others: visits(&t.others),
            outcomes: visits(&t.outcomes),
            expected: expected(&t.others, &t.outcomes),
            pearson,
        }
    });
    made.collect()
}
