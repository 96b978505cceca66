//! How much memory learners, plans and evaluators may take together: what would need more is refused before it is allocated.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that all learners and plans of a process may take unless a program says otherwise: 16 GiB.
pub const MOST_MEMORY: u64 = 16 << 30;

static LIMIT: AtomicU64 = AtomicU64::new(MOST_MEMORY);

/// Bytes that were counted for what is alive now.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Bytes that all learners and plans may take together.
pub fn memory_limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// Bytes that one more learner or plan may take: the limit less what was counted for those that are alive.
pub fn memory_left() -> u64 {
    memory_limit().saturating_sub(HELD.load(Ordering::Relaxed))
}

/// Sets how many bytes learners and plans may take together, for the whole process: a program knows what it may have, a
/// library does not.
///
/// It decides only what is refused, never a result.
pub fn set_memory_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Bytes that are counted as taken for as long as this is alive.
///
/// A copy counts again: copying cannot be refused, but what is asked for after it can.
#[derive(Debug, Default)]
pub(crate) struct Held(u64);

impl Held {
    /// Counts without asking.
    pub(crate) fn take(bytes: u128) -> Held {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        // What is counted does not overflow, and exactly what was added is given back.
        let before = HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| Some(held.saturating_add(bytes)));
        let before = before.unwrap_or_else(|held| held);
        Held(before.saturating_add(bytes) - before)
    }

    /// Counts if as much is left; otherwise tells how much is.
    pub(crate) fn ask(bytes: u128) -> Result<Held, u64> {
        let limit = memory_limit();
        let wanted = u64::try_from(bytes).unwrap_or(u64::MAX);
        let within = |held: u64| held.checked_add(wanted).filter(|sum| *sum <= limit);
        match HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within) {
            Ok(_) => Ok(Held(wanted)),
            Err(held) => Err(limit.saturating_sub(held)),
        }
    }
}

impl Clone for Held {
    fn clone(&self) -> Held {
        Held::take(u128::from(self.0))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}
