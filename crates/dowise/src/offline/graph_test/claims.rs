//! The testable conditional independences that a declared graph implies, with descriptions.

use super::graph::{Part, StepGraph};
use crate::data::BinnedVariable;
use crate::learn::{Knowledge, MISSING, Observation};
use crate::offline::evaluate::Projection;
use crate::world::VarId;

/// Stages and payments are binned into at most this many classes of equal width.
const MOST_CLASSES: usize = 8;

/// Classes of episodes by their number in the log; each is as long as all before it.
const MOST_PERIODS: usize = 24;

/// One implied independence: within each row of `given`, `outcome` does not depend on `other`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) outcome: Part,
    pub(super) other: Part,
    /// In causal order.
    pub(super) given: Vec<Part>,
}

/// Every d-separated pair of observed parts of a step, with a separating set.
///
/// The separating set is the observed parents of the later part. If hidden variables make these insufficient, it is
/// those of the other part, or both. Pairs without such a set, such as key variables with a common hidden parent, are
/// left out.
pub(super) fn implied(knowledge: &Knowledge) -> Vec<Claim> {
    let graph = StepGraph::new(knowledge);
    let observed: Vec<(usize, Part)> = graph.observed().collect();
    let mut claims: Vec<Claim> = Vec::new();
    for &(y, outcome) in observed.iter().filter(|(_, part)| is_outcome(*part)) {
        for &(w, other) in observed.iter().filter(|&&(w, _)| w < y) {
            let Some(given) = separating(knowledge, &graph, (y, outcome), (w, other)) else { continue };
            claims.push(Claim { outcome, other, given: given.into_iter().map(|v| graph.part(v)).collect() });
        }
    }
    without_repetitions(knowledge, claims)
}

/// The Markov property: every pair of an outcome of a step and a variable of one of the two steps before, with a
/// separating set.
///
/// If the graph separates an outcome from all earlier steps, an effect that comes one or two steps later, or a lasting
/// hidden trait of the episode, contradicts it.
pub(super) fn implied_markov(knowledge: &Knowledge) -> Vec<Claim> {
    if knowledge.horizon() < 2 {
        return Vec::new();
    }
    let graph = StepGraph::new(knowledge);
    let mut earlier: Vec<VarId> = [knowledge.levers(), knowledge.keys(), knowledge.state()].concat();
    earlier.retain(|&id| knowledge.world().logged_lever(id).is_none());
    let mut claims = Vec::new();
    for (y, outcome) in graph.observed().filter(|(_, part)| is_outcome(*part)) {
        let own = graph.observed_parents(y);
        let sets = [own.clone(), graph.with_choices(&own)];
        let Some(given) = sets.into_iter().find(|given| graph.independent_of_past(y, given)) else { continue };
        let given: Vec<Part> = given.into_iter().map(|v| graph.part(v)).collect();
        let of = |other: Part| Claim { outcome, other, given: given.clone() };
        claims.extend(earlier.iter().map(|&id| of(Part::Previous(id))));
        if knowledge.horizon() > 2 {
            claims.extend(earlier.iter().map(|&id| of(Part::Earlier(id))));
        }
    }
    claims
}

/// Stationarity: every outcome of a step and the time of its episode, with a separating set.
///
/// The behaviour policy may change with time, as it may depend on anything earlier. If the graph separates an outcome
/// from all earlier steps, it has the same distribution early and late in the log, unless the world has changed.
pub(super) fn implied_stationarity(knowledge: &Knowledge) -> Vec<Claim> {
    with_every_outcome(knowledge, Part::Period)
}

/// No unmeasured confounding: every outcome of a step and whether its levers were set by a draw, with a separating set.
///
/// A draw acts on the levers only. If nothing unrecorded acts on a lever and on an outcome, the outcome has the same
/// distribution given its parents, whoever set the lever.
pub(super) fn implied_confounding(knowledge: &Knowledge) -> Vec<Claim> {
    with_every_outcome(knowledge, Part::Randomised)
}

/// Every outcome that the graph separates from all earlier steps, and a part that acts on the intervention only.
fn with_every_outcome(knowledge: &Knowledge, other: Part) -> Vec<Claim> {
    let graph = StepGraph::new(knowledge);
    let of = |(y, outcome): (usize, Part)| {
        let own = graph.observed_parents(y);
        let sets = [own.clone(), graph.with_choices(&own)];
        let given = sets.into_iter().find(|given| graph.independent_of_past(y, given))?;
        Some(Claim { outcome, other, given: given.into_iter().map(|v| graph.part(v)).collect() })
    };
    graph.observed().filter(|(_, part)| is_outcome(*part)).filter_map(of).collect()
}

