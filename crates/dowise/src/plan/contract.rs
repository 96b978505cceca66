//! E[V(s') | s, c] for a product of factors, one factor at a time: never a table over pairs of states.
//!
//! All arrays have the cause as their innermost axis, so that the inner loops run over neighbouring numbers.

use rayon::prelude::*;

/// How one factor is summed out. `row` counts joint values of the factor's state scope, `n` is its number of values.
pub(crate) trait Mix: Sync {
    /// For every cause: the value of the factor's distribution (or the best of a set of them) at `row`.
    ///
    /// `at(v)` is the slice of next values for the factor's value v: one number per cause, or one for all of them.
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]);
}

/// The order and index arithmetic of a contraction; depends on scopes and sizes alone.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    n_causes: usize,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    factor: usize,
    /// Distance between the factor's values in the input (in numbers, causes included).
    value_stride: usize,
    /// Whether the input has a cause axis yet.
    has_causes: bool,
    axes: Vec<Axis>,
    /// Blocks (of one number per cause) in the output.
    n_blocks: usize,
}

/// One axis of a step's output.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: usize,
    input_stride: usize,
    row_stride: usize,
}

/// An axis of an intermediate array: the value of a factor now, or its next value still to be summed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    factor: usize,
    next: bool,
}

/// Work below which a contraction is not worth sharing between threads (in blocks).
const PARALLEL_BLOCKS: usize = 1 << 13;

impl Contraction {
    /// For state factors with these numbers of values and these scopes (positions of state factors, in order).
    ///
    /// The next factor to be summed out is always the one that leaves the smallest array; the first one on ties.
    pub(crate) fn new(sizes: &[usize], scopes: &[Vec<usize>], n_causes: usize) -> Contraction {
        let mut labels: Vec<Label> = (0..sizes.len()).map(|factor| Label { factor, next: true }).collect();
        let mut left: Vec<usize> = (0..sizes.len()).collect();
        let mut steps = Vec::new();
        let mut has_causes = false;
        while !left.is_empty() {
            let after = |factor: usize| -> Vec<Label> {
                let now: Vec<usize> = if left.len() == 1 { (0..sizes.len()).collect() } else { scopes[factor].clone() };
                let mut out: Vec<Label> =
                    labels.iter().copied().filter(|l| *l != Label { factor, next: true }).collect();
                out.extend(now.into_iter().map(|factor| Label { factor, next: false }));
                out.sort_unstable();
                out.dedup();
                out
            };
            let size = |labels: &[Label]| labels.iter().map(|l| sizes[l.factor] as f64).product::<f64>();
            let factor = *left
                .iter()
                .min_by(|&&a, &&b| size(&after(a)).total_cmp(&size(&after(b))).then(a.cmp(&b)))
                .expect("not empty");
            let out = after(factor);
            steps.push(step(sizes, &scopes[factor], factor, &labels, &out, has_causes.then_some(n_causes)));
            left.retain(|&f| f != factor);
            labels = out;
            has_causes = true;
        }
        Contraction { n_causes, steps }
    }

    /// Largest number of entries of any intermediate array.
    pub(crate) fn largest(&self) -> usize {
        self.steps.iter().map(|s| s.n_blocks * self.n_causes).max().unwrap_or(self.n_causes)
    }

    /// Writes E[V(s') | s, c] into `out[s][c]`; `spare` is a buffer that is kept between calls.
    pub(crate) fn apply<M: Mix>(&self, factors: &[M], value: &[f64], out: &mut Vec<f64>, spare: &mut Vec<f64>) {
        if self.steps.is_empty() {
            out.clear();
            out.resize(self.n_causes, value[0]);
            return;
        }
        for (i, step) in self.steps.iter().enumerate() {
            // The last step must land in `out`, so the buffers alternate backwards from it.
            let into_out = (self.steps.len() - 1 - i).is_multiple_of(2);
            let (input, output): (&[f64], &mut Vec<f64>) = match (i, into_out) {
                (0, true) => (value, &mut *out),
                (0, false) => (value, &mut *spare),
                (_, true) => (&*spare, &mut *out),
                (_, false) => (&*out, &mut *spare),
            };
            output.resize(step.n_blocks * self.n_causes, 0.0);
            step.run(&factors[step.factor], self.n_causes, input, output);
        }
    }
}

