//! Counts of mechanisms read by a rule: P(c | s, a) as a learner believes it.

use rand::Rng;

use super::confidence::Confidence;
use super::posterior::dirichlet_of;
use crate::kernel::{Doubt, Kernel, Member, RowBounds};
use crate::learn::LearnResult;
use crate::learn::evidence::{Counts, Evidence};
use crate::learn::forms::Fit;
use crate::learn::view::{MechanismRow, MechanismRows};

/// How counts become P(c | s, a).
pub(crate) enum MechanismReading<'a, R> {
    /// Frequencies, and an interval around each for the best choice.
    Best(Intervals),
    /// The same for the worst choice.
    Worst(Intervals),
    /// A sample of the posterior: Dirichlet where each row is learned by itself, Laplace's where rows have a form.
    Sample { prior: f64, rng: &'a mut R },
    /// The mean of the posterior; without a prior frequencies, and all values alike where none was seen.
    Mean { prior: f64 },
}

/// How far a probability may be off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intervals {
    pub(crate) confidence: Confidence,
    /// What distances from the mean are multiplied by; `None`: intervals as they are.
    pub(crate) scale: Option<f64>,
}

impl Intervals {
    /// The interval of one of `n_values` probabilities, all of which hold at once with the confidence that two ends alone have.
    fn of(self, n_values: usize, successes: u32, n: u32) -> (f64, f64) {
        // Of two values one says it all; of more each has an interval, and their failures add up.
        let confidence = if n_values <= 2 { self.confidence } else { self.confidence.shared_by(n_values) };
        let (lo, hi) = confidence.interval(&[n - successes, successes], n);
        if n == 0 { (lo, hi) } else { self.scaled(f64::from(successes) / f64::from(n), lo, hi) }
    }

    fn scaled(self, mean: f64, lo: f64, hi: f64) -> (f64, f64) {
        match self.scale {
            None => (lo, hi),
            Some(scale) => ((mean - scale * (mean - lo)).max(0.0), (mean + scale * (hi - mean)).min(1.0)),
        }
    }

    /// The intervals of all rows of a mechanism whose rows are learned each by itself.
    fn of_counts(self, counts: &Counts) -> RowBounds {
        let n_values = counts.n_values;
        let mut bounds = RowBounds { lo: Vec::new(), hi: Vec::new() };
        for (row, &n) in counts.n_r.iter().enumerate() {
            let values = counts.values(row);
            if let &[_, successes] = values {
                let (lo, hi) = self.of(2, successes, n);
                bounds.lo.extend([1.0 - hi, lo]);
                bounds.hi.extend([1.0 - lo, hi]);
                continue;
            }
            for &successes in values {
                let (lo, hi) = self.of(n_values, successes, n);
                bounds.lo.push(lo);
                bounds.hi.push(hi);
            }
        }
        bounds
    }

    /// The intervals of all rows of a mechanism with a form, around this mean.
    fn of_fit(self, lo: Vec<f64>, hi: Vec<f64>, mean: &[f64]) -> RowBounds {
        let scaled = lo.into_iter().zip(hi).zip(mean).map(|((lo, hi), &mean)| self.scaled(mean, lo, hi));
        let (lo, hi) = scaled.unzip();
        RowBounds { lo, hi }
    }
}

/// The kernel that follows from the counts; `rows` are those of the evidence's view.
pub(crate) fn read_kernel<R: Rng>(
    evidence: &Evidence,
    rows: &MechanismRows,
    mut reading: MechanismReading<'_, R>,
) -> LearnResult<Kernel> {
    let n = rows.world.mechanisms().len();
    let (mut learned, mut bounds) = (vec![None; n], vec![None; n]);
    for (of, counts) in rows.unknown.iter().zip(&evidence.mechanisms) {
        let (table, around) = read_one(of, counts, &mut reading);
        (learned[of.position], bounds[of.position]) = (Some(table), around);
    }
    let known = rows.world.mechanisms().iter().map(|m| m.table.as_deref());
    let tables: Vec<Option<&[f64]>> = learned.iter().zip(known).map(|(l, known)| l.as_deref().or(known)).collect();
    let member = match reading {
        MechanismReading::Best(_) => Member::Best,
        MechanismReading::Worst(_) => Member::Worst,
        MechanismReading::Sample { .. } | MechanismReading::Mean { .. } => {
            return Ok(Kernel::with_tables(&rows.world, &tables, None)?);
        }
    };
    Ok(Kernel::with_tables(&rows.world, &tables, Some(Doubt { bounds: &bounds, member }))?)
}

/// The table of one mechanism, and the intervals around it where the reading asks for them.
fn read_one<R: Rng>(
    of: &MechanismRow,
    counts: &Counts,
    reading: &mut MechanismReading<'_, R>,
) -> (Vec<f64>, Option<RowBounds>) {
    if let Some(model) = &of.model {
        let fit = Fit::new(model, counts);
        return match reading {
            MechanismReading::Sample { rng, .. } => (fit.sample(model, *rng), None),
            MechanismReading::Mean { .. } => (fit.mean(model), None),
            MechanismReading::Best(intervals) | MechanismReading::Worst(intervals) => {
                let mean = fit.mean(model);
                let [lo, hi] = fit.bounds(model, intervals.confidence.log());
                let around = intervals.of_fit(lo, hi, &mean);
                (mean, Some(around))
            }
        };
    }
    let n = counts.n_values;
    let mut table = vec![0.0; of.rows.len() * n];
    for (row, out) in table.chunks_exact_mut(n).enumerate() {
        let (prior, weight) = match reading {
            MechanismReading::Sample { prior, .. } | MechanismReading::Mean { prior } => (*prior, 1.0),
            // Confidence sets promise something whatever the truth is, so guesses play no part.
            MechanismReading::Best(_) | MechanismReading::Worst(_) => (0.0, 0.0),
        };
        let share = prior / n as f64;
        out.iter_mut().zip(counts.values(row)).for_each(|(o, &k)| *o = f64::from(k) + share);
        if let Some((guess, worth)) = &of.guess {
            out.iter_mut().zip(&guess[row * n..]).for_each(|(o, g)| *o += weight * worth * g);
        }
        if let MechanismReading::Sample { rng, .. } = reading {
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
    let around = match reading {
        MechanismReading::Best(intervals) | MechanismReading::Worst(intervals) => Some(intervals.of_counts(counts)),
        MechanismReading::Sample { .. } | MechanismReading::Mean { .. } => None,
    };
    (table, around)
}
