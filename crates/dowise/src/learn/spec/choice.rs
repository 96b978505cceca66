//! The options of a learner that can be written as text: their names, values, and what they change.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::linear::{BETAS, FEATURES};
use crate::learn::options::{Cap, Estimate, Options, Schedule, Sets, Width};

/// One option.
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    kind: Kind,
    apply: fn(&str, &mut Options),
}

/// What an option's values look like.
enum Kind {
    /// One of these words.
    Words(&'static [&'static str]),
    /// Some of these words, joined by `+`.
    Several(&'static [&'static str]),
    /// A number that passes the test, and the test in words.
    Number(fn(f64) -> bool, &'static str),
    Flag,
}

/// What kind of learner a preset is, as far as options are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Optimistic,
    Sampling,
    EpsilonGreedy,
    Greedy,
    Uniform,
    Linear,
}

impl Family {
    pub(super) fn of(estimate: &Estimate) -> Family {
        match estimate {
            Estimate::Width(_) | Estimate::Sets(_) => Family::Optimistic,
            Estimate::Posterior { .. } => Family::Sampling,
            Estimate::EpsilonGreedy { .. } => Family::EpsilonGreedy,
            Estimate::Uniform => Family::Uniform,
            Estimate::Greedy => Family::Greedy,
            Estimate::Linear => Family::Linear,
        }
    }
}

const WIDTHS: &[&str] = &[
    "paper",
    "paper-plain",
    "azar-hoeffding",
    "azar-bernstein",
    "weissman",
    "hoeffding-v",
    "bernstein",
    "quasi",
    "rlberry",
];

/// All options, in the order in which they are written.
pub(super) const CHOICES: [Choice; 17] = [
    Choice {
        name: "width",
        about: "add a width of the literature to the empirical mean",
        kind: Kind::Words(WIDTHS),
        apply: |v, o| o.estimate = Estimate::Width(word::<Width>(v)),
    },
    Choice {
        name: "sets",
        about: "which confidence sets to be optimistic over",
        kind: Kind::Words(&["kl", "l1"]),
        apply: |v, o| o.estimate = Estimate::Sets(word::<Sets>(v)),
    },
    Choice {
        name: "scale",
        about: "multiplies the width; 1 is the formula as published",
        kind: Kind::Number(|x| x >= 0.0, "a number from 0 on"),
        apply: |v, o| o.scale = number(v),
    },
    Choice {
        name: "prior",
        about: "pseudo-count of each value in the posterior",
        kind: Kind::Number(|x| x > 0.0, "a number above 0"),
        apply: |v, o| o.estimate = Estimate::Posterior { prior: number(v) },
    },
    Choice {
        name: "epsilon",
        about: "probability of a random intervention at a step",
        kind: Kind::Number(|x| (0.0..=1.0).contains(&x), "a number between 0 and 1"),
        apply: |v, o| o.estimate = Estimate::EpsilonGreedy { epsilon: number(v) },
    },
    Choice {
        name: "cap",
        about: "ceiling of optimistic values",
        kind: Kind::Words(&["stage", "horizon", "literal"]),
        apply: |v, o| o.cap = word::<Cap>(v),
    },
    Choice {
        name: "delta",
        about: "probability with which the guarantee may fail",
        kind: Kind::Number(|x| x > 0.0 && x < 1.0, "a number between 0 and 1, neither included"),
        apply: |v, o| o.delta = number(v),
    },
    Choice {
        name: "schedule",
        about: "when to plan again",
        kind: Kind::Words(&["episode", "doubling", "visited"]),
        apply: |v, o| o.schedule = word::<Schedule>(v),
    },
    Choice {
        name: "monotone",
        about: "values never rise above those of an earlier plan",
        kind: Kind::Flag,
        apply: |v, o| o.monotone = v == "true",
    },
    Choice {
        name: "stage-dependent",
        about: "each stage has counts of its own",
        kind: Kind::Flag,
        apply: |v, o| o.stage_dependent = v == "true",
    },
    Choice {
        name: "guard",
        about: "test the causal model and fall back when it fails",
        kind: Kind::Flag,
        apply: |v, o| o.guard = v == "true",
    },
    // Options of learners that regress on features: the spec's `linear_options` reads them.
    Choice {
        name: "features",
        about: "linear learners: features of state and causes; world: those of the world file, else one-hot",
        kind: Kind::Words(FEATURES),
        apply: |_, _| {},
    },
    Choice {
        name: "beta",
        about: "linear learners: formula for the width or deviation",
        kind: Kind::Words(BETAS),
        apply: |_, _| {},
    },
    Choice {
        name: "beta-scale",
        about: "linear learners: multiplies beta; 1 is the formula as published",
        kind: Kind::Number(|x| x >= 0.0, "a number from 0 on"),
        apply: |_, _| {},
    },
    Choice {
        name: "lambda",
        about: "linear learners: regularisation of the regression",
        kind: Kind::Number(|x| x >= 1e-12, "a number from 1e-12 on"),
        apply: |_, _| {},
    },
    Choice {
        name: "regress-rewards",
        about: "linear learners: regress rewards even if they are known",
        kind: Kind::Flag,
        apply: |_, _| {},
    },
    Choice {
        name: "unknown",
        about: "what the learner is not told and has to learn as well",
        kind: Kind::Several(&["kernel", "rewards"]),
        // Knowledge, not an option of the learner: the spec's `knowledge` reads it.
        apply: |_, _| {},
    },
];

