//! Suboptimality certificates for decomposed planning: the optimistic plan's value less the policy's pessimistic
//! value.
//!
//! V* ≤ up, the value of the optimistic plan, and V^π ≥ low, the pessimistic value of π, both by components, so that
//! V* − V^π ≤ up − low. Uncertainty common to both policies counts twice. The sharper comparison of `difference.rs`,
//! and the comparison with random interventions, need joint key values, which are too many here.

use super::difference::raise;
use super::{Certificate, SETS};
use crate::learn::belief::Estimator;
use crate::learn::options::Options;
use crate::learn::tabular::Tabular;
use crate::learn::{LearnResult, Plans};
use crate::plan::{Buffers, Follow, Lookahead, Plan, Ties, backward_induction};
use crate::tolerance::STAGE_VALUE;
use crate::world::Action;

/// Optimistic plan from the evidence, for comparison with policies.
pub(super) struct ByBounds<'a> {
    tabular: &'a Tabular,
    /// Options with the δ of every single set.
    options: Options,
    delta: f64,
    up: Plan,
    floors: Vec<f64>,
    rounding: f64,
    ended: Option<Vec<bool>>,
}

impl<'a> ByBounds<'a> {
    /// # Cost
    /// One plan.
    pub(super) fn new(tabular: &'a Tabular, options: &Options) -> LearnResult<ByBounds<'a>> {
        // Forms are not used: sets hold for every row of a mechanism, of which there are more than parameters.
        let rows = tabular.view().rows() as f64 / tabular.view().rows_alone() as f64;
        let (delta, options) = (options.delta, Options { delta: options.delta * rows.min(1.0), ..options.clone() });
        let mut best = tabular.belief_with(Estimator::Optimistic(SETS), &options, None).without_forms();
        let selector = tabular.draw(&mut best, 0)?;
        let mut up = Plan::new(tabular.plan().horizon, tabular.plan().n_states);
        let (ties, mut buffers) = (Ties::First, Buffers::default());
        backward_induction(&mut best, &selector, tabular.tolerance(), ties, &mut buffers, &mut up);
        let [least, _] = tabular.knowledge().world().step_range();
        let floors: Vec<f64> = (0..=up.horizon).map(|stage| (up.horizon - stage) as f64 * least).collect();
        let largest = best.caps().iter().chain(&floors).fold(0.0, |most: f64, v| most.max(v.abs()));
        let rounding = STAGE_VALUE * up.horizon as f64 * largest;
        let ended = best.ended().map(<[bool]>::to_vec);
        Ok(ByBounds { tabular, options, delta, up, floors, rounding, ended })
    }

    /// The certificate of an allowed policy.
    ///
    /// # Cost
    /// One evaluation: for every stage and state, a search among the corners of the intervention's possible effects.
    pub(super) fn certify(&self, policy_hs: Vec<Action>) -> LearnResult<Certificate> {
        let n = self.up.n_states;
        let mut worst = self.tabular.belief_with(Estimator::Pessimistic(SETS), &self.options, None).without_forms();
        let selector = self.tabular.draw(&mut worst, 0)?;
        let (mut low, mut follow) = (Plan::new(self.up.horizon, n), Follow::default());
        follow.decode(&selector, &policy_hs);
        let following = follow.through(&selector, n);
        backward_induction(&mut worst, &following, 0.0, Ties::First, &mut Buffers::default(), &mut low);
        raise(&mut low.value_hs, &self.floors, n);
        let ended = |state: usize| self.ended.as_ref().is_some_and(|ended| ended[state]);
        let off = self.rounding;
        let bounds = self.up.value_hs[..n].iter().zip(&low.value_hs).enumerate();
        let gap = bounds.map(|(s, (up, low))| if ended(s) { 0.0 } else { (up - low).max(0.0) });
        Ok(Certificate {
            delta: self.delta,
            gap_s: gap.map(|x| x + 2.0 * off).collect(),
            at_least_s: low.value_hs[..n].iter().map(|v| v - off).collect(),
            best_at_most_s: self.up.value_hs[..n].iter().map(|v| v + off).collect(),
            above_random_s: None,
            rounding: 2.0 * off,
            evidence: self.tabular.evidence.fingerprint(),
            policy_hs,
        })
    }
}
