//! The store in one SQLite file: write-ahead log, every commit synchronised with the disk.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row, params};

use super::rows::{
    Columns, counts, episode, episode_columns, event, event_columns, parked, snapshot, step, step_columns, to_json,
};
use super::schema::MIGRATIONS;
use super::{Episode, Event, EventKind, Kept, Parked, Store, StoreError};
use crate::snapshot::StoredSnapshot;
use crate::step::Step;

/// One connection to a store.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError(error.to_string())
    }
}

impl Sqlite {
    /// Opens a store to write, and makes it if there is none; an older one is brought up to date.
    pub fn open(file: &Path) -> Kept<Sqlite> {
        Sqlite::prepare(Connection::open(file).map_err(|e| StoreError(format!("{}: {e}", file.display())))?)
    }

    /// Opens a store that is there, to read.
    pub fn open_to_read(file: &Path) -> Kept<Sqlite> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let wrong = |e: rusqlite::Error| StoreError(format!("{}: {e}", file.display()));
        let connection = Connection::open_with_flags(file, flags).map_err(wrong)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(wrong)?;
        if version != MIGRATIONS.len() as i64 {
            return Err(StoreError(format!(
                "{}: this is not a store of this dowise (version {version})",
                file.display()
            )));
        }
        Ok(Sqlite { connection })
    }

    /// A store that is gone with the program.
    pub fn in_memory() -> Kept<Sqlite> {
        Sqlite::prepare(Connection::open_in_memory()?)
    }

    fn prepare(connection: Connection) -> Kept<Sqlite> {
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        // 32 MB: keys that callers choose are spread over the whole index.
        connection.pragma_update(None, "cache_size", -32_768)?;
        connection.set_prepared_statement_cache_capacity(64);
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let newest = MIGRATIONS.len() as i64;
        if !(0..=newest).contains(&version) {
            return Err(StoreError(format!("the store has version {version}, this dowise knows up to {newest}")));
        }
        for (i, text) in MIGRATIONS.iter().enumerate().skip(version as usize) {
            connection.execute_batch(&format!("BEGIN IMMEDIATE;{text};PRAGMA user_version = {};COMMIT;", i + 1))?;
        }
        Ok(Sqlite { connection })
    }

    /// Keeps others from serving the same store, for as long as the file is held.
    pub fn hold(file: &Path) -> Kept<std::fs::File> {
        let mut name = file.as_os_str().to_owned();
        name.push("-lock");
        let wrong = |e: String| StoreError(format!("{}: {e}", file.display()));
        let lock = std::fs::File::create(&name).map_err(|e| wrong(e.to_string()))?;
        lock.try_lock().map_err(|_| wrong("it is served already, by another process".into()))?;
        Ok(lock)
    }

    /// A consistent copy in another file, while others read and write.
    pub fn back_up(&self, to: &Path) -> Kept<()> {
        let mut copy = Connection::open(to)?;
        let backup = rusqlite::backup::Backup::new(&self.connection, &mut copy)?;
        // In one go: pages that are written meanwhile do not make it begin again.
        if backup.step(-1)? != rusqlite::backup::StepResult::Done {
            return Err(StoreError("the store is locked by somebody else".into()));
        }
        drop(backup);
        copy.pragma_update(None, "journal_mode", "DELETE")?;
        Ok(())
    }

    /// Whether the file itself is sound.
    pub fn check(&self) -> Kept<()> {
        let word: String = self.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        if word == "ok" { Ok(()) } else { Err(StoreError(word)) }
    }
}

const EVENT: &str = event_columns!();
const STEP: &str = step_columns!();
const EPISODE: &str = episode_columns!();

impl Columns for Row<'_> {
    fn text(&self, column: usize) -> Kept<String> {
        Ok(self.get(column)?)
    }

    fn optional_text(&self, column: usize) -> Kept<Option<String>> {
        Ok(self.get(column)?)
    }

    fn number(&self, column: usize) -> Kept<i64> {
        Ok(self.get(column)?)
    }

    fn optional_number(&self, column: usize) -> Kept<Option<i64>> {
        Ok(self.get(column)?)
    }

    fn real(&self, column: usize) -> Kept<f64> {
        Ok(self.get(column)?)
    }

    fn flag(&self, column: usize) -> Kept<bool> {
        Ok(self.get(column)?)
    }

    fn bytes(&self, column: usize) -> Kept<Vec<u8>> {
        Ok(self.get(column)?)
    }
}

