//! What `dowise plan` prints for people: what is always the same once, then a table for what differs.

use dowise::{World, plan::Plan};

use crate::factors::FactorUse;
use crate::levers::LeverUse;
use crate::output::Output;
use crate::table::{self, Align, Amounts};

/// The most states printed for a stage unless all are asked for.
const MOST_STATES: usize = 40;

/// The best policy.
pub(super) fn planned(world: &World, plan: &Plan, value: f64, all: bool, output: &Output) -> String {
    let amounts = Amounts::of(plan.value_hs.iter().copied().chain([value]));
    let expected = amounts.show(value);
    let first = format!("{}: {expected} expected over {}.", world.name(), table::episode(world));
    let mut text = table::wrapped(&first) + "\n";
    let levers = LeverUse::of(world, &plan.policy_hs);
    if let Some(sentence) = levers.sentence() {
        text += &format!("{}\n", table::wrapped(&sentence));
    }
    if levers.varying.iter().any(|&i| plan.policy_hs.iter().any(|&a| world.interventions().lever(a, i).is_none())) {
        text += "A lever marked – is left alone.\n";
    }
    let shown: Vec<usize> = (0..plan.horizon).flat_map(|h| states_shown(world, plan, h, all).0).collect();
    let factors = FactorUse::of(world, &shown);
    if let Some(sentence) = factors.sentence() {
        text += &format!("{}\n", table::wrapped(&sentence));
    }
    let mut stage = 0;
    while stage < plan.horizon {
        // States that show their stage differ from stage to stage.
        let alike = world.time_index().is_none();
        let same = |h: &usize| alike && (0..plan.n_states).all(|s| plan.action(*h, s) == plan.action(stage, s));
        let last = (stage + 1..plan.horizon).take_while(same).last().unwrap_or(stage);
        let title = if last > stage {
            format!("Stages {} to {} (values at stage {})", stage + 1, last + 1, stage + 1)
        } else {
            format!("Stage {}", stage + 1)
        };
        let table = stage_table(world, plan, stage, (&factors, &levers), all, amounts);
        text += &format!("\n{}\n{table}", output.heading(&title));
        stage = last + 1;
    }
    text
}

/// A given policy's value.
pub(super) fn evaluated(world: &World, value: f64, best_value: f64) -> String {
    let amounts = Amounts::of([value, best_value]);
    let text = format!(
        "{} expected over {}; the best policy has {}, so {} is lost.\n",
        amounts.show(value),
        table::episode(world),
        amounts.show(best_value),
        // A difference within rounding is none.
        amounts.show((best_value - value).max(0.0))
    );
    table::wrapped(text.trim_end()) + "\n"
}

/// The states that are printed for a stage, and how many more there are. Where an episode has ended nothing is decided.
fn states_shown(world: &World, plan: &Plan, stage: usize, all: bool) -> (Vec<usize>, usize) {
    let mut decided: Vec<usize> = (0..plan.n_states).filter(|&s| world.decides_at(stage, s)).collect();
    let n = decided.len();
    if !all {
        decided.truncate(MOST_STATES);
    }
    let more = n - decided.len();
    (decided, more)
}

/// The value of a lever, or that it is left alone.
fn setting(world: &World, lever: usize, value: Option<usize>) -> String {
    value.map_or_else(|| "–".into(), |v| world.variable(world.levers()[lever]).values[v].clone())
}

fn stage_table(
    world: &World,
    plan: &Plan,
    stage: usize,
    (factors, levers): (&FactorUse, &LeverUse),
    all: bool,
    amounts: Amounts,
) -> String {
    let varying = &levers.varying;
    let name = |id: &dowise::world::VarId| world.variable(*id).name.as_str();
    let mut header: Vec<&str> = factors.varying.iter().map(|&i| name(&world.state()[i])).collect();
    header.push("value");
    header.extend(varying.iter().map(|&i| name(&world.levers()[i])));
    let (shown, more) = states_shown(world, plan, stage, all);
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|&s| {
            let state = world.state_space().digits(s);
            let value = |&i: &usize| world.variable(world.state()[i]).values[state[i]].clone();
            let state = factors.varying.iter().map(value);
            let set = world.interventions().levers(plan.action(stage, s));
            let set = varying.iter().map(|&i| setting(world, i, set[i]));
            state.chain([amounts.show(plan.value(stage, s))]).chain(set).collect()
        })
        .collect();
    let mut align = vec![Align::Left; header.len()];
    align[factors.varying.len()] = Align::Right;
    let mut text = match table::is_too_wide(&header, &rows) {
        false => table::wide_table(&header, &rows, &align),
        // Where a column for each variable does not fit, there is one for the state and one for the intervention.
        true => {
            let row = |&s: &usize| {
                let (state, action) = (factors.rest(world, s), plan.action(stage, s));
                vec![state, amounts.show(plan.value(stage, s)), levers.rest(world, action)]
            };
            let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
            table::table(&["state", "value", "intervention"], &rows, &[Align::Left, Align::Right, Align::Left])
        }
    };
    if more > 0 {
        text += &format!("and {} more states: --all prints them\n", table::count(more as u64));
    }
    text
}
