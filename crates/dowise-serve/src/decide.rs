//! One decision: a function of the policy, the episode and what is allowed. No clock, no store.

use dowise::Action;
use dowise::world::Forbid;
use serde::{Deserialize, Serialize};

use crate::served::Served;
use crate::shares::Share;
use crate::snapshot::Snapshot;

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The baseline decides, and what the policy would have done is said beside it.
    Shadow,
    /// The baseline decides, and learning goes on.
    #[serde(rename = "learn-only", alias = "apprentice")]
    LearnOnly,
    /// The policy decides and explores.
    Online,
    /// The policy decides as it is, without exploring; no other takes its place.
    Frozen,
    /// The baseline decides, from now on.
    Stop,
}

impl Mode {
    /// All, by name.
    pub const ALL: [(&'static str, Mode); 5] = [
        ("shadow", Mode::Shadow),
        ("learn-only", Mode::LearnOnly),
        ("online", Mode::Online),
        ("frozen", Mode::Frozen),
        ("stop", Mode::Stop),
    ];

    /// The mode of this name; `apprentice` is what stores and clients called `learn-only` before.
    pub fn of(name: &str) -> Option<Mode> {
        let name = if name == "apprentice" { "learn-only" } else { name };
        Mode::ALL.iter().find(|(n, _)| *n == name).map(|(_, mode)| *mode)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Shadow => "shadow",
            Mode::LearnOnly => "learn-only",
            Mode::Online => "online",
            Mode::Frozen => "frozen",
            Mode::Stop => "stop",
        }
    }
}

/// Why an intervention was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// It is what the mean of what was learned prefers.
    Exploit,
    /// A sample, or optimism, prefers it.
    Explore,
    /// The mode leaves the decision to the baseline, or the promise to keep to it does.
    Baseline,
    /// Nothing better could be found among what is allowed.
    Fallback,
}

/// Where a decision is made.
#[derive(Debug)]
pub struct Situation<'a> {
    /// The world.
    pub served: &'a Served,
    /// The policy.
    pub snapshot: &'a Snapshot,
    /// Who decides.
    pub mode: Mode,
    /// The store's own secret: without it nobody can tell which sample an episode follows.
    pub key: &'a [u8; 32],
    /// The episode.
    pub episode: &'a str,
    /// From 0.
    pub stage: usize,
    /// State.
    pub state: usize,
    /// Combinations that are ruled out for this decision.
    pub forbid: &'a [Forbid],
    /// Whether the episode is the baseline's, so that the promise to keep to it holds.
    pub kept: bool,
    /// Samples that agree with the episode's earlier decisions under this policy, as bits.
    pub consistent: u64,
}

/// A decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What to do.
    pub action: Action,
    /// The probability with which it was chosen, given the episode's earlier decisions.
    pub propensity: f64,
    /// Why.
    pub why: Why,
    /// Guardrails that acted.
    pub guardrails: Vec<&'static str>,
    /// What the policy would have done, where the baseline decides in its place.
    pub proposed: Option<Action>,
    /// Samples that would have decided the same, as bits.
    pub agree: u64,
}

/// The guardrail that leaves a whole episode to the baseline.
const KEPT: &str = "baseline kept: what episodes paid does not yet allow another one of the policy";

/// Nothing is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingAllowed;

/// All samples, as bits.
pub fn all_samples(snapshot: &Snapshot) -> u64 {
    u64::MAX >> (64 - snapshot.samples.len())
}

/// Which rules on shares act on a decision, and how likely that was.
struct Case {
    /// Of every rule: whether it rules its interventions out, asks for them, or does nothing.
    acts: Vec<Act>,
    chance: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Free,
    RulesOut,
    AsksFor,
}

