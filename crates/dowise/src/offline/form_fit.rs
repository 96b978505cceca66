//! Goodness of fit of parametric mechanisms: a form against the frequencies of its rows.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::learn::{Counts, Evidence, mean_tables};
use crate::math::ln;

/// Limit on visits times draws.
const MOST_WORK: f64 = 4e7;

/// Draws of the parametric bootstrap.
const DRAWS: usize = 1000;
const FEWEST_DRAWS: usize = 200;

/// Divergence per visit below which a misfit is too small to matter: frequencies then differ by about 0.02.
const NEGLIGIBLE: f64 = 1e-3;

/// Fit of one parametric mechanism to its rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormFit {
    /// The names of its variables.
    pub(crate) name: String,
    /// Probability of such a deviance if the form is right.
    pub(crate) p: f64,
    /// Kullback–Leibler divergence of frequencies from the form per visit, less the part due to chance.
    pub(crate) divergence: f64,
    /// The row with the largest deviance: its visits, and the frequency and the fitted probability of its worst value.
    pub(crate) worst: [f64; 3],
}

impl FormFit {
    /// Whether the form is rejected at a level, by more than a negligible misfit.
    pub(crate) fn is_rejected(&self, level: f64) -> bool {
        self.p <= level && self.divergence > NEGLIGIBLE
    }
}

/// Tests every parametric mechanism that is learned.
///
/// The statistic is the deviance G² = 2 Σ n ln(n / (N p)) of the frequencies of all rows from the fitted form. Its
/// distribution is simulated from the form. Fitting k parameters takes about k off the observed deviance, so k is
/// added. Forms are fitted with nearly flat priors.
///
/// # Cost
/// At most 1,000 draws of all visits; fewer for large logs.
pub(crate) fn form_fits(evidence: &Evidence, seed: u64) -> Vec<FormFit> {
    let Some(rows) = &evidence.view.mechanisms else { return Vec::new() };
    let tables = mean_tables(&evidence.mechanisms, rows, 0.0);
    let forms = rows.unknown.iter().zip(&evidence.mechanisms).enumerate();
    let forms = forms.filter_map(|(i, (of, counts))| Some((i, of, of.model.as_ref()?, counts)));
    let tested = forms.filter(|(_, _, model, counts)| model.has_form() && counts.n_r.iter().any(|&n| n > 0));
    tested
        .map(|(i, of, model, counts)| {
            let table = tables[of.position].as_deref().expect("invariant: an unknown mechanism has a table");
            let world = &rows.world;
            let children = &world.mechanisms()[of.position].children;
            let names: Vec<&str> = children.iter().map(|&id| world.variable(id).name.as_str()).collect();
            fit(names.join(", "), counts, table, model.n_parameters(), seed ^ i as u64)
        })
        .collect()
}

fn fit(name: String, counts: &Counts, table: &[f64], parameters: usize, seed: u64) -> FormFit {
    let n_values = counts.n_values;
    let visited: Vec<usize> = counts.visited().collect();
    let visits: f64 = visited.iter().map(|&row| f64::from(counts.n_r[row])).sum();
    let probabilities = |row: usize| &table[row * n_values..(row + 1) * n_values];
    let seen = visited.iter().map(|&row| deviance(counts.values(row), probabilities(row)));
    let found = seen.sum::<f64>() + parameters as f64;
    let worst = visited.iter().copied().max_by(|&a, &b| {
        let of = |row: usize| deviance(counts.values(row), probabilities(row));
        of(a).total_cmp(&of(b))
    });
    let worst = worst.map_or([0.0; 3], |row| {
        let n = f64::from(counts.n_r[row]);
        let share = |v: usize| f64::from(counts.values(row)[v]) / n;
        let off = |v: &usize| (share(*v) - probabilities(row)[*v]).abs();
        let value = (0..n_values).max_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(0);
        [n, share(value), probabilities(row)[value]]
    });
    let draws = ((MOST_WORK / visits) as usize).clamp(FEWEST_DRAWS, DRAWS);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut as_far, mut sum, mut drawn) = (0u32, 0.0, vec![0u32; n_values]);
    for _ in 0..draws {
        let mut total = 0.0;
        for &row in &visited {
            draw(counts.n_r[row], probabilities(row), &mut rng, &mut drawn);
            total += deviance(&drawn, probabilities(row));
        }
        sum += total;
        as_far += u32::from(total >= found);
    }
    let p = f64::from(as_far + 1) / (draws as f64 + 1.0);
    let divergence = ((found - sum / draws as f64) / (2.0 * visits)).max(0.0);
    FormFit { name, p, divergence, worst }
}

/// G² of the counts of one row.
fn deviance(counts: &[u32], probabilities: &[f64]) -> f64 {
    let total: f64 = counts.iter().map(|&n| f64::from(n)).sum();
    let cells = counts.iter().zip(probabilities).filter(|(n, _)| **n > 0);
    2.0 * cells.map(|(&n, &p)| f64::from(n) * ln(f64::from(n) / (total * p.max(1e-12)))).sum::<f64>()
}

/// Draws the counts of a row.
fn draw(n: u32, probabilities: &[f64], rng: &mut ChaCha8Rng, out: &mut [u32]) {
    out.fill(0);
    for _ in 0..n {
        let mut at: f64 = rng.random();
        let value = probabilities.iter().position(|p| {
            at -= p;
            at < 0.0
        });
        out[value.unwrap_or(probabilities.len() - 1)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(rows: &[[u32; 2]]) -> Counts {
        let mut counts = Counts::new(rows.len(), 2);
        for (row, cells) in rows.iter().enumerate() {
            (0..2).for_each(|v| counts.add_times(row, v, cells[v]));
        }
        counts
    }

    #[test]
    fn a_right_table_fits_and_a_wrong_one_does_not() {
        let counts = counted(&[[50, 50], [20, 80]]);
        let right = fit("k".into(), &counts, &[0.5, 0.5, 0.2, 0.8], 2, 1);
        assert!(right.p > 0.1 && !right.is_rejected(0.01), "{right:?}");
        let wrong = fit("k".into(), &counts, &[0.35, 0.65, 0.35, 0.65], 1, 1);
        assert!(wrong.is_rejected(0.01), "{wrong:?}");
        assert_eq!(wrong.worst[0], 100.0);
    }

    #[test]
    fn p_values_of_a_right_form_are_not_too_small() {
        let (table, mut rejected) = ([0.3, 0.7, 0.9, 0.1, 0.5, 0.5], 0);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for seed in 0..200 {
            let mut counts = Counts::new(3, 2);
            let mut drawn = [0; 2];
            for row in 0..3 {
                draw(40, &table[2 * row..2 * row + 2], &mut rng, &mut drawn);
                (0..2).for_each(|v| counts.add_times(row, v, drawn[v]));
            }
            rejected += u32::from(fit("k".into(), &counts, &table, 0, seed).p <= 0.05);
        }
        assert!(rejected <= 22, "{rejected} of 200 at level 0.05");
    }
}
