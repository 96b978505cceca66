//! What a log of episodes that others played says about a world, before anyone acts on it.

mod graph_test;

pub use graph_test::{Effect, GraphReport, GraphTest, RowEffect, Tested, Untested};
