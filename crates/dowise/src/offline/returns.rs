//! Returns of logged episodes: their bounds, and their value if every payment is known.

use super::episodes::Step;
use crate::data::End;
use crate::learn::View;

/// Bounds on the discounted return of an episode, net of costs. Missing parts, up to the end of the episode or else up
/// to the horizon, take their worst and best possible values. `None` if the episode does not begin at the first stage.
pub(crate) fn bounds(view: &View, steps: &[Step], end: Option<End>, ends_early: bool) -> Option<[f64; 2]> {
    let last = steps.first().filter(|first| first.stage == 0).and(steps.last())?;
    let (knowledge, horizon) = (&view.knowledge, view.layout.horizon);
    let world = knowledge.world();
    let (of_step, of_payment) = (world.step_range(), world.reward_range());
    let mut left = steps.iter().peekable();
    let (mut sum, mut weight) = ([0.0; 2], 1.0);
    for stage in 0..=last.stage {
        let found = match left.next_if(|step| step.stage == stage).map(|step| (step.action, step.paid)) {
            Some((Some(action), paid)) if !paid.is_nan() => [paid - knowledge.interventions().cost(action); 2],
            Some((Some(action), _)) => of_payment.map(|x| x - knowledge.interventions().cost(action)),
            Some((None, _)) | None => of_step,
        };
        sum.iter_mut().zip(found).for_each(|(sum, x)| *sum += weight * x);
        weight *= world.discount();
    }
    if !is_over(view, steps, end) {
        let mut rest = [0.0; 2];
        for _ in last.stage as usize + 1..horizon {
            rest.iter_mut().zip(of_step).for_each(|(rest, x)| *rest += weight * x);
            weight *= world.discount();
        }
        // The episode may have ended immediately.
        if ends_early {
            rest = [rest[0].min(0.0), rest[1].max(0.0)];
        }
        sum.iter_mut().zip(rest).for_each(|(sum, x)| *sum += x);
    }
    Some(sum)
}

/// Whether an episode ended with its last step.
fn is_over(view: &View, steps: &[Step], end: Option<End>) -> bool {
    let has_ended = |step: &Step| step.next.is_some_and(|s| view.knowledge.world().has_ended(s as usize));
    let is_last = |step: &Step| step.stage as usize + 1 == view.layout.horizon || has_ended(step);
    steps.last().is_some_and(is_last) || end == Some(End::Terminated)
}

/// Discounted return of an episode, net of costs; `None` if it does not begin at the first stage or a payment is
/// unknown.
pub(crate) fn gain(view: &View, steps: &[Step], end: Option<End>) -> Option<f64> {
    let in_order = steps.iter().enumerate().all(|(h, step)| step.stage as usize == h);
    if !is_over(view, steps, end) || !in_order {
        return None;
    }
    let all = view.knowledge.interventions();
    let mut weight = 1.0;
    let gains = steps.iter().map(|step| {
        let gain = step.action.map_or(f64::NAN, |a| weight * (step.paid - all.cost(a)));
        weight *= view.knowledge.world().discount();
        gain
    });
    Some(gains.sum::<f64>()).filter(|sum| !sum.is_nan())
}
