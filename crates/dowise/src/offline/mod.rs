//! What a log is good for before anybody acts on it: its numbers, whether the graph is contradicted, what a policy would have been
//! worth, and which one is surely better.

pub mod fit;
mod graph_test;

pub use graph_test::{Effect, GraphReport, GraphTest, RowEffect, Tested, Untested};
