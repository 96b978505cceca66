//! Whether the log contradicts the declared graph: a monitor of the library, shown the log's steps in their order.
//!
//! Bets cannot be taken back, so what was learned and taken back later (corrected, deleted) must not have been bet on at all. The
//! monitor of a log is defined by what the log says in the end: for every step that is taken back, the first one with the same content is
//! left out, and all others are shown in the order in which they were learned. It is a function of the log, so a monitor that was kept
//! can be verified; one event more is cheap, and something taken back means to go through the log again, a part at a time.

use std::collections::BTreeMap;

use dowise::learn::{GraphMonitor, GraphWatch};
use serde::{Deserialize, Serialize};

use crate::engine::OpenError;
use crate::served::Served;
use crate::snapshot::{pack, unpack};
use crate::step::{Effect, Learned};
use crate::store::Store;

/// Probability with which a true graph is ever said to be contradicted, at most.
pub(crate) const DELTA: f64 = 0.05;

/// Events that are looked at at a time.
const BATCH: usize = 1000;

/// What was found in a log, and how far.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What the monitor has to say.
    pub report: GraphWatch,
    /// All events up to this one were looked at.
    pub seq: u64,
}

/// A monitor, and how far in the log it is.
#[derive(Debug)]
pub struct Watching {
    at: Place,
    /// Whether something that it was shown has been taken back since.
    stale: bool,
    /// The log is gone through again.
    again: Option<Again>,
}

/// A monitor that was shown all events up to one.
#[derive(Clone, Debug)]
struct Place {
    monitor: GraphMonitor,
    seq: u64,
    /// The last policy, by its number in the log, with which events of deleted episodes were emptied; the log before it has changed then.
    forgotten: u64,
}

/// Going through the log again: first to count what was taken back, then to show the rest to a new monitor.
#[derive(Debug)]
struct Again {
    upto: u64,
    counted: u64,
    /// How often a step with this content was taken back.
    back: BTreeMap<String, u64>,
    at: Place,
}

/// A monitor as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    seq: u64,
    forgotten: u64,
    monitor: String,
}

/// Name of the value that a store keeps a world's monitor under.
pub(crate) fn name(world: &str) -> String {
    format!("graph/{world}")
}

/// See [`Place::forgotten`].
fn forgotten(served: &Served, store: &dyn Store) -> Result<u64, OpenError> {
    let value = store.value(&format!("forgotten/{}", served.name))?;
    Ok(value.map_or(0, |v| String::from_utf8_lossy(&v).parse().unwrap_or(u64::MAX)))
}

impl Place {
    fn new(served: &Served, forgotten: u64) -> Result<Place, OpenError> {
        Ok(Place { monitor: GraphMonitor::new(&served.knowledge, DELTA)?, seq: 0, forgotten })
    }

    /// The monitor that a store keeps; `None` if it keeps none, or none that is of this world.
    fn kept(served: &Served, store: &dyn Store) -> Result<Option<Place>, OpenError> {
        let Some(text) = store.value(&name(&served.name))?.and_then(|bytes| unpack(&bytes)) else { return Ok(None) };
        let Ok(Kept { seq, forgotten, monitor }) = serde_json::from_str(&text) else { return Ok(None) };
        let monitor = GraphMonitor::restore(&served.knowledge, &monitor).ok();
        Ok(monitor.map(|monitor| Place { monitor, seq, forgotten }))
    }

    /// Shows the monitor a step.
    fn show(&mut self, served: &Served, step: &Learned) -> Result<(), OpenError> {
        let wrong = |e: String| OpenError::Damaged(format!("after event {}: {e}", self.seq));
        let step = step.observation(served).map_err(|e| wrong(e.to_string()))?;
        self.monitor.observe(&step).map_err(|e| wrong(e.to_string()))
    }

    fn knowledge(&self) -> Watched {
        Watched { report: self.monitor.report(), seq: self.seq }
    }
}

/// What events after a number change, in order.
fn effects(
    served: &Served,
    store: &dyn Store,
    after: u64,
    upto: u64,
    most: usize,
) -> Result<Vec<(u64, Effect)>, OpenError> {
    let read = |(seq, text): (u64, String)| {
        let effect = serde_json::from_str(&text).map_err(|e| OpenError::Damaged(format!("event {seq}: {e}")))?;
        Ok((seq, effect))
    };
    store.effects(&served.name, after, upto, most)?.into_iter().map(read).collect()
}

/// What makes two steps equal.
fn content(step: &Learned) -> String {
    serde_json::to_string(step).expect("invariant: numbers can be written")
}

impl Watching {
    /// Goes on where the store's monitor is, or from the beginning of the log.
    pub fn open(served: &Served, store: &dyn Store) -> Result<Watching, OpenError> {
        let at = match Place::kept(served, store)? {
            Some(kept) => kept,
            None => Place::new(served, forgotten(served, store)?)?,
        };
        Ok(Watching { at, stale: false, again: None })
    }

