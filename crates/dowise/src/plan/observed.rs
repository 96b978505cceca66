//! Observed recursion: a look-ahead with a callback for every stage, for policy evaluation.

use super::Lookahead;

/// A look-ahead measured from zero, with a callback for every stage.
///
/// With a cap of 0, losses are −q, and values are Σ P q − cost bit for bit, as in `evaluate.rs`. `watch` receives the
/// stage, the losses (`[state][cause]`), the values of the stage and those of the next.
pub(crate) struct Watched<'a, L, W> {
    pub(crate) look: &'a mut L,
    pub(crate) watch: W,
}

impl<L: Lookahead, W: FnMut(usize, &[f64], &[f64], &[f64]) + Sync> Lookahead for Watched<'_, L, W> {
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        self.look.look(stage, next_value, q);
    }

    fn ended(&self) -> Option<&[bool]> {
        self.look.ended()
    }

    fn cap(&self, _stage: usize) -> f64 {
        0.0
    }

    fn done(&mut self, stage: usize, loss_sc: &[f64], value_s: &[f64], next_s: &[f64]) {
        (self.watch)(stage, loss_sc, value_s, next_s);
    }
}