/// For each claim, whether it also holds in the graph of steps whose levers were not set by a draw.
pub(super) fn hold_as_logged(knowledge: &Knowledge, claims: &[Claim], as_logged: &Knowledge) -> Vec<bool> {
    let graph = StepGraph::new(as_logged);
    let same = |id: VarId| as_logged.world().find(&knowledge.variable(id).name);
    // State factors, levers and reward terms have the same order in both.
    let node = |part: &Part| match *part {
        Part::State(id) => graph.node(Part::State(same(id)?)),
        Part::Lever(id) => graph.node(Part::Lever(same(id)?)),
        Part::Key(id) => graph.node(Part::Key(same(id)?)),
        other => graph.node(other),
    };
    let holds = |claim: &Claim| {
        let given: Vec<usize> = claim.given.iter().map(node).collect::<Option<_>>()?;
        let outcome = node(&claim.outcome)?;
        Some(match claim.other {
            Part::Previous(_) | Part::Earlier(_) | Part::Period | Part::Randomised => {
                graph.independent_of_past(outcome, &given)
            }
            _ => graph.independent(outcome, node(&claim.other)?, &given),
        })
    };
    claims.iter().map(|claim| holds(claim) == Some(true)).collect()
}

/// A lever's setting adds nothing to its value, if the value is tested too.
fn without_repetitions(knowledge: &Knowledge, mut claims: Vec<Claim>) -> Vec<Claim> {
    let of_value = |claim: &Claim| match claim.other {
        Part::Set(l) => {
            let lever = Part::Lever(knowledge.levers()[l]);
            claims.iter().any(|c| c.outcome == claim.outcome && c.other == lever)
        }
        _ => false,
    };
    let repeated: Vec<bool> = claims.iter().map(of_value).collect();
    let mut repeated = repeated.into_iter();
    claims.retain(|_| !repeated.next().expect("invariant: one for each claim"));
    claims
}

/// Whether the world draws this part anew in every step.
fn is_outcome(part: Part) -> bool {
    match part {
        Part::Stage | Part::State(_) | Part::Set(_) => false,
        Part::Previous(_) | Part::Earlier(_) | Part::Period | Part::Randomised => false,
        Part::Lever(_) | Part::Key(_) | Part::Reward(_) | Part::Next(_) => true,
    }
}

fn separating(
    knowledge: &Knowledge,
    graph: &StepGraph,
    (y, outcome): (usize, Part),
    (w, other): (usize, Part),
) -> Option<Vec<usize>> {
    let own = graph.observed_parents(y);
    let mut sets = vec![own.clone(), graph.with_choices(&own)];
    if is_outcome(other) {
        let others = graph.observed_parents(w);
        let mut both = [own, others.clone()].concat();
        both.sort_unstable();
        both.dedup();
        sets.extend([graph.with_choices(&others), others]);
        sets.extend([graph.with_choices(&both), both]);
    }
    sets.retain(|given| !given.contains(&y) && !given.contains(&w) && graph.independent(y, w, given));
    let rows = |given: &Vec<usize>| given.iter().map(|&v| size(knowledge, graph.part(v)) as f64).product::<f64>();
    // Parts of the same kind have no causal order, so the set with fewer rows is used: it has more visits each.
    if std::mem::discriminant(&outcome) == std::mem::discriminant(&other) {
        sets.into_iter().min_by(|a, b| rows(a).total_cmp(&rows(b)))
    } else {
        sets.into_iter().next()
    }
}

/// Number of classes of a part.
pub(super) fn size(knowledge: &Knowledge, part: Part) -> usize {
    match part {
        Part::Stage => knowledge.horizon().min(MOST_CLASSES),
        Part::State(id) | Part::Lever(id) | Part::Key(id) => knowledge.variable(id).size(),
        Part::Previous(id) | Part::Earlier(id) => knowledge.variable(id).size(),
        Part::Set(l) => knowledge.variable(knowledge.levers()[l]).size() + 1,
        Part::Reward(_) => MOST_CLASSES,
        Part::Next(i) => knowledge.variable(knowledge.state()[i]).size(),
        Part::Period => MOST_PERIODS,
        Part::Randomised => 2,
    }
}

