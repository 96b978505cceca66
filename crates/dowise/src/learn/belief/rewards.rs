//! Payments read by a rule: expected rewards of every state and cause.

use rand::Rng;

use super::confidence::Confidence;
use super::posterior::beta;
use crate::learn::evidence::Evidence;

/// How sums and numbers of payments become expected rewards.
pub(crate) enum RewardReading<'a, R> {
    /// Mean plus scale · √(log/(2N)) of the range; nothing seen: the upper end.
    Width { log: f64, scale: f64 },
    /// The upper end of the confidence interval.
    Best(Confidence),
    /// The lower end of the confidence interval.
    Worst(Confidence),
    /// A sample of the Beta posterior with a uniform prior.
    Sample(&'a mut R),
    /// The mean of the Beta posterior with a uniform prior.
    PosteriorMean,
    /// The mean; nothing seen: the middle.
    Mean,
}

/// Writes expected rewards into `out[state][cause]`.
pub(crate) fn read_rewards<R: Rng>(evidence: &Evidence, mut reading: RewardReading<'_, R>, out: &mut [f64]) {
    let view = &evidence.view;
    let (states, n_causes) = (view.told.state_space(), view.payments.n_causes);
    out.copy_from_slice(&view.payments.known);
    for (term, paid) in view.payments.terms.iter().zip(&evidence.payments) {
        let [lo, hi] = term.range;
        let of_row: Vec<f64> = (0..term.n_rows)
            .map(|row| {
                let (sum, n) = (paid.sum(row), f64::from(paid.n[row]));
                let share = match &mut reading {
                    RewardReading::Width { log, scale } if n > 0.0 => {
                        (sum / n + *scale * (*log / (2.0 * n)).sqrt()).min(1.0)
                    }
                    RewardReading::Width { .. } => 1.0,
                    RewardReading::Best(confidence) => confidence.mean_interval(sum, paid.n[row]).1,
                    RewardReading::Worst(confidence) => confidence.mean_interval(sum, paid.n[row]).0,
                    RewardReading::Sample(rng) => beta(1.0 + sum, 1.0 + (n - sum).max(0.0), rng),
                    RewardReading::PosteriorMean => (1.0 + sum) / (2.0 + n),
                    RewardReading::Mean if n > 0.0 => sum / n,
                    RewardReading::Mean => 0.5,
                };
                lo + (hi - lo) * share
            })
            .collect();
        for (s, out) in out.chunks_exact_mut(n_causes).enumerate() {
            let rows = term.of_state_row(term.state_row(states, s), n_causes);
            out.iter_mut().zip(rows).for_each(|(out, &row)| *out += of_row[row as usize]);
        }
    }
}
