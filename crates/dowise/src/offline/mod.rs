//! What a log says: numbers, whether the graph is contradicted, what a policy would have been worth.

pub mod fit;
