//! What requests are answered with.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::decide::{Mode, Why};

/// An answer, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// JSON.
    pub body: String,
    /// Number of the event; 0 if there is none.
    pub seq: u64,
}

/// A decision.
#[derive(Serialize)]
pub(super) struct Decided<'a> {
    pub(super) event_id: &'a str,
    pub(super) episode_id: &'a str,
    /// From 1.
    pub(super) stage: usize,
    pub(super) intervention: Map<String, Value>,
    pub(super) propensity: f64,
    pub(super) why: Why,
    pub(super) guardrails: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) proposed: Option<Map<String, Value>>,
    pub(super) expected_keys: &'a Map<String, Value>,
    pub(super) expected_value: f64,
    pub(super) policy: PolicyName<'a>,
    pub(super) mode: Mode,
}

#[derive(Serialize)]
pub(super) struct PolicyName<'a> {
    pub(super) version: u64,
    pub(super) hash: &'a str,
}

/// An observation was taken in.
#[derive(Serialize)]
pub(super) struct Observed<'a> {
    pub(super) observation_id: &'a str,
    pub(super) event_id: &'a str,
    /// `accepted`, or `parked` until its decision comes.
    pub(super) status: &'static str,
    /// Whether the step is complete.
    pub(super) complete: bool,
}

/// Something happened to an episode.
#[derive(Serialize)]
pub(super) struct EpisodeSaid<'a> {
    pub(super) episode_id: &'a str,
    pub(super) status: &'static str,
    /// Steps that were learned from.
    pub(super) steps: usize,
}

pub(super) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("invariant: names and numbers can be written")
}