impl Sqlite {
    fn all<T>(
        &self,
        sql: &str,
        with: impl rusqlite::Params,
        mut read: impl FnMut(&dyn Columns) -> Kept<T>,
    ) -> Kept<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(with)?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            out.push(read(row)?);
        }
        Ok(out)
    }

    fn one<T>(
        &self,
        sql: &str,
        with: impl rusqlite::Params,
        read: impl FnOnce(&dyn Columns) -> Kept<T>,
    ) -> Kept<Option<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(with)?;
        rows.next()?.map(|row| read(row)).transpose()
    }

    fn run(&self, sql: &str, with: impl rusqlite::Params) -> Kept<()> {
        self.connection.prepare_cached(sql)?.execute(with)?;
        Ok(())
    }
}

impl Store for Sqlite {
    fn hold_still(&self) -> Kept<()> {
        self.run("BEGIN DEFERRED", [])?;
        self.last().map(drop)
    }

    fn begin(&mut self) -> Kept<()> {
        self.run("BEGIN IMMEDIATE", [])
    }

    fn commit(&mut self) -> Kept<()> {
        self.run("COMMIT", [])
    }

    fn rollback(&mut self) {
        // Where the database has rolled back by itself there is nothing left to do.
        let _ = self.run("ROLLBACK", []);
    }

    fn find(&self, world: &str, kind: EventKind, key: &str) -> Kept<Option<Event>> {
        let sql = format!("SELECT {EVENT} FROM event WHERE world = ?1 AND kind = ?2 AND key = ?3");
        self.one(&sql, params![world, kind.number(), key], event)
    }

    fn append(&mut self, event: &Event) -> Kept<u64> {
        let Event { world, kind, key, episode, at, request, answer, effect, .. } = event;
        self.run(
            "INSERT INTO event (world, kind, key, episode, at, request, answer, effect) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![world, kind.number(), key, episode, *at as i64, request, answer, effect],
        )?;
        Ok(self.connection.last_insert_rowid() as u64)
    }

    fn events(&self, world: Option<&str>, after: u64, most: usize) -> Kept<Vec<Event>> {
        let sql =
            format!("SELECT {EVENT} FROM event WHERE seq > ?1 AND (?2 IS NULL OR world = ?2) ORDER BY seq LIMIT ?3");
        self.all(&sql, params![after as i64, world, most as i64], event)
    }

    fn effects(&self, world: &str, after: u64, upto: u64, most: usize) -> Kept<Vec<(u64, String)>> {
        self.all(
            "SELECT seq, effect FROM event WHERE world = ?1 AND seq > ?2 AND seq <= ?3 AND effect <> '' ORDER BY seq LIMIT ?4",
            params![world, after as i64, upto as i64, most as i64],
            |row| Ok((row.count(0)?, row.text(1)?)),
        )
    }

    fn last(&self) -> Kept<(u64, u64)> {
        Ok(self.one("SELECT seq, at FROM event ORDER BY seq DESC LIMIT 1", [], counts)?.unwrap_or((0, 0)))
    }

    fn recent(&self, world: &str, most: usize) -> Kept<Vec<(Event, Step)>> {
        // By number from the end: the plus signs keep the search from gathering and sorting all decisions first.
        let sql = format!(
            "SELECT {EVENT} FROM event WHERE +world = ?1 AND +kind = ?2 AND request <> '' ORDER BY seq DESC LIMIT ?3"
        );
        let events = self.all(&sql, params![world, EventKind::Decide.number(), most as i64], event)?;
        let mut out = Vec::with_capacity(events.len());
        for event in events {
            let key = event.key.clone().unwrap_or_default();
            if let Some(step) = self.step(world, &key)? {
                out.push((event, step));
            }
        }
        Ok(out)
    }

    fn blank(&mut self, world: &str, episode: &str, keep_effects: bool) -> Kept<()> {
        self.run(
            "UPDATE event SET key = NULL, episode = NULL, request = '', answer = '', effect = CASE WHEN ?3 THEN effect ELSE '' END \
             WHERE world = ?1 AND episode = ?2",
            params![world, episode, keep_effects],
        )?;
        self.run("DELETE FROM step WHERE world = ?1 AND episode = ?2", [world, episode])?;
        self.run("DELETE FROM episode WHERE world = ?1 AND id = ?2", [world, episode])
    }

