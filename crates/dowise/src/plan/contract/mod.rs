//! Tensor contraction: E[V(s') | s, c] for factored transitions, one factor at a time, without a table over pairs of
//! states.
//!
//! All arrays have the joint key values as their innermost axis, so that inner loops run over contiguous memory.

mod mean;
mod own;
mod step;

pub(crate) use mean::Mean;

use crate::loops::ends::Ends;
use own::{Own, sum_out, sum_out_two};
use rayon::prelude::*;
use step::{Label, Part, Step, step};

/// Marginalisation of one factor. `row` indexes joint values of the factor's state scope.
pub(crate) trait Expect: Sync {
    /// For all joint key values: the expectation under the factor's distribution (or the extreme of a confidence set)
    /// at `row`.
    ///
    /// `at(v)` is the slice of next values for the factor's value v: one number for each c, or one for all of them.
    fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]);

    /// The same for contiguous tiles that share a row: `at(v)` and `out` have `n_tiles` times as many numbers.
    #[inline(always)]
    fn expect_run<'a>(&self, row: usize, n_tiles: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let (width, n_causes) = (at(0).len() / n_tiles, out.len() / n_tiles);
        for (b, out) in out.chunks_exact_mut(n_causes).enumerate() {
            self.expect_next(row, |v| &at(v)[b * width..][..width], out);
        }
    }

    /// The factor in a form that is marginalised in place, if it depends on its own value only.
    fn in_place(&self) -> Option<Binary<'_>> {
        None
    }
}

/// A binary factor that is marginalised in place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Binary<'a> {
    /// Probabilities.
    Mean(&'a Mean),
    /// Intervals of probabilities, of which one end is taken.
    Ends(Ends<'a>),
}

/// The order and index arithmetic of a contraction, a function of scopes and sizes.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    n_causes: usize,
    steps: Vec<Step>,
    /// Steps from `slabs.from` on leave the outermost axes unchanged, so they run slab by slab.
    slabs: Slabs,
}

/// Steps that run consecutively for each slab of an array, while the slab is in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slabs {
    from: usize,
    n: usize,
}

/// Tiles below which a contraction runs on one thread.
const PARALLEL_TILES: usize = 1 << 13;

/// Maximum size of a slab: two of them fit into a core's private cache.
const SLAB: usize = 1 << 14;

impl Contraction {
    /// For state factors with these numbers of values and scopes (positions of state factors, in order).
    ///
    /// Greedy order: the next factor is the one that leaves the smallest array; the first one on ties.
    pub(crate) fn new(sizes: &[usize], scopes: &[Vec<usize>], n_causes: usize) -> Contraction {
        Contraction::with_slabs(sizes, scopes, n_causes, SLAB)
    }

    fn with_slabs(sizes: &[usize], scopes: &[Vec<usize>], n_causes: usize, most: usize) -> Contraction {
        // The axes before the first step and after each step.
        let mut labels: Vec<Vec<Label>> = vec![(0..sizes.len()).map(|factor| Label { factor, next: true }).collect()];
        let mut left: Vec<usize> = (0..sizes.len()).collect();
        let mut steps = Vec::new();
        while !left.is_empty() {
            let input = labels.last().expect("invariant: labels begin with those of the value");
            let after = |factor: usize| -> Vec<Label> {
                let now: Vec<usize> = if left.len() == 1 { (0..sizes.len()).collect() } else { scopes[factor].clone() };
                let mut out: Vec<Label> =
                    input.iter().copied().filter(|l| *l != Label { factor, next: true }).collect();
                out.extend(now.into_iter().map(|factor| Label { factor, next: false }));
                out.sort_unstable();
                out.dedup();
                out
            };
            let size = |labels: &[Label]| labels.iter().map(|l| sizes[l.factor] as f64).product::<f64>();
            let factor = *left
                .iter()
                .min_by(|&&a, &&b| size(&after(a)).total_cmp(&size(&after(b))).then(a.cmp(&b)))
                .expect("invariant: some factor is left");
            let output = after(factor);
            let causes = (!steps.is_empty()).then_some(n_causes);
            steps.push(step(sizes, &scopes[factor], factor, input, &output, causes));
            left.retain(|&f| f != factor);
            labels.push(output);
        }
        let slabs = slabs(sizes, &labels, n_causes, most);
        Contraction { n_causes, steps, slabs }
    }

