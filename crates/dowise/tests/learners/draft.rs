//! Small worlds put together by name, with tables given or drawn.

use dowise::World;
use dowise::world::{Kind, SetSpec, WorldBuilder, WorldSpec};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A world in the making, and what draws its tables.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) spec: WorldSpec,
    rng: ChaCha8Rng,
}

impl Draft {
    pub(crate) fn new(horizon: u64, seed: u64) -> Draft {
        let spec = World::builder("a small world", horizon).spec();
        Draft { spec, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn with(self, step: impl FnOnce(WorldBuilder) -> WorldBuilder) -> Draft {
        Draft { spec: step(self.spec.into()).spec(), ..self }
    }

    pub(crate) fn variable(self, kind: Kind, name: &str, size: usize) -> Draft {
        self.with(|builder| builder.variable(kind, name, size))
    }

    pub(crate) fn state(self, name: &str, size: usize) -> Draft {
        self.variable(Kind::State, name, size)
    }

    pub(crate) fn lever(self, name: &str, size: usize) -> Draft {
        self.variable(Kind::Lever, name, size)
    }

    pub(crate) fn key(self, name: &str, size: usize) -> Draft {
        self.variable(Kind::Key, name, size)
    }

    pub(crate) fn hidden(self, name: &str, size: usize) -> Draft {
        self.variable(Kind::Hidden, name, size)
    }

    /// What setting the last lever to each of its values costs.
    pub(crate) fn cost(mut self, costs: &[f64]) -> Draft {
        let lever = self.spec.variables.last_mut().expect("a lever");
        lever.costs = costs.iter().enumerate().map(|(v, &c)| (v.to_string().as_str().into(), c.into())).collect();
        self
    }

    pub(crate) fn set(self, set: SetSpec) -> Draft {
        self.with(|builder| builder.set(set))
    }

    fn size(&self, name: &str) -> usize {
        self.spec.variables.iter().find(|v| v.name.value == name).expect("a variable").values.len()
    }

    fn rows(&self, names: &[&str]) -> usize {
        names.iter().map(|n| self.size(n)).product()
    }

    /// Rows drawn from the simplex, most of the mass often on few values.
    fn draw(&mut self, n_rows: usize, n_values: usize) -> Vec<f64> {
        let mut table: Vec<f64> = (0..n_rows * n_values).map(|_| self.rng.random::<f64>().powi(2)).collect();
        for row in table.chunks_exact_mut(n_values) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
        }
        table
    }

    /// P(children | parents) with this table.
    pub(crate) fn given(self, children: &[&str], parents: &[&str], table: Vec<f64>) -> Draft {
        self.with(|builder| builder.mechanism(children, parents, table))
    }

    /// P(children | parents), drawn.
    pub(crate) fn drawn(mut self, children: &[&str], parents: &[&str]) -> Draft {
        let table = self.draw(self.rows(parents), self.rows(children));
        self.given(children, parents, table)
    }

    /// P(next value | scope) with this table.
    pub(crate) fn next_given(self, factor: &str, scope: &[&str], table: Vec<f64>) -> Draft {
        self.with(|builder| builder.next(factor, scope, table))
    }

    /// P(next value | scope), drawn.
    pub(crate) fn next(mut self, factor: &str, scope: &[&str]) -> Draft {
        let table = self.draw(self.rows(scope), self.size(factor));
        self.next_given(factor, scope, table)
    }

    /// A reward term with this table.
    pub(crate) fn pays(self, name: &str, scope: &[&str], table: Vec<f64>) -> Draft {
        self.with(|builder| builder.reward(name, scope, table))
    }

    /// A reward term with numbers drawn between two ends; `random`: what is paid is one of the ends.
    pub(crate) fn pays_between(mut self, name: &str, scope: &[&str], [lo, hi]: [f64; 2], random: bool) -> Draft {
        let table: Vec<f64> = (0..self.rows(scope)).map(|_| lo + (hi - lo) * self.rng.random::<f64>()).collect();
        let mut draft = self.with(|builder| builder.random_reward(name, scope, table, [lo, hi]));
        draft.spec.rewards.last_mut().expect("just made").random = random;
        draft
    }

    pub(crate) fn world(self) -> World {
        World::new(self.spec).unwrap_or_else(|e| panic!("{e}"))
    }
}
