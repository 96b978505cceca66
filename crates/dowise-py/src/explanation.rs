//! What a learner thinks of interventions, as Python dicts.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::given;

/// One dict for each intervention that a learner prefers.
pub(crate) fn preferred<'py>(
    py: Python<'py>,
    world: &dowise::World,
    explained: &dowise::learn::Explanation,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let row = |preferred: &dowise::learn::Preferred| {
        let levers = PyDict::new(py);
        for (lever, value) in world.action_names(preferred.action) {
            levers.set_item(lever, value)?;
        }
        let row = PyDict::new(py);
        row.set_item("intervention", levers)?;
        row.set_item("action", given::rank(world, preferred.action))?;
        row.set_item("optimistic", preferred.optimistic)?;
        row.set_item("mean", preferred.mean)?;
        row.set_item("visits", preferred.visits)?;
        Ok(row)
    };
    explained.preferred.iter().map(row).collect()
}
