//! World files: what is accepted can be written and read again, and planned in.

use dowise::plan::PlanError;
use dowise::world::Severity;
use dowise::{Arena, Knowledge, Learner, Planner, Preset, World};
use dowise_study::world_fingerprint;

use super::{Outcome, reason};
use crate::dense::{Flat, each_assignment, paid};

/// Bytes of a plan that is made while fuzzing; larger worlds are only read, written and measured.
const PLANNED: u128 = 1 << 18;

/// Entries of all tables of a world that is written and read again while fuzzing.
const WRITTEN: usize = 1 << 17;

/// Share of the size of a value by which a plan may be off: see docs/reference/reliability.md.
const ROUNDING: f64 = 1e-9;

pub(super) fn run(text: &str, seed: u64) -> Outcome {
    let world = match World::from_toml(text, "world.toml") {
        Ok(world) => world,
        Err(e) => {
            let _ = e.to_string();
            return Outcome::Refused(
                e.problems.iter().find(|p| p.severity == Severity::Error).map_or("", |p| p.code).to_owned(),
            );
        }
    };
    // A few values more can make a table of millions of numbers, whose text alone takes a second to read.
    let tables = world.transitions().iter().chain(world.mechanisms()).filter_map(|m| m.table.as_ref());
    let rewards = world.rewards().iter().filter_map(|r| r.table.as_ref());
    let entries: usize = tables.map(|t| t.len()).chain(rewards.map(|t| t.len())).sum();
    if entries > WRITTEN {
        return Outcome::Accepted;
    }
    if let Some(wrong) = round_trip(&world) {
        return Outcome::Wrong(wrong);
    }
    let knowledge = Knowledge::of(&world);
    let presets = Preset::all().iter().filter(|preset| preset.linear().is_none());
    let preset = presets.clone().nth(seed as usize % presets.count()).expect("invariant: one of them");
    let learner_bytes = Learner::bytes(&knowledge, &preset.options(10, 1));
    if Planner::bytes(&world) > PLANNED {
        return Outcome::Accepted;
    }
    let planner = match Planner::new(&world) {
        Ok(planner) => planner,
        Err(e) => return reason(&e.to_string()),
    };
    let badly_scaled = world.findings().iter().any(|p| p.code == "badly-scaled");
    let plan = planner.plan();
    match planner.verify(&plan) {
        Ok(_) => {}
        Err(PlanError::NotWorth { .. }) if badly_scaled => return reason("a plan that is not worth what it says"),
        Err(e) => return Outcome::Wrong(format!("a plan does not have the value of its policy: {e}")),
    }
    // A plan can be made without mechanisms that nothing depends on; brute force goes through them all.
    let compared = seed % 2 == 1 && !badly_scaled && world.is_fully_known() && is_small(&world);
    if compared && let Some(wrong) = by_force(&world, &plan) {
        return Outcome::Wrong(wrong);
    }
    if seed.is_multiple_of(8) && learner_bytes <= PLANNED {
        let (Ok(arena), Ok(mut learner)) = (Arena::new(&world), Learner::new(&knowledge, preset.options(10, 1))) else {
            return Outcome::Accepted;
        };
        let mut run = arena.run(seed);
        for _ in 0..2 {
            let regret = run.episode(&mut learner).regret;
            if !regret.is_finite() {
                return Outcome::Wrong(format!("the regret of {} is {regret}", preset.name()));
            }
        }
        let saved = learner.save();
        match Learner::restore(&knowledge, &saved) {
            Ok(again) if again.save() == saved => {}
            Ok(_) => return Outcome::Wrong(format!("{} is another one after being saved", preset.name())),
            Err(e) => return Outcome::Wrong(format!("{} was saved and cannot be restored: {e}", preset.name())),
        }
    }
    if seed % 64 == 1 {
        let _ = world.analyse(1000);
    }
    Outcome::Accepted
}

fn round_trip(world: &World) -> Option<String> {
    let text = world.to_toml();
    match World::from_toml(&text, "again.toml") {
        Err(e) => Some(format!("a world that was written cannot be read: {e}")),
        Ok(again) if again.to_toml() != text => Some("a world is another one after being written and read".into()),
        Ok(again) if world_fingerprint(&again) != world_fingerprint(world) => {
            Some("a world has another fingerprint after being written and read".into())
        }
        Ok(_) => None,
    }
}

/// Whether every assignment of every variable can be gone through for every intervention.
fn is_small(world: &World) -> bool {
    let product = |sizes: &mut dyn Iterator<Item = usize>| sizes.fold(1usize, usize::saturating_mul);
    let variables = product(&mut world.variables().iter().map(|v| v.size()));
    let interventions = product(&mut world.interventions().sizes().iter().map(|n| n + 1));
    variables.saturating_mul(interventions) <= 600 && world.horizon() <= 6
}

/// What a plan gets wrong against every intervention tried in every state.
fn by_force(world: &World, plan: &dowise::Plan) -> Option<String> {
    let flat = Flat::new(world);
    let best = flat.solve();
    let mut choices = Vec::new();
    for h in 0..flat.horizon {
        for s in 0..flat.n_states {
            match flat.actions[s].iter().position(|&a| a == plan.action(h, s)) {
                Some(a) => choices.push(a),
                None => return Some(format!("at stage {h} in state {s} the plan does what is not allowed")),
            }
        }
    }
    let choice = |h: usize, s: usize| choices[h * flat.n_states + s];
    let worth = flat.evaluate(choice);
    let sizes = Flat { reward: sizes_of(world, &flat), ..flat_copy(&flat) }.evaluate(choice);
    for h in 0..flat.horizon {
        for s in 0..flat.n_states {
            let within = ROUNDING * sizes[h][s] + f64::MIN_POSITIVE;
            let (said, worth, best) = (plan.value(h, s), worth[h][s], best[h][s]);
            if (said - worth).abs() > within || worth < best - within {
                return Some(format!("stage {h}, state {s}: the plan says {said}, is worth {worth}, best is {best}"));
            }
        }
    }
    None
}

fn flat_copy(flat: &Flat) -> Flat {
    Flat {
        horizon: flat.horizon,
        n_states: flat.n_states,
        actions: flat.actions.clone(),
        reward: flat.reward.clone(),
        prob: flat.prob.clone(),
        discount: flat.discount,
        ended: flat.ended.clone(),
    }
}

/// Expected absolute values of rewards and costs, `[state][action]`.
fn sizes_of(world: &World, flat: &Flat) -> Vec<Vec<f64>> {
    let of = |s: usize, a| {
        let levers = world.interventions().levers(a);
        let costs = levers.iter().enumerate().filter_map(|(l, v)| v.map(|v| world.interventions().costs()[l][v].abs()));
        let mut size: f64 = costs.sum();
        each_assignment(world, s, a, |values, p| {
            for term in world.rewards() {
                // Of next values the largest amount, which is no less than the mean of the absolute values.
                let paid = |next| paid(world, term, values, next).abs();
                let most =
                    if term.next.is_empty() { paid(0) } else { (0..flat.n_states).map(paid).fold(0.0, f64::max) };
                size += p * most;
            }
        });
        size
    };
    (0..flat.n_states).map(|s| flat.actions[s].iter().map(|&a| of(s, a)).collect()).collect()
}
