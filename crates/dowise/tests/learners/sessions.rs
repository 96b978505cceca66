//! Sessions: interleaved, late and out of order; what does not belong is refused by name; corrections; what is deployed, and what
//! wrappers leave alone.

use dowise::learn::{Causes, Estimate, Estimator, EvidenceError, Observation, Schedule, Session, Sets, States, Width};
use dowise::{Agent, Learner, LearnerSpec, Options, Preset};

use crate::play::{Arena, by_name, knowledge, steps, watch};
use crate::small_worlds;

/// Plays the steps of an episode through a session; what is observed comes from a simulator of its own.
struct Customer {
    session: Session,
    steps: Vec<Observation<'static>>,
    state: usize,
    rng: rand_chacha::ChaCha8Rng,
}

impl Customer {
    fn new(learner: &mut Learner, arena: &Arena, seed: u64) -> Customer {
        use rand::SeedableRng;
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let state = arena.simulator().start(&mut rng);
        Customer { session: learner.begin(), steps: vec![], state, rng }
    }

    fn act(&mut self, learner: &mut Learner, arena: &Arena) {
        let (stage, state) = (self.session.stage(), self.state);
        let action = self.session.act(learner, state).unwrap();
        let mut outcome = Default::default();
        arena.simulator().step(state, action, &mut self.rng, &mut outcome);
        self.state = outcome.next_state;
        self.steps.push(outcome.observation(stage, state, action).into_owned());
    }
}

#[test]
fn sessions_that_are_interleaved_late_and_out_of_order_end_like_sequential_ones() {
    let arena = Arena::new(small_worlds::factored(1));
    let horizon = arena.world.horizon();
    for name in ["graph-psrl", "c-ucbvi", "epsilon-greedy", "uniform", "cf-ucbvi:schedule=doubling"] {
        let options = name.parse::<LearnerSpec>().unwrap().options(50, 3);
        let made = || Learner::new(&arena.knowledge(), options.clone()).unwrap();
        // One customer after the other decides, all before anything is observed.
        let (mut one, mut many) = (made(), made());
        let customers = |learner: &mut Learner| (0..7).map(|i| Customer::new(learner, &arena, i)).collect::<Vec<_>>();
        let (mut these, mut those) = (customers(&mut one), customers(&mut many));
        for customer in &mut these {
            (0..horizon).for_each(|_| customer.act(&mut one, &arena));
            for step in customer.steps.clone() {
                customer.session.observe(&mut one, &step).unwrap();
            }
        }
        these.into_iter().for_each(|c| c.session.end(&mut one));
        // The same customers stage by stage, observed backwards and last customer first.
        for _ in 0..horizon {
            those.iter_mut().for_each(|c| c.act(&mut many, &arena));
        }
        for customer in those.iter_mut().rev() {
            for step in customer.steps.clone().iter().rev() {
                customer.session.observe(&mut many, step).unwrap();
            }
        }
        those.into_iter().for_each(|c| c.session.end(&mut many));
        assert_eq!(many.save(), one.save(), "{name}");
        // And from here on they go on alike.
        assert_eq!(arena.regrets_of(&mut many, 5, 1), arena.regrets_of(&mut one, 5, 1), "{name}");
    }
}

#[test]
fn one_session_after_another_is_the_loop_of_an_agent() {
    let arena = Arena::new(small_worlds::factored(2));
    for preset in Preset::all().iter().filter(|p| p.linear().is_none()) {
        for schedule in Schedule::ALL {
            let options = Options { schedule: *schedule, ..preset.options(25, 7) };
            let Ok(mut learner) = Learner::new(&arena.knowledge(), options.clone()) else { continue };
            let mut looped = learner.clone();
            let mut run = arena.run(2);
            for _ in 0..25 {
                let (_, seen) = watch(&mut run, &mut looped);
                let mut session = learner.begin();
                for step in &seen {
                    assert_eq!(session.act(&mut learner, step.state), Ok(step.action), "{options:?}");
                    session.observe(&mut learner, &step.observation()).unwrap();
                }
                session.end(&mut learner);
            }
            assert_eq!(learner.evidence().unwrap().save(), looped.evidence().unwrap().save(), "{options:?}");
        }
    }
}

