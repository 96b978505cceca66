//! Rewards of terminal states: they are never paid, so they do not count for the range of a step.

use super::check::Check;
use super::range::extremes;
use super::time_index;
use crate::Space;
use crate::world::{Ends, Problem, RewardSpec, RewardTerm, VarId};

impl Check {
    /// Excludes unpaid rewards from the range of each term, with a warning: a reward for reaching an end belongs to the
    /// next value.
    pub(crate) fn unpaid(
        &mut self,
        terms: &mut [RewardTerm],
        specs: &[RewardSpec],
        state: &[VarId],
        states: &Space,
        ends: &Ends,
    ) {
        for (term, spec) in terms.iter_mut().zip(specs) {
            let Some(table) = &term.table else { continue };
            // The state part of a table row, and whether it contains a non-terminal state.
            let axes: Vec<(usize, usize)> = (term.scope.iter().enumerate())
                .filter_map(|(i, id)| state.iter().position(|s| s == id).map(|axis| (i, axis)))
                .collect();
            let part = Space::new(&axes.iter().map(|&(_, axis)| states.sizes()[axis]).collect::<Vec<_>>());
            let (Some(part), false) = (part, axes.is_empty()) else { continue };
            let mut goes_on = vec![false; part.len()];
            for s in (0..states.len()).filter(|&s| !ends.states[s]) {
                let index = axes.iter().fold(0, |at, &(_, axis)| at * states.sizes()[axis] + states.digit(s, axis));
                goes_on[index] = true;
            }
            if goes_on.iter().all(|&on| on) {
                continue;
            }
            let present = Space::new(&term.scope.iter().map(|&id| self.size(id)).collect::<Vec<_>>())
                .expect("invariant: the table of the term has at least as many rows");
            let n_next = table.len() / present.len();
            let is_paid = |entry: usize| {
                let row = entry / n_next;
                goes_on[axes.iter().fold(0, |at, &(i, axis)| at * states.sizes()[axis] + present.digit(row, i))]
            };
            let paid: Vec<f64> = (0..table.len()).filter(|&entry| is_paid(entry)).map(|entry| table[entry]).collect();
            // A rule about levers and key variables may cover such a state incidentally.
            let of_states = axes.len() == term.scope.len() && term.next.is_empty();
            let lost = (0..table.len()).find(|&entry| of_states && !is_paid(entry) && table[entry] != 0.0);
            if let Some(lost) = lost {
                let digits = present.digits(lost / n_next);
                let ids: Vec<VarId> = axes.iter().map(|&(i, _)| term.scope[i]).collect();
                let values: Vec<usize> = axes.iter().map(|&(i, _)| digits[i]).collect();
                // The stage alone is no terminal condition that a reward could refer to.
                let factor = ids.iter().find(|&&id| self.name(id) != time_index::STAGE).or(ids.first());
                let factor = factor.map_or(String::new(), |&id| self.name(id).to_owned());
                let message = format!(
                    "reward \"{}\" pays for {}, where the episode has ended: nobody is paid it",
                    term.name,
                    self.combination(&ids, &values)
                );
                let help = format!("for what reaching it pays write `next.{factor}` in the scope, otherwise 0 here");
                self.push(Problem::warning("never-paid", message).help(help).at(spec.at.or(spec.name.at)));
            }
            if spec.range.is_none() {
                term.range = extremes(&paid);
            }
            // Unpaid values are clamped to the range.
            let [lo, hi] = term.range;
            let kept = (0..table.len()).map(|e| if is_paid(e) { table[e] } else { table[e].clamp(lo, hi) });
            term.table = Some(kept.collect::<Vec<_>>().into());
        }
    }
}
