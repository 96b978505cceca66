//! Graph monitor and repair: tests the claims that the learner relies on, and revises its graph minimally if they
//! fail.
//!
//! If the declared key variables do not separate the levers from the outcome, a causal learner can be wrong for ever.
//! The test needs no exploration, so a right graph costs no regret. When a claim is contradicted, the inner learner is
//! rebuilt from all its steps with the edge added (or two factors counted jointly). If that cannot be represented, it
//! continues with plain UCBVI. The test restarts on the revised graph with half the remaining error probability.

use serde::{Deserialize, Serialize};

use super::graph_revision::Change;
use super::history::History;
use crate::learn::evidence::{Evidence, EvidenceError};
use crate::learn::learner::Kind;
use crate::learn::memory::hold;
use crate::learn::monitor::{GraphWatch, Monitor, SavedMonitor};
use crate::learn::observation::Observation;
use crate::learn::options::{Causes, Options};
use crate::learn::save::RestoreError;
use crate::learn::tabular::Tabular;
use crate::learn::{Knowledge, LearnError, LearnResult, Plans};

/// The declared graph, the test of the present one, and the revisions.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// The learner's knowledge and options before any revision.
    declared: (Knowledge, Options),
    /// The test of the present graph; `None` once nothing is left to test.
    monitor: Option<Monitor>,
    history: History,
    changes: Vec<Change>,
    amendments: Vec<Amendment>,
}

/// A revision of the graph by graph repair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amendment {
    /// The episode of the revision, from 1; a log belongs to the first.
    pub episode: u64,
    /// The finding that contradicted the graph, in words.
    pub found: String,
    /// The revised model, in words.
    pub became: String,
}

/// Serialised form of graph repair.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedGuard {
    options: Options,
    changes: Vec<Change>,
    amendments: Vec<Amendment>,
    monitor: Option<SavedMonitor>,
    history: History,
}

impl Guard {
    pub(crate) fn new(inside: &Tabular) -> LearnResult<Guard> {
        let (knowledge, options) = (inside.knowledge().clone(), inside.options.clone());
        if options.causes == Causes::Actions || options.stage_dependent {
            return Err(LearnError::NothingToGuard);
        }
        let monitor = Some(monitor(&knowledge, &options, 0));
        let declared = (knowledge, options);
        Ok(Guard { declared, monitor, history: History::default(), changes: vec![], amendments: vec![] })
    }

    /// Most bytes beside the inner learner, as long as the graph is the declared one.
    pub(crate) fn bytes(knowledge: &Knowledge, options: &Options) -> u128 {
        Monitor::bytes(knowledge, options.states, options.causes) + History::bytes(knowledge, options)
    }

    /// The declared knowledge.
    pub(crate) fn declared(&self) -> &Knowledge {
        &self.declared.0
    }

    /// The original options.
    pub(crate) fn declared_options(&self) -> &Options {
        &self.declared.1
    }

    pub(crate) fn amendments(&self) -> &[Amendment] {
        &self.amendments
    }

    /// The episode in which the key variables were abandoned, if they were.
    pub(crate) fn gave_up(&self) -> Option<u64> {
        (self.changes.last() == Some(&Change::NoCauses)).then(|| self.amendments.last().map(|a| a.episode)).flatten()
    }

    /// Whether the graph was contradicted and could not be revised.
    pub(crate) fn contradicted(&self) -> bool {
        self.amendments.len() > self.changes.len()
    }

    /// The report of the present graph; `None` once nothing is left to test.
    pub(crate) fn report(&self) -> Option<GraphWatch> {
        self.monitor.as_ref().map(|monitor| monitor.report(&self.amendments))
    }

    pub(crate) fn check_unlearn(&self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        if self.history.may_have(observation) { Ok(()) } else { Err(EvidenceError::NotThere) }
    }

    /// Updates with a step of the inner learner, and revises its graph if that is contradicted.
    pub(crate) fn learn(&mut self, inside: &mut Kind, observation: &Observation<'_>, times: u32, episode: u64) {
        self.history.add(observation, times);
        let Some(monitor) = &mut self.monitor else { return };
        monitor.observe(observation);
        if monitor.contradicted()
            && let Kind::Tabular(tabular) = inside
        {
            self.amend(tabular, episode);
        }
    }

    /// Removes a step from the history for recounting; the test keeps it.
    pub(crate) fn unlearn(&mut self, observation: &Observation<'_>) {
        self.history.remove(observation);
    }