#[test]
fn open_sessions_of_a_sampler_have_own_samples_unless_the_plan_is_kept() {
    let arena = Arena::new(small_worlds::factored(1));
    let options = |name: &str| name.parse::<LearnerSpec>().unwrap().options(50, 3);
    let mut sampler = Learner::new(&arena.knowledge(), options("graph-psrl")).unwrap();
    let open: Vec<Session> = (0..30).map(|_| sampler.begin()).collect();
    let different = open.windows(2).filter(|w| w[0].policy().unwrap().actions() != w[1].policy().unwrap().actions());
    assert!(different.count() > 20, "samples differ");
    assert!(open.windows(2).all(|w| w[0].policy().unwrap().plan() < w[1].policy().unwrap().plan()));
    let mut keeper = Learner::new(&arena.knowledge(), options("cf-psrl:schedule=doubling")).unwrap();
    let open: Vec<Session> = (0..30).map(|_| keeper.begin()).collect();
    assert!(open.windows(2).all(|w| std::sync::Arc::ptr_eq(w[0].policy().unwrap(), w[1].policy().unwrap())));
    assert_eq!(open[0].policy().unwrap().evidence(), keeper.evidence().unwrap().fingerprint());
}

#[test]
fn a_step_that_does_not_belong_to_its_session_is_refused_and_changes_nothing() {
    let arena = Arena::new(small_worlds::factored(1));
    let mut learner = Learner::new(&arena.knowledge(), Options::default()).unwrap();
    let knowledge = arena.knowledge();
    let (mut a, mut b) = (learner.begin(), learner.begin());
    a.act(&mut learner, 0).unwrap();
    b.act(&mut learner, 3).unwrap();
    let step = |stage: usize, state: usize, next: usize| {
        let keys: Vec<u32> = arena.world.keys().iter().map(|_| 0).collect();
        let at = Observation::at(&knowledge, stage, state).unwrap().did(&knowledge, 0).unwrap();
        at.saw(&knowledge, &keys[..]).unwrap().then(&knowledge, next).unwrap()
    };
    let before = learner.save();
    let says = |session: &mut Session, learner: &mut Learner, step: &Observation<'_>| {
        session.observe(learner, step).unwrap_err().to_string()
    };
    let text = says(&mut a, &mut learner, &step(0, 3, 1));
    assert!(
        text.starts_with("at stage 1 episode 1 is in state 0, not in state 3; if this step is of another episode"),
        "{text}"
    );
    assert_eq!(learner.save(), before);
    a.observe(&mut learner, &step(0, 0, 2)).unwrap();
    let text = says(&mut a, &mut learner, &step(0, 0, 2));
    assert!(text.starts_with("stage 1 of episode 1 has been observed already"), "{text}");
    let text = a.act(&mut learner, 1).unwrap_err().to_string();
    assert!(text.starts_with("at stage 2 episode 1 is in state 2, not in state 1"), "{text}");
    a.act(&mut learner, 2).unwrap();
    b.act(&mut learner, 1).unwrap();
    let text = says(&mut b, &mut learner, &step(0, 3, 2));
    assert!(
        text.starts_with("stage 2 of episode 2 was decided in state 1, so the step before cannot have led to state 2"),
        "{text}"
    );
    let horizon = arena.world.horizon();
    (2..horizon).for_each(|_| _ = b.act(&mut learner, 0).unwrap());
    let text = b.act(&mut learner, 0).unwrap_err().to_string();
    assert_eq!(
        text,
        format!("episode 2 has {horizon} steps, and there is no stage {}; begin another episode", horizon + 1)
    );
}

