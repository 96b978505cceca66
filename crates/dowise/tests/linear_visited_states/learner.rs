//! Learning from non-enumerable states: returns, saved learners, and rewards that were never observed.

use dowise::linear::{Beta, LinearLearner, LinearOptions};
use dowise::simulate::{AtRandom, Estimate, Play, SampledValueIteration};
use dowise::worlds::{LinearCode, LinearLock};
use dowise::{Agent, Knowledge, Simulator};

use super::{options, weighed};

#[test]
fn it_learns_where_no_state_is_ever_met_twice() {
    let world = LinearCode { places: 4, horizon: 12, ..LinearCode::default() }.world().unwrap();
    let simulator = Simulator::new(&world).unwrap();
    let mut learner = LinearLearner::over_visited_states(&Knowledge::of(&world), options("c-blsvi", 1)).unwrap();
    let mut play = Play::new(&simulator, 3);
    (0..150).for_each(|_| {
        play.episode(&mut learner);
    });
    assert_eq!(learner.met(), 150 * 12);
    let mut best = SampledValueIteration::new(&world, 200, 1).unwrap();
    let returns = |agent: &mut dyn Agent| simulator.returns(agent, 400, 11);
    let learned = returns(&mut learner.learned_policy());
    let (best, random) = (returns(&mut best), returns(&mut AtRandom::new(&simulator, 1)));
    let gap = Estimate::of_pairs(&best, &random, world.return_range());
    let lost = Estimate::of_pairs(&best, &learned, world.return_range());
    assert!(gap.mean > 5.0 * gap.half, "{gap:?}");
    assert!(lost.mean - lost.half < 0.25 * gap.mean, "{lost:?} of {gap:?}");
    // Paired with the same random numbers the difference is known better than either.
    let alone = Estimate::of(best.iter().copied(), world.return_range());
    assert!(lost.half < 1.5 * alone.half, "{lost:?} {alone:?}");
}

#[test]
fn a_restored_learner_goes_on_as_if_it_had_never_stopped() {
    let world = LinearCode::default().world().unwrap();
    let knowledge = Knowledge::of(&world);
    let simulator = Simulator::new(&world).unwrap();
    let stages_apart = LinearOptions { stage_dependent: true, ..weighed(Beta::SelfNormalised, 0.05) };
    let all = [options("c-blsvi", 1), options("c-lsvi-ucb", 1), weighed(Beta::SelfNormalised, 0.05), stages_apart];
    for (name, options) in all.into_iter().enumerate() {
        let mut whole = LinearLearner::over_visited_states(&knowledge, options).unwrap();
        let mut play = Play::new(&simulator, 2);
        (0..7).for_each(|_| {
            play.episode(&mut whole);
        });
        let mut again = LinearLearner::restore(&knowledge, &whole.save()).unwrap();
        assert_eq!(again.save(), whole.save());
        let mut later = Play::new(&simulator, 2);
        later.go_on(play.position());
        for _ in 0..7 {
            assert_eq!(later.episode(&mut again), play.episode(&mut whole), "{name}");
        }
        assert_eq!(again.save(), whole.save(), "{name}");
    }
    let mut learner = LinearLearner::over_visited_states(&knowledge, weighed(Beta::SelfNormalised, 0.05)).unwrap();
    // Before the first plan: steps made elsewhere, and then a restart.
    learner.learn((0, 3), 1, 0.0, 7).unwrap();
    let mut again = LinearLearner::restore(&knowledge, &learner.save()).unwrap();
    assert_eq!((again.plans(), again.values(0)), (0, learner.values(0)));
    assert_eq!(again.decide(0, 3).unwrap(), learner.decide(0, 3).unwrap());
    let mut play = Play::new(&simulator, 2);
    (0..3).for_each(|_| _ = play.episode(&mut learner));
    let text = learner.save();
    let [from, to] = ["\"weights\":[[", "\"weights\":[[1e-9,"];
    let first = text.find(from).unwrap() + from.len();
    let changed =
        format!("{}{to}{}", &text[..first - from.len()], &text[text[first..].find(',').unwrap() + first + 1..]);
    let error = LinearLearner::restore(&knowledge, &changed).unwrap_err().to_string();
    assert!(error.contains("not those of a plan"), "{error}");
    let learner = LinearLearner::over_visited_states(&knowledge, options("c-blsvi", 1)).unwrap();
    let says = |text: &str| LinearLearner::restore(&knowledge, text).unwrap_err().to_string();
    assert!(says(&learner.save().replace("\"dimension\":11", "\"dimension\":12")).contains("12 features"));
    assert!(says("{}").len() > 10);
    let other = Knowledge::of(&LinearCode { causes: 8, ..LinearCode::default() }.world().unwrap());
    assert!(LinearLearner::restore(&other, &learner.save()).is_err());
}

#[test]
fn a_saved_learner_knows_its_name() {
    let world = LinearCode::default().world().unwrap();
    let knowledge = Knowledge::of(&world);
    let learner = LinearLearner::over_visited_states(&knowledge, options("c-blsvi", 1)).unwrap();
    assert_eq!(LinearLearner::name_in(&learner.save()).unwrap(), None);
    let text = learner.named("c-blsvi:lambda=1").save();
    assert_eq!(LinearLearner::name_in(&text).unwrap().as_deref(), Some("c-blsvi:lambda=1"));
    assert_eq!(LinearLearner::restore(&knowledge, &text).unwrap().name(), "c-blsvi:lambda=1");
}

#[test]
fn it_reports_rewards_that_were_never_observed() {
    let lock = LinearLock { states: 30, causes: 4, dimension: 5, horizon: 6, ..LinearLock::default() }.world().unwrap();
    let (knowledge, simulator) = (Knowledge::of(&lock), Simulator::new(&lock).unwrap());
    let mut learner = LinearLearner::over_visited_states(&knowledge, options("c-blsvi", 1)).unwrap();
    assert_eq!(learner.unseen_reward(), None);
    let mut play = Play::new(&simulator, 7);
    let mut paid = 0.0f64;
    for _ in 0..200 {
        paid += play.episode(&mut learner).1;
        assert_eq!(learner.unseen_reward(), (paid == 0.0).then_some([0.0, 1.0]));
    }
    assert!(paid > 0.0);
}
