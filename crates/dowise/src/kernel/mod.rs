//! Exact inference of P(c | s, do(a)), the effect of interventions on key variables, without enumerating interventions.

mod bounds;
mod boxes;
#[cfg(test)]
pub(crate) mod brute_force;
mod components;
mod effects;
mod elimination;
mod group;
pub(crate) mod groups;
mod lever_values;
mod prune;
mod radius;
mod rows;
mod search;
mod tabulate;
mod uniform;
mod variants;
mod warm_start;

use crate::Space;
use crate::world::{Action, Forbid, Interventions, LeverRule, VarId, World};

pub(crate) use bounds::{Doubt, Member, RowBounds};
pub(crate) use components::{Acting, Components, Next, Numbers, Reach, Sure};
pub(crate) use effects::Effects;
pub use elimination::TooLarge;
pub(crate) use group::Group;
pub(crate) use rows::{rows_by_cause, scope_strides, state_scope};
pub(crate) use search::{Found, Scratch, Tie, Within, pick};
pub(crate) use uniform::AtRandom;
pub(crate) use warm_start::WarmStart;

/// Why P(c | s, do(a)) cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// A mechanism that it needs is unknown.
    #[error("the mechanism of {} is not given, so what an intervention does is not known; give it, or learn it", .names.join(", "))]
    Unknown {
        /// The variables without a mechanism.
        names: Vec<String>,
    },
    /// The joint table of one group of levers is too large.
    #[error(
        "the levers {} act on the same key variables: a table of their joint effect would have {} entries, the limit is {}; \
         split them by key variables that share no lever, or allow fewer at once",
        .levers.join(", "), .entries.map_or("more than 2^64".to_owned(), |n| n.to_string()), elimination::MAX_ENTRIES
    )]
    TooLarge {
        /// The levers of the group.
        levers: Vec<String>,
        /// Entries needed; `None` if that number overflows.
        entries: Option<usize>,
    },
}

/// The configurations c of a world: joint values of the key variables with effects, and of levers that act directly.
///
/// They are numbered group by group, so their order can differ from the file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseSpace {
    variables: Vec<VarId>,
    space: Space,
}

impl CauseSpace {
    /// The configurations of a world.
    pub fn new(world: &World) -> CauseSpace {
        CauseSpace::of_groups(world, &groups::groups(world))
    }

    fn of_groups(world: &World, shapes: &[groups::GroupShape]) -> CauseSpace {
        let variables: Vec<VarId> = shapes.iter().flat_map(|g| g.causes.iter().copied()).collect();
        let space = Space::new(&world.sizes(&variables)).expect("invariant: a world's causes are countable");
        CauseSpace { variables, space }
    }

    /// The variables whose joint values are the configurations.
    pub fn variables(&self) -> &[VarId] {
        &self.variables
    }

    /// Number of configurations (Z).
    #[allow(clippy::len_without_is_empty)] // there is always at least one
    pub fn len(&self) -> usize {
        self.space.len()
    }

    /// Value of the variable at a position of [`CauseSpace::variables`].
    pub fn digit(&self, cause: usize, position: usize) -> usize {
        self.space.digit(cause, position)
    }

    /// Stride of one of the variables.
    pub(crate) fn stride(&self, id: VarId) -> usize {
        let place = self.variables.iter().position(|v| *v == id);
        self.space.strides()[place.expect("invariant: a parent is a state factor or a cause")]
    }

    /// The configuration of a full assignment (by [`VarId`]).
    pub fn of_values(&self, values: &[u32]) -> usize {
        let digits = self.variables.iter().map(|id| values[id.ix()] as usize);
        digits.zip(self.space.strides()).map(|(d, stride)| d * stride).sum()
    }

    /// As [`CauseSpace::of_values`] with `missing` values: each counts as the first value and sets the bit of its
    /// position in the second number.
    pub(crate) fn of_seen(&self, values: &[u32], missing: u32) -> (usize, u64) {
        let (mut cause, mut not_seen) = (0, 0u64);
        for (p, (id, stride)) in self.variables.iter().zip(self.space.strides()).enumerate() {
            match values[id.ix()] {
                value if value == missing => not_seen |= 1 << p.min(63),
                value => cause += value as usize * stride,
            }
        }
        (cause, not_seen)
    }
}

/// P(c | s, do(a)) for all interventions and states, and the interventions allowed in each state.
///
/// Configurations are numbered as in [`CauseSpace`]. A *group* contains key variables linked by a lever, hidden
/// variable or edge, and P(c | s, do(a)) = Π_g P(c_g | s, do(a_g)).
///
/// # Cost
/// Memory: for each group, (values of its state factors) × (settings of its levers) × (its configurations).
#[derive(Clone, Debug)]
pub struct Kernel {
    interventions: Interventions,
    state_space: Space,
    causes: CauseSpace,
    groups: Vec<Group>,
    /// Forbidden combinations that involve levers of more than one group.
    cross: Vec<Forbid>,
    /// Maximum number of levers that an intervention may set, if the limit binds across groups.
    limit: Option<usize>,
    /// Whether any lever has a cost.
    has_costs: bool,
}

