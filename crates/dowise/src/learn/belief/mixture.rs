//! Mixture-likelihood (Krichevsky–Trofimov) confidence bound: the log-likelihood of the best fit of a row less that of
//! a mixture over all distributions.
//!
//! Under the true p of a row, the ratio of a mixture's likelihood to that of p is a supermartingale that begins at 1, so by Ville's
//! inequality it exceeds 1/δ at some N with probability δ at most. Otherwise, for all N at once,
//!
//! ```text
//! N·KL(p^, p) = ln p^(y) − ln p(y) ≤ ln(1/δ) + ln p^(y) − ln mixture(y).
//! ```
//!
//! What this file computes is the last two terms; `docs/theory/algorithms.md` has the proof.

use std::sync::OnceLock;

use crate::math::{exp, ln, ln_gamma};

/// ln Γ(1/2)
const LN_GAMMA_HALF: f64 = 0.572_364_942_924_700_1;

/// Two values: the mixture of Krichevsky and Trofimov, Dirichlet(1/2, 1/2).
///
/// Also valid if a and b are sums of rewards x in \[0, 1\] and of 1 − x. Since (q/p)^x ((1−q)/(1−p))^(1−x) is at most
/// linear in x between its ends, its mean is at most 1 if p is the mean of x.
pub(crate) fn of_two(a: f64, b: f64) -> f64 {
    let n = a + b;
    // ln Γ(n + 1) − ln Γ(1), both ends of a Dirichlet of weight 1.
    (fit(a) + fit(b) - n * ln(n) + ln_gamma(n + 1.0)).max(0.0)
}

/// The same for counts, from tables: the same bits.
pub(super) fn of_two_counts(a: u32, b: u32) -> f64 {
    match (known(a), known(b), a.checked_add(b).and_then(known)) {
        (Some(a), Some(b), Some(n)) => (a.fit + b.fit - n.log + n.factorial).max(0.0),
        _ => of_two(f64::from(a), f64::from(b)),
    }
}

/// Functions of one count.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// [`fit`]
    fit: f64,
    /// x ln x
    log: f64,
    /// ln Γ(x + 1)
    factorial: f64,
    /// ln Γ(x/2)
    gamma_of_half: f64,
}

/// Counts per table; each table is computed on first use.
const TABLE: usize = 256;

/// Counts below TABLE times this are tabulated; larger ones are computed every time.
const TABLES: usize = 256;

/// The tabulated functions of a count, computed once per program, since every learner needs them after each step.
fn known(count: u32) -> Option<Known> {
    static OF: [OnceLock<[Known; TABLE]>; TABLES] = [const { OnceLock::new() }; TABLES];
    let (table, place) = (count as usize / TABLE, count as usize % TABLE);
    let table = OF.get(table)?.get_or_init(|| {
        std::array::from_fn(|i| {
            let x = (table * TABLE + i) as f64;
            Known { fit: fit(x), log: x * ln(x), factorial: ln_gamma(x + 1.0), gamma_of_half: ln_gamma(x / 2.0) }
        })
    });
    Some(table[place])
}

/// Any number of values, for one fixed mean in place of the whole row: ln(Γ(1/2) Γ(n + 1) / Γ(n + 1/2)).
///
/// With x in \[0, 1\] the function of a value and μ its true mean, b x/μ + (1 − b)(1 − x)/(1 − μ) has mean 1 for every
/// b. So its product over the visits is a martingale, and so is the mixture over b with density Dirichlet(1/2, 1/2).
/// The mixture is at least the greatest product over b times e to the minus this number (Cover and Ordentlich 1996).
/// The logarithm of the greatest product is n times the least KL(p^, q) of all q with the mean μ.
pub(super) fn of_mean(n: u32) -> f64 {
    let n = f64::from(n);
    LN_GAMMA_HALF + ln_gamma(n + 1.0) - ln_gamma(n + 0.5)
}

/// x ln x − ln Γ(x + 1/2) + ln Γ(1/2)
fn fit(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { x * ln(x) - ln_gamma(x + 0.5) + LN_GAMMA_HALF }
}

/// Any number of values: half of the weight on Dirichlet(1/2, …, 1/2) over all m values, the other half on the same
/// over k of them, k with weight 1/k and the k values uniform. A row with few next values is learned nearly as if
/// their number were known: at m = 64 and 3 values observed in 1000 visits the penalty is a sixth of that of the first
/// half alone.
pub(crate) fn of_many(counts: &[u32], n: u32) -> f64 {
    let m = counts.len();
    if m == 2 {
        return of_two_counts(counts[0], counts[1]);
    }
    let n_twice = 2 * u64::from(n);
    let n = f64::from(n);
    let (mut seen, mut fits) = (0, 0.0);
    for &count in counts.iter().filter(|&&count| count > 0) {
        seen += 1;
        fits += known(count).map_or_else(|| fit(f64::from(count)), |known| known.fit);
    }
    let harmonic: f64 = (1..=m).map(|k| 1.0 / k as f64).sum();
    // ln Γ(k/2) − ln Γ(n + k/2)
    let ratio = |k: usize| gamma_of_half(k as u64) - gamma_of_half(n_twice + k as u64);
    let first = ratio(seen);
    // C(k, seen) Γ(k/2) / Γ(n + k/2) relative to k = seen, each from the one before the last.
    let mut terms = [1.0, if seen < m { (seen + 1) as f64 * exp(ratio(seen + 1) - first) } else { 0.0 }];
    let (mut sum, mut scale) = (0.0, 0.0);
    for k in seen..=m {
        let more = k - seen;
        let term = &mut terms[more % 2];
        if more >= 2 {
            let half = (k - 2) as f64 / 2.0;
            *term *= (k * (k - 1)) as f64 / (more * (more - 1)) as f64 * half / (n + half);
        }
        let weight = 0.5 / (k as f64 * harmonic) + if k == m { 0.5 } else { 0.0 };
        sum += weight * *term;
        if sum > LARGE {
            terms.iter_mut().for_each(|term| *term /= LARGE);
            sum /= LARGE;
            scale += ln(LARGE);
        }
    }
    // One of C(m, seen) choices.
    let choices = factorial(m) - factorial(seen) - factorial(m - seen);
    (fits - n * ln(n) - first + choices - scale - ln(sum)).max(0.0)
}

