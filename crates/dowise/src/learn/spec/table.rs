//! All options of learners in one table: name, values, default, learners that take it, effect and documentation.
//!
//! Reading, help, messages and the table of `docs/reference/learners.md` are made from it. A new option is one line.

use super::change::{Value, Values};
use super::words::{BetaWord, FeatureWord, WeightsWord};
use crate::learn::error::{LearnResult, PRIORS};
use crate::learn::linear::{LinearOptions, Rewards, Switching};
use crate::learn::options::{Cap, Estimate, Options, Schedule, Sets, Width};
use crate::learn::{Knowledge, Preset};
use crate::world::World;

/// One option.
pub(super) struct LearnerOption {
    pub(super) name: &'static str,
    /// What it does.
    pub(super) about: &'static str,
    pub(super) values: Values,
    /// Its default, as in the documentation.
    pub(super) default: &'static str,
    /// The learners that take it, as in the documentation.
    pub(super) applies_to: &'static str,
    /// Its effect on learners that count.
    pub(super) tabular: Tabular,
    /// Its effect on learners that regress on features.
    pub(super) linear: Linear,
    /// Its effect on the learner's knowledge.
    pub(super) knowledge: fn(&Value, &World, Knowledge) -> LearnResult<Knowledge>,
    /// Why a learner that counts does not take it.
    needs: fn(&Learning<'_>) -> Option<&'static str>,
}

/// Effect of an option on learners that count.
pub(super) enum Tabular {
    /// It changes their options.
    Sets(fn(&Value, &mut Options)),
    /// It changes their knowledge alone.
    Takes,
    /// It has none, for this reason.
    Refuses(&'static str),
}

/// Effect of an option on learners that regress on features.
pub(super) enum Linear {
    /// It changes their options.
    Sets(fn(&Value, &mut LinearOptions)),
    /// It changes their knowledge alone.
    Takes,
    /// It has none, for this reason.
    Refuses(&'static str),
}

/// The learner that an option is for.
pub(super) struct Learning<'a> {
    estimate: Estimate,
    /// Whether an option is given.
    is_given: &'a dyn Fn(&str) -> bool,
}

const UNKNOWN: &[&str] = &["kernel", "rewards"];
const COUNTS: &str = "it regresses on features instead of counting; see beta and beta-scale";
const REGRESSES: &str = "it counts; only lsvi-ucb, c-lsvi-ucb, c-rlsvi and c-blsvi regress on features";

/// Former words of values, which are still read.
const FORMER: [(&str, &str, &str); 1] = [("beta", "covered", "covering-number")];

/// All options, in the order in which they are written.
pub(super) static OPTIONS: [LearnerOption; 21] = [
    LearnerOption {
        name: "width",
        about: "add a width of the literature to the empirical mean",
        values: Values::Words(Width::WORDS),
        default: "none (sets)",
        applies_to: "UCBVI family",
        tabular: Tabular::Sets(|v, o| o.estimate = Estimate::Width(v.entry(Width::of))),
        linear: Linear::Refuses(COUNTS),
        knowledge: same,
        needs: has_widths,
    },
    LearnerOption {
        name: "sets",
        about: "which confidence sets to be optimistic over",
        values: Values::Words(Sets::WORDS),
        default: "`mixture`",
        applies_to: "UCBVI family without `width`",
        tabular: Tabular::Sets(|v, o| o.estimate = Estimate::Sets(v.entry(Sets::of))),
        linear: Linear::Refuses(COUNTS),
        knowledge: same,
        needs: has_sets,
    },
    LearnerOption {
        name: "scale",
        about: "multiplies the width, or the spread of samples of unknown mechanisms; 1 is as published",
        values: Values::Number {
            expected: "a number from 0 on",
            documented: "number ≥ 0",
            example: "0.5",
            allowed: |x| x >= 0.0,
        },
        default: "1",
        applies_to: "UCBVI family with `width`; PSRL family with `unknown`",
        tabular: Tabular::Sets(|v, o| o.scale = v.number()),
        linear: Linear::Refuses(COUNTS),
        knowledge: same,
        needs: is_scaled,
    },
    LearnerOption {
        name: "prior",
        about: "weight of the prior in visits, shared by the values of a row",
        values: Values::Number {
            expected: "a number from 1e-6 to 1e6",
            documented: "1e-6 to 1e6",
            example: "2",
            allowed: |x| PRIORS.contains(&x),
        },
        default: "2",
        applies_to: "PSRL family",
        tabular: Tabular::Sets(|v, o| o.estimate = Estimate::Posterior { prior: v.number() }),
        linear: Linear::Refuses(COUNTS),
        knowledge: same,
        needs: samples,
    },
    LearnerOption {
        name: "epsilon",
        about: "probability of a random intervention at a step",
        values: Values::Number {
            expected: "a number between 0 and 1",
            documented: "0 to 1",
            example: "0.1",
            allowed: |x| (0.0..=1.0).contains(&x),
        },
        default: "0.05",
        applies_to: "`epsilon-greedy`",
        tabular: Tabular::Sets(|v, o| o.estimate = Estimate::EpsilonGreedy { epsilon: v.number() }),
        linear: Linear::Refuses(COUNTS),
        knowledge: same,
        needs: explores_at_random,
    },
    LearnerOption {
        name: "cap",
        about: "ceiling of optimistic values",
        values: Values::Words(Cap::WORDS),
        default: "`stage`; `lsvi-ucb`: `horizon`",
        applies_to: "UCBVI family, linear",
        tabular: Tabular::Sets(|v, o| o.cap = v.entry(Cap::of)),
        linear: Linear::Sets(|v, o| o.cap = v.entry(Cap::of)),
        knowledge: same,
        needs: is_optimistic,
    },
    LearnerOption {
        name: "delta",
        about: "probability with which the guarantee may fail",
        values: Values::Number {
            expected: "a number between 0 and 1, neither included",
            documented: "between 0 and 1, exclusive",
            example: "0.05",
            allowed: |x| x > 0.0 && x < 1.0,
        },
        default: "0.1",
        applies_to: "UCBVI family, linear; others with `guard` or `forget`",
        tabular: Tabular::Sets(|v, o| o.delta = v.number()),
        linear: Linear::Sets(|v, o| o.delta = v.number()),
        knowledge: same,
        needs: tests_or_is_optimistic,
    },
    LearnerOption {
        name: "schedule",
        about: "when to plan again",
        values: Values::Words(Schedule::WORDS),
        default: "[see below](#replanning-schedule)",
        applies_to: "all but `uniform`; `visited`: UCBVI family; linear: `episode`, `doubling`",
        tabular: Tabular::Sets(|v, o| o.schedule = v.entry(Schedule::of)),
        linear: Linear::Sets(|v, o| o.switching = switching(v.entry(Schedule::of))),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "monotone",
        about: "values never rise above those of an earlier plan",
        values: Values::Flag,
        default: "`false`",
        applies_to: "UCBVI family",
        tabular: Tabular::Sets(|v, o| o.monotone = v.is_on()),
        linear: Linear::Refuses(COUNTS),
        knowledge: same,
        needs: is_optimistic,
    },
    LearnerOption {
        name: "stage-dependent",
        about: "each stage has counts of its own",
        values: Values::Flag,
        default: "`false`; `lsvi-ucb`: `true`",
        applies_to: "all but `uniform`",
        tabular: Tabular::Sets(|v, o| o.stage_dependent = v.is_on()),
        linear: Linear::Sets(|v, o| o.stage_dependent = v.is_on()),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "guard",
        about: "test the graph with every step, and change it where it is contradicted",
        values: Values::Flag,
        default: "`false`",
        applies_to: "tabular, but `uniform`",
        tabular: Tabular::Sets(|v, o| o.guard = v.is_on()),
        linear: Linear::Refuses(COUNTS),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "forget",
        about: "what to forget in worlds that change: by age, or where a change is noticed",
        values: Values::Forget {
            expected: "never, reset, window:EPISODES (a whole number from 1 to 10^12), discount:SHARE (between 0 and 1, neither included)",
            documented: "`never`, `reset`, `window:EPISODES`, `discount:SHARE`",
        },
        default: "`never`",
        applies_to: "tabular, but `uniform`",
        tabular: Tabular::Sets(|v, o| o.forget = v.forget()),
        linear: Linear::Refuses(COUNTS),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "features",
        about: "linear learners: features of state and causes; world: those of the world file, else one-hot",
        values: Values::Words(FeatureWord::WORDS),
        default: "`world`",
        applies_to: "linear",
        tabular: Tabular::Refuses(REGRESSES),
        linear: Linear::Sets(|v, o| o.features = v.entry(FeatureWord::of).features()),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "beta",
        about: "linear learners: formula for the width or deviation",
        values: Values::Words(BetaWord::WORDS),
        default: "by preset",
        applies_to: "linear; `residuals`: `c-blsvi`, `c-rlsvi`",
        tabular: Tabular::Refuses(REGRESSES),
        linear: Linear::Sets(|v, o| o.beta = v.entry(BetaWord::of).beta()),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "beta-scale",
        about: "linear learners: multiplies beta; 1 is the formula as published",
        values: Values::Number {
            expected: "a number from 0 on",
            documented: "number ≥ 0",
            example: "0.5",
            allowed: |x| x >= 0.0,
        },
        default: "1",
        applies_to: "linear",
        tabular: Tabular::Refuses(REGRESSES),
        linear: Linear::Sets(|v, o| o.beta_scale = v.number()),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "lambda",
        about: "linear learners: regularisation of the regression",
        values: Values::Number {
            expected: "a number from 1e-12 to 1e6",
            documented: "1e-12 to 1e6",
            example: "1",
            allowed: |x| x >= 1e-12,
        },
        default: "1",
        applies_to: "linear, except `beta=residuals`",
        tabular: Tabular::Refuses(REGRESSES),
        linear: Linear::Sets(|v, o| o.lambda = v.number()),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "regress-rewards",
        about: "linear learners: regress rewards even if they are known",
        values: Values::Flag,
        default: "`false`; `lsvi-ucb`: `true`",
        applies_to: "linear",
        tabular: Tabular::Refuses(REGRESSES),
        linear: Linear::Sets(|v, o| o.rewards = if v.is_on() { Rewards::Regressed } else { Rewards::Known }),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "weights",
        about: "linear learners with a width: weigh steps by how little the values ahead of them can vary",
        values: Values::Words(WeightsWord::WORDS),
        default: "`none`",
        applies_to: "`c-lsvi-ucb`, `lsvi-ucb`",
        tabular: Tabular::Refuses(REGRESSES),
        linear: Linear::Sets(|v, o| o.weights = v.entry(WeightsWord::of).weights()),
        knowledge: same,
        needs: learns,
    },
    LearnerOption {
        name: "unknown",
        about: "what the learner is not known and has to learn as well",
        values: Values::Several(UNKNOWN, "all"),
        default: "none",
        applies_to: "all but `uniform`; `kernel`: not `lsvi-ucb`",
        tabular: Tabular::Takes,
        linear: Linear::Takes,
        knowledge: |v, _, knowledge| {
            let unknown = |word: &str| v.several().iter().any(|given| given == word);
            let knowledge = if unknown(UNKNOWN[0]) { knowledge.without_mechanisms() } else { knowledge };
            Ok(if unknown(UNKNOWN[1]) { knowledge.without_rewards() } else { knowledge })
        },
        needs: learns,
    },
    LearnerOption {
        name: "known",
        about: "state factors whose transitions the learner is given, joined by +",
        values: Values::Names {
            expected: "names of state factors, joined by +",
            documented: "names of state factors, joined by `+`",
        },
        default: "none",
        applies_to: "tabular with factored states",
        tabular: Tabular::Takes,
        linear: Linear::Refuses("it regresses on features of the whole state, and has no factors of its own"),
        knowledge: |v, world, knowledge| {
            let factors: Vec<&str> = v.several().iter().map(String::as_str).collect();
            knowledge.with_transitions_of(world, &factors)
        },
        needs: learns,
    },
    LearnerOption {
        name: "forms",
        about: "learn unknown mechanisms in the form that the world file says; false: each row by itself",
        values: Values::Flag,
        default: "`true`",
        applies_to: "all but `uniform`",
        tabular: Tabular::Takes,
        linear: Linear::Takes,
        knowledge: |v, _, knowledge| Ok(if v.is_on() { knowledge } else { knowledge.without_forms() }),
        needs: learns,
    },
];

impl LearnerOption {
    /// Reads a value; `None` if the option does not have it.
    pub(super) fn read(&self, text: &str) -> Option<Value> {
        let former = FORMER.iter().find(|(name, former, _)| (*name, *former) == (self.name, text));
        self.values.read(former.map_or(text, |(_, _, present)| present))
    }