/// Multiplications allowed for pruning: about a tenth of a second.
const PRUNING: i64 = 200_000_000;

impl Kernel {
    /// The kernel of a world with known mechanisms.
    pub fn new(world: &World) -> Result<Kernel, KernelError> {
        let tables: Vec<Option<&[f64]>> = world.mechanisms().iter().map(|m| m.table.as_deref()).collect();
        Kernel::pruned(world, &tables, None, PRUNING)
    }

    /// The kernel with these tables instead of the world's mechanisms, and their uncertainty.
    ///
    /// Under optimism, a search finds the least loss over interventions and members jointly, or a lower bound of it if
    /// a setting has too many extreme points. Under pessimism, it finds at least the minimum over interventions of the
    /// maximum over members.
    ///
    /// Such kernels serve an episode or two, so pruning mostly uses sorting only.
    pub(crate) fn with_tables(
        world: &World,
        tables: &[Option<&[f64]>],
        doubt: Option<Doubt<'_>>,
    ) -> Result<Kernel, KernelError> {
        Kernel::pruned(world, tables, doubt, 0)
    }

    /// The kernel, pruned with at most `work` multiplications.
    fn pruned(
        world: &World,
        tables: &[Option<&[f64]>],
        doubt: Option<Doubt<'_>>,
        mut work: i64,
    ) -> Result<Kernel, KernelError> {
        let shapes = groups::groups(world);
        let unknown: Vec<String> = shapes
            .iter()
            .flat_map(|g| &g.mechanisms)
            .filter(|&&m| tables[m].is_none())
            .flat_map(|&m| world.mechanisms()[m].children.iter().map(|&id| world.variable(id).name.clone()))
            .collect();
        if !unknown.is_empty() {
            return Err(KernelError::Unknown { names: unknown });
        }
        let interventions = world.interventions().clone();
        let causes = CauseSpace::of_groups(world, &shapes);
        let cross: Vec<Forbid> = interventions
            .forbid()
            .iter()
            .filter(|rule| shapes.iter().all(|g| rule.levers.iter().any(|(lever, _)| !g.levers.contains(lever))))
            .cloned()
            .collect();
        let limit = match interventions.lever_rule() {
            LeverRule::AtMost(k) if *k < interventions.n_levers() && shapes.len() > 1 => Some(*k),
            LeverRule::All | LeverRule::AtMost(_) | LeverRule::List(_) => None,
        };
        let alone = shapes.len() == 1 && !doubt.is_some_and(|doubt| doubt.by_corners);
        let restrictions = (&cross[..], limit.is_some());
        let groups = shapes
            .into_iter()
            .map(|shape| Group::new(world, shape, (tables, doubt), restrictions, alone, &mut work))
            .collect::<Result<Vec<Group>, KernelError>>()?;
        let has_costs = interventions.has_costs();
        Ok(Kernel { interventions, state_space: world.state_space().clone(), causes, groups, cross, limit, has_costs })
    }

    /// Maximum bytes of a world's kernel, known before any computation.
    pub fn bytes(world: &World) -> u128 {
        lever_values::total_bytes(world, &groups::groups(world))
    }

    /// The same for learned mechanisms, with or without confidence sets: old and new kernel coexist during updates.
    pub(crate) fn bytes_learned(world: &World, with_sets: bool) -> u128 {
        let shapes = groups::groups(world);
        let [doubt, passing] = match with_sets {
            true => [lever_values::doubt_bytes(world, &shapes), lever_values::passing_bytes(world, &shapes)],
            false => [0; 2],
        };
        lever_values::total_bytes(world, &shapes).saturating_add(doubt).saturating_mul(2).saturating_add(passing)
    }

    /// Whether any lever has a cost.
    pub(crate) fn has_costs(&self) -> bool {
        self.has_costs
    }

    /// The configurations of key variables.
    pub fn causes(&self) -> &CauseSpace {
        &self.causes
    }

    /// Number of configurations (Z).
    pub fn n_causes(&self) -> usize {
        self.causes.len()
    }

    /// Number of states (S).
    pub fn n_states(&self) -> usize {
        self.state_space.len()
    }

    /// The allowed interventions.
    pub fn interventions(&self) -> &Interventions {
        &self.interventions
    }

    /// Number of groups of key variables (levers without effects count too).
    pub fn n_groups(&self) -> usize {
        self.groups.len()
    }

    /// Settings of each group in a state after pruning: the candidates of a search.
    pub fn candidates(&self, state: usize) -> Vec<usize> {
        self.groups.iter().map(|g| g.row(g.row_of(state)).n).collect()
    }

