//! States and interventions by the names of the file, as JSON; what the names mean is the library's.

use dowise::world::{Given, GivenValue, NamingError};
use dowise::{Action, World};
use serde_json::{Map, Value};

/// A state as `{factor: value}`.
pub(crate) fn state(world: &World, state: usize) -> Map<String, Value> {
    object(world.state_names(state))
}

/// An intervention as `{lever: value}`; levers left alone are left out.
pub(crate) fn intervention(world: &World, action: Action) -> Map<String, Value> {
    object(world.action_names(action))
}

fn object(pairs: Vec<(&str, &str)>) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// The intervention that sets these levers.
pub(crate) fn read_intervention(world: &World, levers: &Map<String, Value>) -> Result<Action, NamingError> {
    world.read_action(&given(levers))
}

/// The state factors and values that a pattern asks for, as (position, value).
pub(crate) fn read_pattern(world: &World, pattern: &Map<String, Value>) -> Result<Vec<(usize, usize)>, NamingError> {
    let digits = world.read_values(world.state(), "state factor", &given(pattern))?;
    Ok(digits.into_iter().enumerate().filter_map(|(position, digit)| Some((position, digit?))).collect())
}

/// Values may be written as numbers or booleans, as in a world file: they are names all the same.
fn given(object: &Map<String, Value>) -> Given {
    let name = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Given::Named(object.iter().map(|(key, value)| (key.clone(), GivenValue::Name(name(value)))).collect())
}

/// A state from `factor=value,factor=value`, or its number.
pub(crate) fn read_state(world: &World, text: &str) -> Result<usize, NamingError> {
    if let Ok(number) = text.trim().parse() {
        return world.read_state(&Given::Number(number));
    }
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name.trim().to_owned(), GivenValue::Name(value.trim().to_owned()))
    };
    world.read_state(&Given::Named(text.split(',').map(pair).collect()))
}