    /// Why a value would be pointless for a preset with these other options.
    pub(super) fn refusal(
        &self,
        value: &Value,
        preset: Preset,
        is_given: &dyn Fn(&str) -> bool,
    ) -> Option<&'static str> {
        let estimate = preset.options(1, 0).estimate;
        if estimate == Estimate::Linear {
            return match self.linear {
                Linear::Refuses(why) => Some(why),
                Linear::Sets(_) if matches!(value, Value::Word("visited" | "growing")) => {
                    Some("it plans for all states at once; choose episode or doubling")
                }
                Linear::Sets(_) | Linear::Takes => None,
            };
        }
        match self.tabular {
            Tabular::Refuses(why) => Some(why),
            Tabular::Sets(_) | Tabular::Takes => (self.needs)(&Learning { estimate, is_given }),
        }
    }

    /// Its line in the documentation.
    pub(super) fn documented(&self) -> String {
        let LearnerOption { name, default, applies_to, .. } = self;
        format!("| `{name}` | {} | {default} | {applies_to} |", self.values.documented())
    }
}

impl Learning<'_> {
    fn optimistic(&self) -> bool {
        matches!(self.estimate, Estimate::Width(_) | Estimate::Sets(_))
    }

    fn sampler(&self) -> bool {
        matches!(self.estimate, Estimate::Posterior { .. })
    }
}

