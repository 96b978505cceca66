//! Decomposed planning: worlds with independent components, without enumerating joint values of all key variables.
//!
//! Groups of levers that act on a common next value or reward term form a *part* (component). Given a state s and an
//! intervention a, the next values of different parts are independent. The reward and transitions of part k depend only
//! on its levers a_k and key variables z_k:
//!
//! ```text
//! μ_k(s'_k | s, a_k) = Σ_{z_k} P(z_k | s, a_k) Π_{i in k} P(s'_i | s, z_k)        r_k(s, a_k) = Σ_{z_k} P(z_k | s, a_k) r_k(s, z_k)
//! Q(s, a) = Σ_k (r_k(s, a_k) − cost(a_k)) + Σ_{s'} Π_k μ_k(s'_k | s, a_k) V(s')
//! ```
//!
//! A part is thus again a group: its configurations are its next values, and a setting's cost is reduced by its reward.
//! The search of a [`Kernel`] over these groups finds the optimal intervention, using only extreme points of (μ_k,
//! r_k). Cost and memory grow with the largest part, not with the product of all parts.

mod acting;
mod changes;
mod columns;
mod part;
mod random;
mod reach;
mod shape;

use super::{CauseSpace, Kernel};
use crate::Space;
use crate::world::{LeverRule, RewardTerm, VarId, World};

pub(crate) use acting::Acting;
use columns::most_points;
use part::Part;
pub(crate) use reach::Reach;
use reach::SetOff;
use shape::{PartShape, Term, parts};

use super::group::Group;
use super::groups::{GroupShape, groups};
use super::variants::{are_listed, most_variants};

/// Joint configurations up to which joint planning is used: it is faster there, and its results are pinned by tests.
const MOST_JOINT: usize = 1 << 10;

/// Maximum number of kept settings of a part in a row.
const MOST_COLUMNS: usize = 1 << 12;

/// Maximum number of entries of a part's tables.
const MOST_NUMBERS: usize = 1 << 26;

/// Distribution of a state factor's next value, by rows of its own parents.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'a> {
    /// `[row][value]`
    Exact(&'a [f64]),
    /// Interval bounds, `[row][value]`; planning uses the optimistic member.
    Within([&'a [f64]; 2]),
}

/// The tables of a decomposed world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers<'a> {
    /// Of every state factor.
    pub(crate) next: &'a [Next<'a>],
    /// Tables of the reward terms, by [`Components::reward_terms`].
    pub(crate) rewards: &'a [&'a [f64]],
}

/// Uncertainty, as far as it enlarges the tables of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// Point estimates only.
    Numbers,
    /// Optimistic members of confidence sets, for next values and unknown mechanisms.
    Sets,
}

/// The decomposition of a world: which levers, next values and rewards belong together. Tables are supplied later.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    parts: Vec<Part>,
    /// Reward terms as functions of the present.
    terms: Vec<Term>,
    /// Terms that depend on the state alone: the row of each state.
    of_state: Vec<(usize, Vec<u32>)>,
    /// The state of each joint next value.
    state_of: Vec<u32>,
    next: CauseSpace,
}

impl Components {
    /// Whether to use decomposed planning: there are many joint configurations, and no part is too large.
    pub(crate) fn pay(world: &World, sure: Sure) -> bool {
        Components::are_asked_for(world) && Components::sizes(world, sure).is_ok()
    }

    /// Whether this many joint configurations are too many for joint planning of a decomposable world.
    pub(crate) fn are_many(n_causes: usize) -> bool {
        n_causes > MOST_JOINT
    }

    /// Whether joint configurations are many and decomposed planning is estimated to be faster. A joint stage moves
    /// every state and configuration through every factor; a decomposed stage visits every pair of states.
    fn are_asked_for(world: &World) -> bool {
        let (n_causes, n_states) = (CauseSpace::new(world).len(), world.n_states() as u128);
        let joint = n_states * n_causes as u128 * world.state_space().sizes().iter().sum::<usize>() as u128;
        Components::are_many(n_causes) && 4 * n_states * n_states < joint
    }

    /// The key variables of a part that is too large, with their joint values, if joint configurations are many.
    pub(crate) fn too_large(world: &World, sure: Sure) -> Option<String> {
        let large = Components::sizes(world, sure).err();
        let (causes, n) = large.filter(|_| Components::are_many(CauseSpace::new(world).len()))?;
        let names: Vec<&str> = causes.iter().map(|&id| world.variable(id).name.as_str()).collect();
        let values = n.map_or("more than 2^64".to_owned(), |n| n.to_string());
        Some(format!("{} ({values} joint values)", names.join(", ")))
    }

    /// Whether no part of a world is too large, as far as is known before computing.
    pub(crate) fn fit(world: &World) -> bool {
        Components::sizes(world, Sure::Numbers).is_ok()
    }

