//! Values of all combinations of settings: marginalises configurations into settings, group by group.

/// Replaces an axis of causes by one of settings: `prob` is `[cause][setting]`, and `tail` numbers lie inside the axis.
pub(crate) fn sum_out(prob: &[f64], n_causes: usize, n: usize, input: &[f64], tail: usize, output: &mut Vec<f64>) {
    output.clear();
    output.resize(input.len() / n_causes * n, 0.0);
    for (input, output) in input.chunks_exact(n_causes * tail).zip(output.chunks_exact_mut(n * tail)) {
        for (i, out) in output.chunks_exact_mut(tail).enumerate() {
            for (c, x) in input.chunks_exact(tail).enumerate() {
                let p = prob[c * n + i];
                out.iter_mut().zip(x).for_each(|(o, x)| *o += p * x);
            }
        }
    }
}

/// [`sum_out`] for two causes and two settings, as binary key variables have: every group in turn, the last one first, with all
/// N numbers in registers. A group's cost of each setting is added if there are `costs`.
///
/// Buys 3.8x at 8 combinations: `pairs`; without, a plan of 64 or 1024 states takes 1.7x.
#[inline(always)]
pub(crate) fn sum_out_pairs<const N: usize>(groups: &[[f64; 4]], costs: Option<&[[f64; 2]]>, values: &mut [f64; N]) {
    let mut tail = 1;
    for (g, [p, q, r, t]) in groups.iter().enumerate() {
        for tile in values.chunks_exact_mut(2 * tail) {
            let (x, y) = tile.split_at_mut(tail);
            for (x, y) in x.iter_mut().zip(y) {
                (*x, *y) = (p * *x + r * *y, q * *x + t * *y);
                if let Some(costs) = costs {
                    (*x, *y) = (*x + costs[g][0], *y + costs[g][1]);
                }
            }
        }
        tail *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers;
    use super::*;

    fn same_bits<const N: usize>(n_groups: usize) {
        let groups: Vec<[f64; 4]> = numbers(4 * n_groups, 1).as_chunks::<4>().0.to_vec();
        let mut fast: [f64; N] = numbers(N, 9).try_into().unwrap();
        let (mut plain, mut out) = (fast.to_vec(), Vec::new());
        sum_out_pairs(&groups, None, &mut fast);
        for (g, prob) in groups.iter().enumerate() {
            sum_out(prob, 2, 2, &plain, 1 << g, &mut out);
            std::mem::swap(&mut plain, &mut out);
        }
        assert_eq!(fast.as_slice(), plain, "{n_groups} groups");
    }

    /// With costs: `binary_key_variables_give_the_same_bits_in_registers` in `kernel/search/tests.rs`.
    #[test]
    fn pairs_in_registers_give_the_bits_of_one_axis_after_the_other() {
        same_bits::<4>(2);
        same_bits::<8>(3);
        same_bits::<16>(4);
    }
}