fn same(_: &Value, _: &World, knowledge: Knowledge) -> LearnResult<Knowledge> {
    Ok(knowledge)
}

/// Schedules that linear learners do not have are refused before.
fn switching(schedule: Schedule) -> Switching {
    match schedule {
        Schedule::Doubling => Switching::Doubling,
        Schedule::Episode | Schedule::Growing | Schedule::Visited => Switching::Episode,
    }
}

fn learns(of: &Learning<'_>) -> Option<&'static str> {
    (of.estimate == Estimate::Uniform).then_some("it learns nothing")
}

fn is_optimistic(of: &Learning<'_>) -> Option<&'static str> {
    (!of.optimistic()).then_some("it is not optimistic")
}

fn tests_or_is_optimistic(of: &Learning<'_>) -> Option<&'static str> {
    if (of.is_given)("guard") || (of.is_given)("forget") { None } else { is_optimistic(of) }
}

fn has_widths(of: &Learning<'_>) -> Option<&'static str> {
    (!of.optimistic()).then_some("it is not optimistic, so it has neither widths nor sets")
}

fn has_sets(of: &Learning<'_>) -> Option<&'static str> {
    let width = (of.is_given)("width").then_some("it has a width, and sets take the place of widths");
    has_widths(of).or(width)
}

fn is_scaled(of: &Learning<'_>) -> Option<&'static str> {
    match () {
        () if of.optimistic() && (of.is_given)("width") || of.sampler() && (of.is_given)("unknown") => None,
        () if of.sampler() => {
            Some("it multiplies the spread of samples of mechanisms that are unknown, as with unknown=all")
        }
        () => Some("it multiplies a width; choose one, for example width=paper-plain"),
    }
}

fn samples(of: &Learning<'_>) -> Option<&'static str> {
    (!of.sampler()).then_some("only posterior sampling has a prior")
}

fn explores_at_random(of: &Learning<'_>) -> Option<&'static str> {
    let explores = matches!(of.estimate, Estimate::EpsilonGreedy { .. });
    (!explores).then_some("only epsilon-greedy explores in this way")
}
