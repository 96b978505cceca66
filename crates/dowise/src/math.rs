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
