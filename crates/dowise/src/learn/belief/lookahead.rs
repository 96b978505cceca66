//! One-step lookahead: q of a stage, or of one state, from the values of the next stage.

use super::{Backend, Belief};
use crate::kernel::Found;
use crate::plan::{Lookahead, turn_into_losses};

impl Belief {
    /// q of a stage; returns whether losses were written instead.
    #[inline]
    fn look_for<const LOSSES: bool>(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) -> bool {
        let frame = &mut self.frame;
        let mut changed = Vec::new();
        let next_value = frame.worth(next_value, &mut changed);
        match &mut self.kept {
            Backend::Mean(belief) => belief.look::<LOSSES>(frame, stage, next_value, q),
            Backend::Sets(belief) => belief.look::<LOSSES>(frame, stage, next_value, q),
            Backend::Sample(belief) => belief.look::<LOSSES>(frame, stage, next_value, q),
            Backend::StickBreaking(belief) => belief.look::<LOSSES>(frame, stage, next_value, q),
            Backend::Sparse(belief) => {
                belief.look(frame, stage, next_value, q);
                false
            }
            Backend::LazyRows(lazy_rows, _) => {
                lazy_rows.look(frame.view.block(stage), next_value, &frame.reward_sc, q);
                false
            }
            Backend::Decomposed(_) => {
                frame.arrange(next_value, q);
                false
            }
        }
    }

    /// q(s, ·) of one state.
    pub(crate) fn look_at(&mut self, stage: usize, state: usize, next_value: &[f64], q: &mut Vec<f64>) {
        let frame = &self.frame;
        let mut changed = Vec::new();
        let next_value = frame.worth(next_value, &mut changed);
        match &mut self.kept {
            Backend::Mean(belief) => belief.look_at(frame, stage, state, next_value, q),
            Backend::Sets(belief) => belief.look_at(frame, stage, state, next_value, q),
            Backend::Sample(belief) => belief.look_at(frame, stage, state, next_value, q),
            Backend::StickBreaking(belief) => belief.look_at(frame, stage, state, next_value, q),
            Backend::Sparse(belief) => belief.look_at(frame, stage, state, next_value, q),
            Backend::LazyRows(lazy_rows, _) => {
                let n = frame.n_causes();
                let reward_a = &frame.reward_sc[state * n..(state + 1) * n];
                lazy_rows.look_at(frame.view.block(stage), state, next_value, reward_a, q);
            }
            Backend::Decomposed(_) => frame.arrange(next_value, q),
        }
    }
}

impl Lookahead for Belief {
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        self.look_for::<false>(stage, next_value, q);
    }

    fn losses(&mut self, stage: usize, next_value: &[f64], out: &mut Vec<f64>) {
        if !self.look_for::<true>(stage, next_value, out) {
            turn_into_losses(out, self.frame.caps[stage]);
        }
    }

    fn is_shared(&self) -> bool {
        matches!(self.kept, Backend::Decomposed(_))
    }

    fn chosen(&self, stage: usize, _state: usize, _loss: &[f64], found: &Found) -> f64 {
        let cap = self.frame.caps[stage];
        let value = cap - found.least;
        if !self.is_shared() {
            // Over joint key values every q is below the ceiling already.
            return value;
        }
        // The ceiling bounds rewards; costs may be negative.
        value.min(cap - self.least_cost)
    }

    fn cap(&self, stage: usize) -> f64 {
        self.frame.caps[stage]
    }

    fn ended(&self) -> Option<&[bool]> {
        self.frame.view.knowledge.world().ended()
    }
}
