//! Anytime bounds on the mean value of episodes from their returns (betting martingales), without any graph.
//!
//! Let x in \[0, 1\] be the normalised return of an episode, and μ its mean given the past. For every bet λ > 0 the
//! product over episodes of (1 + λ x)/(1 + λ μ) is a martingale that begins at 1, since every factor has mean 1 given
//! the past. So is an average over bets with fixed weights w, and by Ville's inequality it ever exceeds 1/δ with
//! probability at most δ. Otherwise, for every bet and at all times simultaneously, with n episodes and the mean m of
//! their μ,
//!
//! ```text
//! n ln(1 + λ m) ≥ Σ ln(1 + λ μ) ≥ Σ ln(1 + λ x) − ln(1/(w δ)),
//! ```
//!
//! the first since the logarithm is concave. With 1 − x for x it is an upper bound.

use serde::{Deserialize, Serialize};

use crate::math::{exp, ln, ln_1p};

/// Bets with their shares of the stake. A large bet bounds a mean up to the factor exp(−ln(1/δ)/n) after n episodes
/// with similar returns, which matters in the first hundred episodes. Small bets adapt to the variance in the long
/// run.
const BETS: [(f64, f64); 6] =
    [(64.0, 0.75), (8.0, 0.05), (1.0, 0.05), (0.125, 0.05), (0.015_625, 0.05), (0.001_953_125, 0.05)];

/// Returns of one kind of episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ReturnBound {
    /// Episodes that have ended.
    pub(super) ended: u64,
    /// Unfinished episodes: they count with the worst return.
    pub(super) open: u64,
    /// Σ ln(1 + λ x) of each bet.
    share: [f64; BETS.len()],
    /// Σ ln(1 + λ (1 − x))
    short: [f64; BETS.len()],
}

impl ReturnBound {
    /// Episodes begun.
    pub(super) fn episodes(&self) -> u64 {
        self.ended + self.open
    }

    /// Ends an open episode with a normalised return between these bounds.
    pub(super) fn end(&mut self, [least, most]: [f64; 2]) {
        self.open -= 1;
        self.ended += 1;
        for (i, (bet, _)) in BETS.iter().enumerate() {
            self.share[i] += ln_1p(bet * least.clamp(0.0, 1.0));
            self.short[i] += ln_1p(bet * (1.0 - most.clamp(0.0, 1.0)));
        }
    }

    /// Allows for an error of at most this share in the return of an ended episode.
    pub(super) fn doubt(&mut self, share: f64) {
        for (i, (bet, _)) in BETS.iter().enumerate() {
            // ln(1 + λ x) changes most where x is least.
            self.share[i] -= ln_1p(bet * share);
            self.short[i] -= ln_1p(bet * share);
        }
    }

    /// Lower bound on the mean of all episodes begun, with probability 1 − δ at all times simultaneously.
    pub(super) fn at_least(&self, delta: f64) -> f64 {
        self.bound(&self.share, delta)
    }

    /// Upper bound on the mean of all episodes begun, in the same way.
    pub(super) fn at_most(&self, delta: f64) -> f64 {
        1.0 - self.bound(&self.short, delta)
    }

    fn bound(&self, sums: &[f64], delta: f64) -> f64 {
        let n = self.episodes() as f64;
        let mean = |(sum, (bet, stake)): (&f64, &(f64, f64))| {
            // Rounding errors of sums of logarithms grow with their length.
            let price = ln(1.0 / (stake * delta)) + 1e-13 * n * (1.0 + ln_1p(*bet));
            (exp((sum - price) / n) - 1.0) / bet
        };
        if n > 0.0 { sums.iter().zip(&BETS).map(mean).fold(0.0, f64::max) } else { 0.0 }
    }

    /// Whether these are possible sums for this number of episodes, corrections included.
    pub(super) fn is_sound(&self) -> bool {
        let most = |bet: f64| self.ended as f64 * ln_1p(bet) * (1.0 + 1e-9);
        let sums = self.share.iter().zip(&BETS).chain(self.short.iter().zip(&BETS));
        sums.into_iter().all(|(sum, (bet, _))| sum.is_finite() && *sum <= most(*bet))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn received(shares: &[f64]) -> ReturnBound {
        let mut all = ReturnBound { open: shares.len() as u64, ..ReturnBound::default() };
        shares.iter().for_each(|&x| all.end([x, x]));
        all
    }

    #[test]
    fn bounds_hold_at_all_times_together_as_often_as_promised() {
        const DELTA: f64 = 0.2;
        let (mut broken, mut naive, runs) = ([0, 0], 0, 400);
        for seed in 0..runs {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (mut all, mut means, mut fails, mut fails_naive) = (ReturnBound::default(), 0.0, [false; 2], false);
            let mut last = 1.0;
            for step in 1..=300 {
                // The next mean depends on the last outcome, as in a learner.
                let mean: f64 = if last > 0.5 { 0.2 } else { 0.4 };
                let x = f64::from(u8::from(rng.random::<f64>() < mean));
                all.open += 1;
                all.end([x, x]);
                (last, means) = (x, means + mean);
                let mean = means / f64::from(step);
                fails[0] |= all.at_least(DELTA) > mean;
                fails[1] |= all.at_most(DELTA) < mean;
                // Without a penalty for continuous monitoring, a lower bound fails nearly always.
                fails_naive |= (all.share[3] / f64::from(step)).exp() - 1.0 > BETS[3].0 * mean;
            }
            broken.iter_mut().zip(fails).for_each(|(broken, fails)| *broken += i32::from(fails));
            naive += i32::from(fails_naive);
        }
        assert!(broken.iter().all(|&broken| f64::from(broken) <= DELTA * 400.0), "{broken:?}");
        assert!(f64::from(naive) > 0.6 * 400.0, "{naive}");
    }

    #[test]
    fn a_mean_is_soon_known_up_to_a_factor_and_in_the_long_run_by_its_variance() {
        let fifty = received(&[0.5; 50]);
        let (low, high) = (fifty.at_least(0.05), fifty.at_most(0.05));
        assert!(low > 0.46 && low < 0.5 && high < 0.54 && high > 0.5, "{low} {high}");
        let coin: Vec<f64> = (0..100_000).map(|i| f64::from(i % 2)).collect();
        let (low, high) = (received(&coin).at_least(0.05), received(&coin).at_most(0.05));
        // Four standard deviations are 0.0063.
        assert!(low > 0.49 && low < 0.5 && high < 0.51 && high > 0.5, "{low} {high}");
        assert_eq!((ReturnBound::default().at_least(0.05), ReturnBound::default().at_most(0.05)), (0.0, 1.0));
    }

    #[test]
    fn what_is_open_missing_or_doubted_only_takes_away() {
        let sure = received(&[0.5; 50]);
        let open = ReturnBound { open: 1, ..sure };
        let mut vague = received(&[0.5; 49]);
        vague.open += 1;
        vague.end([0.2, 0.7]);
        let mut doubted = sure;
        doubted.doubt(0.2);
        for less in [open, vague, doubted] {
            assert!(less.at_least(0.05) < sure.at_least(0.05) && less.at_most(0.05) > sure.at_most(0.05), "{less:?}");
            assert!(less.is_sound());
        }
    }
}
