//! Whether a declared graph is contradicted while steps come in: one test, valid at every time and under any choice of interventions.
//!
//! By the graph an outcome is drawn from the distribution of its row, whatever else is known. For each thing that should not matter
//! (a lever, a state factor outside the scope, another factor's next value) bets are made that it does (`bet.rs`); where
//! they gain M/δ times their stake, for M claims, the graph is contradicted with error probability δ, whenever one looks. Numbers that
//! were told are one more claim for each table (`told.rs`).

mod alone;
mod bet;
mod claims;
mod report;
#[cfg(test)]
mod tests;
mod told;

pub use alone::GraphMonitor;
pub(crate) use claims::{Other, Outcome};
pub use report::{ClaimWatched, GraphFinding, GraphWatch};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::bet::{Bet, log_mean};
use self::claims::{Claimed, MOST_GROUPS, claims, group};
use self::told::{Told, ToldNumbers};
use super::Knowledge;
use super::error::{LearnError, LearnResult};
use super::observation::Observation;
use super::options::{Causes, States};
use super::save::{MOST_SAVED, RestoreError};
use super::view::MISSING;
use crate::math::ln;
use crate::memory::Held;

/// Rows of an outcome that are watched: the first ones met. More would take memory without end.
const MOST_ROWS: usize = 4096;

/// Steps of a log that are looked at one after the other, and how many are passed over between two that are looked at from then on.
const OF_LOG_WHOLE: u64 = 1 << 13;
const OF_LOG_EVERY: u64 = 1 << 7;

/// Tests every claim of a graph that a learner relies on, step by step.
#[derive(Clone, Debug)]
pub(crate) struct Monitor {
    told: Knowledge,
    outcomes: Vec<Watched>,
    /// ln(M/δ): where the bets on a claim have gained this, the graph is contradicted.
    bar: f64,
    delta: f64,
    steps: u64,
    /// Whether only the first steps are all looked at. Which ones are is decided by their number alone, before they are seen, so that the
    /// promise stays what it is.
    thinned: bool,
    found: Option<Found>,
    /// Position of each factor's next value among the outcomes.
    next_at: Vec<Option<usize>>,
    now: Vec<Now>,
    away: Vec<f64>,
    _held: Held,
}

/// What was found first: positions of the outcome and of what predicted it best then (one beyond the last for told numbers), and after
/// how many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    outcome: usize,
    claim: usize,
    steps: u64,
}

/// One outcome with its rows and claims.
#[derive(Clone, Debug)]
struct Watched {
    claimed: Claimed,
    /// Yes-or-no questions about it that are bet on: one for two values or a payment, otherwise one for each group of values.
    n_parts: usize,
    /// Numbers of groups of what should not matter.
    n_groups: Vec<usize>,
    /// The numbers that were told of it.
    told: Option<Told>,
    numbers: Numbers,
}

/// What was counted of an outcome, as it is saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Numbers {
    /// Position of each row that was met.
    rows: BTreeMap<u64, u32>,
    visits: Vec<f64>,
    /// Sum of each part, `[row][part]`.
    sums: Vec<f64>,
    claims: Vec<ClaimNumbers>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<ToldNumbers>,
}

/// What was counted of a claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ClaimNumbers {
    /// Visits of each group, `[row][group]`.
    groups: Vec<f64>,
    /// One for each part.
    bets: Vec<Bet>,
}

/// What is written of a monitor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedMonitor {
    delta: f64,
    steps: u64,
    found: Option<Found>,
    numbers: Vec<Numbers>,
}

impl SavedMonitor {
    pub(crate) fn delta(&self) -> f64 {
        self.delta
    }
}

/// An outcome in the present step: its row, what it was, and what was expected.
#[derive(Clone, Debug, Default)]
struct Now {
    row: Option<usize>,
    group: usize,
    parts: Vec<f64>,
    expected: Vec<f64>,
}