/// What is done, why, and which guardrails acted.
type Done = (Action, Why, Vec<&'static str>);

impl Situation<'_> {
    /// Decides.
    pub fn decide(&self) -> Result<Decision, NothingAllowed> {
        let mean = self.snapshot.action_values.plan().action(self.stage, self.state);
        match self.mode {
            Mode::Stop | Mode::LearnOnly => self.by_baseline(None),
            Mode::Shadow => self.by_baseline(Some(self.explore(self.samples())?.action)),
            Mode::Online | Mode::Frozen if self.kept => {
                let mut decision = self.by_baseline(None)?;
                decision.guardrails.push(KEPT);
                Ok(decision)
            }
            // As if all samples were the mean: nothing is explored, and guardrails act as ever.
            Mode::Frozen => self.explore(vec![mean; self.snapshot.samples.len()]),
            Mode::Online => self.explore(self.samples()),
        }
    }

    /// The baseline decides, or what takes its place where it is not allowed.
    fn by_baseline(&self, proposed: Option<Action>) -> Result<Decision, NothingAllowed> {
        let baseline = self.served.baseline(self.stage, self.state);
        let (action, why, guardrails) = if allows(self.served, self.forbid, baseline) {
            (baseline, Why::Baseline, vec![])
        } else {
            let (action, _, guardrail) = self.instead(self.forbid)?;
            (action, Why::Fallback, vec![guardrail])
        };
        Ok(Decision { action, propensity: 1.0, why, guardrails, proposed, agree: all_samples(self.snapshot) })
    }

    /// What every sample of the policy prefers here.
    fn samples(&self) -> Vec<Action> {
        (0..self.snapshot.samples.len()).map(|k| self.snapshot.sample(k, self.stage, self.state)).collect()
    }

    /// What the episode's sample does under the rules that act this time, and how likely that was.
    fn explore(&self, preferred: Vec<Action>) -> Result<Decision, NothingAllowed> {
        let drawn = self.snapshot.index(self.key, self.episode);
        let now = self.acts_now();
        let (action, why, guardrails) = self.under(&now, &preferred)?.swap_remove(drawn);
        debug_assert!(self.consistent & 1 << drawn != 0, "invariant: a sample agrees with what it decided before");
        let mut agree = 0u64;
        let mut propensity = 0.0;
        let of = f64::from(self.consistent.count_ones());
        for case in self.cases() {
            // A case in which nothing is left chooses nothing, this intervention included.
            let Ok(done) = self.under(&case.acts, &preferred) else { continue };
            let same = done.iter().enumerate().filter(|(_, d)| d.0 == action).fold(0u64, |bits, (k, _)| bits | 1 << k);
            propensity += case.chance * f64::from((same & self.consistent).count_ones()) / of;
            if case.acts == now {
                agree = same;
            }
        }
        Ok(Decision { action, propensity, why, guardrails, proposed: None, agree })
    }

    /// What is done in place of each preferred intervention when these rules act.
    fn under(&self, acts: &[Act], preferred: &[Action]) -> Result<Vec<Done>, NothingAllowed> {
        let rules = acts.iter().zip(&self.served.shares);
        let ruled_out =
            rules.clone().filter(|(act, _)| **act == Act::RulesOut).map(|(_, share)| share.rule(self.served));
        let mut forbid: Vec<Forbid> = self.forbid.iter().cloned().chain(ruled_out).collect();
        let mean = self.snapshot.action_values.plan().action(self.stage, self.state);
        let mut instead = None;
        if preferred.iter().any(|&action| !allows(self.served, &forbid, action)) {
            instead = self.instead(&forbid).ok();
            if instead.is_none() {
                // A rule on shares gives way where nothing else is left; what the request rules out stays so.
                forbid.truncate(self.forbid.len());
                instead = Some(self.instead(&forbid)?);
            }
        }
        let one = |&action: &Action| match instead {
            Some((other, why, guardrail)) if !allows(self.served, &forbid, action) => (other, why, vec![guardrail]),
            _ => (action, if action == mean { Why::Exploit } else { Why::Explore }, vec![]),
        };
        let mut done: Vec<Done> = preferred.iter().map(one).collect();
        for (_, share) in rules.filter(|(act, _)| **act == Act::AsksFor) {
            for one in &mut done {
                if let Some(action) = share.asked_for(self.served, self.state, one.0, &forbid) {
                    *one = (action, Why::Explore, vec!["least share: an intervention was asked for by its rule"]);
                }
            }
        }
        Ok(done)
    }

    /// Which rules on shares act on this decision: a keyed hash of the policy, the episode and the stage.
    fn acts_now(&self) -> Vec<Act> {
        let act = |(i, share): (usize, &Share)| {
            let drawn = self.snapshot.unit(self.key, self.episode, self.stage, i);
            match drawn {
                u if u < share.least => Act::AsksFor,
                u if u >= share.most => Act::RulesOut,
                _ => Act::Free,
            }
        };
        self.served.shares.iter().enumerate().map(act).collect()
    }

    /// Every way in which rules can act, with its probability.
    fn cases(&self) -> Vec<Case> {
        let mut cases = vec![Case { acts: Vec::new(), chance: 1.0 }];
        for share in &self.served.shares {
            let ways =
                [(Act::AsksFor, share.least), (Act::RulesOut, 1.0 - share.most), (Act::Free, share.most - share.least)];
            let more = |case: Case| {
                ways.into_iter().filter(|(_, p)| *p > 0.0).map(move |(act, p)| {
                    let acts = case.acts.iter().copied().chain([act]).collect();
                    Case { acts, chance: case.chance * p }
                })
            };
            cases = cases.into_iter().flat_map(more).collect();
        }
        cases
    }

    /// What is done in place of something that is not allowed.
    fn instead(&self, forbid: &[Forbid]) -> Result<(Action, Why, &'static str), NothingAllowed> {
        if let Some((_, action)) = self.snapshot.action_values.best_without(self.stage, self.state, forbid) {
            return Ok((action, Why::Exploit, "not allowed: the best of what is allowed was chosen"));
        }
        let baseline = self.served.baseline(self.stage, self.state);
        if allows(self.served, forbid, baseline) {
            return Ok((baseline, Why::Fallback, "not allowed: the baseline was chosen"));
        }
        Err(NothingAllowed)
    }
}

/// Whether no combination rules an intervention out; the world allows all that policies and baselines do.
pub(crate) fn allows(served: &Served, forbid: &[Forbid], action: Action) -> bool {
    let all = served.world.interventions();
    let matches =
        |rule: &Forbid| rule.levers.iter().all(|(l, values)| all.lever(action, *l).is_some_and(|v| values[v]));
    !forbid.iter().any(matches)
}
