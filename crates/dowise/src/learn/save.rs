//! Saved learners: a restored learner continues exactly as if it had never stopped.
//!
//! The file is JSON, `"dowise learner"` version 3. It holds a fingerprint of the learner's knowledge, its options, its
//! evidence, the present plan, and its wrappers. Beliefs are not saved; they follow from the evidence. A checksum
//! covers the whole file, and all invariants are checked on restoring.

use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, EvidenceError, SavedEvidence};
use super::learner::Kind;
use super::monitor::SavedMonitor;
use super::replanning::Grown;
use super::tabular::Tabular;
use super::wrappers::{Baseline, Guard, LogCheck, SavedBaseline, SavedForgetting, SavedGuard, SavedLogCheck, Wrapper};
use super::{Knowledge, LearnError, Learner, Options, Plans, Schedule};
use crate::learn::linear::{LinearLearner, SavedLinear};
use crate::saved::{Envelope, Protection, SavedError, Tag};
use crate::world::{Action, World};

const FILE: Envelope = Envelope::new("dowise learner", 3, Tag::Fields, Protection::Seal);

/// Episodes and plans that a saved learner may have had: room for more is left above.
pub(crate) const MOST_SAVED: u64 = 1_000_000_000_000_000_000;

/// Errors of restoring a saved learner.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Not a saved learner.
    #[error("this is not a saved learner: {0}")]
    Format(#[from] serde_json::Error),
    /// Another kind of file, another version, or a text that was cut off.
    #[error(transparent)]
    File(SavedError),
    /// The learner was saved for another world, or with other knowledge.
    #[error(
        "the learner was saved for another world (or with other options `unknown`, `known` or `forms`): fingerprint {saved}, here {here}"
    )]
    OtherWorld {
        /// Fingerprint in the file.
        saved: String,
        /// Fingerprint of the knowledge given.
        here: String,
    },
    /// The learner used other features.
    #[error(
        "the learner was saved with other features (fingerprint {saved}, here {here}); restore it with those it was made with"
    )]
    OtherFeatures {
        /// Fingerprint in the file.
        saved: String,
        /// Fingerprint of the features given, or of those that its options choose.
        here: String,
    },
    /// The file holds impossible numbers.
    #[error("the saved learner cannot be right: {field}: {why}; the file is damaged")]
    Damaged {
        /// The invalid part.
        field: String,
        /// The reason.
        why: String,
    },
    /// The learner cannot be constructed.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

impl RestoreError {
    pub(crate) fn damaged(field: &str, why: &str) -> RestoreError {
        RestoreError::Damaged { field: field.to_owned(), why: why.to_owned() }
    }
}

impl From<SavedError> for RestoreError {
    fn from(error: SavedError) -> RestoreError {
        match error {
            SavedError::Damaged { written, computed } => {
                let why = format!("the checksum in the file is {written}, that of the rest of the file {computed}");
                RestoreError::damaged("seal", &why)
            }
            other => RestoreError::File(other),
        }
    }
}

