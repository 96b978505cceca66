//! Helpers of world generators: pattern rows and checks of settings.

use super::GeneratorError;
use crate::world::{Outcome, Pattern, RewardRow, RowSpec};

/// `when` with one value for each of these variables.
pub(super) fn when(pairs: &[(&str, &str)]) -> Pattern {
    pairs.iter().map(|&(name, value)| (name.into(), vec![value.into()])).collect()
}

/// A row that shifts a state factor by these amounts with these probabilities (without those of probability 0).
pub(super) fn shift_row(pattern: Pattern, by: &[(i64, f64)]) -> RowSpec {
    let by = by.iter().filter(|&&(_, p)| p > 0.0).map(|&(step, p)| (step, p.into())).collect();
    RowSpec { when: pattern.into(), outcome: Outcome::Shift { of: None, by }, at: None }
}

pub(super) fn reward_row(pattern: Pattern, value: f64) -> RewardRow {
    RewardRow { when: pattern.into(), value: value.into(), at: None }
}

/// Maximum number of entries that a generator writes into one table (half a gigabyte).
const MOST_NUMBERS: u128 = 1 << 26;

/// Number of entries of a table with these axes, or an error.
pub(super) fn table_len(what: &'static str, sizes: &[u64]) -> Result<usize, GeneratorError> {
    let numbers = sizes.iter().fold(1u128, |n, &size| n.saturating_mul(u128::from(size)));
    if numbers > MOST_NUMBERS {
        return Err(GeneratorError::TooLarge { what, numbers, most: MOST_NUMBERS });
    }
    Ok(numbers as usize)
}

pub(super) fn at_least(setting: &'static str, least: usize, value: usize) -> Result<(), GeneratorError> {
    let error = GeneratorError::OutOfRange { setting, value: value.to_string(), must: format!("at least {least}") };
    if value < least { Err(error) } else { Ok(()) }
}

pub(super) fn probability(setting: &'static str, value: f64) -> Result<(), GeneratorError> {
    let error = GeneratorError::OutOfRange { setting, value: value.to_string(), must: "between 0 and 1".into() };
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(error) }
}
