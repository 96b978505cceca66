//! Keeps to a baseline: what is played is never worth much less than what is done today, at all times, with probability 1 − δ.
//!
//! After conservative exploration (Garcelon et al. 2020). With b the baseline, f the least that an episode can pay and s_l the state
//! in which episode l started, the promise is, for every number of episodes k together,
//!
//! ```text
//! Σ_{l ≤ k} (V^{π_l}(s_l) − f) ≥ (1 − α) Σ_{l ≤ k} (V^b(s_l) − f),   that is   Σ (V^{π_l} − V^b)(s_l) + α Σ (V^b(s_l) − f) ≥ 0.
//! ```
//!
//! A policy is played if the left side cannot fall below zero with it, wherever its episode starts; otherwise the fallback is. Bounds
//! of V^π − V^b come from `certificate/fixed.rs`. They hold at all times together, so the best ever found is kept; policies of the
//! past are compared again with what is known today; and the fallback is the policy that is surely better than the baseline by
//! most, which is the baseline itself in the beginning. Episodes that have not ended count at their worst.

use std::sync::Arc;

use super::played::{Folded, Played, hash};
use crate::learn::certificate::{Difference, Given, options_of_bounds};
use crate::learn::learner::Kind;
use crate::learn::policy::Policy;
use crate::learn::session::Session;
use crate::learn::tabular::Tabular;
use crate::learn::{LearnError, LearnResult, Plans, hold_reading};
use crate::memory::Held;
use crate::world::Action;

/// Policies that are remembered one by one; when there are more, the older half is added up with the bounds that it has then.
pub(super) const MOST_PLAYED: usize = 256;

/// By how much evidence has to grow before a policy is compared anew, and before those of the past are.
const GROWTH: f64 = 1.01;
const GROWTH_OF_ALL: f64 = 1.05;

/// Its place among the policies played.
const BASELINE: usize = 0;

/// The baseline, the share of it that may be lost, and what was played.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    pub(super) alpha: f64,
    /// Its value by starting state, if that was told.
    pub(super) value_s: Option<Vec<f64>>,
    /// Whether it was chosen before anything was seen.
    pub(super) beforehand: bool,
    /// Episodes begun before it was to be kept.
    pub(super) since: u64,
    /// The baseline first; the fallback is one of them.
    pub(super) played: Vec<Played>,
    pub(super) fallback: usize,
    pub(super) folded: Folded,
    /// Episodes that started in each state.
    pub(super) starts: Vec<u64>,
    /// Between what the value of the baseline lies, by starting state.
    pub(super) up_s: Vec<f64>,
    pub(super) low_s: Vec<f64>,
    /// The least and the most that an episode can pay.
    pub(super) range: [f64; 2],
    /// Steps seen when policies were compared last, and when all of the past were.
    pub(super) compared_at: u64,
    pub(super) all_compared_at: u64,
    /// Episodes that followed the baseline, and one that is surely no worse, in place of what the learner inside had planned.
    pub(super) fell_back: u64,
    pub(super) surely_better: u64,
    /// Compares everything in every episode, to be compared with.
    pub(super) thorough: bool,
    _held: Arc<Held>,
}

/// How a baseline was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineReport {
    /// The share of the baseline's value, measured from the least that an episode can pay, that may be lost.
    pub alpha: f64,
    /// Episodes begun under the promise.
    pub episodes: u64,
    /// Episodes that followed the baseline because what was planned could have lost too much.
    pub fell_back: u64,
    /// Episodes that followed a policy that is surely no worse than the baseline, for the same reason.
    pub surely_better: u64,
    /// What could be lost now and the promise still be kept: the sum over episodes of what is surely gained on (1 − α) of the
    /// baseline.
    pub room: f64,
}

impl Baseline {
    pub(crate) fn new(
        tabular: &Tabular,
        policy_hs: &[Action],
        alpha: f64,
        value_s: Option<&[f64]>,
        since: u64,
    ) -> LearnResult<Baseline> {
        let (told, horizon) = (tabular.knowledge(), tabular.plan().horizon);
        let ([least, most], [cheapest, dearest]) = (told.reward_range(), told.interventions().cost_range());
        let range = [least - dearest, most - cheapest].map(|step| horizon as f64 * step);
        let n = told.n_states();
        let of_one = 16 * policy_hs.len() as u128 + 24 * n as u128;
        let bytes = MOST_PLAYED as u128 * of_one;
        let held = Held::ask(bytes).map_err(|limit| LearnError::TooMuchMemory { bytes, limit })?;
        let mut baseline = Baseline {
            alpha,
            value_s: value_s.map(<[f64]>::to_vec),
            beforehand: tabular.evidence.steps() == 0,
            since,
            played: Vec::new(),
            fallback: BASELINE,
            folded: Folded::default(),
            starts: vec![0; n],
            up_s: Vec::new(),
            low_s: Vec::new(),
            range,
            compared_at: 0,
            all_compared_at: 0,
            fell_back: 0,
            surely_better: 0,
            thorough: false,
            _held: Arc::new(held),
        };
        baseline.played.push(Played::new(policy(n, policy_hs, 0)));
        baseline.forget_bounds();
        Ok(baseline)
    }

