//! A connection to PostgreSQL: opening, migration of the tables, prepared statements, and the columns of a row.

use std::cell::RefCell;

use postgres::types::ToSql;
use postgres::{Client, NoTls, Row, Statement};

use super::WRITERS;
use crate::store::rows::Columns;
use crate::store::schema::POSTGRES;
use crate::store::{Kept, StoreError};

/// One connection to a store; it connects again when the connection is lost and no transaction is under way.
pub struct Postgres {
    address: String,
    connection: RefCell<Option<Connected>>,
    /// Whether writes happen between `begin` and `commit`: then a lost connection is an error.
    pub(super) writing: bool,
    reads_only: bool,
}

struct Connected {
    client: Client,
    prepared: Vec<(&'static str, Statement)>,
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> StoreError {
        match error.as_db_error() {
            Some(said) => StoreError(said.message().to_owned()),
            None => StoreError(error.to_string()),
        }
    }
}

impl Postgres {
    /// Opens a store at `postgres://…`; makes it if there is none, and brings an older one up to date.
    pub fn open(address: &str) -> Kept<Postgres> {
        let store = Postgres::at(address, false)?;
        store.with(|c| migrate(&mut c.client))?;
        Ok(store)
    }

    /// Opens a store that is there; it is not changed.
    pub fn open_to_read(address: &str) -> Kept<Postgres> {
        let store = Postgres::at(address, true)?;
        store.with(|c| {
            let there =
                c.client.query_opt("SELECT 1 FROM pg_tables WHERE tablename = 'dowise_version'", &[])?.is_some();
            if there { Ok(()) } else { Err(StoreError("this database has no store of dowise".into())) }
        })?;
        Ok(store)
    }

    fn at(address: &str, reads_only: bool) -> Kept<Postgres> {
        refuse_encryption(address)?;
        Ok(Postgres { address: address.to_owned(), connection: RefCell::new(None), writing: false, reads_only })
    }

    fn connect(&self) -> Kept<Connected> {
        let wrong = |e: postgres::Error| StoreError(format!("the database does not answer: {}", StoreError::from(e).0));
        let mut config: postgres::Config = self.address.parse().map_err(wrong)?;
        config.application_name("dowise");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(std::time::Duration::from_secs(5));
        }
        let mut client = config.connect(NoTls).map_err(wrong)?;
        // A commit that is answered has reached the disk, whatever the server's default is.
        client
            .batch_execute("SET synchronous_commit = on; SET lock_timeout = '20s'; SET statement_timeout = '60s'")
            .map_err(wrong)?;
        if self.reads_only {
            client.batch_execute("SET default_transaction_read_only = on").map_err(wrong)?;
        }
        Ok(Connected { client, prepared: Vec::new() })
    }

    /// Drops the connection: the server rolls back what it had under way.
    pub(super) fn disconnect(&self) {
        *self.connection.borrow_mut() = None;
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Connected) -> Result<T, StoreError>) -> Kept<T> {
        let mut place = self.connection.borrow_mut();
        if place.as_ref().is_none_or(|c| c.client.is_closed()) {
            if self.writing {
                return Err(StoreError("the connection to the database was lost".into()));
            }
            *place = None;
            *place = Some(self.connect()?);
        }
        let connected = place.as_mut().expect("invariant: it was connected");
        ask(connected)
    }

    /// Rows of a query, whose statement is prepared once for each connection.
    pub(super) fn all<T>(
        &self,
        sql: &'static str,
        with: &[&(dyn ToSql + Sync)],
        read: impl Fn(&dyn Columns) -> Kept<T>,
    ) -> Kept<Vec<T>> {
        self.with(|c| {
            let statement = c.statement(sql)?;
            c.client.query(&statement, with)?.iter().map(|row| read(row)).collect()
        })
    }

    /// The last row of a query, if there is any.
    pub(super) fn one<T>(
        &self,
        sql: &'static str,
        with: &[&(dyn ToSql + Sync)],
        read: impl Fn(&dyn Columns) -> Kept<T>,
    ) -> Kept<Option<T>> {
        Ok(self.all(sql, with, read)?.pop())
    }

    /// Carries out a statement that gives no rows.
    pub(super) fn run(&self, sql: &'static str, with: &[&(dyn ToSql + Sync)]) -> Kept<()> {
        self.with(|c| {
            let statement = c.statement(sql)?;
            c.client.execute(&statement, with)?;
            Ok(())
        })
    }
}

