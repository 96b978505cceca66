//! What `dowise plan` prints for people: what is always the same once, then a table for what differs.

use dowise::{World, plan::Plan};

use crate::output::Output;
use crate::table::{self, Align, Amounts};

/// The most states printed for a stage unless all are asked for.
const MOST_STATES: usize = 40;

/// The best policy.
pub(super) fn planned(world: &World, plan: &Plan, value: f64, all: bool, output: &Output) -> String {
    let amounts = Amounts::of(plan.value_hs.iter().copied().chain([value]));
    let (expected, steps) = (amounts.show(value), plan.horizon);
    let mut text = format!("{}: {expected} expected over an episode of {steps} steps.\n", world.name());
    let levers = LeverUse::of(world, plan);
    if !levers.always.is_empty() {
        text += &format!("{}\n", table::wrapped(&format!("At every stage and state: {}.", levers.always.join(", "))));
    }
    if levers.varying.iter().any(|&i| plan.policy_hs.iter().any(|&a| world.interventions().lever(a, i).is_none())) {
        text += "A lever marked – is left alone.\n";
    }
    let mut stage = 0;
    while stage < plan.horizon {
        let same = |h: &usize| (0..plan.n_states).all(|s| plan.action(*h, s) == plan.action(stage, s));
        let last = (stage + 1..plan.horizon).take_while(same).last().unwrap_or(stage);
        let title = if last > stage {
            format!("Stages {} to {} (values at stage {})", stage + 1, last + 1, stage + 1)
        } else {
            format!("Stage {}", stage + 1)
        };
        text += &format!(
            "\n{}\n{}",
            output.heading(&title),
            stage_table(world, plan, stage, &levers.varying, all, amounts)
        );
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

/// Which levers are always treated alike.
struct LeverUse {
    /// "lever = value" or "lever left alone", for levers that are the same at every stage and state.
    always: Vec<String>,
    /// Positions of the others.
    varying: Vec<usize>,
}

impl LeverUse {
    fn of(world: &World, plan: &Plan) -> LeverUse {
        let mut levers = LeverUse { always: vec![], varying: vec![] };
        for (i, &id) in world.levers().iter().enumerate() {
            let at = |a| world.interventions().lever(a, i);
            let first = plan.policy_hs.first().map(|&a| at(a));
            if plan.policy_hs.iter().all(|&a| Some(at(a)) == first) {
                let name = &world.variable(id).name;
                levers.always.push(match first.flatten() {
                    Some(v) => format!("{name} = {}", world.variable(id).values[v]),
                    None => format!("{name} left alone"),
                });
            } else {
                levers.varying.push(i);
            }
        }
        levers
    }
}

/// The value of a lever, or that it is left alone.
fn setting(world: &World, lever: usize, value: Option<usize>) -> String {
    value.map_or_else(|| "–".into(), |v| world.variable(world.levers()[lever]).values[v].clone())
}

fn stage_table(world: &World, plan: &Plan, stage: usize, varying: &[usize], all: bool, amounts: Amounts) -> String {
    let name = |id: &dowise::world::VarId| world.variable(*id).name.as_str();
    let mut header: Vec<&str> = world.state().iter().map(name).collect();
    header.push("value");
    header.extend(varying.iter().map(|&i| name(&world.levers()[i])));
    let shown = if all { plan.n_states } else { plan.n_states.min(MOST_STATES) };
    let rows: Vec<Vec<String>> = (0..shown)
        .map(|s| {
            let state = world.state_space().digits(s);
            let state = world.state().iter().zip(state).map(|(&id, v)| world.variable(id).values[v].clone());
            let levers = world.interventions().levers(plan.action(stage, s));
            let levers = varying.iter().map(|&i| setting(world, i, levers[i]));
            state.chain([amounts.show(plan.value(stage, s))]).chain(levers).collect()
        })
        .collect();
    let mut align = vec![Align::Left; header.len()];
    align[world.state().len()] = Align::Right;
    let mut text = table::wide_table(&header, &rows, &align);
    if shown < plan.n_states {
        text += &format!("and {} more states: --all prints them\n", table::count((plan.n_states - shown) as u64));
    }
    text
}
