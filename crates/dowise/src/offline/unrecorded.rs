//! Missing payments and missing next states by row: what an answer would be if they were as bad or as good as possible.

use std::collections::BTreeMap;

use crate::data::LogStep;
use crate::learn::{Evidence, NextStateRewards, PAID_WHOLE, Payments, View};

/// Missing payments of learned reward terms by row, and steps without a next state by state and joint key values.
#[derive(Clone, Debug)]
pub(crate) struct Unrecorded {
    /// `[term][row]`
    payments: Vec<BTreeMap<usize, u32>>,
    /// The same for next-state terms, by rows of the next values too.
    by_next: Vec<BTreeMap<usize, u32>>,
    /// Steps before the horizon without a next state that did not end their episode, by `[state][joint key values]`.
    dropped: BTreeMap<usize, u32>,
    /// Sum over these of the stages that were left.
    stages_left: f64,
}

/// The value that every missing payment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// The least possible.
    Least,
    /// The greatest possible.
    Greatest,
}

impl Unrecorded {
    pub(crate) fn new(view: &View, next_state_rewards: &NextStateRewards) -> Unrecorded {
        Unrecorded {
            payments: vec![BTreeMap::new(); view.payments.terms.len()],
            by_next: vec![BTreeMap::new(); next_state_rewards.terms.len()],
            dropped: BTreeMap::new(),
            stages_left: 0.0,
        }
    }

    /// Counts a step whose joint key values are known.
    pub(crate) fn add(&mut self, view: &View, terms: &NextStateRewards, step: &LogStep<'_>, cause: usize) {
        let (seen, weight) = (&step.observation, step.weight);
        let (states, n_causes) = (view.knowledge.state_space(), view.payments.n_causes);
        for (term, missing) in view.payments.terms.iter().zip(&mut self.payments) {
            if term.share(seen.rewards()).is_none() {
                *missing.entry(term.row(states, seen.state(), cause, n_causes)).or_insert(0) += weight;
            }
        }
        for (term, missing) in terms.terms.iter().zip(&mut self.by_next) {
            let row = term.row(view.knowledge.world(), seen).filter(|_| seen.rewards()[term.position].is_nan());
            row.into_iter().for_each(|row| *missing.entry(row).or_insert(0) += weight);
        }
        let left = view.layout.horizon - 1 - seen.stage();
        if left > 0 && seen.next_state().is_none() && step.end != Some(crate::data::End::Terminated) {
            *self.dropped.entry(seen.state() * n_causes + cause).or_insert(0) += weight;
            self.stages_left += f64::from(weight) * left as f64;
        }
    }

    pub(crate) fn lacks_payments(&self) -> bool {
        self.payments.iter().any(|missing| !missing.is_empty())
    }

    /// Steps that lack their next state, by `[state][joint key values]`.
    pub(crate) fn dropped(&self) -> &BTreeMap<usize, u32> {
        &self.dropped
    }

    /// Mean number of stages that were left when a next state was not recorded.
    pub(crate) fn stages_left(&self) -> f64 {
        let n: f64 = self.dropped.values().map(|&n| f64::from(n)).sum();
        if n > 0.0 { self.stages_left / n } else { 0.0 }
    }

    /// The evidence with every missing payment at one end of its range.
    ///
    /// With r' the payment if it was recorded and the least possible otherwise, E[r' | row] ≤ E[r | row], however
    /// recording depends on the amount. So a lower bound on the one is a lower bound on the other.
    pub(crate) fn fill(&self, evidence: &mut Evidence, next: Option<&mut NextStateRewards>, fill: Fill) {
        self.fill_part(evidence, next, fill, 1.0);
    }

    /// The evidence with every missing payment this part of the way from its row's mean to one end of its range.
    pub(crate) fn fill_part(
        &self,
        evidence: &mut Evidence,
        next: Option<&mut NextStateRewards>,
        fill: Fill,
        part: f64,
    ) {
        let add = |paid: &mut Payments, missing: &BTreeMap<usize, u32>| {
            let centre = paid.centre();
            for (&row, &n) in missing {
                let share = fill.share(paid, centre, row, part);
                paid.add_times(row, (share * PAID_WHOLE as f64) as u128, n);
            }
        };
        evidence.payments.iter_mut().zip(&self.payments).for_each(|(paid, missing)| add(paid, missing));
        for (term, missing) in next.into_iter().flat_map(|next| &mut next.terms).zip(&self.by_next) {
            add(&mut term.paid, missing);
        }
    }

    /// Mean amount of the missing payments this part of the way from their rows' means to one end of their ranges.
    pub(crate) fn average(&self, evidence: &Evidence, fill: Fill, part: f64) -> f64 {
        self.mean_missing(evidence, |paid, centre, row| fill.share(paid, centre, row, part))
    }

    /// Mean of the recorded payments of the terms that are missing, each term as often as it is missing.
    pub(crate) fn recorded(&self, evidence: &Evidence) -> f64 {
        self.mean_missing(evidence, |paid, centre, _| {
            let n = paid.total() as f64;
            // The centre has one more observation, half of it at either end.
            if n > 0.0 { (centre * (1.0 + n) - 0.5) / n } else { centre }
        })
    }

    /// Mean over the missing payments of an amount that is given as a share of the range, by centre and row.
    fn mean_missing(&self, evidence: &Evidence, share: impl Fn(&Payments, f64, usize) -> f64) -> f64 {
        let (mut sum, mut total) = (0.0, 0.0);
        let terms = evidence.view.payments.terms.iter().zip(&evidence.payments);
        for ((term, paid), missing) in terms.zip(&self.payments) {
            let ([low, high], centre) = (term.range, paid.centre());
            for (&row, &n) in missing {
                sum += f64::from(n) * (low + (high - low) * share(paid, centre, row));
                total += f64::from(n);
            }
        }
        sum / total
    }
}

impl Fill {
    /// The share of the range this part of the way from a row's mean to the end.
    fn share(self, paid: &Payments, centre: f64, row: usize, part: f64) -> f64 {
        let end = match self {
            Fill::Least => 0.0,
            Fill::Greatest => 1.0,
        };
        (part * end + (1.0 - part) * paid.mean_at(centre, row)).clamp(0.0, 1.0)
    }
}
