//! Size limits of a world, checked before any allocation.

use super::check::Check;
use super::{count_text, product};
use crate::messages::{number_text, some_of};
use crate::world::{At, Problem, World};

/// Maximum number of entries of one table, and of states: 2 GiB of numbers.
pub(crate) const MOST_ENTRIES: usize = 1 << 28;
/// Maximum number of entries of all tables.
const MOST_ENTRIES_IN_ALL: usize = MOST_ENTRIES;
/// Maximum number of values of one variable.
pub(crate) const MOST_VALUES: usize = 1 << 20;
/// Maximum number of values of all variables: each is stored by name.
pub(crate) const MOST_VALUES_IN_ALL: usize = 1 << 21;
/// Maximum horizon.
pub(crate) const LONGEST_HORIZON: u64 = 1_000_000;
/// Maximum absolute reward or cost: returns and their squares stay far below overflow.
pub(crate) const MOST_PAID: f64 = 1e100;
/// Maximum number of pairs of a state and joint key values: they are numbered, though never all enumerated.
const MOST_PAIRS: u128 = 1 << 62;

impl Check {
    /// Checks that a reward, a cost or an end of a range is finite and small enough to be summed.
    pub(crate) fn amount(&mut self, number: f64, what: &str, at: Option<At>) -> bool {
        if number.is_finite() && number.abs() > MOST_PAID {
            let message = format!("{what} is {}, which is too large to add up", number_text(number));
            let help =
                "rewards and costs go from -1e100 to 1e100; take a larger unit, and forbid what is out of the question";
            self.push(Problem::error("too-large", message).help(help).at(at));
            return false;
        }
        self.finite(number, what, at)
    }

    /// Reserves the entries of a new table, or reports that there are too many in total.
    pub(crate) fn reserve(&mut self, what: &str, entries: usize, at: Option<At>) -> Option<()> {
        self.entries = self.entries.saturating_add(entries);
        if self.entries <= MOST_ENTRIES_IN_ALL {
            return Some(());
        }
        if self.entries - entries <= MOST_ENTRIES_IN_ALL {
            let message = format!(
                "with {what} all tables together would have {} entries, more than the {} that fit",
                count_text(Some(self.entries as u128)),
                count_text(Some(MOST_ENTRIES_IN_ALL as u128))
            );
            let help = "fewer parents, or fewer values of each";
            self.push(Problem::error("too-large", message).help(help).at(at));
        }
        None
    }

    /// Whether the values of all variables fit into memory.
    pub(crate) fn count_values(&mut self, total: usize) -> bool {
        if total > MOST_VALUES_IN_ALL {
            self.push(too_many_values(total as u128));
        }
        total <= MOST_VALUES_IN_ALL
    }

    /// Whether states and joint key values can be numbered jointly.
    pub(crate) fn count_pairs(&mut self, world: &World) -> bool {
        let causes = world.cause_variables();
        let sizes = causes.iter().map(|&id| self.size(id));
        let pairs = product(sizes.chain([world.state_space.len()]));
        if pairs.is_some_and(|n| n <= MOST_PAIRS) {
            return true;
        }
        let names: Vec<String> = causes.iter().map(|&id| self.name(id).to_owned()).collect();
        let message = format!(
            "{} have {} joint values together with the states, too many to number",
            some_of(&names),
            count_text(pairs)
        );
        let help = "at most 2^62; fewer variables in the scopes of transitions and rewards, or fewer values of each";
        self.push(Problem::error("too-large", message).help(help));
        false
    }
}

/// The problem of too many values in total.
pub(crate) fn too_many_values(total: u128) -> Problem {
    let message = format!(
        "all variables together have {} values or more, more than the {} that fit",
        count_text(Some(total)),
        count_text(Some(MOST_VALUES_IN_ALL as u128))
    );
    Problem::error("too-large", message).help("fewer variables, or fewer values of each")
}
