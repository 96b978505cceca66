//! One step from Python as an observation: state, intervention, key variables, next state and rewards.

use dowise::Knowledge;
use dowise::learn::Observation;
use pyo3::prelude::*;

use crate::error::{Raise, learn};
use crate::given;

/// One step, not looked at yet.
pub(crate) struct Step<'a, 'py> {
    pub(crate) state: &'a Bound<'py, PyAny>,
    pub(crate) action: &'a Bound<'py, PyAny>,
    pub(crate) next_state: &'a Bound<'py, PyAny>,
    pub(crate) reward: Option<&'a Bound<'py, PyAny>>,
    pub(crate) keys: Option<&'a Bound<'py, PyAny>>,
    pub(crate) levers: Option<&'a Bound<'py, PyAny>>,
}

/// One step as the user tells it; `learns_rewards`: whether what was paid has to be given.
pub(crate) fn observation(
    knowledge: &Knowledge,
    learns_rewards: bool,
    stage: usize,
    step: &Step<'_, '_>,
) -> PyResult<Observation<'static>> {
    let read = |what: &str, given: &Bound<'_, PyAny>| given::given(what, given);
    let mut seen = Observation::at(knowledge, stage, read("state factor", step.state)?).map_err(Raise::raise)?;
    seen = seen.did(knowledge, read("lever", step.action)?).map_err(Raise::raise)?;
    if !knowledge.keys().is_empty() {
        let names = || knowledge.keys().iter().map(|&id| knowledge.variable(id).name.as_str()).collect::<Vec<_>>();
        let keys =
            step.keys.ok_or_else(|| learn(format!("keys is missing; pass the values of {}", names().join(", "))))?;
        let keys = read("key variable", keys)?;
        if let dowise::world::Given::Named(pairs) = &keys
            && let Some(name) = names().iter().find(|name| pairs.iter().all(|(given, _)| given != *name))
        {
            let message = format!("the key variable \"{name}\" is not given; say None if it was not observed");
            return Err(learn(message));
        }
        seen = seen.saw(knowledge, keys).map_err(Raise::raise)?;
    }
    if let Some(levers) = step.levers {
        seen = seen.found(knowledge, read("lever", levers)?).map_err(Raise::raise)?;
    }
    seen = seen.then(knowledge, read("state factor", step.next_state)?).map_err(Raise::raise)?;
    paid(knowledge, learns_rewards, seen, step.reward)
}

/// Adds the rewards to an observation, as one number or one for each term.
fn paid(
    knowledge: &Knowledge,
    needed: bool,
    seen: Observation<'static>,
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<Observation<'static>> {
    let n = knowledge.rewards().len();
    let Some(given) = given else {
        return match needed {
            true => Err(learn("this learner learns the rewards; pass reward=, one number for each term")),
            false => Ok(seen),
        };
    };
    let finite = |x: f64| match x.is_finite() {
        true => Ok(x),
        false => Err(learn(format!("reward is {x}, expected a finite number"))),
    };
    match given.extract::<f64>() {
        Ok(reward) if n == 1 => seen.received(knowledge, finite(reward)?).map_err(Raise::raise),
        Ok(_) if !needed => Ok(seen),
        Ok(_) => {
            let names: Vec<&str> = knowledge.rewards().iter().map(|r| r.name.as_str()).collect();
            let names = names.join(", ");
            Err(learn(format!("this learner learns the rewards; pass reward=, one number for each of {names}")))
        }
        Err(_) => {
            let rewards: Vec<Option<f64>> = given.extract().map_err(|_| {
                learn(format!("reward is {given}, expected a number, or a list with one for each term"))
            })?;
            let rewards: Vec<f64> =
                rewards.into_iter().map(|r| r.map_or(Ok(f64::NAN), finite)).collect::<PyResult<_>>()?;
            seen.paid(knowledge, &rewards).map_err(Raise::raise)
        }
    }
}