    /// Writes P(c | s, do(a)) into `out` (one entry for each c).
    pub fn distribution(&self, state: usize, action: Action, out: &mut [f64]) {
        let mut filled = 1;
        out[0] = 1.0;
        for group in &self.groups {
            let row = group.row_of(state);
            let setting = group.setting_of(&self.interventions, action);
            let n = group.n_causes();
            // Backwards, so that entries still to be read are not overwritten.
            for done in (0..filled).rev() {
                let p = out[done];
                for c in (0..n).rev() {
                    out[done * n + c] = p * group.prob(row, c, setting);
                }
            }
            filled *= n;
        }
    }

    /// Marginal distribution of each key variable under an intervention, group by group without enumerating
    /// configurations.
    pub(crate) fn marginals(&self, state: usize, action: Action) -> Vec<(VarId, Vec<f64>)> {
        let mut out: Vec<(VarId, Vec<f64>)> = Vec::new();
        for group in &self.groups {
            let (row, setting) = (group.row_of(state), group.setting_of(&self.interventions, action));
            for (position, &id) in group.shape.causes.iter().enumerate() {
                let mut of_value = vec![0.0; group.n_values(position)];
                (0..group.n_causes()).for_each(|c| of_value[group.digit(c, position)] += group.prob(row, c, setting));
                out.push((id, of_value));
            }
        }
        out
    }

    /// Σ_c P(c | state, action) · q(c); uncertain P takes the member that this kernel plans with.
    pub(crate) fn optimistic_value(&self, state: usize, action: Action, q: &[f64]) -> f64 {
        let mut settings = Vec::with_capacity(self.groups.len());
        self.decode(action, &mut settings);
        let loss: Vec<f64> = q.iter().map(|q| -q).collect();
        -self.expect_member_from_least(state, &settings, &loss, &mut Scratch::default())
    }

    /// Σ_c P(c | state, settings) · loss(c) for a decoded intervention; uncertain P takes the member with the least (or
    /// greatest) sum.
    ///
    /// # Cost
    /// That of building a kernel of one intervention and one state.
    pub(crate) fn expect_member(&self, state: usize, settings: &[u32], loss: &[f64], scratch: &mut Scratch) -> f64 {
        let found = self.only(state, settings).best(state, loss, 0.0, Tie::First, scratch);
        found.least - self.interventions.cost(found.action)
    }

    /// The kernel restricted to one state and one decoded intervention.
    pub(crate) fn only(&self, state: usize, settings: &[u32]) -> Kernel {
        let parts = self.groups.iter().zip(settings).map(|(g, &setting)| g.only(state, setting as usize));
        Kernel {
            interventions: self.interventions.clone(),
            state_space: self.state_space.clone(),
            causes: self.causes.clone(),
            groups: parts.collect(),
            cross: Vec::new(),
            limit: None,
            has_costs: self.has_costs,
        }
    }

    /// The same with losses, possibly negative, measured from their minimum. That minimum replaces the cap as the bound
    /// on optimism.
    pub(crate) fn expect_member_from_least(
        &self,
        state: usize,
        settings: &[u32],
        loss: &[f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let least = loss.iter().copied().fold(f64::INFINITY, f64::min);
        let above: Vec<f64> = loss.iter().map(|loss| loss - least).collect();
        least + self.expect_member(state, settings, &above, scratch)
    }

    /// Whether P(c | s, a) is exact.
    pub(crate) fn is_certain(&self) -> bool {
        self.groups.iter().all(Group::is_certain)
    }

    /// Whether all distributions are enumerated: exact, or as extreme points.
    #[cfg(test)]
    pub(crate) fn is_exact(&self) -> bool {
        self.groups.iter().all(Group::is_exact)
    }

    /// The candidates of a state: for each group the distributions of settings or extreme points.
    #[cfg(test)]
    pub(crate) fn columns_at(&self, state: usize) -> Vec<Vec<Vec<f64>>> {
        let of_group = |group: &Group| {
            let row = group.row(group.row_of(state));
            (0..row.n).map(|i| (0..group.n_causes()).map(|c| row.prob[c * row.n + i]).collect()).collect()
        };
        self.groups.iter().map(of_group).collect()
    }

    /// Appends each group's part of an intervention to `out`.
    pub(crate) fn decode(&self, action: Action, out: &mut Vec<u32>) {
        out.extend(self.groups.iter().map(|g| g.setting_of(&self.interventions, action) as u32));
    }

    /// Σ_c P(c | state, settings) · q(c) for a decoded intervention, group by group without the joint distribution.
    pub(crate) fn expect(&self, state: usize, settings: &[u32], q: &[f64], buffer: &mut Vec<f64>) -> f64 {
        buffer.clear();
        buffer.extend_from_slice(q);
        for (group, &setting) in self.groups.iter().zip(settings).rev() {
            let (row, n) = (group.row_of(state), group.n_causes());
            let left = buffer.len() / n;
            for i in 0..left {
                buffer[i] = (0..n).map(|c| group.prob(row, c, setting as usize) * buffer[i * n + c]).sum();
            }
            buffer.truncate(left);
        }
        buffer[0]
    }

    /// Whether an intervention is allowed in a state.
    pub fn allows(&self, state: usize, action: Action) -> bool {
        self.interventions.allows(&self.state_space.digits(state), action)
    }
}
