//! `dowise plan --safe`: plans from a log or from evidence beside a fitted world, with what they are worth for sure.

use std::path::Path;

use dowise::World;
use dowise::offline::fit::{FitError, NotFitted, OpenQuestion, fingerprint_in, not_fitted_in, read_summary};
use dowise::offline::{
    AssumptionRecord, Candidate, Claim, OfflineOptions, Recommendation, SafePlan, Sensitivity, Tier, TippingPoint,
    plan_from_evidence, plan_safely,
};
use dowise_study::{MOST_TEXT, read_text_file};
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::evaluate::{self, Counted, NOTABLE, json, report};
use super::super::fit::evidence_file;
use super::Args;
use crate::output::{Failure, Output, Status};
use crate::table::{self, Align, Amounts, count};
use crate::{assumptions, missingness, naming, policy_file, sensitivity};

/// Differences printed unless all are asked for.
const SHOWN: usize = 20;

pub(super) fn run(args: &Args, world: &World, source: &str, output: &Output) -> Result<Status, Failure> {
    let picture = args.draw_sensitivity.as_deref().map(sensitivity::Picture::from_name).transpose()?;
    let options = args.reading.options(world);
    let (world, plan, episodes, from_file, mut warnings) = match &args.from {
        Some(log) => {
            let Counted { world, episodes, from_file, warnings } = args.reading.episodes(world, log, output)?;
            let plan = plan_safely(&episodes, &options).map_err(evaluate::failure)?;
            (world, plan, episodes.len() as u64, from_file, warnings)
        }
        None => {
            if let Some(flag) = args.reading.for_logs() {
                let why = "the evidence beside a fitted world was counted already";
                return Err(Failure::Usage(format!("{flag} says how a log is read; add --from LOG ({why})")));
            }
            let file = evidence_file(&args.file);
            let text = read_text_file(&file, MOST_TEXT).map_err(|e| {
                let help = "`dowise fit` writes it beside its world; or plan from a log with --from LOG";
                Failure::Io(format!("a safe plan needs what was seen: {e}; {help}"))
            })?;
            let wrong = |e: FitError| Failure::Usage(format!("{}: {e}", file.display()));
            let not_fitted = not_fitted_in(&text).map_err(wrong)?;
            check(&not_fitted, source, &file)?;
            let em = not_fitted.em;
            let from_file = from_file(not_fitted)?;
            let seen = read_summary(world, &text).map_err(wrong)?;
            let plan = plan_from_evidence(seen, &options).map_err(evaluate::failure)?;
            let mut warnings = missingness::warnings(&plan.missingness, em);
            if !em {
                warnings.extend(missingness::condition(&plan.missingness, plan.learns_from_incomplete));
            }
            (world.clone(), plan, 0, from_file, warnings)
        }
    };
    if plan.mean.guaranteed.is_none() {
        warnings.push(report::EXPECTED.to_owned());
    }
    let is_refused = matches!(plan.recommendation, Recommendation::Refused { .. } | Recommendation::Sensitive { .. });
    if let Some(file) = args.policy.as_ref().filter(|_| is_refused) {
        let why = match plan.recommendation {
            Recommendation::Sensitive { .. } => "an untestable assumption would overturn it",
            _ => "an assumption failed",
        };
        output.talk(format_args!("did not write {}: {why}", file.display()));
    } else if let Some(file) = &args.policy {
        let name = if std::ptr::eq(plan.recommended(), &plan.pessimistic) {
            "pessimistic plan"
        } else {
            "posterior-mean plan"
        };
        let actions = &plan.recommended().policy_hs;
        policy_file::write(file, &world, (name, episodes), (1, format!("{:016x}", plan.evidence)), actions)?;
        let but = match plan.recommendation {
            Recommendation::DeployMean | Recommendation::DeployPessimistic => "",
            Recommendation::NotYet { .. } => "; not yet better than the behaviour policy with confidence 1 − δ",
            Recommendation::NoOverlap { .. } => "; the log does not contain what it does",
            Recommendation::NotBetter => "; not better than the behaviour policy",
            Recommendation::NotGuaranteed => "; by the model better than the behaviour policy, and not guaranteed",
            Recommendation::Refused { .. } | Recommendation::Sensitive { .. } | Recommendation::NotChecked => {
                "; not recommended: the model was not checked against the log"
            }
            Recommendation::NotShown => "; too little of the behaviour policy is recorded to compare",
            Recommendation::NothingToCompare => "; there is nothing to compare it with",
        };
        output.talk(format_args!("wrote {} ({name}{but})", file.display()));
    }
    if let Some(picture) = &picture {
        picture.draw(&world, plan.sensitivity.as_ref(), output)?;
    }
    if args.json {
        output.json(&in_json(&world, &plan, &options, from_file, warnings))?;
    } else {
        output.data(text(&world, &plan, &options, (&from_file, &warnings), args.all, output))?;
    }
    Ok(if is_refused && args.policy.is_some() { Status::No } else { Status::Fine })
}

