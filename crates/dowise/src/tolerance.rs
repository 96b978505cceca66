//! Every tolerance for rounding, with what it is relative to and why it has its size.
//!
//! Double precision has a relative error of about 10⁻¹⁶ for each operation. Numbers that people write have few digits, so that
//! tolerances on stated numbers are wide; tolerances on computed numbers are a few orders above what sums of many terms lose.

/// Stated probabilities: how far the sum of a row may be from 1. Files often have six digits; the row is then rescaled.
pub const STATED_PROBABILITIES: f64 = 1e-6;

/// Computed probabilities: how far a sum of products may be from 1, or an interval from containing its mean.
pub const COMPUTED_PROBABILITIES: f64 = 1e-12;

/// Observed rewards: how far outside its stated range a reward may lie, as a share of the range and of its ends.
pub const OBSERVED_REWARD: f64 = 1e-9;

/// Range of a step: the share of it that rounding can make of a difference; no tie is narrower.
pub const STEP_RANGE: f64 = 1e-14;

/// Values of a stage: the share of the largest by which each may be off.
pub const STAGE_VALUE: f64 = 1e-14;

/// Values of an episode that a file states: the share of the greatest reward of an episode by which they may be out of range. Ties
/// are settled within 10⁻⁹ of a value at every stage; this is far above their sum.
pub const STATED_VALUE: f64 = 1e-6;

/// Differences of values: below this share of the larger one a difference is rounding.
pub const VALUE_DIFFERENCE: f64 = 1e-12;

/// Sums within one search over interventions, relative to the sum of absolute terms.
pub const SEARCH_SUM: f64 = 64.0 * f64::EPSILON;

/// Share of the tie tolerance that is rounding: below it, two interventions are the same.
pub const WITHIN_TIE: f64 = 1e-4;

/// L1 norm of a residual below which a point lies in a convex cone.
pub const CONE_RESIDUAL: f64 = 1e-14;

/// Share of the greatest value by which sums of rises may be off at each look of a pruned search.
pub const SUM_OF_RISES: f64 = 1e-15;

/// Share of a feature's square that is left after a projection, below which features are collinear.
pub const COLLINEAR: f64 = 1e-10;

/// Misspecification of features below which a world counts as linear in them.
pub const LINEAR: f64 = 1e-9;

/// Share of the greatest amount of a table below which a difference is printed as 0.
pub const PRINTED: f64 = 1e-14;
