//! Enumeration of the settings of one group's levers, and memory bounds of its tables.

use super::elimination::{MAX_ENTRIES, TooLarge};
use super::group::Group;
use super::groups::GroupShape;
use crate::Space;
use crate::world::{Interventions, LeverRule, World};

/// The value of each lever of a group under every setting, in increasing order of the setting.
#[derive(Clone, Debug)]
pub(super) struct LeverValues {
    n_levers: usize,
    len: usize,
    /// `[setting][lever]`: 0 leaves it alone, d > 0 sets it to its value d − 1.
    digits: Vec<u32>,
}

impl LeverValues {
    /// All settings of these levers under the intervention rules.
    pub(super) fn new(all: &Interventions, levers: &[usize]) -> Result<LeverValues, TooLarge> {
        let entries = n_settings(all, levers);
        let too_large = TooLarge { entries: entries.and_then(|n| usize::try_from(n).ok()) };
        let Some(len) = too_large.entries.filter(|&n| n <= MAX_ENTRIES) else { return Err(too_large) };
        let n_levers = levers.len();
        let mut digits = Vec::with_capacity(len.saturating_mul(n_levers));
        if let LeverRule::List(list) = all.lever_rule() {
            let digit = |a, lever| all.lever(a, lever).map_or(0, |v| v as u32 + 1);
            digits.extend(list.iter().flat_map(|&a| levers.iter().map(move |&lever| digit(a, lever))));
            return Ok(LeverValues { n_levers, len, digits });
        }
        let least = u32::from(matches!(all.lever_rule(), LeverRule::All));
        let most_set = match all.lever_rule() {
            LeverRule::AtMost(k) => *k,
            LeverRule::All | LeverRule::List(_) => n_levers,
        };
        let mut now = vec![least; n_levers];
        loop {
            if now.iter().filter(|&&d| d > 0).count() <= most_set {
                digits.extend_from_slice(&now);
            }
            let Some(lever) = (0..n_levers).rev().find(|&l| (now[l] as usize) < all.sizes()[levers[l]]) else { break };
            now[lever] += 1;
            now[lever + 1..].fill(least);
        }
        debug_assert_eq!(digits.len(), len * n_levers);
        Ok(LeverValues { n_levers, len, digits })
    }

    /// Number of settings.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The value that a setting gives the lever at a position: `None` leaves it alone.
    pub(super) fn value(&self, setting: usize, position: usize) -> Option<usize> {
        (self.digits[setting * self.n_levers + position] as usize).checked_sub(1)
    }

    /// One bit for each lever that the setting sets. An intervention's number leaves room for 64 levers.
    pub(super) fn is_set(&self, setting: usize) -> u64 {
        (0..self.n_levers).filter(|&p| self.value(setting, p).is_some()).map(|p| 1 << p).sum()
    }
}

/// Number of settings of these levers; `None` if it overflows.
pub(super) fn n_settings(all: &Interventions, levers: &[usize]) -> Option<u64> {
    if let LeverRule::List(list) = all.lever_rule() {
        return Some(list.len() as u64);
    }
    let sizes = levers.iter().map(|&lever| all.sizes()[lever]).collect();
    Some(Interventions::new(sizes, all.lever_rule().clone(), vec![], vec![])?.count())
}

/// Maximum bytes of a group's tables, including their construction.
pub(super) fn bytes(world: &World, shape: &GroupShape) -> u128 {
    let size = |ids: &mut dyn Iterator<Item = usize>| ids.fold(1u128, |n, size| n.saturating_mul(size as u128));
    let rows = size(&mut shape.state.iter().map(|&f| world.state_space().sizes()[f]));
    let causes = size(&mut world.sizes(&shape.causes).into_iter());
    let Some(settings) = n_settings(world.interventions(), &shape.levers) else { return u128::MAX };
    let settings = u128::from(settings);
    // The probabilities, then their pruned copy; or, during construction, the intermediate tables of elimination.
    let probabilities = rows.saturating_mul(causes).saturating_mul(settings).saturating_mul(8);
    let meanwhile = probabilities.max(super::tabulate::bytes_meanwhile(world, shape));
    let probabilities = probabilities.saturating_add(meanwhile);
    let own = settings.saturating_mul(size_of::<super::prune::Setting>() as u128 + 4 * shape.levers.len() as u128);
    // The kept settings of each row, and the group itself with its lists.
    let kept = rows.saturating_mul(Group::KEPT_BYTES + 4 * settings);
    let own = own.saturating_add(kept).saturating_add(Group::own_bytes(shape));
    let row_of_state = if shape.state.is_empty() || !world.is_enumerable() { 0 } else { 4 * world.n_states() as u128 };
    probabilities.saturating_add(own).saturating_add(row_of_state)
}

/// Bytes of all groups' tables, a copy of the interventions, and lists of states and key variables.
pub(super) fn total_bytes(world: &World, shapes: &[GroupShape]) -> u128 {
    let lists = 16 * (world.state().len() + world.variables().len()) as u128;
    let own = size_of::<super::Kernel>() as u128 + lists + world.interventions().copy_bytes();
    shapes.iter().fold(own, |sum, shape| sum.saturating_add(bytes(world, shape)))
}

/// Bytes of the uncertainty of learned mechanisms.
pub(super) fn doubt_bytes(world: &World, shapes: &[GroupShape]) -> u128 {
    shapes.iter().fold(0u128, |sum, shape| {
        let size = |sizes: &mut dyn Iterator<Item = usize>| sizes.fold(1u128, |n, m| n.saturating_mul(m as u128));
        let rows = size(&mut shape.state.iter().map(|&f| world.state_space().sizes()[f]));
        let causes = size(&mut world.sizes(&shape.causes).into_iter());
        let settings = n_settings(world.interventions(), &shape.levers).map_or(u128::MAX, u128::from);
        let entries = rows.saturating_mul(causes).saturating_mul(settings);
        let columns = settings.saturating_mul(super::variants::most_variants(world, shape) as u128);
        // The extreme points of all columns, then their pruned copy; or both interval ends; and a radius.
        let corners = super::variants::most_entries(world, shape, entries).saturating_mul(16);
        let own = columns.saturating_mul(size_of::<super::prune::Setting>() as u128 + 8 + 16);
        let radius = rows.saturating_mul(settings).saturating_mul(8);
        [corners, own, radius].into_iter().fold(sum, u128::saturating_add)
    })
}

/// Peak bytes for finding extreme points, one group at a time.
pub(super) fn passing_bytes(world: &World, shapes: &[GroupShape]) -> u128 {
    shapes.iter().map(|shape| super::variants::corner_bytes(world, shape)).max().unwrap_or(0)
}

/// The joint values of some state factors.
pub(super) fn row_space(world: &World, shape: &GroupShape) -> Space {
    let sizes: Vec<usize> = shape.state.iter().map(|&f| world.state_space().sizes()[f]).collect();
    Space::new(&sizes).expect("invariant: a group has no more rows than there are states")
}