impl Monitor {
    /// Watches what a learner relies on that sees states and causes in this way.
    pub(crate) fn new(told: &Knowledge, states: States, causes: Causes, delta: f64) -> Monitor {
        let world = told.world();
        let outcomes: Vec<Watched> =
            claims(world, states, causes).into_iter().map(|claimed| Watched::new(told, claimed)).collect();
        let n_claims = outcomes.iter().map(|o| o.n_groups.len() + o.told.iter().len()).sum::<usize>().max(1);
        let now = outcomes.iter().map(|o| Now { parts: vec![0.0; o.n_parts], ..Now::default() }).collect();
        let at = |i: usize| outcomes.iter().position(|o| o.claimed.outcome == Outcome::Next(i));
        let next_at = (0..told.state().len()).map(at).collect();
        let (bar, away) = (ln(n_claims as f64 / delta), Vec::new());
        Monitor {
            told: told.clone(),
            outcomes,
            bar,
            delta,
            steps: 0,
            thinned: false,
            found: None,
            next_at,
            now,
            away,
            _held: Held::default(),
        }
    }

    /// Watches the declared graph, whatever a learner makes of it, and holds the memory for that.
    pub(crate) fn of_declared(told: &Knowledge, delta: f64) -> LearnResult<Monitor> {
        let (states, causes) = (States::Factored, Causes::OwnKeys);
        let bytes = Monitor::bytes(told, states, causes);
        let held = Held::ask(bytes).map_err(|limit| LearnError::TooMuchMemory { bytes, limit })?;
        Ok(Monitor { _held: held, ..Monitor::new(told, states, causes, delta) })
    }

    /// The same for a log, in which there are so many steps that a part of them tells as much: all of the first 8,192 are looked at, and of
    /// the others one in 128.
    pub(crate) fn of_log(told: &Knowledge, delta: f64) -> LearnResult<Monitor> {
        Ok(Monitor { thinned: true, ..Monitor::of_declared(told, delta)? })
    }

    /// Bytes that it takes at most.
    pub(crate) fn bytes(told: &Knowledge, states: States, causes: Causes) -> u128 {
        let of = |claimed: Claimed| {
            let rows = told.world().sizes(&claimed.scope).iter().fold(1u128, |n, &size| n.saturating_mul(size as u128));
            let watched = Watched::new(told, claimed);
            let of_claim = |&n: &usize| n + watched.n_parts * Bet::width(n);
            let numbers = 1 + watched.n_parts + watched.n_groups.iter().map(of_claim).sum::<usize>();
            // Arrays grow by doubling, and a row has an entry in a map.
            let of_told = |t: &Told| t.n_rows().min(MOST_ROWS) as u128 * t.row_bytes();
            rows.min(MOST_ROWS as u128) * (24 * numbers as u128 + 32) + watched.told.as_ref().map_or(0, of_told)
        };
        claims(told.world(), states, causes).into_iter().map(of).sum()
    }

