//! Memory estimates: the bytes a learner needs, computed before any allocation.

use std::num::Saturating;

use super::belief::{BATCH, LazyRows, StickBreaking, ball_bytes, kept_bytes};
use super::error::{LearnError, LearnResult, MOST_ACTIONS, MOST_CELLS};
use super::replanning::Grown;
use super::tabular::{MOST_MEMORY, Tabular};
use super::view::{Decomposed, Layout, MechanismRows, blocks};
use super::wrappers::{Forgetting, Guard};
use super::{Causes, Estimate, Knowledge, Learner, Options, Plans, Schedule, Sets, States};
use crate::kernel::state_scope;
use crate::kernel::{CauseSpace, Kernel};
use crate::memory::Held;
use crate::world::{RewardTerm, World};

/// Numbers of bytes: what is too large to be counted stays so.
type Bytes = Saturating<u128>;

fn n(number: usize) -> Bytes {
    Saturating(number as u128)
}

fn sum(numbers: impl Iterator<Item = Bytes>) -> Bytes {
    numbers.fold(Saturating(0), |sum, x| sum + x)
}

fn product(numbers: impl Iterator<Item = usize>) -> Bytes {
    numbers.fold(Saturating(1), |product, x| product * n(x))
}

impl Learner {
    /// Bytes that a learner takes at most: counts, tables, arrays over states and causes, one plan, its kernel, its copies of the
    /// world, and what its options wrap around it. Where mechanisms are learned, their counts, and the kernel that is made anew
    /// before every plan; where one kernel serves all plans, a memory of good interventions for the next search, 16 MB at most.
    pub fn bytes(knowledge: &Knowledge, options: &Options) -> u128 {
        let guard = match options.guard {
            true => Saturating(Guard::bytes(knowledge, options)),
            false => Saturating(0),
        };
        let forget = match options.forget.is_never() {
            true => Saturating(0),
            false => forgetting(knowledge, options),
        };
        (bytes(knowledge, options) + guard + forget + Saturating(remembered(knowledge, options))).0
    }
}

/// What is remembered of good interventions from plan to plan, where one kernel serves all plans.
fn remembered(knowledge: &Knowledge, options: &Options) -> u128 {
    let world = knowledge.world();
    let anew = options.causes == Causes::Actions || Decomposed::serve(knowledge, options);
    if anew || !world.mechanisms().iter().all(|m| m.table.is_some()) {
        return 0;
    }
    match Kernel::anchor_bytes_in(world) {
        bytes if bytes <= MOST_MEMORY as u128 => bytes,
        _ => 0,
    }
}

/// What forgetting takes: steps, or rows with the visits of each.
fn forgetting(knowledge: &Knowledge, options: &Options) -> Bytes {
    let blocks = if options.stage_dependent { n(knowledge.horizon()) } else { n(1) };
    let mut tables: Vec<(Bytes, Bytes)> =
        factors(knowledge, options).into_iter().map(|(rows, _, values)| (blocks * rows, values)).collect();
    if options.causes != Causes::Actions
        && let Ok(Some(mechanisms)) = MechanismRows::new(knowledge.world())
    {
        tables.extend(mechanisms.unknown.iter().map(|m| (n(m.rows.len()), n(m.n_values))));
    }
    let payments = payments(knowledge, options);
    let rows = sum(tables.iter().map(|(rows, _)| *rows)) + sum(payments.iter().copied());
    let counts = sum(tables.iter().map(|(rows, values)| *rows * *values));
    Saturating(Forgetting::bytes(knowledge, options, [(tables.len() + payments.len()) as u128, rows.0, counts.0]))
}

/// Holds the memory of a learner with what is around it.
pub(super) fn hold(knowledge: &Knowledge, options: &Options) -> LearnResult<Held> {
    let bytes = Learner::bytes(knowledge, options);
    Held::ask(bytes).map_err(|left| refusal(knowledge, options, bytes, left))
}

