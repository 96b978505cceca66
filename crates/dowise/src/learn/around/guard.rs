//! A guard against a wrong graph: tests the causal model during the run and gives way to a learner without it.
//!
//! If the declared key variables do not separate the levers from the outcome, a causal learner can be wrong for ever. After
//! Bilodeau, Wang and Roy (2022): now and then explore, compare what interventions were seen to do with what the causal
//! model says they do, and once the difference is more than chance allows, go on with plain UCBVI, which has counted along.

use serde::{Deserialize, Serialize};

use super::explore::{fill_at_random, share};
use crate::kernel::splitmix64;
use crate::learn::belief::reward_estimate;
use crate::learn::evidence::EvidenceError;
use crate::learn::learner::Kind;
use crate::learn::observation::Observation;
use crate::learn::options::{Causes, Estimate, Options, Schedule, Sets, States};
use crate::learn::save::{RestoreError, SavedTabular};
use crate::learn::selector::Selector;
use crate::learn::session::Session;
use crate::learn::tabular::Tabular;
use crate::learn::view::{ActionList, MISSING};
use crate::learn::{Knowledge, LearnError, LearnResult, MOST_CELLS, Plans};
use crate::world::Action;

/// The learner that takes over, and what the test needs.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Plain UCBVI on the same data.
    pub(crate) direct: Tabular,
    /// The episode after which the causal model was given up.
    pub(crate) tripped: Option<u64>,
    /// Visits of `[state][intervention][cause]`.
    causes: Vec<u32>,
    /// ln(2 · tests · T / δ)
    log: f64,
    /// Whether some step lacked a key variable, a reward or the next state: then causes, rewards and next states were not all
    /// seen in the same steps, and their deviations add up.
    incomplete: bool,
}

/// What is written of a guard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedGuard {
    tripped: Option<u64>,
    incomplete: bool,
    /// (position of state, intervention and cause; visits)
    causes: Vec<(u32, u32)>,
    direct: SavedTabular,
}

impl Guard {
    pub(crate) fn new(causal: &Tabular) -> LearnResult<Guard> {
        let n_causes = causal.view().key_causes.len();
        let (told, options, _) = Guard::needs(causal.knowledge(), &causal.options, n_causes)?;
        let pairs = u128::from(told.interventions().count()) * told.n_states() as u128;
        // If the graph is wrong, so may be the rewards that it implies: the one that takes over finds out for itself.
        let direct = Tabular::within_another(&told, options)?;
        // Everything that is compared: causes, reward and factors of each pair, and what the causal model learned itself.
        let (n, view) = (pairs as usize, causal.view());
        let factors = &view.layout.factors;
        let per_pair: usize = n_causes + 1 + factors.iter().map(|f| f.n_values).sum::<usize>();
        let learned = factors.iter().map(|f| f.n_rows * f.n_values).sum::<usize>() + view.payments.cells();
        let steps = causal.options.episodes as f64 * view.layout.horizon as f64;
        let log = crate::math::ln(2.0 * (n * per_pair + learned) as f64 * steps / causal.options.delta);
        Ok(Guard { direct, tripped: None, causes: vec![0; n * n_causes], log, incomplete: false })
    }

    /// What the learner that takes over is told, its options, and the number of counters beside it.
    pub(crate) fn needs(
        told: &Knowledge,
        options: &Options,
        n_causes: usize,
    ) -> LearnResult<(Knowledge, Options, u128)> {
        if options.causes == Causes::Actions || options.stage_dependent {
            return Err(LearnError::NothingToGuard);
        }
        let direct = Options {
            states: States::Flat,
            causes: Causes::Actions,
            estimate: Estimate::Sets(Sets::default()),
            schedule: Schedule::Episode,
            guard: false,
            ..options.clone()
        };
        let told = told.clone().without_rewards().without_transitions();
        let pairs = u128::from(told.interventions().count()) * told.n_states() as u128;
        let cells = pairs.saturating_mul(n_causes as u128);
        if cells > MOST_CELLS as u128 {
            return Err(LearnError::TooManyCells { what: "what a guard counts".to_owned(), cells: Some(cells) });
        }
        Ok((told, direct, cells))
    }

    fn actions(&self) -> &ActionList {
        self.direct.view().actions.as_ref().expect("invariant: plain UCBVI lists the interventions")
    }

