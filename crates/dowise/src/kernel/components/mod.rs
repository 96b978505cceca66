//! Worlds that fall apart: planned component by component, never over joint values of all key variables.
//!
//! Groups of levers that act on a common next value or reward term make a *part*. Given a state s and an intervention a, the next
//! values of different parts are independent, and each part k pays and moves by its own levers a_k and key variables z_k alone:
//!
//! ```text
//! μ_k(s'_k | s, a_k) = Σ_{z_k} P(z_k | s, a_k) Π_{i in k} P(s'_i | s, z_k)        r_k(s, a_k) = Σ_{z_k} P(z_k | s, a_k) r_k(s, z_k)
//! Q(s, a) = Σ_k (r_k(s, a_k) − cost(a_k)) + Σ_{s'} Π_k μ_k(s'_k | s, a_k) V(s')
//! ```
//!
//! So a part is a group once more, whose causes are its next values and whose settings cost what they cost less what they pay. The
//! search of a [`Kernel`] over these groups finds the best intervention, and only corners of what a part can reach, in (μ_k, r_k),
//! are looked at. What a plan takes grows with the largest part, not with the product of all of them.

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

/// Joint causes up to which planning over all of them is used: it is faster there, and its results are pinned.
const MOST_JOINT: usize = 1 << 10;

/// Settings of a part that are kept in a row, at most.
const MOST_COLUMNS: usize = 1 << 12;

/// Numbers of a part's tables, at most.
const MOST_NUMBERS: usize = 1 << 26;

/// How the next value of a state factor is decided, by the rows of its own parents.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'a> {
    /// `[row][value]`
    Exact(&'a [f64]),
    /// Within these ends, `[row][value]`; the optimistic member is planned with.
    Within([&'a [f64]; 2]),
}

/// The numbers of a world in parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers<'a> {
    /// Of every state factor.
    pub(crate) next: &'a [Next<'a>],
    /// Tables of the reward terms, by [`Components::reward_terms`].
    pub(crate) rewards: &'a [&'a [f64]],
}

/// What is not exact, as far as it makes tables of parts larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// One number for everything.
    Numbers,
    /// The optimistic member of confidence sets is planned with, for next values and for mechanisms that are not known.
    Sets,
}

/// A world in parts: which levers, next values and rewards belong together. The numbers come later.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    parts: Vec<Part>,
    /// Reward terms as functions of the present.
    terms: Vec<Term>,
    /// Terms that depend on the state alone: the row of each state.
    of_state: Vec<(usize, Vec<u32>)>,
    /// The state that each joint next value, by components, amounts to.
    state_of: Vec<u32>,
    next: CauseSpace,
}

impl Components {
    /// Whether a world is to be planned by components: its joint causes are many, and no part is too large.
    pub(crate) fn pay(world: &World, sure: Sure) -> bool {
        Components::are_asked_for(world) && Components::sizes(world, sure).is_ok()
    }

    /// Whether this many joint causes are more than are listed where a world falls apart.
    pub(crate) fn are_many(n_causes: usize) -> bool {
        n_causes > MOST_JOINT
    }

    /// Whether joint causes are many, and parts would be faster: a stage over joint causes moves every state and cause through every
    /// factor; by parts every pair of states is met with.
    fn are_asked_for(world: &World) -> bool {
        let (n_causes, n_states) = (CauseSpace::new(world).len(), world.n_states() as u128);
        let joint = n_states * n_causes as u128 * world.state_space().sizes().iter().sum::<usize>() as u128;
        Components::are_many(n_causes) && 4 * n_states * n_states < joint
    }

    /// The key variables of a part that is too large, with the number of their joint values, where joint causes are many.
    pub(crate) fn too_large(world: &World, sure: Sure) -> Option<String> {
        let large = Components::sizes(world, sure).err();
        let (causes, n) = large.filter(|_| Components::are_many(CauseSpace::new(world).len()))?;
        let names: Vec<&str> = causes.iter().map(|&id| world.variable(id).name.as_str()).collect();
        let values = n.map_or("more than 2^64".to_owned(), |n| n.to_string());
        Some(format!("{} ({values} joint values)", names.join(", ")))
    }

    /// Whether no part of a world is too large, as far as can be said before anything is computed.
    pub(crate) fn fit(world: &World) -> bool {
        Components::sizes(world, Sure::Numbers).is_ok()
    }

