//! Report of the graph monitor: tested claims, the e-value of each, and findings in words.

use serde::{Deserialize, Serialize};

use super::outcome::Watched;
use super::{Monitor, Other, Outcome};
use crate::learn::wrappers::Amendment;
use crate::world::World;

/// Report of the graph monitor; it serialises to JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphWatch {
    /// Upper bound on the probability that a true graph is ever contradicted (δ).
    pub delta: f64,
    /// Steps tested since the test began, or restarted on a revised graph.
    pub steps: u64,
    /// Whether the graph is contradicted.
    pub contradicted: bool,
    /// The finding, if the graph is contradicted.
    pub found: Option<GraphFinding>,
    /// ln of the e-value at which a claim is contradicted: ln(claims/δ).
    pub bar: f64,
    /// Every claim, the most doubtful first.
    pub claims: Vec<ClaimWatched>,
    /// Untested assumptions and the reasons, in words.
    pub untested: Vec<String>,
    /// Revisions of the graph by graph repair, in order.
    pub amendments: Vec<Amendment>,
}

/// One claim of a graph: an outcome is independent of a variable given its scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimWatched {
    /// In words.
    pub claim: String,
    /// ln of its e-value: the log wealth of bets against it. Large values contradict the claim.
    pub log_e: f64,
}

/// A contradicted claim of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphFinding {
    /// In words: the variable, the outcome, and the size of the effect.
    pub what: String,
    /// Name of the outcome: a state factor, reward term or key variable.
    pub outcome: String,
    /// Name of the variable that predicts it beyond its scope; `known parameters` if those are wrong.
    pub variable: String,
    /// Difference of the outcome's probability (or of a reward, as a share of its range) between two values of the
    /// variable.
    pub effect: f64,
    /// Number of steps at the finding.
    pub steps: u64,
}

impl Monitor {
    /// The present report.
    pub(crate) fn report(&self, amendments: &[Amendment]) -> GraphWatch {
        let world = self.knowledge.world();
        let mut claims: Vec<ClaimWatched> = self
            .outcomes
            .iter()
            .flat_map(|o| {
                let others = o.claimed.others.iter().zip(&o.numbers.claims);
                let others = others
                    .map(|(other, numbers)| ClaimWatched { claim: o.claim(world, *other), log_e: numbers.log_e() });
                let knowledge = o.numbers.known.iter();
                others.chain(knowledge.map(|t| ClaimWatched { claim: o.claim(world, Other::Known), log_e: t.log_e() }))
            })
            .collect();
        claims.sort_by(|a, b| b.log_e.total_cmp(&a.log_e).then_with(|| a.claim.cmp(&b.claim)));
        GraphWatch {
            delta: self.delta,
            steps: self.steps,
            contradicted: self.found.is_some(),
            found: self.finding(),
            bar: self.bar,
            claims,
            untested: self.untested.clone(),
            amendments: amendments.to_vec(),
        }
    }

    /// The finding at its own time.
    pub(crate) fn finding(&self) -> Option<GraphFinding> {
        self.finding.clone()
    }

