//! Interventions as configurations: the view of learners without knowledge of key variables.

use crate::kernel::Effects;
use crate::kernel::{Found, Kernel, Scratch, Tie, pick};
use crate::plan::Chooser;
use crate::world::{Action, World};

/// All interventions of a world as a list, with their costs and restrictions.
#[derive(Clone, Debug)]
pub(crate) struct ActionList {
    /// In increasing order.
    pub(crate) actions: Vec<Action>,
    costs: Vec<f64>,
    /// `[state][action]`; empty if nothing is forbidden.
    forbidden: Vec<bool>,
    has_costs: bool,
}

impl ActionList {
    /// Enumerates the interventions, unless there are more than `most`.
    pub(crate) fn new(world: &World, most: u64) -> Option<ActionList> {
        let all = world.interventions();
        if all.count() > most {
            return None;
        }
        let actions: Vec<Action> = (0..all.count()).map(|i| all.nth(i)).collect();
        let forbidden = if all.forbid().is_empty() {
            Vec::new()
        } else {
            (0..world.n_states())
                .flat_map(|s| {
                    let digits = world.state_space().digits(s);
                    actions.iter().map(move |&a| all.is_forbidden(&digits, a))
                })
                .collect()
        };
        let costs = actions.iter().map(|&a| all.cost(a)).collect();
        Some(ActionList { actions, costs, forbidden, has_costs: all.has_costs() })
    }

    /// Position of an intervention in the list, if it is there.
    pub(crate) fn find(&self, action: Action) -> Option<usize> {
        self.actions.binary_search(&action).ok()
    }

    /// Position of an intervention in the list.
    pub(crate) fn rank(&self, action: Action) -> usize {
        self.find(action).expect("invariant: an intervention of this world")
    }

    fn allowed(&self, state: usize, rank: usize) -> bool {
        self.forbidden.is_empty() || !self.forbidden[state * self.actions.len() + rank]
    }

    /// Rewards less costs, −∞ for forbidden interventions, `[state][intervention]`.
    pub(crate) fn net(&self, reward_sa: &[f64]) -> Vec<f64> {
        let n = self.actions.len();
        let cells = reward_sa.iter().enumerate();
        let net =
            |(i, r): (usize, &f64)| if self.allowed(i / n, i % n) { r - self.costs[i % n] } else { f64::NEG_INFINITY };
        cells.map(net).collect()
    }

    /// Whether all interventions are free and allowed.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        !self.has_costs && self.forbidden.is_empty()
    }

    /// Losses of a state plus costs, ∞ for forbidden interventions.
    #[inline]
    pub(crate) fn charge(&self, state: usize, loss: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(loss);
        if self.has_costs {
            out.iter_mut().zip(&self.costs).for_each(|(v, cost)| *v += cost);
        }
        if !self.forbidden.is_empty() {
            for (rank, v) in out.iter_mut().enumerate() {
                if !self.allowed(state, rank) {
                    *v = f64::INFINITY;
                }
            }
        }
    }

    /// The same of all states.
    #[inline]
    pub(crate) fn charge_all(&self, loss_sa: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(loss_sa);
        for (row, v) in out.iter_mut().enumerate() {
            *v = self.charged(row / self.actions.len(), row % self.actions.len(), *v);
        }
    }

    /// One of them.
    #[inline]
    pub(crate) fn charged(&self, state: usize, rank: usize, loss: f64) -> f64 {
        match (self.allowed(state, rank), self.has_costs) {
            (false, _) => f64::INFINITY,
            (true, true) => loss + self.costs[rank],
            (true, false) => loss,
        }
    }

    /// Expectation of a function of the configuration, `[state][cause]`, for every state and intervention.
    pub(crate) fn average(&self, kernel: &Kernel, of_sc: &[f64]) -> Vec<f64> {
        let n_causes = kernel.n_causes();
        let mut prob = vec![0.0; n_causes];
        let mut out = Vec::with_capacity(kernel.n_states() * self.actions.len());
        for (s, of) in of_sc.chunks_exact(n_causes).enumerate() {
            for &action in &self.actions {
                kernel.distribution(s, action, &mut prob);
                out.push(prob.iter().zip(of).map(|(p, x)| p * x).sum());
            }
        }
        out
    }
}

impl Chooser for ActionList {
    fn n_causes(&self) -> usize {
        self.actions.len()
    }

    fn best(
        &self,
        _stage: usize,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        scratch: &mut Scratch,
    ) -> Found {
        if self.is_free() {
            let (least, rank) = pick(loss, tolerance, tie);
            return Found { least, chosen: loss[rank], action: self.actions[rank] };
        }
        let values = &mut scratch.values;
        self.charge(state, loss, values);
        let (least, rank) = pick(values, tolerance, tie);
        Found { least, chosen: values[rank], action: self.actions[rank] }
    }
}

impl Effects for ActionList {
    fn n_causes(&self) -> usize {
        self.actions.len()
    }

    fn n_parts(&self) -> usize {
        1
    }

    fn decode(&self, action: Action, out: &mut Vec<u32>) {
        out.push(self.rank(action) as u32);
    }

    fn cost(&self, action: Action) -> f64 {
        self.costs[self.rank(action)]
    }

    fn expect(&self, _stage: usize, _state: usize, parts: &[u32], of: &[f64], _scratch: &mut Scratch) -> f64 {
        of[parts[0] as usize]
    }
}
