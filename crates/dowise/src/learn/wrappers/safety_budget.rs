//! Safety budget of conservative exploration, for programs that run episodes without a learner's sessions, such as a
//! service.
//!
//! The guarantee and its proof are those of `conservative.rs`: with f the least return of an episode, at all times
//! simultaneously with probability 1 − δ,
//!
//! ```text
//! Σ_{l ≤ k} (V^{π_l} − f) ≥ (1 − α) k (V^b − f).
//! ```

use serde::{Deserialize, Serialize};

use super::conservative::brought;
use super::return_bound::ReturnBound;
use crate::learn::error::check_delta;
use crate::learn::{Knowledge, LearnError, LearnResult, Observation};

/// Shares of δ of the three bounds: of other episodes from below, of the baseline from above, and from below.
const SHARES: [f64; 3] = [0.5, 0.375, 0.125];

/// Safety budget of conservative exploration, from the returns of episodes.
///
/// Begin an episode of another policy only where [`allows_another`](SafetyBudget::allows_another) says so. Amounts are shares of what an episode can
/// pay: see [`share_of_episode`].
///
/// ```
/// use dowise::learn::SafetyBudget;
/// let mut ledger = SafetyBudget::new(0.1, 0.05)?;
/// assert!(!ledger.allows_another(), "nothing is known of the baseline yet");
/// for _ in 0..30 {
///     ledger.begin(true);
///     ledger.end(true, [0.5, 0.5]);
/// }
/// assert!(ledger.allows_another(), "a tenth of thirty episodes may be lost");
/// # Ok::<(), dowise::learn::LearnError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SafetyBudget {
    alpha: f64,
    delta: f64,
    others: ReturnBound,
    own: ReturnBound,
}

impl SafetyBudget {
    /// No episode yet; the share α of the baseline may be lost, and the guarantee may fail with probability δ.
    pub fn new(alpha: f64, delta: f64) -> LearnResult<SafetyBudget> {
        check_alpha(alpha)?;
        check_delta(delta)?;
        Ok(SafetyBudget { alpha, delta, others: ReturnBound::default(), own: ReturnBound::default() })
    }

    /// Whether the guarantee would hold even if one more episode of another policy had the least return.
    pub fn allows_another(&self) -> bool {
        self.room_for(1) >= 0.0
    }

    /// Begins an episode: of the baseline, or of another policy.
    pub fn begin(&mut self, own: bool) {
        self.kind(own).open += 1;
    }

    /// Ends an episode with a normalised return between these bounds.
    pub fn end(&mut self, own: bool, brought: [f64; 2]) {
        let kind = self.kind(own);
        if kind.open > 0 {
            kind.end(brought);
        }
    }

    /// Allows for an error of at most this share in the return of an ended episode.
    pub fn doubt(&mut self, share: f64) {
        self.others.doubt(share);
        self.own.doubt(share);
    }

    /// The share of the baseline that may be lost.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The probability with which the guarantee may fail.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// Episodes begun.
    pub fn episodes(&self) -> u64 {
        self.others.episodes() + self.own.episodes()
    }

    /// Episodes of the baseline among them.
    pub fn of_baseline(&self) -> u64 {
        self.own.episodes()
    }

    /// Remaining exploration budget, in shares of an episode's range.
    pub fn room(&self) -> f64 {
        self.room_for(0).max(0.0)
    }

    fn room_for(&self, more: u64) -> f64 {
        room(&self.others, &self.own, [self.alpha, self.delta], more)
    }

    fn kind(&mut self, own: bool) -> &mut ReturnBound {
        if own { &mut self.own } else { &mut self.others }
    }
}

