//! The store in PostgreSQL, for several replicas: writers take turns, so that the log has one order.
//!
//! A transaction of a writer begins with an advisory lock that ends with it. So transactions are committed in the order
//! of their events' numbers, and whoever reads up to a number has read all that will ever be there.

mod connection;

use std::collections::HashMap;

use postgres::types::ToSql;

pub use connection::Postgres;

use super::rows::{
    counts, episode, episode_columns, event, event_columns, parked, snapshot, step, step_columns, to_json,
};
use super::{Episode, Event, EventKind, Kept, Parked, Store, StoreError};
use crate::snapshot::StoredSnapshot;
use crate::step::Step;

/// The writers' lock: the letters of "dowise", a number that nobody else takes in the same database.
const WRITERS: i64 = 0x646f_7769_7365;
/// The learner's lock.
const LEARNER: i64 = WRITERS + 1;

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
            self.disconnect();
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
