//! Contexts of a bandit: with a horizon of one step, state factors need no next values.

use crate::world::{Condition, Form, Kind, MechanismSpec, Outcome, RowSpec, WorldSpec};

/// Lets state factors without a transition stay as they are, if nothing comes after the first step.
pub(super) fn stay(spec: &mut WorldSpec) {
    if spec.horizon.value.get() != Some(&1) {
        return;
    }
    for variable in spec.variables.iter().filter(|variable| variable.kind.get() == Some(&Kind::State)) {
        let next = format!("next.{}", variable.name.value);
        let pays = spec.rewards.iter().any(|r| r.scope.iter().any(|s| s.value == next.as_str()));
        let moves = |m: &MechanismSpec| m.children.iter().any(|child| child.value == variable.name.value);
        if pays || spec.transitions.iter().any(moves) {
            continue;
        }
        let outcome = Outcome::SameAs(variable.name.clone().into());
        spec.transitions.push(MechanismSpec {
            children: vec![variable.name.clone().into()],
            parents: vec![variable.name.clone().into()],
            form: Form::Rows(vec![RowSpec { when: Condition::default(), outcome, at: None }]),
            learn: None,
            at: None,
        });
    }
}