    /// Everything is as if nothing had been compared yet.
    fn forget_bounds(&mut self) {
        let (n, [least, most]) = (self.starts.len(), self.range);
        self.up_s = self.value_s.clone().unwrap_or_else(|| vec![most; n]);
        self.low_s = self.value_s.clone().unwrap_or_else(|| vec![least; n]);
        for played in &mut self.played {
            played.above_s = None;
        }
        self.played[BASELINE].above_s = Some(vec![0.0; n]);
        self.fallback = BASELINE;
        self.folded.above = -(self.folded.episodes as f64) * (most - least);
        (self.compared_at, self.all_compared_at) = (0, 0);
    }

    pub(crate) fn report(&self) -> BaselineReport {
        let ended: u64 = self.starts.iter().sum();
        let open: u64 = self.played.iter().map(|p| p.open).sum();
        BaselineReport {
            alpha: self.alpha,
            episodes: ended + open,
            fell_back: self.fell_back,
            surely_better: self.surely_better,
            room: self.room(),
        }
    }

    /// What an episode under this policy surely adds to the left side of the promise, from the worst start.
    fn adds(&self, above_s: Option<&[f64]>) -> f64 {
        (0..self.starts.len()).map(|s| self.above(above_s, s) + self.alpha * self.gain(s)).fold(f64::INFINITY, f64::min)
    }

    /// By how much a policy exceeds the baseline at least; nothing known of it, it pays the least that an episode can pay.
    fn above(&self, above_s: Option<&[f64]>, s: usize) -> f64 {
        let worst = self.range[0] - self.up_s[s];
        above_s.map_or(worst, |above| above[s].max(worst))
    }

    /// At least what the baseline is worth above the least that an episode can pay.
    fn gain(&self, s: usize) -> f64 {
        (self.low_s[s] - self.range[0]).max(0.0)
    }

    /// The left side of the promise, at least.
    fn room(&self) -> f64 {
        let played = self.played.iter().map(|p| {
            let above_s = p.above_s.as_deref();
            let ended: f64 = p.starts.iter().map(|&(s, n)| n as f64 * self.above(above_s, s as usize)).sum();
            ended + if p.open == 0 { 0.0 } else { p.open as f64 * self.adds(above_s) }
        });
        let gained: f64 = self.starts.iter().enumerate().map(|(s, &n)| n as f64 * self.gain(s)).sum();
        played.sum::<f64>() + self.folded.above + self.alpha * gained
    }

    /// Whether an episode that adds this much at least keeps the promise; what rounding may have lost is on the safe side.
    fn keeps(&self, adds: f64) -> bool {
        let episodes = self.starts.iter().sum::<u64>() + self.played.iter().map(|p| p.open).sum::<u64>() + 1;
        let size = self.range[0].abs().max(self.range[1].abs());
        self.room() + adds >= 1e-12 * size * episodes as f64
    }

    /// What an episode follows: the policy that was planned, or the fallback.
    pub(crate) fn replaces(&mut self, inside: &Kind, planned: Arc<Policy>) -> Arc<Policy> {
        let Kind::Tabular(tabular) = inside else { return planned };
        if self.played.len() >= MOST_PLAYED {
            self.fold(tabular);
        }
        let chosen = match self.accepts(tabular, &planned) {
            true => self.place(planned),
            false => {
                *(if self.fallback == BASELINE { &mut self.fell_back } else { &mut self.surely_better }) += 1;
                self.fallback
            }
        };
        self.played[chosen].open += 1;
        self.played[chosen].policy.clone()
    }

    fn accepts(&mut self, tabular: &Tabular, planned: &Arc<Policy>) -> bool {
        let place = self.find(planned);
        if place == Some(BASELINE) {
            return true;
        }
        let known = place.and_then(|i| self.played[i].above_s.as_deref());
        // What is known already is enough most of the time: even the worst policy keeps the promise, or this one was compared.
        if !self.thorough && self.keeps(self.adds(known)) {
            return true;
        }
        let steps = tabular.evidence.steps();
        let grown = |since: u64, by: f64| since == 0 && steps > 0 || steps as f64 > by * since as f64;
        if !self.thorough && !grown(self.compared_at, GROWTH) {
            return false;
        }
        let all = self.thorough || grown(self.all_compared_at, GROWTH_OF_ALL);
        // Without memory to compare policies there is nothing to promise of this one.
        match self.compare(tabular, Some(planned), all) {
            Ok(above_s) => self.keeps(self.adds(above_s.as_deref())),
            Err(_) => false,
        }
    }

