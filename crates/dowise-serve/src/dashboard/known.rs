//! What is known: of each table how much was seen, the causal graph, and what an intervention would set off.

use dowise::Action;
use dowise::learn::{ArrowSeen, Evidence, SeenOf, TableSeen};
use dowise::world::{Forbid, Kind};
use serde_json::{Value, json};

use crate::decide::allows;
use crate::served::Served;
use crate::snapshot::Snapshot;

fn evidence(served: &Served, snapshot: &Snapshot) -> Option<Evidence> {
    Evidence::restore(&served.knowledge, &served.options, &snapshot.evidence).ok()
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
    let tables = evidence(served, snapshot).map(|evidence| evidence.tables()).unwrap_or_default();
    Value::Array(tables.into_iter().map(one).collect())
}

/// The causal graph: variables and arrows. For each arrow how strongly it is believed to act (`null`: not seen yet), and how often the mechanism
/// behind it was seen (`null`: it was given).
pub(crate) fn graph(served: &Served, snapshot: &Snapshot) -> Value {
    let world = &served.world;
    let evidence = evidence(served, snapshot);
    let seen = evidence.as_ref().map(Evidence::tables).unwrap_or_default();
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
    let edge = |ArrowSeen { of, parent, child, strength }: ArrowSeen| {
        let to = if of == SeenOf::Transition { format!("{child} next") } else { child.clone() };
        json!({"from": parent, "to": to, "strength": strength, "visits": visits(of, &child)})
    };
    let arrows = evidence.as_ref().map(Evidence::arrows).unwrap_or_default();
    let edges: Vec<Value> = arrows.into_iter().map(edge).collect();
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
    let action_values = &snapshot.action_values;
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
        Some(action_values.plan().action(stage, state))
    } else {
        action_values.best_without(stage, state, forbid).map(|(_, action)| action)
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
