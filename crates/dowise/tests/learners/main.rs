//! Learners against theory and against a plain second implementation of every formula.

mod draft;
mod play;
mod reference;
mod small_worlds;

mod agents;
mod agreement;
mod bad_options;
mod continuation;
mod coverage;
mod equalities;
mod evidence;
mod explain;
mod following;
mod forget;
mod guard;
mod invariants;
mod log_check;
mod optimism;
mod prohibitive;
mod save;
mod sessions;
mod stability;
mod unknown;
