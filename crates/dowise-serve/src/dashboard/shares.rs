//! What was done, over time: of every lever the share of each value, and why decisions were made.

use serde_json::{Map, Value, json};

use super::{Past, bins};
use crate::served::Served;

/// Reasons for decisions, as answers give them.
const WHY: [&str; 4] = ["exploit", "explore", "baseline", "fallback"];

/// Shares of every value of every lever and of every reason, in runs of decisions.
pub(crate) fn shares(served: &Served, past: &[Past]) -> Value {
    let world = &served.world;
    let all = world.interventions();
    let runs = bins(past.len());
    let share = |is: &dyn Fn(&Past) -> bool| {
        let of = |run: &std::ops::Range<usize>| {
            past[run.clone()].iter().filter(|one| is(one)).count() as f64 / run.len() as f64
        };
        runs.iter().map(of).collect::<Vec<f64>>()
    };
    let mut levers = Map::new();
    for (lever, &id) in world.levers().iter().enumerate() {
        let variable = world.variable(id);
        let mut values = Map::new();
        for (v, name) in variable.values.iter().enumerate() {
            values.insert(name.clone(), json!(share(&|one| all.lever(one.step.action, lever) == Some(v))));
        }
        values.insert("(left alone)".to_owned(), json!(share(&|one| all.lever(one.step.action, lever).is_none())));
        levers.insert(variable.name.clone(), Value::Object(values));
    }
    let why: Map<String, Value> =
        WHY.iter().map(|why| ((*why).to_owned(), json!(share(&|one| one.answer["why"] == *why)))).collect();
    json!({
        "from": runs.iter().map(|run| past[run.start].at).collect::<Vec<_>>(),
        "to": runs.iter().map(|run| past[run.end - 1].at).collect::<Vec<_>>(),
        "decisions": runs.iter().map(ExactSizeIterator::len).collect::<Vec<_>>(),
        "levers": levers,
        "why": why,
    })
}
