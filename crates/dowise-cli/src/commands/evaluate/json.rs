//! What `dowise evaluate --json` prints.

use std::path::Path;

use dowise::offline::fit::OpenQuestion;
use dowise::offline::{
    AssumptionRecord, Episodes, Evaluation, Interval, Logged, OfflineOptions, OfflineValue, Sensitivity, TippingPoint,
};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Evaluated {
    schema: &'static str,
    log: String,
    policy: String,
    episodes: usize,
    steps: usize,
    delta: f64,
    /// Whether the answer was refused for lack of support.
    refused: bool,
    /// The values of the policy and the behaviour policy; absent if the answer was refused.
    #[serde(flatten)]
    values: Option<Values>,
    unsupported: Unsupported,
    /// What the log cannot say, so that the numbers of the world file were taken.
    from_file: Vec<OpenQuestion>,
    /// What makes the answer doubtful.
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Values {
    model: Value,
    /// Not there where key variables that were not recorded are expected (`--em`).
    guaranteed: Option<[f64; 2]>,
    /// Part of the guaranteed bounds, on either side, that is for where episodes start.
    for_starts: f64,
    robust: Option<Robust>,
    logged: LoggedValue,
    /// Posterior of its value less that of the behaviour policy, 95 %.
    difference: [f64; 2],
    /// How much unmeasured confounding would overturn the comparison.
    sensitivity: Option<Sensitivity>,
    /// How far missing values may differ from recorded ones before that overturns it.
    tipping_points: Vec<TippingPoint>,
    /// What the answer rests on, and how it came out against the log.
    #[serde(flatten)]
    record: AssumptionRecord,
}

#[derive(Serialize)]
pub(crate) struct Value {
    mean: f64,
    posterior: [f64; 2],
    /// By how much the prior moves the mean.
    by_prior: f64,
}

#[derive(Serialize)]
struct Robust {
    mean: f64,
    interval: [f64; 2],
    episodes: f64,
    effective: f64,
    greatest_ratio: f64,
    corrected: u64,
    /// Of these, steps whose payment is the model's expectation.
    expected_payments: u64,
    not_corrected: u64,
    by_propensity: u64,
}

#[derive(Serialize)]
pub(crate) struct LoggedValue {
    returns: Option<Returns>,
    /// Not there where the steps of the log are not.
    model: Option<Value>,
}

#[derive(Serialize)]
struct Returns {
    episodes: f64,
    /// Of these, those that are known only between the least and the most that they can have returned.
    incomplete: f64,
    mean: f64,
    means: [f64; 2],
    sd: f64,
    normal: [f64; 2],
    guaranteed: [f64; 2],
}

#[derive(Serialize)]
struct Unsupported {
    share: f64,
    /// Share of steps that rest on rows seen fewer than 20 times.
    thin: f64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    what: String,
    share: f64,
}

pub(crate) fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

pub(crate) fn value(value: OfflineValue) -> Value {
    Value { mean: value.mean, posterior: ends(value.posterior), by_prior: value.by_prior }
}

pub(crate) fn logged(logged: &Logged) -> LoggedValue {
    LoggedValue {
        returns: logged.returns.map(|r| Returns {
            episodes: r.episodes,
            incomplete: r.incomplete,
            mean: r.mean,
            means: ends(r.means),
            sd: r.sd,
            normal: ends(r.normal),
            guaranteed: ends(r.guaranteed),
        }),
        model: logged.model.map(value),
    }
}

pub(super) fn evaluated(
    log_file: &Path,
    policy: &Path,
    log: &Episodes,
    options: &OfflineOptions,
    found: &Evaluation,
    refused: bool,
    (from_file, warnings): (Vec<OpenQuestion>, Vec<String>),
) -> Evaluated {
    let values = || Values {
        model: value(found.model),
        guaranteed: found.guaranteed.map(ends),
        for_starts: found.for_starts,
        robust: found.robust.map(|r| Robust {
            mean: r.mean,
            interval: ends(r.interval),
            episodes: r.episodes,
            effective: r.effective,
            greatest_ratio: r.greatest_ratio,
            corrected: r.corrected,
            expected_payments: r.expected_payments,
            not_corrected: r.not_corrected,
            by_propensity: r.by_propensity,
        }),
        logged: logged(&found.logged),
        difference: ends(found.difference),
        sensitivity: found.sensitivity.clone(),
        tipping_points: found.tipping_points.clone(),
        record: found.record.clone(),
    };
    Evaluated {
        schema: "dowise-offline/1",
        log: log_file.display().to_string(),
        policy: policy.display().to_string(),
        episodes: log.len(),
        steps: log.steps(),
        delta: options.delta,
        refused,
        values: (!refused).then(values),
        warnings,
        from_file,
        unsupported: Unsupported {
            share: found.support.share,
            thin: found.support.thin,
            rows: found.support.rows.iter().map(|r| Row { what: r.to_string(), share: r.share }).collect(),
        },
    }
}
