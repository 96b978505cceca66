//! One exception class for each kind of mistake, with the same text as on the command line.

use dowise::kernel::KernelError;
use dowise::learn::{EvidenceError, LearnError, ObservationError, RestoreError, SessionError, SpecError};
use dowise::plan::PlanError;
use dowise::simulate::NotSimulable;
use dowise::world::{Finding, NamingError};
use dowise::worlds::TemplateError;
use dowise_study::StudyError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(dowise, Error, PyValueError, "Something that dowise was given is not right.");
pyo3::create_exception!(dowise, WorldError, Error, "A world that is not sound; `problems` lists every finding.");
pyo3::create_exception!(dowise, ArrayError, WorldError, "An array with a wrong shape or a wrong number in it.");
pyo3::create_exception!(dowise, PlanError_, Error, "A plan that cannot be made, or a policy that does not fit.");
pyo3::create_exception!(
    dowise,
    LearnError_,
    Error,
    "A learner that cannot be made, or was given something impossible."
);
pyo3::create_exception!(
    dowise,
    LogError_,
    Error,
    "A log that cannot be read, or does not say what is asked; `findings` lists what is wrong."
);
pyo3::create_exception!(dowise, RestoreError_, Error, "A saved learner that cannot be restored.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for (name, class) in [
        ("Error", py.get_type::<Error>()),
        ("WorldError", py.get_type::<WorldError>()),
        ("ArrayError", py.get_type::<ArrayError>()),
        ("PlanError", py.get_type::<PlanError_>()),
        ("LearnError", py.get_type::<LearnError_>()),
        ("LogError", py.get_type::<LogError_>()),
        ("RestoreError", py.get_type::<RestoreError_>()),
    ] {
        class.setattr("__name__", name)?;
        class.setattr("__qualname__", name)?;
        module.add(name, class)?;
    }
    Ok(())
}

/// Turns a library error into the exception that goes with it.
pub(crate) trait Raise {
    fn raise(self) -> PyErr;
}

impl Raise for dowise::WorldError {
    fn raise(self) -> PyErr {
        let problems: Vec<Finding> = self.problems.iter().map(|p| p.finding(&self.sources)).collect();
        let error = WorldError::new_err(self.to_string());
        Python::attach(|py| {
            let set = crate::plan::to_python(py, &problems).and_then(|p| error.value(py).setattr("problems", p));
            set.map_or_else(|other| other, |()| error)
        })
    }
}

impl Raise for TemplateError {
    fn raise(self) -> PyErr {
        match self {
            TemplateError::World(error) => error.raise(),
            other => WorldError::new_err(other.to_string()),
        }
    }
}

impl Raise for StudyError {
    fn raise(self) -> PyErr {
        match self {
            StudyError::World(error) => error.raise(),
            StudyError::Template(error) => error.raise(),
            StudyError::Learner(error) => error.raise(),
            StudyError::Learn { .. } => LearnError_::new_err(self.to_string()),
            StudyError::Plan { .. } | StudyError::NotSimulable { .. } => PlanError_::new_err(self.to_string()),
            StudyError::Read { .. } | StudyError::Unreadable { .. } => WorldError::new_err(self.to_string()),
            other => Error::new_err(other.to_string()),
        }
    }
}

macro_rules! raises {
    ($($from:ty => $to:ident),* $(,)?) => {
        $(impl Raise for $from {
            fn raise(self) -> PyErr {
                $to::new_err(self.to_string())
            }
        })*
    };
}

raises! {
    PlanError => PlanError_,
    KernelError => PlanError_,
    NotSimulable => PlanError_,
    LearnError => LearnError_,
    SpecError => LearnError_,
    NamingError => LearnError_,
    ObservationError => LearnError_,
    SessionError => LearnError_,
    EvidenceError => LearnError_,
    RestoreError => RestoreError_,
}

/// A wrong array: which one, where, and what was expected.
pub(crate) fn array(message: impl Into<String>) -> PyErr {
    ArrayError::new_err(message.into())
}

/// Something that a learner cannot have been given.
pub(crate) fn learn(message: impl Into<String>) -> PyErr {
    LearnError_::new_err(message.into())
}
