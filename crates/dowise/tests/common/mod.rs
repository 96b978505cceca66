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
