//! On-demand features and known rewards of one state, for planning with non-enumerable states.

use std::sync::Arc;

use crate::Space;
use crate::kernel::CauseSpace;
use crate::kernel::{rows_by_cause, scope_strides, state_scope};
use crate::world::{Basis, FeatureMap, VarId, World};

/// Features from code: writes φ(s, c) of all joint key values into the second argument, `[cause][feature]`, which is
/// zero. The error is a message.
pub type FeatureFunction = Arc<dyn Fn(usize, &mut [f64]) -> Result<(), String> + Send + Sync>;

/// Source of features.
#[derive(Clone)]
enum Source {
    Map(Arc<Basis>),
    Function(FeatureFunction),
}

/// Features of a state for all joint key values.
#[derive(Clone)]
pub(crate) struct RowsAt {
    source: Source,
    states: Space,
    factors: Vec<VarId>,
    causes: CauseSpace,
    n_variables: usize,
    pub(crate) dimension: usize,
}

impl std::fmt::Debug for RowsAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowsAt").field("dimension", &self.dimension).finish_non_exhaustive()
    }
}

impl RowsAt {
    /// Features of a feature map, whose dimension was checked.
    pub(crate) fn of_map(world: &World, map: &FeatureMap, dimension: usize) -> RowsAt {
        RowsAt::new(world, Source::Map(Arc::new(Basis::new(world, map))), dimension)
    }

    pub(crate) fn of_function(world: &World, function: FeatureFunction, dimension: usize) -> RowsAt {
        RowsAt::new(world, Source::Function(function), dimension)
    }

    fn new(world: &World, source: Source, dimension: usize) -> RowsAt {
        RowsAt {
            source,
            states: world.state_space().clone(),
            factors: world.state().to_vec(),
            causes: CauseSpace::new(world),
            n_variables: world.variables().len(),
            dimension,
        }
    }

    pub(crate) fn n_causes(&self) -> usize {
        self.causes.len()
    }

    /// Whether user code computes them: it is called from one thread only, and once for each state.
    pub(crate) fn is_function(&self) -> bool {
        matches!(self.source, Source::Function(_))
    }

    /// Writes φ(s, c) of all joint key values into `out`, `[cause][feature]`.
    ///
    /// # Cost
    /// O(Z · d), times the number of tables for means of tables.
    pub(crate) fn fill(&self, state: usize, out: &mut [f64]) -> Result<(), String> {
        out.fill(0.0);
        match &self.source {
            Source::Function(function) => function(state, out),
            Source::Map(basis) => {
                let mut values = vec![0; self.n_variables];
                let digit = |(axis, id): (usize, &VarId)| (id.ix(), self.states.digit(state, axis));
                self.factors.iter().enumerate().map(digit).for_each(|(at, value)| values[at] = value);
                for (c, row) in out.chunks_exact_mut(self.dimension).enumerate() {
                    let of_cause = self.causes.variables().iter().enumerate();
                    of_cause.for_each(|(i, id)| values[id.ix()] = self.causes.digit(c, i));
                    basis.fill(&values, row);
                }
                Ok(())
            }
        }
    }
}

/// Known rewards of a state for all joint key values.
#[derive(Clone, Debug)]
pub(crate) struct RewardsAt {
    states: Space,
    n_causes: usize,
    terms: Vec<TermAt>,
}

#[derive(Clone, Debug)]
struct TermAt {
    /// State factors in its scope, with strides in `rows`.
    strides: Vec<(usize, usize)>,
    /// Rows of the table, `[row over these factors][cause]`.
    rows: Vec<usize>,
    table: Arc<[f64]>,
}

impl RewardsAt {
    /// The known terms that do not depend on next values.
    pub(crate) fn new(world: &World, causes: &CauseSpace) -> RewardsAt {
        let known = world.rewards().iter().filter(|term| term.next.is_empty());
        let terms = known.filter_map(|term| {
            let scope = state_scope(world, &term.scope);
            Some(TermAt {
                table: term.table.clone()?,
                strides: scope_strides(world.state_space(), &scope),
                rows: rows_by_cause(world, &term.scope, &scope, causes),
            })
        });
        RewardsAt { states: world.state_space().clone(), n_causes: causes.len(), terms: terms.collect() }
    }

    /// Without any term.
    pub(crate) fn none(world: &World, causes: &CauseSpace) -> RewardsAt {
        RewardsAt { states: world.state_space().clone(), n_causes: causes.len(), terms: Vec::new() }
    }

    /// Their sum for all joint key values.
    pub(crate) fn fill(&self, state: usize, out: &mut [f64]) {
        out.fill(0.0);
        for term in &self.terms {
            let digit = |&(f, stride): &(usize, usize)| self.states.digit(state, f) * stride;
            let row: usize = term.strides.iter().map(digit).sum();
            let rows = &term.rows[row * self.n_causes..][..self.n_causes];
            out.iter_mut().zip(rows).for_each(|(out, &row)| *out += term.table[row]);
        }
    }
}