fn step(
    sizes: &[usize],
    scope: &[usize],
    factor: usize,
    input: &[Label],
    output: &[Label],
    causes: Option<usize>,
) -> Step {
    let inner = causes.unwrap_or(1);
    let stride_in = |label: Label| -> usize {
        let place = input.iter().position(|l| *l == label);
        place.map_or(0, |p| input[p + 1..].iter().map(|l| sizes[l.factor]).product::<usize>() * inner)
    };
    let row_stride = |label: Label| -> usize {
        let place = scope.iter().position(|&f| !label.next && f == label.factor);
        place.map_or(0, |p| scope[p + 1..].iter().map(|&f| sizes[f]).product())
    };
    let mut axes: Vec<Axis> = Vec::new();
    for &label in output {
        let axis = Axis { size: sizes[label.factor], input_stride: stride_in(label), row_stride: row_stride(label) };
        match axes.last_mut() {
            // Two neighbouring axes that are walked alike are one longer axis.
            Some(outer)
                if outer.input_stride == axis.input_stride * axis.size
                    && outer.row_stride == axis.row_stride * axis.size =>
            {
                *outer = Axis { size: outer.size * axis.size, ..axis };
            }
            _ => axes.push(axis),
        }
    }
    Step {
        factor,
        value_stride: stride_in(Label { factor, next: true }),
        has_causes: causes.is_some(),
        n_blocks: axes.iter().map(|a| a.size).product(),
        axes,
    }
}

impl Step {
    fn run<M: Mix>(&self, factor: &M, n_causes: usize, input: &[f64], output: &mut [f64]) {
        if self.n_blocks < PARALLEL_BLOCKS {
            self.run_blocks(factor, n_causes, 0, input, output);
        } else {
            let per_task = PARALLEL_BLOCKS / 2;
            output
                .par_chunks_mut(per_task * n_causes)
                .enumerate()
                .for_each(|(task, chunk)| self.run_blocks(factor, n_causes, task * per_task, input, chunk));
        }
    }

    /// Computes the blocks from number `first` on, as many as fit into `output`.
    fn run_blocks<M: Mix>(&self, factor: &M, n_causes: usize, first: usize, input: &[f64], output: &mut [f64]) {
        let width = if self.has_causes { n_causes } else { 1 };
        let mut digits = vec![0usize; self.axes.len()];
        let (mut base, mut row, mut rest) = (0, 0, first);
        for (i, axis) in self.axes.iter().enumerate().rev() {
            digits[i] = rest % axis.size;
            rest /= axis.size;
            base += digits[i] * axis.input_stride;
            row += digits[i] * axis.row_stride;
        }
        for out in output.chunks_exact_mut(n_causes) {
            factor.mix(row, |v| &input[base + v * self.value_stride..][..width], out);
            for (i, axis) in self.axes.iter().enumerate().rev() {
                digits[i] += 1;
                base += axis.input_stride;
                row += axis.row_stride;
                if digits[i] < axis.size {
                    break;
                }
                digits[i] = 0;
                base -= axis.size * axis.input_stride;
                row -= axis.size * axis.row_stride;
            }
        }
    }
}

/// A known distribution for every row and cause: the plain expectation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mean {
    /// `[row][value][cause]`
    pub(crate) prob: Vec<f64>,
    pub(crate) n_values: usize,
    pub(crate) n_causes: usize,
}

