//! Small worlds put together by name, with tables given or drawn.

use dowise::World;
use dowise::world::{
    Form, InterventionSpec, Kind, MechanismSpec, RewardForm, RewardSpec, SetSpec, StartSpec, VariableSpec, WorldSpec,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A world in the making.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) spec: WorldSpec,
    rng: ChaCha8Rng,
}

impl Draft {
    pub(crate) fn new(horizon: u64, seed: u64) -> Draft {
        let spec = WorldSpec {
            name: "a small world".into(),
            about: String::new(),
            horizon: horizon.into(),
            variables: vec![],
            transitions: vec![],
            mechanisms: vec![],
            rewards: vec![],
            reward_range: None,
            interventions: InterventionSpec::default(),
            start: StartSpec::Uniform,
        };
        Draft { spec, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub(crate) fn variable(mut self, kind: Kind, name: &str, size: usize) -> Draft {
        let values = (0..size).map(|v| v.to_string().as_str().into()).collect();
        self.spec.variables.push(VariableSpec { name: name.into(), kind, values, values_at: None, costs: vec![] });
        self
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

    pub(crate) fn set(mut self, set: SetSpec) -> Draft {
        self.spec.interventions.set = set;
        self
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

    fn spec_of(children: &[&str], parents: &[&str], table: Vec<f64>) -> MechanismSpec {
        let names = |n: &[&str]| n.iter().map(|&n| n.into()).collect();
        MechanismSpec { children: names(children), parents: names(parents), form: Form::Table(table), at: None }
    }

    /// P(children | parents) with this table.
    pub(crate) fn given(mut self, children: &[&str], parents: &[&str], table: Vec<f64>) -> Draft {
        self.spec.mechanisms.push(Draft::spec_of(children, parents, table));
        self
    }

    /// P(children | parents), drawn.
    pub(crate) fn drawn(mut self, children: &[&str], parents: &[&str]) -> Draft {
        let table = self.draw(self.rows(parents), self.rows(children));
        self.given(children, parents, table)
    }

    /// P(next value | scope) with this table.
    pub(crate) fn next_given(mut self, factor: &str, scope: &[&str], table: Vec<f64>) -> Draft {
        self.spec.transitions.push(Draft::spec_of(&[factor], scope, table));
        self
    }

    /// P(next value | scope), drawn.
    pub(crate) fn next(mut self, factor: &str, scope: &[&str]) -> Draft {
        let table = self.draw(self.rows(scope), self.size(factor));
        self.next_given(factor, scope, table)
    }

    /// A reward term with this table.
    pub(crate) fn pays(mut self, name: &str, scope: &[&str], table: Vec<f64>) -> Draft {
        let scope = scope.iter().map(|&n| n.into()).collect();
        let form = RewardForm::Table(table);
        self.spec.rewards.push(RewardSpec { name: name.into(), scope, form, range: None, random: false, at: None });
        self
    }

    /// A reward term with numbers drawn between two ends; `random`: what is paid is one of the ends.
    pub(crate) fn pays_between(mut self, name: &str, scope: &[&str], [lo, hi]: [f64; 2], random: bool) -> Draft {
        let table = (0..self.rows(scope)).map(|_| lo + (hi - lo) * self.rng.random::<f64>()).collect();
        let mut draft = self.pays(name, scope, table);
        let term = draft.spec.rewards.last_mut().expect("just made");
        (term.range, term.random) = (Some([lo, hi].into()), random);
        draft
    }

    pub(crate) fn world(self) -> World {
        World::new(self.spec).unwrap_or_else(|e| panic!("{e}"))
    }
}
