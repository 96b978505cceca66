//! A log's evidence as a model that policies are followed in.

use crate::Space;
use crate::kernel::Kernel;
use crate::learn::{
    Belief, Evidence, LearnResult, Options, Reading, Selector, Tabular, View, hold_reading, mean_tables,
};
use crate::memory::Held;
use crate::plan::{Plan, Ties, values_along};
use crate::world::{Action, Start, World};

/// Evidence, to be read by any rule.
pub(crate) struct Model {
    tabular: Tabular,
    horizon: usize,
    n_states: usize,
    _held: Held,
}

/// Who is followed.
#[derive(Clone, Copy)]
pub(crate) enum Followed<'a> {
    /// A policy, `[stage][state]`.
    Policy(&'a [Action]),
    /// Whoever sets off these causes and pays these costs at a stage and in a state, drawn anew at every step.
    Causes(&'a dyn Behaves),
}

/// What somebody sets off, and what it costs on average.
pub(crate) trait Behaves {
    /// Σ_c P(c | stage, state) · q(c) − cost.
    fn expect(&self, stage: usize, state: usize, q: &[f64]) -> f64;
}

impl Model {
    /// Evidence counted as the graph says, whose confidence sets fail with probability δ.
    pub(crate) fn new(evidence: Evidence, delta: f64) -> LearnResult<Model> {
        let tabular = Tabular::with(evidence, Options { delta, ..Options::default() })?;
        let held = hold_reading(&tabular)?;
        let (horizon, n_states) = (tabular.plan.horizon, tabular.plan.n_states);
        Ok(Model { tabular, horizon, n_states, _held: held })
    }

    pub(crate) fn view(&self) -> &View {
        self.tabular.view()
    }

    pub(crate) fn evidence(&self) -> &Evidence {
        &self.tabular.evidence
    }

    pub(crate) fn belief(&self, reading: Reading) -> Belief {
        self.tabular.belief_by(reading)
    }

    /// How interventions act, once a belief was drawn.
    pub(crate) fn draw(&self, belief: &mut Belief, seed: u64) -> LearnResult<Selector> {
        self.tabular.draw(belief, seed)
    }

    /// The best plan by a rule.
    pub(crate) fn plan(&self, reading: Reading) -> LearnResult<Plan> {
        Ok(self.tabular.read(reading, 0, Ties::First)?.0)
    }

    /// Values of whoever is followed, `[stage][state]`, by one rule.
    pub(crate) fn value(&self, reading: Reading, who: Followed<'_>) -> LearnResult<Vec<f64>> {
        let mut belief = self.belief(reading);
        let selector = self.draw(&mut belief, 0)?;
        Ok(self.value_by(&mut belief, &selector, who, |_, _, _, _| {}))
    }

    /// The same with a belief that was drawn already, telling of every stage: q, its values, and those of the next.
    pub(crate) fn value_by(
        &self,
        belief: &mut Belief,
        selector: &Selector,
        who: Followed<'_>,
        after: impl FnMut(usize, &[f64], &[f64], &[f64]),
    ) -> Vec<f64> {
        let size @ [_, n] = [self.horizon, self.n_states];
        match who {
            Followed::Policy(policy_hs) => {
                let mut acts = Acts::new(selector, self.view());
                values_along(belief, size, |h, s, q| acts.expect(s, policy_hs[h * n + s], q), after)
            }
            Followed::Causes(who) => values_along(belief, size, |h, s, q| who.expect(h, s, q), after),
        }
    }

    /// Where interventions act as a belief says: their distribution over causes, as a function to be called.
    pub(crate) fn kernel(selector: &Selector) -> &Kernel {
        match selector {
            Selector::Kernel(kernel) => kernel,
            Selector::Listed(_) => unreachable!("invariant: causes are key variables here"),
        }
    }

    /// The posterior mean as a world of its own, in which episodes start as told: hidden variables of mechanisms that are learned
    /// are summed out.
    pub(crate) fn mean_world(&self, prior: f64, start: Start) -> World {
        let (view, evidence) = (self.view(), self.evidence());
        let mut world = match &view.mechanisms {
            Some(rows) => rows.world.clone(),
            None => view.told.world().clone(),
        };
        let learned = view.mechanisms.as_ref().map(|rows| mean_tables(evidence, rows, prior));
        for (i, m) in world.mechanisms.iter_mut().enumerate().filter(|(_, m)| m.table.is_none()) {
            let table = learned.as_ref().and_then(|tables| tables[i].as_deref());
            // What nothing depends on is not counted.
            let sizes = |ids: &[crate::world::VarId]| -> usize {
                ids.iter().map(|id| view.told.variable(*id).size()).product()
            };
            let n = sizes(&m.children);
            let rows = sizes(&m.parents);
            m.table = Some(table.map_or_else(|| vec![1.0 / n as f64; n * rows].into(), Into::into));
        }
        for (m, counts) in world.transitions.iter_mut().zip(&evidence.transitions[0]).filter(|(m, _)| m.table.is_none())
        {
            let n = counts.n_values;
            let row = |r: usize| {
                let total = f64::from(counts.n_r[r]) + prior;
                counts.values(r).iter().map(move |&k| (f64::from(k) + prior / n as f64) / total)
            };
            m.table = Some((0..counts.n_r.len()).flat_map(row).collect());
        }
        for (term, paid) in view.payments.terms.iter().zip(&evidence.payments) {
            let [lo, hi] = term.range;
            let mean = |r: usize| lo + (hi - lo) * (1.0 + paid.sum(r)) / (2.0 + f64::from(paid.n[r]));
            world.rewards[term.of[0]].table = Some((0..term.n_rows).map(mean).collect());
        }
        world.start = start;
        world
    }

    pub(crate) fn state_space(&self) -> &Space {
        &self.view().layout.state_space
    }
}

/// What interventions are worth, decoded once where a run of states has the same.
struct Acts<'a> {
    kernel: &'a Kernel,
    certain: bool,
    last: Option<Action>,
    settings: Vec<u32>,
    cost: f64,
    buffer: Vec<f64>,
}

impl<'a> Acts<'a> {
    fn new(selector: &'a Selector, _view: &View) -> Acts<'a> {
        let kernel = Model::kernel(selector);
        let certain = kernel.is_certain();
        Acts { kernel, certain, last: None, settings: Vec::new(), cost: 0.0, buffer: Vec::new() }
    }

    /// Σ_c P(c | s, a) q(c) − cost(a), with what is not known of P taken as the belief takes it.
    fn expect(&mut self, state: usize, action: Action, q: &[f64]) -> f64 {
        if self.last != Some(action) {
            self.settings.clear();
            self.kernel.decode(action, &mut self.settings);
            self.cost = self.kernel.interventions().cost(action);
            self.last = Some(action);
        }
        let value = if self.certain {
            self.kernel.expect(state, &self.settings, q, &mut self.buffer)
        } else {
            self.kernel.hope(state, action, q)
        };
        value - self.cost
    }
}