    /// Random interventions with probability 1/√k, so in about 2√K episodes in all; after the causal model was given up, the
    /// policy of the learner without it.
    pub(crate) fn takes_over(&mut self, episode: u64) -> Option<(u64, u64)> {
        if self.tripped.is_some() {
            self.direct.prepare(episode);
            return Some(self.direct.planned());
        }
        let seed = self.direct.options.seed;
        let coin = share(splitmix64(seed ^ splitmix64(episode ^ 0x67_7561_7264)));
        let explores = coin < 1.0 / ((episode + 1) as f64).sqrt();
        explores.then_some((0, 0))
    }

    pub(crate) fn fill_policy(&mut self, told: &Knowledge, episode: u64, out: &mut Vec<Action>) {
        if self.tripped.is_some() {
            self.direct.fill_policy(episode, out);
        } else {
            fill_at_random(told, self.direct.options.seed, episode, out);
        }
    }

    /// Whether it can take an observation in this many times.
    pub(crate) fn check_learn(
        &self,
        inside: &Kind,
        observation: &Observation<'_>,
        times: u32,
    ) -> Result<(), EvidenceError> {
        self.direct.evidence.check_additions(observation, times)?;
        let full = self.place(inside, observation).is_some_and(|at| self.causes[at].checked_add(times).is_none());
        if full { Err(EvidenceError::Full) } else { Ok(()) }
    }

    /// Whether it can take an observation back.
    pub(crate) fn check_unlearn(&self, inside: &Kind, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        self.direct.evidence.check_removal(observation)?;
        let none = self.place(inside, observation).is_some_and(|at| self.causes[at] == 0);
        if none { Err(EvidenceError::NotThere) } else { Ok(()) }
    }

    pub(crate) fn learn(
        &mut self,
        inside: &Kind,
        observation: &Observation<'_>,
        times: u32,
    ) -> Result<(), EvidenceError> {
        let place = self.place(inside, observation);
        if let Some(at) = place {
            self.causes[at] = self.causes[at].checked_add(times).ok_or(EvidenceError::Full)?;
        }
        self.incomplete |=
            place.is_none() || observation.next_state.is_none() || observation.rewards.iter().any(|r| r.is_nan());
        self.direct.learn_times(observation, times)
    }

    pub(crate) fn unlearn(&mut self, inside: &Kind, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        if let Some(at) = self.place(inside, observation) {
            self.causes[at] = self.causes[at].checked_sub(1).ok_or(EvidenceError::NotThere)?;
        }
        self.direct.unlearn(observation)
    }

    /// Position of state, intervention and cause; `None` if some key variable was not observed.
    fn place(&self, inside: &Kind, observation: &Observation<'_>) -> Option<usize> {
        let Kind::Tabular(causal) = inside else { return None };
        let key_causes = &causal.view().key_causes;
        let (cause, missing) = key_causes.of_seen(&observation.values, MISSING);
        let list = self.actions();
        let pair = observation.state * list.actions.len() + list.rank(observation.action?);
        (missing == 0).then_some(pair * key_causes.len() + cause)
    }

    /// Compares both models at the pairs visited in this episode; gives the causal one up if they disagree.
    pub(crate) fn end(&mut self, inside: &Kind, session: &Session, ended: u64) {
        let Kind::Tabular(causal) = inside else { return };
        for (state, action) in session.visited() {
            if self.tripped.is_none() && self.disagree(causal, state, self.actions().rank(action)) {
                self.tripped = Some(ended + 1);
            }
        }
    }

