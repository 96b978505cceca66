//! Fuzzing: inputs made from a seed, what must hold for each, and a watch over the process that tries them.
//!
//! A case is a function of the seed and its number, so that any case can be made again. Cases are tried in a process of their
//! own: a panic is caught there; an abort, a stack that overflows, too much memory and a hang are seen from outside.

// Every use of the small worlds and of brute force is the library's own test code.
#[path = "../../dowise/tests/common/dense.rs"]
#[allow(dead_code, missing_docs, unreachable_pub)]
mod dense;
#[path = "../../dowise/tests/common/random_world.rs"]
#[allow(dead_code, missing_docs, unreachable_pub)]
mod random_world;

pub mod case;
mod corpus;
mod minimise;
mod mutate;
pub mod supervise;
mod targets;
pub mod tokens;
pub mod work;

pub use case::{Case, Kind};
pub use corpus::Corpus;
pub use targets::{Outcome, run};

use cap::Cap;
use std::alloc::System;

/// Bytes that a process may hold while cases are tried; an allocation beyond fails, which ends the process.
pub const MOST_BYTES: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MOST_BYTES);
