//! Policies that were played under a baseline: where their episodes started, what is known of them, and all of it as a file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::baseline::Baseline;
use crate::kernel::splitmix64;
use crate::learn::policy::Policy;
use crate::learn::save::{MOST_SAVED, RestoreError};
use crate::learn::tabular::Tabular;
use crate::learn::{LearnError, Plans};
use crate::plan::check_policy;
use crate::world::Action;

/// One policy.
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) policy: Arc<Policy>,
    /// To find it fast.
    hash: u64,
    /// Starting states of its episodes, and how many, in order of states.
    pub(super) starts: Vec<(u32, u64)>,
    /// Episodes begun of which the start is not known.
    pub(super) open: u64,
    /// By how much it exceeds the baseline at least, by starting state; `None` if it was never compared.
    pub(super) above_s: Option<Vec<f64>>,
}

/// Policies that are not remembered one by one any more.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Folded {
    pub(super) episodes: u64,
    /// By how much their episodes exceed those of the baseline at least, in all.
    pub(super) above: f64,
}

impl Played {
    pub(super) fn new(policy: Arc<Policy>) -> Played {
        Played { hash: hash(policy.actions()), policy, starts: Vec::new(), open: 0, above_s: None }
    }

    pub(super) fn is(&self, hash: u64, policy: &Policy) -> bool {
        self.hash == hash && self.policy.actions() == policy.actions()
    }

    /// Keeps the best bounds: each holds whenever it was found.
    pub(super) fn raise(&mut self, above_s: Vec<f64>) {
        match &mut self.above_s {
            Some(known) => known.iter_mut().zip(above_s).for_each(|(known, now)| *known = known.max(now)),
            None => self.above_s = Some(above_s),
        }
    }

    /// One of its episodes started in a state.
    pub(super) fn started(&mut self, state: usize) {
        self.open -= 1;
        match self.starts.binary_search_by_key(&(state as u32), |(s, _)| *s) {
            Ok(i) => self.starts[i].1 += 1,
            Err(i) => self.starts.insert(i, (state as u32, 1)),
        }
    }
}

/// A number for what a policy does.
pub(super) fn hash(actions: &[Action]) -> u64 {
    actions.iter().fold(0, |hash, a| splitmix64(hash ^ a.0))
}

/// What is written of a baseline: the policies, the baseline first, and what was found out about them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedBaseline {
    alpha: f64,
    value: Option<Vec<f64>>,
    beforehand: bool,
    since: u64,
    played: Vec<SavedPlayed>,
    fallback: usize,
    folded: Folded,
    starts: Vec<u64>,
    at_most: Vec<f64>,
    at_least: Vec<f64>,
    compared_at: u64,
    all_compared_at: u64,
    fell_back: u64,
    surely_better: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedPlayed {
    evidence: u64,
    plan: u64,
    policy: Vec<Action>,
    starts: Vec<(u32, u64)>,
    open: u64,
    above: Option<Vec<f64>>,
}

impl Baseline {
    pub(crate) fn saved(&self) -> SavedBaseline {
        let played = self.played.iter().map(|p| SavedPlayed {
            evidence: p.policy.evidence(),
            plan: p.policy.plan(),
            policy: p.policy.actions().to_vec(),
            starts: p.starts.clone(),
            open: p.open,
            above: p.above_s.clone(),
        });
        SavedBaseline {
            alpha: self.alpha,
            value: self.value_s.clone(),
            beforehand: self.beforehand,
            since: self.since,
            played: played.collect(),
            fallback: self.fallback,
            folded: self.folded,
            starts: self.starts.clone(),
            at_most: self.up_s.clone(),
            at_least: self.low_s.clone(),
            compared_at: self.compared_at,
            all_compared_at: self.all_compared_at,
            fell_back: self.fell_back,
            surely_better: self.surely_better,
        }
    }

