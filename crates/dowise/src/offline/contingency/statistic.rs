//! Permutation tests of conditional independence: Cochran–Mantel–Haenszel and stratified Pearson statistics.
//!
//! The generalised Cochran–Mantel–Haenszel statistic sums deviations over rows before squaring: it is powerful if the
//! effect has one direction everywhere. The sum of Pearson's X² over rows is powerful if directions differ. Given the
//! margins, the permutation moments of both are known, so no large-sample approximation is needed within a row.

use super::gamma::{upper_chi_square, upper_gamma};
use super::tables::{Table, Tables};

/// Permutation distribution of both statistics for the margins of a comparison.
pub(crate) struct Reference {
    /// Rows of a factor L with L Lᵀ = covariance of the summed deviations, in the order of `pivots`; independent ones
    /// only.
    factor: Vec<Vec<f64>>,
    pivots: Vec<usize>,
    n_other: usize,
    n_outcome: usize,
    /// Mean and variance of the sum of Pearson's X² over rows.
    pearson: [f64; 2],
    /// Whether only one statistic applies: there is only one row, or none fit for Pearson's.
    alone: bool,
}

/// The statistics of one set of tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statistics {
    /// p-value of the Cochran–Mantel–Haenszel statistic: one direction shared by all rows.
    pub(crate) p_shared: f64,
    /// p-value of the summed Pearson statistic: each row has its own direction; 1 if it does not apply.
    pub(crate) p_each: f64,
}

impl Statistics {
    /// The smaller of the two.
    pub(crate) fn least(&self) -> f64 {
        self.p_shared.min(self.p_each)
    }
}

/// A direction whose remaining variance is below this share of its original variance is linearly dependent.
const DEPENDENT: f64 = 1e-9;

impl Reference {
    /// The permutation distribution for these tables.
    pub(crate) fn of_tables(tables: &Tables) -> Reference {
        Reference::new(&tables.tables, &tables.for_pearson())
    }

    /// `tables` have the same classes; `coarse` are those fit for Pearson's statistic.
    ///
    /// # Cost
    /// O(rows · k² + k³) for k = (classes − 1)(classes − 1).
    fn new(tables: &[Table], coarse: &[Table]) -> Reference {
        let (n_other, n_outcome) = (tables[0].n_other, tables[0].n_outcome);
        let covariance = covariance(tables);
        let (factor, pivots) = factorise(covariance);
        let mut pearson = [0.0; 2];
        for table in coarse {
            let [mean, variance] = pearson_moments(table);
            pearson[0] += mean;
            pearson[1] += variance;
        }
        let alone = tables.len() == 1 || pearson[1] <= 0.0;
        Reference { factor, pivots, n_other, n_outcome, pearson, alone }
    }

    /// Degrees of freedom.
    #[cfg(test)]
    pub(crate) fn degrees(&self) -> usize {
        self.pivots.len()
    }

    /// Whether one statistic decides alone, so that its p-value needs no Bonferroni factor of 2.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }

    /// The smaller p-value of tables with these margins.
    pub(super) fn least(&self, tables: &Tables) -> f64 {
        self.of(&tables.tables, &tables.for_pearson()).least()
    }

    /// Statistics of tables with these margins.
    fn of(&self, tables: &[Table], coarse: &[Table]) -> Statistics {
        let pearson = coarse.iter().map(pearson).sum();
        self.of_deviations(&deviations(tables, self.n_other, self.n_outcome), pearson)
    }

    /// Statistics of summed deviations (`[other][outcome]`, without the last of each) and summed X².
    pub(crate) fn of_deviations(&self, deviations: &[f64], pearson: f64) -> Statistics {
        let mut solved: Vec<f64> = Vec::with_capacity(self.pivots.len());
        for (row, &at) in self.factor.iter().zip(&self.pivots) {
            let known: f64 = row.iter().zip(&solved).map(|(l, x)| l * x).sum();
            solved.push((deviations[at] - known) / row[solved.len()]);
        }
        let shared: f64 = solved.iter().map(|x| x * x).sum();
        let p_shared = if solved.is_empty() { 1.0 } else { upper_chi_square(solved.len() as f64, shared) };
        let [mean, variance] = self.pearson;
        let p_each = if self.alone { 1.0 } else { upper_gamma(mean * mean / variance, pearson * mean / variance) };
        Statistics { p_shared, p_each }
    }
}

