//! Fits worlds to simulated logs: what was simulated is recovered, and what cannot be is said.

#[path = "../common/mod.rs"]
mod common;
mod confounded;
mod em;
mod recovered;
mod simulated;
