//! What `dowise plan --json` prints.

use std::path::Path;

use dowise::{World, plan::Plan};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::naming;

/// A plan: its value from the start and what to do at every stage and state.
#[derive(Serialize)]
pub(super) struct Planned {
    schema: &'static str,
    file: String,
    world: String,
    horizon: usize,
    /// What a reward one step later is worth beside one now.
    discount: f64,
    /// Number of states in which an episode has ended; nothing is decided there.
    ended_states: usize,
    /// Expected sum of rewards less costs over an episode.
    value: f64,
    policy: Vec<Decision>,
}

#[derive(Serialize)]
struct Decision {
    /// From 1.
    stage: usize,
    state: Map<String, Value>,
    r#do: Map<String, Value>,
    /// Expected from this stage on.
    value: f64,
}

pub(super) fn planned(file: String, world: &World, plan: &Plan, value: f64) -> Planned {
    let stages = (0..plan.horizon).flat_map(|h| (0..plan.n_states).map(move |s| (h, s)));
    let policy = stages.map(|(h, s)| Decision {
        stage: h + 1,
        state: naming::state(world, s),
        r#do: naming::intervention(world, plan.action(h, s)),
        value: plan.value(h, s),
    });
    Planned {
        schema: "dowise-plan/1",
        file,
        world: world.name().to_owned(),
        horizon: plan.horizon,
        discount: world.discount(),
        ended_states: (0..plan.n_states).filter(|&s| world.has_ended(s)).count(),
        value,
        policy: policy.collect(),
    }
}

/// What a given policy is worth.
#[derive(Serialize)]
pub(super) struct Evaluated {
    schema: &'static str,
    file: String,
    policy: String,
    value: f64,
    best_value: f64,
}

impl Evaluated {
    pub(super) fn new(file: String, policy: &Path, value: f64, best_value: f64) -> Evaluated {
        Evaluated { schema: "dowise-evaluate/1", file, policy: policy.display().to_string(), value, best_value }
    }
}
