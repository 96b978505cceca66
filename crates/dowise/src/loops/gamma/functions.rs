//! Elementary functions in single precision as plain arithmetic, so that loops vectorise (SIMD).
//!
//! Unlike those of the standard library they have the same bits on every machine. Errors are a few units in the last place.

/// ln(x) for 0 < x < ∞, normal numbers.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    // x = 2^e · m with m in [√½, √2).
    let bits = x.to_bits().wrapping_sub(0x3f35_04f3);
    let e = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    // ln m = 2 artanh(t) with t = (m − 1)/(m + 1), |t| < 0.172.
    let t = (m - 1.0) / (m + 1.0);
    let s = t * t;
    let series = t * (2.0 + s * (2.0 / 3.0 + s * (2.0 / 5.0 + s * (2.0 / 7.0 + s * (2.0 / 9.0)))));
    e * 0.693_359_4 + (series - e * 2.121_944_4e-4)
}

/// e^x for x ≤ 0; 0 where that is below the smallest normal number.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let floor = -87.0;
    let y = if x < floor { floor } else { x };
    // Adding 1.5 · 2²³ rounds to the next whole number, and leaves it in the last bits.
    let magic = 12_582_912.0f32;
    let shifted = y * std::f32::consts::LOG2_E + magic;
    let n = shifted - magic;
    let r = (y - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let series =
        1.0 + r * (1.0 + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0))))));
    let scale = f32::from_bits(shifted.to_bits().wrapping_sub(magic.to_bits()).wrapping_add(127) << 23);
    if x < floor { 0.0 } else { series * scale }
}

/// (sin x, cos x) for 0 ≤ x ≤ π/4.
#[inline(always)]
pub(crate) fn sin_cos(x: f32) -> (f32, f32) {
    let s = x * x;
    let sin = x * (1.0 - s * (1.0 / 6.0 - s * (1.0 / 120.0 - s * (1.0 / 5040.0 - s * (1.0 / 362_880.0)))));
    let cos = 1.0 - s * (1.0 / 2.0 - s * (1.0 / 24.0 - s * (1.0 / 720.0 - s * (1.0 / 40_320.0))));
    (sin, cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 2^-32 to `most`, dense in the exponent.
    fn numbers(most: f64) -> impl Iterator<Item = f32> {
        (0..20_000).map(move |i| ((-22.0 + (most.ln() + 22.0) * f64::from(i) / 19_999.0).exp()) as f32)
    }

    fn close(ours: f32, exact: f64, least: f64) {
        let error = (f64::from(ours) - exact).abs();
        assert!(error <= 3e-7 * exact.abs().max(least), "{ours} in place of {exact}");
    }

    #[test]
    fn functions_agree_with_double_precision() {
        for x in numbers(1e4) {
            // Near 1 the logarithm is as exact as its argument.
            close(ln(x), f64::from(x).ln(), 0.1);
        }
        for x in numbers(86.0) {
            // The error of the argument times the argument.
            close(exp(-x), f64::from(-x).exp(), 0.0);
        }
        for x in numbers(std::f64::consts::FRAC_PI_4) {
            let (sin, cos) = sin_cos(x);
            close(sin, f64::from(x).sin(), 0.0);
            close(cos, f64::from(x).cos(), 0.0);
        }
        assert_eq!((ln(1.0), exp(0.0), exp(-88.0), exp(f32::NEG_INFINITY)), (0.0, 1.0, 0.0, 0.0));
    }
}
