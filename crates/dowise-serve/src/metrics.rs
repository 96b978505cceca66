//! Counters of what the service does, as Prometheus reads them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper ends of the buckets of times, in seconds.
const BUCKETS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// How long something takes.
#[derive(Debug, Default)]
pub(crate) struct Times {
    buckets: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

impl Times {
    pub(crate) fn observe(&self, seconds: f64) {
        let bucket = BUCKETS.iter().position(|end| seconds <= *end).unwrap_or(BUCKETS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add((seconds * 1e6) as u64, Ordering::Relaxed);
    }

    fn write(&self, out: &mut String, name: &str, help: &str) {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut sum = 0;
        for (i, bucket) in self.buckets.iter().enumerate() {
            sum += bucket.load(Ordering::Relaxed);
            let end = BUCKETS.get(i).map_or("+Inf".to_owned(), f64::to_string);
            let _ = writeln!(out, "{name}_bucket{{le=\"{end}\"}} {sum}");
        }
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {sum}", self.micros.load(Ordering::Relaxed) as f64 / 1e6);
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) decisions: Counter,
    pub(crate) observations: Counter,
    pub(crate) refused: Counter,
    pub(crate) unavailable: Counter,
    pub(crate) commits: Counter,
    pub(crate) failed_commits: Counter,
    pub(crate) policies: Counter,
    pub(crate) learner_failures: Counter,
    pub(crate) commit_seconds: Times,
    pub(crate) decide_seconds: Times,
    pub(crate) plan_seconds: Times,
}

impl Metrics {
    /// The text that Prometheus reads; `gauges` are (name, world, value).
    pub(crate) fn text(&self, gauges: &[(&str, &str, u64)]) -> String {
        let mut out = String::new();
        let counters = [
            ("dowise_decisions_total", "Answers of decide, repeated ones included.", &self.decisions),
            ("dowise_observations_total", "Observations taken in, repeated ones included.", &self.observations),
            ("dowise_refused_total", "Requests that were wrong.", &self.refused),
            ("dowise_unavailable_total", "Requests that could not be carried out.", &self.unavailable),
            ("dowise_commits_total", "Transactions.", &self.commits),
            ("dowise_failed_commits_total", "Transactions that failed.", &self.failed_commits),
            ("dowise_policies_total", "Policies made.", &self.policies),
            (
                "dowise_learner_failures_total",
                "Times that the learner could not reach the store.",
                &self.learner_failures,
            ),
        ];
        for (name, help, counter) in counters {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {}", counter.get());
        }
        self.commit_seconds.write(&mut out, "dowise_commit_seconds", "Time of a transaction.");
        self.decide_seconds.write(&mut out, "dowise_decide_seconds", "Time of a decision, from request to answer.");
        self.plan_seconds.write(&mut out, "dowise_plan_seconds", "Time to make a policy.");
        let mut last = "";
        for (name, world, value) in gauges {
            if *name != last {
                let _ = writeln!(out, "# TYPE {name} gauge");
                last = name;
            }
            let label = if world.is_empty() { String::new() } else { format!("{{world=\"{world}\"}}") };
            let _ = writeln!(out, "{name}{label} {value}");
        }
        out
    }
}
