use std::ops::ControlFlow;

use super::*;
use crate::learn::around::Around;
use crate::learn::{Agent, Learner, LearnerSpec, Observation};
use crate::{Arena, Knowledge, World, worlds};

fn small_paper(seed: &str) -> World {
    worlds::world("paper", &[("factors", "2"), ("levels", "2"), ("horizon", "4"), ("seed", seed)]).unwrap()
}

fn learner(world: &World, name: &str, episodes: u64, seed: u64) -> Learner {
    name.parse::<LearnerSpec>().unwrap().learner(world, episodes, seed).unwrap()
}

/// The best of some policies drawn at random, each intervention the same at all stages: better than random, not best.
fn today(arena: &Arena) -> Vec<Action> {
    let told = Knowledge::of(arena.world());
    let drawn = (0..8).map(|i| {
        let mut policy = Vec::new();
        super::super::explore::fill_at_random(&told, 11, i, &mut policy);
        (arena.value_of(&policy).unwrap(), policy)
    });
    drawn.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
}

fn wrapper(learner: &mut Learner) -> &mut Baseline {
    match learner.around.last_mut() {
        Some(Around::Baseline(baseline)) => baseline,
        _ => panic!("there is a baseline"),
    }
}

/// The least that the left side of the promise came to, by exact values, and the regret.
fn play(arena: &Arena, agent: &mut Learner, today: &[Action], alpha: f64, episodes: u64, seed: u64) -> (f64, f64) {
    let values = arena.planner().evaluate(today).unwrap();
    let told = Knowledge::of(arena.world());
    let floor = arena.world().horizon() as f64 * (told.reward_range()[0] - told.interventions().cost_range()[1]);
    let (mut side, mut least, mut regret) = (0.0, 0.0f64, 0.0);
    arena.run(seed).episodes(episodes, agent, |e| {
        let value = arena.best().value(0, e.start) - e.regret;
        side += value - values[e.start] + alpha * (values[e.start] - floor);
        least = least.min(side);
        regret += e.regret;
        ControlFlow::Continue(())
    });
    (least, regret)
}

#[test]
fn the_promise_is_kept_where_the_same_learner_without_it_breaks_it() {
    let (alpha, mut broken) = (0.02, 0);
    for (name, known) in
        [("graph-psrl", false), ("cf-ucbvi:unknown=rewards", false), ("c-psrl", true), ("cf-psrl:unknown=all", false)]
    {
        for seed in 1..=3 {
            let arena = Arena::new(&small_paper(&seed.to_string())).unwrap();
            let today = today(&arena);
            let mut free = learner(arena.world(), name, 150, seed);
            let (least, _) = play(&arena, &mut free, &today, alpha, 150, seed);
            broken += u32::from(least < -1e-9);
            let mut kept = learner(arena.world(), name, 150, seed);
            let values = arena.planner().evaluate(&today).unwrap();
            let known = known.then_some(&values[..arena.world().n_states()]);
            kept.keep_baseline(&today, alpha, known).unwrap();
            let (least, _) = play(&arena, &mut kept, &today, alpha, 150, seed);
            assert!(least >= -1e-9, "{name}, seed {seed}: {least}");
            let report = kept.baseline().unwrap();
            assert!(report.room >= 0.0 && report.episodes == 150, "{name}, seed {seed}: {report:?}");
        }
    }
    assert!(broken > 0, "the promise would have been kept without being watched");
}

#[test]
fn bounds_against_the_baseline_hold_in_the_true_world_and_the_baseline_equals_itself() {
    for (world, name) in [
        (small_paper("2"), "cf-ucbvi"),
        (small_paper("3"), "c-ucbvi"),
        (small_paper("3"), "ucbvi"),
        (worlds::world("river-swim", &[]).unwrap(), "c-psrl:unknown=rewards"),
        (worlds::world("treatment", &[]).unwrap(), "graph-psrl:unknown=all"),
    ] {
        let arena = Arena::new(&world).unwrap();
        let (today, n) = (today(&arena), world.n_states());
        for (episodes, beforehand) in [(3, true), (80, false)] {
            let mut agent = learner(&world, name, episodes, 5);
            arena.run(5).episodes(episodes, &mut agent, |_| ControlFlow::Continue(()));
            let Kind::Tabular(tabular) = &agent.kind else { panic!("it counts") };
            let given = Given { policy_hs: &today, value_s: None, beforehand };
            let options = options_of_bounds(tabular, 0.05);
            let mut difference = Difference::against(tabular, &options, &given).unwrap();
            let own = arena.planner().evaluate(&today).unwrap();
            let mut policies = vec![arena.best().policy_hs.clone(), agent.plan().policy_hs.clone(), today.clone()];
            let better = difference.surely_better();
            policies.extend(better.iter().map(|(policy, _)| policy.clone()));
            let lows = difference.above_given(&policies.iter().map(Vec::as_slice).collect::<Vec<_>>());
            for (i, (policy, low)) in policies.iter().zip(&lows).enumerate() {
                let value = arena.planner().evaluate(policy).unwrap();
                for s in 0..n {
                    assert!(low[s] <= value[s] - own[s] + 1e-9, "{name}: policy {i} in state {s}");
                }
                // Several at once are bounded as one is.
                assert_eq!(difference.above_given(&[policy])[0], *low, "{name}: policy {i}");
            }
            if let Some((policy, above)) = better {
                assert!(above.iter().all(|a| *a >= 0.0), "{name}");
                assert!(lows[2].iter().all(|x| x.abs() < 1e-9), "{name}: {:?}", lows[2]);
                let value = arena.planner().evaluate(&policy).unwrap();
                assert!((0..n).all(|s| above[s] <= value[s] - own[s] + 1e-9), "{name}");
            }
        }
    }
}

