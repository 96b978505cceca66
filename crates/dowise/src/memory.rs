//! How much memory one learner or plan may take: what would need more is refused before anything is allocated.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that one learner or plan may take unless a program says otherwise: 16 GiB.
pub const MOST_MEMORY: u64 = 16 << 30;

static LIMIT: AtomicU64 = AtomicU64::new(MOST_MEMORY);

/// Bytes that one learner or plan may take now.
pub fn memory_limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets how many bytes one learner or plan may take, for the whole process: a program knows what it may have, a library does not.
///
/// It decides only what is refused, never a result.
pub fn set_memory_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}