/// Σ over rows of observed less expected counts, without the last class of each side.
pub(crate) fn deviations(tables: &[Table], n_other: usize, n_outcome: usize) -> Vec<f64> {
    let mut out = vec![0.0; (n_other - 1) * (n_outcome - 1)];
    for t in tables {
        for x in 0..n_other - 1 {
            for y in 0..n_outcome - 1 {
                out[x * (n_outcome - 1) + y] += t.counts[x * n_outcome + y] - t.others[x] * t.outcomes[y] / t.total;
            }
        }
    }
    out
}

/// The covariance of [`deviations`] under permutations: Σ (δ N r − r r')(δ N c − c c') / (N² (N − 1)).
fn covariance(tables: &[Table]) -> Vec<Vec<f64>> {
    let (kx, ky) = (tables[0].n_other - 1, tables[0].n_outcome - 1);
    let k = kx * ky;
    let mut out = vec![vec![0.0; k]; k];
    for t in tables {
        let scale = 1.0 / (t.total * t.total * (t.total - 1.0));
        let part = |margin: &[f64], a: usize, b: usize| {
            (if a == b { t.total * margin[a] } else { 0.0 }) - margin[a] * margin[b]
        };
        for a in 0..k {
            let of_other: Vec<f64> = (0..kx).map(|x| part(&t.others, a / ky, x) * scale).collect();
            for b in 0..k {
                out[a][b] += of_other[b / ky] * part(&t.outcomes, a % ky, b % ky);
            }
        }
    }
    out
}

/// Pivoted Cholesky factor; stops when only rounding error remains.
fn factorise(mut left: Vec<Vec<f64>>) -> (Vec<Vec<f64>>, Vec<usize>) {
    let k = left.len();
    let first: Vec<f64> = (0..k).map(|i| left[i][i]).collect();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut pivots = Vec::new();
    loop {
        let free = |i: &usize| !pivots.contains(i) && left[*i][*i] > DEPENDENT * first[*i] && first[*i] > 0.0;
        let Some(p) = (0..k).filter(free).max_by(|&a, &b| left[a][a].total_cmp(&left[b][b]).then(b.cmp(&a))) else {
            break;
        };
        let root = left[p][p].sqrt();
        let column: Vec<f64> = (0..k).map(|i| left[i][p] / root).collect();
        for i in 0..k {
            for j in 0..k {
                left[i][j] -= column[i] * column[j];
            }
        }
        columns.push(column);
        pivots.push(p);
    }
    let factor = pivots.iter().enumerate().map(|(n, &p)| columns[..=n].iter().map(|c| c[p]).collect());
    (factor.collect(), pivots)
}

/// Pearson's X² of a table.
pub(crate) fn pearson(t: &Table) -> f64 {
    let mut sum = 0.0;
    for x in 0..t.n_other {
        for y in 0..t.n_outcome {
            let expected = t.others[x] * t.outcomes[y] / t.total;
            if expected > 0.0 {
                let off = t.counts[x * t.n_outcome + y] - expected;
                sum += off * off / expected;
            }
        }
    }
    sum
}

