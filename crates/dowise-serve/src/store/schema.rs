//! Tables of a store, by version: the n-th text takes a store from version n to n + 1.

/// What is applied to a store that is older, in order; `user_version` says how many were.
pub(super) const MIGRATIONS: [&str; 2] = [
    "
CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  world TEXT NOT NULL,
  kind INTEGER NOT NULL,
  key TEXT,
  episode TEXT,
  at INTEGER NOT NULL,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  effect TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_key ON event (world, kind, key) WHERE key IS NOT NULL;
CREATE INDEX event_effect ON event (world, seq) WHERE effect <> '';
CREATE INDEX event_episode ON event (world, episode) WHERE episode IS NOT NULL;

CREATE TABLE step (
  world TEXT NOT NULL,
  event_id TEXT NOT NULL,
  episode TEXT NOT NULL,
  stage INTEGER NOT NULL,
  state INTEGER NOT NULL,
  action INTEGER NOT NULL,
  version INTEGER NOT NULL,
  agree INTEGER NOT NULL,
  propensity REAL NOT NULL,
  at INTEGER NOT NULL,
  parts TEXT NOT NULL,
  learned TEXT,
  settled INTEGER NOT NULL,
  PRIMARY KEY (world, event_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX step_episode ON step (world, episode, stage);
CREATE INDEX step_unsettled ON step (world, at) WHERE settled = 0;

CREATE TABLE episode (
  world TEXT NOT NULL,
  id TEXT NOT NULL,
  subject TEXT,
  opened INTEGER NOT NULL,
  closed INTEGER,
  decided INTEGER NOT NULL,
  PRIMARY KEY (world, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX episode_opened ON episode (world, opened);
CREATE INDEX episode_subject ON episode (world, subject) WHERE subject IS NOT NULL;

CREATE TABLE parked (
  world TEXT NOT NULL,
  event_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (world, event_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshot (
  world TEXT NOT NULL,
  version INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  hash TEXT NOT NULL,
  steps INTEGER NOT NULL,
  evidence BLOB NOT NULL,
  PRIMARY KEY (world, version)
) STRICT;

CREATE TABLE value (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
",
    "
ALTER TABLE episode ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
CREATE INDEX episode_closed ON episode (world, closed) WHERE closed IS NOT NULL;
CREATE INDEX parked_seq ON parked (world, seq);
",
];

/// The same for PostgreSQL; `dowise_version` says how many were applied. Text sorts by its bytes, so that the order of a log does not
/// depend on the server's language.
pub(super) const POSTGRES: [&str; 1] = ["
CREATE TABLE event (
  seq BIGINT PRIMARY KEY,
  world TEXT NOT NULL,
  kind BIGINT NOT NULL,
  key TEXT,
  episode TEXT,
  at BIGINT NOT NULL,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  effect TEXT NOT NULL
);
CREATE UNIQUE INDEX event_key ON event (world, kind, key) WHERE key IS NOT NULL;
CREATE INDEX event_effect ON event (world, seq) WHERE effect <> '';
CREATE INDEX event_episode ON event (world, episode) WHERE episode IS NOT NULL;

CREATE TABLE step (
  world TEXT NOT NULL,
  event_id TEXT NOT NULL,
  episode TEXT COLLATE \"C\" NOT NULL,
  stage BIGINT NOT NULL,
  state BIGINT NOT NULL,
  action BIGINT NOT NULL,
  version BIGINT NOT NULL,
  agree BIGINT NOT NULL,
  propensity DOUBLE PRECISION NOT NULL,
  at BIGINT NOT NULL,
  parts TEXT NOT NULL,
  learned TEXT,
  settled BOOLEAN NOT NULL,
  PRIMARY KEY (world, event_id)
);
CREATE UNIQUE INDEX step_episode ON step (world, episode, stage);
CREATE INDEX step_unsettled ON step (world, at) WHERE NOT settled;

CREATE TABLE episode (
  world TEXT NOT NULL,
  id TEXT COLLATE \"C\" NOT NULL,
  subject TEXT,
  opened BIGINT NOT NULL,
  closed BIGINT,
  decided BIGINT NOT NULL,
  forgotten BOOLEAN NOT NULL,
  PRIMARY KEY (world, id)
);
CREATE INDEX episode_opened ON episode (world, opened);
CREATE INDEX episode_subject ON episode (world, subject) WHERE subject IS NOT NULL;
CREATE INDEX episode_closed ON episode (world, closed) WHERE closed IS NOT NULL;

CREATE TABLE parked (
  world TEXT NOT NULL,
  event_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (world, event_id, seq)
);
CREATE INDEX parked_seq ON parked (world, seq);

CREATE TABLE snapshot (
  world TEXT NOT NULL,
  version BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  hash TEXT NOT NULL,
  steps BIGINT NOT NULL,
  evidence BYTEA NOT NULL,
  PRIMARY KEY (world, version)
);

CREATE TABLE value (name TEXT PRIMARY KEY, value BYTEA NOT NULL);
"];