    /// The factors in elimination order.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().map(|step| step.factor)
    }

    /// Maximum number of entries of an intermediate array.
    pub(crate) fn largest(&self) -> usize {
        self.steps.iter().map(|s| s.n_tiles.saturating_mul(self.n_causes)).max().unwrap_or(self.n_causes)
    }

    /// Writes E[V(s') | s, c] into `out[s][c]`; `spare` is a reusable buffer.
    pub(crate) fn apply<M: Expect>(&self, factors: &[M], value: &[f64], out: &mut Vec<f64>, spare: &mut Vec<f64>) {
        let Some(last) = self.steps.last() else {
            out.clear();
            out.resize(self.n_causes, value[0]);
            return;
        };
        if value.iter().all(|&v| v == 0.0) {
            // This is the case after the last stage.
            out.clear();
            out.resize(last.n_tiles * self.n_causes, 0.0);
            return;
        }
        if self.steps.iter().any(|step| step.has_causes && self.own(step, factors).is_some()) {
            self.apply_in_place(factors, value, out, spare);
            return;
        }
        let whole = self.slabs.from;
        for (i, step) in self.steps[..whole].iter().enumerate() {
            // The slab steps count as one further step, which must write to `out`; the buffers alternate backwards from
            // there.
            let into_out = (self.steps.len().min(whole + 1) - 1 - i).is_multiple_of(2);
            let (input, output): (&[f64], &mut Vec<f64>) = match (i, into_out) {
                (0, true) => (value, &mut *out),
                (0, false) => (value, &mut *spare),
                (_, true) => (&*spare, &mut *out),
                (_, false) => (&*out, &mut *spare),
            };
            output.resize(step.n_tiles * self.n_causes, 0.0);
            self.run(step, &factors[step.factor], input, output);
        }
        if whole < self.steps.len() {
            out.resize(last.n_tiles * self.n_causes, 0.0);
            self.run_slabs(factors, if whole == 0 { value } else { spare }, out);
        }
    }

    /// A step that can run in place once its array has a configuration axis.
    fn own<'a, M: Expect>(&self, step: &Step, factors: &'a [M]) -> Option<Own<'a>> {
        let inner = step.inner? * self.n_causes;
        factors[step.factor].in_place().map(|factor| Own { factor, inner })
    }

    /// Runs in-place steps in sequence, the others from array to array.
    fn apply_in_place<M: Expect>(&self, factors: &[M], value: &[f64], out: &mut Vec<f64>, spare: &mut Vec<f64>) {
        let own = |step: &Step| self.own(step, factors);
        let in_place = |step: &Step| own(step).filter(|_| step.has_causes);
        // The number of arrays still to be written; the last one must be `out`.
        let mut left = self.steps.iter().filter(|step| in_place(step).is_none()).count();
        let mut steps = &self.steps[..];
        let mut is_first = true;
        // Contracts the first two factors at once, if they are adjacent.
        if let [first, second, rest @ ..] = steps
            && let (Some(first), Some(second)) = (own(first), in_place(second))
            && let (Binary::Mean(outer), Binary::Mean(inner)) = (first.factor, second.factor)
            && first.inner == 2 * second.inner
        {
            left -= 1;
            let into = if left.is_multiple_of(2) { &mut *out } else { &mut *spare };
            into.resize(value.len() * self.n_causes, 0.0);
            sum_out_two(outer, inner, second.inner, value, into);
            (is_first, steps) = (false, rest);
        }
        while let Some(step) = steps.first() {
            if in_place(step).is_some() {
                let array = if left.is_multiple_of(2) { &mut *out } else { &mut *spare };
                let mut run = 1;
                while let Some(step) = steps.get(run).filter(|step| in_place(step).is_some())
                    && step.inner.map(|inner| 2 * inner) <= steps[run - 1].inner
                {
                    run += 1;
                }
                sum_out(&steps[..run], &|step| own(step).expect("invariant: this run of steps is in place"), array);
                steps = &steps[run..];
                continue;
            }
            left -= 1;
            let (from, into) = if left.is_multiple_of(2) { (&*spare, &mut *out) } else { (&*out, &mut *spare) };
            into.resize(step.n_tiles * self.n_causes, 0.0);
            self.run(step, &factors[step.factor], if is_first { value } else { from }, into);
            (is_first, steps) = (false, &steps[1..]);
        }
    }

    fn run<M: Expect>(&self, step: &Step, factor: &M, input: &[f64], output: &mut [f64]) {
        let input = Part { first: 0, numbers: input };
        if step.n_tiles < PARALLEL_TILES {
            step.run_tiles(factor, self.n_causes, 0, input, output);
        } else {
            let per_task = PARALLEL_TILES / 2;
            output
                .par_chunks_mut(per_task * self.n_causes)
                .enumerate()
                .for_each(|(task, chunk)| step.run_tiles(factor, self.n_causes, task * per_task, input, chunk));
        }
    }

    /// Runs the remaining steps slab by slab.
    fn run_slabs<M: Expect>(&self, factors: &[M], input: &[f64], output: &mut [f64]) {
        let n_slabs = self.slabs.n;
        let steps = &self.steps[self.slabs.from..];
        let slab_len = output.len() / n_slabs;
        output.par_chunks_mut(slab_len).enumerate().for_each_init(
            || (Vec::new(), Vec::new()),
            |(here, there), (slab, output)| {
                for (i, step) in steps.iter().enumerate() {
                    let n_tiles = step.n_tiles / n_slabs;
                    let part = match i {
                        0 => Part { first: 0, numbers: input },
                        _ => Part { first: slab * here.len(), numbers: here },
                    };
                    let factor = &factors[step.factor];
                    if i + 1 == steps.len() {
                        step.run_tiles(factor, self.n_causes, slab * n_tiles, part, output);
                    } else {
                        there.resize(n_tiles * self.n_causes, 0.0);
                        step.run_tiles(factor, self.n_causes, slab * n_tiles, part, there);
                        std::mem::swap(here, there);
                    }
                }
            },
        );
    }
}

