//! Tests of conservative exploration.

use std::ops::ControlFlow;

use super::*;
use crate::learn::wrappers::Wrapper;
use crate::learn::{Agent, Learner, LearnerSpec, Observation};
use crate::{Arena, World, worlds};

fn small_paper(seed: &str) -> World {
    worlds::world("paper", &[("factors", "2"), ("levels", "2"), ("horizon", "4"), ("seed", seed)]).unwrap()
}

fn learner(world: &World, name: &str, episodes: u64, seed: u64) -> Learner {
    name.parse::<LearnerSpec>().unwrap().learner(world, episodes, seed).unwrap()
}

/// The best of some random stationary policies: better than random, not optimal.
fn today(arena: &Arena) -> Vec<Action> {
    let knowledge = Knowledge::of(arena.world());
    let drawn = (0..8).map(|i| {
        let mut policy = Vec::new();
        super::super::explore::fill_at_random(&knowledge, 11, i, &mut policy);
        (arena.value_of(&policy).unwrap(), policy)
    });
    drawn.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
}

fn wrapper(learner: &mut Learner) -> &mut Baseline {
    match learner.around.last_mut() {
        Some(Wrapper::Baseline(baseline)) => baseline,
        _ => panic!("there is a baseline"),
    }
}

fn floor(arena: &Arena) -> f64 {
    let knowledge = Knowledge::of(arena.world());
    let least = knowledge.reward_range()[0] - knowledge.interventions().cost_range()[1];
    let least = if arena.world().ends().is_some() { least.min(0.0) } else { least };
    (0..arena.world().horizon()).map(|h| arena.world().discount().powi(h as i32) * least).sum()
}

/// The least slack of the guarantee, by exact values, at starting states if the baseline's value is known, and the
/// regret.
fn play(arena: &Arena, agent: &mut Learner, today: &[Action], alpha: f64, episodes: u64, seed: u64) -> (f64, f64) {
    let by_start = agent.around.iter().any(|a| matches!(a, Wrapper::Baseline(b) if b.value_s.is_some()));
    let values = arena.planner().evaluate(today).unwrap();
    let (mean, floor) = (arena.value_of(today).unwrap(), floor(arena));
    let (mut side, mut least, mut regret) = (0.0, 0.0f64, 0.0);
    let mut run = arena.run(seed);
    for _ in 0..episodes {
        let e = run.episode(agent);
        let [value, own] = match by_start {
            true => [arena.best().value(0, e.start) - e.regret, values[e.start]],
            false => [run.value_of_judged().unwrap(), mean],
        };
        side += value - floor - (1.0 - alpha) * (own - floor);
        least = least.min(side);
        regret += e.regret;
    }
    (least, regret)
}

#[test]
fn the_promise_is_kept_where_the_same_learner_without_it_breaks_it() {
    let (alpha, mut broken, mut free_all, mut kept_all) = (0.05, 0, 0.0, 0.0);
    for (name, known) in [
        ("graph-psrl", false),
        ("cf-ucbvi:unknown=rewards", false),
        ("c-psrl", true),
        ("cf-psrl:unknown=all", false),
        ("graph-psrl:guard=true", false),
        ("cf-ucbvi:schedule=visited", true),
        ("epsilon-greedy", false),
    ] {
        for seed in 1..=3 {
            let arena = Arena::new(&small_paper(&seed.to_string())).unwrap();
            let today = today(&arena);
            let mut free = learner(arena.world(), name, 300, seed);
            let (least, regret) = play(&arena, &mut free, &today, alpha, 300, seed);
            broken += u32::from(least < -1e-9);
            free_all += regret;
            let mut kept = learner(arena.world(), name, 300, seed);
            let values = arena.planner().evaluate(&today).unwrap();
            let known = known.then_some(&values[..arena.world().n_states()]);
            kept.keep_baseline(&today, alpha, known).unwrap();
            let (least, regret) = play(&arena, &mut kept, &today, alpha, 300, seed);
            kept_all += regret;
            assert!(least >= -1e-9, "{name}, seed {seed}: {least}");
            let report = kept.baseline().unwrap();
            assert!(report.room >= 0.0 && report.episodes == 300, "{name}, seed {seed}: {report:?}");
            assert!(report.fell_back > 0 && report.fell_back < 300, "{name}, seed {seed}: {report:?}");
        }
    }
    assert!(broken > 0, "the promise would have been kept without being watched");
    assert!(kept_all > free_all, "{kept_all} {free_all}");
}

