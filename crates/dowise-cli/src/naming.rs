//! States and interventions by the names of the file, in both directions.

use dowise::world::VarId;
use dowise::{Action, World};
use serde_json::{Map, Value};

/// A state as `{factor: value}`.
pub(crate) fn state(world: &World, state: usize) -> Map<String, Value> {
    let digits = world.state_space().digits(state);
    world.state().iter().zip(digits).map(|(&id, digit)| named(world, id, digit)).collect()
}

/// An intervention as `{lever: value}`; levers left alone are left out.
pub(crate) fn intervention(world: &World, action: Action) -> Map<String, Value> {
    let digits = world.interventions().levers(action);
    world.levers().iter().zip(digits).filter_map(|(&id, digit)| Some(named(world, id, digit?))).collect()
}

fn named(world: &World, id: VarId, digit: usize) -> (String, Value) {
    let variable = world.variable(id);
    (variable.name.clone(), variable.values[digit].clone().into())
}

/// The intervention that sets these levers.
pub(crate) fn read_intervention(world: &World, levers: &Map<String, Value>) -> Result<Action, String> {
    let mut digits = vec![None; world.levers().len()];
    for (name, value) in levers {
        let (position, digit) = find(world, world.levers(), "lever", name, value)?;
        digits[position] = Some(digit);
    }
    Ok(world.interventions().action(&digits))
}

/// The state factors and values that a pattern asks for, as (position, value).
pub(crate) fn read_pattern(world: &World, pattern: &Map<String, Value>) -> Result<Vec<(usize, usize)>, String> {
    pattern.iter().map(|(name, value)| find(world, world.state(), "state factor", name, value)).collect()
}

fn find(world: &World, ids: &[VarId], what: &str, name: &str, value: &Value) -> Result<(usize, usize), String> {
    let position = ids.iter().position(|&id| world.variable(id).name == name).ok_or_else(|| {
        let names: Vec<&str> = ids.iter().map(|&id| world.variable(id).name.as_str()).collect();
        format!("there is no {what} \"{name}\"; there are {}", names.join(", "))
    })?;
    let values = &world.variable(ids[position]).values;
    // Values may be written as numbers or booleans, as in a world file.
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let digit = values
        .iter()
        .position(|v| *v == text)
        .ok_or_else(|| format!("\"{name}\" has no value \"{text}\"; it has {}", values.join(", ")))?;
    Ok((position, digit))
}