    fn blank_parked(&mut self, world: &str, before: u64, most: usize) -> Kept<usize> {
        let old = self.all(
            "SELECT seq FROM parked JOIN event e USING (seq) WHERE parked.world = ?1 AND e.at < ?2 ORDER BY seq LIMIT ?3",
            params![world, before as i64, most as i64],
            |row| row.number(0),
        )?;
        for seq in &old {
            self.run("UPDATE event SET key = NULL, episode = NULL, request = '', answer = '' WHERE seq = ?1", [seq])?;
            self.run("DELETE FROM parked WHERE world = ?1 AND seq = ?2", params![world, seq])?;
        }
        Ok(old.len())
    }

    fn step(&self, world: &str, event_id: &str) -> Kept<Option<Step>> {
        self.one(&format!("SELECT {STEP} FROM step WHERE world = ?1 AND event_id = ?2"), [world, event_id], step)
    }

    fn steps_of(&self, world: &str, episode: &str) -> Kept<Vec<Step>> {
        let sql = format!("SELECT {STEP} FROM step WHERE world = ?1 AND episode = ?2 ORDER BY stage");
        self.all(&sql, [world, episode], step)
    }

    fn steps_after(&self, world: &str, after: (&str, i64), most: usize) -> Kept<Vec<Step>> {
        let sql = format!(
            "SELECT {STEP} FROM step WHERE world = ?1 AND (episode, stage) > (?2, ?3) ORDER BY episode, stage LIMIT ?4"
        );
        self.all(&sql, params![world, after.0, after.1, most as i64], step)
    }

    // Of a step that is there only what can change is written, so that its place in the indexes stays.
    fn put_step(&mut self, world: &str, step: &Step) -> Kept<()> {
        self.run(
            "INSERT INTO step (world, event_id, episode, stage, state, action, version, agree, at, parts, learned, settled, propensity) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
             ON CONFLICT (world, event_id) DO UPDATE SET parts = excluded.parts, learned = excluded.learned, settled = excluded.settled",
            params![
                world,
                step.event_id,
                step.episode,
                step.stage as i64,
                step.state as i64,
                step.action.0 as i64,
                step.version as i64,
                step.agree as i64,
                step.at as i64,
                to_json(&step.parts),
                step.learned.as_ref().map(to_json),
                step.settled,
                step.propensity
            ],
        )
    }