#[test]
fn a_sampler_deploys_its_posterior_mean_plan_which_beats_its_samples() {
    let (mut deployed, mut sampled, mut best) = (0.0, 0.0, 0.0);
    for seed in 0..8 {
        let arena = Arena::new(small_worlds::factored(seed));
        let options = "graph-psrl".parse::<Preset>().unwrap().options(8, seed);
        let mut learner = Learner::new(&arena.knowledge(), options).unwrap();
        arena.regrets_of(&mut learner, 8, seed);
        let learned = learner.learned_policy();
        assert_eq!(learned.actions(), learner.read(Estimator::Pooled { prior: 2.0 }, 0).unwrap().policy_hs);
        assert_eq!(learned.evidence(), learner.evidence().unwrap().fingerprint());
        let value = |policy: &[dowise::Action]| arena.values_of(policy)[0];
        let samples: Vec<Session> = (0..20).map(|_| learner.begin()).collect();
        deployed += value(learned.actions());
        sampled += samples.iter().map(|s| value(s.policy().unwrap().actions())).sum::<f64>() / 20.0;
        best += arena.optimal.value_hs[0];
    }
    // At least a third of what the samples lose is not lost by the mean.
    assert!(best - deployed < (best - sampled) * 2.0 / 3.0, "best {best}, deployed {deployed}, samples {sampled}");
}

#[test]
fn an_explorer_deploys_without_exploring() {
    let arena = Arena::new(small_worlds::factored(1));
    let epsilon = Options { estimate: Estimate::EpsilonGreedy { epsilon: 1.0 }, ..Options::default() };
    let mut learner = Learner::new(&arena.knowledge(), epsilon).unwrap();
    arena.regrets_of(&mut learner, 300, 1);
    let regret = arena.optimal.value_hs[0] - arena.values_of(learner.learned_policy().actions())[0];
    assert!(regret < 0.1 * arena.optimal.value_hs[0], "{regret}");
}

#[test]
fn a_correction_takes_the_first_observation_back() {
    let arena = Arena::new(small_worlds::crooked(1));
    let seen = steps(&arena, 12, 1);
    for knowledge in knowledge(&arena) {
        for name in
            ["graph-ucbvi", "c-ucbvi:width=quasi", "psrl", "graph-psrl:guard=true", "c-lsvi-ucb", "c-rlsvi", "c-blsvi"]
        {
            let spec: LearnerSpec = name.parse().unwrap();
            let new = || match spec.linear_options(30, 1) {
                Some(options) => Learner::linear(&knowledge, options),
                None => Learner::new(&knowledge, spec.options(30, 1)),
            };
            let Ok(mut with) = new() else { continue };
            let mut without = new().unwrap();
            for (i, s) in seen.iter().enumerate() {
                with.learn(&s.observation()).unwrap();
                if i % 4 != 0 {
                    without.learn(&s.observation()).unwrap();
                }
            }
            // Planned with the wrong ones too, so that a belief has read them.
            with.begin_episode();
            seen.iter().step_by(4).for_each(|s| with.take_back(&s.observation()).unwrap());
            with.begin_episode();
            without.begin_episode();
            without.begin_episode();
            for (a, b) in with.plan().value_hs.iter().zip(&without.plan().value_hs) {
                assert!((a - b).abs() < 1e-9, "{name}: {a} and {b}");
            }
            // What was never taken in is not there, and asking for it changes nothing.
            let mut empty = new().unwrap();
            let before = empty.save();
            assert_eq!(empty.take_back(&seen[0].observation()), Err(EvidenceError::NotThere), "{name}");
            assert_eq!(empty.save(), before, "{name}");
        }
    }
}

#[test]
fn a_session_observes_again_what_it_took_back() {
    let arena = Arena::new(small_worlds::factored(1));
    let mut learner = Learner::new(&arena.knowledge(), Options::default()).unwrap();
    let seen = steps(&arena, 1, 1);
    let mut session = learner.begin();
    let fresh = learner.evidence().unwrap().save();
    session.observe(&mut learner, &seen[0].observation()).unwrap();
    assert!(session.take_back(&mut learner, &seen[1].observation()).is_err(), "never observed");
    session.take_back(&mut learner, &seen[0].observation()).unwrap();
    assert_eq!((learner.evidence().unwrap().save(), session.observed()), (fresh, 0));
    let mut right = seen[0].clone();
    right.next_state = (right.next_state + 1) % arena.world.n_states();
    session.observe(&mut learner, &right.observation()).unwrap();
    session.act(&mut learner, right.next_state).unwrap();
}

