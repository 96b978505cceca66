//! What `dowise plan` prints for people: what is always the same once, then a table for what differs.

use dowise::{World, plan::Plan};

use crate::levers::LeverUse;
use crate::output::Output;
use crate::table::{self, Align, Amounts};

/// The most states printed for a stage unless all are asked for.
const MOST_STATES: usize = 40;

/// The best policy.
pub(super) fn planned(world: &World, plan: &Plan, value: f64, all: bool, output: &Output) -> String {
    let amounts = Amounts::of(plan.value_hs.iter().copied().chain([value]));
    let (expected, steps) = (amounts.show(value), plan.horizon);
    let first = format!("{}: {expected} expected over an episode of {}.", world.name(), table::steps(steps));
    let mut text = table::wrapped(&first) + "\n";
    let levers = LeverUse::of(world, &plan.policy_hs);
    if let Some(sentence) = levers.sentence() {
        text += &format!("{}\n", table::wrapped(&sentence));
    }
    if levers.varying.iter().any(|&i| plan.policy_hs.iter().any(|&a| world.interventions().lever(a, i).is_none())) {
        text += "A lever marked – is left alone.\n";
    }
    let mut stage = 0;
    while stage < plan.horizon {
        // States that show their stage differ from stage to stage.
        let alike = world.clock().is_none();
        let same = |h: &usize| alike && (0..plan.n_states).all(|s| plan.action(*h, s) == plan.action(stage, s));
        let last = (stage + 1..plan.horizon).take_while(same).last().unwrap_or(stage);
        let title = if last > stage {
            format!("Stages {} to {} (values at stage {})", stage + 1, last + 1, stage + 1)
        } else {
            format!("Stage {}", stage + 1)
        };
        text += &format!("\n{}\n{}", output.heading(&title), stage_table(world, plan, stage, &levers, all, amounts));
        stage = last + 1;
    }
    text
}

/// A given policy's value.
pub(super) fn evaluated(value: f64, best_value: f64) -> String {
    let amounts = Amounts::of([value, best_value]);
    format!(
        "{} expected over an episode; the best policy has {}, so {} is lost.\n",
        amounts.show(value),
        amounts.show(best_value),
        // A difference within rounding is none.
        amounts.show((best_value - value).max(0.0))
    )
}

/// The value of a lever, or that it is left alone.
fn setting(world: &World, lever: usize, value: Option<usize>) -> String {
    value.map_or_else(|| "–".into(), |v| world.variable(world.levers()[lever]).values[v].clone())
}

fn stage_table(world: &World, plan: &Plan, stage: usize, levers: &LeverUse, all: bool, amounts: Amounts) -> String {
    let varying = &levers.varying;
    let name = |id: &dowise::world::VarId| world.variable(*id).name.as_str();
    let mut header: Vec<&str> = world.state().iter().map(name).collect();
    header.push("value");
    header.extend(varying.iter().map(|&i| name(&world.levers()[i])));
    // Where an episode has ended nothing is decided.
    let decided: Vec<usize> = (0..plan.n_states).filter(|&s| world.decides_at(stage, s)).collect();
    let shown = if all { decided.len() } else { decided.len().min(MOST_STATES) };
    let rows: Vec<Vec<String>> = decided[..shown]
        .iter()
        .map(|&s| {
            let state = world.state_space().digits(s);
            let state = world.state().iter().zip(state).map(|(&id, v)| world.variable(id).values[v].clone());
            let set = world.interventions().levers(plan.action(stage, s));
            let set = varying.iter().map(|&i| setting(world, i, set[i]));
            state.chain([amounts.show(plan.value(stage, s))]).chain(set).collect()
        })
        .collect();
    let mut align = vec![Align::Left; header.len()];
    align[world.state().len()] = Align::Right;
    let mut text = match table::is_too_wide(&header, &rows) {
        false => table::wide_table(&header, &rows, &align),
        // Where a column for each variable does not fit, there is one for the state and one for the intervention.
        true => {
            let row = |&s: &usize| {
                let (state, action) = (world.describe_state(s), plan.action(stage, s));
                vec![state, amounts.show(plan.value(stage, s)), levers.rest(world, action)]
            };
            let rows: Vec<Vec<String>> = decided[..shown].iter().map(row).collect();
            table::table(&["state", "value", "intervention"], &rows, &[Align::Left, Align::Right, Align::Left])
        }
    };
    if shown < decided.len() {
        text += &format!("and {} more states: --all prints them\n", table::count((decided.len() - shown) as u64));
    }
    text
}
