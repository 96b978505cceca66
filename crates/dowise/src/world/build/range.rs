//! Range of one step's reward: declared, or derived from its terms.

use super::check::Check;
use crate::Space;
use crate::messages::number_text;
use crate::world::{Located, Problem, RewardTerm, VarId, Written};

/// Maximum number of joint configurations for an exact range of the sum.
const MOST_COMBINATIONS: u128 = 1 << 20;

impl Check {
    /// Checks that a range has finite ends in increasing order.
    pub(crate) fn range(&mut self, range: &Located<Written<[f64; 2]>>, what: &str) -> Option<[f64; 2]> {
        let [lo, hi] = self.read(&range.value)?;
        let good = self.amount(lo, &format!("the lower end of {what}"), range.at);
        if !self.amount(hi, &format!("the upper end of {what}"), range.at) || !good {
            return None;
        }
        if lo > hi {
            let message = format!("{what} goes from {} down to {}", number_text(lo), number_text(hi));
            self.push(Problem::error("range-order", message).help("write the least first").at(range.at));
            return None;
        }
        Some([lo, hi])
    }

    /// Range of the sum of all terms.
    pub(crate) fn reward_range(
        &mut self,
        terms: &[RewardTerm],
        declared: Option<&Located<Written<[f64; 2]>>>,
    ) -> Option<[f64; 2]> {
        let bound = terms.iter().fold([0.0, 0.0], |[lo, hi], t| [lo + t.range[0], hi + t.range[1]]);
        let Some(declared) = declared else {
            let good = bound.iter().all(|&b| self.finite(b, "the sum of all rewards", None));
            return good.then_some(bound);
        };
        let [lo, hi] = self.range(declared, "the range of the rewards")?;
        let slack = slack([lo, hi]);
        if bound[0] >= lo - slack && bound[1] <= hi + slack {
            return Some([lo, hi]);
        }
        let outside = |x: f64| x < lo - slack || x > hi + slack;
        let Some((least, greatest)) = self.exact(terms) else {
            let message = format!(
                "the rewards may add up to anything from {} to {}, outside their range from {} to {}",
                number_text(bound[0]),
                number_text(bound[1]),
                number_text(lo),
                number_text(hi)
            );
            let help = "there are too many combinations to look at each; widen the range unless you are sure";
            self.push(Problem::warning("outside-range", message).help(help).at(declared.at));
            return Some([lo, hi]);
        };
        for (total, given) in [least, greatest] {
            if outside(total) {
                let given = if given.is_empty() { String::new() } else { format!(" for {given}") };
                let message = format!(
                    "the rewards add up to {}{given}, outside their range from {} to {}",
                    number_text(total),
                    number_text(lo),
                    number_text(hi)
                );
                let help = "widen the range or change the values";
                self.push(Problem::error("outside-range", message).help(help).at(declared.at));
                return None;
            }
        }
        Some([lo, hi])
    }

    /// Least and greatest sum with their configurations; `None` if there are too many.
    fn exact(&self, terms: &[RewardTerm]) -> Option<((f64, String), (f64, String))> {
        // A factor's present and next value are distinct variables.
        let axes = |term: &RewardTerm| {
            let of = |ids: &[VarId], next: bool| ids.iter().map(move |&id| (id, next)).collect::<Vec<_>>();
            [of(&term.scope, false), of(&term.next, true)].concat()
        };
        let mut ids: Vec<(VarId, bool)> = Vec::new();
        let mut others = [0.0, 0.0];
        for term in terms {
            match &term.table {
                Some(_) if !term.random => {
                    ids.extend(axes(term).into_iter().filter(|id| !ids.contains(id)).collect::<Vec<_>>())
                }
                _ => others = [others[0] + term.range[0], others[1] + term.range[1]],
            }
        }
        let sizes: Vec<usize> = ids.iter().map(|&(id, _)| self.size(id)).collect();
        super::product(sizes.iter().copied()).filter(|&n| n <= MOST_COMBINATIONS)?;
        let space = Space::new(&sizes)?;
        let (mut least, mut greatest) = ((f64::INFINITY, 0), (f64::NEG_INFINITY, 0));
        for index in 0..space.len() {
            let mut total = 0.0;
            for term in terms.iter().filter(|t| !t.random) {
                let Some(table) = &term.table else { continue };
                let digit = |id| ids.iter().position(|i| *i == id).map_or(0, |axis| space.digit(index, axis));
                let at = axes(term).into_iter().fold(0, |at, id| at * self.size(id.0) + digit(id));
                total += table[at];
            }
            if total < least.0 {
                least = (total, index);
            }
            if total > greatest.0 {
                greatest = (total, index);
            }
        }
        let given = |index: usize| {
            let part = |(&(id, next), v): (&(VarId, bool), usize)| {
                format!("{}{}", if next { "next." } else { "" }, self.combination(&[id], &[v]))
            };
            ids.iter().zip(space.digits(index)).map(part).collect::<Vec<_>>().join(", ")
        };
        Some(((least.0 + others[0], given(least.1)), (greatest.0 + others[1], given(greatest.1))))
    }
}

/// Least and greatest entry; 0 to 0 for an empty table.
pub(crate) fn extremes(table: &[f64]) -> [f64; 2] {
    let lo = table.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if lo <= hi { [lo, hi] } else { [0.0, 0.0] }
}

/// Rounding tolerance of a range.
pub(crate) fn slack([lo, hi]: [f64; 2]) -> f64 {
    1e-9 * (1.0 + lo.abs().max(hi.abs()))
}
