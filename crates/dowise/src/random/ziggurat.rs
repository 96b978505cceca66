//! Ziggurat tables (Marsaglia and Tsang 2000): layers of equal area under a decreasing density.
//!
//! Computed once with correct rounding, so that a seed gives the same draws on every machine and with every library.

use std::sync::LazyLock;

use super::rounded::{exp, ln};

/// Number of layers.
const LAYERS: usize = 256;

/// Ends and heights of 256 layers, each of area v: x₁ = r, where the tail begins, x₀ = v / f(r), as if the lowest layer
/// with its tail were a rectangle, and x_{i+1} = f⁻¹(f(x_i) + v / x_i) up to the top, which is at 0.
#[derive(Debug)]
pub(super) struct Ziggurat {
    /// Right ends of the layers.
    pub(super) x: [f64; LAYERS + 1],
    /// f(x).
    pub(super) f: [f64; LAYERS + 1],
}

/// Start of the tail of the normal distribution, and the area of a layer under exp(−x² / 2).
pub(super) const NORMAL_R: f64 = 3.654152885361009;
const NORMAL_V: f64 = 0.00492867323399;

/// Start of the tail of the exponential distribution, and the area of a layer under exp(−x).
pub(super) const EXPONENTIAL_R: f64 = 7.69711747013105;
const EXPONENTIAL_V: f64 = 0.003949659822581557;

/// Layers under the normal density.
pub(super) static NORMAL: LazyLock<Ziggurat> =
    LazyLock::new(|| Ziggurat::new(NORMAL_R, NORMAL_V, |x| exp(-x * x / 2.0), |y| (-2.0 * ln(y)).sqrt()));

/// Layers under the exponential density.
pub(super) static EXPONENTIAL: LazyLock<Ziggurat> =
    LazyLock::new(|| Ziggurat::new(EXPONENTIAL_R, EXPONENTIAL_V, |x| exp(-x), |y| -ln(y)));

impl Ziggurat {
    /// Layers under a density with f(0) = 1, given the start of its tail and the area of a layer.
    fn new(r: f64, v: f64, f: impl Fn(f64) -> f64, inverse: impl Fn(f64) -> f64) -> Ziggurat {
        let mut x = [0.0; LAYERS + 1];
        (x[0], x[1]) = (v / f(r), r);
        for i in 2..LAYERS {
            x[i] = inverse(v / x[i - 1] + f(x[i - 1]));
        }
        Ziggurat { x, f: x.map(f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exp;

    /// ∫ f from `from` on, by Simpson's rule.
    fn tail(f: impl Fn(f64) -> f64, from: f64) -> f64 {
        let (n, width) = (200_000, 40.0);
        let at = |i: usize| f(from + width * i as f64 / n as f64);
        let inner: f64 = (1..n).map(|i| at(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        (at(0) + inner + at(n)) * width / n as f64 / 3.0
    }

    #[test]
    fn all_layers_have_the_same_area_and_reach_from_the_tail_to_the_top() {
        let normal = |x: f64| exp(-x * x / 2.0);
        let cases = [(&*NORMAL, NORMAL_V, tail(normal, NORMAL_R)), (&*EXPONENTIAL, EXPONENTIAL_V, exp(-EXPONENTIAL_R))];
        for (layers, v, beyond) in cases {
            let Ziggurat { x, f } = layers;
            assert!((x[1] * f[1] + beyond - v).abs() < 1e-13, "{} is not {v}", x[1] * f[1] + beyond);
            for i in 1..LAYERS {
                let area = x[i] * (f[i + 1] - f[i]);
                assert!((area - v).abs() < 1e-10, "layer {i} has {area}, not {v}");
                assert!(x[i] > x[i + 1] && f[i] < f[i + 1]);
            }
            assert_eq!((x[LAYERS], f[LAYERS]), (0.0, 1.0));
        }
    }

    /// The ends determine the draws, so they must be bit-identical on every machine and in every version.
    #[test]
    fn value_stability() {
        let join = |sum: u64, x: &f64| sum.wrapping_mul(0x100_0000_01b3) ^ x.to_bits();
        let hash = |layers: &Ziggurat| layers.x.iter().fold(0, join);
        assert_eq!([hash(&NORMAL), hash(&EXPONENTIAL)], [753698426393148206, 5680851702137134985]);
    }
}
