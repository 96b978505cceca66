//! Correctly rounded exp and ln in double-double arithmetic, for the ziggurat tables.

use crate::math;

/// A double-double number (106 bits): the second part is at most half a unit in the last place of the first.
#[derive(Clone, Copy, Debug)]
struct Double(f64, f64);

impl Double {
    /// a + b, exactly.
    fn sum(a: f64, b: f64) -> Double {
        let s = a + b;
        let of_b = s - a;
        Double(s, (a - (s - of_b)) + (b - of_b))
    }

    /// a · b, exactly: each number is split into two halves of 26 bits.
    fn product(a: f64, b: f64) -> Double {
        let split = |x: f64| {
            let y = 134_217_729.0 * x;
            let hi = y - (y - x);
            (hi, x - hi)
        };
        let p = a * b;
        let ((a_hi, a_lo), (b_hi, b_lo)) = (split(a), split(b));
        Double(p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo)
    }

    fn plus(self, x: f64) -> Double {
        let s = Double::sum(self.0, x);
        Double::sum(s.0, s.1 + self.1)
    }

    fn times(self, other: Double) -> Double {
        let p = Double::product(self.0, other.0);
        Double::sum(p.0, p.1 + (self.0 * other.1 + self.1 * other.0))
    }

    fn over(self, n: f64) -> Double {
        let q = self.0 / n;
        let back = Double::product(q, n);
        Double::sum(q, ((self.0 - back.0) - back.1 + self.1) / n)
    }
}

/// exp(x) for |x| < 16, to about 90 bits: a series at x / 1024, squared ten times.
fn exp_doubled(x: f64) -> Double {
    let small = Double(x / 1024.0, 0.0);
    let mut sum = Double(1.0, 0.0);
    for k in (1..=16).rev() {
        sum = sum.times(small).over(f64::from(k)).plus(1.0);
    }
    for _ in 0..10 {
        sum = sum.times(sum);
    }
    sum
}

/// exp(x) for |x| < 16.
pub(super) fn exp(x: f64) -> f64 {
    exp_doubled(x).0
}

/// ln(y) for exp(−16) < y < exp(16): one Newton step from a logarithm that is accurate to its last bit.
pub(super) fn ln(y: f64) -> f64 {
    let about = math::ln(y);
    about + exp_doubled(-about).times(Double(y, 0.0)).plus(-1.0).0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits of exp and ln from tables of constants, beyond double precision.
    #[test]
    fn known_constants_are_met_to_the_last_bit() {
        assert_eq!(exp(1.0), std::f64::consts::E);
        assert_eq!(exp(-1.0), 0.367_879_441_171_442_33);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(2.0), std::f64::consts::LN_2);
        assert_eq!(ln(10.0), std::f64::consts::LN_10);
        assert_eq!(ln(1.0), 0.0);
        let e = exp_doubled(1.0);
        // e less the nearest double.
        assert!((e.1 - 1.445_646_891_729_250_2e-16).abs() < 1e-28, "{}", e.1);
    }

    #[test]
    fn they_are_within_the_last_bit_of_the_librarys() {
        for i in 1..2000 {
            let x = f64::from(i) * 0.00391;
            assert!((exp(-x) / math::exp(-x) - 1.0).abs() <= 4e-16, "exp(-{x})");
            assert!((ln(x) - math::ln(x)).abs() <= 4e-16 * math::ln(x).abs().max(1e-3), "ln({x})");
        }
    }
}