#[test]
fn guards_and_exploration_are_wrappers_that_change_nothing_inside() {
    // A guarded learner that is not given up, and neither explores, plans like the one inside.
    let arena = Arena::new(small_worlds::factored(1));
    let plain = Options {
        states: States::Factored,
        causes: Causes::OwnKeys,
        estimate: Estimate::Width(Width::Quasi),
        ..Options::default()
    };
    let mut inside = Learner::new(&arena.knowledge(), plain.clone()).unwrap();
    let mut guarded = Learner::new(&arena.knowledge(), Options { guard: true, ..plain }).unwrap();
    for s in steps(&arena, 60, 2) {
        inside.learn(&s.observation()).unwrap();
        guarded.learn(&s.observation()).unwrap();
    }
    assert_eq!(guarded.evidence().unwrap().save(), inside.evidence().unwrap().save());
    assert_eq!(guarded.read(Estimator::Greedy, 0).unwrap(), inside.read(Estimator::Greedy, 0).unwrap());
    assert_eq!(guarded.learned_policy().actions(), inside.learned_policy().actions());
}

#[test]
fn learners_with_logs_open_sessions_or_restarted_episodes_are_restored() {
    let arena = Arena::new(small_worlds::factored(1));
    let knowledge = arena.knowledge();
    let seen = steps(&arena, 12, 1);
    let horizon = arena.world.horizon();
    for name in ["graph-psrl", "ucbvi", "c-lsvi-ucb:features=one-hot", "c-rlsvi:features=one-hot"] {
        let goes_on = |learner: &Learner, what: &str| {
            let again = Learner::restore(&knowledge, &learner.save()).unwrap_or_else(|e| panic!("{name}, {what}: {e}"));
            assert_eq!(again.save(), learner.save(), "{name}, {what}");
        };
        let mut logged = by_name(&knowledge, name);
        seen.iter().for_each(|s| logged.learn(&s.observation()).unwrap());
        goes_on(&logged, "logs");
        let mut playing = by_name(&knowledge, name);
        let mut open = vec![];
        for episode in seen.chunks(horizon) {
            let mut session = playing.begin();
            session.observe(&mut playing, &episode[0].observation()).unwrap();
            open.push(session);
        }
        goes_on(&playing, "open sessions");
        let mut restarted = by_name(&knowledge, name);
        for episode in seen.chunks(horizon) {
            restarted.begin_episode();
            episode.iter().for_each(|s| restarted.observe(&s.observation()));
        }
        goes_on(&restarted, "an episode begun again");
    }
}

#[test]
fn no_two_episodes_have_the_same_number() {
    let arena = Arena::new(small_worlds::factored(1));
    let mut learner = Learner::new(&arena.knowledge(), Options::default()).unwrap();
    learner.begin_episode();
    let first = learner.begin();
    // The loop's episode begins again while another one is open.
    learner.begin_episode();
    let ids = [first.id(), learner.begun(), learner.begin().id()];
    assert_eq!(ids, [2, 3, 4]);
}

#[test]
fn a_session_is_not_decided_in_a_state_that_is_not_there() {
    let arena = Arena::new(small_worlds::factored(1));
    let n = arena.world.n_states();
    for name in ["graph-psrl", "graph-ucbvi:schedule=visited", "c-lsvi-ucb:features=one-hot"] {
        let mut learner = by_name(&arena.knowledge(), name);
        let mut session = learner.begin();
        let text = session.act(&mut learner, n).unwrap_err().to_string();
        assert_eq!(text, format!("there is no state {n}; states run from 0 to {}", n - 1), "{name}");
        assert_eq!(session.stage(), 0, "nothing was decided");
    }
}

#[test]
fn a_guard_that_cannot_take_a_step_back_leaves_the_learner_inside_alone() {
    let arena = Arena::new(small_worlds::factored(1));
    let knowledge = arena.knowledge();
    let mut learner = by_name(&knowledge, "graph-ucbvi:guard=true");
    let keys: Vec<u32> = knowledge.keys().iter().map(|_| 0).collect();
    let did = |action: usize| {
        let at = Observation::at(&knowledge, 0, 0).unwrap().did(&knowledge, action).unwrap();
        at.saw(&knowledge, &keys[..]).unwrap().then(&knowledge, 1).unwrap()
    };
    learner.learn(&did(0)).unwrap();
    let before = learner.save();
    // The same causes, so the same rows for the learner inside; but the guard has never seen this intervention.
    assert_eq!(learner.take_back(&did(3)), Err(EvidenceError::NotThere));
    assert_eq!(learner.save(), before);
    learner.take_back(&did(0)).unwrap();
    assert_eq!(learner.evidence().unwrap().steps(), 0);
}

