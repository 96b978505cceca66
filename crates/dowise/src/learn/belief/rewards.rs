//! Estimated rewards: the expected reward of every state and configuration, according to an estimator.

use rand::Rng;

use super::confidence::Confidence;
use super::posterior::beta;
use crate::learn::evidence::{Evidence, Payments};
use crate::learn::next_state_rewards::{NextStateRewards, NextStateTerm};
use crate::learn::view::TermRows;

/// Estimators of expected rewards from the sums and numbers of reward observations.
pub(crate) enum RewardEstimator<'a, R> {
    /// Mean plus scale · √(log/(2N)) of the range; the upper end for unvisited rows.
    Width { log: f64, scale: f64 },
    /// The upper end of the confidence interval.
    Optimistic(Confidence),
    /// The lower end of the confidence interval.
    Pessimistic(Confidence),
    /// A sample of the Beta posterior.
    Sample {
        /// The generator.
        rng: &'a mut R,
        /// Whether the prior is centred at the mean of the term, as for the posterior mean, or uniform. Learners
        /// explore with the uniform prior: with the centred one, a sampler would hardly ever try a row whose reward
        /// may be far greater.
        centred: bool,
    },
    /// The mean of the Beta posterior whose prior is centred at the mean of the term.
    PosteriorMean,
    /// The mean; the middle of the range for unvisited rows.
    Mean,
}

impl<R: Rng> RewardEstimator<'_, R> {
    /// The expected rewards of all rows of a term as shares of its range.
    fn shares(&mut self, paid: &Payments) -> Vec<f64> {
        match self {
            RewardEstimator::PosteriorMean => {
                let centre = paid.centre();
                (0..paid.n.len()).map(|row| paid.mean_at(centre, row)).collect()
            }
            RewardEstimator::Sample { rng, centred: true } => {
                let [whole, nothing] = Payments::prior_at(paid.centre());
                let sample = |row: usize| {
                    let (sum, n) = (paid.sum(row), f64::from(paid.n[row]));
                    beta(whole + sum, nothing + (n - sum).max(0.0), *rng)
                };
                (0..paid.n.len()).map(sample).collect()
            }
            _ => (0..paid.n.len()).map(|row| self.share(paid.sum(row), paid.n[row])).collect(),
        }
    }

    /// The same for one row, from the sum and the number of its reward observations.
    fn share(&mut self, sum: f64, payments: u32) -> f64 {
        let n = f64::from(payments);
        match self {
            RewardEstimator::Width { log, scale } if n > 0.0 => (sum / n + *scale * (*log / (2.0 * n)).sqrt()).min(1.0),
            RewardEstimator::Width { .. } => 1.0,
            RewardEstimator::Optimistic(confidence) => confidence.mean_interval(sum, payments).1,
            RewardEstimator::Pessimistic(confidence) => confidence.mean_interval(sum, payments).0,
            RewardEstimator::Sample { rng, .. } => beta(1.0 + sum, 1.0 + (n - sum).max(0.0), *rng),
            RewardEstimator::PosteriorMean => {
                unreachable!("invariant: rows that shrink to their mean are read together")
            }
            RewardEstimator::Mean if n > 0.0 => sum / n,
            RewardEstimator::Mean => 0.5,
        }
    }

    /// The same bounds if this many rows share the part of δ of as many others.
    fn shared(&self, rows: usize, in_place_of: usize) -> Option<Confidence> {
        match self {
            RewardEstimator::Optimistic(confidence) | RewardEstimator::Pessimistic(confidence) => {
                Some(confidence.spread_over(rows as f64 / in_place_of as f64))
            }
            RewardEstimator::Width { .. }
            | RewardEstimator::Sample { .. }
            | RewardEstimator::PosteriorMean
            | RewardEstimator::Mean => None,
        }
    }
}

/// The estimated rewards of the rows of one term.
pub(crate) fn read_term<R: Rng>(term: &TermRows, paid: &Payments, reading: &mut RewardEstimator<'_, R>) -> Vec<f64> {
    let [lo, hi] = term.range;
    reading.shares(paid).into_iter().map(|share| lo + (hi - lo) * share).collect()
}

/// Writes expected rewards into `out[state][cause]`, without the terms estimated by next values.
pub(crate) fn read_rewards<R: Rng>(
    evidence: &Evidence,
    reading: &mut RewardEstimator<'_, R>,
    by_next: Option<&NextStateRewards>,
    out: &mut [f64],
) {
    let view = &evidence.view;
    let (states, n_causes) = (view.knowledge.state_space(), view.payments.n_causes);
    out.copy_from_slice(&view.payments.known);
    let terms = view.payments.terms.iter().zip(&evidence.payments).enumerate();
    for (_, (term, paid)) in terms.filter(|(i, _)| by_next.is_none_or(|of| of.of_term(*i).is_none())) {
        let of_row = read_term(term, paid, reading);
        for (s, out) in out.chunks_exact_mut(n_causes).enumerate() {
            let rows = term.of_state_row(term.state_row(states, s), n_causes);
            out.iter_mut().zip(rows).for_each(|(out, &row)| *out += of_row[row as usize]);
        }
    }
}

/// The estimated reward of a next-state term in each of its rows. These rows get the share of δ of the unused rows of
/// its mean.
pub(crate) fn read_arriving<R: Rng>(
    term: &NextStateTerm,
    reading: &mut RewardEstimator<'_, R>,
    means: usize,
) -> Vec<f64> {
    if let Some(known) = &term.known {
        return known.to_vec();
    }
    let [lo, hi] = term.range;
    let rows = 0..term.rows.len();
    let shares: Vec<f64> = match (reading.shared(term.rows.len(), means.max(1)), &reading) {
        (Some(bounds), RewardEstimator::Optimistic(_)) => {
            rows.map(|row| bounds.mean_interval(term.paid.sum(row), term.paid.n[row]).1).collect()
        }
        (Some(bounds), _) => rows.map(|row| bounds.mean_interval(term.paid.sum(row), term.paid.n[row]).0).collect(),
        (None, _) => reading.shares(&term.paid),
    };
    shares.into_iter().map(|share| lo + (hi - lo) * share).collect()
}
