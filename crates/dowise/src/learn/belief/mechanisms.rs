//! Counts of mechanisms read by a rule: P(c | s, a) as a learner believes it.

use rand::Rng;

use super::intervals::Intervals;
use super::posterior::dirichlet;
use crate::kernel::{Doubt, Kernel, Member};
use crate::learn::LearnResult;
use crate::learn::evidence::Evidence;
use crate::learn::view::MechanismRows;

/// How counts become P(c | s, a).
pub(crate) enum MechanismReading<'a, R> {
    /// Frequencies, an interval around each, and which member of these sets is planned with.
    Within(&'a mut Intervals, Member),
    /// A sample of the Dirichlet posterior.
    Sample { prior: f64, rng: &'a mut R },
    /// The mean of the Dirichlet posterior; without a prior frequencies, and all values alike where none was seen.
    Mean { prior: f64 },
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
                    MechanismReading::Within(..) => 0.0,
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
    let doubt = match reading {
        MechanismReading::Within(intervals, member) => Some(Doubt { bounds: intervals.update(evidence, rows), member }),
        MechanismReading::Sample { .. } | MechanismReading::Mean { .. } => None,
    };
    Ok(Kernel::with_tables(&rows.world, &tables, doubt)?)
}
