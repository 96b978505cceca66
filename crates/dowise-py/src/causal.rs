//! A causal MDP from arrays: P_z[s, a, z], a table with its scope for each state factor, and rewards.

use dowise::World;
use dowise::world::{Kind, WorldBuilder, WorldSpec};
use pyo3::prelude::*;

use crate::arrays::{Numbers, tuple, variables};
use crate::error::array;

/// What `World.from_arrays` takes.
pub(crate) struct Causal<'py> {
    pub(crate) kernel: Bound<'py, PyAny>,
    pub(crate) transitions: Bound<'py, PyAny>,
    pub(crate) rewards: Bound<'py, PyAny>,
    pub(crate) horizon: u64,
    pub(crate) states: Option<Bound<'py, PyAny>>,
    pub(crate) levers: Option<Bound<'py, PyAny>>,
    pub(crate) keys: Option<Bound<'py, PyAny>>,
    pub(crate) start: Option<Bound<'py, PyAny>>,
    pub(crate) name: String,
}

type Named = Vec<(String, Vec<String>)>;

impl Causal<'_> {
    pub(crate) fn spec(&self) -> PyResult<WorldSpec> {
        let kernel = Numbers::read("P_z", &self.kernel)?;
        let flat = |name: &str, axis: usize| -> PyResult<Named> {
            let &[s, a, z] = kernel.shape.as_slice() else {
                return Err(array(format!(
                    "P_z has {} axes, expected 3: [state, action, key variables]; or name the states, levers and keys",
                    kernel.shape.len()
                )));
            };
            Ok(vec![(name.to_owned(), (0..[s, a, z][axis]).map(|i| i.to_string()).collect())])
        };
        let read = |what: &str, given: &Option<Bound<'_, PyAny>>, name: &str, axis: usize| match given {
            Some(given) => variables(what, given),
            None => flat(name, axis),
        };
        let states = read("states", &self.states, "state", 0)?;
        let levers = read("levers", &self.levers, "action", 1)?;
        let keys = read("keys", &self.keys, "z", 2)?;
        let (s, a, z) = (sizes(&states), sizes(&levers), sizes(&keys));
        let [n_s, n_a, n_z] = [&s, &a, &z].map(|v| v.iter().product::<usize>());
        let whole = [s.clone(), a, z.clone()].concat();
        kernel.expect(&[&[n_s, n_a, n_z], &whole], "state, action, key variables")?;
        kernel.rows(n_z)?;
        let all: Vec<(&str, usize)> =
            [&states, &levers, &keys].into_iter().flatten().map(|(n, v)| (n.as_str(), v.len())).collect();
        let all_names: Vec<String> = [&states, &keys].into_iter().flatten().map(|(n, _)| n.clone()).collect();
        let mut builder = World::builder(self.name.clone(), self.horizon);
        for (kind, named) in [(Kind::State, &states), (Kind::Lever, &levers), (Kind::Key, &keys)] {
            builder = named.iter().fold(builder, |builder, (name, values)| builder.variable(kind, name, values));
        }
        builder = self.transitions(builder, &states, n_s, n_z, &all, &all_names)?;
        builder = self.rewards(builder, n_s, n_z, &s, &z, &states, &all, &all_names)?;
        let names = |named: &Named| named.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        builder = builder.mechanism(names(&keys), [names(&states), names(&levers)].concat(), kernel.values);
        Ok(self.start(builder, &states)?.spec())
    }

    /// `P[s, z, s']` of a flat state, or `{factor: (scope, table)}`.
    fn transitions(
        &self,
        mut builder: WorldBuilder,
        states: &Named,
        n_s: usize,
        n_z: usize,
        all: &[(&str, usize)],
        all_names: &[String],
    ) -> PyResult<WorldBuilder> {
        let Some(scoped) = scoped("transitions", &self.transitions)? else {
            let [(only, values)] = states.as_slice() else {
                return Err(array(format!(
                    "transitions is one array, but there are {} state factors; give {{factor: (scope, table)}}",
                    states.len()
                )));
            };
            let p = Numbers::read("transitions", &self.transitions)?;
            let shape = shape_of("transitions", all_names, all)?;
            p.expect(&[&[n_s, n_z, n_s], &[shape, vec![values.len()]].concat()], "state, key variables, next state")?;
            p.rows(n_s)?;
            return Ok(builder.next(only, all_names, p.values));
        };
        for (factor, scope, table) in scoped {
            let name = format!("transitions[\"{factor}\"]");
            let Some(columns) = states.iter().find(|(n, _)| *n == factor).map(|(_, v)| v.len()) else {
                let names: Vec<&str> = states.iter().map(|(n, _)| n.as_str()).collect();
                return Err(array(format!("{name}: there is no such state factor; there are {}", names.join(", "))));
            };
            let p = Numbers::read(&name, &table)?;
            let shape = [shape_of(&name, &scope, all)?, vec![columns]].concat();
            p.expect(&[&shape], &format!("{}, next {factor}", scope.join(", ")))?;
            p.rows(columns)?;
            builder = builder.next(factor, scope, p.values);
        }
        Ok(builder)
    }

    /// `R[s, z]`, `R[s]`, or `{term: (scope, table)}`.
    fn rewards(
        &self,
        mut builder: WorldBuilder,
        n_s: usize,
        n_z: usize,
        s: &[usize],
        z: &[usize],
        states: &Named,
        all: &[(&str, usize)],
        all_names: &[String],
    ) -> PyResult<WorldBuilder> {
        let Some(scoped) = scoped("rewards", &self.rewards)? else {
            let r = Numbers::read("rewards", &self.rewards)?;
            r.finite()?;
            if r.shape == [n_s] || r.shape == s {
                let scope: Vec<String> = states.iter().map(|(n, _)| n.clone()).collect();
                return Ok(builder.reward("reward", scope, r.values));
            }
            r.expect(&[&[n_s, n_z], &[s, z].concat(), &[n_s]], "state, key variables")?;
            return Ok(builder.reward("reward", all_names, r.values));
        };
        for (label, scope, table) in scoped {
            let name = format!("rewards[\"{label}\"]");
            let r = Numbers::read(&name, &table)?;
            r.expect(&[&shape_of(&name, &scope, all)?], &scope.join(", "))?;
            r.finite()?;
            builder = builder.reward(label, scope, r.values);
        }
        Ok(builder)
    }

    fn start(&self, builder: WorldBuilder, states: &Named) -> PyResult<WorldBuilder> {
        let Some(given) = &self.start else { return Ok(builder) };
        let s = sizes(states);
        let start = Numbers::read("start", given)?;
        start.expect(&[&[s.iter().product()], &s], "state")?;
        start.rows(start.values.len())?;
        let space = dowise::Space::new(&s).ok_or_else(|| array("there are too many states"))?;
        let possible = start.values.iter().enumerate().filter(|(_, p)| **p > 0.0);
        Ok(builder.start_in(possible.map(|(i, &weight)| {
            let digits = states.iter().zip(space.digits(i));
            (digits.map(|((name, values), d)| (name.as_str(), values[d].as_str())).collect(), weight)
        })))
    }
}