/// ln Γ(x/2)
fn gamma_of_half(x: u64) -> f64 {
    let known = u32::try_from(x).ok().and_then(known);
    known.map_or_else(|| ln_gamma(x as f64 / 2.0), |known| known.gamma_of_half)
}

/// ln x!
fn factorial(x: usize) -> f64 {
    let known = u32::try_from(x).ok().and_then(known);
    known.map_or_else(|| ln_gamma(x as f64 + 1.0), |known| known.factorial)
}

/// Sums above this are scaled down.
const LARGE: f64 = 1e200;

#[cfg(test)]
mod tests {
    use super::*;

    /// ln ∫ Π q^n over Dirichlet(1/2, …) with one entry for each count, one observation at a time.
    fn sequence(counts: &[u32]) -> f64 {
        let (mut log, mut n) = (0.0, 0.0);
        for &count in counts {
            for i in 0..count {
                log += ((f64::from(i) + 0.5) / (n + counts.len() as f64 / 2.0)).ln();
                n += 1.0;
            }
        }
        log
    }

    fn best_fit(counts: &[u32]) -> f64 {
        let n: u32 = counts.iter().sum();
        counts.iter().filter(|k| **k > 0).map(|&k| f64::from(k) * (f64::from(k) / f64::from(n)).ln()).sum()
    }

    #[test]
    fn two_values_have_the_mixture_of_krichevsky_and_trofimov() {
        for counts in [[0, 1], [3, 4], [0, 200], [17, 1000]] {
            let expected = best_fit(&counts) - sequence(&counts);
            let found = of_two(f64::from(counts[0]), f64::from(counts[1]));
            assert!((found - expected).abs() < 1e-9, "{counts:?}: {found} {expected}");
            assert_eq!(of_many(&counts, counts[0] + counts[1]).to_bits(), found.to_bits());
        }
    }

    #[test]
    fn many_values_have_the_mixture_over_all_subsets_by_enumeration() {
        let rows: [&[u32]; 7] = [
            &[1, 0, 0],
            &[0, 5, 2],
            &[3, 1, 40],
            &[0, 0, 0, 9, 0],
            &[1, 1, 1, 1, 1, 1],
            &[100, 0, 3, 0, 0, 0, 0, 20],
            &[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5],
        ];
        for counts in rows {
            let (m, n) = (counts.len(), counts.iter().sum());
            let harmonic: f64 = (1..=m).map(|k| 1.0 / k as f64).sum();
            let mut mixture = 0.5 * sequence(counts).exp();
            for subset in 1usize..1 << m {
                if counts.iter().enumerate().any(|(v, k)| *k > 0 && subset >> v & 1 == 0) {
                    continue;
                }
                let k = subset.count_ones() as usize;
                let choices: f64 = (0..k).map(|i| (m - i) as f64 / (i + 1) as f64).product();
                let inside: Vec<u32> = (0..m).filter(|v| subset >> v & 1 == 1).map(|v| counts[v]).collect();
                mixture += 0.5 / (k as f64 * harmonic) / choices * sequence(&inside).exp();
            }
            let expected = best_fit(counts) - mixture.ln();
            let found = of_many(counts, n);
            assert!((found - expected).abs() < 1e-9, "{counts:?}: {found} {expected}");
        }
    }

    #[test]
    fn tables_have_the_bits_of_what_they_stand_for() {
        let counts = (0..3000).chain([65_000, 65_535, 65_536, 70_000, 4_000_000]);
        for x in counts {
            let number = f64::from(x);
            let pairs = [
                (factorial(x as usize), ln_gamma(number + 1.0)),
                (of_two_counts(x, 3), of_two(number, 3.0)),
                (of_two_counts(x, x + 1), of_two(number, number + 1.0)),
            ];
            let halves = (x > 0).then(|| (gamma_of_half(u64::from(x)), ln_gamma(number / 2.0)));
            for (found, expected) in pairs.into_iter().chain(halves) {
                assert_eq!(found.to_bits(), expected.to_bits(), "{x}");
            }
        }
        assert!(of_two_counts(u32::MAX - 1, u32::MAX).is_finite());
    }

    #[test]
    fn a_mixture_is_a_probability_so_its_sequences_sum_to_one() {
        // All sequences of 6 observations of 3 values, by their counts.
        let mut sum = 0.0;
        for a in 0..=6u32 {
            for b in 0..=6 - a {
                let counts = [a, b, 6 - a - b];
                let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
                let sequences = factorial(6) / counts.iter().map(|&k| factorial(k)).product::<f64>();
                sum += sequences * (best_fit(&counts) - of_many(&counts, 6)).exp();
            }
        }
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn thousands_of_values_are_no_trouble() {
        for counts in
            [vec![1; 3000], [vec![1; 600], vec![0; 5000]].concat(), [vec![u32::MAX / 2], vec![0; 4000]].concat()]
        {
            let found = of_many(&counts, counts.iter().sum());
            assert!(found.is_finite() && found > 0.0, "{found}");
        }
        assert!(of_many(&[1000, 300, 50], 1350) < of_many(&[1000, 300, 50, 0], 1350));
    }
}