    /// The monitor of a log up to an event, from nothing.
    pub fn of_log(served: &Served, store: &dyn Store, upto: u64) -> Result<Watching, OpenError> {
        let mut watching = Watching { at: Place::new(served, 0)?, stale: true, again: None };
        watching.begin_again(served, store, upto)?;
        while watching.again.is_some() {
            watching.advance(served, store, upto, BATCH)?;
        }
        Ok(watching)
    }

    /// What a store's monitor has to say.
    pub fn of_store(served: &Served, store: &dyn Store) -> Result<Option<Watched>, OpenError> {
        Ok(Place::kept(served, store)?.map(|at| at.knowledge()))
    }

    /// What it has to say.
    pub fn knowledge(&self) -> Watched {
        self.at.knowledge()
    }

    /// All events up to this one were looked at.
    pub fn seq(&self) -> u64 {
        self.at.seq
    }

    /// Whether the log has to be gone through again.
    pub fn is_stale(&self) -> bool {
        self.stale && self.again.is_none()
    }

    /// Whether it is gone through again now.
    pub fn is_again(&self) -> bool {
        self.again.is_some()
    }

    /// As a store keeps it.
    pub fn kept(&self) -> Vec<u8> {
        let Place { monitor, seq, forgotten } = &self.at;
        let kept = Kept { seq: *seq, forgotten: *forgotten, monitor: monitor.save() };
        pack(&serde_json::to_string(&kept).expect("invariant: numbers and words can be written"))
    }

    /// Begins to go through the log again, up to an event.
    pub fn begin_again(&mut self, served: &Served, store: &dyn Store, upto: u64) -> Result<(), OpenError> {
        let at = Place::new(served, forgotten(served, store)?)?;
        self.again = Some(Again { upto, counted: 0, back: BTreeMap::new(), at });
        Ok(())
    }

    /// Looks at the next events, at most `most` of those that change something. Whether there is more to be done now.
    pub fn advance(&mut self, served: &Served, store: &dyn Store, upto: u64, most: usize) -> Result<bool, OpenError> {
        let mark = forgotten(served, store)?;
        let Some(mut again) = self.again.take() else {
            // What was emptied was shown before.
            self.stale |= self.at.forgotten != mark;
            return self.go_on(served, store, upto, most);
        };
        // Events were emptied meanwhile, so what was counted is not what the log says now.
        if again.at.forgotten != mark {
            self.begin_again(served, store, upto)?;
            return Ok(true);
        }
        if again.advance(served, store, most)? {
            self.again = Some(again);
        } else {
            (self.at, self.stale) = (again.at, false);
        }
        Ok(true)
    }

    /// Shows the monitor what is new, up to where something is taken back.
    fn go_on(&mut self, served: &Served, store: &dyn Store, upto: u64, most: usize) -> Result<bool, OpenError> {
        if self.stale || self.at.seq >= upto {
            return Ok(false);
        }
        let events = effects(served, store, self.at.seq, upto, most)?;
        let whole = events.len() < most;
        for (seq, effect) in events {
            if !effect.back.is_empty() {
                self.stale = true;
                return Ok(false);
            }
            effect.add.iter().try_for_each(|step| self.at.show(served, step))?;
            self.at.seq = seq;
        }
        if whole {
            self.at.seq = upto;
        }
        Ok(!whole)
    }
}

impl Again {
    /// Whether there is more.
    fn advance(&mut self, served: &Served, store: &dyn Store, most: usize) -> Result<bool, OpenError> {
        if self.counted < self.upto {
            let events = effects(served, store, self.counted, self.upto, most)?;
            self.counted = if events.len() < most { self.upto } else { events.last().map_or(self.upto, |e| e.0) };
            for step in events.iter().flat_map(|(_, effect)| &effect.back) {
                *self.back.entry(content(step)).or_default() += 1;
            }
            return Ok(true);
        }
        let events = effects(served, store, self.at.seq, self.upto, most)?;
        let whole = events.len() < most;
        for (seq, effect) in events {
            for step in &effect.add {
                // Nothing is written out where nothing was taken back.
                match (!self.back.is_empty()).then(|| self.back.get_mut(&content(step))).flatten() {
                    Some(left) if *left > 0 => *left -= 1,
                    _ => self.at.show(served, step)?,
                }
            }
            self.at.seq = seq;
        }
        if whole {
            self.at.seq = self.upto;
        }
        Ok(!whole)
    }
}

/// Whether the monitor that a store keeps is what follows from its log; `None` if there is none, or if episodes were deleted since it was
/// kept, so that it will be made again.
pub(crate) fn verify(served: &Served, store: &dyn Store) -> Result<Option<bool>, OpenError> {
    let Some(kept) = Place::kept(served, store)? else {
        let is_there = store.value(&name(&served.name))?.is_some();
        return Ok(is_there.then_some(false));
    };
    if kept.forgotten != forgotten(served, store)? {
        return Ok(None);
    }
    Ok(Some(Watching::of_log(served, store, kept.seq)?.at.monitor.save() == kept.monitor.save()))
}
