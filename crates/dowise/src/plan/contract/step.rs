//! One contraction step: strides and iteration order for marginalising a factor out of an array.

use super::Expect;
use crate::loops::simd;

/// Strides and axes of one contraction step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) factor: usize,
    /// Stride of the factor's values in the input (in numbers, configurations included).
    value_stride: usize,
    /// Whether the input already has a configuration axis.
    pub(super) has_causes: bool,
    axes: Vec<Axis>,
    /// If the factor's own value replaces its next value: the number of tiles per value.
    pub(super) inner: Option<usize>,
    /// Tiles (of one number for each c) in the output.
    pub(super) n_tiles: usize,
}

/// One axis of a step's output.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: usize,
    input_stride: usize,
    row_stride: usize,
}

/// An axis of an intermediate array: a factor's present value, or its next value before marginalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Label {
    pub(super) factor: usize,
    pub(super) next: bool,
}

/// The step that marginalises `factor` out of an array with the axes `input` (and configurations, if it already has
/// them).
///
/// Overflowing sizes saturate: such a contraction is rejected before it runs.
pub(super) fn step(
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
        place.map_or(0, |p| input[p + 1..].iter().fold(inner, |n, l| n.saturating_mul(sizes[l.factor])))
    };
    let row_stride = |label: Label| -> usize {
        let place = scope.iter().position(|&f| !label.next && f == label.factor);
        place.map_or(0, |p| scope[p + 1..].iter().map(|&f| sizes[f]).product())
    };
    let mut axes: Vec<Axis> = Vec::new();
    for &label in output {
        let axis = Axis { size: sizes[label.factor], input_stride: stride_in(label), row_stride: row_stride(label) };
        match axes.last_mut() {
            _ if axis.size == 1 => {}
            // Adjacent axes with compatible strides merge into one.
            Some(outer)
                if outer.input_stride == axis.input_stride.saturating_mul(axis.size)
                    && outer.row_stride == axis.row_stride * axis.size =>
            {
                *outer = Axis { size: outer.size.saturating_mul(axis.size), ..axis };
            }
            _ => axes.push(axis),
        }
    }
    // The factor's present value takes the place of its next value, and nothing else changes.
    let mut same = input.iter().zip(output).map(|(i, o)| i == o || (i.factor == factor && o.factor == factor));
    let own = scope == [factor] && input.len() == output.len() && same.all(|same| same);
    let inner = own.then(|| stride_in(Label { factor, next: true }) / inner);
    Step {
        factor,
        inner,
        value_stride: stride_in(Label { factor, next: true }),
        has_causes: causes.is_some(),
        n_tiles: axes.iter().fold(1, |n, a| n.saturating_mul(a.size)),
        axes,
    }
}

/// The numbers of an array from position `first` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub(super) first: usize,
    pub(super) numbers: &'a [f64],
}

impl Step {
    /// Computes the tiles from `first` on that fit into `output`.
    pub(super) fn run_tiles<M: Expect>(
        &self,
        factor: &M,
        n_causes: usize,
        first: usize,
        input: Part<'_>,
        output: &mut [f64],
    ) {
        simd::wide(
            #[inline(always)]
            || self.walk(factor, n_causes, first, input, output),
        );
    }

    #[inline(always)]
    fn walk<M: Expect>(&self, factor: &M, n_causes: usize, first: usize, input: Part<'_>, output: &mut [f64]) {
        let width = if self.has_causes { n_causes } else { 1 };
        // Every axis has at least two values, so there are at most as many axes as address bits.
        let mut digits = [0usize; usize::BITS as usize];
        let digits = &mut digits[..self.axes.len()];
        let (mut base, mut row, mut rest) = (0, 0, first);
        for (i, axis) in self.axes.iter().enumerate().rev() {
            digits[i] = rest % axis.size;
            rest /= axis.size;
            base += digits[i] * axis.input_stride;
            row += digits[i] * axis.row_stride;
        }
        // Adjacent tiles of the innermost axis share their row if the factor does not depend on it.
        let inner = self.axes.len().wrapping_sub(1);
        let in_runs = self.axes.last().is_some_and(|a| a.row_stride == 0 && a.input_stride == width);
        let mut output = output;
        while !output.is_empty() {
            let run = if in_runs { (self.axes[inner].size - digits[inner]).min(output.len() / n_causes) } else { 1 };
            let (out, later) = std::mem::take(&mut output).split_at_mut(run * n_causes);
            output = later;
            factor.expect_run(
                row,
                run,
                |v| &input.numbers[base - input.first + v * self.value_stride..][..run * width],
                out,
            );
            if let (Some(digit), Some(axis)) = (digits.get_mut(inner), self.axes.last()) {
                *digit += run - 1;
                base += (run - 1) * axis.input_stride;
                row += (run - 1) * axis.row_stride;
            }
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
