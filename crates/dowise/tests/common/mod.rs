//! Random small worlds, and the plain way to compute what they do: what the fast code is checked against.
#![allow(dead_code, unreachable_pub)] // every test file uses its own part

pub mod dense;
pub mod random_world;
pub mod reshape;

use dowise::World;
use dowise::world::WorldSpec;

/// A specification that must be right.
#[track_caller]
pub fn build(spec: &WorldSpec) -> World {
    World::new(spec.clone()).unwrap_or_else(|e| panic!("{e}"))
}

/// Whether two numbers are equal up to rounding of numbers of size `scale`.
#[track_caller]
pub fn assert_close(found: f64, expected: f64, scale: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-12 * scale.max(1.0), "{what}: found {found}, expected {expected}");
}

/// Doctors give a drug by a severity that nobody recorded: it moves the drug when that is left alone, and the recovery. Whether they were
/// given to give it is in the log.
pub const DOCTORS: &str = r#"
dowise = 1
name = "doctors"
horizon = 2
[state.sex]
values = ["f", "m"]
scope = ["sex"]
next = [[0.9, 0.1], [0.1, 0.9]]
start = [0.5, 0.5]
[lever.drug]
values = ["no", "yes"]
parents = ["severity"]
p = [[0.9, 0.1], [0.2, 0.8]]
[hidden.severity]
values = ["mild", "bad"]
parents = []
p = [0.5, 0.5]
[key.better]
values = ["no", "yes"]
parents = ["drug", "severity"]
p = [[[0.3, 0.7], [0.8, 0.2]], [[0.2, 0.8], [0.6, 0.4]]]
[reward.better]
scope = ["sex", "better"]
value = [[0.0, 1.0], [0.1, 0.5]]
[interventions]
set = "any"
"#;
