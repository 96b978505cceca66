//! Plans as arrays, and policies as users give them.

use dowise::{Action, Planner};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::Serialize;

use crate::arrays::{Numbers, tuple};
use crate::error::{PlanError_, Raise};
use crate::{given, whole};

/// Plain data as Python objects.
pub(crate) fn to_python<'py>(py: Python<'py>, data: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(data).map_err(|e| crate::error::Error::new_err(e.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// Values `[stage][state]` as an array, moved.
pub(crate) fn by_stage<'py>(py: Python<'py>, values: Vec<f64>, n_states: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let stages = values.len() / n_states;
    values.into_pyarray(py).reshape([stages, n_states])
}

/// The best policy of a world and what it is worth.
///
/// `values[h, s]` is expected from stage h (from 0) and state s on, with one further stage of zeros;
/// `policy[h, s]` is the number of the intervention; `value` is expected over an episode.
#[pyclass(frozen, module = "dowise")]
pub(crate) struct Plan {
    values: Py<PyArray2<f64>>,
    policy: Py<PyArray2<i64>>,
    value: f64,
    world: Py<crate::world::World>,
}

impl Plan {
    pub(crate) fn new(
        py: Python<'_>,
        world: Py<crate::world::World>,
        plan: dowise::Plan,
        value: f64,
    ) -> PyResult<Plan> {
        let inner = &world.get().inner;
        let ranks: Vec<i64> = plan.policy_hs.iter().map(|&a| given::rank(inner, a)).collect();
        let policy = ranks.into_pyarray(py).reshape([plan.horizon, plan.n_states])?.unbind();
        let values = by_stage(py, plan.value_hs, plan.n_states)?.unbind();
        Ok(Plan { values, policy, value, world })
    }
}

#[pymethods]
impl Plan {
    /// Expected sum of rewards from a stage and state on, `[stage, state]`, with one further stage of zeros.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.values.bind(py).clone()
    }

    /// Number of the intervention at a stage and state, `[stage, state]`.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i64>> {
        self.policy.bind(py).clone()
    }

    /// Expected sum of rewards over an episode.
    #[getter]
    fn value(&self) -> f64 {
        self.value
    }

    /// What to do at a stage (from 0) and state, as `{lever: value}`.
    fn action<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = whole::stage)] stage: u64,
        state: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let world = self.world.get();
        let state = given::state(&world.inner, state)?;
        let policy = self.policy.bind(py);
        let rank = policy.get_owned([usize::try_from(stage).unwrap_or(usize::MAX), state]).ok_or_else(|| {
            PlanError_::new_err(format!(
                "there is no stage {stage}; stages run from 0 to {}",
                world.inner.horizon() - 1
            ))
        })?;
        world.intervention(py, &rank.into_pyobject(py)?.into_any())
    }

    fn __repr__(&self) -> String {
        let world = &self.world.get().inner;
        format!("<Plan of {}: {:.4} expected over {} steps>", world.name(), self.value, world.horizon())
    }
}

/// What the numbers of a policy are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PolicyKind {
    /// Numbers of interventions, `[stage, state]` or `[state]`.
    Interventions,
    /// Probabilities of interventions, `[stage, state, action]` or `[state, action]`.
    Probabilities,
}

impl PolicyKind {
    /// What the user said.
    pub(crate) fn read(word: &str) -> PyResult<PolicyKind> {
        match word {
            "interventions" => Ok(PolicyKind::Interventions),
            "probabilities" => Ok(PolicyKind::Probabilities),
            other => Err(PlanError_::new_err(format!(
                "kind is \"{other}\", expected \"interventions\" or \"probabilities\""
            ))),
        }
    }

    /// What an array whose shape allows both must be: whole numbers count interventions, others are probabilities.
    fn of(policy: &Bound<'_, PyAny>, given: &Numbers, count: usize) -> PyResult<PolicyKind> {
        let numpy = policy.py().import("numpy")?;
        let dtype = numpy.call_method1("asarray", (policy,))?.getattr("dtype")?;
        let ambiguous = |why: &str| {
            PlanError_::new_err(format!(
                "policy has shape {}, which numbers of interventions [stage, state] and probabilities [state, action] both have \
                 here, and {why}; say kind=\"interventions\" or kind=\"probabilities\"",
                tuple(&given.shape)
            ))
        };
        match dtype.getattr("kind")?.extract::<char>()? {
            'i' | 'u' => Ok(PolicyKind::Interventions),
            'f' if given.rows(count).is_err() && given.values.iter().all(|x| x.fract() == 0.0) => {
                Err(ambiguous("its whole numbers are stored as floats, which are taken for probabilities"))
            }
            'f' => Ok(PolicyKind::Probabilities),
            _ => Err(ambiguous(&format!("it holds {dtype}"))),
        }
    }
}

