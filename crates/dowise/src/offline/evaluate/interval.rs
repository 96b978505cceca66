//! Confidence intervals for means of bounded variables.

use crate::math::ln;

/// The normal quantile of a two-sided interval at 95 %.
pub(crate) const NORMAL_95: f64 = 1.959_963_984_540_054;

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// An interval by its midpoint and half-width.
    pub(crate) fn around(middle: f64, half: f64) -> Interval {
        Interval { low: middle - half, high: middle + half }
    }

    /// The central 95 % of at least one sample; sorts the samples.
    pub(crate) fn of_samples(samples: &mut [f64]) -> Interval {
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (samples.len() - 1) as f64;
            let (below, rest) = (place as usize, place.fract());
            samples[below] + rest * (samples[(below + 1).min(samples.len() - 1)] - samples[below])
        };
        Interval { low: at(0.025), high: at(0.975) }
    }

    /// The hull of the interval and the interval shifted by `by`.
    pub(crate) fn stretched(self, by: f64) -> Interval {
        Interval { low: self.low.min(self.low + by), high: self.high.max(self.high + by) }
    }

    /// The interval clipped to a range of possible values.
    pub(crate) fn clipped(self, [least, greatest]: [f64; 2]) -> Interval {
        Interval { low: self.low.clamp(least, greatest), high: self.high.clamp(least, greatest) }
    }

    /// Whether a number is inside.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    /// Length of the interval.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// Deviation of the mean of n independent variables with this range that is exceeded, on either side, with probability
/// at most δ.
///
/// The lesser of two bounds with δ/2 each: Hoeffding's, range · √(ln(4/δ)/(2n)), and the empirical Bernstein bound of
/// Maurer and Pontil (2009), √(2 v ln(8/δ)/n) + 7 range ln(8/δ)/(3(n − 1)), v the sample variance (divided by n − 1).
pub(crate) fn mean_may_be_off(n: f64, range: f64, variance: f64, delta: f64) -> f64 {
    if n < 2.0 {
        return range;
    }
    let hoeffding = range * (ln(4.0 / delta) / (2.0 * n)).sqrt();
    let log = ln(8.0 / delta);
    let bernstein = (2.0 * variance * log / n).sqrt() + 7.0 * range * log / (3.0 * (n - 1.0));
    hoeffding.min(bernstein).min(range)
}

/// Number, mean and variance (divided by n − 1) of weighted numbers.
pub(crate) fn moments(numbers: impl Iterator<Item = (f64, u32)> + Clone) -> (f64, f64, f64) {
    let (mut n, mut sum) = (0.0, 0.0);
    for (x, weight) in numbers.clone() {
        n += f64::from(weight);
        sum += f64::from(weight) * x;
    }
    let mean = if n > 0.0 { sum / n } else { 0.0 };
    let squares: f64 = numbers.map(|(x, weight)| f64::from(weight) * (x - mean) * (x - mean)).sum();
    (n, mean, if n > 1.0 { squares / (n - 1.0) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn the_middle_of_samples_leaves_out_as_many_on_both_sides() {
        let mut samples: Vec<f64> = (0..=1000).rev().map(f64::from).collect();
        assert_eq!(Interval::of_samples(&mut samples), Interval { low: 25.0, high: 975.0 });
        assert_eq!(Interval::of_samples(&mut [3.0]), Interval { low: 3.0, high: 3.0 });
    }

    #[test]
    fn means_are_off_by_more_than_the_bound_less_often_than_delta() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let (delta, rounds) = (0.2, 400);
        for p in [0.5, 0.02] {
            let failures = (0..rounds).filter(|_| {
                let numbers: Vec<(f64, u32)> =
                    (0..200).map(|_| (f64::from(u8::from(rng.random::<f64>() < p)), 1)).collect();
                let (n, mean, variance) = moments(numbers.iter().copied());
                (mean - p).abs() > mean_may_be_off(n, 1.0, variance, delta)
            });
            assert!(failures.count() as f64 <= delta * f64::from(rounds));
        }
        // If the variance is small, the bound falls as 1/n.
        assert!(mean_may_be_off(1000.0, 1.0, 0.0, 0.1) < 0.011);
    }
}