/// Holds as much again as a learner that counts has: for a belief of its evidence by another estimator.
pub(crate) fn hold_belief(tabular: &Tabular) -> LearnResult<Held> {
    let bytes = bytes(tabular.knowledge(), &tabular.options).0;
    Held::ask(bytes).map_err(|limit| LearnError::TooMuchMemory { bytes, limit })
}

/// The same for confidence sets, which by components may take more than a learner that samples has.
pub(crate) fn hold_sets(tabular: &Tabular, sets: Sets) -> LearnResult<Held> {
    let options = Options { estimate: Estimate::Sets(sets), ..tabular.options.clone() };
    let bytes = bytes(tabular.knowledge(), &options).0.max(bytes(tabular.knowledge(), &tabular.options).0);
    Held::ask(bytes).map_err(|limit| LearnError::TooMuchMemory { bytes, limit })
}

/// Whether evidence counted in the way of a learner may take its memory.
pub(super) fn fits_evidence(knowledge: &Knowledge, options: &Options) -> LearnResult<()> {
    let blocks = if options.stage_dependent { n(knowledge.horizon()) } else { n(1) };
    let bytes = (blocks * counts(&factors(knowledge, options), options)).0;
    Held::ask(bytes).map(drop).map_err(|limit| refusal(knowledge, options, bytes, limit))
}

/// Why a learner may not take its memory.
fn refusal(knowledge: &Knowledge, options: &Options, bytes: u128, limit: u64) -> LearnError {
    match (refused_by_count(knowledge, options), Decomposed::why_not(knowledge, options)) {
        (Err(error), _) => error,
        (Ok(()), Some((causes, why))) => LearnError::JointCauses { causes, bytes, limit, why },
        (Ok(()), None) => LearnError::TooMuchMemory { bytes, limit },
    }
}

fn refused_by_count(knowledge: &Knowledge, options: &Options) -> LearnResult<()> {
    // Limits that can be determined more exactly are given when the tables are laid out, before they are allocated.
    let (world, count) = (knowledge.world(), knowledge.interventions().count());
    let key_causes = CauseSpace::new(world);
    let blocks = if options.stage_dependent { knowledge.horizon() as u128 } else { 1 };
    let counters =
        |causes, states| Layout::counters(world, &key_causes, states, causes, count as usize).saturating_mul(blocks);
    if options.causes == Causes::Actions && count > MOST_ACTIONS {
        return Err(LearnError::TooManyActions { count });
    }
    let cells = counters(options.causes, options.states);
    if cells > MOST_CELLS as u128 {
        return Err(LearnError::TooManyCells { what: "what this learner counts".to_owned(), cells: Some(cells) });
    }
    Ok(())
}

/// Bytes for every number that is sampled: two constants and a variate in single precision, and a flag; of one in twenty, which is
/// drawn again, its place, in a list that grows by doubling.
const SAMPLED: usize = 15;

/// Bytes of one table besides its numbers: what holds its counts, what is read of them, and which rows have changed.
const OF_TABLE: usize = 1024;

/// Numbers that are sampled, in whole batches.
fn batches(cells: Bytes) -> Bytes {
    Saturating(cells.0.checked_next_multiple_of(BATCH as u128).unwrap_or(u128::MAX))
}

/// What does not grow with what is counted: the world as it was given, and a copy while it is made; one more, rewritten, where mechanisms
/// are learned; and the learner itself with an episode that it plays.
fn apart(knowledge: &Knowledge) -> Bytes {
    let world = knowledge.world();
    let copies = if world.mechanisms().iter().all(|m| m.table.is_some()) { 2 } else { 3 };
    let own = size_of::<Learner>() + 64 * (world.variables().len() + world.horizon());
    n(copies) * Saturating(world.copy_bytes()) + n(own) + n(2048)
}

