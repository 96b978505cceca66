//! What a learner takes in memory, known before anything is allocated.

use super::belief::{BATCH, Contenders};
use super::{Causes, Estimate, Knowledge, Learner, Options, States};
use crate::kernel::{CauseSpace, Kernel};
use crate::plan::state_scope;

impl Learner {
    /// Bytes that a learner takes at most: counts, tables, arrays over states and causes, one plan, and its kernel.
    ///
    /// A memory of good interventions for the next search, 16 MB at most, is not counted, nor is what does not grow with states
    /// and causes: its copy of the world, and a few kilobytes.
    pub fn bytes(knowledge: &Knowledge, options: &Options) -> u128 {
        let by_action = options.causes == Causes::Actions;
        let n_states = knowledge.n_states() as u128;
        let n_causes = if by_action {
            u128::from(knowledge.interventions().count())
        } else {
            CauseSpace::new(knowledge.world()).len() as u128
        };
        let blocks = if options.stage_dependent { knowledge.horizon() as u128 } else { 1 };
        // (rows that are counted, cells of the table, values) of each factor
        let factors: Vec<(u128, u128, u128)> = match options.states {
            States::Flat => vec![(n_states * n_causes, n_states * n_causes, n_states)],
            States::Factored => (0..knowledge.state().len())
                .map(|i| {
                    let parents = &knowledge.world().transitions()[i].parents;
                    let sizes = knowledge.state_space().sizes();
                    let rows: u128 =
                        state_scope(knowledge.world(), parents).iter().map(|&f| sizes[f] as u128).product();
                    let own: u128 = knowledge.world().sizes(parents).iter().map(|&n| n as u128).product();
                    let counted = if options.causes == Causes::OwnKeys { own } else { rows * n_causes };
                    (counted, rows * n_causes, sizes[i] as u128)
                })
                .collect(),
        };
        // Visits of a row and of its values, and whether it was seen since the last plan.
        let counts: u128 = factors.iter().map(|(rows, _, values)| rows * (4 * (values + 1) + 1)).sum();
        // A ball of distributions has its centre and how much may be moved, an interval of two has its ends.
        let balls = |values: u128| u128::from(matches!(options.estimate, Estimate::Sets(_)) && values != 2);
        let tables: u128 = factors.iter().map(|&(_, cells, values)| 8 * cells * (values + balls(values))).sum();
        // Two constants and a variate in single precision, and a flag, for every number that is sampled, in whole batches.
        let sampled = matches!(options.estimate, Estimate::Posterior { .. });
        let samples: u128 =
            factors.iter().map(|(rows, _, values)| 13 * (rows * values).next_multiple_of(BATCH as u128)).sum();
        let samples = match sampled {
            // Where only some rows are drawn, whole batches of them may take more than the table that is not needed.
            true if by_action && options.states == States::Flat => {
                samples.max(Contenders::bytes(n_states, n_causes).saturating_sub(tables))
            }
            true => samples,
            false => 0,
        };
        // What every row adds to a width, the two parts that make it up, and a flag for rows seen since.
        let widths: u128 = match options.estimate {
            Estimate::Sets(_) | Estimate::Posterior { .. } => 0,
            _ => factors.iter().map(|(rows, cells, _)| 24 * rows + cells).sum::<u128>() + 16 * n_states * n_causes,
        };
        // Rewards as known and as read, q, and two arrays in between.
        let arrays = 8 * 5 * n_states * n_causes;
        // Values, what to do, what the present policy does, and visits of states.
        let plan = 28 * (knowledge.horizon() as u128 + 1) * n_states;
        let kernel = if by_action { 0 } else { Kernel::bytes(knowledge.world()) };
        blocks * (counts + tables + samples + widths) + arrays + plan + kernel
    }
}