#[test]
fn comparing_everything_in_every_episode_is_as_safe_and_falls_back_no_more() {
    let arena = Arena::new(&small_paper("1")).unwrap();
    let today = today(&arena);
    let [mut fast, mut slow] = [false, true].map(|thorough| {
        let mut agent = learner(arena.world(), "graph-psrl", 120, 1);
        agent.keep_baseline(&today, 0.05, None).unwrap();
        wrapper(&mut agent).thorough = thorough;
        agent
    });
    for agent in [&mut fast, &mut slow] {
        assert!(play(&arena, agent, &today, 0.05, 120, 1).0 >= -1e-9);
    }
    let fallen = |agent: &Learner| agent.baseline().map(|b| b.fell_back + b.surely_better).unwrap();
    assert!(fallen(&slow) <= fallen(&fast), "{} {}", fallen(&slow), fallen(&fast));
    // What the fast one keeps is what comparing everything now gives, or it is on the safe side of it.
    let kept = fast.baseline().unwrap().room;
    let inside = fast.kind.clone();
    let Kind::Tabular(tabular) = &inside else { panic!("it counts") };
    wrapper(&mut fast).compare(tabular, None, true).unwrap();
    assert!(kept <= fast.baseline().unwrap().room + 1e-9);
}

#[test]
fn a_saved_learner_goes_on_alike_and_old_ones_have_no_baseline() {
    let arena = Arena::new(&small_paper("3")).unwrap();
    let today = today(&arena);
    let mut agent = learner(arena.world(), "cf-psrl", 100, 2);
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

#[test]
fn episodes_side_by_side_count_at_their_worst_until_they_end() {
    let arena = Arena::new(&small_paper("1")).unwrap();
    let (told, today) = (Knowledge::of(arena.world()), today(&arena));
    let mut agent = learner(arena.world(), "graph-psrl", 500, 1);
    agent.keep_baseline(&today, 0.1, None).unwrap();
    arena.run(1).episodes(150, &mut agent, |_| ControlFlow::Continue(()));
    // However many are begun at once, the promise would be kept if all of them came out as badly as they can.
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(agent.begin());
        assert!(agent.baseline().unwrap().room >= 0.0);
    }
    assert_eq!(agent.baseline().unwrap().episodes, 350);
    // Ends in another order, with a start, and without one.
    let mut room = agent.baseline().unwrap().room;
    for (i, mut session) in open.into_iter().rev().enumerate() {
        if i % 3 > 0 {
            session.act(&mut agent, i % told.n_states()).unwrap();
        }
        session.end(&mut agent);
        let now = agent.baseline().unwrap().room;
        // One that was not played had counted on what the baseline would have been worth in it.
        assert!(i % 3 == 0 || now >= room - 1e-9, "{i}: {now} {room}");
        assert!(now >= -1e-9);
        room = now;
    }
    assert_eq!(agent.baseline().unwrap().episodes, 350 - 200_u64.div_ceil(3));
}

#[test]
fn an_observation_taken_back_takes_its_bounds_along() {
    let arena = Arena::new(&small_paper("1")).unwrap();
    let told = Knowledge::of(arena.world());
    let mut agent = learner(arena.world(), "graph-psrl", 100, 1);
    agent.keep_baseline(&today(&arena), 0.1, None).unwrap();
    let keys = vec![0u32; arena.world().keys().len()];
    let step = Observation::at(&told, 0, 0).unwrap().did_action(&told, arena.best().action(0, 0)).unwrap();
    let step = step.saw(&told, &keys[..]).unwrap().then(&told, 1).unwrap();
    agent.learn(&step).unwrap();
    arena.run(1).episodes(60, &mut agent, |_| ControlFlow::Continue(()));
    assert!(wrapper(&mut agent).low_s.iter().any(|low| *low > 0.0));
    agent.take_back(&step).unwrap();
    let baseline = wrapper(&mut agent);
    let floor = baseline.range[0];
    assert!(baseline.low_s.iter().all(|low| *low == floor) && baseline.fallback == BASELINE);
}

#[test]
fn what_cannot_be_kept_to_is_refused_by_name() {
    let world = worlds::world("treatment", &[]).unwrap();
    let arena = Arena::new(&world).unwrap();
    let today = arena.best().policy_hs.clone();
    let refused = |name: &str, policy: &[Action], alpha: f64, value: Option<&[f64]>| {
        learner(&world, name, 10, 1).keep_baseline(policy, alpha, value).unwrap_err().to_string()
    };
    for alpha in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(refused("graph-psrl", &today, alpha, None).starts_with("alpha = "), "{alpha}");
    }
    assert!(refused("graph-psrl", &today[1..], 0.1, None).contains("entries"));
    assert!(refused("graph-psrl", &today, 0.1, Some(&[])).contains("starting states"));
    let mut wrong = today.clone();
    wrong[world.n_states() + 1] = Action(u64::MAX);
    let told = refused("graph-psrl", &wrong, 0.1, None);
    assert!(told.contains("stage 2") && told.contains(&world.describe_state(1)), "{told}");
    assert!(refused("c-lsvi-ucb", &today, 0.1, None).contains("regresses"));
    assert!(refused("cf-ucbvi:schedule=visited", &today, 0.1, None).contains("schedule=visited"));
    assert!(refused("cf-ucbvi:guard=true", &today, 0.1, None).contains("guard"));
    let mut twice = learner(&world, "graph-psrl", 10, 1);
    twice.keep_baseline(&today, 0.1, None).unwrap();
    assert!(twice.keep_baseline(&today, 0.1, None).unwrap_err().to_string().contains("already"));
    twice.begin_episode();
    twice.begin_episode();
    assert_eq!(twice.baseline().unwrap().episodes, 1);
}
