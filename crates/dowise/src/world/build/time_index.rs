//! The time index: a world that refers to `stage` gets it as a known state factor.

use crate::world::{
    Condition, Form, Kind, MechanismSpec, Name, Outcome, RowSpec, Start, StartSpec, VarId, VariableSpec, World,
    WorldSpec, Written,
};

/// The name of the time index.
pub(super) const STAGE: &str = "stage";

/// If a scope, parent list or condition names `stage` and no variable has that name: the specification with a state
/// factor that counts the steps, from 1.
pub(super) fn expanded(spec: &WorldSpec) -> Option<WorldSpec> {
    let is_stage = |name: &Name| name.value == STAGE;
    if spec.variables.iter().any(|v| v.name.value == STAGE) {
        return None;
    }
    let mut scopes = spec.transitions.iter().chain(&spec.mechanisms).map(|m| &m.parents);
    let in_scopes = scopes.any(|names| names.iter().any(is_stage))
        || spec.rewards.iter().any(|r| r.scope.iter().any(is_stage))
        || spec.interventions.forbid.iter().any(|f| f.when.iter().any(|(name, _)| is_stage(name)));
    let named = |c: &Condition| c.names().any(|name| name == STAGE);
    if !in_scopes && !spec.ends.iter().any(|e| named(&e.when)) {
        return None;
    }
    let mut spec = spec.clone();
    // An excessive horizon is reported separately.
    let horizon = spec.horizon.value.get().map(|&horizon| horizon.clamp(1, super::MOST_VALUES as u64));
    spec.variables.push(VariableSpec {
        name: STAGE.into(),
        kind: Kind::State.into(),
        values: match horizon {
            None => vec![Written::UNREAD.into()],
            Some(horizon) => (1..=horizon).map(|h| h.to_string().into()).collect(),
        },
        values_at: None,
        costs: Vec::new(),
    });
    let outcome = Outcome::Shift { of: None, by: vec![(1, 1.0.into())] };
    spec.transitions.push(MechanismSpec {
        children: vec![STAGE.into()],
        parents: vec![STAGE.into()],
        form: Form::Rows(vec![RowSpec { when: Condition::default(), outcome, at: None }]),
        learn: None,
        at: None,
    });
    let first = || (STAGE.into(), Outcome::Is("1".into()));
    spec.start = match spec.start {
        StartSpec::Uniform => StartSpec::PerFactor(vec![first()]),
        StartSpec::PerFactor(mut factors) => {
            factors.push(first());
            StartSpec::PerFactor(factors)
        }
        StartSpec::Mixture { mut factors, parts } => {
            factors.push(first());
            StartSpec::Mixture { factors, parts }
        }
        StartSpec::States(mut rows) => {
            rows.iter_mut().for_each(|row| row.state.push((STAGE.into(), "1".into())));
            StartSpec::States(rows)
        }
    };
    Some(spec)
}

/// The time index of a world, if there is one: a state factor `stage` with the values 1 to H, which starts at 1 and
/// increases by one. It may be declared like any other factor.
pub(super) fn of(world: &World) -> Option<VarId> {
    let id = world.find(STAGE).filter(|id| world.state.contains(id))?;
    let axis = world.state_axis(id);
    let (n, transition) = (world.variable(id).size(), &world.transitions[axis]);
    let counts =
        n == world.horizon && world.variable(id).values.iter().enumerate().all(|(i, v)| *v == (i + 1).to_string());
    let moves = transition.parents == [id]
        && transition
            .table
            .as_ref()
            .is_some_and(|table| (0..n * n).all(|i| table[i] == f64::from(u8::from(i % n == (i / n + 1).min(n - 1)))));
    let starts = match &world.start {
        Start::Product(factors) => factors[axis].first() == Some(&1.0),
        Start::States(states) => states.iter().all(|&(s, _)| world.state_space.digit(s, axis) == 0),
    };
    (counts && moves && starts).then_some(id)
}