fn sizes(named: &Named) -> Vec<usize> {
    named.iter().map(|(_, values)| values.len()).collect()
}

type Scoped<'py> = Vec<(String, Vec<String>, Bound<'py, PyAny>)>;

/// `{name: (scope, table)}`; `None` if it is an array.
fn scoped<'py>(what: &str, given: &Bound<'py, PyAny>) -> PyResult<Option<Scoped<'py>>> {
    let Ok(items) = given.call_method0("items") else { return Ok(None) };
    let mut out = Vec::new();
    for item in items.try_iter()? {
        let (name, pair): (String, Bound<'py, PyAny>) = item?.extract()?;
        let (scope, table): (Vec<String>, Bound<'py, PyAny>) = pair.extract().map_err(|_| {
            array(format!("{what}[\"{name}\"] is not (scope, table), such as ([\"mood\", \"opened\"], array)"))
        })?;
        out.push((name, scope, table));
    }
    Ok(Some(out))
}

/// Sizes of the variables in a scope.
fn shape_of(what: &str, scope: &[String], all: &[(&str, usize)]) -> PyResult<Vec<usize>> {
    let size = |name: &String| {
        all.iter().find(|(n, _)| n == name).map(|(_, size)| *size).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(n, _)| *n).collect();
            array(format!("the scope of {what} names \"{name}\"; there are {}", names.join(", ")))
        })
    };
    let shape: Vec<usize> = scope.iter().map(size).collect::<PyResult<_>>()?;
    if shape.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).is_none() {
        return Err(array(format!("the scope of {what} has too many combinations: {}", tuple(&shape))));
    }
    Ok(shape)
}