impl Connected {
    fn statement(&mut self, sql: &'static str) -> Result<Statement, postgres::Error> {
        // A few dozen texts that are never dropped: their addresses tell them apart.
        if let Some((_, found)) = self.prepared.iter().find(|(text, _)| std::ptr::eq(*text, sql)) {
            return Ok(found.clone());
        }
        let made = self.client.prepare(sql)?;
        self.prepared.push((sql, made.clone()));
        Ok(made)
    }
}

/// Whoever asks for an encrypted connection is given that there is none, before anything is sent.
fn refuse_encryption(address: &str) -> Kept<()> {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let mode = query.split('&').filter_map(|pair| pair.strip_prefix("sslmode=")).next_back();
    match mode {
        None | Some("disable" | "prefer") => Ok(()),
        Some(mode) => Err(StoreError(format!(
            "sslmode={mode}: connections to PostgreSQL are not encrypted; put a proxy that encrypts on this machine \
             (stunnel, pgbouncer, a mesh) and give its address with sslmode=disable, or use a private network"
        ))),
    }
}

/// Brings the tables up to date; replicas that start together wait for each other.
fn migrate(client: &mut Client) -> Kept<()> {
    let mut change = client.transaction()?;
    change.execute("SELECT pg_advisory_xact_lock($1)", &[&WRITERS])?;
    change.batch_execute("CREATE TABLE IF NOT EXISTS dowise_version (version BIGINT NOT NULL)")?;
    let found: Option<i64> = change.query_opt("SELECT version FROM dowise_version", &[])?.map(|row| row.get(0));
    let (version, newest) = (found.unwrap_or(0), POSTGRES.len() as i64);
    if !(0..=newest).contains(&version) {
        return Err(StoreError(format!("the store has version {version}, this dowise knows up to {newest}")));
    }
    for text in POSTGRES.iter().skip(version as usize) {
        change.batch_execute(text)?;
    }
    let set = if found.is_some() {
        "UPDATE dowise_version SET version = $1"
    } else {
        "INSERT INTO dowise_version VALUES ($1)"
    };
    change.execute(set, &[&newest])?;
    Ok(change.commit()?)
}

impl Columns for Row {
    fn text(&self, column: usize) -> Kept<String> {
        Ok(self.try_get(column)?)
    }

    fn optional_text(&self, column: usize) -> Kept<Option<String>> {
        Ok(self.try_get(column)?)
    }

    fn number(&self, column: usize) -> Kept<i64> {
        Ok(self.try_get(column)?)
    }

    fn optional_number(&self, column: usize) -> Kept<Option<i64>> {
        Ok(self.try_get(column)?)
    }

    fn real(&self, column: usize) -> Kept<f64> {
        Ok(self.try_get(column)?)
    }

    fn flag(&self, column: usize) -> Kept<bool> {
        Ok(self.try_get(column)?)
    }

    fn bytes(&self, column: usize) -> Kept<Vec<u8>> {
        Ok(self.try_get(column)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_should_be_encrypted_is_refused_by_name_before_anything_is_sent() {
        for mode in ["require", "verify-ca", "verify-full"] {
            let error =
                Postgres::open(&format!("postgres://ann:secret@127.0.0.1:1/db?a=b&sslmode={mode}")).err().unwrap();
            assert!(error.0.starts_with(&format!("sslmode={mode}: ")) && error.0.contains("proxy"), "{error}");
            assert!(!error.0.contains("secret"), "{error}");
        }
        for mode in ["", "?sslmode=disable", "?sslmode=prefer"] {
            let error = Postgres::open(&format!("postgres://ann:secret@127.0.0.1:1/db{mode}")).err().unwrap();
            assert!(error.0.contains("does not answer") && !error.0.contains("secret"), "{error}");
        }
    }
}
