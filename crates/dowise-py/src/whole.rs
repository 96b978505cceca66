//! Whole numbers as users give them, refused by name: `episodes is -1, expected a whole number from 0 on`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::error::Error;

fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let index = given.call_method0("__index__").map_err(|_| {
        let shown = given.repr().map_or_else(|_| "something else".to_owned(), |r| r.to_string());
        PyTypeError::new_err(format!("{name} is {shown}, expected a whole number"))
    })?;
    index.extract().map_err(|_| {
        let expected = if index.lt(0).unwrap_or(false) { "from 0 on" } else { "below 2^64" };
        Error::new_err(format!("{name} is {index}, expected a whole number {expected}"))
    })
}

/// One reader for each name, for `#[pyo3(from_py_with = ...)]`.
macro_rules! readers {
    ($($name:ident),*) => {
        $(pub(crate) fn $name(given: &Bound<'_, PyAny>) -> PyResult<u64> {
            read(stringify!($name), given)
        })*
    };
}

readers!(horizon, episodes, repetitions, seed, stage);