impl Choice {
    /// The value as it is written, or `None` if it is not allowed.
    pub(super) fn canonical(&self, value: &str) -> Option<String> {
        match &self.kind {
            Kind::Words(words) => words.contains(&value).then(|| value.to_owned()),
            Kind::Several(words) => {
                let given: Vec<&str> = value.split('+').map(str::trim).collect();
                let known = given.iter().all(|g| words.contains(g));
                let kept: Vec<&str> = words.iter().copied().filter(|w| given.contains(w)).collect();
                (known && kept.len() == given.len()).then(|| kept.join("+"))
            }
            Kind::Number(allowed, _) => {
                let x: f64 = value.parse().ok()?;
                (x.is_finite() && allowed(x)).then(|| x.to_string())
            }
            Kind::Flag => ["true", "false"].contains(&value).then(|| value.to_owned()),
        }
    }

    /// The words that the value may be; none for numbers.
    pub(super) fn values(&self) -> Vec<String> {
        match &self.kind {
            Kind::Words(words) | Kind::Several(words) => words.iter().map(|w| (*w).to_owned()).collect(),
            Kind::Flag => vec!["true".into(), "false".into()],
            Kind::Number(..) => vec![],
        }
    }

    /// What the value may be, in words.
    pub(super) fn expected(&self) -> String {
        match &self.kind {
            Kind::Words(words) => words.join(", "),
            Kind::Several(words) => format!("{}, or {}", words.join(", "), words.join("+")),
            Kind::Number(_, what) => (*what).to_owned(),
            Kind::Flag => "true or false".into(),
        }
    }

    /// Changes the options.
    pub(super) fn apply(&self, canonical: &str, options: &mut Options) {
        (self.apply)(canonical, options);
    }
}

/// The name of a width, of sets, or of another way to estimate, as it is written.
pub(super) fn name_of(options: &Options) -> String {
    fn written(value: &impl Serialize) -> String {
        match serde_json::to_value(value) {
            Ok(serde_json::Value::String(word)) => word,
            other => unreachable!("options are written as words, not {other:?}"),
        }
    }
    match &options.estimate {
        Estimate::Width(width) => written(width),
        Estimate::Sets(sets) => written(sets),
        Estimate::Posterior { .. } => "posterior".into(),
        Estimate::Greedy => "greedy".into(),
        Estimate::EpsilonGreedy { .. } => "epsilon-greedy".into(),
        Estimate::Uniform => "uniform".into(),
        Estimate::Linear => "linear".into(),
    }
}

pub(super) fn word<T: DeserializeOwned>(canonical: &str) -> T {
    serde_json::from_value(serde_json::Value::String(canonical.to_owned())).expect("the words are those of the type")
}

pub(super) fn number(canonical: &str) -> f64 {
    canonical.parse().expect("checked when it was read")
}