impl Mix for Mean {
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = self.n_causes;
        let block = &self.prob[row * self.n_values * n..][..self.n_values * n];
        let shared = at(0).len() == 1;
        // Eight causes at a time, so that sums stay in registers while the values pass.
        let (eights, rest) = out.as_chunks_mut::<8>();
        let done = n - rest.len();
        for (e, out) in eights.iter_mut().enumerate() {
            let mut sum = [0.0; 8];
            for (v, p) in block.chunks_exact(n).enumerate() {
                let p: &[f64; 8] = p[e * 8..][..8].try_into().expect("eight");
                if shared {
                    let x = at(v)[0];
                    (0..8).for_each(|lane| sum[lane] += p[lane] * x);
                } else {
                    let x: &[f64; 8] = at(v)[e * 8..][..8].try_into().expect("eight");
                    (0..8).for_each(|lane| sum[lane] += p[lane] * x[lane]);
                }
            }
            *out = sum;
        }
        for (i, out) in rest.iter_mut().enumerate() {
            let c = done + i;
            let x = |v: usize| at(v)[if shared { 0 } else { c }];
            *out = block.chunks_exact(n).enumerate().fold(0.0, |sum, (v, p)| sum + p[c] * x(v));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;
    use proptest::prelude::*;

    /// Σ over all next states of the product of the factors' probabilities times the value.
    fn dense(sizes: &[usize], scopes: &[Vec<usize>], factors: &[Mean], n_causes: usize, value: &[f64]) -> Vec<f64> {
        let space = Space::new(sizes).unwrap();
        let mut out = vec![0.0; space.len() * n_causes];
        for s in 0..space.len() {
            for c in 0..n_causes {
                for next in 0..space.len() {
                    let p: f64 = (0..sizes.len())
                        .map(|i| {
                            let scope = Space::new(&scopes[i].iter().map(|&f| sizes[f]).collect::<Vec<_>>()).unwrap();
                            let row = scope.index(&scopes[i].iter().map(|&f| space.digit(s, f)).collect::<Vec<_>>());
                            factors[i].prob[(row * sizes[i] + space.digit(next, i)) * n_causes + c]
                        })
                        .product();
                    out[s * n_causes + c] += p * value[next];
                }
            }
        }
        out
    }

    prop_compose! {
        fn problem()(sizes in prop::collection::vec(1usize..4, 1..5), n_causes in 1usize..4)(
            scopes in prop::collection::vec(prop::sample::subsequence((0..sizes.len()).collect::<Vec<_>>(), 0..=sizes.len()), sizes.len()),
            numbers in prop::collection::vec(-1.0..1.0f64, 4096),
            sizes in Just(sizes), n_causes in Just(n_causes),
        ) -> (Vec<usize>, Vec<Vec<usize>>, usize, Vec<f64>) {
            (sizes, scopes, n_causes, numbers)
        }
    }

    proptest! {
        #[test]
        fn factor_by_factor_equals_the_sum_over_all_next_states((sizes, scopes, n_causes, numbers) in problem()) {
            let mut numbers = numbers.into_iter().cycle();
            let n_states: usize = sizes.iter().product();
            let factors: Vec<Mean> = (0..sizes.len()).map(|i| {
                let rows: usize = scopes[i].iter().map(|&f| sizes[f]).product();
                Mean { prob: (&mut numbers).take(rows * sizes[i] * n_causes).collect(), n_values: sizes[i], n_causes }
            }).collect();
            let value: Vec<f64> = numbers.take(n_states).collect();
            let contraction = Contraction::new(&sizes, &scopes, n_causes);
            let (mut out, mut spare) = (Vec::new(), Vec::new());
            contraction.apply(&factors, &value, &mut out, &mut spare);
            let expected = dense(&sizes, &scopes, &factors, n_causes, &value);
            for (a, b) in out.iter().zip(&expected) {
                prop_assert!((a - b).abs() <= 1e-12, "{a} {b}");
            }
            prop_assert_eq!(out.len(), expected.len());
        }
    }
}
