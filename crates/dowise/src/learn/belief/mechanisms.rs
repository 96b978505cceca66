//! Estimates of unknown mechanisms from counts: P(c | s, a) according to an estimator.

use rand::Rng;

use super::intervals::Intervals;
use super::pooled::Pool;
use super::posterior::dirichlet_of;
use crate::kernel::{Doubt, Kernel, Member};
use crate::learn::LearnResult;
use crate::learn::evidence::Counts;
use crate::learn::forms::{Fit, FormModel};
use crate::learn::view::{MechanismRow, MechanismRows};

/// Estimators of P(c | s, a) from counts.
pub(crate) enum MechanismEstimator<'a, R> {
    /// Frequencies with confidence intervals, the optimistic or pessimistic choice, and whether forms are used.
    /// Intervals of forms are approximate; those of separate rows are exact.
    Within(&'a mut Intervals, Member, bool),
    /// A posterior sample: Dirichlet for separately learned rows, Laplace's approximation for parametric ones.
    /// `spread` multiplies its standard deviation.
    Sample { prior: f64, spread: f64, rng: &'a mut R },
    /// The posterior mean; without a prior frequencies, and the uniform distribution for unvisited rows. Pooled:
    /// separately learned rows are shrunk towards a common centre.
    Mean { prior: f64, pooled: bool },
}

/// The kernel estimated from the counts of the unknown mechanisms, in the order of `rows`. Decomposed planning uses
/// only the corners of sets.
pub(crate) fn read_kernel<R: Rng>(
    counts: &[Counts],
    rows: &MechanismRows,
    mut reading: MechanismEstimator<'_, R>,
    by_corners: bool,
) -> LearnResult<Kernel> {
    let learned = read_tables(counts, rows, &mut reading);
    let known = rows.world.mechanisms().iter().map(|m| m.table.as_deref());
    let tables: Vec<Option<&[f64]>> = learned.iter().zip(known).map(|(l, known)| l.as_deref().or(known)).collect();
    let doubt = match &reading {
        MechanismEstimator::Within(intervals, member, _) => {
            Some(Doubt { bounds: intervals.bounds(), member: *member, by_corners })
        }
        MechanismEstimator::Sample { .. } | MechanismEstimator::Mean { .. } => None,
    };
    Ok(Kernel::with_tables(&rows.world, &tables, doubt)?)
}

/// The estimated tables, by mechanism of the rewritten world; `None` for known ones.
fn read_tables<R: Rng>(
    counts: &[Counts],
    rows: &MechanismRows,
    reading: &mut MechanismEstimator<'_, R>,
) -> Vec<Option<Vec<f64>>> {
    let mut learned = vec![None; rows.world.mechanisms().len()];
    for (index, (of, counts)) in rows.unknown.iter().zip(counts).enumerate() {
        // Confidence sets use no prior guesses, so without a form each row is separate.
        let believed = !matches!(reading, MechanismEstimator::Within(_, _, false));
        let sets = matches!(reading, MechanismEstimator::Within(..));
        let alone = |model: &FormModel| sets && !(believed && model.has_form());
        learned[of.position] = Some(match &of.model {
            Some(model) if !alone(model) => read_form(rows, index, model, counts, reading),
            Some(_) | None => read_rows(rows, index, of, counts, reading),
        });
    }
    learned
}

/// The posterior means of the tables, by mechanism of the rewritten world; `None` for known ones.
pub(crate) fn mean_tables(counts: &[Counts], rows: &MechanismRows, prior: f64) -> Vec<Option<Vec<f64>>> {
    read_tables::<rand_chacha::ChaCha8Rng>(counts, rows, &mut MechanismEstimator::Mean { prior, pooled: false })
}

/// Posterior samples of the tables, by mechanism of the rewritten world; `None` for known ones.
pub(crate) fn sampled_tables(
    counts: &[Counts],
    rows: &MechanismRows,
    prior: f64,
    rng: &mut rand_chacha::ChaCha8Rng,
) -> Vec<Option<Vec<f64>>> {
    read_tables(counts, rows, &mut MechanismEstimator::Sample { prior, spread: 1.0, rng })
}

/// The table of a parametric mechanism.
fn read_form<R: Rng>(
    rows: &MechanismRows,
    index: usize,
    model: &FormModel,
    counts: &Counts,
    reading: &mut MechanismEstimator<'_, R>,
) -> Vec<f64> {
    match reading {
        MechanismEstimator::Sample { rng, spread, .. } => Fit::new(model, counts).sample(model, counts, *spread, *rng),
        MechanismEstimator::Mean { .. } => Fit::new(model, counts).mean(model),
        MechanismEstimator::Within(intervals, ..) => {
            // Nor do they use priors of effects: with a narrow prior the set of a strong effect would exclude the
            // data.
            let model = &model.with_wide_priors();
            let fit = Fit::without_guesses(model, counts);
            let mean = fit.mean(model);
            intervals.fit(rows, index, &mean, &fit, model);
            mean
        }
    }
}

/// The table of a mechanism with separately learned rows.
fn read_rows<R: Rng>(
    rows: &MechanismRows,
    index: usize,
    of: &MechanismRow,
    counts: &Counts,
    reading: &mut MechanismEstimator<'_, R>,
) -> Vec<f64> {
    let n = counts.n_values;
    let (prior, weight) = match reading {
        MechanismEstimator::Sample { prior, .. } | MechanismEstimator::Mean { prior, .. } => (*prior, 1.0),
        // Confidence sets must hold for every truth, so they use no prior guesses.
        MechanismEstimator::Within(intervals, ..) => {
            intervals.count(rows, index, counts);
            (0.0, 0.0)
        }
    };
    let share = prior / n as f64;
    let pool = match reading {
        // A prior guess is its own centre.
        MechanismEstimator::Mean { prior, pooled: true } if *prior > 0.0 && of.guess.is_none() => {
            Pool::of(&rows.world, &rows.world.mechanisms()[of.position], counts, *prior)
        }
        MechanismEstimator::Mean { .. } | MechanismEstimator::Sample { .. } | MechanismEstimator::Within(..) => None,
    };
    let mut table = vec![0.0; of.rows.len() * n];
    for (row, out) in table.chunks_exact_mut(n).enumerate() {
        match &pool {
            None => out.iter_mut().zip(counts.values(row)).for_each(|(o, &k)| *o = f64::from(k) + share),
            Some(Pool { centre, weight }) => {
                let cells = out.iter_mut().zip(counts.values(row)).zip(&centre[row * n..]);
                cells.for_each(|((o, &k), p)| *o = f64::from(k) + weight * p);
            }
        }
        if let Some((guess, worth)) = &of.guess {
            out.iter_mut().zip(&guess[row * n..]).for_each(|(o, g)| *o += weight * worth * g);
        }
        if let MechanismEstimator::Sample { spread, rng, .. } = reading {
            // As if every visit had occurred this many times: the same mean, and a variance smaller by about this
            // factor.
            out.iter_mut().for_each(|o| *o /= *spread * *spread);
            dirichlet_of(out, *rng);
            continue;
        }
        let total: f64 = out.iter().sum();
        if total == 0.0 {
            out.fill(1.0 / n as f64);
        } else {
            out.iter_mut().for_each(|o| *o /= total);
        }
    }
    table
}
