//! Tests of model-based evaluation against brute-force references: the mean as a world, and all outcomes of tiny
//! worlds.

use super::*;
use crate::data::LogStep;
use crate::kernel::Kernel;
use crate::simulate::{Outcome, Simulator};
use crate::world::{Start, World};
use crate::{Knowledge, Planner, worlds};

/// A log with uniformly random interventions.
fn log(world: &World, knowledge: &Knowledge, episodes: u64, seed: u64) -> Episodes {
    let simulator = Simulator::new(world).unwrap();
    let [mut starts, mut rng] = Simulator::streams(seed);
    let mut log = Episodes::new(knowledge, 3).unwrap();
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        let mut seen = Vec::new();
        for stage in 0..world.horizon() {
            if world.has_ended(state) {
                break;
            }
            let action = simulator.any_allowed(state, &mut rng);
            let mut outcome = Outcome::default();
            simulator.step(state, action, &mut rng, &mut outcome);
            let step = outcome.observation(stage, state, action).into_owned();
            state = outcome.next_state;
            seen.push(LogStep::new(episode, step));
        }
        log.add(&seen).unwrap();
    }
    log
}

fn some_policy(world: &World) -> Vec<Action> {
    let simulator = Simulator::new(world).unwrap();
    let [_, mut rng] = Simulator::streams(99);
    let n = world.n_states();
    (0..world.horizon() * n).map(|i| simulator.any_allowed(i % n, &mut rng)).collect()
}

fn small_paper() -> World {
    World::new(worlds::Paper { levels: 2, levers: 2, factors: 2, horizon: 3, ..Default::default() }.spec().unwrap())
        .unwrap()
}

/// Models of a log under three kinds of knowledge. Checks that a policy's mean values equal those in the mean world.
fn models_that_follow_the_mean(name: &str, world: &World) -> (Vec<Model>, Vec<Action>) {
    let (of, policy) = (Knowledge::of(world), some_policy(world));
    let knowledge = [of.clone(), of.clone().without_rewards(), of.without_mechanisms().without_rewards()];
    let model = |knowledge: &Knowledge| {
        let model = Model::new(log(world, knowledge, 30, 1).summary(), 0.1).unwrap();
        let value_hs = model.value(Estimator::Mean { prior: 2.0 }, Followed::Policy(&policy)).unwrap();
        let mean = model.mean_world(2.0, Start::States(vec![(0, 1.0)]));
        let exact = Planner::new(&mean).unwrap().evaluate(&policy).unwrap();
        let most = exact.iter().fold(1.0f64, |most, v| most.max(v.abs()));
        let far = value_hs.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-9 * most, "{name}: {far}");
        model
    };
    (knowledge.iter().map(model).collect(), policy)
}

#[test]
fn following_by_the_mean_is_exact_evaluation_in_the_world_of_the_mean() {
    for name in ["paper", "river-swim", "treatment", "campaign"] {
        models_that_follow_the_mean(name, &worlds::world(name, &[]).unwrap());
    }
}

/// Worlds with terminal states, discounting, next-state rewards, and stage dependence of all of these.
fn gallery() -> Vec<(&'static str, World)> {
    let files = [
        ("adaptive-course", include_str!("../../../../../docs/gallery/adaptive-course.toml")),
        ("chronic-disease", include_str!("../../../../../docs/gallery/chronic-disease.toml")),
        ("irrigation", include_str!("../../../../../docs/gallery/irrigation.toml")),
        ("machine-maintenance", include_str!("../../../../../docs/gallery/machine-maintenance.toml")),
        ("push-notifications", include_str!("../../../../../docs/gallery/push-notifications.toml")),
        ("season-pricing", include_str!("../../../../../docs/gallery/season-pricing.toml")),
    ];
    files.map(|(name, text)| (name, World::from_toml(text, name).unwrap())).to_vec()
}

#[test]
fn following_by_the_mean_is_exact_where_episodes_end_count_less_and_pay_on_arrival() {
    for (name, world) in gallery() {
        let (models, policy) = models_that_follow_the_mean(name, &world);
        for model in models {
            let [low, high] = [Estimator::Pessimistic(Sets::Mixture), Estimator::Optimistic(Sets::Mixture)]
                .map(|r| model.value(r, Followed::Policy(&policy)).unwrap());
            let truth = Planner::new(&world).unwrap().evaluate(&policy).unwrap();
            let least = model.least_value(Followed::Policy(&policy)).unwrap();
            let inside =
                |i: usize| low[i] <= least[i] + 1e-9 && least[i] <= truth[i] + 1e-9 && truth[i] <= high[i] + 1e-9;
            assert!((0..truth.len()).all(inside), "{name}: the truth is not between its bounds");
        }
    }
}