impl From<EvidenceError> for RestoreError {
    fn from(error: EvidenceError) -> RestoreError {
        match error {
            EvidenceError::Damaged { field, why } => RestoreError::Damaged { field: format!("evidence.{field}"), why },
            EvidenceError::OtherView { other, here } => RestoreError::OtherWorld { saved: other, here },
            other @ (EvidenceError::Full
            | EvidenceError::NotThere
            | EvidenceError::NothingDone
            | EvidenceError::OtherWorld
            | EvidenceError::File(_)
            | EvidenceError::Format(_)) => {
                RestoreError::Damaged { field: "evidence".to_owned(), why: other.to_string() }
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(rename = "told")]
    knowledge: GivenKnowledge,
    begun: u64,
    ended: u64,
    /// Whether it has steps of other sources, so that there may be more than those of its episodes.
    logged: bool,
    learner: SavedKind,
    around: Vec<SavedWrapper>,
}

/// The learner's knowledge, as far as it does not follow from its world.
#[derive(Serialize, Deserialize)]
struct GivenKnowledge {
    fingerprint: String,
    mechanisms: bool,
    rewards: bool,
    transitions: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SavedKind {
    Tabular(SavedTabular),
    Linear(SavedLinear),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SavedWrapper {
    /// Its probability and seed follow from the options.
    Explore,
    Guard(Box<SavedGuard>),
    Watch(Box<SavedMonitor>),
    /// Comes last; learners that keep to none have no such entry.
    Baseline(Box<SavedBaseline>),
    Forget(Box<SavedForgetting>),
    /// Comes last but for a baseline; learners without a log have no such entry.
    LogCheck(Box<SavedLogCheck>),
}

/// Serialised form of a tabular learner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedTabular {
    options: Options,
    plans: u64,
    planned_from: String,
    /// Left out where it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    followed_from: Option<String>,
    doubled: bool,
    /// Rows seen since the last plan, with their visits then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    grown: Vec<(u32, u32)>,
    evidence: SavedEvidence,
    ceiling: Vec<f64>,
    value: Vec<f64>,
    policy: Vec<Action>,
}

impl Learner {
    /// The learner as text, between episodes. The same learner gives the same bytes.
    pub fn save(&self) -> String {
        let knowledge = self.declared();
        FILE.write(&Saved {
            knowledge: GivenKnowledge {
                fingerprint: knowledge.fingerprint(),
                mechanisms: knowledge.knows_mechanisms(),
                rewards: knowledge.knows_rewards(),
                transitions: knowledge.known_transitions().into_iter().map(str::to_owned).collect(),
            },
            begun: self.begun,
            ended: self.ended,
            logged: self.logged,
            learner: match &self.kind {
                Kind::Tabular(tabular) => SavedKind::Tabular(tabular.saved()),
                Kind::Linear(linear) => SavedKind::Linear(linear.saved()),
            },
            around: self
                .around
                .iter()
                .map(|around| match around {
                    Wrapper::Explore(_) => SavedWrapper::Explore,
                    Wrapper::Guard(guard) => SavedWrapper::Guard(Box::new(guard.saved())),
                    Wrapper::Baseline(baseline) => SavedWrapper::Baseline(Box::new(baseline.saved())),
                    Wrapper::Watch(monitor) => SavedWrapper::Watch(Box::new(monitor.saved())),
                    Wrapper::Forget(forget) => SavedWrapper::Forget(Box::new(forget.saved())),
                    Wrapper::LogCheck(check) => SavedWrapper::LogCheck(Box::new(check.saved())),
                })
                .collect(),
        })
    }

    /// Restores a saved learner, which continues where it stopped; the knowledge must be the same.
    pub fn restore(knowledge: &Knowledge, text: &str) -> Result<Learner, RestoreError> {
        let saved: Saved = FILE.read(text)?;
        let here = knowledge.fingerprint();
        if saved.knowledge.fingerprint != here {
            return Err(RestoreError::OtherWorld { saved: saved.knowledge.fingerprint, here });
        }
        Learner::restored(knowledge, saved)
    }

    /// The same in a world: the knowledge is that of the saved learner.
    pub fn restore_in(world: &World, text: &str) -> Result<Learner, RestoreError> {
        let saved: Saved = FILE.read(text)?;
        let transitions: Vec<&str> = saved.knowledge.transitions.iter().map(String::as_str).collect();
        let plain = Knowledge::of(world).with_transitions_of(world, &transitions)?;
        // What was not known is what the world leaves out or says to learn, or else all of it, and forms may have been left out of
        // account: the fingerprint says which of these it was.
        let also = |known: bool| if known { &[false][..] } else { &[false, true][..] };
        let mut here = None;
        for &mechanisms in also(saved.knowledge.mechanisms) {
            for &rewards in also(saved.knowledge.rewards) {
                for forms in [true, false] {
                    let knowledge = if mechanisms { plain.clone().without_mechanisms() } else { plain.clone() };
                    let knowledge = if rewards { knowledge.without_rewards() } else { knowledge };
                    let knowledge = if forms { knowledge } else { knowledge.without_forms() };
                    let found = knowledge.fingerprint();
                    if found == saved.knowledge.fingerprint {
                        return Learner::restored(&knowledge, saved);
                    }
                    here.get_or_insert(found);
                }
            }
        }
        let here = here.expect("invariant: something was tried");
        Err(RestoreError::OtherWorld { saved: saved.knowledge.fingerprint, here })
    }

    fn restored(knowledge: &Knowledge, mut saved: Saved) -> Result<Learner, RestoreError> {
        let damaged = |field: &str, why: &str| Err(RestoreError::damaged(field, why));
        if saved.ended > saved.begun || saved.begun > MOST_SAVED {
            return damaged("ended", "more episodes ended than were begun, or there were too many");
        }
        // A baseline does not follow from the options.
        let baseline = match saved.around.pop_if(|around| matches!(around, SavedWrapper::Baseline(_))) {
            Some(SavedWrapper::Baseline(baseline)) => Some(baseline),
            _ => None,
        };
        // Neither does a log.
        let check = match saved.around.pop_if(|around| matches!(around, SavedWrapper::LogCheck(_))) {
            Some(SavedWrapper::LogCheck(check)) => Some(check),
            _ => None,
        };
        let mut learner = match saved.learner {
            SavedKind::Tabular(tabular) => {
                // Graph repair may have revised the graph, and with it the inner learner.
                let declared = saved.around.iter().find_map(|around| match around {
                    SavedWrapper::Guard(guard) => Some(Guard::options_of(guard)),
                    SavedWrapper::Explore
                    | SavedWrapper::Watch(_)
                    | SavedWrapper::Baseline(_)
                    | SavedWrapper::Forget(_)
                    | SavedWrapper::LogCheck(_) => None,
                });
                let mut learner = Learner::new(knowledge, declared.unwrap_or(&tabular.options).clone())?;
                restore_around(&mut learner, saved.around, saved.begun)?;
                match &mut learner.kind {
                    Kind::Tabular(inside) => inside.take(tabular, "learner")?,
                    Kind::Linear(_) => unreachable!("invariant: made of a learner that counts"),
                }
                learner
            }
            SavedKind::Linear(linear) => {
                let inside = LinearLearner::from_saved(knowledge, linear, (!saved.logged).then_some(saved.begun))?;
                if inside.episodes() != saved.ended {
                    return damaged("ended", "it is not the number of episodes of the learner inside");
                }
                let mut learner = Learner::of(Kind::Linear(Box::new(inside)), Vec::new());
                restore_around(&mut learner, saved.around, saved.begun)?;
                learner
            }
        };
        for around in &learner.around {
            if let Wrapper::Forget(forget) = around {
                forget.check(&learner.kind)?;
            }
        }
        (learner.begun, learner.ended, learner.logged) = (saved.begun, saved.ended, saved.logged);
        if let Some(evidence) = learner.evidence() {
            let most = u128::from(saved.begun) * learner.knowledge().horizon() as u128;
            if !saved.logged && u128::from(evidence.steps()) > most {
                return damaged("evidence.steps", "there are more steps than episodes could have");
            }
        }
        if let Some(check) = check {
            let drops = learner.may_drop_log();
            let Some(evidence) = learner.evidence() else {
                return damaged("around", "a linear learner is compared with a log");
            };
            let check = LogCheck::restored(*check, evidence, drops)?;
            learner.around.push(Wrapper::LogCheck(Box::new(check)));
        }
        if let Some(saved_baseline) = baseline {
            let baseline = Baseline::restored(*saved_baseline, learner.declared())?;
            learner.around.push(Wrapper::Baseline(Box::new(baseline)));
        }
        Ok(learner)
    }
}

/// Restores the wrappers of the options, and a test of the graph.
fn restore_around(learner: &mut Learner, saved: Vec<SavedWrapper>, begun: u64) -> Result<(), RestoreError> {
    let other = || RestoreError::damaged("around", "these are not the wrappers that the options ask for");
    if let Some(SavedWrapper::Watch(monitor)) = saved.last() {
        learner.watch_graph(monitor.delta())?;
    }
    let Learner { kind, around, .. } = learner;
    if around.len() != saved.len() {
        return Err(other());
    }
    for (around, saved) in around.iter_mut().zip(saved) {
        match (around, saved) {
            (Wrapper::Explore(_), SavedWrapper::Explore) => {}
            (Wrapper::Guard(guard), SavedWrapper::Guard(of)) => guard.take(*of, kind, begun)?,
            (Wrapper::Watch(monitor), SavedWrapper::Watch(of)) => monitor.take(*of)?,
            (Wrapper::Forget(forget), SavedWrapper::Forget(of)) => forget.take(*of)?,
            (
                Wrapper::Explore(_)
                | Wrapper::Guard(_)
                | Wrapper::Watch(_)
                | Wrapper::Baseline(_)
                | Wrapper::Forget(_)
                | Wrapper::LogCheck(_),
                _,
            ) => {
                return Err(other());
            }
        }
    }
    Ok(())
}

impl Tabular {
    pub(crate) fn saved(&self) -> SavedTabular {
        SavedTabular {
            options: self.options.clone(),
            plans: self.plans,
            planned_from: format!("{:016x}", self.planned_from),
            followed_from: (self.followed_from != self.planned_from).then(|| format!("{:016x}", self.followed_from)),
            doubled: self.doubled,
            grown: self.grown.saved(),
            evidence: self.evidence.saved(),
            ceiling: self.belief.ceiling().to_vec(),
            value: self.plan.value_hs.clone(),
            policy: self.plan.policy_hs.clone(),
        }
    }

    /// Restores the state of a learner with the same options; `field` is its place in the file.
    pub(crate) fn take(&mut self, saved: SavedTabular, field: &str) -> Result<(), RestoreError> {
        let damaged = |part: &str, why: &str| Err(RestoreError::damaged(&format!("{field}.{part}"), why));
        if saved.options != self.options {
            return damaged("options", "they are not those of the learner that it belongs to");
        }
        if saved.ceiling.len() != self.belief.ceiling().len()
            || saved.value.len() != self.plan.value_hs.len()
            || saved.policy.len() != self.plan.policy_hs.len()
        {
            return damaged("value", "values, policy or ceiling do not have the size of this world");
        }
        if saved.plans > MOST_SAVED {
            return damaged("plans", "there were more plans than can be made");
        }
        let Ok(planned_from) = u64::from_str_radix(&saved.planned_from, 16) else {
            return damaged("planned_from", "it is not a fingerprint");
        };
        let Ok(followed_from) =
            saved.followed_from.as_ref().map_or(Ok(planned_from), |from| u64::from_str_radix(from, 16))
        else {
            return damaged("followed_from", "it is not a fingerprint");
        };
        let knowledge = self.knowledge();
        let all = knowledge.interventions();
        let n = self.plan.n_states;
        let allowed = |(i, a): (usize, &Action)| all.allows(&knowledge.state_space().digits(i % n), *a);
        // Before the first plan, as in learn-only mode, the policy is all zeros.
        let undecided = saved.policy.iter().all(|&a| a == Action(0))
            && (saved.doubled || !matches!(self.options.schedule, Schedule::Doubling | Schedule::Growing));
        if !undecided && !saved.policy.iter().enumerate().all(allowed) {
            return damaged("policy", "there is an intervention that the world does not allow there");
        }
        let (reward, cost) = (knowledge.reward_range(), all.cost_range());
        let step = 1.0 + reward.iter().chain(&cost).map(|x| x.abs()).sum::<f64>();
        let most = step * (self.plan.horizon as f64 + 1.0);
        if !saved.value.iter().chain(&saved.ceiling).all(|v| v.abs() <= most) {
            return damaged("value", "there is a value that no policy can have");
        }
        let evidence = Evidence::restored(&self.evidence.view, &saved.evidence)?;
        let mut fresh = Tabular::with(evidence, saved.options)?;
        if fresh.options.schedule == Schedule::Growing {
            let Some(grown) = Grown::restored(&fresh.evidence, &saved.grown) else {
                return damaged(
                    "grown",
                    "rows seen since the last plan are not rows of this learner, or are there twice",
                );
            };
            fresh.grown = grown;
        }
        *self = fresh;
        (self.plans, self.planned_from, self.doubled) = (saved.plans, planned_from, saved.doubled);
        self.followed_from = followed_from;
        self.belief.set_ceiling(saved.ceiling);
        (self.plan.value_hs, self.plan.policy_hs) = (saved.value, saved.policy);
        Ok(())
    }
}
