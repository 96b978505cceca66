//! Learners against theory and against a plain second implementation of every formula.

mod draft;
mod play;
mod reference;
mod small_worlds;

mod agreement;
mod equalities;
mod guard;
mod save;
