//! Expected next values: Σ_v p(v, c) x(v, c) for all joint key values, in tiles that share their probabilities.
//!
//! `prob` is `[value][cause]`, `out` is `[tile][cause]`; `at(v)` is the slice of what value v is worth, `[tile][cause]`, or
//! `[tile]` if all causes share it.

/// Value by value: also the fastest where many causes share what follows.
#[inline(always)]
pub(crate) fn mean_of_run_plainly<'a>(
    prob: &[f64],
    n: usize,
    n_tiles: usize,
    at: impl Fn(usize) -> &'a [f64],
    out: &mut [f64],
) {
    let shared = at(0).len() == n_tiles;
    for (b, out) in out.chunks_exact_mut(n).enumerate() {
        out.fill(0.0);
        for (v, p) in prob.chunks_exact(n).enumerate() {
            if shared {
                let x = at(v)[b];
                for c in 0..n {
                    out[c] += p[c] * x;
                }
            } else {
                let x = &at(v)[b * n..][..n];
                for c in 0..n {
                    out[c] += p[c] * x[c];
                }
            }
        }
    }
}

/// With known numbers of causes, or many of them at a time.
///
/// In wide registers this buys 2.0x at 8 values and 8 causes that share them, 4.1x at 64 and 8, 1.9x at 8 and 64:
/// `mean_of_shared`; and 1.4x to 2.7x at 8 causes that do not: `mean_of_tiles`. Without, episodes of `ucbvi`, `c-ucbvi`
/// (`width=rlberry`) and `c-psrl` at 8 states take 1.1x.
#[inline(always)]
pub(crate) fn mean_of_run<'a>(
    prob: &[f64],
    n: usize,
    n_tiles: usize,
    at: impl Fn(usize) -> &'a [f64],
    out: &mut [f64],
) {
    let shared = at(0).len() == n_tiles && n > 1;
    match (n, shared) {
        // Known sizes let the compiler keep the probabilities in registers.
        (2, false) => mean_of_tiles::<2>(prob, at, out),
        (4, false) => mean_of_tiles::<4>(prob, at, out),
        (8, false) => mean_of_tiles::<8>(prob, at, out),
        (16, false) => mean_of_tiles::<16>(prob, at, out),
        (2, true) => mean_of_shared::<2>(prob, at, out),
        (4, true) => mean_of_shared::<4>(prob, at, out),
        (8, true) => mean_of_shared::<8>(prob, at, out),
        (16, true) => mean_of_shared::<16>(prob, at, out),
        (_, false) => {
            for (b, out) in out.chunks_exact_mut(n).enumerate() {
                sum_up(prob, |v, c| at(v)[b * n + c], out);
            }
        }
        (..STREAM, true) => {
            for (b, out) in out.chunks_exact_mut(n).enumerate() {
                sum_up(prob, |v, _| at(v)[b], out);
            }
        }
        (STREAM.., true) => mean_of_run_plainly(prob, n, n_tiles, at, out),
    }
}

/// Causes that share what follows from which on sums are not kept in registers: a large table is better read in long runs.
const STREAM: usize = 128;

/// Many causes at a time, so that sums stay in registers while the values pass.
///
/// Plain loops: adapters with closures are not always inlined, and what is not inlined does not use wide registers.
#[inline(always)]
fn sum_up(prob: &[f64], x: impl Fn(usize, usize) -> f64, out: &mut [f64]) {
    let n = out.len();
    let mut done = 0;
    while done + 32 <= n {
        out[done..][..32].copy_from_slice(&lanes::<32>(prob, n, done, &x));
        done += 32;
    }
    while done + 8 <= n {
        out[done..][..8].copy_from_slice(&lanes::<8>(prob, n, done, &x));
        done += 8;
    }
    for c in done..n {
        out[c] = lanes::<1>(prob, n, c, &x)[0];
    }
}

/// The sums of N causes from number `first` on.
#[inline(always)]
fn lanes<const N: usize>(prob: &[f64], n: usize, first: usize, x: impl Fn(usize, usize) -> f64) -> [f64; N] {
    let mut sum = [0.0; N];
    for (v, p) in prob.chunks_exact(n).enumerate() {
        let p: &[f64; N] = p[first..][..N].try_into().expect("invariant: N causes from `first` on");
        for lane in 0..N {
            sum[lane] += p[lane] * x(v, first + lane);
        }
    }
    sum
}

/// Σ_v p(v) x(v) for N causes that share x.
#[inline(always)]
fn mean_of_shared<'a, const N: usize>(prob: &[f64], at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
    let (prob, _) = prob.as_chunks::<N>();
    for (b, out) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let mut sum = [0.0; N];
        for (v, p) in prob.iter().enumerate() {
            let x = at(v)[b];
            for c in 0..N {
                sum[c] += p[c] * x;
            }
        }
        *out = sum;
    }
}

/// Σ_v p(v) x(v) for N causes at a time.
#[inline(always)]
fn mean_of_tiles<'a, const N: usize>(prob: &[f64], at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
    let (prob, _) = prob.as_chunks::<N>();
    let (out, _) = out.as_chunks_mut::<N>();
    if let [p, q] = prob {
        let (x, y) = (at(0).as_chunks::<N>().0, at(1).as_chunks::<N>().0);
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            for c in 0..N {
                out[c] = p[c] * x[c] + q[c] * y[c];
            }
        }
        return;
    }
    for (v, p) in prob.iter().enumerate() {
        for (out, x) in out.iter_mut().zip(at(v).as_chunks::<N>().0) {
            for c in 0..N {
                out[c] = if v == 0 { p[c] * x[c] } else { out[c] + p[c] * x[c] };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers;
    use super::*;

    /// Causes for every way of going over them.
    const CAUSES: [usize; 12] = [1, 2, 3, 4, 8, 12, 16, 20, 33, 64, 130, 300];

    #[test]
    fn every_number_of_causes_gives_the_bits_of_the_plain_sum() {
        for n in CAUSES {
            for n_values in [2, 3, 5] {
                let prob = numbers(n_values * n, 1);
                for (width, n_tiles) in [(1, 1), (1, 3), (n, 1), (n, 3)] {
                    let input = numbers(n_values * width * n_tiles, 5);
                    let at = |v: usize| &input[v * width * n_tiles..][..width * n_tiles];
                    let (mut fast, mut plain) = (vec![f64::NAN; n * n_tiles], vec![f64::NAN; n * n_tiles]);
                    mean_of_run(&prob, n, n_tiles, at, &mut fast);
                    mean_of_run_plainly(&prob, n, n_tiles, at, &mut plain);
                    assert_eq!(fast, plain, "{n} causes, {n_values} values, {n_tiles} tiles of {width}");
                }
            }
        }
    }
}