#[test]
fn returns_of_episodes_are_discounted_and_complete_once_they_have_ended() {
    for (name, world) in gallery() {
        let knowledge = Knowledge::of(&world).without_rewards();
        let log = log(&world, &knowledge, 50, 2);
        let all = world.interventions();
        for episode in &log.episodes {
            let steps = log.steps_of(episode);
            let gains = steps.iter().map(|s| s.paid - all.cost(s.action.unwrap()));
            let by_hand: f64 = gains.enumerate().map(|(h, g)| world.discount().powi(h as i32) * g).sum();
            let found = log.gain(episode).unwrap();
            assert!((found - by_hand).abs() < 1e-9 * (1.0 + by_hand.abs()), "{name}");
            let [least, most] = behaviour::possible(&knowledge, 1);
            assert!(least - 1e-9 <= found && found <= most + 1e-9, "{name}: {found} beyond {least} to {most}");
        }
    }
}

/// V by enumerating all joint key values and next states.
fn by_hand(world: &World, policy: &[Action], stage: usize, state: usize) -> f64 {
    if stage == world.horizon() {
        return 0.0;
    }
    let kernel = Kernel::new(world).unwrap();
    let action = policy[stage * world.n_states() + state];
    let mut prob = vec![0.0; kernel.n_causes()];
    kernel.distribution(state, action, &mut prob);
    let mut values = vec![0u32; world.variables().len()];
    world.state().iter().zip(world.state_space().digits(state)).for_each(|(id, v)| values[id.ix()] = v as u32);
    let row = |ids: &[crate::world::VarId], values: &[u32]| {
        ids.iter().fold(0, |row, id| row * world.variable(*id).size() + values[id.ix()] as usize)
    };
    let mut sum = -world.interventions().cost(action);
    for (cause, p) in prob.iter().enumerate() {
        let variables = kernel.causes().variables();
        variables.iter().enumerate().for_each(|(i, id)| values[id.ix()] = kernel.causes().digit(cause, i) as u32);
        let paid = world.rewards().iter().map(|r| r.table.as_ref().unwrap()[row(&r.scope, &values)]);
        sum += p * paid.sum::<f64>();
        for next in 0..world.n_states() {
            let factors = world.transitions().iter().zip(world.state_space().digits(next));
            let likely: f64 = factors
                .map(|(m, v)| {
                    m.table.as_ref().unwrap()[row(&m.parents, &values) * world.variable(m.children[0]).size() + v]
                })
                .product();
            sum += p * likely * by_hand(world, policy, stage + 1, next);
        }
    }
    sum
}

#[test]
fn the_true_value_by_enumeration_is_between_pessimistic_and_optimistic_estimates() {
    let world = small_paper();
    let knowledge = Knowledge::of(&world).without_rewards();
    let log = log(&world, &knowledge, 40, 2);
    let model = Model::new(log.summary(), 0.1).unwrap();
    let policy = some_policy(&world);
    let mean = model.mean_world(2.0, Start::States(vec![(0, 1.0)]));
    let followed = model.value(Estimator::Mean { prior: 2.0 }, Followed::Policy(&policy)).unwrap();
    for state in 0..world.n_states() {
        assert!((by_hand(&mean, &policy, 0, state) - followed[state]).abs() < 1e-12);
        let truth = by_hand(&world, &policy, 0, state);
        let [low, high] = [Estimator::Pessimistic(Sets::Mixture), Estimator::Optimistic(Sets::Mixture)]
            .map(|r| model.value(r, Followed::Policy(&policy)).unwrap()[state]);
        let least = model.least_value(Followed::Policy(&policy)).unwrap()[state];
        assert!(low <= least && least < truth && truth < high && least < followed[state] && followed[state] < high);
    }
}