    /// Compares with the baseline by what is known now: a policy that is planned, those of the past that never were, or all of them.
    fn compare(
        &mut self,
        tabular: &Tabular,
        planned: Option<&Arc<Policy>>,
        all: bool,
    ) -> LearnResult<Option<Vec<f64>>> {
        let _held = (hold_reading(tabular)?, hold_reading(tabular)?, hold_reading(tabular)?);
        let baseline = self.played[BASELINE].policy.clone();
        let given =
            Given { policy_hs: baseline.actions(), value_s: self.value_s.as_deref(), beforehand: self.beforehand };
        let mut difference = Difference::against(tabular, &options_of_bounds(tabular, tabular.options.delta), &given)?;
        let [up, low] = difference.given_value();
        self.up_s.iter_mut().zip(up).for_each(|(known, up)| *known = known.min(*up));
        self.low_s.iter_mut().zip(low).for_each(|(known, low)| *known = known.max(*low));
        let due = |(i, p): (usize, &Played)| (i != BASELINE && (all || p.above_s.is_none())).then_some(i);
        let due: Vec<usize> = self.played.iter().enumerate().filter_map(due).collect();
        let apart = planned.filter(|p| self.find(p).is_none_or(|i| !due.contains(&i)));
        let policies = due.iter().map(|&i| &self.played[i].policy).chain(apart);
        let mut above = difference.above_given(&policies.map(|p| p.actions()).collect::<Vec<_>>());
        let mut of_planned = apart.and_then(|_| above.pop());
        for (i, above_s) in due.into_iter().zip(above) {
            self.played[i].raise(above_s);
        }
        if let Some(i) = planned.and_then(|p| self.find(p)) {
            if let Some(above_s) = of_planned.take() {
                self.played[i].raise(above_s);
            }
            of_planned = self.played[i].above_s.clone();
        }
        self.compared_at = tabular.evidence.steps();
        if all {
            self.all_compared_at = self.compared_at;
            if let Some((actions, above_s)) = difference.surely_better() {
                self.fall_back_on(actions, above_s, tabular.evidence.fingerprint());
            }
        }
        Ok(of_planned)
    }

    /// Takes a policy that is surely no worse than the baseline as the fallback, if it is the best that is known.
    fn fall_back_on(&mut self, actions: Vec<Action>, above_s: Vec<f64>, evidence: u64) {
        let total = |above_s: &[f64]| above_s.iter().sum::<f64>();
        let now = self.played[self.fallback].above_s.as_deref().map_or(0.0, total);
        if above_s.iter().all(|above| *above >= 0.0) && total(&above_s) > now {
            self.fallback = self.place(policy(self.starts.len(), &actions, evidence));
            self.played[self.fallback].raise(above_s);
        }
    }

    fn find(&self, policy: &Policy) -> Option<usize> {
        let hash = hash(policy.actions());
        self.played.iter().position(|p| p.is(hash, policy))
    }

    /// The place of a policy among those played, a new one if it never was.
    fn place(&mut self, policy: Arc<Policy>) -> usize {
        self.find(&policy).unwrap_or_else(|| {
            self.played.push(Played::new(policy));
            self.played.len() - 1
        })
    }

    /// Adds up the older half of what was played, with the bounds of today.
    fn fold(&mut self, tabular: &Tabular) {
        let older: Vec<usize> = (BASELINE + 1..self.played.len() / 2).filter(|&i| self.played[i].open == 0).collect();
        if older.is_empty() {
            return;
        }
        // Without memory for that, those that were not compared count at their worst.
        let _ = self.compare(tabular, None, true);
        for i in older.into_iter().rev().filter(|&i| i != self.fallback).collect::<Vec<_>>() {
            let p = self.played.remove(i);
            self.fallback -= usize::from(self.fallback > i);
            for &(s, n) in &p.starts {
                self.folded.above += n as f64 * self.above(p.above_s.as_deref(), s as usize);
                self.folded.episodes += n;
            }
        }
    }

    /// Bounds rest on what was seen; if some of it was wrong, so may they be.
    pub(crate) fn unlearn(&mut self) {
        self.forget_bounds();
    }

    /// An episode has ended, or was given up: from now on it counts where it started. If that is not known, it stays at its worst.
    pub(crate) fn end(&mut self, session: &Session) {
        let Some(policy) = session.policy().filter(|_| session.id() > self.since) else { return };
        let Some(i) = self.find(policy).filter(|&i| self.played[i].open > 0) else { return };
        match session.start() {
            Some(state) => {
                self.played[i].started(state);
                self.starts[state] += 1;
            }
            // Nothing was decided or observed in it: it was not played.
            None if session.is_untouched() => self.played[i].open -= 1,
            None => {}
        }
    }
}

pub(super) fn policy(n_states: usize, actions: &[Action], evidence: u64) -> Arc<Policy> {
    Policy::made(&mut Arc::default(), 0, evidence, n_states, |out| out.extend_from_slice(actions))
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod tests;
