//! Looks up from long work now and then: Ctrl-C stops it, and whoever waits is given how far it is.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// How often signals are looked at.
pub(crate) const SIGNALS: Duration = Duration::from_millis(10);
/// How often progress is given.
const PROGRESS: Duration = Duration::from_millis(100);

/// What watches over long work.
pub(crate) struct Watch {
    tell: Option<Py<PyAny>>,
    looked: Instant,
    told: Instant,
    stopped: Option<PyErr>,
}

impl Watch {
    /// `tell(done, total)` is called every tenth of a second.
    pub(crate) fn new(tell: Option<Py<PyAny>>) -> Watch {
        let now = Instant::now();
        Watch { tell, looked: now, told: now, stopped: None }
    }

    /// Whether to go on.
    pub(crate) fn goes_on(&mut self, done: u64, total: u64) -> bool {
        let now = Instant::now();
        if now - self.looked < SIGNALS {
            return true;
        }
        self.looked = now;
        let tell = (now - self.told >= PROGRESS).then_some(self.tell.as_ref()).flatten();
        if tell.is_some() {
            self.told = now;
        }
        let looked = Python::attach(|py| {
            py.check_signals()?;
            tell.map_or(Ok(()), |tell| tell.call1(py, (done, total)).map(|_| ()))
        });
        match looked {
            Ok(()) => true,
            Err(error) => {
                self.stopped = Some(error);
                false
            }
        }
    }

    /// Whether it was interrupted; anything else that went wrong is an error.
    pub(crate) fn interrupted(self, py: Python<'_>) -> PyResult<bool> {
        match self.stopped {
            None => Ok(false),
            Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(true),
            Some(error) => Err(error),
        }
    }
}
