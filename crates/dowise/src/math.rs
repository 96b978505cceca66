//! Elementary functions with the same bits on every machine.
//!
//! `f64::ln`, `exp`, `powf` and their like call the library of the operating system, whose last bit depends on its version
//! and on whether the processor has fused multiply-add. A last bit decides ties, and a tie decides an episode. The crate
//! `libm` is the code of FreeBSD and musl in plain arithmetic, errors below one unit in the last place. Its feature `arch`
//! only changes functions that are exact in any case (`sqrt`, `fma`, `rint`), so it does not matter that another dependency
//! may turn it on. `sqrt`, `abs`, `floor` and `round` of the standard library are exact and stay in use.
//!
//! `clippy.toml` refuses the standard library's functions outside tests.

/// The natural logarithm.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// The natural logarithm of a positive number that is neither infinite nor below the smallest normal one, with the bits of [`ln`].
///
/// The same steps without its branches, so that a loop over neighbouring numbers takes several at a time.
#[inline(always)]
pub(crate) fn ln_of_normal(x: f64) -> f64 {
    // From √½ to √2, and the power of two beside it.
    const HALF_ROOT: u64 = 0x3fe6_a09e_0000_0000;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    const FRACTION: u64 = 0x000f_ffff_ffff_ffff;
    // 2^52: or-ed with a small whole number it is their sum.
    const WHOLE: u64 = 0x4330_0000_0000_0000;
    let shifted = x.to_bits() + (ONE - HALF_ROOT);
    let power = f64::from_bits(WHOLE | (shifted >> 52)) - (f64::from_bits(WHOLE) + 1023.0);
    let f = f64::from_bits((shifted & FRACTION) + HALF_ROOT) - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = w * (LN_SERIES[1] + w * (LN_SERIES[3] + w * LN_SERIES[5]));
    let even = z * (LN_SERIES[0] + w * (LN_SERIES[2] + w * (LN_SERIES[4] + w * LN_SERIES[6])));
    s * (half_square + (even + odd)) + power * LN_2_LOW - half_square + f + power * LN_2_HIGH
}

/// ln 2 in two parts, the first with zeros at its end, so that a multiple of it is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// Coefficients of FreeBSD's logarithm: (ln(1 + f) − ln(1 − f)) / f near 2 + Σ c f^2k.
const LN_SERIES: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];

/// ln(1 + x), exact near 0.
#[inline]
pub(crate) fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// e^x.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// e^x of a number for which [`is_usual_exponent`] holds, with the bits of [`exp`].
///
/// The same steps without its branches, so that a loop over neighbouring numbers takes several at a time.
#[inline(always)]
pub(crate) fn exp_of_usual(x: f64) -> f64 {
    const LN_2_OVER: f64 = f64::from_bits(0x3ff7_1547_652b_82fe);
    // Above half of ln 2 by the upper half of its bits, as there.
    const ABOVE_HALF: u64 = 0x3fd6_2e43_0000_0000;
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let power = (LN_2_OVER * x + half) as i32;
    let power = if x.abs().to_bits() < ABOVE_HALF { 0 } else { power };
    let high = x - f64::from(power) * LN_2_HIGH;
    let low = f64::from(power) * LN_2_LOW;
    let x = high - low;
    let square = x * x;
    let series = EXP_SERIES[3] + square * EXP_SERIES[4];
    let series = EXP_SERIES[0] + square * (EXP_SERIES[1] + square * (EXP_SERIES[2] + square * series));
    let c = x - square * series;
    let y = 1.0 + (x * c / (2.0 - c) - low + high);
    // 2^power times a number near 1 is exact.
    y * f64::from_bits(((power + 1023) as u64) << 52)
}

/// Whether e^x and one over it are normal numbers and x is large enough to tell e^x from 1 + x.
#[inline(always)]
pub(crate) fn is_usual_exponent(x: f64) -> bool {
    (x.abs() > 1e-8) & (x.abs() < 700.0)
}

/// Coefficients of FreeBSD's exponential: x (e^x + 1) / (e^x − 1) near 2 + Σ c x^2k.
const EXP_SERIES: [f64; 5] = [
    f64::from_bits(0x3fc5_5555_5555_553e),
    f64::from_bits(0xbf66_c16c_16be_bd93),
    f64::from_bits(0x3f11_566a_af25_de2c),
    f64::from_bits(0xbebb_bd41_c5d2_6bf1),
    f64::from_bits(0x3e66_3769_72be_a4d0),
];

/// x^y for any y.
#[inline]
pub(crate) fn powf(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// ln Γ(x) for x > 0.
#[inline]
pub(crate) fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// x^n by squaring, always in this order of multiplications.
#[inline]
pub(crate) fn powi(x: f64, n: u32) -> f64 {
    let (mut base, mut left, mut out) = (x, n, 1.0);
    while left > 0 {
        if left & 1 == 1 {
            out *= base;
        }
        base *= base;
        left >>= 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_agree_with_the_system_to_the_last_bit_or_the_one_before() {
        let close = |ours: f64, theirs: f64| assert!(ours.to_bits().abs_diff(theirs.to_bits()) <= 1, "{ours} {theirs}");
        for i in 1..20_000 {
            let x = f64::from(i) * 1e-3;
            close(ln(x), x.ln());
            close(ln_1p(x), x.ln_1p());
            close(exp(-x), (-x).exp());
            close(powf(x, 0.3), x.powf(0.3));
        }
        for n in 0..12 {
            assert_eq!(powi(3.0, n), 3f64.powi(n as i32));
        }
    }

    #[test]
    fn the_logarithm_without_branches_has_the_same_bits() {
        let mut x = f64::MIN_POSITIVE;
        while x < f64::MAX / 2.0 {
            assert_eq!(ln_of_normal(x).to_bits(), ln(x).to_bits(), "{x}");
            x *= 1.003_7;
        }
        for i in 1..20_000 {
            let x = f64::from(i) * 1e-4;
            assert_eq!(ln_of_normal(x).to_bits(), ln(x).to_bits(), "{x}");
        }
    }

    #[test]
    fn the_exponential_without_branches_has_the_same_bits() {
        let same = |x: f64| {
            if is_usual_exponent(x) {
                assert_eq!(exp_of_usual(x).to_bits(), exp(x).to_bits(), "{x}");
            }
        };
        let mut x = 0.9e-8;
        while x < 701.0 {
            same(x);
            same(-x);
            x *= 1.000_37;
        }
        // Around the multiples of half of ln 2 at which the power of two changes, to the last bit.
        for k in 1..40u32 {
            let at = f64::from(k) * 0.5 * std::f64::consts::LN_2;
            for x in [at, f64::from_bits(at.to_bits() >> 32 << 32)] {
                for off in 0..200u64 {
                    for bits in [x.to_bits() + off, x.to_bits() - off, (x.to_bits() | 0xffff_ffff) - off] {
                        same(f64::from_bits(bits));
                        same(-f64::from_bits(bits));
                    }
                }
            }
        }
        assert!(!is_usual_exponent(0.0) && !is_usual_exponent(f64::INFINITY) && !is_usual_exponent(f64::NAN));
    }

    #[test]
    fn value_stability() {
        let found = [ln(0.3), ln_1p(1e-3), exp(-1.7), powf(0.7, 3.3), ln_gamma(0.5), ln_gamma(37.5)].map(f64::to_bits);
        assert_eq!(
            found,
            [
                13831473067500349217,
                4562252204610436799,
                4595749887897340423,
                4599223541175136997,
                4603330624632627645,
                4636562901789280960
            ]
        );
    }
}
