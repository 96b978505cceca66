//! Ctrl-C: the first asks long work to stop after what it is doing, the second stops at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Whether nobody looks at the flag, so that the first stops at once as well.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// From here on Ctrl-C (and a polite kill) sets the flag that is returned.
pub(crate) fn flag() -> &'static AtomicBool {
    // If there can be no handler, the program simply ends; results that are done are kept all the same.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) || AT_ONCE.load(Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
    AT_ONCE.store(false, Ordering::SeqCst);
    &STOP
}

/// From here on nobody looks at the flag any more: Ctrl-C ends the program, as it would without a handler.
pub(crate) fn at_once() {
    AT_ONCE.store(true, Ordering::SeqCst);
    // It may have come after the flag was looked at for the last time.
    if STOP.load(Ordering::SeqCst) {
        std::process::exit(130);
    }
}
