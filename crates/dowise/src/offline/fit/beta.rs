//! Quantiles of the Beta distribution: the ends of credible intervals.

use crate::math::{exp, ln, ln_1p, ln_gamma};

/// The p-quantile of Beta(a, b); a, b > 0.
///
/// Newton's method in ln x, since quantiles may be as small as 10⁻⁸⁰. A step that would leave the bracket is replaced
/// by its geometric mean.
///
/// # Cost
/// About ten evaluations of a continued fraction of O(√(a + b)) terms.
pub(super) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    let mut x = a / (a + b);
    let scale = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    for _ in 0..200 {
        let off = beta_below(x, a, b) - p;
        if off > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let density = exp(scale + (a - 1.0) * ln(x) + (b - 1.0) * ln_1p(-x));
        let step = x * exp(-off / (density * x));
        let middle = if low > 0.0 { (low * high).sqrt() } else { 1e-3 * high };
        let next = if step > low && step < high { step } else { middle };
        if (next - x).abs() <= 1e-13 * x || high - low <= f64::MIN_POSITIVE {
            return next;
        }
        x = next;
    }
    x
}

/// P(X ≤ x) for X ~ Beta(a, b): the regularised incomplete Beta function.
pub(super) fn beta_below(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = exp(ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * ln(x) + b * ln_1p(-x));
    // The continued fraction converges quickly below the mean; above it the other tail is computed.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete Beta function, by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For integers a and b, P(X ≤ x) is a binomial tail.
    fn by_binomial(x: f64, a: u32, b: u32) -> f64 {
        let n = a + b - 1;
        let choose = |n: u32, k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
        (a..=n).map(|k| choose(n, k) * x.powi(k as i32) * (1.0 - x).powi((n - k) as i32)).sum()
    }

    #[test]
    fn the_distribution_is_a_binomial_tail_for_whole_numbers() {
        for a in 1..12 {
            for b in 1..12 {
                for x in [0.01, 0.2, 0.5, 0.77, 0.99] {
                    let [ours, plain] = [beta_below(x, a.into(), b.into()), by_binomial(x, a, b)];
                    assert!((ours - plain).abs() < 1e-12, "{a} {b} {x}: {ours} {plain}");
                }
            }
        }
    }

    #[test]
    fn quantiles_invert_the_distribution_whatever_its_shape() {
        for (a, b) in [(1.0, 1.0), (0.1, 0.9), (0.02, 300.0), (1.0, 5e4), (3e5, 7e5), (40.0, 0.5)] {
            for p in [0.025, 0.5, 0.975] {
                let x = beta_quantile(p, a, b);
                let back = beta_below(x, a, b);
                assert!((back - p).abs() < 1e-8, "Beta({a}, {b}): {p} at {x} is {back}");
            }
        }
    }
}