    /// What was saved of a baseline around a learner.
    pub(crate) fn restored(saved: SavedBaseline, tabular: &Tabular) -> Result<Baseline, RestoreError> {
        let damaged = |why: &str| RestoreError::damaged("around.baseline", why);
        let (told, horizon) = (tabular.knowledge(), tabular.plan().horizon);
        let n = told.n_states();
        let first = saved.played.first().ok_or_else(|| damaged("there is no baseline"))?;
        for p in &saved.played {
            check_policy(told.interventions(), told.state_space(), horizon, &p.policy)
                .map_err(|e| damaged(&e.to_string()))?;
        }
        check(tabular, &first.policy, saved.alpha, saved.value.as_deref())?;
        let mut baseline = Baseline::new(tabular, &first.policy, saved.alpha, saved.value.as_deref(), saved.since)?;
        let [least, most] = baseline.range;
        let (size, slack) = (most - least, 1e-6 * (1.0 + least.abs().max(most.abs())));
        let sized = |x: &[f64]| x.len() == n && x.iter().all(|v| (least - slack..=most + slack).contains(v));
        let small = |x: &[f64]| x.len() == n && x.iter().all(|v| v.abs() <= 2.0 * size + slack);
        let states = |p: &SavedPlayed| {
            p.starts.windows(2).all(|w| w[0].0 < w[1].0)
                && p.starts.iter().all(|&(s, times)| (s as usize) < n && (1..=MOST_SAVED).contains(&times))
        };
        let fits = saved.fallback < saved.played.len()
            && saved.played.iter().all(|p| states(p) && p.open <= MOST_SAVED)
            && saved.played.iter().filter_map(|p| p.above.as_ref()).all(|above| small(above))
            && saved.played[0].above.is_some()
            && saved.starts.len() == n
            && saved.starts.iter().all(|&times| times <= MOST_SAVED)
            && sized(&saved.at_most)
            && sized(&saved.at_least)
            && saved.folded.above.abs() <= (2.0 * size + slack) * saved.folded.episodes as f64;
        if !fits {
            return Err(damaged("there are states, numbers or policies that this world cannot have"));
        }
        // Episodes by policy and by starting state are the same episodes.
        let mut by_policy: u128 = u128::from(saved.folded.episodes);
        by_policy += saved.played.iter().flat_map(|p| &p.starts).map(|&(_, times)| u128::from(times)).sum::<u128>();
        if by_policy != saved.starts.iter().map(|&times| u128::from(times)).sum() {
            return Err(damaged("episodes by policy are not as many as episodes by starting state"));
        }
        baseline.played = saved.played.into_iter().map(|p| p.restored(n)).collect();
        (baseline.beforehand, baseline.fallback, baseline.folded) = (saved.beforehand, saved.fallback, saved.folded);
        (baseline.starts, baseline.up_s, baseline.low_s) = (saved.starts, saved.at_most, saved.at_least);
        (baseline.compared_at, baseline.all_compared_at) = (saved.compared_at, saved.all_compared_at);
        (baseline.fell_back, baseline.surely_better) = (saved.fell_back, saved.surely_better);
        Ok(baseline)
    }
}

impl SavedPlayed {
    fn restored(self, n_states: usize) -> Played {
        let made = Policy::made(&mut Arc::default(), self.plan, self.evidence, n_states, |out| {
            out.extend_from_slice(&self.policy);
        });
        Played { starts: self.starts, open: self.open, above_s: self.above, ..Played::new(made) }
    }
}

/// Whether a baseline can be kept to: its share, its size, that it is allowed everywhere, and its value.
pub(crate) fn check(
    tabular: &Tabular,
    policy_hs: &[Action],
    alpha: f64,
    value_s: Option<&[f64]>,
) -> Result<(), LearnError> {
    if !(alpha > 0.0 && alpha < 1.0) {
        let expected = "alpha is the share of the baseline that may be lost, between 0 and 1, neither included";
        return Err(LearnError::Option { name: "alpha", value: alpha, expected });
    }
    let cannot = |why: String| Err(LearnError::Baseline { why });
    let told = tabular.knowledge();
    let (n, horizon) = (told.n_states(), tabular.plan().horizon);
    if policy_hs.len() != horizon * n {
        return cannot(format!(
            "the policy has {} entries, and {horizon} stages of {n} states need {}; give one intervention for each",
            policy_hs.len(),
            horizon * n
        ));
    }
    let not_allowed = |i: usize| !told.interventions().allows(&told.state_space().digits(i % n), policy_hs[i]);
    if let Some(i) = (0..policy_hs.len()).find(|&i| not_allowed(i)) {
        let state = told.world().describe_state(i % n);
        return cannot(format!(
            "what it does at stage {} in the state {state} is not allowed there; give an intervention that is",
            i / n + 1
        ));
    }
    match value_s {
        Some(value) if value.len() != n => {
            cannot(format!("its value has {} entries, and there are {n} starting states", value.len()))
        }
        Some(value) if !value.iter().all(|v| v.is_finite()) => {
            cannot("its value is not a number in some state; leave it out if it is not known".to_owned())
        }
        Some(_) | None => Ok(()),
    }
}
