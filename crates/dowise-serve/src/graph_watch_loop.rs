//! The graph is watched beside the learning, on the same thread: how much of the log at a time, when it is gone through again, when the
//! monitor is kept in the store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::OpenError;
use crate::graph_watch::{Watched, Watching};
use crate::served::Served;
use crate::store::Store;

/// What the monitor of a world says, for others to see; nothing where it is not watched here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot(Arc<Mutex<Option<Arc<Watched>>>>);

impl Slot {
    pub(crate) fn get(&self) -> Option<Arc<Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, watched: Option<Watched>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = watched.map(Arc::new);
    }
}

/// Events looked at before it is the learner's turn again.
const BATCH: usize = 2000;

/// Time between looks of others, at least.
const SHOW: Duration = Duration::from_millis(500);

/// Time after which a monitor that has gone on is kept; before that it is if the log has grown by a tenth, or if something was found.
const KEEP: Duration = Duration::from_secs(60);

/// The log is gone through again for at most one part of the time in this many.
const REST: u32 = 20;

/// The monitor of a world while it is served.
pub(crate) struct WatchPart {
    watching: Watching,
    slot: Slot,
    shown: Option<(Instant, u64)>,
    kept: (Instant, u64, bool),
    /// When the log was gone through again last, and for how long.
    again: (Instant, Duration),
}

impl WatchPart {
    /// Goes on where the store's monitor is; `None` where there is no memory for one.
    pub(crate) fn open(served: &Served, store: &dyn Store, slot: &Slot) -> Result<Option<WatchPart>, OpenError> {
        slot.put(None);
        match Watching::open(served, store) {
            Ok(watching) => {
                let (now, Watched { seq, report }) = (Instant::now(), watching.knowledge());
                let kept = (now, seq, report.contradicted);
                let again = (now, Duration::ZERO);
                Ok(Some(WatchPart { watching, slot: slot.clone(), shown: None, kept, again }))
            }
            Err(OpenError::Learn(error)) => {
                tracing::warn!(world = served.name, %error, "the graph is not watched");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Looks at a part of what is new in the log. Whether there is more to be done now.
    pub(crate) fn advance(&mut self, served: &Served, store: &dyn Store, upto: u64) -> Result<bool, OpenError> {
        let begun = Instant::now();
        if self.watching.is_stale() {
            let (ended, took) = self.again;
            if ended.elapsed() < took * REST {
                return Ok(false);
            }
            self.watching.begin_again(served, store, upto)?;
            self.again.1 = Duration::ZERO;
        }
        let is_again = self.watching.is_again();
        let more = self.watching.advance(served, store, upto, BATCH)?;
        if is_again {
            self.again = (Instant::now(), self.again.1 + begun.elapsed());
        }
        let seq = self.watching.seq();
        if self.shown.is_none_or(|(at, of)| of != seq && (at.elapsed() >= SHOW || !more)) {
            let watched = self.watching.knowledge();
            if let Some(found) = watched.report.found.as_ref().filter(|_| !self.is_found()) {
                tracing::warn!(
                    world = served.name,
                    steps = found.steps,
                    found = found.what,
                    "the graph is contradicted"
                );
            }
            self.slot.put(Some(watched));
            self.shown = Some((Instant::now(), seq));
        }
        Ok(more)
    }

    fn is_found(&self) -> bool {
        self.slot.get().is_some_and(|watched| watched.report.contradicted)
    }

    /// The monitor as the store is to keep it, if it is due.
    pub(crate) fn to_keep(&self) -> Option<Vec<u8>> {
        let (seq, (at, kept, found)) = (self.watching.seq(), self.kept);
        let due = seq > kept + kept / 10 || at.elapsed() >= KEEP || self.is_found() != found;
        (seq != kept && due).then(|| self.watching.kept())
    }

    /// What [`WatchPart::to_keep`] gave is in the store.
    pub(crate) fn was_kept(&mut self) {
        self.kept = (Instant::now(), self.watching.seq(), self.is_found());
    }
}

impl Drop for WatchPart {
    /// Who learns next watches.
    fn drop(&mut self) {
        self.slot.put(None);
    }
}
