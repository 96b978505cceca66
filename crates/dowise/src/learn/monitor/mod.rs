//! Sequential test of the declared graph (e-processes): valid at every time and under any choice of interventions.
//!
//! By the graph an outcome is drawn from the distribution of its row, independently of everything else. For each
//! variable that should not matter (a lever, a state factor outside the scope, another factor's next value) an
//! e-process bets that it does (`e_process.rs`). If its bets gain M/δ times their stake, for M claims, the graph is
//! contradicted with error probability δ at any stopping time. The known parameters of each table are one more claim
//! (`known_parameters.rs`).

mod claims;
mod e_process;
mod known_parameters;
mod latent_projection;
#[cfg(test)]
mod latent_projection_tests;
mod outcome;
mod report;
mod stand_alone;
#[cfg(test)]
mod tests;

pub(crate) use claims::{Other, Outcome};
pub(in crate::learn) use latent_projection::Within;
pub use report::{ClaimWatched, GraphFinding, GraphWatch};
pub use stand_alone::GraphMonitor;

use serde::{Deserialize, Serialize};

use self::claims::{Claimed, MOST_GROUPS, claims, group};
use self::e_process::EProcess;
use self::known_parameters::KnownParameters;
use self::outcome::{Now, Numbers, Watched};
use super::Knowledge;
use super::error::{LearnError, LearnResult};
use super::observation::Observation;
use super::options::{Causes, States};
use super::save::{MOST_SAVED, RestoreError};
use crate::math::ln;
use crate::memory::Held;
use crate::world::VarId;

/// Most monitored rows of an outcome: the first ones visited. More would need unbounded memory.
const MOST_ROWS: usize = 4096;

/// Number of initial steps of a log that are all tested, and the spacing of tested steps after them.
const OF_LOG_WHOLE: u64 = 1 << 13;
const OF_LOG_EVERY: u64 = 1 << 7;

/// Tests every claim of a graph that a learner relies on, step by step.
#[derive(Clone, Debug)]
pub(crate) struct Monitor {
    knowledge: Knowledge,
    outcomes: Vec<Watched>,
    /// ln(M/δ): at this log e-value of a claim, the graph is contradicted.
    bar: f64,
    delta: f64,
    steps: u64,
    /// Whether later steps are subsampled. The choice depends on step numbers alone, so the guarantee is unchanged.
    thinned: bool,
    found: Option<Found>,
    /// The finding in words and numbers of that time.
    finding: Option<GraphFinding>,
    /// Untested assumptions of a learner, in words.
    untested: Vec<String>,
    /// Position of each factor's next value among the outcomes.
    next_at: Vec<Option<usize>>,
    now: Vec<Now>,
    away: Vec<f64>,
    _held: Held,
}

/// The first finding: positions of the outcome and of its best predictor then (one beyond the last for known
/// parameters), and the number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    outcome: usize,
    claim: usize,
    steps: u64,
    /// The observed reward outside its range, if that is the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paid: Option<f64>,
}

/// Serialised form of a monitor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedMonitor {
    delta: f64,
    steps: u64,
    /// Whether most steps are skipped, as in a long log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    thinned: bool,
    found: Option<Found>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finding: Option<GraphFinding>,
    numbers: Vec<Numbers>,
}

impl SavedMonitor {
    pub(crate) fn delta(&self) -> f64 {
        self.delta
    }
}

impl Monitor {
    /// Monitors the claims that a learner with this view relies on.
    pub(crate) fn new(knowledge: &Knowledge, states: States, causes: Causes, delta: f64) -> Monitor {
        let world = knowledge.world();
        let (claimed, untested) = claims(world, states, causes);
        let outcomes: Vec<Watched> = claimed.into_iter().map(|claimed| Watched::new(knowledge, claimed)).collect();
        let n_claims = outcomes.iter().map(|o| o.n_groups.len() + o.known.iter().len()).sum::<usize>().max(1);
        let now = outcomes.iter().map(|o| Now { parts: vec![0.0; o.n_parts], ..Now::default() }).collect();
        let at = |i: usize| outcomes.iter().position(|o| o.claimed.outcome == Outcome::Next(i));
        let next_at = (0..knowledge.state().len()).map(at).collect();
        let (bar, away) = (ln(n_claims as f64 / delta), Vec::new());
        Monitor {
            knowledge: knowledge.clone(),
            outcomes,
            bar,
            delta,
            steps: 0,
            thinned: false,
            found: None,
            finding: None,
            untested,
            next_at,
            now,
            away,
            _held: Held::default(),
        }
    }