/// Refuses evidence other than that which a world says that it was fitted to.
pub(in crate::commands) fn check_fingerprint(of: &NotFitted, here: Option<&str>, file: &Path) -> Result<(), Failure> {
    match (here, &of.fingerprint) {
        (Some(here), there) if there.as_deref() != Some(here) => {
            let there = there.as_deref().map_or_else(|| "does not say which it is".to_owned(), |f| format!("is {f}"));
            Err(Failure::Usage(format!(
                "{} is of another fit: the world says that it was fitted to the evidence {here}, and this {there}; fit again, or begin with a log, --from LOG",
                file.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses evidence that the world beside it was not fitted to, and evidence that does not hold what its fit rests on.
fn check(of: &NotFitted, world: &str, file: &Path) -> Result<(), Failure> {
    let name = file.display();
    check_fingerprint(of, fingerprint_in(world), file)?;
    if of.em && !of.holds_incomplete {
        return Err(Failure::Usage(format!(
            "{name} was fitted with --em by an earlier dowise, and holds only what was recorded, not the steps in which key variables are missing; fit again"
        )));
    }
    if !of.unpaid.is_empty() {
        return Err(Failure::Usage(format!(
            "{name} is of an earlier dowise, and what {} pays for next values was not recorded in many steps: the file does not say after what; fit again",
            of.unpaid.join(", ")
        )));
    }
    Ok(())
}

/// What a fit left as the world file gave it; refused where the world file gave nothing.
fn from_file(not_fitted: NotFitted) -> Result<Vec<OpenQuestion>, Failure> {
    let NotFitted { names, without_numbers, .. } = not_fitted;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    match without_numbers.as_deref() {
        Some([]) => {}
        Some(lack) => {
            return Err(Failure::Usage(format!(
                "nothing can be guaranteed: a hidden variable moves a lever and its effect, so that {} could not be fitted, and \
                 the world file has no numbers for {}; `dowise fit` says what experiment would settle it; or give these numbers in the \
                 world file and fit again",
                names.join(", "),
                lack.join(", ")
            )));
        }
        None => {
            return Err(Failure::Usage(format!(
                "nothing can be guaranteed: {} could not be fitted, and the evidence does not say whether the world file had \
                 their numbers; fit again",
                names.join(", ")
            )));
        }
    }
    Ok(vec![OpenQuestion {
        what: format!("the numbers of {}", names.join(", ")),
        why: "a hidden variable moves a lever and its effect, so they stay as the world file gives them".to_owned(),
        experiment: "`dowise fit` says how".to_owned(),
    }])
}

fn text(
    world: &World,
    plan: &SafePlan,
    options: &OfflineOptions,
    (from_file, warnings): (&[OpenQuestion], &[String]),
    all: bool,
    output: &Output,
) -> String {
    let sure = report::percent(1.0 - options.delta);
    let both = [&plan.mean, &plan.pessimistic].map(|c| (&c.model, c.guaranteed));
    let amounts = report::of_policies(&both);
    let row = |what: &str, value, interval, how: &str| report::row(amounts, what, value, interval, how);
    let mut rows = Vec::new();
    for (name, candidate) in [("posterior-mean plan", &plan.mean), ("pessimistic plan", &plan.pessimistic)] {
        let how = format!("confidence sets, {sure}");
        rows.push(row(name, Some(candidate.model.mean), candidate.model.posterior, "posterior, 95 %"));
        rows.extend(candidate.guaranteed.map(|bounds| row("  guaranteed", None, bounds, &how)));
    }
    let legend = "posterior-mean plan: optimal for the posterior mean; pessimistic plan: optimal for the worst parameters that the confidence sets allow";
    let mut text = format!("{}\n\n", world.name());
    for warning in warnings {
        text += &format!("{}\n\n", table::wrapped(warning));
    }
    text += &format!("{}\n", assumptions::section(&plan.record, output));
    text += &format!("{}{}\n", report::values(&rows), table::wrapped(legend));
    if let Some(logged) = &plan.logged {
        let rows = report::logged_rows(logged, &sure);
        text += &format!("\n{}\n{}", output.heading("Behaviour policy"), report::values(&rows));
        if let Some(value) = plan.unrandomised {
            let [mean, low, high] = [value.mean, value.posterior.low, value.posterior.high].map(|x| amounts.show(x));
            let words = format!(
                "In rows that were not randomised it is worth {mean} ({low} to {high}) by the model. A plan is compared with that."
            );
            text += &format!("{}\n", table::wrapped(&words));
        }
    }
    text += &format!("\n{}\n", table::wrapped(&advice(plan, amounts, &sure)));
    for note in plan.logged.iter().flat_map(report::about_logged) {
        text += &format!("{}\n", table::wrapped(&note));
    }
    for question in from_file {
        text += &format!("{}\n", table::wrapped(&report::not_from_the_log(question)));
    }
    text += &sensitivity::section(plan.sensitivity.as_ref(), &plan.tipping_points, Claim::Better);
    let support = &plan.recommended().support;
    if support.share > NOTABLE {
        for line in evaluate::unsupported(support) {
            text += &format!("{line}\n");
        }
    }
    let mean = &plan.mean.support;
    if mean.share > NOTABLE && !std::ptr::eq(plan.recommended(), &plan.mean) {
        let share = report::percent(mean.share);
        let note = format!(
            "No overlap: {share} of the posterior-mean plan's episodes reach states or key values that the log does not contain. There the prior decides."
        );
        text += &format!("{}\n", table::wrapped(&note));
    }
    for note in report::thin(support).into_iter().chain(report::by_prior(amounts, &plan.recommended().model)) {
        text += &format!("{}\n", table::wrapped(&note));
    }
    text + &differences(world, plan, all, output)
}

/// What to do, in one sentence.
fn advice(plan: &SafePlan, amounts: Amounts, sure: &str) -> String {
    let least = |c: &Candidate| c.guaranteed.map_or_else(|| "anything".to_owned(), |bounds| amounts.show(bounds.low));
    let bounds = |c: &Candidate| {
        let today = plan.logged.and_then(|l| Some(report::of_logged(&l).show(l.returns?.guaranteed.high)));
        let today = today.unwrap_or_default();
        format!("its value is at least {}, that of the behaviour policy at most {today} (confidence {sure})", least(c))
    };
    match plan.recommendation {
        Recommendation::DeployMean | Recommendation::DeployPessimistic if plan.tier == Some(Tier::Posterior) => {
            by_posterior(plan, amounts)
        }
        Recommendation::DeployMean => {
            format!("Deploy the posterior-mean plan: {}.", bounds(&plan.mean))
        }
        Recommendation::DeployPessimistic => format!(
            "Deploy the pessimistic plan: {}. The posterior-mean plan, of value at least {}, is not yet better with that confidence.",
            bounds(&plan.pessimistic),
            least(&plan.mean)
        ),
        Recommendation::NoOverlap { share } => format!(
            "No overlap: by the model a plan is better, but {:.0} % of its episodes reach states, interventions or key values that the log does not contain. \
             More episodes like these cannot show it. Randomise the intervention there for some time, then plan again.",
            100.0 * share
        ),
        Recommendation::NotYet { episodes } => format!(
            "Not yet better than the behaviour policy with that confidence: about {} more episodes like these would show it, if the model is right about the value of the plan.",
            about(episodes)
        ),
        Recommendation::NotBetter => "By the model no plan is better than the behaviour policy; keep that.".into(),
        Recommendation::NotShown => "By the model a plan is better, but the logged returns are too incomplete: more episodes recorded like these would not show it. Record all rewards up to the end of every episode."
            .into(),
        Recommendation::NotGuaranteed => format!(
            "By the model the posterior-mean plan has value {}, more than the behaviour policy; nothing is guaranteed.",
            amounts.show(plan.mean.model.mean)
        ),
        Recommendation::Sensitive { .. } => format!(
            "Nothing is recommended: by its bounds or by the model a plan is better, but it would be worse than the behaviour policy if {}. \
             No log can exclude this. Record these values, or compare the plan with the behaviour policy in a trial.",
            plan.overturned_if.as_deref().unwrap_or("values are missing for another reason than assumed")
        ),
        Recommendation::Refused { .. } => format!(
            "Nothing is recommended: an assumption failed, so that none of these values need hold, not even the guaranteed ones. {}",
            assumptions::failed(&plan.record).unwrap_or_default()
        ),
        Recommendation::NotChecked => "Nothing is recommended yet: by its bounds a plan is better, but whether the model reproduces the logged returns \
                                       was not tested. Plan from the log itself, with --from LOG."
            .into(),
        Recommendation::NothingToCompare if plan.mean.guaranteed.is_none() => format!(
            "By the model the posterior-mean plan has value {}; nothing is guaranteed, and there is no log to compare it with.",
            amounts.show(plan.mean.model.mean)
        ),
        Recommendation::NothingToCompare => format!(
            "The posterior-mean plan has value at least {}, the pessimistic plan at least {} (confidence {sure}). Deploy one if that exceeds the value of the present policy (--from LOG compares).",
            least(&plan.mean),
            least(&plan.pessimistic)
        ),
    }
}

/// A deployment that the posterior supports and the guarantee does not yet.
fn by_posterior(plan: &SafePlan, amounts: Amounts) -> String {
    let found = plan.recommended();
    let gain = found.difference.map_or_else(String::new, |difference| {
        let [low, high] = [difference.low, difference.high].map(|x| amounts.show(x));
        format!(" It is worth {low} to {high} more than the behaviour policy (posterior, 95 %).")
    });
    let name = if std::ptr::eq(found, &plan.mean) { "posterior-mean" } else { "pessimistic" };
    format!(
        "Deploy the {name} plan (posterior tier, not guaranteed): by the model it is better than the behaviour policy in 97.5 % \
         of the posterior, but the distribution-free guarantee is not reached.{gain} This rests on the prior and on every \
         assumption above."
    )
}

/// Two digits are enough for a guess.
fn about(n: f64) -> String {
    let mut unit = 1.0;
    while n / unit >= 100.0 {
        unit *= 10.0;
    }
    count(((n / unit).ceil() * unit) as u64)
}

/// Where the plans differ; stages at which the same states differ in the same way are folded.
fn differences(world: &World, plan: &SafePlan, all: bool, output: &Output) -> String {
    let n = world.n_states();
    // Nothing is done where episodes have ended.
    let mut places = plan.differences(n);
    places.retain(|&(_, state)| !world.has_ended(state));
    if places.is_empty() {
        return "\nThe two plans do the same at every stage and state.\n".into();
    }
    let of = |stage: usize, state: usize| {
        let at = stage * n + state;
        (plan.mean.policy_hs[at], plan.pessimistic.policy_hs[at])
    };
    // One row for each state and pair of interventions, with the stages at which they differ so.
    let mut rows: Vec<(usize, (dowise::Action, dowise::Action), Vec<usize>)> = Vec::new();
    for &(stage, state) in &places {
        let pair = of(stage, state);
        match rows.iter_mut().find(|(s, p, _)| *s == state && *p == pair) {
            Some((_, _, stages)) => stages.push(stage + 1),
            None => rows.push((state, pair, vec![stage + 1])),
        }
    }
    rows.sort_by_key(|(state, _, stages)| (*state, stages[0]));
    let shown = if all { rows.len() } else { rows.len().min(SHOWN) };
    let cells: Vec<Vec<String>> = rows[..shown]
        .iter()
        .map(|(state, (mean, pessimistic), stages)| {
            let [mean, pessimistic] = apart(world, *mean, *pessimistic);
            vec![world.describe_state(*state), folded(stages), mean, pessimistic]
        })
        .collect();
    let title = format!(
        "They differ in {} of {} stages and states",
        count(places.len() as u64),
        count((world.horizon() * (0..n).filter(|&state| !world.has_ended(state)).count()) as u64)
    );
    let header = ["state", "stages", "posterior mean", "pessimistic"];
    let mut text = format!("\n{}\n{}", output.heading(&title), table::table(&header, &cells, &[Align::Left; 4]));
    if shown < rows.len() {
        text += &format!("and {} more: --all prints them\n", count((rows.len() - shown) as u64));
    }
    text
}

/// Only the levers in which two interventions differ.
fn apart(world: &World, a: dowise::Action, b: dowise::Action) -> [String; 2] {
    let all = world.interventions();
    let differ = || (0..all.n_levers()).filter(move |&i| all.lever(a, i) != all.lever(b, i));
    [a, b].map(|action| {
        let word = |i: usize| {
            let variable = world.variable(world.levers()[i]);
            let value = all.lever(action, i).map_or("left alone", |v| variable.values[v].as_str());
            format!("{}={value}", variable.name)
        };
        differ().map(word).collect::<Vec<_>>().join(" ")
    })
}

/// 1, 2, 3, 5 as `1–3, 5`.
fn folded(stages: &[usize]) -> String {
    let runs = stages.chunk_by(|a, b| a + 1 == *b);
    let word = |run: &[usize]| match run {
        [one] => one.to_string(),
        run => format!("{}–{}", run[0], run[run.len() - 1]),
    };
    runs.map(word).collect::<Vec<_>>().join(", ")
}

#[derive(Serialize)]
struct Safe {
    schema: &'static str,
    world: String,
    delta: f64,
    recommendation: &'static str,
    /// What it rests on: `guaranteed` or `posterior`.
    tier: Option<Tier>,
    /// The violation of an untestable assumption that would overturn it.
    overturned_if: Option<String>,
    /// How much unmeasured confounding would overturn it.
    sensitivity: Option<Sensitivity>,
    /// How far missing values may differ from recorded ones before that overturns it.
    tipping_points: Vec<TippingPoint>,
    /// Episodes more that would show that a plan is better.
    more_episodes: Option<f64>,
    mean: Plan,
    pessimistic: Plan,
    logged: Option<json::LoggedValue>,
    /// The policy of the rows that were not randomised, by the model, in a log with others.
    unrandomised: Option<json::Value>,
    differences: usize,
    /// What the log cannot say, so that the numbers of the world file were taken.
    from_file: Vec<OpenQuestion>,
    /// What makes the answer doubtful.
    warnings: Vec<String>,
    /// What the answer rests on, and how it came out against the log.
    #[serde(flatten)]
    record: AssumptionRecord,
    /// The recommended one.
    policy: Vec<Decision>,
}

#[derive(Serialize)]
struct Plan {
    model: json::Value,
    guaranteed: Option<[f64; 2]>,
    /// Posterior of its value less that of the behaviour policy, 95 %.
    difference: Option<[f64; 2]>,
    unsupported: f64,
}

#[derive(Serialize)]
struct Decision {
    stage: usize,
    state: Map<String, Value>,
    r#do: Map<String, Value>,
}

fn in_json(
    world: &World,
    plan: &SafePlan,
    options: &OfflineOptions,
    from_file: Vec<OpenQuestion>,
    warnings: Vec<String>,
) -> Safe {
    let of = |c: &Candidate| Plan {
        model: json::value(c.model),
        guaranteed: c.guaranteed.map(json::ends),
        difference: c.difference.map(json::ends),
        unsupported: c.support.share,
    };
    let (recommendation, more_episodes) = match plan.recommendation {
        Recommendation::DeployMean => ("deploy the posterior-mean plan", None),
        Recommendation::DeployPessimistic => ("deploy the pessimistic plan", None),
        Recommendation::NotYet { episodes } => ("not yet", Some(episodes)),
        Recommendation::NoOverlap { .. } => ("no overlap", None),
        Recommendation::NotBetter => ("not better", None),
        Recommendation::NotShown => ("not shown", None),
        Recommendation::NotGuaranteed => ("not guaranteed", None),
        Recommendation::Refused { .. } => ("refused", None),
        Recommendation::Sensitive { .. } => ("sensitive", None),
        Recommendation::NotChecked => ("not checked", None),
        Recommendation::NothingToCompare => ("nothing to compare with", None),
    };
    let n = world.n_states();
    let decisions = plan.recommended().policy_hs.iter().enumerate().map(|(i, &action)| Decision {
        stage: i / n + 1,
        state: naming::state(world, i % n),
        r#do: naming::intervention(world, action),
    });
    Safe {
        schema: "dowise-safe/1",
        world: world.name().to_owned(),
        delta: options.delta,
        recommendation,
        tier: plan.tier,
        overturned_if: plan.overturned_if.clone(),
        sensitivity: plan.sensitivity.clone(),
        tipping_points: plan.tipping_points.clone(),
        more_episodes,
        mean: of(&plan.mean),
        pessimistic: of(&plan.pessimistic),
        logged: plan.logged.as_ref().map(json::logged),
        unrandomised: plan.unrandomised.map(json::value),
        differences: plan.differences(n).len(),
        from_file,
        warnings,
        record: plan.record.clone(),
        policy: decisions.collect(),
    }
}
