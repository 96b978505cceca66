//! Requests as they are meant: read from JSON by the names of the world, every mistake by its field.

use dowise::Action;
use dowise::learn::Observation;
use dowise::world::Forbid;
use serde_json::Value;

use crate::fields::{Fields, given, kind};
use crate::problem::Problem;
use crate::served::Served;
use crate::step::Parts;

/// `decide`.
#[derive(Clone, Debug, PartialEq)]
pub struct Decide {
    /// Of this decision.
    pub event_id: String,
    /// Of the customer, patient or machine's episode.
    pub episode_id: String,
    /// Whose episode it is.
    pub subject: Option<String>,
    /// From 0; the service keeps it otherwise.
    pub stage: Option<usize>,
    /// State.
    pub state: usize,
    /// What is ruled out this time.
    pub forbid: Vec<Forbid>,
}

/// `observe`.
#[derive(Clone, Debug, PartialEq)]
pub struct Observe {
    /// Of this observation.
    pub observation_id: String,
    /// Of the decision.
    pub event_id: String,
    /// What was observed.
    pub parts: Parts,
    /// Whether it takes the place of what was said before.
    pub correction: bool,
}

impl Decide {
    /// Reads a body.
    pub fn read(served: &Served, body: &Value) -> Result<Decide, Problem> {
        let world = &served.world;
        let mut fields = Fields::of(body)?;
        let event_id = fields.id("event_id");
        let episode_id = fields.id("episode_id");
        let subject = fields.optional_id("subject");
        let stage = fields.number("stage", 1, world.horizon() as u64).map(|stage| stage as usize - 1);
        if fields.get("state").is_none() {
            fields.wrong("state", "expected an object {state factor: value}, found nothing");
        }
        let state = fields.state(world, "state").unwrap_or(0);
        let forbid = ruled_out(served, &mut fields);
        fields.end()?;
        Ok(Decide { event_id, episode_id, subject, stage, state, forbid })
    }
}

/// What `forbidden` and `allowed` rule out.
fn ruled_out(served: &Served, fields: &mut Fields<'_>) -> Vec<Forbid> {
    let mut forbid = Vec::new();
    match fields.get("forbidden") {
        None => {}
        Some(Value::Array(rules)) if rules.len() <= 100 => {
            for (i, rule) in rules.iter().enumerate() {
                forbid.extend(combination(served, fields, &format!("forbidden[{i}]"), rule));
            }
        }
        Some(other) => {
            fields.wrong(
                "forbidden",
                format!("expected a list of at most 100 {{lever: value or values}}, found {}", kind(other)),
            );
        }
    }
    if let Some(allowed) = fields.get("allowed")
        && let Some(rule) = combination(served, fields, "allowed", allowed)
    {
        // Every other value of a lever is ruled out.
        let others = |(lever, values): (usize, Vec<bool>)| (lever, values.into_iter().map(|v| !v).collect());
        forbid.extend(rule.levers.into_iter().map(|l| Forbid { when: Vec::new(), levers: vec![others(l)] }));
    }
    forbid
}

/// `what-if`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WhatIf {
    /// From 0.
    pub stage: usize,
    /// State.
    pub state: usize,
    /// What is ruled out.
    pub forbid: Vec<Forbid>,
    /// What would be done.
    pub action: Option<Action>,
}

impl WhatIf {
    /// Reads a body.
    pub(crate) fn read(served: &Served, body: &Value) -> Result<WhatIf, Problem> {
        let world = &served.world;
        let mut fields = Fields::of(body)?;
        let stage = fields.number("stage", 1, world.horizon() as u64).map_or(0, |stage| stage as usize - 1);
        if fields.get("state").is_none() {
            fields.wrong("state", "expected an object {state factor: value}, found nothing");
        }
        let state = fields.state(world, "state").unwrap_or(0);
        let forbid = ruled_out(served, &mut fields);
        let action = intervention(served, &mut fields, "intervention");
        fields.end()?;
        Ok(WhatIf { stage, state, forbid, action })
    }
}

/// An intervention of the world, if one is given.
fn intervention(served: &Served, fields: &mut Fields<'_>, name: &'static str) -> Option<Action> {
    let world = &served.world;
    fields.get(name)?;
    let levers = fields.values(world, name, world.levers(), "lever");
    let action = world.interventions().action(&levers);
    if world.interventions().rank(action).is_none() {
        fields.wrong(name, format!("this world has no intervention {}", world.describe_action(action)));
        return None;
    }
    Some(action)
}

/// `{lever: value}` or `{lever: [values]}`.
fn combination(served: &Served, fields: &mut Fields<'_>, path: &str, value: &Value) -> Option<Forbid> {
    let world = &served.world;
    let Value::Object(pairs) = value else {
        fields.wrong(path, format!("expected an object {{lever: value or values}}, found {}", kind(value)));
        return None;
    };
    let mut levers = Vec::new();
    for (name, value) in pairs {
        let Some(position) = world.levers().iter().position(|&id| world.variable(id).name == *name) else {
            let names: Vec<&str> = world.levers().iter().map(|&id| world.variable(id).name.as_str()).collect();
            fields.wrong(&format!("{path}.{name}"), format!("there is no such lever; there are {}", names.join(", ")));
            continue;
        };
        let id = world.levers()[position];
        let mut chosen = vec![false; world.variable(id).size()];
        let listed = match value {
            Value::Array(values) => values.iter().collect(),
            one => vec![one],
        };
        for one in listed {
            match world.read_value(id, &given(one)) {
                Ok(Some(v)) => chosen[v] = true,
                Ok(None) => fields.wrong(&format!("{path}.{name}"), "expected a value or a list of values, found null"),
                Err(error) => fields.wrong(&format!("{path}.{name}"), error.to_string()),
            }
        }
        levers.push((position, chosen));
    }
    if levers.is_empty() {
        fields.wrong(path, "expected at least one lever");
        return None;
    }
    Some(Forbid { when: Vec::new(), levers })
}

impl Observe {
    /// Reads a body.
    pub fn read(served: &Served, body: &Value) -> Result<Observe, Problem> {
        let world = &served.world;
        let mut fields = Fields::of(body)?;
        let mut parts = Parts::none(served);
        let observation_id = fields.id("observation_id");
        let event_id = fields.id("event_id");
        parts.keys = fields.values(world, "keys", world.keys(), "key variable");
        parts.levers = fields.values(world, "levers", world.levers(), "lever");
        parts.next = fields.state(world, "next_state");
        parts.done = fields.flag("done");
        let correction = fields.flag("correction");
        match fields.get("rewards") {
            None => {}
            Some(Value::Object(terms)) => {
                let blank = Observation::at(&served.knowledge, 0, 0).expect("invariant: there is a first state");
                for (name, value) in terms.iter().filter(|(_, v)| !v.is_null()) {
                    let path = format!("rewards.{name}");
                    let Some(paid) = value.as_f64() else {
                        fields.wrong(&path, format!("expected a number, found {}", kind(value)));
                        continue;
                    };
                    match blank.clone().paid_by(&served.knowledge, name, paid) {
                        Ok(_) => {
                            let term = world.rewards().iter().position(|r| r.name == *name);
                            parts.rewards[term.expect("invariant: the term was found")] = Some(paid);
                        }
                        Err(error) => fields.wrong(&path, error.to_string()),
                    }
                }
            }
            Some(other) => {
                fields.wrong("rewards", format!("expected an object {{reward term: number}}, found {}", kind(other)))
            }
        }
        parts.did = intervention(served, &mut fields, "did");
        fields.end()?;
        Ok(Observe { observation_id, event_id, parts, correction })
    }
}