/// A step, and the step before it if the log has it.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    pub(super) now: &'a Observation<'a>,
    pub(super) before: Option<&'a Observation<'a>>,
    /// The step before that one.
    pub(super) earlier: Option<&'a Observation<'a>>,
    /// The episode, from 1 in the order in which they were added.
    pub(super) episode: u64,
    /// Its place in the log, from 1 in order of first appearance.
    pub(super) place: u64,
    /// Whether the levers were set by a draw, if recorded.
    pub(super) randomised: Option<bool>,
}

/// The class of a part in a step; `MISSING` if it was not recorded.
pub(super) fn class(
    knowledge: &Knowledge,
    part: Part,
    Steps { now: seen, before, earlier, place, randomised, .. }: Steps<'_>,
) -> u32 {
    match part {
        Part::Stage => (seen.stage() * size(knowledge, part) / knowledge.horizon()) as u32,
        Part::State(id) | Part::Lever(id) | Part::Key(id) => seen.values()[id.ix()],
        Part::Set(l) => {
            let digit = |action| knowledge.interventions().lever(action, l).map_or(0, |v| v as u32 + 1);
            seen.action().map_or(MISSING, digit)
        }
        Part::Reward(j) => {
            let ([lo, hi], paid) = (knowledge.rewards()[j].range, seen.rewards()[j]);
            if paid.is_nan() {
                return MISSING;
            }
            let share = if hi > lo { (paid - lo) / (hi - lo) } else { 0.0 };
            ((share * MOST_CLASSES as f64).max(0.0) as usize).min(MOST_CLASSES - 1) as u32
        }
        Part::Next(i) => seen.next_value(knowledge.state_space(), i).map_or(MISSING, |value| value as u32),
        Part::Previous(id) => before.map_or(MISSING, |before| before.values()[id.ix()]),
        Part::Earlier(id) => earlier.map_or(MISSING, |earlier| earlier.values()[id.ix()]),
        Part::Period => place.max(1).ilog2().min(MOST_PERIODS as u32 - 1),
        Part::Randomised => randomised.map_or(MISSING, u32::from),
    }
}

/// A part in words.
pub(super) fn name(knowledge: &Knowledge, part: Part) -> String {
    match part {
        Part::Stage => "stage".to_owned(),
        Part::State(id) | Part::Lever(id) | Part::Key(id) => knowledge.variable(id).name.clone(),
        Part::Set(l) => format!("set {}", knowledge.variable(knowledge.levers()[l]).name),
        Part::Reward(j) => format!("reward {}", knowledge.rewards()[j].name),
        Part::Next(i) => format!("next {}", knowledge.variable(knowledge.state()[i]).name),
        Part::Previous(id) => format!("previous {}", knowledge.variable(id).name),
        Part::Earlier(id) => format!("{} two steps before", knowledge.variable(id).name),
        Part::Period => "episode number".to_owned(),
        Part::Randomised => "randomised".to_owned(),
    }
}

/// A class in words.
pub(super) fn class_name(knowledge: &Knowledge, part: Part, class: u32) -> String {
    let value = |id, class: u32| knowledge.variable(id).values[class as usize].clone();
    match part {
        Part::Stage => {
            let (n, h) = (size(knowledge, part), knowledge.horizon());
            let first = |c: usize| (c * h).div_ceil(n);
            let (from, to) = (first(class as usize) + 1, first(class as usize + 1));
            if from == to { from.to_string() } else { format!("{from} to {to}") }
        }
        Part::State(id) | Part::Lever(id) | Part::Key(id) => value(id, class),
        Part::Previous(id) | Part::Earlier(id) => value(id, class),
        Part::Set(l) => class.checked_sub(1).map_or("left alone".to_owned(), |v| value(knowledge.levers()[l], v)),
        Part::Reward(j) => {
            let [lo, hi] = knowledge.rewards()[j].range;
            let end = |c: u32| lo + (hi - lo) * f64::from(c) / MOST_CLASSES as f64;
            format!("{} to {}", end(class), end(class + 1))
        }
        Part::Next(i) => value(knowledge.state()[i], class),
        Part::Period => format!("{} to {}", 1u64 << class, (2u64 << class) - 1),
        Part::Randomised => ["rows that were not randomised", "randomised rows"][class as usize].to_owned(),
    }
}

