//! How large a world may be: everything that is allocated for one is counted first, here.

use super::check::{Check, number_text};
use super::{count_text, product};
use crate::world::{At, Problem, World};

/// Most entries of one table, and most states: 2 GiB of numbers.
pub(crate) const MOST_ENTRIES: usize = 1 << 28;
/// Most entries of all tables together.
const MOST_ENTRIES_IN_ALL: usize = MOST_ENTRIES;
/// Most values of one variable.
pub(crate) const MOST_VALUES: usize = 1 << 20;
/// Most values of all variables together: each is kept by name.
pub(crate) const MOST_VALUES_IN_ALL: usize = 1 << 21;
/// Longest episode.
pub(crate) const LONGEST_HORIZON: u64 = 1_000_000;
/// Largest reward or cost: sums over an episode, and their squares, stay far below the largest number there is.
pub(crate) const MOST_PAID: f64 = 1e100;
/// Most pairs of a state and a joint value of what acts: they are counted, though not all are ever listed.
const MOST_PAIRS: u128 = 1 << 62;

impl Check {
    /// A reward, a cost or an end of a range: an ordinary number that sums can be made of, or a problem.
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

    /// Counts the entries of a table that is about to be made, or says that there are too many in all.
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

    /// Whether the values of all variables together can be kept.
    pub(crate) fn count_values(&mut self, total: usize) -> bool {
        if total > MOST_VALUES_IN_ALL {
            self.push(too_many_values(total as u128));
        }
        total <= MOST_VALUES_IN_ALL
    }

    /// Whether states and causes can be numbered together.
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
            super::check::some_of(&names),
            count_text(pairs)
        );
        let help = "at most 2^62; fewer variables in the scopes of transitions and rewards, or fewer values of each";
        self.push(Problem::error("too-large", message).help(help));
        false
    }
}

/// More values of all variables together than are kept.
pub(crate) fn too_many_values(total: u128) -> Problem {
    let message = format!(
        "all variables together have {} values or more, more than the {} that fit",
        count_text(Some(total)),
        count_text(Some(MOST_VALUES_IN_ALL as u128))
    );
    Problem::error("too-large", message).help("fewer variables, or fewer values of each")
}
