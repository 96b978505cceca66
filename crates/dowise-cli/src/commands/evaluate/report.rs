//! What `dowise evaluate` prints for people.

use dowise::World;
use dowise::offline::fit::OpenQuestion;
use dowise::offline::{Episodes, Evaluation, Interval, Logged, OfflineOptions, OfflineValue, Robust, Support};

use crate::output::Output;
use crate::table::{self, Align, Amounts, count};
use crate::{assumptions, sensitivity};

/// Episodes below which the doubly robust interval is not to be relied on.
const FEW: f64 = 30.0;

/// What is to be said where key variables that were not recorded are expected from the rest of the step.
pub(crate) const EXPECTED: &str = "Key variables that were not recorded are expected from the rest of the step, the next state included (--em), and drawn for the posterior: right \
     where whether they were recorded depends on nothing but what was. Confidence sets count what was seen alone, which need not be missing at random then, so nothing is guaranteed.";

pub(super) fn report(
    world: &World,
    log: &Episodes,
    options: &OfflineOptions,
    found: &Evaluation,
    (from_file, warnings): (&[OpenQuestion], &[String]),
    output: &Output,
) -> String {
    let sure = percent(1.0 - options.delta);
    let amounts = of_policies(&[(&found.model, found.guaranteed)]);
    let logged = of_logged(&found.logged);
    // Where one of them is small, so is what is said of both.
    let both = if amounts.size() < logged.size() { amounts } else { logged };
    let (episodes, steps) = (count(log.len() as u64), count(log.steps() as u64));
    let mut text = format!("{}: {episodes} episodes, {steps} steps.\n\n", world.name());
    for warning in warnings {
        text += &format!("{}\n\n", table::wrapped(warning));
    }
    text += &format!("{}\n", assumptions::section(&found.record, output));
    text += &format!("{}\n{}", output.heading("The policy"), values(&policy_rows(amounts, found, &sure)));
    text += &format!("\n{}\n{}", output.heading("Behaviour policy"), values(&logged_rows(&found.logged, &sure)));
    let mut notes: Vec<String> = from_file.iter().map(not_from_the_log).collect();
    notes.extend(
        log.uses_em()
            .then(|| format!("{EXPECTED} Nor is a doubly robust value given: its ratios need them in every step.")),
    );
    notes.extend(against_logged(both, found, &sure));
    notes.extend(about_logged(&found.logged));
    notes.extend(about_robust(found));
    notes.extend(about_overlap(&found.support));
    notes.extend(thin(&found.support));
    notes.extend(by_prior(amounts, &found.model));
    notes.extend(about_starts(both, found));
    for note in notes {
        text += &format!("\n{}\n", table::wrapped(&note));
    }
    if let Some(claim) = found.claim() {
        let overturned = sensitivity::section(found.sensitivity.as_ref(), &found.tipping_points, claim);
        text += &if overturned.is_empty() { overturned } else { format!("\n{overturned}") };
    }
    text
}

/// The values of the policy, as rows: by the model, guaranteed, and doubly robust.
fn policy_rows(amounts: Amounts, found: &Evaluation, sure: &str) -> Vec<Vec<String>> {
    let row = |what: &str, value, interval, how: &str| row(amounts, what, value, interval, how);
    let mut rows = vec![row("by the model", Some(found.model.mean), found.model.posterior, "posterior, 95 %")];
    if let Some(bounds) = found.guaranteed {
        rows.push(row("guaranteed", None, bounds, &format!("confidence sets, {sure}")));
    }
    if let Some(robust) = &found.robust {
        let how = format!("over episodes, 95 %; {} effective of {}", whole(robust.effective), whole(robust.episodes));
        rows.push(row("doubly robust", Some(robust.mean), robust.interval, &how));
    }
    rows
}