    /// Takes in one step that can have been observed in this world; what is missing is left out of the claims that need it.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        let passed_over = self.thinned && self.steps >= OF_LOG_WHOLE && !self.steps.is_multiple_of(OF_LOG_EVERY);
        self.steps += 1;
        if passed_over {
            return;
        }
        let Monitor { told, outcomes, now, away, next_at, .. } = self;
        for (watched, now) in outcomes.iter_mut().zip(now.iter_mut()) {
            watched.look(told, observation, now);
        }
        let mut found = None;
        for (o, watched) in outcomes.iter_mut().enumerate() {
            if let (Some(of), Some(numbers)) = (&watched.told, &mut watched.numbers.told)
                && of.observe(numbers, told, observation).is_some_and(|log_e| log_e >= self.bar)
            {
                found = found.or(Some(o));
            }
            let Some(row) = now[o].row else { continue };
            let Numbers { visits, sums, claims, .. } = &mut watched.numbers;
            let (visits, sums) = (&mut visits[row], &mut sums[row * watched.n_parts..][..watched.n_parts]);
            for (c, (&other, numbers)) in watched.claimed.others.iter().zip(claims).enumerate() {
                away.clear();
                let value = match other {
                    Other::Lever(l) => observation.action.map(|action| {
                        let all = told.interventions();
                        all.lever(action, l).map_or(0, |v| 1 + group(v, all.sizes()[l]))
                    }),
                    Other::Before(i) => {
                        let states = told.state_space();
                        Some(group(states.digit(observation.state, i), states.sizes()[i]))
                    }
                    // The row of the other factor says what was expected of it.
                    Other::Next(k) => {
                        let of = &now[next_at[k].expect("invariant: factors with several values are watched")];
                        away.extend(of.expected.iter().map(|p| -p));
                        of.row.map(|_| of.group)
                    }
                    Other::Told => None,
                };
                let Some(value) = value else { continue };
                let n_groups = watched.n_groups[c];
                let groups = &mut numbers.groups[row * n_groups..][..n_groups];
                if away.is_empty() {
                    away.extend(groups.iter().map(|n| -n / visits.max(1.0)));
                }
                groups[value] += 1.0;
                away[value] += 1.0;
                // In a row that was never met, nothing is known of what to expect.
                if *visits > 0.0 {
                    for ((bet, sum), &part) in numbers.bets.iter_mut().zip(sums.iter()).zip(&now[o].parts) {
                        bet.step(row, (sum + 0.5) / (*visits + 1.0), part, away);
                    }
                    // The mean is never above the greatest, which is all that has to be looked at most of the time.
                    let most = numbers.bets.iter().flat_map(Bet::log_e).fold(f64::NEG_INFINITY, f64::max);
                    if most >= self.bar && numbers.log_e() >= self.bar {
                        found = found.or(Some(o));
                    }
                }
            }
            *visits += 1.0;
            sums.iter_mut().zip(&now[o].parts).for_each(|(sum, part)| *sum += part);
        }
        if let (None, Some(outcome)) = (self.found, found) {
            let claim = self.outcomes[outcome].named(self.bar);
            self.found = Some(Found { outcome, claim, steps: self.steps });
        }
    }

    /// Whether the graph is contradicted.
    pub(crate) fn contradicted(&self) -> bool {
        self.found.is_some()
    }

    /// The outcome that was found to depend on more than its scope, and what predicted it best: whether that acts, or only goes along
    /// with what does, is not part of the promise.
    pub(crate) fn suspect(&self) -> Option<(Outcome, Other)> {
        let found = self.found?;
        let claimed = &self.outcomes[found.outcome].claimed;
        Some((claimed.outcome, claimed.others.get(found.claim).copied().unwrap_or(Other::Told)))
    }

    pub(crate) fn saved(&self) -> SavedMonitor {
        let numbers = self.outcomes.iter().map(|o| o.numbers.clone()).collect();
        SavedMonitor { delta: self.delta, steps: self.steps, found: self.found, numbers }
    }

    /// Takes over what was saved of a monitor of the same graph.
    pub(crate) fn take(&mut self, saved: SavedMonitor) -> Result<(), RestoreError> {
        let damaged = |why: &str| Err(RestoreError::damaged("monitor", why));
        let fits = |(watched, numbers): (&Watched, &Numbers)| watched.fits(numbers);
        if saved.delta != self.delta || saved.numbers.len() != self.outcomes.len() {
            return damaged("it watched other claims");
        }
        if !self.outcomes.iter().zip(&saved.numbers).all(fits) {
            return damaged("its numbers do not have the shape of what it watches");
        }
        let told = |(watched, numbers): (&Watched, &Numbers)| match (&watched.told, &numbers.told) {
            (Some(told), Some(numbers)) => numbers.is_of(told, saved.steps as f64),
            (told, numbers) => told.is_none() && numbers.is_none(),
        };
        if !self.outcomes.iter().zip(&saved.numbers).all(told) {
            return damaged("its numbers do not have the shape of what it was told");
        }
        if saved.steps > MOST_SAVED || !saved.numbers.iter().all(|numbers| numbers.is_plausible(saved.steps as f64)) {
            return damaged("its numbers cannot have come about in its steps");
        }
        let there = |f: &Found| {
            self.outcomes.get(f.outcome).is_some_and(|o| f.claim < o.n_groups.len() + o.told.iter().len())
                && f.steps <= saved.steps
        };
        if !saved.found.iter().all(there) {
            return damaged("it found something that it did not watch");
        }
        (self.steps, self.found) = (saved.steps, saved.found);
        self.outcomes.iter_mut().zip(saved.numbers).for_each(|(o, numbers)| o.numbers = numbers);
        Ok(())
    }
}

