//! Checks that results are possible: lengths, signs and sizes that they have whatever was learned.

use crate::RunRecord;
use dowise::tolerance::STATED_VALUE;

/// A field and what is wrong with it.
pub(crate) type Fault = (&'static str, String);

/// What is wrong with the result of a run with these checkpoints, in a world where the rewards of an episode add up to
/// at most `bound` in size.
pub(crate) fn fault(record: &RunRecord, checkpoints: &[u64], bound: f64) -> Option<Fault> {
    if !bound.is_finite() || bound < 0.0 {
        return Some(("bound", format!("{bound} is not a size that rewards can have")));
    }
    let episodes = checkpoints.last().copied().unwrap_or(0);
    curve_fault(&record.regret, checkpoints, bound, record.estimated)
        .or_else(|| within("reward", record.reward, bound * episodes as f64, bound))
        .or_else(|| values_fault(record.optimal, [record.value, record.random], bound, record.estimated))
        .or_else(|| {
            let good = record.seconds.is_finite() && record.seconds >= 0.0;
            (!good).then(|| ("seconds", format!("{} is no length of time", record.seconds)))
        })
}

/// What is wrong with sums of regrets at these checkpoints. Those that are estimated by playing may fall.
pub(crate) fn curve_fault(regret: &[f64], checkpoints: &[u64], bound: f64, estimated: bool) -> Option<Fault> {
    if regret.len() != checkpoints.len() {
        let why = format!("there are {} sums, and {} checkpoints", regret.len(), checkpoints.len());
        return Some(("regret", why));
    }
    let (mut before, mut sum) = (0, 0.0);
    for (&episode, &x) in checkpoints.iter().zip(regret) {
        let n = (episode - before) as f64;
        if !x.is_finite() {
            return Some(("regret", format!("{x} at episode {episode} is not a number")));
        }
        let least = if estimated { 2.0 * bound + slack(bound) } else { slack(bound) };
        if x - sum < -n * least {
            let from = if before == 0 { String::new() } else { format!(" after {sum} at episode {before}") };
            return Some(("regret", format!("{x} at episode {episode}{from}; a sum of regrets never falls")));
        }
        if x - sum > n * (2.0 * bound + slack(bound)) {
            return Some(("regret", format!("{x} at episode {episode} is more than the rewards allow")));
        }
        (before, sum) = (episode, x);
    }
    None
}

/// What is wrong with the values of the best policy, of the learned one, and of interventions at random. Estimated ones may be above
/// that of the plan that they are compared with.
pub(crate) fn values_fault(optimal: f64, [value, random]: [f64; 2], bound: f64, estimated: bool) -> Option<Fault> {
    let no_better = |field, x: f64| {
        within(field, x, bound, bound).or_else(|| {
            (!estimated && x > optimal + slack(bound))
                .then(|| (field, format!("{x} is more than the best policy's value {optimal}")))
        })
    };
    within("optimal", optimal, bound, bound)
        .or_else(|| no_better("value", value))
        .or_else(|| no_better("random", random))
}

/// What is wrong with the regret of single episodes and the sum of their rewards.
pub fn episodes_fault(regrets: &[f64], reward: f64, bound: f64) -> Option<(&'static str, String)> {
    for (i, &x) in regrets.iter().enumerate() {
        if !(x >= -slack(bound) && x <= 2.0 * bound + slack(bound)) {
            return Some(("regrets", format!("{x} in episode {} is not a regret that this world allows", i + 1)));
        }
    }
    within("reward", reward, bound * regrets.len() as f64, bound)
}

fn within(field: &'static str, x: f64, most: f64, bound: f64) -> Option<Fault> {
    let good = x.is_finite() && x.abs() <= most * (1.0 + STATED_VALUE) + slack(bound);
    (!good).then(|| (field, format!("{x} is not a number that the rewards allow")))
}

fn slack(bound: f64) -> f64 {
    // In a world without rewards all is zero, but for the last bit.
    STATED_VALUE * bound + 1e-12
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> RunRecord {
        RunRecord {
            regret: vec![0.5, 1.0, 1.0 - 1e-9],
            reward: 12.0,
            optimal: 2.0,
            value: 2.0,
            random: 1.0,
            seconds: 0.1,
            estimated: false,
        }
    }

    #[test]
    fn what_a_run_can_come_to_passes() {
        assert_eq!(fault(&sound(), &[1, 5, 10], 3.0), None);
        assert_eq!(
            fault(
                &RunRecord {
                    regret: vec![0.0; 3],
                    reward: 0.0,
                    optimal: 0.0,
                    value: 0.0,
                    random: 0.0,
                    seconds: 0.0,
                    estimated: false
                },
                &[1, 2, 3],
                0.0
            ),
            None
        );
    }

    #[test]
    fn what_no_run_can_come_to_is_named_by_its_field() {
        let says = |change: &dyn Fn(&mut RunRecord)| {
            let mut record = sound();
            change(&mut record);
            fault(&record, &[1, 5, 10], 3.0).map(|(field, why)| format!("{field}: {why}")).unwrap_or_default()
        };
        assert!(says(&|r| r.regret.truncate(2)).starts_with("regret: there are 2 sums, and 3 checkpoints"));
        assert!(says(&|r| r.regret[1] = f64::NAN).starts_with("regret: NaN at episode 5 is not a number"));
        assert!(says(&|r| r.regret[0] = -0.1).starts_with("regret: -0.1 at episode 1; a sum of regrets never falls"));
        assert!(says(&|r| r.regret[2] = 0.9).starts_with("regret: 0.9 at episode 10 after 1 at episode 5; a sum"));
        assert!(says(&|r| r.regret[2] = 31.1).contains("more than the rewards allow"));
        assert!(says(&|r| r.value = 2.1).starts_with("value: 2.1 is more than the best policy's value 2"));
        assert!(says(&|r| r.optimal = 3.1).starts_with("optimal: 3.1 is not a number that the rewards allow"));
        assert!(says(&|r| r.reward = -30.1).starts_with("reward: "));
        assert!(says(&|r| r.seconds = -1.0).starts_with("seconds: "));
        assert_eq!(episodes_fault(&[0.0, -1e-9, 1.0], 2.0, 1.0), None);
        assert!(episodes_fault(&[0.0, -0.1], 0.0, 1.0).unwrap().1.contains("episode 2"));
        assert!(episodes_fault(&[0.0], 1.1, 1.0).is_some());
    }
}
