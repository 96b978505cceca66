//! The thread that learns: applies the log in order, plans, and publishes. Decisions never wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use crate::engine::{OpenError, Ready, Request, Standing, publish_body};
use crate::graph_watch_loop::{Slot, WatchPart};
use crate::learning::Learning;
use crate::metrics::Metrics;
use crate::served::Served;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::writer::{Command, Published, now};

/// When a policy is due: by the steps that came since the last one, so that their number grows with the logarithm of the steps.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Least time between policies.
    pub least: Duration,
    /// Time after which anything new is enough.
    pub most: Duration,
    /// New steps that are enough before that, as a share of those that the last policy was made of.
    pub growth: f64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { least: Duration::from_secs(1), most: Duration::from_secs(600), growth: 0.02 }
    }
}

/// Time between looks at the log.
const LOOK: Duration = Duration::from_millis(100);

/// One world's learner.
pub(crate) struct LearnLoop {
    pub(crate) world: usize,
    pub(crate) served: Arc<Served>,
    pub(crate) latest: Arc<Snapshot>,
    /// A connection of its own; it writes only to a store that is shared.
    pub(crate) reader: Box<dyn Store>,
    pub(crate) ready: Arc<Ready>,
    pub(crate) commands: mpsc::WeakSender<Command>,
    pub(crate) published: Arc<Published>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) pace: Pace,
    pub(crate) stop: Arc<AtomicBool>,
    /// How far it is, for others to see.
    pub(crate) applied: Arc<AtomicU64>,
    /// What the graph's monitor says, for others to see.
    pub(crate) watched: Slot,
}

/// How long others have to make a policy ready before it decides.
const GRACE: Duration = Duration::from_millis(500);
/// How often it is looked whether there is something to make ready, or nobody learns.
const WATCH: Duration = Duration::from_millis(200);
/// How long a store that fails is left alone.
const AWAY: Duration = Duration::from_secs(1);