/// Lower bound on the remaining budget, in shares of an episode's range, if `more` episodes had the least value and
/// the baseline's value is unknown: Σ μ − c v, with one bound of v or the other.
pub(super) fn room(others: &ReturnBound, own: &ReturnBound, [alpha, delta]: [f64; 2], more: u64) -> f64 {
    let c = (1.0 - alpha) * (others.episodes() + more) as f64 - alpha * own.episodes() as f64;
    let [of_others, above, below] = SHARES;
    let share = if c > 0.0 { own.at_most(above * delta) } else { own.at_least(below * delta) };
    others.episodes() as f64 * others.at_least(of_others * delta) - c * share
}

/// Validates the share of the baseline that may be lost.
pub(super) fn check_alpha(alpha: f64) -> LearnResult<()> {
    if alpha > 0.0 && alpha < 1.0 {
        return Ok(());
    }
    let expected = "alpha is the share of the baseline that may be lost, between 0 and 1, neither included";
    Err(LearnError::Option { name: "alpha", value: alpha, expected })
}

/// Bounds on the normalised return of an episode from its steps in order: missing rewards may have any value. If
/// `ended`, no step can follow; otherwise the remaining steps up to the horizon may have any reward as well.
pub fn share_of_episode(knowledge: &Knowledge, steps: &[Observation<'_>], ended: bool) -> [f64; 2] {
    let world = knowledge.world();
    let [least, most] = world.step_range();
    let (mut sum, mut range, mut weight) = ([0.0; 2], [0.0; 2], 1.0);
    for stage in 0..knowledge.horizon() {
        let paid = match steps.get(stage) {
            Some(step) => brought(knowledge, step),
            // Zero, as far as the range of a step allows it.
            None if ended => [0f64.clamp(least, most); 2],
            None => [least, most],
        };
        for (i, end) in [least, most].into_iter().enumerate() {
            sum[i] += weight * paid[i];
            range[i] += weight * end;
        }
        weight *= world.discount();
    }
    let share = |amount: f64| if range[1] > range[0] { (amount - range[0]) / (range[1] - range[0]) } else { 1.0 };
    sum.map(|amount| share(amount).clamp(0.0, 1.0))
}

/// The largest share of an episode's range that one of its steps has.
pub fn share_of_step(knowledge: &Knowledge) -> f64 {
    let discount = knowledge.world().discount();
    let counted = (0..knowledge.horizon()).fold(0.0, |sum, _| 1.0 + discount * sum);
    1.0 / counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{World, worlds};

    #[test]
    fn unobserved_rewards_may_have_any_value() {
        let world = worlds::world("treatment", &[]).unwrap();
        let knowledge = Knowledge::of(&world).without_rewards();
        let step = |h: usize| {
            Observation::at(&knowledge, h, 0).unwrap().did_action(&knowledge, world.interventions().nth(0)).unwrap()
        };
        let nothing = share_of_episode(&knowledge, &[], false);
        assert_eq!(nothing, [0.0, 1.0]);
        let steps: Vec<_> = (0..knowledge.horizon()).map(step).collect();
        let [low, high] = share_of_episode(&knowledge, &steps, true);
        assert!((0.0..=1.0).contains(&low) && low < high);
        assert!((share_of_step(&knowledge) * knowledge.horizon() as f64 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn steps_after_an_end_pay_nothing_and_later_ones_count_less() {
        let text = include_str!("../../../../../docs/gallery/chronic-disease.toml");
        let world = World::from_toml(text, "chronic-disease").unwrap();
        let knowledge = Knowledge::of(&world);
        assert!(world.ends().is_some() && world.discount() < 1.0);
        let [low, high] = share_of_episode(&knowledge, &[], true);
        assert!(low == high && (0.0..=1.0).contains(&low), "{low} {high}");
        assert!(share_of_step(&knowledge) * knowledge.horizon() as f64 > 1.0);
    }

    #[test]
    fn forged_amounts_are_refused() {
        assert!(SafetyBudget::new(0.0, 0.05).is_err() && SafetyBudget::new(1.0, 0.05).is_err());
        assert!(SafetyBudget::new(0.1, 0.0).is_err() && SafetyBudget::new(f64::NAN, 0.1).is_err());
    }
}