impl Watched {
    fn new(told: &Knowledge, claimed: Claimed) -> Watched {
        let n_parts = match claimed.n_values {
            2 => 1,
            n => n.min(MOST_GROUPS),
        };
        let n_groups: Vec<usize> = claimed.others.iter().map(|other| other.n_groups(told.world())).collect();
        let of_claim = |&n: &usize| ClaimNumbers { groups: Vec::new(), bets: vec![Bet::new(n); n_parts] };
        let claims = n_groups.iter().map(of_claim).collect();
        let of = Told::of(told.world(), claimed.outcome);
        let numbers = Numbers { claims, told: of.as_ref().map(|_| ToldNumbers::default()), ..Numbers::default() };
        Watched { claimed, n_parts, n_groups, told: of, numbers }
    }

    /// Finds the row and the outcome of a step, and what was expected.
    fn look(&mut self, told: &Knowledge, observation: &Observation<'_>, now: &mut Now) {
        now.row = None;
        let Claimed { outcome, ref scope, n_values, .. } = self.claimed;
        let values = &observation.values;
        let (mut at, variables) = (0u64, told.variables());
        for id in scope {
            if values[id.ix()] == MISSING {
                return;
            }
            at = at * variables[id.ix()].size() as u64 + u64::from(values[id.ix()]);
        }
        let value = match outcome {
            Outcome::Next(i) => observation.next_state.map(|next| told.state_space().digit(next, i)),
            Outcome::Key(id) => Some(values[usize::from(id)]).filter(|&v| v != MISSING).map(|v| v as usize),
            Outcome::Paid(term) => {
                let ([lo, hi], paid) = (told.rewards()[term].range, observation.rewards[term]);
                if paid.is_nan() {
                    return;
                }
                now.parts[0] = ((paid - lo) / (hi - lo)).clamp(0.0, 1.0);
                Some(0)
            }
        };
        let Some(value) = value else { return };
        now.group = group(value, n_values);
        match outcome {
            Outcome::Paid(_) => {}
            Outcome::Next(_) | Outcome::Key(_) if self.n_parts == 1 => now.parts[0] = now.group as f64,
            Outcome::Next(_) | Outcome::Key(_) => {
                now.parts.iter_mut().enumerate().for_each(|(v, part)| *part = f64::from(u8::from(v == now.group)));
            }
        }
        let Some(row) = self.row(at) else { return };
        now.row = Some(row);
        if let Outcome::Next(_) = outcome {
            let (n, sums) = (self.numbers.visits[row], &self.numbers.sums[row * self.n_parts..][..self.n_parts]);
            now.expected.clear();
            if self.n_parts == 1 {
                let p = (sums[0] + 0.5) / (n + 1.0);
                now.expected.extend([1.0 - p, p]);
            } else {
                now.expected.extend(sums.iter().map(|sum| (sum + 0.5) / (n + 0.5 * self.n_parts as f64)));
            }
        }
    }