    /// The finding with the present numbers.
    pub(super) fn finding_now(&self) -> Option<GraphFinding> {
        let (found, world) = (self.found?, self.knowledge.world());
        let (outcome, other) = self.suspect()?;
        let watched = &self.outcomes[found.outcome];
        if let Some((term, paid)) = self.paid_beyond() {
            let ([lo, hi], subject) = (world.rewards()[term].range, outcome.words(world));
            let what =
                format!("the known range of {subject} is not right: it was given as {lo} to {hi}, and {paid} was paid");
            let effect = if paid > hi { paid - hi } else { paid - lo };
            let (outcome, variable) = (outcome.name(world).to_owned(), other.name(world).to_owned());
            return Some(GraphFinding { what, outcome, variable, effect, steps: found.steps });
        }
        if other == Other::Known {
            let (knowledge, numbers) = (watched.known.as_ref()?, watched.numbers.known.as_ref()?);
            let (where_, effect) = knowledge.words(numbers, world)?;
            let what = format!("the known parameters of {} are not right: {where_}", outcome.words(world));
            let (outcome, variable) = (outcome.name(world).to_owned(), other.name(world).to_owned());
            return Some(GraphFinding { what, outcome, variable, effect, steps: found.steps });
        }
        let effect = watched.effect(found.claim);
        let (name, variable) = (outcome.name(world).to_owned(), other.name(world).to_owned());
        let given = watched.given(world);
        let subject = outcome.words(world);
        let acts = match (other, outcome) {
            (Other::Lever(_), Outcome::Alone(_)) => format!("{subject} depends on the lever {variable}"),
            (Other::Lever(_), _) => format!("the lever {variable} acts on {subject} directly"),
            (Other::Before(_), Outcome::Alone(_)) => {
                format!("{subject} depends on {variable}, which the graph denies")
            }
            (Other::Before(_), _) => format!("{subject} depends on {variable}, which its scope lacks"),
            (Other::Key(_), Outcome::Key(_) | Outcome::Alone(_)) => {
                format!(
                    "{subject} and the key variable {variable} go together: one acts on the other, or they share a cause that is not declared"
                )
            }
            (Other::Key(_), _) => format!("{subject} depends on the key variable {variable}, which its scope lacks"),
            (Other::Next(_), Outcome::Paid(_)) => {
                format!("{subject} depends on the next {variable}, which its scope lacks")
            }
            (Other::Next(_), _) => format!("{subject} and the next {variable} share a cause that is not declared"),
            (Other::Known | Other::Range, _) => String::new(),
        };
        let by = effect.map_or(String::new(), |(part, low, high, by)| {
            let from = other.value(world, low);
            let to = other.value(world, high);
            let what = match outcome {
                Outcome::Paid(_) => format!("{name}, as a share of its range,"),
                Outcome::Next(_) | Outcome::Key(_) | Outcome::Alone(_) => {
                    format!("P({})", watched.part_words(world, part))
                }
            };
            format!(": given {given}, {what} is about {by:.2} higher where {to} than where {from}")
        });
        let effect = effect.map_or(0.0, |(_, _, _, by)| by);
        Some(GraphFinding { what: format!("{acts}{by}"), outcome: name, variable, effect, steps: found.steps })
    }
}

impl Watched {
    fn claim(&self, world: &World, other: Other) -> String {
        let name = other.name(world);
        let what = match other {
            Other::Lever(_) => format!("the lever {name}"),
            Other::Before(_) | Other::Key(_) => name.to_owned(),
            Other::Next(_) => format!("the next {name}"),
            Other::Range => return format!("{} is within its range", self.claimed.outcome.words(world)),
            Other::Known => return format!("the known parameters of {} are right", self.claimed.outcome.words(world)),
        };
        format!("{} does not depend on {what}, given {}", self.claimed.outcome.words(world), self.given(world))
    }

    /// Names of the outcome's declared parents.
    fn given(&self, world: &World) -> String {
        let mut names: Vec<String> = self.claimed.scope.iter().map(|&id| world.variable(id).name.clone()).collect();
        names.extend(self.claimed.next.iter().map(|&i| format!("next {}", world.variable(world.state()[i]).name)));
        match names.split_last() {
            None => "nothing".to_owned(),
            Some((only, [])) => only.clone(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        }
    }

    /// The part of the outcome and the two values of a variable with the largest difference, and that difference.
    fn effect(&self, claim: usize) -> Option<(usize, usize, usize, f64)> {
        let mut most: Option<(usize, usize, usize, f64)> = None;
        for (part, bet) in self.numbers.claims[claim].bets.iter().enumerate() {
            let effects: Vec<(usize, f64)> =
                bet.effects().enumerate().filter_map(|(value, effect)| Some((value, effect?))).collect();
            let low = effects.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
            let high = effects.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            // Log-odds times p (1 − p) is a difference of probabilities only where it is small.
            let by = ((high.1 - low.1) * self.variance(part)).min(1.0);
            if most.is_none_or(|(_, _, _, than)| by > than) {
                most = Some((part, low.0, high.0, by));
            }
        }
        most
    }

    /// Mean over all visits of p (1 − p): the factor from log-odds to differences of probabilities.
    fn variance(&self, part: usize) -> f64 {
        let (mut sum, mut n) = (0.0, 0.0);
        for (row, &visits) in self.numbers.visits.iter().enumerate() {
            let p = (self.numbers.sums[row * self.n_parts + part] + 0.5) / (visits + 1.0);
            (sum, n) = (sum + visits * p * (1.0 - p), n + visits);
        }
        if n > 0.0 { sum / n } else { 0.0 }
    }

    /// A part of the outcome, such as `weight = normal`.
    fn part_words(&self, world: &World, part: usize) -> String {
        let Some(id) = self.claimed.outcome.variable(world) else {
            return self.claimed.outcome.name(world).to_owned();
        };
        let variable = world.variable(id);
        let wanted = if self.n_parts == 1 { 1 } else { part };
        let first = (0..variable.size()).find(|&v| super::group(v, variable.size()) == wanted).unwrap_or(0);
        let or_near = if variable.size() > super::MOST_GROUPS { " or near" } else { "" };
        format!("{} = {}{or_near}", variable.name, variable.values[first])
    }
}
