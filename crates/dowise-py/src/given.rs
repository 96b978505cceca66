//! States, interventions and values as Python users give them; what they mean and what is wrong with them is the library's.

use dowise::world::{Given, GivenValue};
use dowise::{Action, World};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::error::{Raise, learn};

/// A number, one value for each variable, or `{variable: value}`; `None` is a value that is not given.
pub(crate) fn given(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Given> {
    if let Ok(number) = given.extract::<i64>() {
        return Ok(Given::Number(number));
    }
    if let Ok(named) = given.cast::<PyDict>() {
        let pairs = named.iter().map(|(name, item)| Ok((name.extract()?, value(&item)?)));
        return Ok(Given::Named(pairs.collect::<PyResult<_>>()?));
    }
    let wrong = || learn(format!("expected a number, or values of the {what}s as a list or by name, not {given}"));
    if given.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let items = given.try_iter().map_err(|_| wrong())?;
    Ok(Given::List(items.map(|item| value(&item?)).collect::<PyResult<_>>()?))
}

fn value(given: &Bound<'_, PyAny>) -> PyResult<GivenValue> {
    if given.is_none() {
        return Ok(GivenValue::Missing);
    }
    if let Ok(number) = given.extract::<i64>() {
        return Ok(GivenValue::Number(number));
    }
    let name = given.extract::<String>();
    name.map(GivenValue::Name).map_err(|_| learn(format!("{given} is neither the number nor the name of a value")))
}

/// A state: its number, or one value for each state factor (number or name), or `{factor: value}`.
pub(crate) fn state(world: &World, state: &Bound<'_, PyAny>) -> PyResult<usize> {
    world.read_state(&given("state factor", state)?).map_err(Raise::raise)
}

/// An intervention: its number, one value for each lever (`None`: left alone), or `{lever: value}`.
pub(crate) fn action(world: &World, action: &Bound<'_, PyAny>) -> PyResult<Action> {
    world.read_action(&given("lever", action)?).map_err(Raise::raise)
}

/// An intervention that is allowed in the state.
pub(crate) fn allowed(world: &World, state: usize, action: Action) -> PyResult<Action> {
    world.check_allowed(state, action).map_err(Raise::raise)?;
    Ok(action)
}

/// Position of an intervention among all, which is its number in Python.
pub(crate) fn rank(world: &World, action: Action) -> i64 {
    world.interventions().rank(action).map_or(-1, |r| i64::try_from(r).unwrap_or(i64::MAX))
}