    /// Reward terms as functions of the present, with their tables where known. Known rewards of arriving in a state
    /// are added to next-state values instead.
    fn terms(world: &World) -> Vec<Term> {
        let of_term = |(of, term): (usize, &RewardTerm)| match world.mean_is_learned(term) {
            true => Term { of, scope: world.expected_scope(term), table: None },
            false => {
                let RewardTerm { scope, table, .. } = world.expected_term(term);
                Term { of, scope, table }
            }
        };
        Components::paid_now(world).map(of_term).collect()
    }

    /// Scopes of the same terms, without tables.
    fn scopes(world: &World) -> Vec<Term> {
        let scope = |(of, term): (usize, &RewardTerm)| Term { of, scope: world.expected_scope(term), table: None };
        Components::paid_now(world).map(scope).collect()
    }

    fn paid_now(world: &World) -> impl Iterator<Item = (usize, &RewardTerm)> {
        let terms = world.rewards().iter().enumerate();
        terms.filter(|(_, term)| !(term.pays_on_next_state() && term.table.is_some()))
    }

    /// Maximum bytes of all parts' tables; the error has the key variables of a part that is too large, and their joint
    /// values.
    pub(crate) fn sizes(world: &World, sure: Sure) -> Result<u128, (Vec<VarId>, Option<usize>)> {
        let groups = groups(world);
        let (parts, _) = parts(world, &groups, &Components::scopes(world));
        let product = |sizes: Vec<usize>| sizes.into_iter().try_fold(1usize, |n, size| n.checked_mul(size));
        let of_state = |factors: &[usize]| product(factors.iter().map(|&f| world.state_space().sizes()[f]).collect());
        let mut bytes = 0u128;
        for part in &parts {
            let causes = causes_of(&groups, part);
            let n_causes = product(world.sizes(&causes));
            let (rows, block) = (of_state(&part.state), of_state(&part.factors));
            let kept = part.groups.iter().try_fold(1usize, |n, &g| n.checked_mul(most_kept(world, &groups[g], sure)?));
            let points = match sure {
                Sure::Numbers => Some(1),
                Sure::Sets => block.map(most_points),
            };
            let columns = kept.and_then(|n| n.checked_mul(points?)).filter(|&n| n <= MOST_COLUMNS);
            let numbers = |of: Option<usize>| of.and_then(|n| rows?.checked_mul(n)?.checked_mul(columns?));
            let (set_off, moved) = (numbers(n_causes), numbers(block));
            let entries = set_off.and_then(|n| n.checked_add(2 * moved?)).filter(|&n| n <= MOST_NUMBERS);
            let (Some(entries), Some(rows), Some(n_causes), Some(columns)) = (entries, rows, n_causes, columns) else {
                return Err((causes, n_causes));
            };
            // Tables, settings, and row indices of factors and terms for all configurations and rows.
            let settings = (rows * columns) as u128 * 3 * size_of::<super::prune::Setting>() as u128;
            let own = (rows * n_causes) as u128 * 4 * (part.factors.len() + part.terms.len()) as u128;
            // The part itself, its group, and the lists of settings and probabilities of each row.
            let members = part.groups.len() + part.factors.len() + part.terms.len() + part.state.len();
            let lists = size_of::<Part>() + size_of::<Group>() + 96 * (members + causes.len());
            let of_rows = rows * (Group::KEPT_BYTES as usize + size_of::<SetOff>() + 4 * columns);
            bytes += 8 * entries as u128 + settings + own + (lists + of_rows) as u128 + 8 * world.n_states() as u128;
        }
        Ok(bytes)
    }

    /// Maximum bytes of a world's parts and of a kernel of them.
    pub(crate) fn bytes(world: &World, sure: Sure) -> u128 {
        let of_states = 4 * (1 + world.rewards().len() as u128) * world.n_states() as u128;
        // Rewards of the state alone form a group with a row for each state; a kernel has a copy of the interventions.
        let of_row = size_of::<super::prune::Setting>() as u128 + Group::KEPT_BYTES + 16;
        let base = of_row * world.n_states() as u128 + size_of::<Kernel>() as u128 + world.interventions().copy_bytes();
        Components::sizes(world, sure).map_or(u128::MAX, |bytes| bytes + of_states + base)
    }

    /// The parts of a decomposable world.
    pub(crate) fn new(world: &World) -> Components {
        let (groups, terms) = (groups(world), Components::terms(world));
        let (shapes, alone) = parts(world, &groups, &terms);
        let parts: Vec<Part> = shapes.into_iter().map(|shape| Part::new(world, &groups, &terms, shape)).collect();
        let space = world.state_space();
        let of_state = (alone.into_iter())
            .map(|t| {
                let scope: Vec<usize> = terms[t].scope.iter().map(|&id| world.state_axis(id)).collect();
                let row = |s: usize| scope.iter().fold(0, |row, &f| row * space.sizes()[f] + space.digit(s, f)) as u32;
                (t, (0..space.len()).map(row).collect())
            })
            .collect();
        let order: Vec<usize> = parts.iter().flat_map(|part| part.shape.factors.iter().copied()).collect();
        let sizes: Vec<usize> = order.iter().map(|&f| space.sizes()[f]).collect();
        let next = Space::new(&sizes).expect("invariant: as many next values as states");
        let state = |c: usize| (0..order.len()).map(|i| next.digit(c, i) * space.strides()[order[i]]).sum::<usize>();
        let state_of = (0..next.len()).map(|c| state(c) as u32).collect();
        let variables: Vec<VarId> = order.iter().map(|&f| world.state()[f]).collect();
        Components { parts, terms, of_state, state_of, next: CauseSpace { variables, space: next } }
    }

