//! Causal river-swim (exploration benchmark): the reward is upstream, and moving upstream is rare.

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::GeneratorError;
use super::build::{at_least, probability, reward_row, shift_row, table_len, when};
use crate::World;
use crate::world::WorldSpec;

/// A swimmer in a river that flows to the left; the left bank has a small reward, the right end a large one.
///
/// Two levers, effort and stroke, affect the key variable `push`: back, still or forward. Few of their combinations
/// make "forward" likely, and only swimming forward all the way pays. A greedy learner stays on the left.
///
/// ```
/// let spec = dowise::worlds::RiverSwim::default().spec().unwrap();
/// assert_eq!(spec.variables[0].values.len(), 6);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RiverSwim {
    /// Number of positions along the river (S).
    pub positions: usize,
    /// Number of values of each of the two levers; there are levels² interventions.
    pub levels: usize,
    /// Number of lever combinations that carry the swimmer forward.
    pub good: usize,
    /// P(push = forward) under those.
    pub forward: f64,
    /// P(push = forward) under all others.
    pub rare: f64,
    /// Steps in an episode (H).
    pub horizon: u64,
    /// Seed of the good combinations.
    pub seed: u64,
}

impl Default for RiverSwim {
    fn default() -> Self {
        RiverSwim { positions: 6, levels: 4, good: 2, forward: 0.4, rare: 0.02, horizon: 20, seed: 0 }
    }
}

/// Reward per step on the left bank.
const CRUMB: f64 = 0.005;

impl RiverSwim {
    /// The world as a specification.
    pub fn spec(&self) -> Result<WorldSpec, GeneratorError> {
        at_least("positions", 2, self.positions)?;
        at_least("levels", 1, self.levels)?;
        probability("forward", self.forward)?;
        probability("rare", self.rare)?;
        let n_rows = table_len("P(push | effort, stroke)", &[self.levels as u64, self.levels as u64, 3])? / 3;
        table_len("the rewards", &[self.positions as u64, 3])?;
        let about = format!(
            "The food on the left bank is near, the feast at the right end far, and only {} of {} combinations of the \
             levers carry the swimmer forward (seed {}).",
            self.good.min(n_rows),
            n_rows,
            self.seed
        );
        let mut order: Vec<usize> = (0..n_rows).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
        // Good combinations hold the current (still); the others are mostly carried back.
        let row = |forward: f64, back: f64| [back * (1.0 - forward), (1.0 - back) * (1.0 - forward), forward];
        let mut table = row(self.rare, 0.7).repeat(n_rows);
        for &good in order.iter().take(self.good) {
            table[3 * good..3 * good + 3].copy_from_slice(&row(self.forward, 0.1));
        }
        let moves = vec![
            shift_row(when(&[("push", "forward")]), &[(1, 0.95), (0, 0.05)]),
            shift_row(when(&[("push", "still")]), &[(0, 0.95), (-1, 0.05)]),
            shift_row(when(&[("push", "back")]), &[(-1, 1.0)]),
        ];
        let last = (self.positions - 1).to_string();
        let food = vec![
            reward_row(when(&[("position", &last), ("push", "forward")]), 1.0),
            reward_row(when(&[("position", "0"), ("push", "back")]), CRUMB),
            reward_row(vec![], 0.0),
        ];
        Ok(World::builder("Causal river-swim", self.horizon)
            .about(about)
            .state("position", self.positions)
            .lever("effort", self.levels)
            .lever("stroke", self.levels)
            .key("push", ["back", "still", "forward"])
            .mechanism("push", ["effort", "stroke"], table)
            .next("position", ["position", "push"], moves)
            .reward("food", ["position", "push"], food)
            .reward_range([0.0, 1.0])
            .start("position", "0")
            .spec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Form;

    fn table(river: &RiverSwim) -> Vec<f64> {
        match river.spec().unwrap().mechanisms.remove(0).form {
            Form::Table(table) => table,
            other => panic!("not a table: {other:?}"),
        }
    }

    #[test]
    fn forward_is_rare_except_under_the_good_combinations() {
        let river = RiverSwim::default();
        let table = table(&river);
        assert_eq!(table.len(), 16 * 3);
        assert!(table.chunks_exact(3).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        assert_eq!(table.chunks_exact(3).filter(|row| row[2] == river.forward).count(), 2);
        assert_eq!(table.chunks_exact(3).filter(|row| row[2] == river.rare).count(), 14);
    }

    #[test]
    fn value_stability() {
        let good = |seed| -> Vec<usize> {
            let table = table(&RiverSwim { seed, ..RiverSwim::default() });
            (0..16).filter(|i| table[3 * i + 2] > 0.1).collect()
        };
        assert_eq!(good(0), [8, 14]);
        assert_eq!(good(1), [8, 15]);
    }
}