/// Two key variables, one an effect of the other, and a reward that every value of them earns, or its opposite.
fn chain(sign: i32) -> World {
    let [low, high] = if sign > 0 { [0, 1] } else { [-1, 0] };
    let text = format!(
        "dowise = 1\nhorizon = 2\n[state.s]\nvalues = 2\nscope = [\"k\"]\nnext.rows = [{{ when = {{ k = 1 }}, p = [0.3, 0.7] }}, \
         {{ p = [0.8, 0.2] }}]\nstart = 0\n[lever.a]\nvalues = 2\n[key.k]\nvalues = 2\nparents = [\"a\"]\n\
         p = [[0.8, 0.2], [0.3, 0.7]]\n[key.y]\nvalues = 2\nparents = [\"k\", \"s\"]\n\
         p = [[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.2, 0.8]]]\n[reward.r]\nscope = [\"y\", \"k\"]\n\
         range = [{low}, {high}]\nvalue = [[0, {}], [{}, {sign}]]\n[interventions]\nset = \"all\"",
        0.5 * f64::from(sign),
        0.25 * f64::from(sign)
    );
    World::from_toml(&text, "chain.toml").unwrap()
}

#[test]
fn bounds_of_opposite_rewards_are_opposite() {
    let bounds = |sign: i32| {
        let world = chain(sign);
        let knowledge = Knowledge::of(&world).without_rewards().without_mechanisms();
        let model = Model::new(log(&world, &knowledge, 200, 5).summary(), 0.1).unwrap();
        let policy = vec![Action(1); world.horizon() * world.n_states()];
        let who = Followed::Policy(&policy);
        let low = model.value(Estimator::Pessimistic(Sets::Mixture), who).unwrap()[0];
        let high = model.value(Estimator::Optimistic(Sets::Mixture), who).unwrap()[0];
        [low, model.least_value(who).unwrap()[0], high]
    };
    let ([worst, least, most], [_, of_opposite, _]) = (bounds(1), bounds(-1));
    let high_of_opposite = bounds(-1)[2];
    assert!((least + high_of_opposite).abs() < 1e-9, "{least} {high_of_opposite}");
    assert!((most + of_opposite).abs() < 1e-9, "{most} {of_opposite}");
    assert!(most - least < 0.9 * (most - worst), "the radius alone gives {worst}, both give {least} to {most}");
}

#[test]
fn the_best_plan_of_an_estimator_has_its_stated_value_when_followed() {
    for name in ["paper", "treatment"] {
        let world = worlds::world(name, &[]).unwrap();
        let knowledge = Knowledge::of(&world).without_rewards();
        let model = Model::new(log(&world, &knowledge, 50, 3).summary(), 0.1).unwrap();
        for reading in [
            Estimator::Mean { prior: 2.0 },
            Estimator::Pessimistic(Sets::Mixture),
            Estimator::Optimistic(Sets::Mixture),
        ] {
            let plan = model.plan(reading).unwrap();
            let followed = model.value(reading, Followed::Policy(&plan.policy_hs)).unwrap();
            let far = plan.value_hs.iter().zip(&followed).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 1e-7, "{name} {reading:?}: {far}");
        }
    }
}

#[test]
fn bounds_are_never_beyond_what_rewards_allow() {
    let world = small_paper();
    let knowledge = Knowledge::of(&world).without_rewards();
    let options = OfflineOptions { samples: 40, played: 10, ..OfflineOptions::default() };
    let found = evaluate(&log(&world, &knowledge, 2, 4), &some_policy(&world), &options).unwrap();
    let [low, high] = behaviour::possible(&knowledge, world.horizon());
    assert_eq!((low, high), (0.0, 3.0), "an episode of three steps that pay between 0 and 1");
    // Two episodes carry almost no information, so that unclipped bounds would leave the range.
    assert_eq!(found.guaranteed, Some(Interval { low, high }));
    assert_eq!(found.logged.returns.unwrap().guaranteed, Interval { low, high });
    // If episodes may end early, the minimum is that of one step.
    assert_eq!(behaviour::possible(&knowledge, 1), [0.0, 3.0]);
}

#[test]
fn whoever_was_logged_is_worth_the_mixture_of_what_they_did() {
    // Compares with the value of the empirical frequencies in each stage and state, computed directly.
    let world = small_paper();
    let log = log(&world, &Knowledge::of(&world), 200, 5);
    let behaviour = Behaviour::new(&log, None);
    let n_causes = log.view.layout.n_causes;
    let loss: Vec<f64> = (0..n_causes).map(|c| (c * c) as f64).collect();
    for stage in 0..world.horizon() {
        for state in 0..world.n_states() {
            let here = log.steps.iter().filter(|s| s.stage as usize == stage && s.state as usize == state);
            let costs = world.interventions();
            let values: Vec<f64> =
                here.map(|s| loss[s.cause.unwrap() as usize] + costs.cost(s.action.unwrap())).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let found = behaviour.expect(stage, state, &loss);
            assert!(values.is_empty() || (found - mean).abs() < 1e-12);
        }
    }
}
