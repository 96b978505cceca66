//! Option changes of a specification: every option once, typed, with its name, values and effect.

use super::words::{BetaWord, FeatureWord, WeightsWord};
use crate::learn::linear::{LinearOptions, Rewards, Switching};
use crate::learn::options::{Cap, Estimate, Forget, Options, Schedule, Sets, Width};

/// One option with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Width(Width),
    Sets(Sets),
    Scale(f64),
    Prior(f64),
    Epsilon(f64),
    Cap(Cap),
    Delta(f64),
    Schedule(Schedule),
    Monotone(bool),
    StageDependent(bool),
    Guard(bool),
    Forget(Forget),
    Features(FeatureWord),
    Beta(BetaWord),
    BetaScale(f64),
    Lambda(f64),
    RegressRewards(bool),
    Weights(WeightsWord),
    Unknown { kernel: bool, rewards: bool },
    Known(Vec<String>),
    Forms(bool),
}

/// What an option's values look like.
pub(super) enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// Some of these words, joined by `+`, or one word for all of them.
    Several(&'static [&'static str], &'static str),
    /// A number, or names, in words, and an example.
    Described(&'static str, &'static str),
    Flag,
}

/// An option without a value: one line of the list.
pub(super) struct Opening {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) values: Values,
    read: fn(&str) -> Option<Change>,
}

const UNKNOWN: &[&str] = &["kernel", "rewards"];

/// Everything in [`UNKNOWN`]: a learner that knows the graph and nothing else, as in real life.
const ALL: &str = "all";

/// All options, in the order in which they are written.
pub(super) const OPENINGS: [Opening; 21] = [
    Opening {
        name: "width",
        about: "add a width of the literature to the empirical mean",
        values: Values::Words(Width::WORDS),
        read: |v| Width::of(v).map(Change::Width),
    },
    Opening {
        name: "sets",
        about: "which confidence sets to be optimistic over",
        values: Values::Words(Sets::WORDS),
        read: |v| Sets::of(v).map(Change::Sets),
    },
    Opening {
        name: "scale",
        about: "multiplies the width, or the spread of samples of unknown mechanisms; 1 is as published",
        values: Values::Described("a number from 0 on", "0.5"),
        read: |v| number(v, |x| x >= 0.0).map(Change::Scale),
    },
    Opening {
        name: "prior",
        about: "weight of the prior in visits, shared by the values of a row",
        values: Values::Described("a number from 1e-6 to 1e6", "2"),
        read: |v| number(v, |x| crate::learn::error::PRIORS.contains(&x)).map(Change::Prior),
    },
    Opening {
        name: "epsilon",
        about: "probability of a random intervention at a step",
        values: Values::Described("a number between 0 and 1", "0.1"),
        read: |v| number(v, |x| (0.0..=1.0).contains(&x)).map(Change::Epsilon),
    },
    Opening {
        name: "cap",
        about: "ceiling of optimistic values",
        values: Values::Words(Cap::WORDS),
        read: |v| Cap::of(v).map(Change::Cap),
    },
    Opening {
        name: "delta",
        about: "probability with which the guarantee may fail",
        values: Values::Described("a number between 0 and 1, neither included", "0.05"),
        read: |v| number(v, |x| x > 0.0 && x < 1.0).map(Change::Delta),
    },
    Opening {
        name: "schedule",
        about: "when to plan again",
        values: Values::Words(Schedule::WORDS),
        read: |v| Schedule::of(v).map(Change::Schedule),
    },
    Opening {
        name: "monotone",
        about: "values never rise above those of an earlier plan",
        values: Values::Flag,
        read: |v| flag(v).map(Change::Monotone),
    },
    Opening {
        name: "stage-dependent",
        about: "each stage has counts of its own",
        values: Values::Flag,
        read: |v| flag(v).map(Change::StageDependent),
    },
    Opening {
        name: "guard",
        about: "test the graph with every step, and change it where it is contradicted",
        values: Values::Flag,
        read: |v| flag(v).map(Change::Guard),
    },
    Opening {
        name: "forget",
        about: "what to forget in worlds that change: by age, or where a change is noticed",
        values: Values::Described(
            "never, reset, window:EPISODES (a whole number from 1 to 10^12), discount:SHARE (between 0 and 1, neither included)",
            "reset",
        ),
        read: |v| forget(v).map(Change::Forget),
    },
    Opening {
        name: "features",
        about: "linear learners: features of state and causes; world: those of the world file, else one-hot",
        values: Values::Words(FeatureWord::WORDS),
        read: |v| FeatureWord::of(v).map(Change::Features),
    },
    Opening {
        name: "beta",
        about: "linear learners: formula for the width or deviation",
        values: Values::Words(BetaWord::WORDS),
        // `covered` is what `covering-number` was called before.
        read: |v| BetaWord::of(if v == "covered" { "covering-number" } else { v }).map(Change::Beta),
    },
    Opening {
        name: "beta-scale",
        about: "linear learners: multiplies beta; 1 is the formula as published",
        values: Values::Described("a number from 0 on", "0.5"),
        read: |v| number(v, |x| x >= 0.0).map(Change::BetaScale),
    },
    Opening {
        name: "lambda",
        about: "linear learners: regularisation of the regression",
        values: Values::Described("a number from 1e-12 to 1e6", "1"),
        read: |v| number(v, |x| x >= 1e-12).map(Change::Lambda),
    },
    Opening {
        name: "regress-rewards",
        about: "linear learners: regress rewards even if they are known",
        values: Values::Flag,
        read: |v| flag(v).map(Change::RegressRewards),
    },
    Opening {
        name: "weights",
        about: "linear learners with a width: weigh steps by how little the values ahead of them can vary",
        values: Values::Words(WeightsWord::WORDS),
        read: |v| WeightsWord::of(v).map(Change::Weights),
    },
    Opening {
        name: "unknown",
        about: "what the learner is not known and has to learn as well",
        values: Values::Several(UNKNOWN, ALL),
        read: |v| {
            if v == ALL {
                return Some(Change::Unknown { kernel: true, rewards: true });
            }
            let given: Vec<&str> = v.split('+').map(str::trim).collect();
            let [kernel, rewards] = [UNKNOWN[0], UNKNOWN[1]].map(|word| given.contains(&word));
            let all_known = given.iter().all(|g| UNKNOWN.contains(g));
            (all_known && given.len() == usize::from(kernel) + usize::from(rewards))
                .then_some(Change::Unknown { kernel, rewards })
        },
    },
    Opening {
        name: "known",
        about: "state factors whose transitions the learner is given, joined by +",
        values: Values::Described("names of state factors, joined by +", "NAME"),
        read: |v| {
            let names: Vec<String> = v.split('+').map(|n| n.trim().to_owned()).collect();
            let twice = (1..names.len()).any(|i| names[..i].contains(&names[i]));
            (!twice && names.iter().all(|n| !n.is_empty())).then_some(Change::Known(names))
        },
    },
    Opening {
        name: "forms",
        about: "learn unknown mechanisms in the form that the world file says; false: each row by itself",
        values: Values::Flag,
        read: |v| flag(v).map(Change::Forms),
    },
];