/// Mean and variance of Pearson's X² over all permutations (Dawson 1954), for at least four visits.
fn pearson_moments(t: &Table) -> [f64; 2] {
    let n = t.total;
    let side = |margin: &[f64]| {
        let (k, inverse) = margin.iter().filter(|&&m| m > 0.0).fold((0.0, 0.0), |(k, s), m| (k + 1.0, s + 1.0 / m));
        let even: f64 = (k - 1.0) * (n - k) / (n - 1.0);
        (k, even, (n * inverse - k * k) / (n - 2.0))
    };
    let (r, even_r, odd_r) = side(&t.others);
    let (c, even_c, odd_c) = side(&t.outcomes);
    let mean = n * (r - 1.0) * (c - 1.0) / (n - 1.0);
    let variance = 2.0 * n / (n - 3.0) * (even_r - odd_r) * (even_c - odd_c) + n * n / (n - 1.0) * odd_r * odd_c;
    [mean, variance.max(0.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enumerates all permutations of a row's outcomes against its fixed others.
    fn permutations(
        others: &[usize],
        outcomes: &mut Vec<usize>,
        from: usize,
        each: &mut dyn FnMut(&[usize], &[usize]),
    ) {
        if from == outcomes.len() {
            return each(others, outcomes);
        }
        for i in from..outcomes.len() {
            outcomes.swap(from, i);
            permutations(others, outcomes, from + 1, each);
            outcomes.swap(from, i);
        }
    }

    fn table(others: &[usize], outcomes: &[usize]) -> Table {
        let (n, m) = (others.iter().max().unwrap() + 1, outcomes.iter().max().unwrap() + 1);
        let mut counts = vec![0.0; n * m];
        others.iter().zip(outcomes).for_each(|(x, y)| counts[x * m + y] += 1.0);
        Table::new(n, m, counts)
    }

    const CASES: [(&[usize], &[usize]); 5] = [
        (&[0, 0, 1, 1], &[0, 1, 0, 1]),
        (&[0, 1, 1, 1, 1, 2], &[0, 0, 0, 1, 1, 1]),
        (&[0, 1, 2, 2, 2, 2, 2], &[0, 1, 1, 1, 1, 1, 2]),
        (&[0, 0, 0, 1, 1, 1, 2], &[0, 0, 1, 1, 2, 2, 2]),
        (&[0, 1, 1, 1, 1], &[0, 1, 1, 1, 1]),
    ];

    #[test]
    fn moments_are_those_of_all_permutations() {
        for (others, outcomes) in CASES {
            let t = table(others, outcomes);
            let k = (t.n_other - 1) * (t.n_outcome - 1);
            let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
            let mut products = vec![vec![0.0; k]; k];
            permutations(others, &mut outcomes.to_vec(), 0, &mut |x, y| {
                let drawn = table(x, y);
                let (d, x2) = (deviations(std::slice::from_ref(&drawn), t.n_other, t.n_outcome), pearson(&drawn));
                n += 1.0;
                sum += x2;
                squares += x2 * x2;
                for a in 0..k {
                    (0..k).for_each(|b| products[a][b] += d[a] * d[b]);
                }
            });
            let [mean, variance] = pearson_moments(&t);
            assert!((mean - sum / n).abs() < 1e-9, "{mean} {}", sum / n);
            let expected = squares / n - (sum / n) * (sum / n);
            assert!((variance - expected).abs() < 1e-9, "{others:?} {outcomes:?}: {variance} {expected}");
            let found = covariance(&[t]);
            for a in 0..k {
                for b in 0..k {
                    assert!((found[a][b] - products[a][b] / n).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn one_row_has_pearsons_statistic_up_to_the_lost_visit() {
        let t = Table::new(3, 3, vec![8.0, 3.0, 1.0, 2.0, 9.0, 4.0, 3.0, 3.0, 7.0]);
        let reference = Reference::new(std::slice::from_ref(&t), std::slice::from_ref(&t));
        assert_eq!(reference.degrees(), 4);
        let found = reference.of(std::slice::from_ref(&t), std::slice::from_ref(&t)).p_shared;
        let expected = upper_chi_square(4.0, pearson(&t) * (t.total - 1.0) / t.total);
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn two_by_two_tables_give_the_statistic_of_mantel_and_haenszel() {
        let tables = [Table::new(2, 2, vec![12.0, 5.0, 6.0, 10.0]), Table::new(2, 2, vec![3.0, 9.0, 2.0, 20.0])];
        let (mut off, mut variance) = (0.0, 0.0);
        for t in &tables {
            off += t.counts[0] - t.others[0] * t.outcomes[0] / t.total;
            let product: f64 = t.others.iter().chain(&t.outcomes).product();
            variance += product / (t.total * t.total * (t.total - 1.0));
        }
        let found = Reference::new(&tables, &tables).of(&tables, &tables).p_shared;
        assert!((found - upper_chi_square(1.0, off * off / variance)).abs() < 1e-12);
    }

    #[test]
    fn classes_that_some_rows_lack_are_no_trouble() {
        let tables = [
            Table::new(3, 2, vec![5.0, 5.0, 4.0, 6.0, 0.0, 0.0]),
            Table::new(3, 2, vec![0.0, 0.0, 5.0, 5.0, 0.0, 0.0]),
        ];
        let reference = Reference::new(&tables[..1], &[]);
        assert_eq!(reference.degrees(), 1, "the third class was never seen");
        assert!(reference.of(&tables[..1], &[]).p_shared > 0.5);
        assert!(!tables[1].varies());
    }
}
