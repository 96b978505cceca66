//! Selection of interventions under unknown mechanisms: P(c | s, a) according to the estimator.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::{Backend, Belief, Estimator, Interval, Intervals, MechanismEstimator, read_kernel};
use crate::kernel::{Kernel, Member};
use crate::learn::LearnResult;
use crate::learn::evidence::Evidence;
use crate::learn::selector::Selector;
use crate::learn::view::MechanismRows;

impl Belief {
    /// The selector of interventions under the estimated mechanisms or components; `None` if joint key values are
    /// enumerated and mechanisms known.
    pub(crate) fn selector(&mut self, evidence: &Evidence, rng: &mut ChaCha8Rng) -> LearnResult<Option<Selector>> {
        let kernel = match &evidence.view.mechanisms {
            None => None,
            Some(rows) => Some(self.kernel(evidence, rows, rng)?),
        };
        Ok(match (&self.kept, &evidence.view.decomposed) {
            (Backend::Decomposed(belief), Some(decomposed)) => {
                Some(Selector::Parts(Box::new(belief.selector(decomposed, kernel.map(Arc::new)))))
            }
            _ => kernel.map(|kernel| Selector::Kernel(Box::new(kernel))),
        })
    }

    /// P(c | s, a) by the estimated mechanisms.
    fn kernel(&mut self, evidence: &Evidence, rows: &MechanismRows, rng: &mut ChaCha8Rng) -> LearnResult<Kernel> {
        let (confidence, forms) = (self.confidence, self.forms);
        let rule = |scale| Interval { confidence, scale };
        let kept = &mut self.intervals;
        let reading = match self.reading {
            Estimator::Width(_, scale) => within(kept, rule(Some(scale)), (Member::Optimistic, forms)),
            Estimator::Greedy => within(kept, rule(Some(0.0)), (Member::Optimistic, forms)),
            Estimator::Optimistic(_) => within(kept, rule(None), (Member::Optimistic, forms)),
            // In decomposed planning, the pessimistic estimate is the optimistic one of parameters times −1, among the
            // same corners.
            Estimator::Pessimistic(_) if evidence.view.decomposed.is_some() => {
                within(kept, rule(None), (Member::Optimistic, forms))
            }
            Estimator::Pessimistic(_) => within(kept, rule(None), (Member::Pessimistic, forms)),
            Estimator::Sample { prior } => MechanismEstimator::Sample { prior, spread: self.spread, rng },
            Estimator::Mean { prior } => MechanismEstimator::Mean { prior, pooled: false },
            Estimator::Pooled { prior } => MechanismEstimator::Mean { prior, pooled: true },
        };
        read_kernel(&evidence.mechanisms, rows, reading, evidence.view.decomposed.is_some())
    }
}

/// An estimator with intervals, reusing those of the last time if there are any.
fn within<R>(
    kept: &mut Option<Intervals>,
    rule: Interval,
    (member, forms): (Member, bool),
) -> MechanismEstimator<'_, R> {
    MechanismEstimator::Within(kept.get_or_insert_with(|| Intervals::new(rule)), member, forms)
}

/// The kernel by frequencies, uniform for unvisited rows.
pub(crate) fn mean_kernel(evidence: &Evidence, rows: &MechanismRows) -> LearnResult<Kernel> {
    read_kernel::<ChaCha8Rng>(&evidence.mechanisms, rows, MechanismEstimator::Mean { prior: 0.0, pooled: false }, false)
}