/// The policy compared with the behaviour policy, if the log has returns.
fn against_logged(amounts: Amounts, found: &Evaluation, sure: &str) -> Option<String> {
    let returns = found.logged.returns?;
    // Where much is missing, the middle of what is possible says nothing.
    let today = match found.logged.model {
        Some(model) if returns.incomplete > 0.0 => model.mean,
        Some(_) | None => returns.mean,
    };
    let more = found.model.mean - today;
    let (by, word) = if more >= 0.0 { (more, "more") } else { (-more, "less") };
    let with_confidence =
        |is: fn(Interval, Interval) -> bool| found.guaranteed.is_some_and(|g| is(g, returns.guaranteed));
    Some(if let Some(failed) = assumptions::failed(&found.record) {
        let by = amounts.show(by);
        format!("The model expects {by} {word} than the behaviour policy, which need not hold. {failed}")
    } else if with_confidence(|ours, theirs| ours.low > theirs.high) {
        let by = amounts.show(more);
        format!("The policy is better than the behaviour policy (confidence {sure}); the model expects {by} more.")
    } else if with_confidence(|ours, theirs| ours.high < theirs.low) {
        let by = amounts.show(-more);
        format!("The policy is worse than the behaviour policy (confidence {sure}); the model expects {by} less.")
    } else {
        let by = amounts.show(by);
        format!(
            "The model expects {by} {word} than the behaviour policy. Neither is guaranteed to be better (confidence {sure})."
        )
    })
}

/// What the doubly robust value rests on, and whether it can be relied on, if there is one.
fn about_robust(found: &Evaluation) -> Vec<String> {
    let Some(robust) = &found.robust else { return Vec::new() };
    let greatest = table::short(robust.greatest_ratio);
    let mut notes =
        vec![format!("Largest importance ratio of the doubly robust value: {greatest}, from {}.", ratios_by(robust))];
    let (alone, unpaid) = (count(robust.not_corrected), count(robust.expected_payments));
    let rests = match (robust.not_corrected, robust.expected_payments) {
        (0, 0) => None,
        (_, 0) => Some(format!("In {alone} steps it rests on the model alone")),
        (0, _) => Some(format!("In {unpaid} steps it rests on the model for what was paid")),
        (_, _) => Some(format!("In {alone} steps it rests on the model alone, in {unpaid} for what was paid")),
    };
    notes.extend(rests.map(|rests| {
        format!(
            "{rests}: something was not recorded. Its interval includes the uncorrected model error of these steps."
        )
    }));
    if robust.effective < FEW {
        notes.push(
            "With fewer than 30 effective episodes the doubly robust interval is too narrow to be relied on.".into(),
        );
    } else if !overlap(robust.interval, found.model.posterior) {
        notes.push("The doubly robust value and the model contradict each other: the graph may be wrong.".into());
    }
    notes
}

/// Where the importance ratios come from.
fn ratios_by(robust: &Robust) -> String {
    if robust.by_propensity == robust.corrected && robust.corrected > 0 {
        "the logged propensities".to_owned()
    } else if robust.by_propensity == 0 {
        "frequencies of the key variables".to_owned()
    } else {
        format!(
            "the logged propensities in {} of {} steps, frequencies in the others",
            count(robust.by_propensity),
            count(robust.corrected)
        )
    }
}

/// The share of the policy's episodes for which the log has no overlap, if there are any.
fn about_overlap(support: &Support) -> Option<String> {
    let share = percent(support.share);
    (support.share > 0.0).then(|| {
        format!(
            "No overlap: {share} of the policy's episodes reach states or key values that the log does not contain. \
             There the prior decides."
        )
    })
}

/// The part of the guaranteed bounds that is for unknown starting states, if there is any.
fn about_starts(amounts: Amounts, found: &Evaluation) -> Option<String> {
    let part = amounts.show(found.for_starts);
    (found.for_starts > 0.0).then(|| {
        format!(
            "For episodes that start like those of the log. Sampling of these starts widens the guaranteed interval by {part} on each \
             side."
        )
    })
}