/// Where worlds are planned by components: counts and tables by the own rows of each factor, reward term and mechanism, a plan, and the
/// parts with a kernel of them, made anew while the old one is there; a search's arrays over next states for each part, on every thread.
fn bytes_by_parts(knowledge: &Knowledge, options: &Options) -> Bytes {
    let mechanisms = MechanismRows::new(knowledge.world()).ok().flatten();
    let learned = mechanisms.as_ref().map_or(n(0), |rows| mechanism_bytes(rows, uses_sets(options)));
    let paid = sum(payments(knowledge, options).into_iter());
    let parts = Saturating(Decomposed::bytes(knowledge.world(), mechanisms.as_ref(), options));
    let factors = factors(knowledge, options);
    let n_states = n(knowledge.n_states());
    // Of samples what is drawn from, rows drawn and rows in their order; of sets both ends. What a plan is made with is a copy, and the
    // next is made while it is there.
    let of_cells = |cells: Bytes| match options.estimate {
        Estimate::Posterior { .. } => n(8 * 4) * cells + n(SAMPLED) * batches(cells),
        Estimate::Sets(_)
        | Estimate::Width(_)
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform
        | Estimate::Linear => n(8 * 6) * cells,
    };
    let own = sum(factors.iter().map(|&(rows, _, values)| n(OF_TABLE) + of_cells(rows * values)));
    let blocks = if options.stage_dependent { n(knowledge.horizon()) } else { n(1) };
    let plan = n(28) * (n(knowledge.horizon()) + n(1)) * n_states;
    let arrays = n(8) * n_states * (n(6) + n(knowledge.state().len())) * n(rayon::current_num_threads());
    // Payments of a row, their sum and a flag; what they pay by the present plan and by the one that is made.
    blocks * (counts(&factors, options) + own)
        + plan
        + arrays
        + learned
        + paid * n(4 + 16 + 1 + 16)
        + parts
        + apart(knowledge)
}

/// The same without what is around it.
fn bytes(knowledge: &Knowledge, options: &Options) -> Bytes {
    if Decomposed::serve(knowledge, options) {
        return bytes_by_parts(knowledge, options);
    }
    let by_action = options.causes == Causes::Actions;
    let (n_states, n_causes) = (n(knowledge.n_states()), n_causes(knowledge, options));
    let paid = sum(payments(knowledge, options).into_iter());
    let blocks = if options.stage_dependent { n(knowledge.horizon()) } else { n(1) };
    let world = knowledge.world();
    let factors = factors(knowledge, options);
    let counts = counts(&factors, options);
    let table = |i: usize, &(rows, cells, values): &(Bytes, Bytes, Bytes)| match options.estimate {
        // A Kullback–Leibler ball has the values seen and their frequencies, for each row that is counted; every cell has its row. What is
        // known has a row for each cell.
        Estimate::Sets(Sets::Mixture) if values != n(2) => {
            let known = options.states == States::Factored && world.transitions()[i].table.is_some();
            (if known { cells } else { rows }) * Saturating(ball_bytes(values.0)) + n(4) * cells
        }
        // An L1 ball has its centre and how much may be moved, an interval of two has its ends.
        Estimate::Sets(Sets::L1 | Sets::Kl) if values != n(2) => n(8) * cells * (values + n(1)),
        Estimate::Sets(_)
        | Estimate::Posterior { .. }
        | Estimate::Width(_)
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform
        | Estimate::Linear => n(8) * cells * values,
    };
    // Samples over many whole states are kept by the states that have mass, and so is what was seen.
    let whole = options.states == States::Flat || factors.len() == 1 && world.transitions()[0].table.is_none();
    let thin = match options.estimate {
        Estimate::Posterior { prior } if whole && StickBreaking::pays(knowledge.n_states(), prior) => {
            Some(Saturating(StickBreaking::row_bytes(n_states.0, prior)))
        }
        Estimate::Posterior { .. } => None,
        Estimate::Sets(_)
        | Estimate::Width(_)
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform
        | Estimate::Linear => None,
    };
    let tables = match thin {
        Some(row_bytes) => factors[0].0 * row_bytes + n(8) * n_states * n_causes,
        None => sum(factors.iter().enumerate().map(|(i, factor)| table(i, factor))),
    };
    let sampled = matches!(options.estimate, Estimate::Posterior { .. });
    let samples = sum(factors.iter().map(|&(rows, _, values)| n(SAMPLED) * batches(rows * values)));
    let samples = match sampled {
        // Where only some rows are drawn, whole batches of them may take more than the table that is not needed.
        true if thin.is_some() => n(0),
        true if by_action && options.states == States::Flat => {
            samples.max(Saturating(LazyRows::bytes(n_states.0, n_causes.0)) - tables)
        }
        true => samples,
        false => n(0),
    };
    // What every row adds to a width, the two parts that make it up, and a flag for rows seen since.
    let widths = match options.estimate {
        Estimate::Sets(_) | Estimate::Posterior { .. } => n(0),
        Estimate::Width(_)
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform
        | Estimate::Linear => {
            sum(factors.iter().map(|&(rows, cells, _)| n(24) * rows + cells)) + n(16) * n_states * n_causes
        }
    };
    // Of balls over whole states, what is kept of all rows and next states at each stage.
    let kept = match options.estimate {
        Estimate::Sets(Sets::Mixture) if options.states == States::Flat && n_states != n(2) => {
            n(knowledge.horizon()) * Saturating(kept_bytes((n_states * n_causes).0, n_states.0))
        }
        Estimate::Sets(_)
        | Estimate::Posterior { .. }
        | Estimate::Width(_)
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform
        | Estimate::Linear => n(0),
    };
    // Rewards as known and as read, q, and two arrays in between.
    let arrays = n(8 * 5) * n_states * n_causes;
    // Values, what to do, what the present policy does, and visits of states.
    let plan = n(28) * (n(knowledge.horizon()) + n(1)) * n_states;
    blocks * (counts + tables + samples + widths + n(OF_TABLE * factors.len()))
        + apart(knowledge)
        + kept
        + arrays
        + plan
        + interventions(knowledge, options)
        // Where rewards are learned: the row of every state and cause, and the number of payments and their sum for each.
        + paid * n(4 + 4 + 16 + 1 + 8)
}

