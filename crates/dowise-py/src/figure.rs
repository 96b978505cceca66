//! Pictures of runs: exactly those that `dowise compare` draws.

use dowise::learn::LearnerSpec;
use dowise_study::{Checkpoints, CurveRow, Drawing, RunRow, Setting, Study, Tables, WorldChoice, figures};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::Numbers;
use crate::error::{Error, Raise};

/// Episodes (from 1) at which `dowise compare` writes regret down.
#[pyfunction]
pub(crate) fn checkpoints(episodes: u64) -> Vec<u64> {
    Checkpoints::default().of(episodes)
}

/// SVG and PNG of the regret curves of one world: `regret` is `[learner, run, episode]`, summed up.
#[pyfunction]
pub(crate) fn draw<'py>(
    py: Python<'py>,
    title: String,
    world: &str,
    learners: Vec<String>,
    regret: &Bound<'py, PyAny>,
    seed: u64,
    log: bool,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let regret = Numbers::read("regret", regret)?;
    let &[n_learners, repetitions, episodes] = regret.shape.as_slice() else {
        return Err(Error::new_err("regret has other axes than [learner, run, episode]"));
    };
    let mut settings = Vec::new();
    for text in &learners {
        let learner: LearnerSpec = text.parse().map_err(Raise::raise)?;
        let world = WorldChoice::read(world);
        let fingerprint = String::new();
        settings.push(Setting { world, fingerprint, learner, episodes: episodes as u64, sweep: Default::default() });
    }
    regret.expect(&[&[settings.len(), repetitions, episodes]], "learner, run, episode")?;
    let study = Study {
        schema: String::new(),
        dowise: String::new(),
        streams: String::new(),
        name: title,
        repetitions: repetitions as u64,
        seed,
        checkpoints: Checkpoints::default(),
        swept: vec![],
        settings,
    };
    let mut tables = Tables::default();
    for (i, row) in regret.values.chunks_exact(episodes).enumerate() {
        let (setting, repetition) = (i / repetitions, (i % repetitions) as u64);
        let at = |k: u64| CurveRow { setting, repetition, episode: k, regret: row[k as usize - 1] };
        tables.curves.extend(checkpoints(episodes as u64).into_iter().map(at));
        let regret = row[episodes - 1];
        let run_seed = seed + repetition;
        tables.runs.push(RunRow { setting, repetition, seed: run_seed, regret, reward: 0.0, optimal: 0.0, value: 0.0 });
    }
    debug_assert_eq!(tables.runs.len(), n_learners * repetitions);
    let wanted = if log { "regret-log" } else { "regret" };
    let drawn = py.detach(|| {
        let figure = figures(&study, &tables).into_iter().find(|(name, _)| name == wanted);
        figure.map(|(_, figure)| figure.draw())
    });
    let Drawing { svg, png } =
        drawn.ok_or_else(|| Error::new_err("there is nothing to draw"))?.map_err(Raise::raise)?;
    Ok((svg, PyBytes::new(py, &png)))
}
