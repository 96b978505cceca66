//! Sliding window and discounted memory: steps are removed after a fixed or a random time.
//!
//! Evidence holds whole steps, so counts stay integers. With `window` every step is removed a fixed time after it was
//! added. With `discount` the time is drawn independently of the step, so that a step of age k episodes remains with
//! probability share^k. The mean of the counts is the discounted count, and every counted visit took place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::learn::evidence::{Evidence, EvidenceError};
use crate::learn::observation::Observation;
use crate::learn::options::Forget;
use crate::learn::save::RestoreError;
use crate::learn::tabular::Tabular;
use crate::learn::wrappers::explore::share;
use crate::learn::wrappers::history::{key, observation};
use crate::learn::{Knowledge, Options};
use crate::math::ln_1p;
use crate::random::splitmix64;

/// Steps with their expiry times.
#[derive(Clone, Debug)]
pub(crate) struct Aged {
    forget: Forget,
    seed: u64,
    horizon: u64,
    /// Number of steps: the time index.
    clock: u64,
    /// Number of forgotten steps.
    forgotten: u64,
    /// By expiry time and time of addition: the encoded step, and its multiplicity.
    steps: BTreeMap<(u64, u64), (Vec<u64>, u32)>,
}

/// Serialised form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedAged {
    clock: u64,
    forgotten: u64,
    /// (time of addition, encoded step, multiplicity), in the order of expiry.
    steps: Vec<(u64, Vec<u64>, u32)>,
}

impl Aged {
    pub(super) fn new(options: &Options, horizon: usize) -> Aged {
        let (forget, seed) = (options.forget, options.seed);
        Aged { forget, seed, horizon: horizon as u64, clock: 0, forgotten: 0, steps: BTreeMap::new() }
    }

    /// Most bytes for a learner that runs its episodes.
    pub(super) fn bytes(knowledge: &Knowledge, options: &Options) -> u128 {
        let episodes = match options.forget {
            Forget::Window { episodes } => episodes.min(options.episodes),
            Forget::Discount { .. } | Forget::Never | Forget::Reset => options.episodes,
        };
        let steps = u128::from(episodes).saturating_mul(knowledge.horizon() as u128);
        let numbers = 4 + knowledge.variables().len() + knowledge.rewards().len();
        // A step in a map: its numbers, their place, and the free room of the map.
        steps.saturating_mul(8 * numbers as u128 + 112)
    }

    /// Lifetime in steps, at least one, of a step added at this time.
    fn lasts(&self, at: u64) -> u64 {
        match self.forget {
            Forget::Window { episodes } => episodes.saturating_mul(self.horizon),
            Forget::Discount { share: kept } => {
                let drawn = share(splitmix64(self.seed ^ splitmix64(at ^ 0x666f_7267_6574)));
                // ln(1 − u) / ln(share), a number of episodes.
                let episodes = ln_1p(-drawn) / crate::math::ln(kept);
                ((episodes * self.horizon as f64) as u64).saturating_add(1)
            }
            Forget::Never | Forget::Reset => u64::MAX,
        }
    }

    /// Adds a step of the inner learner, and removes expired ones.
    pub(super) fn learn(&mut self, inside: &mut Tabular, seen: &Observation<'_>, times: u32) {
        self.clock += 1;
        let end = self.clock.saturating_add(self.lasts(self.clock));
        self.steps.insert((end, self.clock), (key(seen), times));
        while let Some(first) = self.steps.first_entry() {
            if first.key().0 > self.clock {
                break;
            }
            let (key, times) = first.remove();
            self.forgotten += 1;
            let Tabular { evidence, belief, .. } = &mut *inside;
            let step = observation(&key, &evidence.view.knowledge).expect("invariant: it was a step of this world");
            evidence.forget(&step, times, |changed| belief.touch(changed));
        }
    }

    /// Removes the latest step equal to this one; if none is left, it has expired already.
    pub(super) fn take_back(&mut self, inside: &mut Tabular, seen: &Observation<'_>) -> Result<(), EvidenceError> {
        let Tabular { evidence, belief, doubled, .. } = inside;
        evidence.places_of(seen, |_| {})?;
        let key = key(seen);
        let like = self.steps.iter_mut().filter(|(_, (other, _))| *other == key);
        let Some((&at, (_, times))) = like.max_by_key(|((_, at), _)| *at) else {
            return if self.forgotten > 0 { Ok(()) } else { Err(EvidenceError::NotThere) };
        };
        *times -= 1;
        if *times == 0 {
            self.steps.remove(&at);
        }
        evidence.forget(seen, 1, |changed| belief.touch(changed));
        *doubled = true;
        Ok(())
    }

    pub(super) fn saved(&self) -> SavedAged {
        let steps = self.steps.iter().map(|((_, at), (key, times))| (*at, key.clone(), *times)).collect();
        SavedAged { clock: self.clock, forgotten: self.forgotten, steps }
    }

    pub(super) fn take(&mut self, saved: SavedAged) -> Result<(), RestoreError> {
        let damaged = |why: &str| Err(RestoreError::damaged("forget", why));
        if saved.clock > crate::learn::MOST_SAVED || saved.forgotten > saved.clock {
            return damaged("more steps were forgotten than taken in, or there were too many");
        }
        (self.clock, self.forgotten) = (saved.clock, saved.forgotten);
        for (at, key, times) in saved.steps {
            let end = at.saturating_add(self.lasts(at));
            if at == 0 || at > self.clock || end <= self.clock || times == 0 {
                return damaged("a step is remembered that was never taken in, or is forgotten");
            }
            if self.steps.insert((end, at), (key, times)).is_some() {
                return damaged("two steps were taken in at once");
            }
        }
        Ok(())
    }

    /// Whether the evidence equals that of the stored steps.
    pub(super) fn fits(&self, evidence: &Evidence) -> bool {
        let mut again = Evidence::of(&evidence.view);
        let knowledge = &evidence.view.knowledge;
        let counted = self
            .steps
            .values()
            .all(|(key, times)| observation(key, knowledge).is_some_and(|step| again.add_times(&step, *times).is_ok()));
        counted && again.fingerprint() == evidence.fingerprint()
    }
}
