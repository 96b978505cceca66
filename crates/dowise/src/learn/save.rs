//! A learner as a file: everything it has seen and decided, so that going on gives the same as never having stopped.
//!
//! The file is JSON, `"dowise learner"` version 1. It holds the options, a fingerprint of what the learner was told, the
//! counts as (row, value, times) triples, and the present plan. Estimates are not saved; they follow from the counts.

use serde::{Deserialize, Serialize};

use super::guard::Ledger;
use super::rewards::Seen;
use super::{Knowledge, LearnError, Learner, Options, Schedule};
use crate::world::Action;

const FORMAT: &str = "dowise learner";
pub(crate) const VERSION: u32 = 1;

/// Why a saved learner cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Not a saved learner.
    #[error("this is not a saved learner: {0}")]
    Format(#[from] serde_json::Error),
    /// Another kind of file, or another version.
    #[error("this is `{format}` version {version}, and this dowise reads `{reads}` version {VERSION}")]
    Version {
        /// Format named in the file.
        format: String,
        /// Version named in the file.
        version: u32,
        /// Format that is read here.
        reads: &'static str,
    },
    /// The learner was saved for another world, or told other things about it.
    #[error(
        "the learner was saved for another world (or knew other things about it): fingerprint {saved}, here {here}"
    )]
    OtherWorld {
        /// Fingerprint in the file.
        saved: String,
        /// Fingerprint of the knowledge given.
        here: String,
    },
    /// The learner regressed on other features.
    #[error(
        "the learner was saved with other features (fingerprint {saved}, here {here}); restore it with those it was made with"
    )]
    OtherFeatures {
        /// Fingerprint in the file.
        saved: String,
        /// Fingerprint of the features given, or of those that its options choose.
        here: String,
    },
    /// The numbers in the file do not fit the world.
    #[error("the saved counts do not fit this world; the file is damaged")]
    Damaged,
    /// The learner cannot be made at all.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

type Entries = Vec<(u32, u32, u32)>;

/// How every saved learner begins.
#[derive(Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) format: String,
    version: u32,
}

impl Header {
    pub(crate) fn new(format: &str) -> Header {
        Header { format: format.to_owned(), version: VERSION }
    }

    /// The header of a text that must be in this format.
    pub(crate) fn check(text: &str, reads: &'static str) -> Result<(), RestoreError> {
        let Header { format, version } = serde_json::from_str(text)?;
        if format == reads && version == VERSION {
            return Ok(());
        }
        Err(RestoreError::Version { format, version, reads })
    }
}

#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(flatten)]
    header: Header,
    fingerprint: String,
    options: Options,
    episode: u64,
    due: bool,
    /// `[block][factor]`
    counts: Vec<Vec<Entries>>,
    mechanisms: Vec<Entries>,
    rewards: Vec<Seen>,
    visits: Vec<u32>,
    ceiling: Vec<f64>,
    value: Vec<f64>,
    policy: Vec<Action>,
    guard: Option<SavedGuard>,
}

#[derive(Serialize, Deserialize)]
struct SavedGuard {
    ledger: Ledger,
    direct: Box<Saved>,
}

impl Learner {
    /// The learner as text, between episodes. The same learner gives the same bytes.
    pub fn save(&self) -> String {
        serde_json::to_string(&self.saved()).expect("plain data")
    }

    fn saved(&self) -> Saved {
        Saved {
            header: Header::new(FORMAT),
            fingerprint: self.knowledge.fingerprint(),
            options: self.options.clone(),
            episode: self.episode,
            due: self.due,
            counts: self.counts.iter().map(|block| block.iter().map(|c| c.entries()).collect()).collect(),
            mechanisms: self.mechanisms.iter().flat_map(|m| m.counts().map(|c| c.entries())).collect(),
            rewards: self.rewards.seen(),
            visits: self.model.visits_hs.clone(),
            ceiling: self.model.ceiling.clone(),
            value: self.plan.value_hs.clone(),
            policy: self.plan.policy_hs.clone(),
            guard: self
                .guard
                .as_ref()
                .map(|g| SavedGuard { ledger: g.ledger.clone(), direct: Box::new(g.direct.saved()) }),
        }
    }

