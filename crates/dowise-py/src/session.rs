//! `dowise.Session`: one episode of a learner, beside any number of others.

use dowise::learn::Session;
use pyo3::prelude::*;

use crate::error::{Raise, learn};
use crate::given;
use crate::learner::Learner;
use crate::observation::Step;

/// One episode of a learner, made by `Learner.begin()`: act, observe, end. Observations may come late and out of order.
#[pyclass(module = "dowise", name = "Session")]
pub(crate) struct PySession {
    learner: Py<Learner>,
    /// `None` once it has ended.
    inner: Option<Session>,
}

impl PySession {
    pub(crate) fn new(learner: Py<Learner>, inner: Session) -> PySession {
        PySession { learner, inner: Some(inner) }
    }

    fn open(&mut self) -> PyResult<&mut Session> {
        self.inner.as_mut().ok_or_else(|| learn("this episode has ended; begin() makes another"))
    }
}

#[pymethods]
impl PySession {
    /// Number of the episode, from 1; `None` once it has ended.
    #[getter]
    fn id(&self) -> Option<u64> {
        self.inner.as_ref().map(Session::id)
    }

    /// The stage that is decided next, from 0; `None` once it has ended.
    #[getter]
    fn stage(&self) -> Option<usize> {
        self.inner.as_ref().map(Session::stage)
    }

    /// Steps that were observed; `None` once it has ended.
    #[getter]
    fn observed(&self) -> Option<usize> {
        self.inner.as_ref().map(Session::observed)
    }

    /// What to do in a state at the next stage: the number of an intervention.
    fn act(&mut self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<i64> {
        let learner = self.learner.clone_ref(py);
        let mut learner = learner.bind(py).try_borrow_mut()?;
        let state = given::state(&learner.world.get().inner, state)?;
        let action = self.open()?.act(&mut learner.inner, state).map_err(Raise::raise)?;
        Ok(given::rank(&learner.world.get().inner, action))
    }

    /// Takes in one step, as `Learner.observe` does; `stage` (from 0) is that of the first step not observed yet, if it is
    /// not given. A step that does not belong to this episode is an error.
    #[pyo3(signature = (state, action, next_state, reward = None, keys = None, levers = None, *, stage = None))]
    fn observe(
        &mut self,
        py: Python<'_>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
        next_state: &Bound<'_, PyAny>,
        reward: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyAny>>,
        levers: Option<&Bound<'_, PyAny>>,
        stage: Option<usize>,
    ) -> PyResult<()> {
        let learner = self.learner.clone_ref(py);
        let mut learner = learner.bind(py).try_borrow_mut()?;
        let session = self.open()?;
        let stage = stage.unwrap_or_else(|| session.next_to_observe());
        let step = Step { state, action, next_state, reward, keys, levers };
        let seen = learner.observation(stage, &step)?;
        session.observe(&mut learner.inner, &seen).map_err(Raise::raise)
    }

    /// Ends the episode, whether all of its steps were observed or not.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        self.open()?;
        let learner = self.learner.clone_ref(py);
        let mut learner = learner.bind(py).try_borrow_mut()?;
        if let Some(session) = self.inner.take() {
            session.end(&mut learner.inner);
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        match &self.inner {
            Some(s) => format!("<Session {}: stage {}, {} observed>", s.id(), s.stage(), s.observed()),
            None => "<Session: ended>".to_owned(),
        }
    }
}
