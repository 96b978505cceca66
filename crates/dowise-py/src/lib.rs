//! dowise for Python: thin wrappers around the library, built as the module `dowise._lib`.

mod arrays;
mod causal;
mod error;
mod explanation;
mod figure;
mod flat;
mod given;
mod graph;
mod learner;
mod log;
mod mdp;
mod observation;
mod options;
mod plan;
mod run;
mod session;
mod simulation;
mod view;
mod visited_states;
mod watch;
mod whole;
mod world;

use pyo3::prelude::*;

/// What `import dowise._lib` gives; users import `dowise`.
#[pymodule]
fn _lib(module: &Bound<'_, PyModule>) -> PyResult<()> {
    dowise_study::keep_to_memory();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    module.add_class::<world::World>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<learner::Learner>()?;
    module.add_class::<session::PySession>()?;
    module.add_class::<visited_states::VisitedStatesLearner>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_function(wrap_pyfunction!(run::play, module)?)?;
    module.add_function(wrap_pyfunction!(run::play_all, module)?)?;
    module.add_function(wrap_pyfunction!(run::check_run, module)?)?;
    module.add_function(wrap_pyfunction!(options::learners, module)?)?;
    module.add_class::<log::Log>()?;
    module.add_function(wrap_pyfunction!(log::simulate_log, module)?)?;
    module.add_function(wrap_pyfunction!(graph::import_file, module)?)?;
    module.add_function(wrap_pyfunction!(graph::import_parts, module)?)?;
    module.add_function(wrap_pyfunction!(figure::draw, module)?)?;
    module.add_function(wrap_pyfunction!(figure::checkpoints, module)?)?;
    Ok(())
}
