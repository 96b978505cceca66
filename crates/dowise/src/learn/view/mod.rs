//! Views of a world: the table rows that an observation belongs to. Evidence and beliefs share them.

mod actions;
mod decomposed;
mod layout;
mod mechanisms;
mod payments;
mod projection;
mod row_of;

pub(crate) use actions::ActionList;
pub(crate) use decomposed::Decomposed;
pub(crate) use layout::{FactorLayout, Layout, Walk, blocks};
pub(crate) use mechanisms::{MISSING, MechanismRow, MechanismRows};
pub(crate) use payments::{PaymentRows, TermRows, paid_share};

use std::sync::Arc;

use super::Knowledge;
use super::error::{LearnError, LearnResult, MOST_ACTIONS, MOST_CELLS};
use super::options::{Causes, Options, States};
use crate::kernel::CauseSpace;

/// The tables of a learner, and the rows of each observation.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) knowledge: Knowledge,
    pub(crate) states: States,
    pub(crate) causes: Causes,
    pub(crate) key_causes: CauseSpace,
    /// Number of values of every variable.
    pub(crate) sizes: Vec<u32>,
    pub(crate) layout: Layout,
    /// The interventions, if they are the configurations.
    pub(crate) actions: Option<Arc<ActionList>>,
    pub(crate) payments: PaymentRows,
    /// Unknown mechanisms; `None` if P(c | s, a) is known or not needed.
    pub(crate) mechanisms: Option<MechanismRows>,
    /// Tables of transitions: one for all stages, or one for each.
    pub(crate) n_blocks: usize,
    /// For joint key values too many to enumerate: the decomposed world. Rows are then computed, not looked up.
    pub(crate) decomposed: Option<Arc<Decomposed>>,
}

impl View {
    /// The view of a learner with these options.
    pub(crate) fn of(knowledge: &Knowledge, options: &Options) -> LearnResult<View> {
        View::made(
            knowledge,
            options.states,
            options.causes,
            options.stage_dependent,
            Decomposed::serve(knowledge, options),
        )
    }

    /// By components, however few the joint key values are.
    #[cfg(test)]
    pub(crate) fn in_parts(knowledge: &Knowledge, options: &Options) -> LearnResult<View> {
        View::made(knowledge, options.states, options.causes, options.stage_dependent, true)
    }

    /// With tables over all joint key values.
    pub(crate) fn new(
        knowledge: &Knowledge,
        states: States,
        causes: Causes,
        stage_dependent: bool,
    ) -> LearnResult<View> {
        View::made(knowledge, states, causes, stage_dependent, false)
    }

    fn made(
        knowledge: &Knowledge,
        states: States,
        causes: Causes,
        stage_dependent: bool,
        decomposed: bool,
    ) -> LearnResult<View> {
        let world = knowledge.world();
        let key_causes = CauseSpace::new(world);
        let by_action = causes == Causes::Actions;
        let mechanisms = if by_action { None } else { MechanismRows::new(world)? };
        let decomposed = if decomposed { Some(Decomposed::new(world, mechanisms.as_ref())?) } else { None };
        let actions = if by_action {
            let count = knowledge.interventions().count();
            Some(Arc::new(ActionList::new(world, MOST_ACTIONS).ok_or(LearnError::TooManyActions { count })?))
        } else {
            None
        };
        let n_actions = actions.as_ref().map_or(0, |l| l.actions.len());
        let n_blocks = if stage_dependent { knowledge.horizon() } else { 1 };
        let cells = Layout::counters(world, &key_causes, states, causes, n_actions).saturating_mul(n_blocks as u128);
        if cells > MOST_CELLS as u128 {
            return Err(LearnError::TooManyCells { what: "what this learner counts".to_owned(), cells: Some(cells) });
        }
        let layout = match decomposed {
            None => Layout::new(world, &key_causes, states, causes, n_actions)?,
            Some(_) => Layout::computed(world, &key_causes),
        };
        let payments = match &actions {
            None if decomposed.is_some() => PaymentRows::computed(world, &key_causes),
            None => PaymentRows::by_keys(world, &key_causes, layout.flat),
            Some(list) => PaymentRows::by_action(world, &key_causes, list),
        };
        let sizes = knowledge.variables().iter().map(|v| v.size() as u32).collect();
        let knowledge = knowledge.clone();
        let decomposed = decomposed.map(Arc::new);
        Ok(View {
            knowledge,
            states,
            causes,
            key_causes,
            sizes,
            layout,
            actions,
            payments,
            mechanisms,
            n_blocks,
            decomposed,
        })
    }

    /// The block of tables of a stage.
    pub(crate) fn block(&self, stage: usize) -> usize {
        if self.n_blocks == 1 { 0 } else { stage }
    }

    /// Size of the union bound of confidence sets and widths: rows of transitions and rewards, and rows or parameters
    /// of mechanisms.
    pub(crate) fn cells(&self) -> usize {
        self.layout.cells() + self.mechanisms.as_ref().map_or(0, |m| m.cells()) + self.payments.cells()
    }

    /// Number of rows of transitions, unknown mechanisms and unknown rewards, and of their parameters: the
    /// probabilities of a row less one, or the parameters of a form. As
    /// [`Knowledge::to_learn`](super::Knowledge::to_learn) counts them.
    pub(crate) fn to_learn(&self) -> [usize; 2] {
        let transitions = self.layout.factors.iter().map(|f| [f.n_rows, f.n_rows * (f.n_values - 1)]);
        let mechanisms = self.mechanisms.iter().flat_map(|m| &m.unknown).map(|m| {
            let numbers = m.model.as_ref().map_or(m.rows.len() * (m.n_values - 1), |model| model.n_parameters());
            [m.rows.len(), numbers]
        });
        let payments = std::iter::once([self.payments.cells(); 2]);
        let add = |[a, b]: [usize; 2], [c, d]: [usize; 2]| [a + c, b + d];
        transitions.chain(mechanisms).chain(payments).fold([0, 0], add)
    }

    /// [`View::cells`] with the rows of every separately counted stage.
    pub(crate) fn rows(&self) -> usize {
        self.cells() + (self.n_blocks - 1) * self.layout.cells()
    }

    /// The same if every row of a mechanism counts separately, for any form.
    pub(crate) fn rows_alone(&self) -> usize {
        let [cells, rows] = self.mechanisms.as_ref().map_or([0, 0], |m| [m.cells(), m.rows()]);
        self.rows() - cells + rows
    }

    /// Fingerprint of the tables: evidence of equal views can be merged.
    pub(crate) fn fingerprint(&self) -> String {
        let words = serde_json::to_string(&(self.states, self.causes)).expect("invariant: two options are words");
        let blocks = self.n_blocks;
        let text = format!("{} {words} {blocks}", self.knowledge.fingerprint());
        format!("{:016x}", crate::hash::fnv(text.as_bytes()))
    }
}