/// The first step of slab-wise execution, for slabs up to a size; `labels` are the axes before and after steps.
fn slabs(sizes: &[usize], labels: &[Vec<Label>], n_causes: usize, most: usize) -> Slabs {
    let n_steps = labels.len() - 1;
    let len = |labels: &[Label]| labels.iter().fold(1usize, |n, l| n.saturating_mul(sizes[l.factor]));
    for from in 0..n_steps.saturating_sub(1) {
        // Outermost axes that exist before and after all of these steps.
        let last = &labels[n_steps];
        let shared = |other: &Vec<Label>| last.iter().zip(other).take_while(|(a, b)| a == b).count();
        let n_shared = labels[from..].iter().map(shared).min().unwrap_or(0);
        let largest = labels[from..].iter().map(|l| len(l)).max().unwrap_or(1).saturating_mul(n_causes);
        for n_axes in 1..=n_shared {
            let n = len(&last[..n_axes]);
            if largest > most && largest / n <= most {
                return Slabs { from, n };
            }
        }
    }
    Slabs { from: n_steps, n: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;
    use proptest::prelude::*;

    /// Brute-force reference: Σ over all next states of the product of the factors' probabilities times the value.
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
        fn problem()(sizes in prop::collection::vec(1usize..4, 1..5), n_causes in prop::sample::select(vec![1usize, 2, 3, 4, 8, 16]))(
            scopes in prop::collection::vec(prop::sample::subsequence((0..sizes.len()).collect::<Vec<_>>(), 0..=sizes.len()), sizes.len()),
            numbers in prop::collection::vec(-1.0..1.0f64, 64),
            sizes in Just(sizes), n_causes in Just(n_causes),
        ) -> (Vec<usize>, Vec<Vec<usize>>, usize, Vec<f64>) {
            (sizes, scopes, n_causes, numbers)
        }
    }

    /// A factor that hides its in-place form.
    struct Moved<'a>(&'a Mean);

    impl Expect for Moved<'_> {
        fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
            self.0.expect_next(row, at, out);
        }
    }

    fn same_bits_in_place(
        sizes: &[usize],
        scopes: &[Vec<usize>],
        n_causes: usize,
        mut numbers: impl Iterator<Item = f64>,
    ) {
        let factors: Vec<Mean> = (0..sizes.len())
            .map(|i| {
                let rows: usize = scopes[i].iter().map(|&f| sizes[f]).product();
                Mean { prob: (&mut numbers).take(rows * sizes[i] * n_causes).collect(), n_values: sizes[i], n_causes }
            })
            .collect();
        let value: Vec<f64> = numbers.take(sizes.iter().product()).collect();
        let contraction = Contraction::new(sizes, scopes, n_causes);
        let (mut in_place, mut moved, mut spare) = (Vec::new(), Vec::new(), Vec::new());
        contraction.apply(&factors, &value, &mut in_place, &mut spare);
        let factors: Vec<Moved<'_>> = factors.iter().map(Moved).collect();
        contraction.apply(&factors, &value, &mut moved, &mut spare);
        assert!(in_place == moved, "{sizes:?} {scopes:?} {n_causes}");
    }

    /// Arrays below and above every size threshold for slabs and threads.
    #[test]
    fn binary_factors_in_place_have_the_bits_of_array_to_array() {
        for (m, n_causes) in
            (1..=14).map(|m| (m, 8)).chain([(5, 4), (6, 16), (7, 12), (13, 12), (12, 20), (2, 4100), (7, 33), (11, 35)])
        {
            let numbers = (1..).map(|i| (f64::from(i) * 0.618_034).fract());
            let scopes: Vec<Vec<usize>> = (0..m).map(|i| vec![i]).collect();
            same_bits_in_place(&vec![2; m], &scopes, n_causes, numbers);
        }
    }

    #[test]
    fn scopes_of_one_factor_each_are_taken_slab_by_slab() {
        let (sizes, scopes) = (vec![2; 16], (0..16).map(|i| vec![i]).collect::<Vec<_>>());
        assert_eq!(Contraction::new(&sizes, &scopes, 8).slabs, Slabs { from: 5, n: 32 });
        assert_eq!(Contraction::new(&sizes[..8], &scopes[..8], 8).slabs, Slabs { from: 8, n: 1 });
    }

    prop_compose! {
        /// Mostly binary factors that mostly depend on themselves only.
        fn mostly_own()(factors in prop::collection::vec((prop::sample::select(vec![2usize, 2, 2, 3]), 0..5usize), 1..7))(
            others in prop::collection::vec(prop::sample::subsequence((0..factors.len()).collect::<Vec<_>>(), 0..=factors.len().min(3)), factors.len()),
            factors in Just(factors),
        ) -> (Vec<usize>, Vec<Vec<usize>>) {
            let scopes = (0..factors.len()).map(|i| if factors[i].1 > 0 { vec![i] } else { others[i].clone() }).collect();
            (factors.iter().map(|f| f.0).collect(), scopes)
        }
    }

    proptest! {
        #[test]
        fn some_factors_in_place_give_the_same_bits(
            (sizes, scopes) in mostly_own(),
            n_causes in prop::sample::select(vec![4usize, 8, 12]),
            numbers in prop::collection::vec(-1.0..1.0f64, 64),
        ) {
            same_bits_in_place(&sizes, &scopes, n_causes, numbers.into_iter().cycle());
        }

        #[test]
        fn factor_by_factor_equals_the_sum_over_all_next_states((sizes, scopes, n_causes, numbers) in problem()) {
            let mut numbers = numbers.into_iter().cycle();
            let n_states: usize = sizes.iter().product();
            let factors: Vec<Mean> = (0..sizes.len()).map(|i| {
                let rows: usize = scopes[i].iter().map(|&f| sizes[f]).product();
                Mean { prob: (&mut numbers).take(rows * sizes[i] * n_causes).collect(), n_values: sizes[i], n_causes }
            }).collect();
            let value: Vec<f64> = numbers.take(n_states).collect();
            let expected = dense(&sizes, &scopes, &factors, n_causes, &value);
            let (mut out, mut spare) = (Vec::new(), Vec::new());
            // Small slabs split even small arrays; results must not depend on that.
            for most in [1, 4, 16, 64, SLAB] {
                let contraction = Contraction::with_slabs(&sizes, &scopes, n_causes, most);
                contraction.apply(&factors, &value, &mut out, &mut spare);
                for (a, b) in out.iter().zip(&expected) {
                    prop_assert!((a - b).abs() <= 1e-12, "{a} {b}");
                }
                prop_assert_eq!(out.len(), expected.len());
            }
        }
    }
}
