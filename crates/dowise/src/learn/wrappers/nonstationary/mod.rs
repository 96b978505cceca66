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

/// The kind of forgetting.
#[derive(Clone, Debug)]
pub(crate) enum Forgetting {
    /// Sliding window or discount.
    Aged(Aged),
    /// Change-point resets of rows.
    Rows(Rows),
}

/// Serialised form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SavedForgetting {
    Aged(SavedAged),
    Rows(SavedRows),
}

impl Forgetting {
    /// The forgetting that the options request, around a tabular learner.
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

    /// Most bytes beside a learner with this many rows and counts.
    pub(crate) fn bytes(knowledge: &Knowledge, options: &Options, [tables, rows, counts]: [u128; 3]) -> u128 {
        match options.forget {
            Forget::Never => 0,
            Forget::Window { .. } | Forget::Discount { .. } => Aged::bytes(knowledge, options),
            Forget::Reset => Rows::bytes(knowledge, options, [tables, rows, counts]),
        }
    }

    /// Updates with a step of the inner learner, and forgets outdated evidence.
    pub(crate) fn learn(&mut self, inside: &mut Kind, seen: &Observation<'_>, times: u32) {
        let Kind::Tabular(tabular) = inside else { return };
        match self {
            Forgetting::Aged(aged) => aged.learn(tabular, seen, times),
            Forgetting::Rows(rows) => rows.learn(tabular, seen, times),
        }
    }

    /// Removes a step, as far as it is still in memory.
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

    /// Restores the saved state of a learner with the same options.
    pub(crate) fn take(&mut self, saved: SavedForgetting) -> Result<(), RestoreError> {
        match (self, saved) {
            (Forgetting::Aged(aged), SavedForgetting::Aged(of)) => aged.take(of),
            (Forgetting::Rows(rows), SavedForgetting::Rows(of)) => rows.take(of),
            (Forgetting::Aged(_) | Forgetting::Rows(_), _) => {
                Err(RestoreError::damaged("forget", "it forgets in another way than the options say"))
            }
        }
    }

    /// Whether the restored state agrees with the counts.
    pub(crate) fn check(&self, inside: &Kind) -> Result<(), RestoreError> {
        let Kind::Tabular(tabular) = inside else { return Ok(()) };
        let fits = match self {
            Forgetting::Aged(aged) => aged.fits(&tabular.evidence),
            Forgetting::Rows(rows) => rows.fits(&tabular.evidence),
        };
        if fits { Ok(()) } else { Err(RestoreError::damaged("forget", "what is remembered is not what is counted")) }
    }
}