    /// A learner that goes on where a saved one stopped; it must be told the same things.
    pub fn restore(knowledge: &Knowledge, text: &str) -> Result<Learner, RestoreError> {
        Header::check(text, FORMAT)?;
        let saved: Saved = serde_json::from_str(text)?;
        let here = knowledge.fingerprint();
        if saved.fingerprint != here {
            return Err(RestoreError::OtherWorld { saved: saved.fingerprint, here });
        }
        let mut learner = Learner::new(knowledge, saved.options.clone())?;
        if learner.take(saved) { Ok(learner) } else { Err(RestoreError::Damaged) }
    }

    /// Takes over what was saved; `false` if it does not fit.
    fn take(&mut self, saved: Saved) -> bool {
        fn fill(counts: &mut super::counts::Counts, entries: &Entries) -> bool {
            counts.restore(entries)
        }
        let same_len = saved.visits.len() == self.model.visits_hs.len()
            && saved.ceiling.len() == self.model.ceiling.len()
            && saved.value.len() == self.plan.value_hs.len()
            && saved.policy.len() == self.plan.policy_hs.len()
            && saved.counts.len() == self.counts.len()
            && saved.guard.is_some() == self.guard.is_some();
        if !same_len {
            return false;
        }
        if !self.could_have_planned(&saved) || saved.episode > u64::MAX / 2 {
            return false;
        }
        let transitions = self.counts.iter_mut().zip(&saved.counts).all(|(counts, entries)| {
            counts.len() == entries.len() && counts.iter_mut().zip(entries).all(|(c, e)| fill(c, e))
        });
        let mechanisms = match &mut self.mechanisms {
            Some(m) => {
                m.counts().count() == saved.mechanisms.len()
                    && m.counts_mut().zip(&saved.mechanisms).all(|(c, e)| fill(c, e))
            }
            None => saved.mechanisms.is_empty(),
        };
        // Every step was counted once by every factor.
        let most = u128::from(saved.episode) * self.layout.horizon as u128;
        let steps: Vec<u128> = (0..self.layout.factors.len())
            .map(|f| self.counts.iter().map(|block| block[f].total()).sum::<u128>())
            .collect();
        let conserved = steps.iter().all(|&n| n == steps[0] && n <= most);
        if !transitions || !mechanisms || !conserved || !self.rewards.restore(saved.rewards) {
            return false;
        }
        self.episode = saved.episode;
        self.due = saved.due;
        self.model.visits_hs = saved.visits;
        self.model.ceiling = saved.ceiling;
        self.plan.value_hs = saved.value;
        self.plan.policy_hs = saved.policy;
        match (&mut self.guard, saved.guard) {
            (Some(guard), Some(saved)) => {
                let fits = guard.ledger.fits(&saved.ledger) && saved.direct.episode == self.episode;
                guard.ledger = saved.ledger;
                fits && guard.direct.take(*saved.direct)
            }
            _ => true,
        }
    }

    /// Whether the policy and the values are such as this learner can have.
    fn could_have_planned(&self, saved: &Saved) -> bool {
        let all = self.knowledge.interventions();
        let allowed =
            |i: usize, a: &Action| all.allows(&self.knowledge.state_space().digits(i % self.plan.n_states), *a);
        // Where nothing was planned yet, as in a learner that was only watching, the policy is all zeros.
        let undecided =
            saved.policy.iter().all(|&a| a == Action(0)) && (saved.due || self.options.schedule != Schedule::Doubling);
        let policy = undecided || saved.policy.iter().enumerate().all(|(i, a)| allowed(i, a));
        let (reward, cost) = (self.knowledge.reward_range(), all.cost_range());
        let step = 1.0 + reward.iter().chain(&cost).map(|x| x.abs()).sum::<f64>();
        let most = step * (self.layout.horizon as f64 + 1.0);
        policy && saved.value.iter().chain(&saved.ceiling).all(|v| v.abs() <= most)
    }
}
