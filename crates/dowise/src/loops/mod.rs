//! Hand-tuned SIMD inner loops; all of them are in this module.
//!
//! The rules of this place:
//! - Slices in, slices out; no type of the library, and no index arithmetic but a loop's own.
//! - In each file the plain loop comes first, then the fast one with a line that says what it buys, over which sizes, and which
//!   benchmark says so. Ratios are of the fastest samples in `benches/kernels.rs` (one core, registers of four numbers);
//!   "in wide registers" compares with the plain loop compiled for the same registers, so that only the tuning counts.
//! - Tests compare both to the bit. Where plain loops are no part of the program they are compiled for tests and benchmarks.
//! - A fast loop that buys less than a fifth in its benchmark, or next to nothing of any plan or episode, is removed. The lines
//!   "without" say what a whole plan or episode takes with the plain loop in its place, in instructions (two builds,
//!   `benchmarks/instructions.py`), at 8 states and 64 interventions or 64 and 343.

pub(crate) mod balls;
pub(crate) mod binary;
pub(crate) mod ends;
pub(crate) mod gamma;
pub(crate) mod kl_ball;
pub(crate) mod kl_upper;
pub(crate) mod mean;
pub(crate) mod normalise;
pub(crate) mod pairs;
pub(crate) mod pick;
pub(crate) mod simd;
pub(crate) mod weigh;

/// Numbers that look random, for tests.
#[cfg(test)]
fn numbers(n: usize, from: usize) -> Vec<f64> {
    (0..n).map(|i| ((i + from) as f64 * 0.618_034).fract()).collect()
}
