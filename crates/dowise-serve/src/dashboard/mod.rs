//! How it goes, for people: what was paid, what was done, what was predicted and what is known, from the last decisions.
//!
//! Everything here is read from the store and the published policy, and changes neither.

mod calibration;
mod known;
mod promise;
mod rewards;
mod shares;
mod watch;

pub(crate) use calibration::calibration;
pub(crate) use known::{graph, known, what_if};
pub(crate) use promise::kept;
pub(crate) use rewards::{Prospects, Whole, episodes, prospects, series};
pub(crate) use shares::shares;
pub(crate) use watch::{graph_sentence, graph_watch};

use serde_json::{Value, json};

use crate::decide::Mode;
use crate::engine::Standing;
use crate::graph_watch::Watched;
use crate::served::Served;
use crate::step::Step;
use crate::store::{Event, Store, StoreError};

/// Decisions that are looked at unless more are asked for.
pub(crate) const WINDOW: usize = 2000;

/// Decisions that are looked at at most.
pub(crate) const MOST_WINDOW: usize = 50_000;

/// Points of a series at most.
pub(crate) const BINS: usize = 40;

/// One decision of the window.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) at: u64,
    /// As it was sent.
    pub(crate) answer: Value,
    pub(crate) step: Step,
}

/// The last decisions of a world, the oldest first.
pub(crate) fn window(store: &dyn Store, world: &str, most: usize) -> Result<Vec<Past>, StoreError> {
    let past = |(event, step): (Event, Step)| Past {
        at: event.at,
        answer: serde_json::from_str(&event.answer).unwrap_or_default(),
        step,
    };
    Ok(store.recent(world, most)?.into_iter().rev().map(past).collect())
}

/// Cuts `n` things into at most [`BINS`] runs of nearly equal length.
pub(crate) fn bins(n: usize) -> Vec<std::ops::Range<usize>> {
    let count = n.min(BINS);
    (0..count).map(|i| i * n / count..(i + 1) * n / count).collect()
}

/// Mean with an interval of 95 % from the spread of the numbers; the ends are `None` for fewer than two.
pub(crate) fn mean(numbers: &[f64]) -> Value {
    let n = numbers.len() as f64;
    if numbers.is_empty() {
        return json!({"n": 0, "mean": null, "low": null, "high": null});
    }
    let mean = numbers.iter().sum::<f64>() / n;
    if numbers.len() < 2 {
        return json!({"n": 1, "mean": mean, "low": null, "high": null});
    }
    let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let half = 1.96 * (variance / n).sqrt();
    json!({"n": numbers.len(), "mean": mean, "low": mean - half, "high": mean + half})
}

/// One plain sentence on how a world goes.
pub(crate) fn sentence(
    served: &Served,
    standing: &Standing,
    past: &[Past],
    totals: &[f64],
    prospects: Option<&Prospects>,
    watched: Option<&Watched>,
) -> String {
    let goes = goes(served, standing, past, totals, prospects);
    // What contradicts the graph concerns all that is said besides.
    match watched.filter(|watched| watched.report.contradicted) {
        Some(_) => format!("{goes} {}", graph_sentence(watched)),
        None => goes,
    }
}

/// How the decisions go.
fn goes(served: &Served, standing: &Standing, past: &[Past], totals: &[f64], prospects: Option<&Prospects>) -> String {
    let who = match standing.mode {
        Mode::Online => format!("Policy {} decides and explores", standing.active),
        Mode::Frozen => format!("Policy {} decides as it is, without exploring", standing.active),
        Mode::Shadow => "The baseline decides, and what the policy would do is noted beside it".to_owned(),
        Mode::LearnOnly => "The baseline decides, and what happens is learned from".to_owned(),
        Mode::Stop => "Stopped: the baseline decides".to_owned(),
    };
    if past.is_empty() {
        return format!("{who}; nothing has been asked in {} yet.", served.name);
    }
    if totals.is_empty() {
        return format!("{who}; of the last {} decisions no episode has been observed to its end yet.", past.len());
    }
    let paid = totals.iter().sum::<f64>() / totals.len() as f64;
    let baseline = match prospects {
        Some(Prospects { baseline, .. }) => {
            format!(
                ", and by what was learned the baseline would pay {:.3} ({:.3} to {:.3})",
                baseline.mean, baseline.low, baseline.high
            )
        }
        None => String::new(),
    };
    format!(
        "{who}; the last {} episodes that were observed to their end paid {paid:.3} on average{baseline}.",
        totals.len()
    )
}
