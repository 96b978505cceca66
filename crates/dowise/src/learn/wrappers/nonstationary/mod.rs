//! Non-stationarity: sliding window or discount of old steps (`sliding_window.rs`), or change-point resets of rows
//! (`rows.rs`).

mod change_point;
mod report;
mod rows;
mod sliding_window;

pub use report::ChangeNoticed;

use serde::{Deserialize, Serialize};

use self::rows::{Rows, SavedRows};
use self::sliding_window::{Aged, SavedAged};
use crate::learn::evidence::EvidenceError;
use crate::learn::learner::Kind;
use crate::learn::observation::Observation;
use crate::learn::options::Forget;
use crate::learn::save::RestoreError;
use crate::learn::tabular::Tabular;
use crate::learn::{Knowledge, Options};

/// What is remembered, and until when.
#[derive(Clone, Debug)]
pub(crate) enum Forgetting {
    /// By age.
    Aged(Aged),
    /// Row by row, where a change is noticed.
    Rows(Rows),
}

/// What is written of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SavedForgetting {
    Aged(SavedAged),
    Rows(SavedRows),
}

impl Forgetting {
    /// What the options ask for, around a learner that counts.
    pub(crate) fn new(inside: &Tabular) -> Option<Forgetting> {
        let view = &inside.evidence.view;
        match inside.options.forget {
            Forget::Never => None,
            Forget::Window { .. } | Forget::Discount { .. } => {
                Some(Forgetting::Aged(Aged::new(&inside.options, view.layout.horizon)))
            }
            Forget::Reset => Some(Forgetting::Rows(Rows::new(view, inside.options.delta))),
        }
    }

    /// Bytes that it takes at most beside a learner with this many rows and counts.
    pub(crate) fn bytes(knowledge: &Knowledge, options: &Options, [tables, rows, counts]: [u128; 3]) -> u128 {
        match options.forget {
            Forget::Never => 0,
            Forget::Window { .. } | Forget::Discount { .. } => Aged::bytes(knowledge, options),
            Forget::Reset => Rows::bytes(knowledge, options, [tables, rows, counts]),
        }
    }

    /// Takes in a step that the learner inside has taken in, and forgets what is to be forgotten then.
    pub(crate) fn learn(&mut self, inside: &mut Kind, seen: &Observation<'_>, times: u32) {
        let Kind::Tabular(tabular) = inside else { return };
        match self {
            Forgetting::Aged(aged) => aged.learn(tabular, seen, times),
            Forgetting::Rows(rows) => rows.learn(tabular, seen, times),
        }
    }

    /// Takes a step back as far as it is remembered.
    pub(crate) fn take_back(&mut self, inside: &mut Kind, seen: &Observation<'_>) -> Result<(), EvidenceError> {
        let Kind::Tabular(tabular) = inside else { return Ok(()) };
        match self {
            Forgetting::Aged(aged) => aged.take_back(tabular, seen),
            Forgetting::Rows(rows) => rows.take_back(tabular, seen),
        }
    }

    pub(crate) fn saved(&self) -> SavedForgetting {
        match self {
            Forgetting::Aged(aged) => SavedForgetting::Aged(aged.saved()),
            Forgetting::Rows(rows) => SavedForgetting::Rows(rows.saved()),
        }
    }

    /// Takes over what was saved of a learner with the same options.
    pub(crate) fn take(&mut self, saved: SavedForgetting) -> Result<(), RestoreError> {
        match (self, saved) {
            (Forgetting::Aged(aged), SavedForgetting::Aged(of)) => aged.take(of),
            (Forgetting::Rows(rows), SavedForgetting::Rows(of)) => rows.take(of),
            (Forgetting::Aged(_) | Forgetting::Rows(_), _) => {
                Err(RestoreError::damaged("forget", "it forgets in another way than the options say"))
            }
        }
    }

    /// Whether what was taken over is what is counted.
    pub(crate) fn check(&self, inside: &Kind) -> Result<(), RestoreError> {
        let Kind::Tabular(tabular) = inside else { return Ok(()) };
        let fits = match self {
            Forgetting::Aged(aged) => aged.fits(&tabular.evidence),
            Forgetting::Rows(rows) => rows.fits(&tabular.evidence),
        };
        if fits { Ok(()) } else { Err(RestoreError::damaged("forget", "what is remembered is not what is counted")) }
    }
}
