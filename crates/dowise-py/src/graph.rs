//! Graphs of other tools, into worlds and out of them.

use std::path::PathBuf;

use dowise::WorldError;
use dowise::world::{Located, SetSpec};
use dowise_formats::{Format, GivenVariable, GraphFile, Missing, Payment, Roles, export, import, read_graph};
use pyo3::prelude::*;

use crate::error::{Error, Raise};
use crate::plan::to_python;
use crate::world::World;

/// (name, values, role) of each variable, and edges as pairs of names.
pub(crate) type Parts = (Vec<(String, Vec<String>, String)>, Vec<(String, String)>);

/// Roles as `_graphs.py` hands them over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenRoles {
    name: Option<String>,
    horizon: u64,
    lever: Vec<String>,
    key: Vec<String>,
    hidden: Vec<String>,
    state: Vec<(String, String)>,
    reward: Vec<(String, Option<String>, f64)>,
    cost: Vec<(String, Option<String>, f64)>,
    start: Vec<(String, String)>,
    values: Vec<(String, Vec<String>)>,
    at_most: Option<u64>,
    any: bool,
    learn: bool,
}

impl From<GivenRoles> for Roles {
    fn from(given: GivenRoles) -> Roles {
        let names = |names: Vec<String>| names.into_iter().map(Located::from).collect();
        let pairs = |pairs: Vec<(String, String)>| pairs.into_iter().map(|(a, b)| (a.into(), b.into())).collect();
        let payments = |payments: Vec<(String, Option<String>, f64)>| {
            let payment = |(variable, value, amount): (String, Option<String>, f64)| Payment {
                variable: variable.into(),
                value: value.map(Located::from),
                amount: amount.into(),
            };
            payments.into_iter().map(payment).collect()
        };
        Roles {
            name: given.name,
            horizon: Some(given.horizon.into()),
            levers: names(given.lever),
            keys: names(given.key),
            hidden: names(given.hidden),
            states: pairs(given.state),
            rewards: payments(given.reward),
            costs: payments(given.cost),
            starts: pairs(given.start),
            values: given.values.into_iter().map(|(name, list)| (name.into(), names(list))).collect(),
            set: match (given.any, given.at_most) {
                (true, _) => Some(SetSpec::Any),
                (false, at_most) => at_most.map(|n| SetSpec::AtMost(n.into())),
            },
            missing: given.learn.then_some(Missing::Learn),
        }
    }
}

fn format(name: &str) -> PyResult<Format> {
    Format::of_name(name).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|f| f.name()).collect();
        Error::new_err(format!("there is no format \"{name}\"; there are {}", names.join(", ")))
    })
}

/// The world, and what was assumed.
type Made = (World, Py<PyAny>);

fn made(py: Python<'_>, file: Result<GraphFile, WorldError>, roles: GivenRoles) -> PyResult<Made> {
    let imported = file.and_then(|file| import(&file, &roles.into(), None)).map_err(Raise::raise)?;
    let notes: Vec<_> = imported.notes.iter().map(|note| note.finding(&imported.sources)).collect();
    Ok((World::from(imported.world), to_python(py, &notes)?.unbind()))
}

/// A world of a graph file; `dowise.import_graph` is made of this.
#[pyfunction]
pub(crate) fn import_file(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    roles: Bound<'_, PyAny>,
) -> PyResult<Made> {
    let format = format.map(self::format).transpose()?;
    let roles = roles.extract()?;
    made(py, py.detach(|| read_graph(&path, format)), roles)
}

/// A world of a graph that Python holds; `dowise.import_graph` is made of this.
#[pyfunction]
pub(crate) fn import_parts(
    py: Python<'_>,
    name: &str,
    variables: Vec<GivenVariable>,
    edges: Vec<(usize, usize)>,
    bidirected: Vec<(usize, usize)>,
    roles: Bound<'_, PyAny>,
) -> PyResult<Made> {
    made(py, GraphFile::of_parts(name, variables, &edges, &bidirected), roles.extract()?)
}

/// One step of a world in a format.
pub(crate) fn export_text(world: &dowise::World, name: &str) -> PyResult<String> {
    let format = format(name)?;
    Ok(format.write(&export(world).map_err(Error::new_err)?.network))
}

/// One step of a world as variables and edges.
pub(crate) fn export_parts(world: &dowise::World) -> PyResult<Parts> {
    let network = export(world).map_err(Error::new_err)?.network;
    let role = |v: &dowise_formats::Variable| v.role.as_ref().map_or(String::new(), |role| role.words());
    let variables = network.variables.iter().map(|v| (v.name.clone(), v.values.clone(), role(v))).collect();
    let name = |i: usize| network.variables[i].name.clone();
    let edges = network.variables.iter().flat_map(|v| v.parents.iter().map(|&p| (name(p), v.name.clone())));
    Ok((variables, edges.collect()))
}