impl LearnLoop {
    /// Learns whenever nobody else does, until it is stopped. A store that cannot be reached is asked again later: nothing is lost, since
    /// what was learned follows from the log.
    pub(crate) fn run(mut self) -> Result<(), OpenError> {
        while !self.stop.load(Ordering::Acquire) {
            let pause = match self.reader.lead().map_err(OpenError::from) {
                Ok(true) => self.learn().map(|()| Duration::ZERO),
                Ok(false) => self.make_ready().map(|()| WATCH),
                Err(error) => Err(error),
            };
            match pause {
                Ok(pause) => std::thread::park_timeout(pause),
                Err(OpenError::Store(_)) => {
                    self.metrics.learner_failures.add(1);
                    std::thread::park_timeout(AWAY);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Learns as long as it is the one to do so.
    fn learn(&mut self) -> Result<(), OpenError> {
        let shared = self.reader.is_shared();
        if shared {
            self.take_over()?;
        }
        let mut learning = Learning::from(&self.served, &self.latest)?;
        let mut watch = WatchPart::open(&self.served, self.reader.as_ref(), &self.watched)?;
        let mut planned = learning.steps();
        let mut last = Instant::now();
        while !self.stop.load(Ordering::Acquire) {
            if shared && !self.reader.lead()? {
                return Ok(());
            }
            let upto = if shared { self.reader.last()?.0 } else { self.published.seq.load(Ordering::Acquire) };
            let behind = match self.apply(&mut learning, watch.as_mut(), upto) {
                Ok(behind) => behind,
                // The store may come back: what was applied stays, the rest is read again.
                Err(OpenError::Store(error)) => {
                    tracing::error!(world = self.served.name, %error, "the log cannot be read");
                    std::thread::park_timeout(Duration::from_secs(1));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let new = learning.steps().abs_diff(planned);
            let enough =
                new as f64 >= (planned as f64 * self.pace.growth).max(1.0) || learning.took_back || self.is_to_forget();
            let waited = last.elapsed();
            if (enough && waited >= self.pace.least) || (new > 0 && waited >= self.pace.most) {
                let begun = Instant::now();
                let snapshot = Arc::new(learning.publish(&self.served, self.latest.version + 1)?);
                self.metrics.plan_seconds.observe(begun.elapsed().as_secs_f64());
                last = Instant::now();
                let keep = watch.as_ref().and_then(WatchPart::to_keep);
                let keeps = keep.is_some();
                if self.publish(&snapshot, learning.steps(), keep)? {
                    watch.iter_mut().filter(|_| keeps).for_each(WatchPart::was_kept);
                    (self.latest, planned) = (snapshot, learning.steps());
                    self.metrics.policies.add(1);
                    tracing::info!(
                        world = self.served.name,
                        version = self.latest.version,
                        steps = planned,
                        seconds = begun.elapsed().as_secs_f64(),
                        "policy"
                    );
                } else if shared {
                    // The others may have gone on: begin with what is there.
                    return Ok(());
                }
                continue;
            }
            // It looks by itself: to be woken by every transaction would cost more than the learning.
            let rest = match (behind, enough) {
                (true, _) => Duration::ZERO,
                (false, true) => self.pace.least.saturating_sub(waited),
                (false, false) => LOOK,
            };
            std::thread::park_timeout(rest.clamp(Duration::from_millis(1), LOOK));
        }
        Ok(())
    }

    /// Applies the log up to an event, and lets the monitor look at a part of it; whether there is more for it.
    fn apply(&self, learning: &mut Learning, watch: Option<&mut WatchPart>, upto: u64) -> Result<bool, OpenError> {
        let (served, store) = (&self.served, self.reader.as_ref());
        if upto > learning.seq {
            learning.apply(served, store, upto)?;
            self.applied.store(learning.seq, Ordering::Release);
        }
        watch.map_or(Ok(false), |watch| watch.advance(served, store, learning.seq))
    }

    /// Goes on where whoever learned before has published last.
    fn take_over(&mut self) -> Result<(), OpenError> {
        let name = &self.served.name;
        let damaged = |what: &str| OpenError::Damaged(format!("world \"{name}\": {what}"));
        let text = self.reader.value(&format!("standing/{name}"))?.unwrap_or_default();
        let standing: Standing = serde_json::from_slice(&text).map_err(|e| damaged(&e.to_string()))?;
        if standing.latest != self.latest.version {
            let row = self.reader.snapshot(name, standing.latest)?.ok_or_else(|| damaged("a policy is missing"))?;
            let made = Snapshot::restore(&self.served, &row);
            self.latest = Arc::new(made.ok_or_else(|| damaged("a policy cannot be made again from its evidence"))?);
        }
        Ok(())
    }

    /// Makes the policy ready that somebody else is about to publish.
    fn make_ready(&mut self) -> Result<(), OpenError> {
        let name = &self.served.name;
        let Some(newest) = self.reader.snapshots(name, 1)?.pop() else { return Ok(()) };
        if newest.hash == self.latest.hash {
            return Ok(());
        }
        if let Some(row) = self.reader.snapshot(name, newest.version)?
            && let Some(made) = Snapshot::restore(&self.served, &row)
        {
            self.latest = Arc::new(made);
            self.ready.keep(name, self.latest.clone());
        }
        Ok(())
    }

    /// Whether an episode waits for a policy that knows nothing of it; only then its names can go.
    fn is_to_forget(&self) -> bool {
        self.reader.values(&format!("forget/{}/", self.served.name)).is_ok_and(|waiting| !waiting.is_empty())
    }

    /// Whether the policy is published; if not, it is made again later.
    fn publish(&mut self, snapshot: &Arc<Snapshot>, steps: u64, watching: Option<Vec<u8>>) -> Result<bool, OpenError> {
        if self.reader.is_shared() {
            self.reader.begin()?;
            let put = self
                .reader
                .put_snapshot(&self.served.name, &snapshot.stored(now(), steps))
                .and_then(|()| self.reader.commit());
            if put.is_err() {
                self.reader.rollback();
            }
            put?;
            std::thread::park_timeout(GRACE);
        }
        let Some(commands) = self.commands.upgrade() else { return Ok(false) };
        let (reply, answer) = oneshot::channel();
        let body = publish_body(snapshot, steps);
        let request = Box::new(Request::Publish { snapshot: snapshot.clone(), steps, watching });
        let command = Command::Do { world: self.world, request, body, reply };
        Ok(commands.blocking_send(command).is_ok() && matches!(answer.blocking_recv(), Ok(Ok(_))))
    }
}