fn n_causes(knowledge: &Knowledge, options: &Options) -> Bytes {
    match options.causes {
        Causes::Actions => Saturating(u128::from(knowledge.interventions().count())),
        Causes::Keys | Causes::OwnKeys => n(CauseSpace::new(knowledge.world()).len()),
    }
}

/// (rows that are counted, cells of the table, values) of each factor.
fn factors(knowledge: &Knowledge, options: &Options) -> Vec<(Bytes, Bytes, Bytes)> {
    let world = knowledge.world();
    let (n_states, n_causes) = (n(knowledge.n_states()), n_causes(knowledge, options));
    match options.states {
        States::Flat => vec![(n_states * n_causes, n_states * n_causes, n_states)],
        States::Factored => blocks(world)
            .into_iter()
            .map(|block| {
                let parents = &world.transitions()[block.start].parents;
                let sizes = knowledge.state_space().sizes();
                // Rows of plans are over whole blocks.
                let scope = state_scope(world, parents);
                let touched = blocks(world).into_iter().filter(|b| scope.iter().any(|f| b.contains(f)));
                let rows = product(touched.flatten().map(|f| sizes[f]));
                let own = product(world.sizes(parents).into_iter());
                let counted = if options.causes == Causes::OwnKeys { own } else { rows * n_causes };
                (counted, rows * n_causes, product(block.map(|i| sizes[i])))
            })
            .collect(),
    }
}

/// Visits of a row and of its values, and whether it was seen since the last plan, with its place in a list of those that were; of sets, in
/// a second list, and in a third one where there are two values.
fn counts(factors: &[(Bytes, Bytes, Bytes)], options: &Options) -> Bytes {
    let grown = |rows: Bytes| match options.schedule {
        Schedule::Growing => Saturating(Grown::bytes(rows.0)),
        Schedule::Episode | Schedule::Doubling | Schedule::Visited => n(0),
    };
    let listed = |values: Bytes| match options.estimate {
        Estimate::Sets(_) => n(if values == n(2) { 4 + 8 } else { 4 }),
        Estimate::Width(_)
        | Estimate::Posterior { .. }
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform
        | Estimate::Linear => n(0),
    };
    let of_row = |values: Bytes| n(4) * (values + n(1)) + n(1 + 8) + listed(values);
    sum(factors.iter().map(|&(rows, _, values)| rows * of_row(values) + grown(rows)))
}