/// Values of a policy: intervention numbers `[stage, state]` or `[state]`, or probabilities `[(stage,) state, action]`.
pub(crate) fn evaluate(
    py: Python<'_>,
    world: &dowise::World,
    planner: &Planner,
    policy: &Bound<'_, PyAny>,
    kind: Option<PolicyKind>,
) -> PyResult<Vec<f64>> {
    let (horizon, n, count) = (world.horizon(), world.n_states(), world.interventions().count() as usize);
    let given = Numbers::read("policy", policy)?;
    let shape = given.shape.as_slice();
    let numbers = shape == [horizon, n] || shape == [n];
    let probabilities = shape == [n, count] || shape == [horizon, n, count];
    let kind = match (numbers, probabilities, kind) {
        (true, true, None) => Some(PolicyKind::of(policy, &given, count)?),
        (true, _, None | Some(PolicyKind::Interventions)) => Some(PolicyKind::Interventions),
        (_, true, None | Some(PolicyKind::Probabilities)) => Some(PolicyKind::Probabilities),
        _ => None,
    };
    match kind {
        Some(PolicyKind::Probabilities) => {
            given.rows(count)?;
            py.detach(|| planner.evaluate_mixed(&given.values)).map_err(Raise::raise)
        }
        Some(PolicyKind::Interventions) => {
            let actions = numbered(world, policy, &given)?;
            py.detach(|| planner.evaluate(&actions)).map_err(Raise::raise)
        }
        None => {
            let shapes = [vec![horizon, n], vec![n], vec![n, count], vec![horizon, n, count]].map(|s| tuple(&s));
            let message = format!(
                "policy has shape {}, expected {} or {} (numbers of interventions) or {} or {} (probabilities)",
                tuple(shape),
                shapes[0],
                shapes[1],
                shapes[2],
                shapes[3]
            );
            Err(PlanError_::new_err(message))
        }
    }
}

/// A policy as numbers of interventions, `[stage, state]` or `[state]`.
pub(crate) fn interventions(world: &dowise::World, policy: &Bound<'_, PyAny>) -> PyResult<Vec<Action>> {
    let given = Numbers::read("policy", policy)?;
    let (horizon, n) = (world.horizon(), world.n_states());
    if given.shape.as_slice() != [horizon, n] && given.shape.as_slice() != [n] {
        let shapes = [vec![horizon, n], vec![n]].map(|s| tuple(&s));
        let found = tuple(&given.shape);
        let message =
            format!("policy has shape {found}, expected {} or {} (numbers of interventions)", shapes[0], shapes[1]);
        return Err(PlanError_::new_err(message));
    }
    numbered(world, policy, &given)
}

/// Whole numbers up to here are floats of their own; above, a float stands for several.
const MOST_AS_FLOATS: u64 = 1 << 53;

/// Interventions by their numbers, for every stage and state.
fn numbered(world: &dowise::World, policy: &Bound<'_, PyAny>, given: &Numbers) -> PyResult<Vec<Action>> {
    let count = world.interventions().count();
    let whole = if count > MOST_AS_FLOATS { whole_numbers(policy)? } else { None };
    let action = |(i, &x): (usize, &f64)| -> PyResult<Action> {
        let (number, said) = match &whole {
            Some(whole) => (u64::try_from(whole[i]).ok(), whole[i].to_string()),
            None => {
                let exact = x.fract() == 0.0 && x >= 0.0 && x <= MOST_AS_FLOATS as f64;
                (exact.then_some(x as u64), x.to_string())
            }
        };
        number.filter(|&number| number < count).map(|number| world.interventions().nth(number)).ok_or_else(|| {
            let help = match whole.is_none() && x > MOST_AS_FLOATS as f64 && x < count as f64 {
                true => "; floats cannot tell numbers of this size apart, so give integers",
                false => "",
            };
            let (at, most) = (given.at(i), count - 1);
            PlanError_::new_err(format!(
                "policy{at} is {said}, expected the number of an intervention, 0 to {most}{help}"
            ))
        })
    };
    let mut actions: Vec<Action> = given.values.iter().enumerate().map(action).collect::<PyResult<_>>()?;
    if given.shape.len() == 1 {
        actions = actions.repeat(world.horizon());
    }
    Ok(actions)
}

/// The numbers of an array of integers as they are, in C order; `None` if it holds others.
fn whole_numbers(given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<i64>>> {
    let numpy = given.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (given,))?;
    if !"iu".contains(array.getattr("dtype")?.getattr("kind")?.extract::<char>()?) {
        return Ok(None);
    }
    array.call_method1("astype", ("int64",))?.call_method0("ravel")?.call_method0("tolist")?.extract().map(Some)
}

/// Numbers as an array, moved.
pub(crate) fn vector<'py, T: numpy::Element>(py: Python<'py>, values: Vec<T>) -> Bound<'py, PyArray1<T>> {
    values.into_pyarray(py)
}
