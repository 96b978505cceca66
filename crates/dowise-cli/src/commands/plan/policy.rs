//! Reads a policy: rules for stages and states, the first that fits counts.

use std::path::Path;

use dowise::{Action, World};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::naming;
use crate::output::Failure;

/// As written; what a plan's JSON has besides is not needed.
#[derive(Deserialize)]
struct PolicyFile {
    policy: Vec<RuleFile>,
}

#[derive(Deserialize)]
struct RuleFile {
    stage: Option<usize>,
    #[serde(default)]
    state: Map<String, Value>,
    r#do: Map<String, Value>,
}

/// A rule by positions.
struct Rule {
    stage: Option<usize>,
    pattern: Vec<(usize, usize)>,
    action: Action,
}

/// One intervention for every stage and state.
pub(super) fn read(file: &Path, world: &World) -> Result<Vec<Action>, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| Failure::Io(format!("cannot read {name}: {e}")))?;
    let written: PolicyFile =
        serde_json::from_str(&text).map_err(|e| Failure::Usage(format!("{name} is not a policy: {e}")))?;
    let mut rules = vec![];
    for (i, rule) in written.policy.iter().enumerate() {
        let wrong = |e: String| Failure::Usage(format!("{name}: rule {}: {e}", i + 1));
        if rule.stage.is_some_and(|h| h == 0 || h > world.horizon()) {
            return Err(wrong(format!("stages run from 1 to {}", world.horizon())));
        }
        let pattern = naming::read_pattern(world, &rule.state).map_err(wrong)?;
        let action = naming::read_intervention(world, &rule.r#do).map_err(wrong)?;
        rules.push(Rule { stage: rule.stage, pattern, action });
    }
    let mut policy = Vec::with_capacity(world.horizon() * world.n_states());
    for stage in 1..=world.horizon() {
        for s in 0..world.n_states() {
            let fits = |rule: &&Rule| {
                rule.stage.is_none_or(|h| h == stage)
                    && rule.pattern.iter().all(|&(factor, value)| world.state_space().digit(s, factor) == value)
            };
            let Some(rule) = rules.iter().find(fits) else {
                let state = Value::Object(naming::state(world, s));
                return Err(Failure::Usage(format!(
                    "{name}: no rule fits stage {stage} and state {state}; a last rule without stage and state fits all"
                )));
            };
            let digits = world.state_space().digits(s);
            if !world.interventions().allows(&digits, rule.action) {
                let action = Value::Object(naming::intervention(world, rule.action));
                let state = Value::Object(naming::state(world, s));
                return Err(Failure::Usage(format!("{name}: {action} is not allowed in state {state}")));
            }
            policy.push(rule.action);
        }
    }
    Ok(policy)
}
