//! Every store keeps the contract of the trait.

mod common;

use common::*;
use dowise_serve::{Access, Postgres};

#[test]
fn sqlite_keeps_the_store_contract() {
    let directory = tempfile::tempdir().unwrap();
    keeps_the_store_contract(&|access| sqlite(&directory.path().join("store"), access));
}

/// Runs if `DOWISE_TEST_POSTGRES` is the address of an empty database, such as
/// `postgres://postgres@127.0.0.1:5433/postgres`.
#[test]
fn postgres_keeps_the_store_contract() {
    let Ok(address) = std::env::var("DOWISE_TEST_POSTGRES") else { return };
    keeps_the_store_contract(&|access| match access {
        Access::Write => Box::new(Postgres::open(&address).unwrap()),
        Access::Read => Box::new(Postgres::open_to_read(&address).unwrap()),
    });
}