impl Opening {
    /// The option with a value; `None` if it does not have that value.
    pub(super) fn read(&self, value: &str) -> Option<Change> {
        (self.read)(value)
    }

    /// The option with a value that it may have.
    pub(super) fn example(&self) -> Change {
        let value = match &self.values {
            Values::Words(words) | Values::Several(words, _) => words[0],
            Values::Flag => "true",
            Values::Described(_, example) => example,
        };
        self.read(value).expect("invariant: every example is a value of its option")
    }

    /// The words that the value may be; none for numbers and names.
    pub(super) fn words(&self) -> Vec<&'static str> {
        match &self.values {
            Values::Words(words) => words.to_vec(),
            Values::Several(words, all) => words.iter().copied().chain([*all]).collect(),
            Values::Flag => vec!["true", "false"],
            Values::Described(..) => vec![],
        }
    }

    /// What the value may be, in words.
    pub(super) fn expected(&self) -> String {
        match &self.values {
            Values::Words(words) => words.join(", "),
            Values::Several(words, all) => format!("{}, or {all} (that is {})", words.join(", "), words.join("+")),
            Values::Described(what, _) => (*what).to_owned(),
            Values::Flag => "true or false".into(),
        }
    }
}

impl Change {
    /// Name of the option.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Change::Width(_) => "width",
            Change::Sets(_) => "sets",
            Change::Scale(_) => "scale",
            Change::Prior(_) => "prior",
            Change::Epsilon(_) => "epsilon",
            Change::Cap(_) => "cap",
            Change::Delta(_) => "delta",
            Change::Schedule(_) => "schedule",
            Change::Monotone(_) => "monotone",
            Change::StageDependent(_) => "stage-dependent",
            Change::Guard(_) => "guard",
            Change::Forget(_) => "forget",
            Change::Features(_) => "features",
            Change::Beta(_) => "beta",
            Change::BetaScale(_) => "beta-scale",
            Change::Lambda(_) => "lambda",
            Change::RegressRewards(_) => "regress-rewards",
            Change::Weights(_) => "weights",
            Change::Unknown { .. } => "unknown",
            Change::Known(_) => "known",
            Change::Forms(_) => "forms",
        }
    }

    /// Position among all options.
    pub(super) fn position(&self) -> usize {
        OPENINGS.iter().position(|o| o.name == self.name()).expect("invariant: every option is in the list")
    }

    /// Its value as it is written.
    pub(super) fn value(&self) -> String {
        match self {
            Change::Width(width) => width.word().to_owned(),
            Change::Sets(sets) => sets.word().to_owned(),
            Change::Cap(cap) => cap.word().to_owned(),
            Change::Schedule(schedule) => schedule.word().to_owned(),
            Change::Features(features) => features.word().to_owned(),
            Change::Beta(beta) => beta.word().to_owned(),
            Change::Weights(weights) => weights.word().to_owned(),
            Change::Scale(x)
            | Change::Prior(x)
            | Change::Epsilon(x)
            | Change::Delta(x)
            | Change::BetaScale(x)
            | Change::Lambda(x) => x.to_string(),
            Change::Monotone(on)
            | Change::StageDependent(on)
            | Change::Guard(on)
            | Change::RegressRewards(on)
            | Change::Forms(on) => on.to_string(),
            Change::Unknown { kernel, rewards } => {
                let words = UNKNOWN.iter().zip([kernel, rewards]).filter(|(_, on)| **on);
                words.map(|(word, _)| *word).collect::<Vec<_>>().join("+")
            }
            Change::Known(names) => names.join("+"),
            Change::Forget(Forget::Never) => "never".to_owned(),
            Change::Forget(Forget::Reset) => "reset".to_owned(),
            Change::Forget(Forget::Window { episodes }) => format!("window:{episodes}"),
            Change::Forget(Forget::Discount { share }) => format!("discount:{share}"),
        }
    }

    /// Changes the options of a learner that counts; what concerns others has no effect.
    pub(super) fn apply(&self, options: &mut Options) {
        match *self {
            Change::Width(width) => options.estimate = Estimate::Width(width),
            Change::Sets(sets) => options.estimate = Estimate::Sets(sets),
            Change::Scale(scale) => options.scale = scale,
            Change::Prior(prior) => options.estimate = Estimate::Posterior { prior },
            Change::Epsilon(epsilon) => options.estimate = Estimate::EpsilonGreedy { epsilon },
            Change::Cap(cap) => options.cap = cap,
            Change::Delta(delta) => options.delta = delta,
            Change::Schedule(schedule) => options.schedule = schedule,
            Change::Monotone(on) => options.monotone = on,
            Change::StageDependent(on) => options.stage_dependent = on,
            Change::Guard(on) => options.guard = on,
            Change::Forget(forget) => options.forget = forget,
            Change::Features(_)
            | Change::Beta(_)
            | Change::BetaScale(_)
            | Change::Lambda(_)
            | Change::RegressRewards(_)
            | Change::Weights(_)
            | Change::Unknown { .. }
            | Change::Known(_)
            | Change::Forms(_) => {}
        }
    }

    /// Changes the options of a learner that regresses on features; what concerns others has no effect.
    pub(super) fn apply_linear(&self, options: &mut LinearOptions) {
        match *self {
            Change::Cap(cap) => options.cap = cap,
            Change::Delta(delta) => options.delta = delta,
            Change::Schedule(Schedule::Doubling) => options.switching = Switching::Doubling,
            // The other two are refused.
            Change::Schedule(Schedule::Episode | Schedule::Growing | Schedule::Visited) => {
                options.switching = Switching::Episode
            }
            Change::StageDependent(on) => options.stage_dependent = on,
            Change::Features(word) => options.features = word.features(),
            Change::Beta(word) => options.beta = word.beta(),
            Change::BetaScale(scale) => options.beta_scale = scale,
            Change::Lambda(lambda) => options.lambda = lambda,
            Change::Weights(word) => options.weights = word.weights(),
            Change::RegressRewards(on) => options.rewards = if on { Rewards::Regressed } else { Rewards::Known },
            Change::Width(_)
            | Change::Sets(_)
            | Change::Scale(_)
            | Change::Prior(_)
            | Change::Epsilon(_)
            | Change::Monotone(_)
            | Change::Guard(_)
            | Change::Forget(_)
            | Change::Unknown { .. }
            | Change::Known(_)
            | Change::Forms(_) => {}
        }
    }
}

fn number(text: &str, allowed: impl Fn(f64) -> bool) -> Option<f64> {
    text.parse().ok().filter(|x: &f64| x.is_finite() && allowed(*x))
}

/// What is forgotten, as it is written.
fn forget(text: &str) -> Option<Forget> {
    match text.split_once(':') {
        None if text == "reset" => Some(Forget::Reset),
        None if text == "never" => Some(Forget::Never),
        Some(("window", episodes)) => {
            let episodes = episodes.trim().parse().ok().filter(|n| crate::learn::error::WINDOWS.contains(n))?;
            Some(Forget::Window { episodes })
        }
        Some(("discount", share)) => {
            number(share.trim(), |x| x > 0.0 && x < 1.0).map(|share| Forget::Discount { share })
        }
        _ => None,
    }
}

fn flag(text: &str) -> Option<bool> {
    text.parse().ok()
}