    /// Monitors the declared graph, independently of a learner, and reserves the memory for it.
    pub(crate) fn of_declared(knowledge: &Knowledge, delta: f64) -> LearnResult<Monitor> {
        let (states, causes) = (States::Factored, Causes::OwnKeys);
        let bytes = Monitor::bytes(knowledge, states, causes);
        let held = Held::ask(bytes).map_err(|limit| LearnError::TooMuchMemory { bytes, limit })?;
        Ok(Monitor { _held: held, ..Monitor::new(knowledge, states, causes, delta) })
    }

    /// The same for a log, where a subsample suffices: all of the first 8,192 steps, and one in 128 of the others.
    pub(crate) fn of_log(knowledge: &Knowledge, delta: f64) -> LearnResult<Monitor> {
        Ok(Monitor { thinned: true, ..Monitor::of_declared(knowledge, delta)? })
    }

    /// Most bytes of a monitor.
    pub(crate) fn bytes(knowledge: &Knowledge, states: States, causes: Causes) -> u128 {
        let of = |claimed: Claimed| {
            let next = claimed.next.iter().map(|&i| knowledge.state_space().sizes()[i]);
            let sizes = knowledge.world().sizes(&claimed.scope).into_iter().chain(next);
            let rows = sizes.fold(1u128, |n, size| n.saturating_mul(size as u128));
            let watched = Watched::new(knowledge, claimed);
            let of_claim = |&n: &usize| n + watched.n_parts * EProcess::width(n);
            let numbers = 1 + watched.n_parts + watched.n_groups.iter().map(of_claim).sum::<usize>();
            // Arrays grow by doubling, and a row has an entry in a map.
            let of_known = |t: &KnownParameters| t.n_rows().min(MOST_ROWS) as u128 * t.row_bytes();
            rows.min(MOST_ROWS as u128) * (24 * numbers as u128 + 32) + watched.known.as_ref().map_or(0, of_known)
        };
        claims(knowledge.world(), states, causes).0.into_iter().map(of).sum()
    }