/// Terminal states, a discount, and a next-state reward; the lever with an immediate reward ends episodes early.
const ENDING: &str = r#"
dowise = 1
horizon = 5
discount = 0.9
ends = { when = { health = "gone" } }
[state.health]
values = ["well", "ill", "gone"]
scope = ["health", "strain"]
next = { rows = [
  { when = { health = "gone" }, is = "gone" },
  { when = { strain = "yes" }, shift = { "0" = 0.4, "1" = 0.6 } },
  { shift = { "-1" = 0.4, "0" = 0.5, "1" = 0.1 } },
] }
start = { well = 0.5, ill = 0.5 }
[lever.work]
values = ["none", "some", "much"]
[key.strain]
values = ["no", "yes"]
parents = ["work"]
p = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]
[reward.done]
scope = ["strain"]
value = [0.1, 0.5]
[reward.kept]
scope = ["next.health"]
value = { well = 0.5, ill = 0.1 }
"#;

#[test]
fn the_promise_holds_where_episodes_end_and_later_steps_count_less() {
    let arena = Arena::new(&World::from_toml(ENDING, "ending.toml").unwrap()).unwrap();
    let today = today(&arena);
    let values = arena.planner().evaluate(&today).unwrap();
    for (name, known) in [("graph-psrl", false), ("c-psrl:unknown=rewards", false), ("cf-ucbvi", true)] {
        for seed in 1..=3 {
            let mut kept = learner(arena.world(), name, 400, seed);
            kept.keep_baseline(&today, 0.1, known.then_some(&values[..3])).unwrap();
            let (least, _) = play(&arena, &mut kept, &today, 0.1, 400, seed);
            let report = kept.baseline().unwrap();
            assert!(least >= -1e-9, "{name}, seed {seed}: {least}");
            assert!(report.fell_back > 0 && report.fell_back < 300 && report.room >= 0.0, "{name}: {report:?}");
            let again = Learner::restore(&Knowledge::of(arena.world()), &kept.save());
            assert!(again.is_err() || again.unwrap().save() == kept.save());
        }
    }
}

#[test]
fn returns_of_episodes_are_discounted_and_stop_at_their_end() {
    let world = World::from_toml(ENDING, "ending.toml").unwrap();
    let knowledge = Knowledge::of(&world);
    let mut agent = learner(&world, "graph-psrl", 10, 1);
    agent.keep_baseline(&[world.some_action(0); 15], 0.1, None).unwrap();
    let step = wrapper(&mut agent).step;
    assert_eq!(step, [0.0, 1.0], "nothing after the end is between what steps pay");
    let mut session = agent.begin();
    for (stage, [state, next], z) in [(0, [0, 1], 1u32), (1, [1, 2], 1)] {
        let action = session.act(&mut agent, state).unwrap();
        let seen = Observation::at(&knowledge, stage, state).unwrap().did_action(&knowledge, action).unwrap();
        let seen = seen.saw(&knowledge, &[z][..]).unwrap().then(&knowledge, next).unwrap();
        session.observe(&mut agent, &seen).unwrap();
    }
    // 0.5 + 0.1 for arriving ill, then 0.9 · 0.5; the two terms were not observed and are known.
    let [least, most] = session.brought(step, &world);
    assert!((least - 1.05).abs() < 1e-12 && least == most, "{least} {most}");
}

#[test]
fn the_price_does_not_grow_with_the_world() {
    let fell_back = |factors: &str| {
        let text = [("factors", factors), ("levels", "2"), ("horizon", "4"), ("seed", "1")];
        let arena = Arena::new(&worlds::world("paper", &text).unwrap()).unwrap();
        let mut agent = learner(arena.world(), "graph-psrl", 400, 1);
        agent.keep_baseline(&today(&arena), 0.1, None).unwrap();
        arena.run(1).episodes(400, &mut agent, |_| ControlFlow::Continue(()));
        agent.baseline().unwrap().fell_back
    };
    let [small, large] = [fell_back("1"), fell_back("5")];
    assert!(small > 10 && large < 2 * small, "{small} {large}");
}

