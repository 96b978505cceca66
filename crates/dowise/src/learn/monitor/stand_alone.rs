//! Stand-alone graph monitor, for programs that store steps and evidence themselves.

use serde::{Deserialize, Serialize};

use super::{GraphWatch, Monitor, SavedMonitor};
use crate::learn::Knowledge;
use crate::learn::error::{LearnResult, check_delta};
use crate::learn::evidence::EvidenceError;
use crate::learn::observation::Observation;
use crate::learn::save::RestoreError;
use crate::saved::Envelope;

const FILE: Envelope = Envelope::fields("dowise graph monitor", 3);

/// Tests on every step whether the declared graph is contradicted; see
/// [`Learner::watch_graph`](crate::Learner::watch_graph).
///
/// A true graph is ever said to be contradicted with probability δ at most, whoever chooses the interventions, if steps are shown in an
/// order that does not depend on what came of them. The same steps in the same order give the same bits.
///
/// ```
/// use dowise::learn::{GraphMonitor, Observation};
/// use dowise::{Knowledge, worlds};
/// let knowledge = Knowledge::of(&worlds::world("river-swim", &[])?);
/// let mut monitor = GraphMonitor::new(&knowledge, 0.05)?;
/// monitor.observe(&Observation::at(&knowledge, 0, 0)?.did(&knowledge, 1)?.then(&knowledge, 1)?)?;
/// let again = GraphMonitor::restore(&knowledge, &monitor.save())?;
/// assert!(again.report() == monitor.report() && !monitor.report().contradicted);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GraphMonitor(Monitor);

/// Serialised form.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// Fingerprint of the graph.
    #[serde(rename = "told")]
    knowledge: String,
    monitor: SavedMonitor,
}

impl GraphMonitor {
    /// A monitor without steps, if there is memory for its largest size.
    pub fn new(knowledge: &Knowledge, delta: f64) -> LearnResult<GraphMonitor> {
        check_delta(delta)?;
        Ok(GraphMonitor(Monitor::of_declared(knowledge, delta)?))
    }

    /// Tests one step; claims with missing values skip it.
    pub fn observe(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        observation.done(&self.0.knowledge, self.0.knowledge.variables().iter().map(|v| v.size() as u32))?;
        self.0.observe(observation);
        Ok(())
    }

    /// The present report.
    pub fn report(&self) -> GraphWatch {
        self.0.report(&[])
    }

    /// As text. The same monitor gives the same bytes.
    pub fn save(&self) -> String {
        FILE.write(&Saved { knowledge: self.0.knowledge.fingerprint(), monitor: self.0.saved() })
    }

    /// Restores a monitor from its text, given the same knowledge.
    pub fn restore(knowledge: &Knowledge, text: &str) -> Result<GraphMonitor, RestoreError> {
        let Saved { knowledge: saved, monitor } = FILE.read(text)?;
        let here = knowledge.fingerprint();
        if saved != here {
            return Err(RestoreError::OtherWorld { saved, here });
        }
        let mut again = GraphMonitor::new(knowledge, monitor.delta())?;
        again.0.take(monitor)?;
        Ok(again)
    }
}
