//! What is known: of each table how much was seen, the causal graph, and what an intervention would set off.

use dowise::Action;
use dowise::learn::{Evidence, SeenOf, TableSeen};
use dowise::world::{Forbid, Kind, Mechanism};
use serde_json::{Value, json};

use crate::decide::allows;
use crate::served::Served;
use crate::snapshot::Snapshot;

fn tables(served: &Served, snapshot: &Snapshot) -> Vec<TableSeen> {
    let evidence = Evidence::restore(&served.told, &served.options, &snapshot.evidence);
    evidence.map(|evidence| evidence.tables()).unwrap_or_default()
}

fn word(of: SeenOf) -> &'static str {
    match of {
        SeenOf::Transition => "transition",
        SeenOf::Mechanism => "mechanism",
        SeenOf::Reward => "reward",
    }
}

/// How much was seen of every table that is learned.
pub(crate) fn known(served: &Served, snapshot: &Snapshot) -> Value {
    let one = |t: TableSeen| {
        let (of, rows) = (word(t.of), t.rows.max(1) as f64);
        json!({"of": of, "names": t.names, "rows": t.rows, "rows_seen": t.rows_seen, "visits": t.visits,
               "share_seen": t.rows_seen as f64 / rows, "visits_per_row": t.visits as f64 / rows})
    };
    Value::Array(tables(served, snapshot).into_iter().map(one).collect())
}

/// The causal graph: variables, arrows, and for each arrow how often the mechanism behind it was seen (`null`: it was given).
pub(crate) fn graph(served: &Served, snapshot: &Snapshot) -> Value {
    let world = &served.world;
    let seen = tables(served, snapshot);
    let visits = |of: SeenOf, name: &str| {
        let whole = |t: &&TableSeen| t.of == of && (t.names.is_empty() || t.names.iter().any(|n| n == name));
        seen.iter().find(whole).map(|t| t.visits)
    };
    let kind = |kind: Kind| match kind {
        Kind::State => "state",
        Kind::Lever => "lever",
        Kind::Key => "key",
        Kind::Hidden => "hidden",
    };
    let nodes: Vec<Value> = world
        .variables()
        .iter()
        .map(|v| json!({"name": v.name, "kind": kind(v.kind), "values": v.values}))
        .chain(
            world
                .state()
                .iter()
                .map(|&id| json!({"name": format!("{} next", world.variable(id).name), "kind": "next"})),
        )
        .chain(world.rewards().iter().map(|r| json!({"name": r.name, "kind": "reward"})))
        .collect();
    let mut edges: Vec<Value> = Vec::new();
    let name = |id: dowise::world::VarId| world.variable(id).name.clone();
    let mut draw = |m: &Mechanism, of: SeenOf, suffix: &str| {
        for &child in &m.children {
            for &parent in &m.parents {
                let visits = visits(of, &name(child));
                edges.push(json!({"from": name(parent), "to": format!("{}{suffix}", name(child)), "visits": visits}));
            }
        }
    };
    world.mechanisms().iter().for_each(|m| draw(m, SeenOf::Mechanism, ""));
    world.transitions().iter().for_each(|m| draw(m, SeenOf::Transition, " next"));
    for term in world.rewards() {
        for &parent in &term.scope {
            edges.push(json!({"from": name(parent), "to": term.name, "visits": visits(SeenOf::Reward, &term.name)}));
        }
    }
    json!({"nodes": nodes, "edges": edges})
}

/// What an intervention would set off and be worth, beside the best one and the baseline.
pub(crate) fn what_if(
    served: &Served,
    snapshot: &Snapshot,
    stage: usize,
    state: usize,
    forbid: &[Forbid],
    asked: Option<Action>,
) -> Value {
    let digits = served.world.state_space().digits(state);
    let outlook = &snapshot.outlook;
    let one = |action: Action| {
        let foreseen = snapshot.foresee(served, stage, state, action);
        let allowed = served.world.interventions().allows(&digits, action) && allows(served, forbid, action);
        json!({
            "intervention": served.intervention(action),
            "allowed": allowed,
            "expected_value": foreseen.value,
            "expected_keys": foreseen.keys,
        })
    };
    let best = if forbid.is_empty() {
        Some(outlook.plan().action(stage, state))
    } else {
        outlook.best_without(stage, state, forbid).map(|(_, action)| action)
    };
    json!({
        "state": served.state(state),
        "stage": stage + 1,
        "policy": {"version": snapshot.version, "hash": snapshot.hash},
        "best": best.map(one),
        "asked": asked.map(one),
        "baseline": one(served.baseline(stage, state)),
    })
}
