//! Serialised evidence: versioned text with a checksum computed from the counts.

use serde::{Deserialize, Serialize};

use super::counts::Entry;
use super::payments::PaymentEntry;
use super::{Evidence, EvidenceError};
use crate::learn::view::View;
use crate::saved::Envelope;
use std::sync::Arc;

/// Evidence lies inside other files too, so it carries the fields of its envelope itself.
const FILE: Envelope = Envelope::fields("dowise evidence", 1);

/// Serialised form of evidence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedEvidence {
    format: String,
    version: u32,
    /// Fingerprint of the view.
    view: String,
    steps: u64,
    /// `[block][factor]`: (row, value, visits)
    transitions: Vec<Vec<Vec<Entry>>>,
    mechanisms: Vec<Vec<Entry>>,
    payments: Vec<Vec<PaymentEntry>>,
    /// (position of stage and state, visits)
    visits: Vec<(u32, u32)>,
    /// Fingerprint of the evidence.
    seal: String,
}

impl Evidence {
    /// The evidence as text (JSON). The same evidence gives the same bytes.
    pub fn save(&self) -> String {
        serde_json::to_string(&self.saved()).expect("invariant: numbers and words can be written")
    }

    pub(crate) fn saved(&self) -> SavedEvidence {
        let visited = self.visits_hs.iter().enumerate().filter(|(_, n)| **n > 0);
        SavedEvidence {
            format: FILE.name().to_owned(),
            version: FILE.version(),
            view: self.view.fingerprint(),
            steps: self.steps,
            transitions: self.transitions.iter().map(|block| block.iter().map(|c| c.entries()).collect()).collect(),
            mechanisms: self.mechanisms.iter().map(|c| c.entries()).collect(),
            payments: self.payments.iter().map(|p| p.entries()).collect(),
            visits: visited.map(|(i, &n)| (i as u32, n)).collect(),
            seal: format!("{:016x}", self.fingerprint()),
        }
    }

    /// Restores evidence from its text, for a learner with the same knowledge and view.
    pub fn restore(
        knowledge: &crate::learn::Knowledge,
        options: &crate::learn::Options,
        text: &str,
    ) -> Result<Evidence, EvidenceError> {
        let saved: SavedEvidence = FILE.read(text)?;
        let view = View::of(knowledge, options).map_err(|e| EvidenceError::Format(e.to_string()))?;
        Evidence::restored(&Arc::new(view), &saved)
    }

    /// Validates saved evidence: it fits the tables, visits are conserved, and the checksum is right.
    pub(crate) fn restored(view: &Arc<View>, saved: &SavedEvidence) -> Result<Evidence, EvidenceError> {
        FILE.check_fields(&saved.format, saved.version)?;
        let here = view.fingerprint();
        if saved.view != here {
            return Err(EvidenceError::OtherView { other: saved.view.clone(), here });
        }
        let damaged =
            |field: &str, why: &str| Err(EvidenceError::Damaged { field: field.to_owned(), why: why.to_owned() });
        let mut evidence = Evidence::of(view);
        let shape = saved.transitions.len() == evidence.transitions.len()
            && saved.transitions.iter().zip(&evidence.transitions).all(|(s, e)| s.len() == e.len());
        if !shape {
            return damaged("transitions", "there are not as many tables as the learner counts in");
        }
        if saved.mechanisms.len() != evidence.mechanisms.len() {
            return damaged("mechanisms", "there are not as many tables as the learner counts in");
        }
        if saved.payments.len() != evidence.payments.len() {
            return damaged("payments", "there are not as many tables as the learner counts in");
        }
        evidence.steps = saved.steps;
        let steps = u128::from(saved.steps);
        for (f, _) in view.layout.factors.iter().enumerate() {
            let mut total = 0;
            for (block, entries) in saved.transitions.iter().enumerate() {
                let counts = &mut evidence.transitions[block][f];
                counts.restore(&entries[f], "transitions")?;
                total += counts.total();
            }
            if total > steps {
                return damaged("transitions", "a factor was counted more often than there were steps");
            }
        }
        for (counts, entries) in evidence.mechanisms.iter_mut().zip(&saved.mechanisms) {
            counts.restore(entries, "mechanisms")?;
            if counts.total() > steps {
                return damaged("mechanisms", "a mechanism was counted more often than there were steps");
            }
        }
        for (payments, entries) in evidence.payments.iter_mut().zip(&saved.payments) {
            payments.restore(entries, "payments")?;
            if payments.total() > steps {
                return damaged("payments", "a reward was paid more often than there were steps");
            }
        }
        for &(i, n) in &saved.visits {
            match evidence.visits_hs.get_mut(i as usize) {
                Some(visits) if *visits == 0 && n > 0 => *visits = n,
                _ => return damaged("visits", "a state is not there, or comes twice"),
            }
        }
        if evidence.visits_hs.iter().map(|&n| u128::from(n)).sum::<u128>() != steps {
            return damaged("visits", "states were not visited once for every step");
        }
        evidence.hash = evidence.hash_of_counts();
        let expected = format!("{:016x}", evidence.fingerprint());
        if expected != saved.seal {
            let why = format!("the checksum in the file is {}, that of what was counted {expected}", saved.seal);
            return damaged("seal", &why);
        }
        Ok(evidence)
    }
}