    fn disagree(&self, causal: &Tabular, state: usize, rank: usize) -> bool {
        let Selector::Kernel(kernel) = &causal.selector else { return false };
        let list = self.actions();
        let pair = state * list.actions.len() + rank;
        let direct = &self.direct.evidence.transitions[0][0];
        let layout = &causal.view().layout;
        let n_causes = layout.n_causes;
        let seen = &self.causes[pair * n_causes..][..n_causes];
        let n: u32 = seen.iter().sum();
        if n == 0 {
            return false;
        }
        let width = |n: u32| if n == 0 { 1.0 } else { (self.log / (2.0 * f64::from(n))).sqrt().min(1.0) };
        let own = width(n);
        // Is P(c | s, a) what was declared? Asked only where it was given.
        if causal.view().mechanisms.is_none() {
            let mut prob = vec![0.0; n_causes];
            kernel.distribution(state, list.actions[rank], &mut prob);
            if seen.iter().zip(&prob).any(|(&k, p)| (f64::from(k) / f64::from(n) - p).abs() > own) {
                return true;
            }
        }
        // From here on given the causes that were seen, so that what is known or believed of P(c | s, a) plays no part.
        let share: Vec<f64> = seen.iter().map(|&k| f64::from(k) / f64::from(n)).collect();
        let states = &layout.state_space;
        // Do the rewards agree? Asked only where they were observed.
        if let (Some(term), Some(paid)) =
            (self.direct.view().payments.terms.first(), self.direct.evidence.payments.first())
            && paid.n[pair] > 0
        {
            let [lo, hi] = causal.knowledge().reward_range();
            let (mut expected, mut allowance) = (0.0, self.both(own, width(paid.n[pair])) * (hi - lo));
            for (c, p) in share.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                let (mean, off) = reward_estimate(&causal.evidence, state, c, width);
                expected += p * mean;
                allowance += p * off;
            }
            let [least, most] = term.range;
            let mean = least + (most - least) * paid.sum(pair) / f64::from(paid.n[pair]);
            if (mean - expected).abs() > allowance {
                return true;
            }
        }
        let n_direct = direct.n_r[pair];
        if n_direct == 0 {
            return false;
        }
        // Does each factor go where its causes say it should?
        layout.factors.iter().zip(&causal.evidence.transitions[0]).any(|(factor, counts)| {
            let state_row = factor.state_row(states, state);
            let causes = || (0..n_causes).filter(|&c| share[c] > 0.0);
            // Probability of a value given a cause, and how far it may be off.
            let believed = |c: usize, v: usize| match &factor.known {
                Some(known) => (known[(state_row * factor.n_values + v) * n_causes + c], 0.0),
                None => {
                    let row = factor.row(state_row, c, n_causes);
                    let n = counts.n_r[row];
                    let frequency = if n == 0 { 0.0 } else { f64::from(counts.values(row)[v]) / f64::from(n) };
                    (frequency, width(n))
                }
            };
            let mut frequency = vec![0.0; factor.n_values];
            for (next, &k) in direct.values(pair).iter().enumerate() {
                frequency[factor.value(states, next)] += f64::from(k) / f64::from(n_direct);
            }
            (0..factor.n_values).any(|v| {
                let expected: f64 = causes().map(|c| share[c] * believed(c, v).0).sum();
                let allowance =
                    self.both(own, width(n_direct)) + causes().map(|c| share[c] * believed(c, v).1).sum::<f64>();
                (frequency[v] - expected).abs() > allowance
            })
        })
    }

    /// By how much two means may differ of which one may be off by `first` and the other by `second`: where both are of the same
    /// steps, given the causes that were seen, only one of them is random.
    fn both(&self, first: f64, second: f64) -> f64 {
        if self.incomplete { first + second } else { first.max(second) }
    }

    pub(crate) fn saved(&self) -> SavedGuard {
        let seen = self.causes.iter().enumerate().filter(|(_, n)| **n > 0);
        SavedGuard {
            tripped: self.tripped,
            incomplete: self.incomplete,
            causes: seen.map(|(i, &n)| (i as u32, n)).collect(),
            direct: self.direct.saved(),
        }
    }

    /// Takes over what was saved of a guard of the same learner.
    pub(crate) fn take(&mut self, saved: SavedGuard, ended: u64) -> Result<(), RestoreError> {
        self.direct.take(saved.direct, "guard.direct")?;
        let damaged = |why: &str| Err(RestoreError::damaged("guard", why));
        if saved.tripped.is_some_and(|t| t == 0 || t > ended) {
            return damaged("the causal model was given up after an episode that was never played");
        }
        (self.tripped, self.incomplete) = (saved.tripped, saved.incomplete);
        let mut total = 0u64;
        for (i, n) in saved.causes {
            match self.causes.get_mut(i as usize) {
                Some(count) if *count == 0 && n > 0 => *count = n,
                _ => return damaged("a combination of state, intervention and cause is not there, or comes twice"),
            }
            total += u64::from(n);
        }
        if total > self.direct.evidence.steps() {
            return damaged("causes were seen more often than there were steps");
        }
        Ok(())
    }
}