#[test]
fn a_session_takes_back_only_what_it_observed_itself() {
    let arena = Arena::new(small_worlds::factored(1));
    let knowledge = arena.knowledge();
    let mut learner = by_name(&knowledge, "graph-psrl");
    let keys: Vec<u32> = knowledge.keys().iter().map(|_| 0).collect();
    let to = |next: usize| {
        let at = Observation::at(&knowledge, 0, 0).unwrap().did(&knowledge, 0).unwrap();
        at.saw(&knowledge, &keys[..])
            .unwrap()
            .paid(&knowledge, &[f64::NAN, 0.25])
            .unwrap()
            .then(&knowledge, next)
            .unwrap()
    };
    let (mut a, mut b) = (learner.begin(), learner.begin());
    a.observe(&mut learner, &to(0)).unwrap();
    b.observe(&mut learner, &to(1)).unwrap();
    let before = learner.save();
    assert!(a.take_back(&mut learner, &to(1)).is_err(), "that was the other one's");
    assert_eq!(learner.save(), before);
    a.take_back(&mut learner, &to(0)).unwrap();
    b.take_back(&mut learner, &to(1)).unwrap();
    assert_eq!(learner.evidence().unwrap().steps(), 0);
}

#[test]
fn episodes_concurrent_with_an_optimistic_one_follow_posterior_samples() {
    let arena = Arena::new(small_worlds::factored(1));
    for name in ["ucbvi", "c-ucbvi", "cf-ucbvi:width=rlberry", "graph-ucbvi:unknown=all", "c-ucbvi:schedule=episode"] {
        let options = name.parse::<LearnerSpec>().unwrap().options(50, 3);
        let mut learner = Learner::new(&arena.knowledge(), options.clone()).unwrap();
        // Something is known, so that the plan does not depend on ties alone.
        for seed in 0..20 {
            let mut customer = Customer::new(&mut learner, &arena, seed);
            (0..arena.world.horizon()).for_each(|_| customer.act(&mut learner, &arena));
            for step in customer.steps.clone() {
                customer.session.observe(&mut learner, &step).unwrap();
            }
            customer.session.end(&mut learner);
        }
        let saved = learner.save();
        let policies = |learner: &mut Learner| -> Vec<_> {
            (0..8).map(|_| learner.begin().policy().expect("whole episodes").actions().to_vec()).collect()
        };
        let first = policies(&mut learner);
        assert_eq!(first[0], learner.plan().policy_hs, "{name}: the first follows the plan");
        let different = first.iter().filter(|p| **p != first[0]).count();
        assert!(different >= 2, "{name}: {different} of 7 differ");
        // The same again for whoever goes on from a file, in the middle as well.
        let mut again = Learner::restore(&arena.knowledge(), &saved).unwrap();
        let two: Vec<_> = (0..2).map(|_| again.begin().policy().unwrap().actions().to_vec()).collect();
        assert_eq!(two, first[..2], "{name}");
        let mut middle = Learner::restore(&arena.knowledge(), &again.save()).unwrap();
        assert_eq!(policies(&mut middle)[..6], first[2..], "{name}");
    }
}

/// However rarely plans are made and whoever follows the last one: not an older plan, and not a sample of an episode beside it.
#[test]
fn what_is_deployed_is_a_plan_of_all_that_was_seen() {
    let arena = Arena::new(small_worlds::factored(1));
    for name in ["c-ucbvi", "cf-ucbvi", "graph-ucbvi", "graph-ucbvi:unknown=kernel", "c-ucbvi:schedule=episode"] {
        let spec: LearnerSpec = name.parse().unwrap();
        let mut learner = spec.learner(&arena.world, 60, 3).unwrap();
        arena.regrets_of(&mut learner, 57, 3);
        let plan = learner.read(Estimator::Optimistic(Sets::Mixture), 0).unwrap();
        for _ in 0..3 {
            assert_eq!(learner.learned_policy().actions(), plan.policy_hs, "{name}");
            learner.begin();
        }
    }
}
