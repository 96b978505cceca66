//! Next-state rewards: their expectation is added to the rewards of a step.

use std::sync::Arc;

use super::{Backend, Belief};
use crate::learn::next_state_rewards::NextStateRewards;

/// Estimated next-state rewards.
#[derive(Clone, Debug, Default)]
pub(super) struct NextStateMeans {
    /// For each term, by its rows.
    pub(super) paid: Vec<Vec<f64>>,
    /// Their total expectation, `[state][cause]`.
    pub(super) expected_sc: Vec<f64>,
}

impl Belief {
    /// Estimates next-state terms from these reward observations in place of the mean rewards in the evidence. They
    /// are unbiased even if rewards are missing depending on the next values.
    pub(crate) fn use_next_state_rewards(&mut self, next_state_rewards: Arc<NextStateRewards>) {
        self.next_state_rewards = (!next_state_rewards.terms.is_empty()).then_some(next_state_rewards);
    }

    /// Adds E[r | s, c] = Σ_s′ P(s′ | s, c) r(scope, s′) of every next-state term to the rewards.
    ///
    /// # Cost
    /// One lookahead for each row of a term's present.
    pub(super) fn add_next_state_rewards(&mut self, next_state_rewards: &NextStateRewards) {
        let view = self.frame.view.clone();
        let (states, n_causes) = (view.knowledge.state_space(), view.payments.n_causes);
        self.arrived.expected_sc.clear();
        self.arrived.expected_sc.resize(self.frame.reward_sc.len(), 0.0);
        let (mut worth, mut expected) = (Vec::new(), Vec::new());
        for (i, term) in next_state_rewards.terms.iter().enumerate() {
            for now in 0..term.n_present() {
                let paid = &self.arrived.paid[i][now * term.n_next..];
                worth.clear();
                worth.extend((0..states.len()).map(|s| paid[term.next_row(states, s)]));
                self.expect(&worth, &mut expected);
                for (s, out) in self.arrived.expected_sc.chunks_exact_mut(n_causes).enumerate() {
                    let rows = term.present.of_state_row(term.present.state_row(states, s), n_causes);
                    let here = &expected[s * n_causes..];
                    let mine = rows.iter().enumerate().filter(|(_, row)| **row as usize == now);
                    mine.for_each(|(c, _)| out[c] += here[c]);
                }
            }
        }
        let pairs = self.frame.reward_sc.iter_mut().zip(&self.arrived.expected_sc);
        pairs.for_each(|(reward, more)| *reward += more);
    }

    /// E[u(s′) | s, c] at the first stage, `[state][cause]`: no rewards, no ceiling.
    fn expect(&mut self, worth: &[f64], out: &mut Vec<f64>) {
        let frame = &mut self.frame;
        match &mut self.kept {
            Backend::Mean(belief) => belief.expect(frame, worth, out),
            Backend::Sample(belief) => belief.expect(frame, worth, out),
            Backend::Sets(belief) => belief.expect(frame, 0, worth, out),
            Backend::StickBreaking(belief) => belief.expect(frame, worth, out),
            Backend::Sparse(_) | Backend::LazyRows(..) | Backend::Decomposed(_) => {
                unreachable!("invariant: payments by next values are read where the state is seen as factors")
            }
        }
    }

    /// The expected reward of a step, next-state rewards included.
    pub(crate) fn paid_for(&self, state: usize, cause: usize, next: usize) -> f64 {
        let (view, cell) = (&self.frame.view, state * self.frame.n_causes() + cause);
        let states = view.knowledge.state_space();
        let continuation = self.frame.continuation.as_ref().map_or(0.0, |continuation| continuation.arrival_of(next));
        let Some(next_state_rewards) = &self.next_state_rewards else {
            return self.frame.reward_sc[cell] + continuation;
        };
        let by_next = next_state_rewards.terms.iter().zip(&self.arrived.paid).map(|(term, paid)| {
            let now = term.present.row(states, state, cause, view.payments.n_causes);
            paid[now * term.n_next + term.next_row(states, next)]
        });
        self.frame.reward_sc[cell] - self.arrived.expected_sc[cell] + by_next.sum::<f64>() + continuation
    }
}
