//! Values of a given policy.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{PARALLEL_STATES, Planner};
use crate::world::Action;

/// Interventions whose parts are remembered; a policy rarely has more that differ.
pub(super) const MOST_REMEMBERED: usize = 1 << 16;

/// Evaluates one policy after another, keeping its buffers.
#[derive(Clone, Debug)]
pub(crate) struct Evaluator<'a> {
    planner: &'a Planner,
    q_sc: Vec<f64>,
    spare: Vec<f64>,
    buffer: Vec<f64>,
    /// Where the parts of an intervention begin in `parts`.
    known: HashMap<Action, u32>,
    /// Settings group by group, one intervention after the other.
    parts: Vec<u32>,
    costs: Vec<f64>,
    /// For each state the intervention's position among those known.
    chosen: Vec<u32>,
    pub(crate) value_hs: Vec<f64>,
    /// Whether rewards and costs count by their absolute values.
    sizes: bool,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(planner: &'a Planner) -> Evaluator<'a> {
        let n = planner.kernel().n_states();
        Evaluator {
            planner,
            q_sc: Vec::new(),
            spare: Vec::new(),
            buffer: Vec::new(),
            known: HashMap::new(),
            parts: Vec::new(),
            costs: Vec::new(),
            chosen: Vec::new(),
            value_hs: vec![0.0; (planner.horizon() + 1) * n],
            sizes: false,
        }
    }

    /// One that adds up the absolute values of all rewards and costs: the scale of the rounding of a value.
    pub(crate) fn of_sizes(planner: &'a Planner) -> Evaluator<'a> {
        Evaluator { sizes: true, ..Evaluator::new(planner) }
    }

    /// V_h(s) = Σ_c P(c | s, π) q_h(s, c) − cost(π), for an allowed policy. Fills `value_hs`.
    pub(crate) fn evaluate(&mut self, policy_hs: &[Action]) {
        let kernel = self.planner.kernel();
        let (n, n_causes, n_groups) = (kernel.n_states(), kernel.n_causes(), kernel.n_groups());
        for stage in (0..self.planner.horizon()).rev() {
            self.decode(&policy_hs[stage * n..(stage + 1) * n]);
            let (now, next) = self.value_hs.split_at_mut((stage + 1) * n);
            if self.sizes {
                self.planner.look_at_sizes(&next[..n], &mut self.q_sc, &mut self.spare);
            } else {
                self.planner.look(&next[..n], &mut self.q_sc, &mut self.spare);
            }
            let (parts, costs) = (&self.parts, &self.costs);
            let value = |s: usize, q: &[f64], i: u32, buffer: &mut Vec<f64>| {
                let settings = &parts[i as usize * n_groups..][..n_groups];
                kernel.expect(s, settings, q, buffer) - costs[i as usize]
            };
            let values = &mut now[stage * n..];
            if n < PARALLEL_STATES {
                let rows = self.q_sc.chunks_exact(n_causes).zip(&self.chosen);
                for (s, ((q, &i), v)) in rows.zip(values).enumerate() {
                    *v = value(s, q, i, &mut self.buffer);
                }
            } else {
                let rows = self.q_sc.par_chunks_exact(n_causes).zip(&self.chosen);
                rows.zip(values)
                    .enumerate()
                    .with_min_len(PARALLEL_STATES / 4)
                    .for_each_init(Vec::new, |buffer, (s, ((q, &i), v))| *v = value(s, q, i, buffer));
            }
        }
    }

    /// Fills `chosen` for one stage.
    fn decode(&mut self, policy_s: &[Action]) {
        let kernel = self.planner.kernel();
        if self.known.len() > MOST_REMEMBERED {
            self.known.clear();
            self.parts.clear();
            self.costs.clear();
        }
        self.chosen.clear();
        let mut last: Option<(Action, u32)> = None;
        for &action in policy_s {
            let position = match last {
                Some((same, position)) if same == action => position,
                _ => *self.known.entry(action).or_insert_with(|| {
                    kernel.decode(action, &mut self.parts);
                    let cost = kernel.interventions().cost(action);
                    self.costs.push(if self.sizes { -cost.abs() } else { cost });
                    self.costs.len() as u32 - 1
                }),
            };
            last = Some((action, position));
            self.chosen.push(position);
        }
    }
}