    /// Updates with one valid step of this world; claims with missing values skip it.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        let passed_over = self.thinned && self.steps >= OF_LOG_WHOLE && !self.steps.is_multiple_of(OF_LOG_EVERY);
        self.steps += 1;
        if passed_over {
            return;
        }
        let Monitor { knowledge, outcomes, now, away, next_at, .. } = self;
        for (watched, now) in outcomes.iter_mut().zip(now.iter_mut()) {
            watched.look(knowledge, observation, now);
        }
        let (mut found, mut beyond) = (None, None);
        for (o, watched) in outcomes.iter_mut().enumerate() {
            // An impossible value is an alarm by itself: it has probability 0 if the range is right.
            beyond = beyond.or(now[o].beyond.map(|paid| (o, paid)));
            if let (Some(of), Some(numbers)) = (&watched.known, &mut watched.numbers.known)
                && watched.claimed.counts(knowledge, observation)
                && of.observe(numbers, knowledge, observation).is_some_and(|log_e| log_e >= self.bar)
            {
                found = found.or(Some(o));
            }
            let Some(row) = now[o].row else { continue };
            let Numbers { visits, sums, claims, .. } = &mut watched.numbers;
            let (visits, sums) = (&mut visits[row], &mut sums[row * watched.n_parts..][..watched.n_parts]);
            for (c, (&other, numbers)) in watched.claimed.others.iter().zip(claims).enumerate() {
                away.clear();
                let value = match other {
                    Other::Lever(l) => watched.claimed.lever(knowledge, observation, l),
                    Other::Key(id) => {
                        let id = VarId(id);
                        observation.value(id).map(|v| group(v as usize, knowledge.variable(id).size()))
                    }
                    Other::Before(i) => {
                        let states = knowledge.state_space();
                        Some(group(states.digit(observation.state, i), states.sizes()[i]))
                    }
                    // The row of the other factor gives its expectation.
                    Other::Next(k) => {
                        let of = &now[next_at[k].expect("invariant: factors with several values are watched")];
                        away.extend(of.expected.iter().map(|p| -p));
                        of.row.map(|_| of.group)
                    }
                    Other::Known | Other::Range => None,
                };
                let Some(value) = value else { continue };
                let n_groups = watched.n_groups[c];
                let groups = &mut numbers.groups[row * n_groups..][..n_groups];
                if away.is_empty() {
                    away.extend(groups.iter().map(|n| -n / visits.max(1.0)));
                }
                groups[value] += 1.0;
                away[value] += 1.0;
                // An unvisited row gives no prediction.
                if *visits > 0.0 {
                    for ((bet, sum), &part) in numbers.bets.iter_mut().zip(sums.iter()).zip(&now[o].parts) {
                        bet.step(row, (sum + 0.5) / (*visits + 1.0), part, away);
                    }
                    // The mean is never above the greatest, so checking the greatest suffices most of the time.
                    let most = numbers.bets.iter().flat_map(EProcess::log_e).fold(f64::NEG_INFINITY, f64::max);
                    if most >= self.bar && numbers.log_e() >= self.bar {
                        found = found.or(Some(o));
                    }
                }
            }
            *visits += 1.0;
            sums.iter_mut().zip(&now[o].parts).for_each(|(sum, part)| *sum += part);
        }
        if self.found.is_none() {
            let steps = self.steps;
            let range = beyond.map(|(outcome, paid)| Found { outcome, claim: 0, steps, paid: Some(paid) });
            let named = |outcome: usize| Found { outcome, claim: outcomes[outcome].named(self.bar), steps, paid: None };
            self.found = range.or(found.map(named));
            self.finding = self.finding_now();
        }
    }

    /// Whether the graph is contradicted.
    pub(crate) fn contradicted(&self) -> bool {
        self.found.is_some()
    }

    /// The outcome that depends on more than its scope, and its best predictor. The guarantee does not say whether
    /// that predictor acts or is only correlated with the true parent.
    pub(crate) fn suspect(&self) -> Option<(Outcome, Other)> {
        let found = self.found?;
        let claimed = &self.outcomes[found.outcome].claimed;
        let other = match found.paid {
            Some(_) => Other::Range,
            None => claimed.others.get(found.claim).copied().unwrap_or(Other::Known),
        };
        Some((claimed.outcome, other))
    }

    /// The observed reward outside the range of a term, if that is the finding.
    pub(crate) fn paid_beyond(&self) -> Option<(usize, f64)> {
        let found = self.found?;
        match self.outcomes[found.outcome].claimed.outcome {
            Outcome::Paid(term) => found.paid.map(|paid| (term, paid)),
            Outcome::Next(_) | Outcome::Key(_) | Outcome::Alone(_) => None,
        }
    }

    pub(crate) fn saved(&self) -> SavedMonitor {
        let numbers = self.outcomes.iter().map(|o| o.numbers.clone()).collect();
        let finding = self.finding.clone();
        let Monitor { delta, steps, thinned, found, .. } = *self;
        SavedMonitor { delta, steps, thinned, found, finding, numbers }
    }

    /// Restores a saved monitor of the same graph.
    pub(crate) fn take(&mut self, saved: SavedMonitor) -> Result<(), RestoreError> {
        let damaged = |why: &str| Err(RestoreError::damaged("monitor", why));
        let fits = |(watched, numbers): (&Watched, &Numbers)| watched.fits(numbers);
        if saved.delta != self.delta || saved.numbers.len() != self.outcomes.len() {
            return damaged("it watched other claims");
        }
        if !self.outcomes.iter().zip(&saved.numbers).all(fits) {
            return damaged("its numbers do not have the shape of what it watches");
        }
        let knowledge = |(watched, numbers): (&Watched, &Numbers)| match (&watched.known, &numbers.known) {
            (Some(knowledge), Some(numbers)) => numbers.is_of(knowledge, saved.steps as f64),
            (knowledge, numbers) => knowledge.is_none() && numbers.is_none(),
        };
        if !self.outcomes.iter().zip(&saved.numbers).all(knowledge) {
            return damaged("its numbers do not have the shape of what the learner knows");
        }
        if saved.steps > MOST_SAVED || !saved.numbers.iter().all(|numbers| numbers.is_plausible(saved.steps as f64)) {
            return damaged("its numbers cannot have come about in its steps");
        }
        let there = |f: &Found| {
            let is = |o: &Watched| match (f.paid, o.claimed.outcome) {
                (None, _) => f.claim < o.n_groups.len() + o.known.iter().len(),
                (Some(paid), Outcome::Paid(term)) => {
                    paid.is_finite() && !super::observation::within_range(paid, self.knowledge.rewards()[term].range)
                }
                (Some(_), Outcome::Next(_) | Outcome::Key(_) | Outcome::Alone(_)) => false,
            };
            self.outcomes.get(f.outcome).is_some_and(is) && f.steps <= saved.steps
        };
        if (saved.found.is_none() && saved.finding.is_some()) || !saved.found.iter().all(there) {
            return damaged("it found something that it did not watch");
        }
        (self.steps, self.found, self.finding) = (saved.steps, saved.found, saved.finding);
        self.thinned = saved.thinned;
        self.outcomes.iter_mut().zip(saved.numbers).for_each(|(o, numbers)| o.numbers = numbers);
        Ok(())
    }
}
