//! Counts of mechanisms read by a rule: P(c | s, a) as a learner believes it.

use rand::Rng;

use super::confidence::Confidence;
use super::posterior::dirichlet;
use crate::kernel::Kernel;
use crate::learn::LearnResult;
use crate::learn::evidence::Evidence;
use crate::learn::forms::Fit;
use crate::learn::view::MechanismRows;

/// How counts become P(c | s, a).
pub(crate) enum MechanismReading<'a, R> {
    /// Frequencies, with scale times the distance by which they may be off for the best choice.
    Best { confidence: Confidence, scale: f64 },
    /// The same with the distance taken off.
    Worst { confidence: Confidence },
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
            if let Some(model) = &m.model {
                let fit = Fit::new(model, counts);
                let table = match &mut reading {
                    MechanismReading::Sample { rng, .. } => fit.sample(model, *rng),
                    MechanismReading::Best { .. } | MechanismReading::Worst { .. } | MechanismReading::Mean { .. } => {
                        fit.mean(model)
                    }
                };
                return (m.position, table);
            }
            let n = counts.n_values;
            let mut table = vec![0.0; m.rows.len() * n];
            for (row, out) in table.chunks_exact_mut(n).enumerate() {
                let prior = match &mut reading {
                    MechanismReading::Sample { prior, rng } => {
                        dirichlet(counts.values(row), *prior, *rng, out);
                        continue;
                    }
                    MechanismReading::Mean { prior } => *prior,
                    MechanismReading::Best { .. } | MechanismReading::Worst { .. } => 0.0,
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
    let (radius, sign) = match reading {
        MechanismReading::Best { confidence, scale } => (Some(radii(evidence, rows, confidence, scale)), 1.0),
        MechanismReading::Worst { confidence } => (Some(radii(evidence, rows, confidence, 1.0)), -1.0),
        MechanismReading::Sample { .. } | MechanismReading::Mean { .. } => (None, 1.0),
    };
    Ok(Kernel::with_tables(&rows.world, &tables, radius.as_deref().map(|r| (r, sign)))?)
}

/// For each mechanism of the world the distance by which each row may be off (total variation); empty if known.
fn radii(evidence: &Evidence, rows: &MechanismRows, confidence: Confidence, scale: f64) -> Vec<Vec<f64>> {
    let mut radii = vec![Vec::new(); rows.world.mechanisms().len()];
    for (m, counts) in rows.unknown.iter().zip(&evidence.mechanisms) {
        let radius = |(row, &n): (usize, &u32)| {
            if n == 0 { 1.0 } else { (scale * confidence.distance(counts.values(row), n)).min(1.0) }
        };
        radii[m.position] = counts.n_r.iter().enumerate().map(radius).collect();
    }
    radii
}
