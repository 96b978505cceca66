//! Ctrl-C: the first asks long work to stop after what it is doing, the second stops at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// From here on Ctrl-C (and a polite kill) sets the flag that is returned.
pub(crate) fn flag() -> &'static AtomicBool {
    // If there can be no handler, the program simply ends; results that are done are kept all the same.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    &STOP
}