    /// Position of a row; `None` for a new one where there are as many as are watched.
    fn row(&mut self, at: u64) -> Option<usize> {
        let Numbers { rows, visits, sums, claims, .. } = &mut self.numbers;
        if let Some(&row) = rows.get(&at) {
            return Some(row as usize);
        }
        let row = visits.len();
        if row == MOST_ROWS {
            return None;
        }
        rows.insert(at, row as u32);
        visits.push(0.0);
        sums.resize(sums.len() + self.n_parts, 0.0);
        for (numbers, n_groups) in claims.iter_mut().zip(&self.n_groups) {
            numbers.groups.resize(numbers.groups.len() + n_groups, 0.0);
            numbers.bets.iter_mut().for_each(Bet::add_row);
        }
        Some(row)
    }

    /// The claim that is named where one of them is contradicted. Told numbers are wrong where an arrow is missing as well: they are
    /// named where no variable is suspected.
    fn named(&self, bar: f64) -> usize {
        let of_told = self.numbers.told.as_ref().map_or(f64::NEG_INFINITY, ToldNumbers::log_e);
        let most = self.numbers.claims.iter().map(ClaimNumbers::log_e).fold(f64::NEG_INFINITY, f64::max);
        if of_told >= bar && most < 0.5 * bar { self.n_groups.len() } else { self.best() }
    }

    /// The claim whose variable predicts the outcome best.
    fn best(&self) -> usize {
        let gain = |c: &ClaimNumbers| c.bets.iter().map(Bet::gain).fold(f64::NEG_INFINITY, f64::max);
        let gains: Vec<f64> = self.numbers.claims.iter().map(gain).collect();
        (0..gains.len()).max_by(|&a, &b| gains[a].total_cmp(&gains[b])).unwrap_or(0)
    }

    /// Whether saved numbers have the shape of what is watched here.
    fn fits(&self, numbers: &Numbers) -> bool {
        let n_rows = numbers.rows.len();
        let mut positions: Vec<u32> = numbers.rows.values().copied().collect();
        positions.sort_unstable();
        let claim = |(of, &n): (&ClaimNumbers, &usize)| {
            of.groups.len() == n_rows * n && of.bets.len() == self.n_parts && of.bets.iter().all(|b| b.fits(n, n_rows))
        };
        n_rows <= MOST_ROWS
            && positions.iter().enumerate().all(|(i, &p)| p as usize == i)
            && numbers.visits.len() == n_rows
            && numbers.sums.len() == n_rows * self.n_parts
            && numbers.claims.len() == self.n_groups.len()
            && numbers.claims.iter().zip(&self.n_groups).all(claim)
    }
}

impl Numbers {
    /// Whether they can have come about in this number of steps: visits are whole and add up, and no sum is beyond what its visits allow.
    fn is_plausible(&self, steps: f64) -> bool {
        let whole = |n: &f64| *n >= 0.0 && *n <= steps && n.fract() == 0.0;
        // Sums of shares are rounded.
        let most = |n: f64| n * (1.0 + 1e-9);
        let n_parts = self.sums.len() / self.visits.len().max(1);
        let of_row = |(row, &n): (usize, &f64)| {
            let sums = &self.sums[row * n_parts..][..n_parts];
            let claim = |c: &ClaimNumbers| {
                let n_groups = c.groups.len() / self.visits.len();
                let groups = &c.groups[row * n_groups..][..n_groups];
                groups.iter().all(whole) && groups.iter().sum::<f64>() <= n
            };
            n > 0.0
                && whole(&n)
                && sums.iter().all(|sum| (0.0..=most(n)).contains(sum))
                && self.claims.iter().all(claim)
        };
        self.visits.iter().enumerate().all(of_row)
            && self.visits.iter().sum::<f64>() <= steps
            && self.claims.iter().flat_map(|c| &c.bets).all(|bet| bet.is_plausible(steps))
    }
}

impl ClaimNumbers {
    /// ln of the e-value: the stake is shared equally by all bets.
    fn log_e(&self) -> f64 {
        log_mean(self.bets.iter().flat_map(Bet::log_e))
    }
}
