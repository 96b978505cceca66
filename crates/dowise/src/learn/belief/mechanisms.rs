//! Counts of mechanisms read by a rule: P(c | s, a) as a learner believes it.

use rand::Rng;

use super::posterior::dirichlet;
use super::sets::Confidence;
use crate::kernel::{Doubt, Kernel, Member, RowBounds};
use crate::learn::LearnResult;
use crate::learn::evidence::{Counts, Evidence};
use crate::learn::view::MechanismRows;

/// How counts become P(c | s, a).
pub(crate) enum MechanismReading<'a, R> {
    /// Frequencies, and an interval around each for the best choice.
    Best(Intervals),
    /// The same for the worst choice.
    Worst(Intervals),
    /// A sample of the Dirichlet posterior.
    Sample { prior: f64, rng: &'a mut R },
    /// The mean of the Dirichlet posterior; without a prior frequencies, and all values alike where none was seen.
    Mean { prior: f64 },
}

/// How far a frequency may be off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Intervals {
    /// As confidence sets say.
    Sets(Confidence),
    /// By scale · √(log/(2N)), and by anything where nothing was seen.
    Scaled { log: f64, scale: f64 },
}

impl Intervals {
    /// The interval of one of `n_values` probabilities, all of which hold at once with the confidence that two ends alone have.
    fn of(self, n_values: usize, successes: u32, n: u32) -> (f64, f64) {
        // Of two values one says it all; of more each has an interval, and their failures add up.
        let extra = if n_values <= 2 { 0.0 } else { crate::math::ln(n_values as f64) };
        match self {
            Intervals::Sets(sets) => Confidence { log: sets.log + extra, ..sets }.interval(successes, n),
            Intervals::Scaled { .. } if n == 0 => (0.0, 1.0),
            Intervals::Scaled { log, scale } => {
                let mean = f64::from(successes) / f64::from(n);
                let off = scale * ((log + extra) / (2.0 * f64::from(n))).sqrt();
                ((mean - off).max(0.0), (mean + off).min(1.0))
            }
        }
    }

    /// The intervals of all rows of a mechanism.
    fn bounds(self, counts: &Counts) -> RowBounds {
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
}

/// The kernel that follows from the counts; `rows` are those of the evidence's view.
pub(crate) fn read_kernel<R: Rng>(
    evidence: &Evidence,
    rows: &MechanismRows,
    mut reading: MechanismReading<'_, R>,
) -> LearnResult<Kernel> {
    let learned: Vec<(usize, Vec<f64>)> = rows
        .unknown
        .iter()
        .zip(&evidence.mechanisms)
        .map(|(m, counts)| {
            let n = counts.n_values;
            let mut table = vec![0.0; m.rows.len() * n];
            for (row, out) in table.chunks_exact_mut(n).enumerate() {
                let prior = match &mut reading {
                    MechanismReading::Sample { prior, rng } => {
                        dirichlet(counts.values(row), *prior, *rng, out);
                        continue;
                    }
                    MechanismReading::Mean { prior } => *prior,
                    MechanismReading::Best(_) | MechanismReading::Worst(_) => 0.0,
                };
                let (share, total) = (prior / n as f64, f64::from(counts.n_r[row]) + prior);
                if total == 0.0 {
                    out.fill(1.0 / n as f64);
                    continue;
                }
                out.iter_mut().zip(counts.values(row)).for_each(|(o, &k)| *o = (f64::from(k) + share) / total);
            }
            (m.position, table)
        })
        .collect();
    let mut tables: Vec<Option<&[f64]>> = rows.world.mechanisms().iter().map(|m| m.table.as_deref()).collect();
    learned.iter().for_each(|(i, table)| tables[*i] = Some(table));
    let (intervals, member) = match reading {
        MechanismReading::Best(intervals) => (intervals, Member::Best),
        MechanismReading::Worst(intervals) => (intervals, Member::Worst),
        MechanismReading::Sample { .. } | MechanismReading::Mean { .. } => {
            return Ok(Kernel::with_tables(&rows.world, &tables, None)?);
        }
    };
    let mut bounds = vec![None; tables.len()];
    for (m, counts) in rows.unknown.iter().zip(&evidence.mechanisms) {
        bounds[m.position] = Some(intervals.bounds(counts));
    }
    Ok(Kernel::with_tables(&rows.world, &tables, Some(Doubt { bounds: &bounds, member }))?)
}
