//! Causal deep sea (exploration benchmark): only going right at every step reaches the treasure.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::GeneratorError;
use super::build::{at_least, probability, reward_row, shift_row, table_len, when};
use crate::World;
use crate::world::WorldSpec;

/// A diver sinks one row per step and drifts one column left or right; the treasure lies in the far right corner.
///
/// The combination of levers that makes the key variable `step` right differs from cell to cell, scrambled by the seed.
/// All other combinations go left, which pays a little. Undirected exploration finds the treasure about once in A^size
/// episodes, and once in 2^size if the effect of the levers on `step` is known.
///
/// ```
/// let spec = dowise::worlds::DeepSea { size: 10, ..Default::default() }.spec().unwrap();
/// assert_eq!(spec.horizon.value, 10);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DeepSea {
    /// Number of rows, of columns, and of steps in an episode (N).
    pub size: usize,
    /// Number of levers.
    pub levers: usize,
    /// Number of values of each lever; there are levels^levers interventions.
    pub levels: usize,
    /// Probability that `step` is reversed, whatever the intervention.
    pub slip: f64,
    /// Seed of the combinations that go right in each cell.
    pub seed: u64,
}

impl Default for DeepSea {
    fn default() -> Self {
        DeepSea { size: 8, levers: 2, levels: 4, slip: 0.0, seed: 0 }
    }
}

impl DeepSea {
    /// The world as a specification.
    pub fn spec(&self) -> Result<WorldSpec, GeneratorError> {
        at_least("size", 2, self.size)?;
        at_least("levers", 1, self.levers)?;
        at_least("levels", 1, self.levels)?;
        probability("slip", self.slip)?;
        let (size, levels) = (self.size as u64, self.levels as u64);
        let mut axes = vec![size, size];
        axes.extend(std::iter::repeat_n(levels, self.levers));
        let n_rows = table_len("P(step | row, column, levers)", &[&axes[..], &[2]].concat())? / 2;
        let about = format!(
            "The treasure is in the far right corner of a grid of {0} by {0}; which levers go right differs from cell \
             to cell (seed {1}).",
            self.size, self.seed
        );
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let n_actions = n_rows / (self.size * self.size);
        let mut table = [1.0 - self.slip, self.slip].repeat(n_rows);
        for cell in table.chunks_exact_mut(2 * n_actions) {
            let right = 2 * rng.random_range(0..n_actions as u64) as usize;
            cell[right..right + 2].copy_from_slice(&[self.slip, 1.0 - self.slip]);
        }
        let sink = vec![shift_row(vec![], &[(1, 1.0)])];
        let drift = vec![
            shift_row(when(&[("step", "right")]), &[(1, 1.0)]),
            shift_row(when(&[("step", "left")]), &[(-1, 1.0)]),
        ];
        let last = (self.size - 1).to_string();
        let corner = when(&[("row", &last), ("column", &last), ("step", "right")]);
        let treasure = vec![reward_row(corner, 1.0), reward_row(vec![], 0.0)];
        // The usual cost of 0.01 / N for going right, as a reward for going left, so that no reward is negative.
        let rest = vec![reward_row(when(&[("step", "left")]), 0.01 / self.size as f64), reward_row(vec![], 0.0)];

        let levers: Vec<String> = (1..=self.levers).map(|i| format!("fin{i}")).collect();
        let parents: Vec<&str> = ["row", "column"].into_iter().chain(levers.iter().map(String::as_str)).collect();
        let builder =
            World::builder("Causal deep sea", size).about(about).state("row", self.size).state("column", self.size);
        Ok(levers
            .iter()
            .fold(builder, |builder, lever| builder.lever(lever, self.levels))
            .key("step", ["left", "right"])
            .mechanism("step", parents, table)
            .next("row", "row", sink)
            .next("column", ["column", "step"], drift)
            .reward("treasure", ["row", "column", "step"], treasure)
            .reward("rest", "step", rest)
            .reward_range([0.0, 1.0])
            .start("row", "0")
            .start("column", "0")
            .spec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Form;

    fn right_in_each_cell(seed: u64) -> Vec<usize> {
        let Form::Table(table) = DeepSea { seed, ..DeepSea::default() }.spec().unwrap().mechanisms.remove(0).form
        else {
            panic!("not a table");
        };
        assert_eq!(table.len(), 64 * 16 * 2);
        let cells = table.chunks_exact(32).map(|cell| {
            assert_eq!(cell.chunks_exact(2).filter(|row| row[1] == 1.0).count(), 1);
            cell.chunks_exact(2).position(|row| row[1] == 1.0).unwrap()
        });
        cells.collect()
    }

    #[test]
    fn value_stability() {
        let right = right_in_each_cell(0);
        assert_eq!(&right[..8], &[11, 7, 11, 0, 14, 8, 13, 14]);
        assert_ne!(right, right_in_each_cell(1));
    }

    #[test]
    fn a_sea_too_deep_is_refused() {
        assert!(DeepSea { levers: 40, ..DeepSea::default() }.spec().is_err());
    }
}