/// What is to be said of what the behaviour policy returned: what is missing, and whether the model gives it.
pub(crate) fn about_logged(logged: &Logged) -> Vec<String> {
    let Some(returns) = &logged.returns else { return Vec::new() };
    let mut notes = Vec::new();
    if returns.incomplete > 0.0 {
        notes.push(format!(
            "Of {} of the {} logged episodes not every payment up to their end is known: each counts at the least and at the most that it can have \
             returned, since those that are complete need not be like the others.",
            whole(returns.incomplete),
            whole(returns.episodes)
        ));
    }
    notes
}

/// Says so where the numbers of the world file were taken, and what would settle it.
pub(crate) fn not_from_the_log(question: &OpenQuestion) -> String {
    let OpenQuestion { what, why, experiment } = question;
    format!(
        "NOT IDENTIFIED FROM THE LOG: {what}. {}; every value here, also the guaranteed ones, holds only if they are right. To identify it: {experiment}.",
        capitalised(why)
    )
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A warning where much rests on rows that were seen a few times.
pub(crate) fn thin(support: &Support) -> Option<String> {
    let share = percent(support.thin);
    (support.thin > 0.05).then(|| {
        format!(
            "{share} of the policy's steps rest on rows that were seen fewer than 20 times: there the posterior is to a good part \
             the prior's, and its interval may be too narrow; the guaranteed bounds are not."
        )
    })
}

/// Says so where the prior has a part in a value that one would see.
pub(crate) fn by_prior(amounts: Amounts, value: &OfflineValue) -> Option<String> {
    (value.by_prior.abs() > 0.05 * value.posterior.width()).then(|| {
        format!(
            "The prior moves the model's value by {}; frequencies alone say {}. The posterior's interval has room for both.",
            amounts.show(value.by_prior),
            amounts.show(value.mean - value.by_prior)
        )
    })
}

/// The value of the behaviour policy, as rows.
pub(crate) fn logged_rows(logged: &Logged, sure: &str) -> Vec<Vec<String>> {
    let amounts = of_logged(logged);
    let row = |what: &str, value, interval, how: &str| row(amounts, what, value, interval, how);
    let mut rows = Vec::new();
    if let Some(returns) = &logged.returns {
        let how = format!("{} episodes, 95 %", whole(returns.episodes));
        rows.push(row("logged returns", Some(returns.mean), returns.normal, &how));
        rows.push(row("guaranteed", None, returns.guaranteed, &format!("any distribution, {sure}")));
    }
    rows.extend(logged.model.map(|model| row("by the model", Some(model.mean), model.posterior, "posterior, 95 %")));
    rows
}

/// A value, its interval, and what that is.
pub(crate) fn row(amounts: Amounts, what: &str, value: Option<f64>, interval: Interval, how: &str) -> Vec<String> {
    let value = value.map_or_else(String::new, |x| amounts.show(x));
    vec![what.to_owned(), value, amounts.show(interval.low), amounts.show(interval.high), how.to_owned()]
}

fn ends(i: Interval) -> [f64; 2] {
    [i.low, i.high]
}

/// How values of policies are printed, with their guaranteed bounds.
pub(crate) fn of_policies(policies: &[(&OfflineValue, Option<Interval>)]) -> Amounts {
    let one = |(value, sure): &(&OfflineValue, Option<Interval>)| {
        ends(value.posterior).into_iter().chain(sure.map(ends).into_iter().flatten())
    };
    Amounts::of(policies.iter().flat_map(one))
}

/// The same for the behaviour policy.
pub(crate) fn of_logged(logged: &Logged) -> Amounts {
    let returns = logged.returns.into_iter().flat_map(|r| ends(r.guaranteed));
    Amounts::of(logged.model.into_iter().flat_map(|model| ends(model.posterior)).chain(returns))
}

pub(crate) fn values(rows: &[Vec<String>]) -> String {
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    table::table(&["", "value", "from", "to", "interval"], rows, &align)
}

fn overlap(a: Interval, b: Interval) -> bool {
    a.low <= b.high && b.low <= a.high
}

pub(crate) fn percent(p: f64) -> String {
    format!("{} %", table::short(100.0 * p))
}

fn whole(n: f64) -> String {
    count(n.round() as u64)
}
