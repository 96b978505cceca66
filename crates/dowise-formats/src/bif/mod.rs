//! BIF, the Bayesian network interchange format (version 0.15, and what bnlearn and pgmpy write).

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