#[test]
fn a_saved_learner_goes_on_alike_and_old_ones_have_no_baseline() {
    let arena = Arena::new(&small_paper("3")).unwrap();
    let today = today(&arena);
    for name in ["cf-psrl", "graph-psrl:guard=true", "c-lsvi-ucb"] {
        let mut agent = learner(arena.world(), name, 100, 2);
        assert!(!agent.save().contains("baseline"));
        agent.keep_baseline(&today, 0.1, None).unwrap();
        let mut run = arena.run(2);
        run.episodes(40, &mut agent, |_| ControlFlow::Continue(()));
        let text = agent.save();
        let mut restored = Learner::restore_in(arena.world(), &text).unwrap();
        assert_eq!(restored.save(), text);
        let mut other = run.clone();
        run.episodes(40, &mut agent, |_| ControlFlow::Continue(()));
        other.episodes(40, &mut restored, |_| ControlFlow::Continue(()));
        assert_eq!(restored.save(), agent.save());
        assert_eq!(restored.baseline(), agent.baseline());
    }
}

#[test]
fn a_forged_baseline_is_not_restored() {
    let arena = Arena::new(&small_paper("3")).unwrap();
    let mut agent = learner(arena.world(), "cf-psrl", 100, 2);
    agent.keep_baseline(&today(&arena), 0.1, None).unwrap();
    arena.run(2).episodes(10, &mut agent, |_| ControlFlow::Continue(()));
    let knowledge = Knowledge::of(arena.world());
    let good = wrapper(&mut agent).saved();
    assert!(Baseline::restored(good.clone(), &knowledge).is_ok());
    let with = |ended: u64| {
        let mut own = good.own;
        own.ended = ended;
        own
    };
    for (i, bad) in [
        SavedBaseline { alpha: 1.0, ..good.clone() },
        SavedBaseline { delta: 0.0, ..good.clone() },
        SavedBaseline { policy: Vec::new(), ..good.clone() },
        SavedBaseline { own: with(u64::MAX), ..good.clone() },
        SavedBaseline { own: with(1), ..good.clone() },
        SavedBaseline { known: [1e9, 0.0], ..good.clone() },
    ]
    .into_iter()
    .enumerate()
    {
        assert!(Baseline::restored(bad, &knowledge).is_err(), "{i}");
    }
}

#[test]
fn episodes_side_by_side_count_at_their_worst_until_they_end() {
    let arena = Arena::new(&small_paper("1")).unwrap();
    let (knowledge, today) = (Knowledge::of(arena.world()), today(&arena));
    let mut agent = learner(arena.world(), "graph-psrl", 500, 1);
    agent.keep_baseline(&today, 0.1, None).unwrap();
    arena.run(1).episodes(150, &mut agent, |_| ControlFlow::Continue(()));
    // However many episodes begin at once, only as many follow the learner's plans as may all have the worst return.
    let before = agent.baseline().unwrap();
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(agent.begin());
    }
    let now = agent.baseline().unwrap();
    assert!(now.episodes == 350 && now.fell_back > before.fell_back + 100 && now.fell_back < before.fell_back + 200);
    // Episodes end in another order; one third was never run.
    let mut room = agent.baseline().unwrap().room;
    for (i, mut session) in open.into_iter().rev().enumerate() {
        if i % 3 > 0 {
            session.act(&mut agent, i % knowledge.n_states()).unwrap();
        }
        session.end(&mut agent);
        let now = agent.baseline().unwrap().room;
        // The run episodes have no observations, so they stay at their worst.
        assert!(i % 3 == 0 || now >= room - 1e-9, "{i}: {now} {room}");
        room = now;
    }
    assert_eq!(agent.baseline().unwrap().episodes, 350 - 200_u64.div_ceil(3));
}

