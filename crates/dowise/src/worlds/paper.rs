//! The random environment of the experiments of Lu, Meisami and Tewari (2021).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::GeneratorError;
use super::build::{at_least, table_len};
use crate::World;
use crate::random::exponential;
use crate::world::WorldSpec;

/// Binary state factors, levers that act on binary key variables, all drawn at random.
///
/// P(z | s, a) is uniform on the simplex for every state and intervention, as one joint table; so is P(s_i' | s_i, z);
/// R_i(s_i, z) is uniform on [0, 1]. A factor's next value and its reward depend on itself and all key variables.
/// Initial states are uniform. Hardly any exploration is needed: a greedy learner does well.
///
/// ```
/// let world = dowise::worlds::Paper { levels: 3, seed: 1, ..Default::default() };
/// assert_eq!(world.spec().unwrap().variables.len(), 3 + 3 + 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Paper {
    /// Number of values of each lever (m).
    pub levels: usize,
    /// Number of levers, and of key variables (n).
    pub levers: usize,
    /// Number of state factors (d_s).
    pub factors: usize,
    /// Steps in an episode (H).
    pub horizon: u64,
    /// Seed of the environment.
    pub seed: u64,
    /// Whether each reward term is divided by the number of state factors, so that a step pays at most 1. The raw sums
    /// of the paper's text contradict its cap on values; see the value range that `check` prints.
    pub normalise: bool,
    /// Whether P(z | s, a) is one table for all key variables, as in the paper. Otherwise each key variable depends on
    /// the state and on its own lever, so that a million interventions need no table of that size.
    pub joint: bool,
}

impl Default for Paper {
    fn default() -> Self {
        Paper { levels: 4, levers: 3, factors: 3, horizon: 5, seed: 0, normalise: true, joint: true }
    }
}

impl Paper {
    /// The world as a specification, drawn in the order of its tables: P(z | s, a), then each factor's transitions,
    /// then each factor's rewards.
    pub fn spec(&self) -> Result<WorldSpec, GeneratorError> {
        at_least("levels", 1, self.levels)?;
        at_least("levers", 1, self.levers)?;
        at_least("factors", 1, self.factors)?;
        let axes: Vec<u64> = std::iter::repeat_n(2, self.factors)
            .chain(std::iter::repeat_n(self.levels as u64, self.levers))
            .chain(std::iter::repeat_n(2, self.levers))
            .collect();
        let one_lever: Vec<u64> = std::iter::repeat_n(2, self.factors).chain([self.levels as u64, 2]).collect();
        let table_len =
            if self.joint { table_len("P(z | s, a)", &axes)? } else { table_len("P(z_j | s, x_j)", &one_lever)? };
        let n_z = 1usize << self.levers;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);

        let about = format!(
            "The random environment of the paper's experiments: m = {}, n = {}, d_s = {}, seed {}{}{}.",
            self.levels,
            self.levers,
            self.factors,
            self.seed,
            if self.normalise { "" } else { ", rewards not normalised" },
            if self.joint { "" } else { ", each key variable with a lever of its own" }
        );
        let mut builder = World::builder("Random causal factored MDP", self.horizon).about(about);
        let name = |letter: &str, n: usize| -> Vec<String> { (1..=n).map(|i| format!("{letter}{i}")).collect() };
        let (state, levers, keys) = (name("s", self.factors), name("x", self.levers), name("z", self.levers));
        builder = state.iter().fold(builder, |builder, factor| builder.state(factor, 2));
        builder = levers.iter().fold(builder, |builder, lever| builder.lever(lever, self.levels));
        builder = keys.iter().fold(builder, |builder, key| builder.key(key, 2));

        if self.joint {
            let parents: Vec<&String> = state.iter().chain(&levers).collect();
            let table = simplex_rows(table_len / n_z, n_z, &mut rng);
            builder = builder.mechanism(&keys, parents, table);
        } else {
            for (key, lever) in keys.iter().zip(&levers) {
                let parents: Vec<&String> = state.iter().chain([lever]).collect();
                let table = simplex_rows(table_len / 2, 2, &mut rng);
                builder = builder.mechanism(key.as_str(), parents, table);
            }
        }
        let scopes: Vec<Vec<&String>> = state.iter().map(|s| std::iter::once(s).chain(&keys).collect()).collect();
        for (factor, scope) in state.iter().zip(&scopes) {
            let table = simplex_rows(2 * n_z, 2, &mut rng);
            builder = builder.next(factor, scope, table);
        }
        let share = if self.normalise { self.factors as f64 } else { 1.0 };
        for (i, scope) in scopes.iter().enumerate() {
            let table: Vec<f64> = (0..2 * n_z).map(|_| rng.random::<f64>() / share).collect();
            builder = builder.reward(format!("r{}", i + 1), scope, table);
        }
        Ok(builder.reward_range([0.0, self.factors as f64 / share]).spec())
    }
}

/// Rows drawn uniformly from the simplex: normalised independent exponentials, that is Dirichlet(1, …, 1).
pub(super) fn simplex_rows(n_rows: usize, n_values: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut table: Vec<f64> = (0..n_rows * n_values).map(|_| exponential(rng)).collect();
    for row in table.chunks_exact_mut(n_values) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Form, RewardForm};

    fn joint(paper: &Paper) -> Vec<f64> {
        match paper.spec().unwrap().mechanisms.remove(0).form {
            Form::Table(table) => table,
            other => panic!("not a table: {other:?}"),
        }
    }

    #[test]
    fn rows_sum_to_one_and_rewards_stay_in_their_range() {
        let paper = Paper { seed: 7, ..Paper::default() };
        let table = joint(&paper);
        assert_eq!(table.len(), 8 * 64 * 8);
        assert!(table.chunks_exact(8).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        let largest = |normalise| -> f64 {
            let spec = Paper { normalise, ..paper.clone() }.spec().unwrap();
            let tables = spec.rewards.iter().map(|r| {
                let RewardForm::Table(t) = &r.form else { return f64::NAN };
                t.iter().copied().fold(0.0, f64::max)
            });
            tables.sum()
        };
        assert!(largest(true) <= 1.0);
        assert!((largest(false) - 3.0 * largest(true)).abs() < 1e-12);
    }

    #[test]
    fn value_stability() {
        let table = joint(&Paper { seed: 1, ..Paper::default() });
        assert_eq!(joint(&Paper { seed: 1, ..Paper::default() }), table);
        assert_ne!(joint(&Paper { seed: 2, ..Paper::default() }), table);
        assert_eq!(&table[..4], &[0.0717555467321648, 0.0251601854878901, 0.1950500824945335, 0.09319578488456176]);
    }

    #[test]
    fn a_million_interventions_need_no_large_table() {
        let paper = Paper { levels: 100, joint: false, ..Paper::default() };
        let world = crate::World::new(paper.spec().unwrap()).unwrap();
        assert_eq!(world.interventions().count(), 1_000_000);
        assert_eq!(world.cause_variables().len(), 3);
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused_before_anything_is_drawn() {
        let error = Paper { levers: 60, ..Paper::default() }.spec().unwrap_err();
        assert!(error.to_string().starts_with("P(z | s, a) would have "), "{error}");
    }
}
