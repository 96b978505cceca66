//! Random variates (exponential, normal, gamma) with the same bits on every machine.
//!
//! Ziggurat and gamma variates follow Marsaglia and Tsang (2000), the normal tail Marsaglia (1964). The number of
//! layers and the use of bits match `rand_distr` 0.6, so that tests compare draws one by one. Its logarithms and powers
//! come from the system library if any dependency enables the feature `std` of `num-traits`; ours come from
//! [`crate::math`].

mod rounded;
mod ziggurat;

use rand::distr::Open01;
use rand::{Rng, RngExt};

use self::ziggurat::{EXPONENTIAL, EXPONENTIAL_R, NORMAL, NORMAL_R, Ziggurat};
use crate::math::{exp, ln, powf};

/// Samples the exponential distribution with mean 1.
#[inline]
pub(crate) fn exponential(rng: &mut impl Rng) -> f64 {
    let layers = &*EXPONENTIAL;
    loop {
        let bits = rng.next_u64();
        // In (0, 1).
        let u = with_exponent(bits >> 12, 0) - (1.0 - f64::EPSILON / 2.0);
        let i = layer(bits);
        let x = u * layers.x[i];
        if x < layers.x[i + 1] {
            return x;
        }
        if i == 0 {
            return EXPONENTIAL_R - ln(rng.random());
        }
        if layers.height(i, rng) < exp(-x) {
            return x;
        }
    }
}

/// Samples the standard normal distribution.
#[inline]
pub(crate) fn normal(rng: &mut impl Rng) -> f64 {
    let layers = &*NORMAL;
    loop {
        let bits = rng.next_u64();
        // In [−1, 1).
        let u = with_exponent(bits >> 12, 1) - 3.0;
        let i = layer(bits);
        let x = u * layers.x[i];
        if x.abs() < layers.x[i + 1] {
            return x;
        }
        if i == 0 {
            let beyond = normal_tail(rng);
            return if u < 0.0 { -beyond } else { beyond };
        }
        if layers.height(i, rng) < exp(-x * x / 2.0) {
            return x;
        }
    }
}

/// Samples the normal distribution conditional on exceeding [`NORMAL_R`].
fn normal_tail(rng: &mut impl Rng) -> f64 {
    loop {
        let x: f64 = rng.sample(Open01);
        let y: f64 = rng.sample(Open01);
        let x = ln(x) / NORMAL_R;
        if -2.0 * ln(y) >= x * x {
            return NORMAL_R - x;
        }
    }
}

/// Samples the gamma distribution with a positive shape and scale 1 (Marsaglia and Tsang 2000).
#[inline]
pub(crate) fn gamma(shape: f64, rng: &mut impl Rng) -> f64 {
    debug_assert!(shape > 0.0, "a positive shape, not {shape}");
    if shape == 1.0 {
        exponential(rng)
    } else if shape < 1.0 {
        let u: f64 = rng.sample(Open01);
        let d = shape + 1.0 - 1.0 / 3.0;
        gamma_by_d(d, rng) * powf(u, 1.0 / shape) * d
    } else {
        let d = shape - 1.0 / 3.0;
        gamma_by_d(d, rng) * d
    }
}

/// Samples with shape d + 1/3, divided by d.
fn gamma_by_d(d: f64, rng: &mut impl Rng) -> f64 {
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u: f64 = rng.sample(Open01);
        let square = x * x;
        if u < 1.0 - 0.0331 * square * square || ln(u) < 0.5 * square + d * (1.0 - v + ln(v)) {
            return v;
        }
    }
}

/// The layer of the ziggurat: the lowest bits, which the 52-bit mantissa does not use.
#[inline]
fn layer(bits: u64) -> usize {
    bits as usize & 0xff
}

impl Ziggurat {
    /// A uniform height between those of a layer's two ends.
    #[inline]
    fn height(&self, layer: usize, rng: &mut impl Rng) -> f64 {
        self.f[layer + 1] + (self.f[layer] - self.f[layer + 1]) * rng.random::<f64>()
    }
}

/// 52 bits as a number in [2^exponent, 2^(exponent + 1)).
#[inline]
fn with_exponent(bits: u64, exponent: u64) -> f64 {
    f64::from_bits(bits | (1023 + exponent) << 52)
}

/// The output function of SplitMix64: a 64-bit hash, for stateless random numbers.
#[inline]
pub(crate) fn splitmix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Scales a random number to 0..n.
pub(crate) fn scale(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Exp1, Gamma, StandardNormal};

    use super::*;

    /// Both generators see the same words, so a draw that consumes more or fewer is noticed at the next.
    fn compare(ours: impl Fn(&mut ChaCha8Rng) -> f64, library: impl Distribution<f64>) {
        let mut words = [ChaCha8Rng::seed_from_u64(11), ChaCha8Rng::seed_from_u64(11)];
        let mut differ = 0;
        for _ in 0..200_000 {
            let (a, b) = (ours(&mut words[0]), library.sample(&mut words[1]));
            assert!((a - b).abs() <= 1e-13 * b.abs(), "{a} in place of {b}");
            differ += usize::from(a != b);
        }
        // Only draws with a logarithm or a power can differ, in their last bits.
        assert!(differ < 100_000);
        assert_eq!(words[0].next_u64(), words[1].next_u64());
    }

    #[test]
    fn draws_are_those_of_the_library_up_to_the_systems_last_bits() {
        compare(exponential, Exp1);
        compare(normal, StandardNormal);
        for shape in [0.05, 0.3, 0.999, 1.0, 1.001, 2.5, 40.0, 1e6] {
            compare(|rng| gamma(shape, rng), Gamma::new(shape, 1.0).unwrap());
        }
    }

    #[test]
    fn value_stability() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut sums = [0u64; 3];
        for _ in 0..100_000 {
            for (sum, x) in sums.iter_mut().zip([exponential(&mut rng), normal(&mut rng), gamma(0.3, &mut rng)]) {
                *sum = sum.wrapping_mul(0x100_0000_01b3) ^ x.to_bits();
            }
        }
        assert_eq!(sums, [2749243635538092564, 1885041201679360093, 3150943685019674113]);
    }
}