/// The list of interventions, or the kernel that says what they do, with what is counted of unknown mechanisms.
fn interventions(knowledge: &Knowledge, options: &Options) -> Bytes {
    let world = knowledge.world();
    if options.causes == Causes::Actions {
        let count = Saturating(u128::from(knowledge.interventions().count()));
        let forbidden = if knowledge.interventions().forbid().is_empty() { n(0) } else { n(knowledge.n_states()) };
        // Where rewards are known, a kernel says for a moment what each intervention is paid.
        let known = !world.rewards().iter().any(|r| world.mean_is_learned(r));
        let kernel = if known { Saturating(Kernel::bytes(world)) } else { n(0) };
        return count * (n(16) + forbidden) + kernel;
    }
    Saturating(kernel_bytes(world, uses_sets(options)))
}

/// Whether confidence sets of mechanisms are kept.
fn uses_sets(options: &Options) -> bool {
    !matches!(options.estimate, Estimate::Posterior { .. })
}

/// The kernel that says what interventions set off, with what is counted of mechanisms that are not known.
pub(crate) fn kernel_bytes(world: &World, with_sets: bool) -> u128 {
    match MechanismRows::new(world) {
        Ok(Some(rows)) => {
            (mechanism_bytes(&rows, with_sets) + Saturating(Kernel::bytes_learned(&rows.world, with_sets))).0
        }
        Ok(None) => Kernel::bytes(world),
        // Such a learner is refused.
        Err(_) => 0,
    }
}

/// What is counted of unknown mechanisms, and what they are believed to be.
fn mechanism_bytes(rows: &MechanismRows, with_sets: bool) -> Bytes {
    // Visits of a row and of its values, a flag; while a kernel is made, the table; with sets, two ends of an interval
    // for each value and the visits that it is computed from.
    let of_value = if with_sets { n(4 + 8 + 16 + 4) } else { n(4 + 8) };
    let of = |(rows, values): (usize, usize)| n(rows) * (n(4 + 1) + of_value * n(values));
    let models = rows.unknown.iter().filter_map(|m| m.model.as_ref()).map(|model| Saturating(model.bytes()));
    sum(rows.unknown.iter().map(|m| of((m.rows.len(), m.n_values)))) + sum(models)
}

/// Cells of each reward that is learned: terms by their scopes, but learners that see the state whole, or interventions as causes, learn
/// one sum of them, and the latter of terms that are given as well where it is not known what interventions set off. By components, its rows.
fn payments(knowledge: &Knowledge, options: &Options) -> Vec<Bytes> {
    let world = knowledge.world();
    let n_causes = n_causes(knowledge, options);
    let whole = n(knowledge.n_states()) * n_causes;
    let sizes = knowledge.state_space().sizes();
    let learned: Vec<&RewardTerm> = world.rewards().iter().filter(|r| world.mean_is_learned(r)).collect();
    let decomposed = Decomposed::serve(knowledge, options);
    let of_term = |term: &&RewardTerm| {
        let scope = world.expected_scope(term);
        match decomposed {
            true => product(world.sizes(&scope).into_iter()),
            false => product(state_scope(world, &scope).iter().map(|&f| sizes[f])) * n_causes,
        }
    };
    let is_learned = match options.causes {
        Causes::Actions => !learned.is_empty() || world.mechanisms().iter().any(|m| m.table.is_none()),
        Causes::Keys | Causes::OwnKeys => !learned.is_empty(),
    };
    match (options.causes, options.states) {
        (Causes::Actions, States::Flat | States::Factored) | (Causes::Keys | Causes::OwnKeys, States::Flat) => {
            if is_learned {
                vec![whole]
            } else {
                Vec::new()
            }
        }
        (Causes::Keys | Causes::OwnKeys, States::Factored) => learned.iter().map(of_term).collect(),
    }
}
