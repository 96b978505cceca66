//! Posterior sampling from Dirichlet and Beta distributions.

mod lazy_rows;
mod stick_breaking;
mod table;

pub(crate) use crate::loops::gamma::BATCH;
pub(crate) use lazy_rows::LazyRows;
pub(crate) use stick_breaking::StickBreaking;
pub(crate) use table::Posterior;

use rand::Rng;

use crate::random::gamma;

/// Replaces the parameters of a Dirichlet distribution by a sample of it.
///
/// # Cost
/// One gamma variate per value.
pub(crate) fn dirichlet_of(out: &mut [f64], rng: &mut impl Rng) {
    let mut sum = 0.0;
    for o in out.iter_mut() {
        *o = gamma(*o, rng);
        sum += *o;
    }
    if sum > 0.0 {
        out.iter_mut().for_each(|o| *o /= sum);
    } else {
        // Every variate underflowed: with a tiny prior the sample is a corner of the simplex.
        let n = out.len() as u64;
        let corner = crate::random::scale(rng.next_u64(), n) as usize;
        out.iter_mut().enumerate().for_each(|(v, o)| *o = f64::from(u8::from(v == corner)));
    }
}

/// A sample of Beta(a, b).
pub(crate) fn beta(a: f64, b: f64, rng: &mut impl Rng) -> f64 {
    let (x, y) = (gamma(a, rng), gamma(b, rng));
    if x + y > 0.0 { x / (x + y) } else { 0.5 }
}

/// Checks sums and sums of squares of `rounds` samples of a row against the mean and the variance of its posterior.
#[cfg(test)]
fn assert_moments(counts: &[u32], prior: f64, rounds: u64, sums: &[f64], squares: &[f64]) {
    let (prior, rounds) = (prior / counts.len() as f64, rounds as f64);
    let total: f64 = counts.iter().map(|&n| f64::from(n) + prior).sum();
    for (v, &n) in counts.iter().enumerate() {
        let mean = (f64::from(n) + prior) / total;
        let variance = mean * (1.0 - mean) / (total + 1.0);
        let seen = sums[v] / rounds;
        assert!((seen - mean).abs() < 4.0 * (variance / rounds).sqrt(), "{seen} for {mean}");
        let seen = squares[v] / rounds - seen * seen;
        assert!((seen / variance - 1.0).abs() < 0.05, "variance {seen} for {variance}");
    }
}
