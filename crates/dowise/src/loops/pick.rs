//! Minimum of a slice, and the n-th element within a limit (tie-breaking).

/// The least, one number after the other.
#[cfg(any(test, feature = "probes"))]
#[inline(always)]
pub(crate) fn least_plainly(values: &[f64]) -> f64 {
    values.iter().fold(f64::INFINITY, |least, &x| if x < least { x } else { least })
}

/// The least, in eight lanes.
///
/// Buys 1.3x at 16, 1.6x at 64, 3.0x at 343 numbers, in wide registers: `least`. Without, an episode of
/// `ucbvi:width=rlberry` takes 1.05x at 64 interventions, 1.1x at 343.
#[inline(always)]
pub(crate) fn least(values: &[f64]) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut least = [f64::INFINITY; 8];
    for eight in eights {
        for lane in 0..8 {
            least[lane] = if eight[lane] < least[lane] { eight[lane] } else { least[lane] };
        }
    }
    for (lane, &x) in rest.iter().enumerate() {
        least[lane] = if x < least[lane] { x } else { least[lane] };
    }
    // Halves, not one after another: three comparisons wait for each other in place of seven.
    for half in [4, 2, 1] {
        for lane in 0..half {
            least[lane] = if least[lane + half] < least[lane] { least[lane + half] } else { least[lane] };
        }
    }
    least[0]
}

/// How many numbers are not above a limit.
#[inline(always)]
pub(crate) fn n_within(values: &[f64], limit: f64) -> u64 {
    let mut n = 0;
    for v in values {
        n += u64::from(*v <= limit);
    }
    n
}

/// Position of the n-th number (from 0) that is not above a limit, one number after the other.
#[inline(always)]
pub(crate) fn nth_within_plainly(values: &[f64], limit: f64, mut n: u64) -> Option<usize> {
    for (i, v) in values.iter().enumerate() {
        if *v <= limit {
            if n == 0 {
                return Some(i);
            }
            n -= 1;
        }
    }
    None
}

/// The same: tiles are counted in wide registers, and only the one with it is searched.
///
/// Without, an episode of `ucbvi:width=rlberry` takes 1.06x at 64 interventions, 1.2x at 343. Fewer numbers than 64 are searched
/// plainly: counting them costs `c-ucbvi` and `cf-ucbvi` 1.03x.
#[inline(always)]
pub(crate) fn nth_within(values: &[f64], limit: f64, mut n: u64) -> Option<usize> {
    const TILE: usize = 16;
    if values.len() < 4 * TILE {
        return nth_within_plainly(values, limit, n);
    }
    for (t, tile) in values.chunks(TILE).enumerate() {
        let within = n_within(tile, limit);
        if n < within {
            return nth_within_plainly(tile, limit, n).map(|i| t * TILE + i);
        }
        n -= within;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::numbers;
    use super::*;

    #[test]
    fn eight_lanes_find_what_one_number_after_the_other_does() {
        for n in [0, 1, 7, 8, 15, 16, 17, 64, 100, 343] {
            let values = numbers(n, 3);
            assert_eq!(least(&values), least_plainly(&values), "{n} numbers");
        }
    }

    #[test]
    fn the_nth_within_a_limit_is_found_and_none_beyond_the_last() {
        let values = [0.5, 0.1, 0.3, 0.9, 0.2];
        assert_eq!(n_within(&values, 0.3), 3);
        assert_eq!([0, 1, 2, 3].map(|n| nth_within_plainly(&values, 0.3, n)), [Some(1), Some(2), Some(4), None]);
        for len in [0, 1, 15, 16, 17, 64, 343] {
            let values = numbers(len, 5);
            for limit in [-1.0, 0.2, 0.5, 2.0] {
                for n in 0..=n_within(&values, limit) {
                    let plain = nth_within_plainly(&values, limit, n);
                    assert_eq!(nth_within(&values, limit, n), plain, "{n} of {len} below {limit}");
                }
            }
        }
    }
}
