//! Pictures of runs: exactly those that `dowise compare` draws.

use dowise::learn::LearnerSpec;
use dowise_study::{
    Axis, Checkpoints, Combination, CurveRow, Drawing, Figure, RunRow, Scale, Series, Shape, Spread, Study, Style,
    Summary, Tables, WorldChoice, figures,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::Numbers;
use crate::error::{Error, Raise};

/// Episodes (from 1) at which `dowise compare` writes regret down.
#[pyfunction]
pub(crate) fn checkpoints(episodes: u64) -> Vec<u64> {
    Checkpoints::default().of(episodes)
}

/// SVG and PNG of the regret curves of one world: `regret` is `[learner, run, episode]`, summed up. Those of `agents` that are
/// not ours, each with whether its regret is estimated, stand behind those of the learners.
#[pyfunction]
pub(crate) fn draw<'py>(
    py: Python<'py>,
    title: String,
    world: &str,
    learners: Vec<String>,
    regret: &Bound<'py, PyAny>,
    seed: u64,
    log: bool,
    agents: Vec<(String, bool)>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let regret = Numbers::read("regret", regret)?;
    let &[_, repetitions, episodes] = regret.shape.as_slice() else {
        return Err(Error::new_err("regret has other axes than [learner, run, episode]"));
    };
    let mut combinations = Vec::new();
    for text in &learners {
        let learner: LearnerSpec = text.parse().map_err(Raise::raise)?;
        let world = WorldChoice::read(world);
        let fingerprint = String::new();
        combinations.push(Combination {
            world,
            fingerprint,
            learner,
            episodes: episodes as u64,
            monte_carlo: false,
            by_play_chosen: false,
            sweep: Default::default(),
        });
    }
    regret.expect(&[&[combinations.len() + agents.len(), repetitions, episodes]], "learner, run, episode")?;
    let study = Study {
        schema: String::new(),
        dowise: String::new(),
        streams: String::new(),
        name: title,
        repetitions: repetitions as u64,
        seed,
        checkpoints: Checkpoints::default(),
        swept: vec![],
        combinations,
    };
    let mut tables = Tables::default();
    let (ours, others) = regret.values.split_at(learners.len() * repetitions * episodes);
    for (i, row) in ours.chunks_exact(episodes).enumerate() {
        let (combination, repetition) = (i / repetitions, (i % repetitions) as u64);
        let at = |k: u64| CurveRow { combination, repetition, episode: k, regret: row[k as usize - 1] };
        tables.curves.extend(checkpoints(episodes as u64).into_iter().map(at));
        let regret = row[episodes - 1];
        let run_seed = seed + repetition;
        tables.runs.push(RunRow {
            combination,
            repetition,
            seed: run_seed,
            regret,
            reward: 0.0,
            optimal: 0.0,
            value: 0.0,
            random: 0.0,
        });
    }
    let wanted = if log { "regret-log" } else { "regret" };
    let drawn = py.detach(|| {
        let drawn = figures(&study, &tables).into_iter().find(|(name, _)| name == wanted);
        let runs_of_agents = || others.chunks_exact(repetitions * episodes);
        // All curves of a figure show the same thing: what our learners ask for or, where there is none, the agents.
        let spread = match drawn {
            Some(_) => Spread::of((0..learners.len()).map(|i| tables.summary(i))),
            None => Spread::of(runs_of_agents().map(|runs| at_end(runs, episodes))),
        };
        let mut figure = drawn.map_or_else(|| empty(&study, world, log, spread), |(_, figure)| figure);
        for ((name, estimated), runs) in agents.iter().zip(runs_of_agents()) {
            add_agent(&mut figure, name, *estimated, runs, episodes, spread);
        }
        figure.draw()
    });
    let Drawing { svg, png } = drawn.map_err(Raise::raise)?;
    Ok((svg, PyBytes::new(py, &png)))
}

/// A figure of regret without a curve.
fn empty(study: &Study, world: &str, log: bool, spread: Spread) -> Figure {
    let scale = if log { Scale::Log } else { Scale::Linear };
    let axis = |label: &str| Axis { label: label.into(), scale, ticks: None };
    Figure {
        title: study.name.clone(),
        subtitle: format!("{world}. {}", spread.words(study.repetitions)),
        x: axis("episode"),
        y: axis("cumulative regret"),
        series: vec![],
    }
}

/// Regrets after the last episode; `runs` is `[run][episode]`.
fn at_end(runs: &[f64], episodes: usize) -> Summary {
    Summary::of(runs.chunks_exact(episodes).map(|run| run[episodes - 1]))
}

/// Adds the curve of an agent that is not ours, in the first colour that is free; `runs` is `[run][episode]`.
fn add_agent(figure: &mut Figure, name: &str, estimated: bool, runs: &[f64], episodes: usize, spread: Spread) {
    let taken = |style: &Style| figure.series.iter().any(|s| s.style.colour == style.colour);
    let free = (0..7).map(Style::at).find(|style| !taken(style));
    let style = free.unwrap_or_else(|| Style::at(figure.series.len()));
    let point = |k: u64| {
        let s = Summary::of(runs.chunks_exact(episodes).map(|run| run[k as usize - 1]));
        spread.point(k as f64, &s)
    };
    let points = checkpoints(episodes as u64).into_iter().map(point).collect();
    figure.series.push(Series { label: name.to_owned(), style, shape: Shape::Band, points });
    if estimated {
        figure.subtitle += &format!(" {name}: estimated from the rewards received.");
    }
}
