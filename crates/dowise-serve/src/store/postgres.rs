//! The store in PostgreSQL, for several replicas: writers take turns, so that the log has one order.
//!
//! A transaction of a writer begins with an advisory lock that ends with it. So transactions are committed in the order of their events'
//! numbers, and whoever reads up to a number has read all that will ever be there.

use std::cell::RefCell;
use std::collections::HashMap;

use postgres::types::ToSql;
use postgres::{Client, NoTls, Row, Statement};

use super::rows::{
    Columns, counts, episode, episode_columns, event, event_columns, parked, snapshot, step, step_columns, to_json,
};
use super::schema::POSTGRES;
use super::{Episode, Event, EventKind, Kept, Parked, Store, StoreError};
use crate::snapshot::StoredSnapshot;
use crate::step::Step;

/// The writers' lock. Any number would do that nobody else takes in the same database: these are the letters of "dowise".
const WRITERS: i64 = 0x646f_7769_7365;
/// The learner's lock.
const LEARNER: i64 = WRITERS + 1;

/// One connection to a store; it connects again when the connection is lost and no transaction is under way.
pub struct Postgres {
    address: String,
    connection: RefCell<Option<Connected>>,
    /// Whether writes happen between `begin` and `commit`: then a lost connection is an error.
    writing: bool,
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
    fn all<T>(
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

    fn one<T>(
        &self,
        sql: &'static str,
        with: &[&(dyn ToSql + Sync)],
        read: impl Fn(&dyn Columns) -> Kept<T>,
    ) -> Kept<Option<T>> {
        Ok(self.all(sql, with, read)?.pop())
    }

    fn run(&self, sql: &'static str, with: &[&(dyn ToSql + Sync)]) -> Kept<()> {
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
            "sslmode={mode}: connections to PostgreSQL are not encrypted; put a proxy that encrypts on this machine (stunnel, \
             pgbouncer, a mesh) and give its address with sslmode=disable, or use a private network"
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

/// A query of whole events.
macro_rules! events {
    ($rest:literal) => {
        concat!("SELECT ", event_columns!(), " FROM event ", $rest)
    };
}

/// A query of whole steps.
macro_rules! steps {
    ($rest:literal) => {
        concat!("SELECT ", step_columns!(), " FROM step ", $rest)
    };
}

/// A query of whole episodes.
macro_rules! episodes {
    ($rest:literal) => {
        concat!("SELECT ", episode_columns!(), " FROM episode ", $rest)
    };
}

impl Store for Postgres {
    fn is_shared(&self) -> bool {
        true
    }

    fn hold_still(&self) -> Kept<()> {
        self.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &[])?;
        self.last().map(drop)
    }

    fn lead(&mut self) -> Kept<bool> {
        // The lock belongs to the connection, so it is free as soon as its holder is gone. Whoever has it already does not take it twice.
        let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() \
                    AND (classid::bigint << 32 | objid::bigint) = $1 AND objsubid = 1";
        let holds = self.one(held, &[&LEARNER], |row| row.number(0))?.unwrap_or(0);
        if holds > 0 {
            return Ok(true);
        }
        let taken = self.one("SELECT pg_try_advisory_lock($1)", &[&LEARNER], |row| row.flag(0))?;
        Ok(taken.unwrap_or(false))
    }

    fn begin(&mut self) -> Kept<()> {
        self.writing = false;
        self.run("BEGIN", &[])?;
        self.writing = true;
        self.all("SELECT pg_advisory_xact_lock($1)", &[&WRITERS], |_| Ok(()))?;
        Ok(())
    }

    fn commit(&mut self) -> Kept<()> {
        self.run("COMMIT", &[])?;
        self.writing = false;
        Ok(())
    }

    fn rollback(&mut self) {
        // Where the connection is lost the server has rolled back by itself. Where it is not known how a commit ended, a new
        // connection makes sure that nothing of the old one is left.
        if self.run("ROLLBACK", &[]).is_err() {
            *self.connection.borrow_mut() = None;
        }
        self.writing = false;
    }

    fn find(&self, world: &str, kind: EventKind, key: &str) -> Kept<Option<Event>> {
        self.one(events!("WHERE world = $1 AND kind = $2 AND key = $3"), &[&world, &kind.number(), &key], event)
    }

    fn append(&mut self, event: &Event) -> Kept<u64> {
        let Event { world, kind, key, episode, at, request, answer, effect, .. } = event;
        // Numbers without gaps: writers take turns, so the greatest is the last.
        let sql = "INSERT INTO event (seq, world, kind, key, episode, at, request, answer, effect) \
                   SELECT COALESCE(max(seq), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8 FROM event RETURNING seq";
        let with: [&(dyn ToSql + Sync); 8] =
            [world, &kind.number(), key, episode, &(*at as i64), request, answer, effect];
        let seq = self.one(sql, &with, |row| row.count(0))?;
        seq.ok_or_else(|| StoreError("an event got no number".into()))
    }

    fn events(&self, world: Option<&str>, after: u64, most: usize) -> Kept<Vec<Event>> {
        let sql = events!("WHERE seq > $1 AND ($2::text IS NULL OR world = $2) ORDER BY seq LIMIT $3");
        self.all(sql, &[&(after as i64), &world, &(most as i64)], event)
    }

    fn effects(&self, world: &str, after: u64, upto: u64, most: usize) -> Kept<Vec<(u64, String)>> {
        self.all(
            "SELECT seq, effect FROM event WHERE world = $1 AND seq > $2 AND seq <= $3 AND effect <> '' ORDER BY seq LIMIT $4",
            &[&world, &(after as i64), &(upto as i64), &(most as i64)],
            |row| Ok((row.count(0)?, row.text(1)?)),
        )
    }

    fn last(&self) -> Kept<(u64, u64)> {
        Ok(self.one("SELECT seq, at FROM event ORDER BY seq DESC LIMIT 1", &[], counts)?.unwrap_or((0, 0)))
    }

    fn recent(&self, world: &str, most: usize) -> Kept<Vec<(Event, Step)>> {
        let sql = events!("WHERE world = $1 AND kind = $2 AND request <> '' ORDER BY seq DESC LIMIT $3");
        let events = self.all(sql, &[&world, &EventKind::Decide.number(), &(most as i64)], event)?;
        // All steps at once: to ask for thousands one by one takes as many journeys to the server.
        let keys: Vec<&str> = events.iter().filter_map(|event| event.key.as_deref()).collect();
        let steps = self.all(steps!("WHERE world = $1 AND event_id = ANY($2)"), &[&world, &keys], step)?;
        let mut steps: HashMap<String, Step> = steps.into_iter().map(|step| (step.event_id.clone(), step)).collect();
        let with_step = |event: Event| {
            let step = steps.remove(event.key.as_deref()?)?;
            Some((event, step))
        };
        Ok(events.into_iter().filter_map(with_step).collect())
    }

    fn blank(&mut self, world: &str, episode: &str, keep_effects: bool) -> Kept<()> {
        let blank = "UPDATE event SET key = NULL, episode = NULL, request = '', answer = '', \
                     effect = CASE WHEN $3 THEN effect ELSE '' END WHERE world = $1 AND episode = $2";
        self.run(blank, &[&world, &episode, &keep_effects])?;
        self.run("DELETE FROM step WHERE world = $1 AND episode = $2", &[&world, &episode])?;
        self.run("DELETE FROM episode WHERE world = $1 AND id = $2", &[&world, &episode])
    }

    fn blank_parked(&mut self, world: &str, before: u64, most: usize) -> Kept<usize> {
        let old = self.all(
            "SELECT p.seq FROM parked p JOIN event e USING (seq) WHERE p.world = $1 AND e.at < $2 ORDER BY p.seq LIMIT $3",
            &[&world, &(before as i64), &(most as i64)],
            |row| row.number(0),
        )?;
        for seq in &old {
            self.run("UPDATE event SET key = NULL, episode = NULL, request = '', answer = '' WHERE seq = $1", &[seq])?;
            self.run("DELETE FROM parked WHERE world = $1 AND seq = $2", &[&world, seq])?;
        }
        Ok(old.len())
    }

    fn step(&self, world: &str, event_id: &str) -> Kept<Option<Step>> {
        self.one(steps!("WHERE world = $1 AND event_id = $2"), &[&world, &event_id], step)
    }

    fn steps_of(&self, world: &str, episode: &str) -> Kept<Vec<Step>> {
        self.all(steps!("WHERE world = $1 AND episode = $2 ORDER BY stage"), &[&world, &episode], step)
    }

    fn steps_after(&self, world: &str, after: (&str, i64), most: usize) -> Kept<Vec<Step>> {
        let sql = steps!("WHERE world = $1 AND (episode, stage) > ($2, $3) ORDER BY episode, stage LIMIT $4");
        self.all(sql, &[&world, &after.0, &after.1, &(most as i64)], step)
    }

    fn put_step(&mut self, world: &str, step: &Step) -> Kept<()> {
        let sql = "INSERT INTO step (world, event_id, episode, stage, state, action, version, agree, at, parts, learned, settled, propensity) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (world, event_id) DO UPDATE SET \
                   parts = EXCLUDED.parts, learned = EXCLUDED.learned, settled = EXCLUDED.settled";
        self.run(
            sql,
            &[
                &world,
                &step.event_id,
                &step.episode,
                &(step.stage as i64),
                &(step.state as i64),
                &(step.action.0 as i64),
                &(step.version as i64),
                &(step.agree as i64),
                &(step.at as i64),
                &to_json(&step.parts),
                &step.learned.as_ref().map(to_json),
                &step.settled,
                &step.propensity,
            ],
        )
    }

    fn unsettled(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>> {
        self.all(
            "SELECT event_id FROM step WHERE world = $1 AND NOT settled AND at < $2 ORDER BY at, event_id LIMIT $3",
            &[&world, &(before as i64), &(most as i64)],
            |row| row.text(0),
        )
    }

    fn episode(&self, world: &str, id: &str) -> Kept<Option<Episode>> {
        self.one(episodes!("WHERE world = $1 AND id = $2"), &[&world, &id], episode)
    }

    fn episodes(&self, world: &str, most: usize, subject: Option<&str>) -> Kept<Vec<Episode>> {
        let sql =
            episodes!("WHERE world = $1 AND ($2::text IS NULL OR subject = $2) ORDER BY opened DESC, id LIMIT $3");
        self.all(sql, &[&world, &subject, &(most as i64)], episode)
    }

    fn ended(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>> {
        let sql = "SELECT id FROM episode WHERE world = $1 AND closed IS NOT NULL AND closed < $2 ORDER BY closed, id LIMIT $3";
        self.all(sql, &[&world, &(before as i64), &(most as i64)], |row| row.text(0))
    }

    fn unended(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>> {
        let sql =
            "SELECT id FROM episode WHERE world = $1 AND opened < $2 AND closed IS NULL ORDER BY opened, id LIMIT $3";
        self.all(sql, &[&world, &(before as i64), &(most as i64)], |row| row.text(0))
    }

    fn put_episode(&mut self, world: &str, episode: &Episode) -> Kept<()> {
        let Episode { id, subject, opened, closed, decided, forgotten } = episode;
        self.run(
            "INSERT INTO episode (world, id, subject, opened, closed, decided, forgotten) VALUES ($1, $2, $3, $4, $5, $6, $7) \
             ON CONFLICT (world, id) DO UPDATE SET closed = EXCLUDED.closed, \
             decided = EXCLUDED.decided, forgotten = EXCLUDED.forgotten",
            &[&world, id, subject, &(*opened as i64), &closed.map(|at| at as i64), &(*decided as i64), forgotten],
        )
    }

    fn parked(&self, world: &str, event_id: &str) -> Kept<Vec<Parked>> {
        self.all(
            "SELECT p.seq, e.request FROM parked p JOIN event e USING (seq) WHERE p.world = $1 AND p.event_id = $2 ORDER BY p.seq",
            &[&world, &event_id],
            parked,
        )
    }

    fn park(&mut self, world: &str, event_id: &str, seq: u64) -> Kept<()> {
        self.run("INSERT INTO parked (world, event_id, seq) VALUES ($1, $2, $3)", &[&world, &event_id, &(seq as i64)])
    }

    fn unpark(&mut self, world: &str, event_id: &str, episode: &str) -> Kept<()> {
        let belongs =
            "UPDATE event SET episode = $3 WHERE seq IN (SELECT seq FROM parked WHERE world = $1 AND event_id = $2)";
        self.run(belongs, &[&world, &event_id, &episode])?;
        self.run("DELETE FROM parked WHERE world = $1 AND event_id = $2", &[&world, &event_id])
    }

    fn put_snapshot(&mut self, world: &str, of: &StoredSnapshot) -> Kept<()> {
        self.run(
            "INSERT INTO snapshot (world, version, seq, at, hash, steps, evidence) VALUES ($1, $2, $3, $4, $5, $6, $7) \
             ON CONFLICT (world, version) DO UPDATE SET seq = EXCLUDED.seq, at = EXCLUDED.at, hash = EXCLUDED.hash, \
             steps = EXCLUDED.steps, evidence = EXCLUDED.evidence",
            &[
                &world,
                &(of.version as i64),
                &(of.seq as i64),
                &(of.at as i64),
                &of.hash,
                &(of.steps as i64),
                &of.evidence,
            ],
        )
    }

    fn snapshot(&self, world: &str, version: u64) -> Kept<Option<StoredSnapshot>> {
        let sql = "SELECT version, seq, at, hash, steps, evidence FROM snapshot WHERE world = $1 AND version = $2";
        self.one(sql, &[&world, &(version as i64)], snapshot)
    }

    fn snapshots(&self, world: &str, most: usize) -> Kept<Vec<StoredSnapshot>> {
        let sql = "SELECT version, seq, at, hash, steps, ''::bytea FROM snapshot WHERE world = $1 ORDER BY version DESC LIMIT $2";
        self.all(sql, &[&world, &(most as i64)], snapshot)
    }

    fn value(&self, name: &str) -> Kept<Option<Vec<u8>>> {
        self.one("SELECT value FROM value WHERE name = $1", &[&name], |row| row.bytes(0))
    }

    fn values(&self, prefix: &str) -> Kept<Vec<(String, Vec<u8>)>> {
        self.all(
            "SELECT name, value FROM value WHERE starts_with(name, $1) ORDER BY name COLLATE \"C\"",
            &[&prefix],
            |row| Ok((row.text(0)?, row.bytes(1)?)),
        )
    }

    fn put_value(&mut self, name: &str, value: &[u8]) -> Kept<()> {
        self.run(
            "INSERT INTO value (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value",
            &[&name, &value],
        )
    }

    fn remove_value(&mut self, name: &str) -> Kept<()> {
        self.run("DELETE FROM value WHERE name = $1", &[&name])
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
