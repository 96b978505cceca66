//! States, interventions and key variables as users give them: numbers, lists of values, or names.

use dowise::{Action, World};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arrays::tuple;
use crate::error::learn;

/// A state: its number, or one value for each state factor (number or name), or `{factor: value}`.
pub(crate) fn state(world: &World, given: &Bound<'_, PyAny>) -> PyResult<usize> {
    let space = world.state_space();
    if let Ok(state) = given.extract::<i64>() {
        return match usize::try_from(state) {
            Ok(s) if s < space.len() => Ok(s),
            _ => Err(learn(format!("there is no state {state}; states run from 0 to {}", space.len() - 1))),
        };
    }
    let digits = digits(world, world.state(), "state factor", given, false)?;
    Ok(space.index(&digits.into_iter().map(|d| d.unwrap_or(0)).collect::<Vec<_>>()))
}

/// An intervention: its number, one value for each lever (`None`: left alone), or `{lever: value}`.
pub(crate) fn action(world: &World, given: &Bound<'_, PyAny>) -> PyResult<Action> {
    let all = world.interventions();
    if let Ok(rank) = given.extract::<i64>() {
        return match u64::try_from(rank) {
            Ok(r) if r < all.count() => Ok(all.nth(r)),
            _ => Err(learn(format!("there is no intervention {rank}; they run from 0 to {}", all.count() - 1))),
        };
    }
    let digits = digits(world, world.levers(), "lever", given, true)?;
    let action = all.action(&digits);
    match all.rank(action) {
        Some(_) => Ok(action),
        None => Err(learn(format!("this world has no intervention {}", described(world, action)))),
    }
}

/// An intervention that is allowed in the state.
pub(crate) fn allowed(world: &World, state: usize, action: Action) -> PyResult<Action> {
    if !world.interventions().forbid().is_empty()
        && world.interventions().is_forbidden(&world.state_space().digits(state), action)
    {
        return Err(learn(format!("{} is not allowed in state {state}", described(world, action))));
    }
    Ok(action)
}

/// Position of an intervention among all, which is its number in Python.
pub(crate) fn rank(world: &World, action: Action) -> i64 {
    world.interventions().rank(action).map_or(-1, |r| i64::try_from(r).unwrap_or(i64::MAX))
}

/// `do(subject = emoji, hour = evening)`.
pub(crate) fn described(world: &World, action: Action) -> String {
    let set = world.interventions().levers(action).into_iter().zip(world.levers()).filter_map(|(value, &id)| {
        let variable = world.variable(id);
        Some(format!("{} = {}", variable.name, variable.values[value?]))
    });
    format!("do({})", set.collect::<Vec<_>>().join(", "))
}

/// Values of variables in their order, from a list or a dict; `None` entries only where they may be left out.
pub(crate) fn digits(
    world: &World,
    ids: &[dowise::world::VarId],
    what: &str,
    given: &Bound<'_, PyAny>,
    optional: bool,
) -> PyResult<Vec<Option<usize>>> {
    let mut out = vec![None; ids.len()];
    if let Ok(named) = given.cast::<PyDict>() {
        for (name, value) in named {
            let name: String = name.extract()?;
            let Some(i) = ids.iter().position(|&id| world.variable(id).name == name) else {
                let names: Vec<&str> = ids.iter().map(|&id| world.variable(id).name.as_str()).collect();
                return Err(learn(format!("there is no {what} \"{name}\"; there are {}", names.join(", "))));
            };
            out[i] = value_of(world, ids[i], &value, optional)?;
        }
    } else {
        let wrong = || learn(format!("expected a number, or {} values of the {what}s, not {given}", ids.len()));
        if given.is_instance_of::<PyString>() {
            return Err(wrong());
        }
        let items: Vec<Bound<'_, PyAny>> = given.try_iter().map_err(|_| wrong())?.collect::<PyResult<_>>()?;
        if items.len() != ids.len() {
            let sizes = tuple(&world.sizes(ids));
            return Err(learn(format!("{} values given for {what}s of sizes {sizes}", items.len())));
        }
        for (slot, (&id, item)) in out.iter_mut().zip(ids.iter().zip(&items)) {
            *slot = value_of(world, id, item, optional)?;
        }
    }
    if !optional && let Some(missing) = out.iter().position(Option::is_none) {
        return Err(learn(format!("the {what} \"{}\" is not given", world.variable(ids[missing]).name)));
    }
    Ok(out)
}

fn value_of(
    world: &World,
    id: dowise::world::VarId,
    given: &Bound<'_, PyAny>,
    optional: bool,
) -> PyResult<Option<usize>> {
    let variable = world.variable(id);
    if optional && given.is_none() {
        return Ok(None);
    }
    let found = match given.extract::<usize>() {
        Ok(i) => Some(i).filter(|&i| i < variable.size()),
        Err(_) => given.extract::<String>().ok().and_then(|name| variable.values.iter().position(|v| *v == name)),
    };
    match found {
        Some(i) => Ok(Some(i)),
        None => Err(learn(format!(
            "\"{}\" has no value {given}; it has 0 to {}, called {}",
            variable.name,
            variable.size() - 1,
            variable.values.join(", ")
        ))),
    }
}