    fn amend(&mut self, inside: &mut Tabular, episode: u64) {
        let Some(monitor) = self.monitor.take() else { return };
        let Some((outcome, other)) = monitor.suspect() else { return };
        let found = monitor.finding().map_or_else(String::new, |finding| finding.what);
        let knowledge = inside.knowledge().clone();
        let smallest = match monitor.paid_beyond() {
            Some((term, paid)) => self.widened(&knowledge, term, paid),
            None => Change::Arrow(outcome, other),
        };
        for change in [smallest, Change::NoCauses] {
            let Ok((knowledge, options)) = change.apply(&knowledge, &inside.options) else { continue };
            let Ok(mut changed) = self.counted_again(&knowledge, &options) else { continue };
            // Plan numbers continue.
            changed.plans = inside.plans;
            *inside = changed;
            self.changes.push(change);
            self.amendments.push(Amendment { episode, found, became: change.words(&knowledge) });
            self.monitor = (change != Change::NoCauses).then(|| monitor_of(inside, self.changes.len()));
            return;
        }
        let became = "no graph without this claim can be learned here, so it goes on as before".to_owned();
        self.amendments.push(Amendment { episode, found, became });
    }

    /// A wider range that contains the reward; from the second time on at least twice as wide, so that revisions stay
    /// few.
    fn widened(&self, knowledge: &Knowledge, term: usize, paid: f64) -> Change {
        let [lo, hi] = knowledge.rewards()[term].range;
        let again = self.changes.iter().any(|change| matches!(change, Change::Range(of, ..) if *of == term));
        let more = if again { hi - lo } else { 0.0 };
        if paid < lo {
            Change::Range(term, paid.min(lo - more), hi)
        } else {
            Change::Range(term, lo, paid.max(hi + more))
        }
    }

    /// A learner with another graph and the same steps.
    fn counted_again(&self, knowledge: &Knowledge, options: &Options) -> LearnResult<Tabular> {
        // Requests memory before the layout: after joining components, the rows of all joint key values may exceed it.
        drop(hold(knowledge, options)?);
        let mut evidence = Evidence::new(knowledge, options)?;
        self.history.count_in(&mut evidence).map_err(|_| LearnError::OtherEvidence)?;
        Tabular::with(evidence, options.clone())
    }

    pub(crate) fn saved(&self) -> SavedGuard {
        SavedGuard {
            options: self.declared.1.clone(),
            changes: self.changes.clone(),
            amendments: self.amendments.clone(),
            monitor: self.monitor.as_ref().map(Monitor::saved),
            history: self.history.clone(),
        }
    }

    /// Restores saved graph repair of the same learner, and rebuilds the inner learner with the revised graph.
    pub(crate) fn take(&mut self, saved: SavedGuard, inside: &mut Kind, begun: u64) -> Result<(), RestoreError> {
        let damaged = |why: &str| Err(RestoreError::damaged("guard", why));
        if saved.changes.len() > saved.amendments.len() || saved.amendments.iter().any(|a| a.episode > begun.max(1)) {
            return damaged("its graph was changed in an episode that was never played");
        }
        let (mut knowledge, mut options) = self.declared.clone();
        for change in &saved.changes {
            (knowledge, options) = change.apply(&knowledge, &options)?;
        }
        if !saved.changes.is_empty() {
            *inside = Kind::Tabular(Box::new(Tabular::new(&knowledge, options)?));
        }
        let Kind::Tabular(tabular) = inside else { return damaged("it was around a learner that does not count") };
        self.monitor = match saved.monitor {
            Some(of) => {
                let mut monitor = monitor_of(tabular, saved.changes.len());
                monitor.take(of)?;
                Some(monitor)
            }
            None => None,
        };
        // Counting the history checks that it is possible.
        let counted = Evidence::new(&self.declared.0, &self.declared.1)
            .and_then(|mut all| saved.history.count_in(&mut all).map_err(|_| LearnError::OtherEvidence));
        if counted.is_err() {
            return damaged("it kept a step that this world cannot have");
        }
        (self.history, self.changes, self.amendments) = (saved.history, saved.changes, saved.amendments);
        Ok(())
    }

    /// The learner's options before any revision.
    pub(crate) fn options_of(saved: &SavedGuard) -> &Options {
        &saved.options
    }
}

/// The test of a graph after this many revisions; all together are wrong with probability at most δ.
fn monitor(knowledge: &Knowledge, options: &Options, changes: usize) -> Monitor {
    let delta = options.delta * crate::math::powi(0.5, changes as u32 + 1);
    Monitor::new(knowledge, options.states, options.causes, delta)
}

fn monitor_of(inside: &Tabular, changes: usize) -> Monitor {
    monitor(inside.knowledge(), &inside.options, changes)
}