#[test]
fn missing_rewards_count_at_their_minimum_and_known_ones_at_their_mean() {
    let world = worlds::world("treatment", &[]).unwrap();
    let (knowledge, arena) = (Knowledge::of(&world), Arena::new(&world).unwrap());
    let hidden = knowledge.clone().without_rewards();
    let action = arena.best().action(0, 0);
    let keys = vec![0u32; world.keys().len()];
    let step = Observation::at(&knowledge, 0, 0).unwrap().did_action(&knowledge, action).unwrap();
    let seen = step.clone().saw(&knowledge, &keys[..]).unwrap();
    let [least, most] = brought(&knowledge, &step);
    assert!(least < most && brought(&hidden, &seen)[0] < brought(&hidden, &seen)[1]);
    let [mean, same] = brought(&knowledge, &seen);
    assert!(mean == same && (least..=most).contains(&mean));
    let paid: Vec<f64> = knowledge.rewards().iter().map(|term| term.range[1]).collect();
    let paid = seen.paid(&knowledge, &paid).unwrap();
    let expected = knowledge.reward_range()[1] - knowledge.interventions().cost(action);
    for knowledge in [&knowledge, &hidden] {
        let [low, high] = brought(knowledge, &paid);
        assert!(low == high && (low - expected).abs() < 1e-9, "{low} {high} {expected}");
    }
}

#[test]
fn a_retracted_step_subtracts_no_more_than_its_possible_reward() {
    let arena = Arena::new(&small_paper("1")).unwrap();
    let knowledge = Knowledge::of(arena.world());
    let mut agent = learner(arena.world(), "graph-psrl", 100, 1);
    agent.keep_baseline(&today(&arena), 0.1, None).unwrap();
    arena.run(1).episodes(60, &mut agent, |_| ControlFlow::Continue(()));
    let keys = vec![0u32; arena.world().keys().len()];
    let mut session = agent.begin();
    let action = session.act(&mut agent, 0).unwrap();
    let step = Observation::at(&knowledge, 0, 0).unwrap().did_action(&knowledge, action).unwrap();
    let step = step.saw(&knowledge, &keys[..]).unwrap().then(&knowledge, 1).unwrap();
    let room = agent.baseline().unwrap().room;
    session.observe(&mut agent, &step).unwrap();
    session.take_back(&mut agent, &step).unwrap();
    assert_eq!(agent.baseline().unwrap().room, room, "an episode that has not ended");
    session.observe(&mut agent, &step).unwrap();
    session.end(&mut agent);
    let room = agent.baseline().unwrap().room;
    agent.take_back(&step).unwrap();
    assert!(agent.baseline().unwrap().room < room, "one that has");
}

#[test]
fn what_cannot_be_kept_to_is_refused_by_name() {
    let world = worlds::world("treatment", &[]).unwrap();
    let arena = Arena::new(&world).unwrap();
    let today = arena.best().policy_hs.clone();
    let refused = |policy: &[Action], alpha: f64, value: Option<&[f64]>| {
        learner(&world, "graph-psrl", 10, 1).keep_baseline(policy, alpha, value).unwrap_err().to_string()
    };
    for alpha in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(refused(&today, alpha, None).starts_with("alpha = "), "{alpha}");
    }
    assert!(refused(&today[1..], 0.1, None).contains("entries"));
    assert!(refused(&today, 0.1, Some(&[])).contains("starting states"));
    for wrong in [f64::NAN, 1e9] {
        assert!(refused(&today, 0.1, Some(&vec![wrong; world.n_states()])).contains("an episode pays between"));
    }
    let mut wrong = today.clone();
    wrong[world.n_states() + 1] = Action(u64::MAX);
    let knowledge = refused(&wrong, 0.1, None);
    assert!(knowledge.contains("stage 2") && knowledge.contains(&world.describe_state(1)), "{knowledge}");
    let mut twice = learner(&world, "graph-psrl", 10, 1);
    twice.keep_baseline(&today, 0.1, None).unwrap();
    assert!(twice.keep_baseline(&today, 0.1, None).unwrap_err().to_string().contains("already"));
    twice.begin_episode();
    twice.begin_episode();
    assert_eq!(twice.baseline().unwrap().episodes, 1);
}
