//! Kullback–Leibler confidence bounds: the greatest q with KL(p ‖ q) ≤ bound, for one or several probabilities.

use super::simd;
use crate::math::{exp, exp_of_usual, is_usual_exponent, ln, ln_of_normal};

/// The greatest q ≥ p with KL(p ‖ q) ≤ bound, up to rounding from above.
///
/// KL(p ‖ ·) is convex and increasing on [p, 1), so Newton's method started above the solution stays above it: stopping early
/// can only widen the interval. Two starting points that are surely above: Pinsker's inequality, and dropping p ln(1/q) ≥ 0.
pub(crate) fn kl_upper(p: f64, bound: f64) -> f64 {
    if p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 1.0 - exp(-bound);
    }
    let negative_entropy = p * ln(p) + (1.0 - p) * ln(1.0 - p);
    let mut q = (p + (bound / 2.0).sqrt()).min(1.0 - exp(-(bound - negative_entropy) / (1.0 - p)));
    for _ in 0..MOST_STEPS {
        let excess = negative_entropy - p * ln(q) - (1.0 - p) * ln(1.0 - q) - bound;
        let slope = (q - p) / (q * (1.0 - q));
        let step = excess / slope;
        // Not a number or not downwards: rounding has the last word.
        if step.is_nan() || step <= 1e-15 {
            break;
        }
        q -= step;
    }
    q.clamp(p, 1.0)
}

/// More than ever needed.
const MOST_STEPS: usize = 30;

/// Probabilities taken at a time.
pub(crate) const AT_ONCE: usize = 8;

/// [`kl_upper`] of several probabilities, which wait for the slowest of them.
///
/// With one after the other (and logarithms of counts that are not kept in tables) an episode of `f-ucbvi` at 8 states takes 1.5x as
/// long, one of `cf-ucbvi` 1.6x (example `episode_times`).
pub(crate) fn kl_uppers(p: &[f64; AT_ONCE], bound: &[f64; AT_ONCE]) -> [f64; AT_ONCE] {
    simd::wide(
        #[inline(always)]
        || kl_uppers_here(p, bound),
    )
}

#[inline(always)]
fn kl_uppers_here(given: &[f64; AT_ONCE], bound: &[f64; AT_ONCE]) -> [f64; AT_ONCE] {
    // Where the answer is at hand, something that does no harm stands in for it.
    let inside = given.map(|p| p > 0.0 && p < 1.0);
    let (mut p, mut entropy, mut q) = ([0.5; AT_ONCE], [0.0; AT_ONCE], [0.0; AT_ONCE]);
    for i in 0..AT_ONCE {
        p[i] = if inside[i] { given[i] } else { 0.5 };
        entropy[i] = p[i] * ln_of_normal(p[i]) + (1.0 - p[i]) * ln_of_normal(1.0 - p[i]);
    }
    let mut exponent = [1.0; AT_ONCE];
    for i in 0..AT_ONCE {
        exponent[i] = if inside[i] { -(bound[i] - entropy[i]) / (1.0 - p[i]) } else { -bound[i] };
    }
    let without = exps(&exponent);
    for i in 0..AT_ONCE {
        let (pinsker, other) = (p[i] + (bound[i] / 2.0).sqrt(), 1.0 - without[i]);
        q[i] = if other < pinsker { other } else { pinsker };
    }
    let mut moves = inside;
    for _ in 0..MOST_STEPS {
        let mut any = false;
        for i in 0..AT_ONCE {
            // At 1 there is nowhere to go; the logarithm needs a positive number in any case.
            let rest = 1.0 - q[i];
            let (q_here, rest_here) = if rest > 0.0 && q[i] > 0.0 { (q[i], rest) } else { (0.5, 0.5) };
            let excess = entropy[i] - p[i] * ln_of_normal(q_here) - (1.0 - p[i]) * ln_of_normal(rest_here) - bound[i];
            let slope = (q[i] - p[i]) / (q[i] * rest);
            let step = excess / slope;
            moves[i] &= step > 1e-15 && rest > 0.0 && q[i] > 0.0;
            q[i] -= if moves[i] { step } else { 0.0 };
            any |= moves[i];
        }
        if !any {
            break;
        }
    }
    for i in 0..AT_ONCE {
        q[i] = match (given[i] >= 1.0, given[i] <= 0.0) {
            (true, _) => 1.0,
            (_, true) => 1.0 - without[i],
            (false, false) => q[i].clamp(p[i], 1.0),
        };
    }
    q
}

/// e^x of all.
#[inline(always)]
fn exps(x: &[f64; AT_ONCE]) -> [f64; AT_ONCE] {
    let (mut out, mut usual) = ([0.0; AT_ONCE], 0);
    for i in 0..AT_ONCE {
        let is_usual = is_usual_exponent(x[i]);
        usual += u64::from(is_usual);
        out[i] = exp_of_usual(if is_usual { x[i] } else { 1.0 });
    }
    if usual < AT_ONCE as u64 {
        for i in 0..AT_ONCE {
            out[i] = if is_usual_exponent(x[i]) { out[i] } else { exp(x[i]) };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn case()(n in 1u32..100_000)(k in 0..=n, n in Just(n), log in -12.0..5.0f64) -> (f64, f64) {
            (f64::from(k) / f64::from(n), log.exp())
        }
    }

    proptest! {
        #[test]
        fn several_at_once_have_the_bits_of_one_after_the_other(cases in prop::collection::vec(case(), AT_ONCE)) {
            let (p, bound): (Vec<f64>, Vec<f64>) = cases.into_iter().unzip();
            let found = kl_uppers(&p.clone().try_into().unwrap(), &bound.clone().try_into().unwrap());
            for i in 0..AT_ONCE {
                prop_assert_eq!(found[i].to_bits(), kl_upper(p[i], bound[i]).to_bits(), "{} {}", p[i], bound[i]);
            }
        }
    }

    #[test]
    fn what_is_at_hand_stays_among_others() {
        let p = [0.0, 1.0, 0.5, 0.9, 1e-9, 1.0 - 1e-9, 0.3, 0.0];
        let bound = [0.5, 0.5, 100.0, 80.0, 50.0, 1e-9, 0.0, f64::INFINITY];
        let found = kl_uppers(&p, &bound);
        for i in 0..AT_ONCE {
            assert_eq!(found[i].to_bits(), kl_upper(p[i], bound[i]).to_bits(), "{} {}", p[i], bound[i]);
        }
    }
}