impl Claim {
    /// The state factors and levers of a claim; `None` if it does not say that one of them is without effect.
    pub(super) fn projection(&self, knowledge: &Knowledge) -> Option<Projection> {
        let factor = |part: &Part| match part {
            Part::State(id) => knowledge.state().iter().position(|s| s == id),
            _ => None,
        };
        let lever = |part: &Part| match part {
            Part::Lever(id) => knowledge.levers().iter().position(|l| l == id),
            Part::Set(l) => Some(*l),
            _ => None,
        };
        (factor(&self.other).is_some() || lever(&self.other).is_some()).then_some(())?;
        let parts = || std::iter::once(&self.other).chain(&self.given);
        let (factors, levers) = (parts().filter_map(factor).collect(), parts().filter_map(lever).collect());
        Some(Projection { claim: self.formula(knowledge), factors, levers })
    }

    /// Such as `next loyalty ⊥ subject | loyalty, opened, price`.
    pub(super) fn formula(&self, knowledge: &Knowledge) -> String {
        let given: Vec<String> = self.given.iter().map(|&p| name(knowledge, p)).collect();
        let mut text = format!("{} ⊥ {}", name(knowledge, self.outcome), name(knowledge, self.other));
        if !given.is_empty() {
            text += &format!(" | {}", given.join(", "));
        }
        text
    }

    /// What a coarse cut of its conditions can do, in words; empty if none of them is cut into bins.
    pub(super) fn of_bins(&self, knowledge: &Knowledge, binned: &[BinnedVariable]) -> String {
        let cut = |part: &Part| match *part {
            Part::State(id) | Part::Lever(id) | Part::Key(id) => {
                binned.iter().find(|of| of.name == knowledge.variable(id).name)
            }
            _ => None,
        };
        let words = |of: &BinnedVariable| {
            let BinnedVariable { name, bins } = of;
            format!("; {name} is cut into {bins} bins, and a dependence inside a bin can cause this: cut it finer")
        };
        self.given.iter().filter_map(cut).map(words).collect()
    }

    /// The consequence for the graph if the independence fails.
    pub(super) fn meaning(&self, knowledge: &Knowledge) -> String {
        let plain = |part: Part| match part {
            Part::Next(i) => knowledge.variable(knowledge.state()[i]).name.clone(),
            Part::Set(l) => knowledge.variable(knowledge.levers()[l]).name.clone(),
            _ => name(knowledge, part),
        };
        let (y, w, full) = (plain(self.outcome), plain(self.other), name(knowledge, self.outcome));
        // The declared parents of `outcome`.
        let from = match self.outcome {
            Part::Next(_) => format!("the scope of {y} lacks"),
            Part::Reward(_) => format!("the scope of {full} lacks"),
            _ => format!("the parents of {y} lack"),
        };
        match self.other {
            Part::Stage => format!(
                "{full} is not drawn alike at every stage, or {from} something that changes from stage to stage"
            ),
            Part::State(_) => format!("{w} acts on {full} directly, or {from} a variable that goes with {w}"),
            Part::Set(l) if self.given.contains(&Part::Lever(knowledge.levers()[l])) => {
                format!(
                    "{full} is another where {w} is set than where {w} has the same value by itself: they share a hidden cause"
                )
            }
            Part::Lever(_) | Part::Set(_) => {
                format!("{w} acts on {full} directly, or {from} a variable that {w} acts on")
            }
            Part::Key(_) if matches!(self.outcome, Part::Key(_)) => {
                format!("{w} acts on {y}, {y} acts on {w}, or the two share a hidden cause")
            }
            Part::Key(_) => format!("{from} {w}, or {w} and {full} share a hidden cause"),
            Part::Previous(id) | Part::Earlier(id) => {
                let later = if matches!(self.other, Part::Earlier(_)) { "two steps" } else { "one step" };
                let kind = if knowledge.levers().contains(&id) { "the lever" } else { "the variable" };
                let name = &knowledge.variable(id).name;
                format!(
                    "{kind} {name} acts on {full} {later} later, or a lasting hidden cause acts on both: add a state factor \
                     that remembers it"
                )
            }
            Part::Period => format!(
                "{full} has another distribution in other parts of the log: the world changed, or {from} something that changes \
                 with time"
            ),
            Part::Randomised => format!(
                "{full} has another distribution in randomised rows: a hidden cause acts on a lever and on {full}, or the \
                 randomised rows differ from the others in something that acts on it"
            ),
            Part::Reward(_) | Part::Next(_) => {
                format!(
                    "{} and {full} share a hidden cause, or {from} what both depend on",
                    name(knowledge, self.other)
                )
            }
        }
    }
}
