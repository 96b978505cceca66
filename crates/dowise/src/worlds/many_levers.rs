//! Scalability benchmark: worlds of any size with any number of interventions.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::GeneratorError;
use super::build::table_len;
use crate::World;
use crate::world::{Effect, Form, WorldSpec};

/// Binary state factors and binary key variables; every key variable has its own levers.
///
/// A key variable's log-odds are a sum of random effects of its levers and of one state factor. A factor's next value
/// and its reward depend on itself and all key variables (in a sparse world, on its own share of them), with uniform
/// random numbers; a step pays at most 1. All levers are set at every step, so there are levels^(keys · levers)
/// interventions, but each key variable is independent of the others.
///
/// ```
/// let world = dowise::worlds::ManyLevers::default();
/// assert_eq!(world.spec().unwrap().variables.len(), 4 + 3 + 15);
/// assert_eq!(world.n_interventions(), 4f64.powi(15)); // 1 073 741 824
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ManyLevers {
    /// Number of state factors (d_s); there are 2^factors states.
    pub factors: usize,
    /// Number of key variables; there are 2^keys joint key values (Z).
    pub keys: usize,
    /// Whether every key variable acts on one factor only: the first few on the first, the next few on the second, and
    /// so on.
    pub sparse: bool,
    /// Number of levers of each key variable.
    pub levers: usize,
    /// Number of values of each lever.
    pub levels: usize,
    /// Steps in an episode (H).
    pub horizon: u64,
    /// Seed of the world.
    pub seed: u64,
}

impl Default for ManyLevers {
    fn default() -> Self {
        ManyLevers { factors: 4, keys: 3, sparse: false, levers: 5, levels: 4, horizon: 5, seed: 0 }
    }
}

impl ManyLevers {
    /// Number of interventions (A), as a floating-point number that cannot overflow.
    pub fn n_interventions(&self) -> f64 {
        crate::math::powi(self.levels as f64, (self.keys * self.levers) as u32)
    }

    /// The world as a specification, drawn in the order of writing: key variables, transitions, rewards.
    pub fn spec(&self) -> Result<WorldSpec, GeneratorError> {
        let levels = vec![self.levels as u64; self.levers];
        table_len("P(key variable | its levers)", &[&levels[..], &[2, 2]].concat())?;
        table_len("the states", &vec![2; self.factors])?;
        let own = if self.sparse { self.keys.div_ceil(self.factors.max(1)) } else { self.keys };
        let rows = table_len("P(next value | scope)", &vec![2; own + 2])? / 2;
        let about = format!(
            "{} binary state factors, {} binary key variables with {} levers of {} values each, seed {}.",
            self.factors, self.keys, self.levers, self.levels, self.seed
        );
        let mut builder = World::builder("Many levers", self.horizon).about(about);
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let state: Vec<String> = (1..=self.factors).map(|i| format!("s{i}")).collect();
        let keys: Vec<String> = (1..=self.keys).map(|i| format!("z{i}")).collect();
        builder = state.iter().fold(builder, |builder, factor| builder.state(factor, 2));
        for (j, key) in keys.iter().enumerate() {
            let levers: Vec<String> = (1..=self.levers).map(|i| format!("x{}_{i}", j + 1)).collect();
            builder = builder.key(key, 2);
            builder = levers.iter().fold(builder, |builder, lever| builder.lever(lever, self.levels));
            let mut parents: Vec<(&String, usize)> = levers.iter().map(|x| (x, self.levels)).collect();
            if self.factors > 0 {
                let factor = if self.sparse { j / own } else { j % self.factors };
                parents.push((&state[factor], 2));
            }
            let mut effects = Vec::new();
            for &(parent, n) in &parents {
                for v in 0..n {
                    let amounts = vec![rng.random_range(-1.0..1.0).into()];
                    effects.push(Effect {
                        parent: parent.as_str().into(),
                        value: v.to_string().as_str().into(),
                        amounts,
                        at: None,
                    });
                }
            }
            let names: Vec<&String> = parents.iter().map(|(name, _)| *name).collect();
            builder = builder.mechanism(key.as_str(), names, Form::Logit { base: vec![0.0.into()], effects });
        }
        let acting = |i: usize| keys.iter().skip(if self.sparse { i * own } else { 0 }).take(own);
        let scopes: Vec<Vec<&String>> =
            state.iter().enumerate().map(|(i, s)| std::iter::once(s).chain(acting(i)).collect()).collect();
        for (factor, scope) in state.iter().zip(&scopes) {
            let rows = rows >> (own + 1 - scope.len());
            let row = |p: f64| [1.0 - p, p];
            let table: Vec<f64> = (0..rows).flat_map(|_| row(rng.random())).collect();
            builder = builder.next(factor, scope, table);
        }
        for (i, scope) in scopes.iter().enumerate() {
            let rows = rows >> (own + 1 - scope.len());
            let table: Vec<f64> = (0..rows).map(|_| rng.random::<f64>() / self.factors as f64).collect();
            builder = builder.reward(format!("r{}", i + 1), scope, table);
        }
        Ok(builder.reward_range([0.0, 1.0]).spec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn a_billion_interventions_come_down_to_two_for_each_key_variable() {
        let world = World::new(ManyLevers::default().spec().unwrap()).unwrap();
        assert_eq!(world.interventions().count() as f64, ManyLevers::default().n_interventions());
        let kernel = Kernel::new(&world).unwrap();
        assert!((0..world.n_states()).all(|s| kernel.candidates(s) == [2, 2, 2]));
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        assert!(ManyLevers { factors: 70, ..ManyLevers::default() }.spec().is_err());
        assert!(ManyLevers { levers: 40, ..ManyLevers::default() }.spec().is_err());
    }
}
