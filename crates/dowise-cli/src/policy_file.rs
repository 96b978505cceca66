//! A policy as a file: rules for stages and states, the first that fits counts.

use std::path::Path;

use dowise::{Action, World};
use dowise_study::{MOST_TEXT, read_text_file, write_file};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::naming;
use crate::output::Failure;

/// As written; what a plan's JSON has besides is not needed.
#[derive(Deserialize)]
struct PolicyFile {
    /// None if it was written by hand.
    schema: Option<String>,
    policy: Vec<RuleFile>,
}

/// What writes policies, with the version of how it does.
const SCHEMAS: [&str; 3] = ["dowise-policy/1", "dowise-plan/1", "dowise-safe/1"];

/// A name that is not known is refused: a misspelt `state` would make the rule fit all states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    stage: Option<usize>,
    #[serde(default)]
    state: Map<String, Value>,
    r#do: Map<String, Value>,
    /// What a plan says that it is worth from there on.
    #[serde(default, rename = "value")]
    _value: IgnoredAny,
}

/// A rule of a policy, its names resolved to positions.
struct PolicyRule {
    stage: Option<usize>,
    pattern: Vec<(usize, usize)>,
    action: Action,
}

/// One intervention for every stage and state. Where nothing is decided (the episode has ended, or the state does not occur at that
/// stage) a file need not say what to do; some intervention that is allowed stands there.
pub(crate) fn read(file: &Path, world: &World) -> Result<Vec<Action>, Failure> {
    let name = file.display();
    let text = read_text_file(file, MOST_TEXT).map_err(|e| Failure::Io(e.to_string()))?;
    let written: PolicyFile = serde_json::from_str(&text).map_err(|e| {
        Failure::Usage(format!(
            "{name} is not a policy: {e}; `dowise plan WORLD --json` and `dowise learn --policy` write one"
        ))
    })?;
    if let Some(schema) = written.schema.filter(|schema| !SCHEMAS.contains(&schema.as_str())) {
        let known = SCHEMAS.join(", ");
        return Err(Failure::Usage(format!("{name}: schema `{schema}`: a policy is one of {known}, or has no schema")));
    }
    let mut rules = vec![];
    for (i, rule) in written.policy.iter().enumerate() {
        let wrong = |e: String| Failure::Usage(format!("{name}: rule {}: {e}", i + 1));
        if rule.stage.is_some_and(|h| h == 0 || h > world.horizon()) {
            return Err(wrong(format!("stages run from 1 to {}", world.horizon())));
        }
        let pattern = naming::read_pattern(world, &rule.state).map_err(|e| wrong(e.to_string()))?;
        let action = naming::read_intervention(world, &rule.r#do).map_err(|e| wrong(e.to_string()))?;
        rules.push(PolicyRule { stage: rule.stage, pattern, action });
    }
    let mut policy = Vec::with_capacity(world.horizon() * world.n_states());
    for stage in 1..=world.horizon() {
        for s in 0..world.n_states() {
            let fits = |rule: &&PolicyRule| {
                rule.stage.is_none_or(|h| h == stage)
                    && rule.pattern.iter().all(|&(factor, value)| world.state_space().digit(s, factor) == value)
            };
            if !world.decides_at(stage - 1, s) {
                policy.push(world.some_action(s));
                continue;
            }
            let Some(rule) = rules.iter().find(fits) else {
                let state = Value::Object(naming::state(world, s));
                return Err(Failure::Usage(format!(
                    "{name}: no rule fits stage {stage} and state {state}; a last rule without stage and state fits all"
                )));
            };
            if !world.interventions().allows(&world.state_space().digits(s), rule.action) {
                let action = Value::Object(naming::intervention(world, rule.action));
                let state = Value::Object(naming::state(world, s));
                return Err(Failure::Usage(format!("{name}: {action} is not allowed in state {state}")));
            }
            policy.push(rule.action);
        }
    }
    Ok(policy)
}

/// A policy as `dowise learn --policy` writes it.
#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    world: &'a str,
    learner: &'a str,
    episodes: u64,
    /// Number of the plan and fingerprint of the evidence that it came from.
    plan: u64,
    evidence: String,
    policy: Vec<WrittenRule>,
}

#[derive(Serialize)]
struct WrittenRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<usize>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    state: Map<String, Value>,
    r#do: Map<String, Value>,
}

/// Writes a policy, `[stage][state]`: what made it from how many episodes, the number of its plan and the evidence behind it. Stages
/// that do the same everywhere are written once.
pub(crate) fn write(
    file: &Path,
    world: &World,
    (learner, episodes): (&str, u64),
    (plan, evidence): (u64, String),
    actions: &[Action],
) -> Result<(), Failure> {
    let n = world.n_states();
    let stages: Vec<&[Action]> = actions.chunks_exact(n).collect();
    // A world with a time index has other states at every stage.
    let same = (0..n).all(|s| world.occurs_at(0, s)) && stages.windows(2).all(|pair| pair[0] == pair[1]);
    let written = if same { &stages[..1] } else { &stages[..] };
    let mut rules = Vec::new();
    for (h, actions) in written.iter().enumerate() {
        let stage = (!same).then_some(h + 1);
        let decided: Vec<(usize, Action)> =
            actions.iter().copied().enumerate().filter(|&(s, _)| world.decides_at(h, s)).collect();
        if let Some((_, first)) = decided.first().filter(|(_, first)| decided.iter().all(|(_, a)| a == first)) {
            rules.push(WrittenRule { stage, state: Map::new(), r#do: naming::intervention(world, *first) });
            continue;
        }
        for (s, action) in decided {
            let state = naming::state(world, s);
            rules.push(WrittenRule { stage, state, r#do: naming::intervention(world, action) });
        }
    }
    let whole =
        Written { schema: "dowise-policy/1", world: world.name(), learner, episodes, plan, evidence, policy: rules };
    let mut text = serde_json::to_string_pretty(&whole).expect("invariant: names and numbers can be written");
    text.push('\n');
    write_file(file, text.as_bytes()).map_err(|e| Failure::Io(e.to_string()))
}
