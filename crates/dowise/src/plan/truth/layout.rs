//! Tables of known transitions and rewards, laid out for backward induction.

use crate::kernel::{CauseSpace, Components, Kernel, Sure, rows_by_cause, scope_strides, state_scope};
use crate::plan::decomposed::Split;
use crate::plan::low_rank::LowRankLayout;
use crate::plan::{Contraction, Mean};
use crate::world::World;

/// How a look ahead is computed.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// Over all states and joint causes.
    Joint { contraction: Contraction, factors: Vec<Mean>, reward_sc: Vec<f64> },
    /// Over all states and joint causes, by way of anchors.
    LowRank(Box<LowRankLayout>),
    /// By components, where joint causes are too many.
    Split(Box<Split>),
}

impl Layout {
    /// Tables over states and joint causes.
    pub(super) fn joint(world: &World, kernel: &Kernel) -> Layout {
        if let Some(low_rank) = world.low_rank() {
            return Layout::LowRank(Box::new(LowRankLayout::new(world, low_rank, kernel.causes())));
        }
        let n_causes = kernel.n_causes();
        let (contraction, scopes) = contraction(world, n_causes);
        let factors = world
            .transitions()
            .iter()
            .zip(&scopes)
            .map(|(m, scope)| {
                let table = m.table.as_deref().expect("invariant: a planner is made only of known tables");
                let n_values = world.variable(m.children[0]).size();
                let rows = rows_by_cause(world, &m.parents, scope, kernel.causes());
                let n_rows = rows.len() / n_causes;
                let mut prob = vec![0.0; rows.len() * n_values];
                for row in 0..n_rows {
                    for v in 0..n_values {
                        for c in 0..n_causes {
                            prob[(row * n_values + v) * n_causes + c] = table[rows[row * n_causes + c] * n_values + v];
                        }
                    }
                }
                Mean { prob, n_values, n_causes }
            })
            .collect();
        Layout::Joint { contraction, factors, reward_sc: rewards_by_cause(world, kernel.causes()) }
    }
}

/// Whether a world is planned by components.
pub(super) fn is_split(world: &World) -> bool {
    world.low_rank().is_none() && Components::pay(world, Sure::Numbers)
}

/// How the transitions of a world are marginalised out, and the state scope of each.
pub(super) fn contraction(world: &World, n_causes: usize) -> (Contraction, Vec<Vec<usize>>) {
    let scopes: Vec<Vec<usize>> = world.transitions().iter().map(|m| state_scope(world, &m.parents)).collect();
    (Contraction::new(world.state_space().sizes(), &scopes, n_causes), scopes)
}

/// Sum of the reward terms whose means are known, `[state][cause]`, except those on next values alone, which
/// [`Continuation`](crate::world::Continuation) pays.
pub(crate) fn rewards_by_cause(world: &World, causes: &CauseSpace) -> Vec<f64> {
    let n_causes = causes.len();
    let mut reward_sc = vec![0.0; world.n_states() * n_causes];
    for term in world.rewards().iter().filter(|term| !term.pays_on_next_state() && !world.mean_is_learned(term)) {
        let mean = (!term.next.is_empty()).then(|| world.expected_term(term));
        let term = mean.as_ref().unwrap_or(term);
        let Some(table) = term.table.as_deref() else { continue };
        let scope = state_scope(world, &term.scope);
        let rows = rows_by_cause(world, &term.scope, &scope, causes);
        let strides = scope_strides(world.state_space(), &scope);
        for (s, rewards) in reward_sc.chunks_exact_mut(n_causes).enumerate() {
            let row = strides.iter().map(|&(f, stride)| world.state_space().digit(s, f) * stride).sum::<usize>();
            for (c, r) in rewards.iter_mut().enumerate() {
                *r += table[rows[row * n_causes + c]];
            }
        }
    }
    reward_sc
}