    /// Number of parts with levers.
    pub(crate) fn n_parts(&self) -> usize {
        self.parts.iter().filter(|part| !part.shape.groups.is_empty()).count()
    }

    /// Values of states in the order of joint next values.
    pub(crate) fn arrange(&self, value_s: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.state_of.iter().map(|&s| value_s[s as usize]));
    }

    /// The state of each joint next value.
    pub(crate) fn states(&self) -> &[u32] {
        &self.state_of
    }

    /// The terms, in the order of their tables.
    pub(crate) fn reward_terms(&self) -> &[Term] {
        &self.terms
    }

    /// Reward of a state under every intervention.
    fn paid_by_state(&self, rewards: &[&[f64]], state: usize) -> f64 {
        self.of_state.iter().map(|(t, rows)| rewards[*t][rows[state] as usize]).sum()
    }

    /// The kernel whose configurations are joint next values and whose costs are reduced by rewards; pruned with at
    /// most `work` multiplications. `reach` was made with `kernel`.
    ///
    /// With interval bounds or optimistic members, a search finds at most the joint minimum over interventions and
    /// members. It is exact if every part determines one binary factor and no setting has too many extreme points.
    /// Otherwise a setting's distribution is relaxed to interval bounds on the part's joint next values, or, for more
    /// than six of these, to a total-variation ball around their centre.
    pub(crate) fn kernel(&self, kernel: &Kernel, reach: &Reach, numbers: Numbers<'_>, mut work: i64) -> Kernel {
        let limited = kernel.limit.is_some();
        let mut groups: Vec<Group> = Vec::with_capacity(self.parts.len() + 1);
        if !self.of_state.is_empty() {
            groups.push(part::group_of_states(self.state_of.len(), |s| self.paid_by_state(numbers.rewards, s)));
        }
        let parts = self.parts.iter().zip(&reach.parts);
        groups.extend(parts.map(|(part, reach)| part.group(reach, numbers, limited, &mut work)));
        self.of_groups(kernel, groups, numbers)
    }

    /// The same for one state, where `kernel` has a single intervention (with all its members).
    pub(crate) fn kernel_at(&self, kernel: &Kernel, state: usize, numbers: Numbers<'_>) -> Kernel {
        let paid = self.paid_by_state(numbers.rewards, state);
        let of_part = |part: &Part| {
            let digits = part.row_space.digits(part.row_of(state));
            part.group_at(state, &SetOff::new(kernel, part, &digits), numbers)
        };
        let groups = std::iter::once(part::group_of_states(1, |_| paid)).chain(self.parts.iter().map(of_part));
        self.of_groups(kernel, groups.collect(), numbers)
    }

    fn of_groups(&self, kernel: &Kernel, groups: Vec<Group>, numbers: Numbers<'_>) -> Kernel {
        Kernel {
            interventions: kernel.interventions.clone(),
            state_space: kernel.state_space.clone(),
            causes: self.next.clone(),
            // Pruned alternatives may also have smaller rewards.
            has_costs: kernel.has_costs || numbers.rewards.iter().any(|table| table.iter().any(|&r| r != 0.0)),
            groups,
            cross: kernel.cross.clone(),
            limit: kernel.limit,
        }
    }
}

/// Maximum number of settings that pruning keeps of a group; `None` if it overflows.
///
/// For one or two configurations without costs, with freely combinable settings, only the two ends of a line are kept.
/// Otherwise all settings may stay, with all extreme points.
fn most_kept(world: &World, group: &GroupShape, sure: Sure) -> Option<usize> {
    let all = world.interventions();
    let free = |&lever: &usize| all.costs().get(lever).is_none_or(|costs| costs.iter().all(|&c| c == 0.0));
    let combine = all.forbid().is_empty() && matches!(all.lever_rule(), LeverRule::All);
    let n_causes = world.sizes(&group.causes).iter().product::<usize>();
    let settings = usize::try_from(super::lever_values::n_settings(all, &group.levers)?).ok()?;
    let (variants, listed) = match sure {
        Sure::Numbers => (1, true),
        Sure::Sets => (most_variants(world, group), are_listed(world, group, settings)),
    };
    if n_causes <= 2 && combine && listed && group.levers.iter().all(free) {
        return Some(n_causes);
    }
    settings.checked_mul(variants)
}

/// The key variables of a part, group by group.
fn causes_of(groups: &[GroupShape], part: &PartShape) -> Vec<VarId> {
    part.groups.iter().flat_map(|&g| groups[g].causes.iter().copied()).collect()
}