    fn unsettled(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>> {
        self.all(
            "SELECT event_id FROM step WHERE world = ?1 AND settled = 0 AND at < ?2 ORDER BY at, event_id LIMIT ?3",
            params![world, before as i64, most as i64],
            |row| row.text(0),
        )
    }

    fn episode(&self, world: &str, id: &str) -> Kept<Option<Episode>> {
        self.one(&format!("SELECT {EPISODE} FROM episode WHERE world = ?1 AND id = ?2"), [world, id], episode)
    }

    fn episodes(&self, world: &str, most: usize, subject: Option<&str>) -> Kept<Vec<Episode>> {
        let sql = format!(
            "SELECT {EPISODE} FROM episode WHERE world = ?1 AND (?2 IS NULL OR subject = ?2) ORDER BY opened DESC, id LIMIT ?3"
        );
        self.all(&sql, params![world, subject, most as i64], episode)
    }

    fn ended(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>> {
        let sql = "SELECT id FROM episode WHERE world = ?1 AND closed IS NOT NULL AND closed < ?2 ORDER BY closed, id LIMIT ?3";
        self.all(sql, params![world, before as i64, most as i64], |row| row.text(0))
    }

    fn unended(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>> {
        let sql =
            "SELECT id FROM episode WHERE world = ?1 AND opened < ?2 AND closed IS NULL ORDER BY opened, id LIMIT ?3";
        self.all(sql, params![world, before as i64, most as i64], |row| row.text(0))
    }

    fn put_episode(&mut self, world: &str, episode: &Episode) -> Kept<()> {
        let Episode { id, subject, opened, closed, decided, forgotten } = episode;
        self.run(
            "INSERT INTO episode (world, id, subject, opened, closed, decided, forgotten) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (world, id) DO UPDATE SET closed = excluded.closed, decided = excluded.decided, forgotten = excluded.forgotten",
            params![world, id, subject, *opened as i64, closed.map(|at| at as i64), *decided as i64, forgotten],
        )
    }

    fn parked(&self, world: &str, event_id: &str) -> Kept<Vec<Parked>> {
        self.all(
            "SELECT p.seq, e.request FROM parked p JOIN event e USING (seq) WHERE p.world = ?1 AND p.event_id = ?2 ORDER BY p.seq",
            [world, event_id],
            parked,
        )
    }

    fn park(&mut self, world: &str, event_id: &str, seq: u64) -> Kept<()> {
        self.run("INSERT INTO parked (world, event_id, seq) VALUES (?1, ?2, ?3)", params![world, event_id, seq as i64])
    }

    fn unpark(&mut self, world: &str, event_id: &str, episode: &str) -> Kept<()> {
        self.run(
            "UPDATE event SET episode = ?3 WHERE seq IN (SELECT seq FROM parked WHERE world = ?1 AND event_id = ?2)",
            [world, event_id, episode],
        )?;
        self.run("DELETE FROM parked WHERE world = ?1 AND event_id = ?2", [world, event_id])
    }

    fn put_snapshot(&mut self, world: &str, of: &StoredSnapshot) -> Kept<()> {
        self.run(
            "INSERT INTO snapshot (world, version, seq, at, hash, steps, evidence) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![world, of.version as i64, of.seq as i64, of.at as i64, of.hash, of.steps as i64, of.evidence],
        )
    }

    fn snapshot(&self, world: &str, version: u64) -> Kept<Option<StoredSnapshot>> {
        let sql = "SELECT version, seq, at, hash, steps, evidence FROM snapshot WHERE world = ?1 AND version = ?2";
        self.one(sql, params![world, version as i64], snapshot)
    }

    fn snapshots(&self, world: &str, most: usize) -> Kept<Vec<StoredSnapshot>> {
        self.all(
            "SELECT version, seq, at, hash, steps, x'' FROM snapshot WHERE world = ?1 ORDER BY version DESC LIMIT ?2",
            params![world, most as i64],
            snapshot,
        )
    }

    fn value(&self, name: &str) -> Kept<Option<Vec<u8>>> {
        self.one("SELECT value FROM value WHERE name = ?1", [name], |row| row.bytes(0))
    }

    fn values(&self, prefix: &str) -> Kept<Vec<(String, Vec<u8>)>> {
        self.all(
            "SELECT name, value FROM value WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name",
            [prefix],
            |row| Ok((row.text(0)?, row.bytes(1)?)),
        )
    }

    fn put_value(&mut self, name: &str, value: &[u8]) -> Kept<()> {
        self.run("INSERT OR REPLACE INTO value (name, value) VALUES (?1, ?2)", params![name, value])
    }

    fn remove_value(&mut self, name: &str) -> Kept<()> {
        self.run("DELETE FROM value WHERE name = ?1", [name])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_an_older_version_is_migrated_with_all_its_data() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("store");
        let old = Connection::open(&file).unwrap();
        old.execute_batch(&format!("{};PRAGMA user_version = 1;", MIGRATIONS[0])).unwrap();
        old.execute("INSERT INTO episode VALUES ('w', 'e', 'ann', 5, NULL, 2)", []).unwrap();
        drop(old);
        assert!(Sqlite::open_to_read(&file).is_err(), "nobody reads what is not up to date");
        let new = Sqlite::open(&file).unwrap();
        let expected = Episode {
            id: "e".into(),
            subject: Some("ann".into()),
            opened: 5,
            closed: None,
            decided: 2,
            forgotten: false,
        };
        assert_eq!(new.episode("w", "e").unwrap(), Some(expected.clone()));
        drop(new);
        assert_eq!(Sqlite::open_to_read(&file).unwrap().episode("w", "e").unwrap(), Some(expected));
        Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(Sqlite::open(&file).unwrap_err().0.contains("version 99"), "a newer store is left alone");
    }

    #[test]
    fn the_last_decisions_are_found_from_the_end_without_a_search_of_the_whole_log() {
        let store = Sqlite::in_memory().unwrap();
        let sql = "EXPLAIN QUERY PLAN SELECT seq FROM event WHERE +world = 'w' AND +kind = 0 AND request <> '' ORDER BY seq DESC LIMIT 5";
        let plan: String = store.connection.query_row(sql, [], |row| row.get(3)).unwrap();
        assert_eq!(plan, "SCAN event");
    }
}
