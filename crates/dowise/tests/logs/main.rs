//! Logs: written and read back, shuffled, interleaved, faulty, mapped, and bytes that are no log at all.

mod common;
mod ends;
mod faults;
mod format;
mod round_trip;
mod tables;