    /// Reward terms as functions of the present, with their numbers where these are known. What arriving in a state is known to pay
    /// counts where next states are looked at.
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

    /// Scopes of the same terms, without their numbers.
    fn scopes(world: &World) -> Vec<Term> {
        let scope = |(of, term): (usize, &RewardTerm)| Term { of, scope: world.expected_scope(term), table: None };
        Components::paid_now(world).map(scope).collect()
    }

    fn paid_now(world: &World) -> impl Iterator<Item = (usize, &RewardTerm)> {
        let terms = world.rewards().iter().enumerate();
        terms.filter(|(_, term)| !(term.pays_on_next_state() && term.table.is_some()))
    }

    /// Bytes that the tables of all parts hold at most; the cause variables of a part that is too large, and their joint values.
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
            // Tables, settings, and for every cause and row which row of each factor and term is meant.
            let settings = (rows * columns) as u128 * 3 * size_of::<super::prune::Setting>() as u128;
            let own = (rows * n_causes) as u128 * 4 * (part.factors.len() + part.terms.len()) as u128;
            // The part itself, as a group as well, and what each of its rows is made of: lists of settings and of probabilities.
            let members = part.groups.len() + part.factors.len() + part.terms.len() + part.state.len();
            let lists = size_of::<Part>() + size_of::<Group>() + 96 * (members + causes.len());
            let of_rows = rows * (Group::KEPT_BYTES as usize + size_of::<SetOff>() + 4 * columns);
            bytes += 8 * entries as u128 + settings + own + (lists + of_rows) as u128 + 8 * world.n_states() as u128;
        }
        Ok(bytes)
    }

    /// Bytes that the parts of a world and a kernel of them take at most.
    pub(crate) fn bytes(world: &World, sure: Sure) -> u128 {
        let of_states = 4 * (1 + world.rewards().len() as u128) * world.n_states() as u128;
        // Rewards of the state alone are a group with a row for each state; a kernel has a copy of the interventions.
        let of_row = size_of::<super::prune::Setting>() as u128 + Group::KEPT_BYTES + 16;
        let base = of_row * world.n_states() as u128 + size_of::<Kernel>() as u128 + world.interventions().copy_bytes();
        Components::sizes(world, sure).map_or(u128::MAX, |bytes| bytes + of_states + base)
    }

    /// The parts of a world that fits.
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

    /// The state that each joint next value amounts to.
    pub(crate) fn states(&self) -> &[u32] {
        &self.state_of
    }

    /// The terms, in the order in which their numbers are asked for.
    pub(crate) fn reward_terms(&self) -> &[Term] {
        &self.terms
    }

    /// What a state pays whatever is done there.
    fn paid_by_state(&self, rewards: &[&[f64]], state: usize) -> f64 {
        self.of_state.iter().map(|(t, rows)| rewards[*t][rows[state] as usize]).sum()
    }

    /// The kernel whose causes are the joint next values, and whose settings cost what they cost less what they pay; pruned with
    /// at most `work` multiplications. `reach` was made with `kernel`.
    ///
    /// Where next values are within intervals, or the kernel with the optimistic members of its sets, the least loss that a search finds is no
    /// more than the least over interventions and members together. It is that least if every part decides one factor of two values
    /// and no setting has too many corners. Else where a setting of a part leads to is taken to be within intervals for every joint
    /// next value of the part, or, of more than six of these, within a ball around their middle.
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

    /// The same for one state, where `kernel` has one intervention alone (with all that it may set off).
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
            // Also what pruning left out may pay less.
            has_costs: kernel.has_costs || numbers.rewards.iter().any(|table| table.iter().any(|&r| r != 0.0)),
            groups,
            cross: kernel.cross.clone(),
            limit: kernel.limit,
        }
    }
}

/// How many settings of a group pruning keeps at most; `None` if that number overflows.
///
/// Of one or two causes without costs, and where all settings combine, only the ends of a line are kept; else perhaps all, with all corners
/// of what they may set off.
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

/// The cause variables of a part, group by group.
fn causes_of(groups: &[GroupShape], part: &PartShape) -> Vec<VarId> {
    part.groups.iter().flat_map(|&g| groups[g].causes.iter().copied()).collect()
}
