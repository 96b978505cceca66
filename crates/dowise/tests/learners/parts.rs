//! The parts of a learner on their own: evidence adds in any order, merges and is taken back; sessions are interleaved, late and
//! out of order; what does not belong is refused by name; known transitions are used; every rule reads the same evidence.

use dowise::learn::{
    Causes, Estimate, Evidence, EvidenceError, Observation, Reading, Schedule, Session, Sets, States, Width,
};
use dowise::{Agent, Knowledge, Learner, LearnerSpec, Options, Preset, World};
use proptest::prelude::*;

use crate::draft::Draft;
use crate::play::{Arena, Seen, watch};
use crate::small_worlds;

/// What a learner with these options counts of steps that were played at random.
fn steps(arena: &Arena, episodes: u64, seed: u64) -> Vec<Seen> {
    let options = "uniform".parse::<Preset>().unwrap().options(episodes, seed);
    let mut learner = Learner::new(&arena.knowledge(), options).unwrap();
    let mut run = arena.run(seed);
    (0..episodes).flat_map(|_| watch(&mut run, &mut learner).1).collect()
}

fn views() -> Vec<Options> {
    let mut all: Vec<Options> = ["ucbvi", "f-ucbvi", "c-ucbvi", "cf-ucbvi", "graph-ucbvi"]
        .map(|name| name.parse::<Preset>().unwrap().options(30, 1))
        .to_vec();
    all.push(Options { stage_dependent: true, ..all[4].clone() });
    all
}

fn told(arena: &Arena) -> [Knowledge; 2] {
    [arena.knowledge(), arena.knowledge().without_mechanisms().without_rewards()]
}

#[test]
fn evidence_in_any_order_split_and_merge_is_the_same_bytes_and_can_be_taken_back() {
    let arena = Arena::new(small_worlds::crooked(2));
    let steps: Vec<Observation<'static>> = steps(&arena, 20, 3).iter().map(Seen::observation).collect();
    for told in told(&arena) {
        for options in views() {
            let new = || Evidence::new(&told, &options).unwrap();
            let mut whole = new();
            steps.iter().for_each(|s| whole.add(s).unwrap());
            let mut backwards = new();
            steps.iter().rev().for_each(|s| backwards.add(s).unwrap());
            assert_eq!(backwards.save(), whole.save(), "{options:?}");
            // Three pieces, dealt out like cards, merged in another order.
            let mut pieces = [new(), new(), new()];
            steps.iter().enumerate().for_each(|(i, s)| pieces[i % 3].add(s).unwrap());
            let [a, b, mut c] = pieces;
            c.merge(&a).unwrap();
            c.merge(&b).unwrap();
            assert_eq!((c.save(), c.fingerprint()), (whole.save(), whole.fingerprint()), "{options:?}");
            // Taking one half back leaves the other.
            let (first, second) = steps.split_at(steps.len() / 2);
            let mut half = new();
            second.iter().for_each(|s| half.add(s).unwrap());
            first.iter().for_each(|s| whole.remove(s).unwrap());
            assert_eq!((whole.save(), whole.fingerprint()), (half.save(), half.fingerprint()), "{options:?}");
            second.iter().rev().for_each(|s| whole.remove(s).unwrap());
            assert_eq!(whole.save(), new().save(), "{options:?}");
            assert_eq!(whole.remove(&first[0]), Err(EvidenceError::NotThere));
            assert_eq!(whole.save(), new().save(), "a refused observation changes nothing");
        }
    }
}

#[test]
fn saved_evidence_is_restored_and_what_cannot_be_is_refused_by_field() {
    let arena = Arena::new(small_worlds::factored(2));
    let told = arena.knowledge().without_rewards();
    let options = views().remove(4);
    let mut seen = Evidence::new(&told, &options).unwrap();
    steps(&arena, 10, 1).iter().for_each(|s| seen.add(&s.observation()).unwrap());
    let text = seen.save();
    let again = Evidence::restore(&told, &options, &text).unwrap();
    assert_eq!((again.save(), again.steps(), again.fingerprint()), (text.clone(), seen.steps(), seen.fingerprint()));
    let refused = |text: &str| Evidence::restore(&told, &options, text).unwrap_err();
    let other = Evidence::restore(&arena.knowledge(), &options, &text).unwrap_err();
    assert!(matches!(other, EvidenceError::OtherView { .. }), "{other}");
    assert!(matches!(refused("{}"), EvidenceError::Format(_)));
    assert!(refused(&text.replacen("\"version\":1", "\"version\":9", 1)).to_string().contains("version 9"));
    let field = |text: &str| match refused(text) {
        EvidenceError::Damaged { field, .. } => field,
        other => panic!("{other}"),
    };
    assert_eq!(field(&text.replacen("\"steps\":", "\"steps\":1", 1)), "visits");
    assert_eq!(field(&text.replacen("\"seal\":\"", "\"seal\":\"0", 1)), "seal");
}

#[test]
fn a_learner_that_begins_with_the_evidence_of_another_believes_the_same() {
    let arena = Arena::new(small_worlds::factored(3));
    for told in told(&arena) {
        for name in ["graph-ucbvi", "graph-psrl", "c-ucbvi", "greedy", "cf-ucbvi:width=hoeffding-v"] {
            let options = name.parse::<LearnerSpec>().unwrap().options(60, 5);
            let mut first = Learner::new(&told, options.clone()).unwrap();
            arena.regrets_of(&mut first, 60, 1);
            let second = Learner::with_evidence(first.evidence().unwrap().clone(), options).unwrap();
            for reading in
                [Reading::Greedy, Reading::Mean { prior: 2.0 }, Reading::Best(Sets::Mixture), Reading::Worst(Sets::L1)]
            {
                assert_eq!(first.read(reading, 1).unwrap(), second.read(reading, 1).unwrap(), "{name} {reading:?}");
            }
            assert_eq!(
                second.read(Reading::Sample { prior: 2.0 }, 4).unwrap(),
                first.read(Reading::Sample { prior: 2.0 }, 4).unwrap()
            );
        }
    }
}

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
    for name in
        ["graph-psrl", "c-ucbvi", "epsilon-greedy", "uniform", "cf-ucbvi:schedule=doubling", "graph-ucbvi:guard=true"]
    {
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
fn each_open_session_of_a_sampler_has_a_sample_of_its_own_and_shares_a_plan_that_is_kept() {
    let arena = Arena::new(small_worlds::factored(1));
    let options = |name: &str| name.parse::<LearnerSpec>().unwrap().options(50, 3);
    let mut sampler = Learner::new(&arena.knowledge(), options("graph-psrl")).unwrap();
    let open: Vec<Session> = (0..30).map(|_| sampler.begin()).collect();
    let different = open.windows(2).filter(|w| w[0].policy().unwrap().actions() != w[1].policy().unwrap().actions());
    assert!(different.count() > 20, "samples differ");
    assert!(open.windows(2).all(|w| w[0].policy().unwrap().plan() < w[1].policy().unwrap().plan()));
    let mut keeper = Learner::new(&arena.knowledge(), options("cf-ucbvi:schedule=doubling")).unwrap();
    let open: Vec<Session> = (0..30).map(|_| keeper.begin()).collect();
    assert!(open.windows(2).all(|w| std::sync::Arc::ptr_eq(w[0].policy().unwrap(), w[1].policy().unwrap())));
    assert_eq!(open[0].policy().unwrap().evidence(), keeper.evidence().unwrap().fingerprint());
}

#[test]
fn a_step_that_does_not_belong_to_its_session_is_refused_and_changes_nothing() {
    let arena = Arena::new(small_worlds::factored(1));
    let mut learner = Learner::new(&arena.knowledge(), Options::default()).unwrap();
    let told = arena.knowledge();
    let (mut a, mut b) = (learner.begin(), learner.begin());
    a.act(&mut learner, 0).unwrap();
    b.act(&mut learner, 3).unwrap();
    let step = |stage: usize, state: usize, next: usize| {
        let keys: Vec<u32> = arena.world.keys().iter().map(|_| 0).collect();
        let at = Observation::at(&told, stage, state).unwrap().did(&told, 0).unwrap();
        at.saw(&told, &keys[..]).unwrap().then(&told, next).unwrap()
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
fn observations_are_checked_when_they_are_made() {
    let arena = Arena::new(small_worlds::factored(1));
    let told = arena.knowledge();
    let says = |made: Result<Observation<'_>, dowise::learn::ObservationError>| made.unwrap_err().to_string();
    let horizon = arena.world.horizon();
    let at = || Observation::at(&told, 0, 0).unwrap();
    let text = says(Observation::at(&told, horizon, 0));
    assert_eq!(
        text,
        format!("there is no stage {}; an episode has {horizon} steps, stages 1 to {horizon}", horizon + 1)
    );
    assert!(says(Observation::at(&told, 0, 999)).starts_with("there is no state 999; states run from 0 to"));
    assert!(says(at().did(&told, 999)).starts_with("there is no intervention 999"));
    assert!(
        says(at().did(&told, 0).unwrap().saw(&told, [("nose", "1")])).starts_with("there is no key variable \"nose\"")
    );
    assert!(says(at().paid(&told, &[])).starts_with("reward has 0 numbers"));
    let term = &arena.world.rewards()[0];
    let text = says(at().paid_by(&told, &term.name, term.range[1] + 1.0));
    assert!(text.starts_with(&format!("the reward term \"{}\" paid ", term.name)), "{text}");
    assert!(says(at().paid_by(&told, "luck", 0.0)).starts_with("there is no reward term \"luck\""));
    assert!(says(at().then(&told, 999)).starts_with("there is no state 999"));
}

#[test]
fn what_is_missing_is_not_counted_and_never_taken_for_the_first_value() {
    // Two factors, each with a key variable of its own.
    let world = Draft::new(2, 4)
        .state("s", 2)
        .state("t", 2)
        .lever("x", 2)
        .key("y", 2)
        .key("z", 2)
        .drawn(&["y"], &["x"])
        .drawn(&["z"], &["x"])
        .next("s", &["s", "y"])
        .next("t", &["t", "z"])
        .pays_between("r", &["z"], [0.0, 1.0], false)
        .world();
    let told = Knowledge::of(&world).without_mechanisms().without_rewards();
    let options = Options::default();
    let count = |step: Observation<'_>, what: &str| -> Vec<usize> {
        let mut seen = Evidence::new(&told, &options).unwrap();
        seen.add(&step).unwrap();
        let file: serde_json::Value = serde_json::from_str(&seen.save()).unwrap();
        let tables = if what == "transitions" { &file[what][0] } else { &file[what] };
        tables.as_array().unwrap().iter().map(|t| t.as_array().unwrap().len()).collect()
    };
    let at = || Observation::at(&told, 0, 0).unwrap().did(&told, 1).unwrap();
    let whole =
        || at().saw(&told, [("y", "1"), ("z", "1")]).unwrap().paid(&told, &[0.5]).unwrap().then(&told, 3).unwrap();
    assert_eq!((count(whole(), "transitions"), count(whole(), "payments")), (vec![1, 1], vec![1]));
    // z not seen: only s, which does not depend on it, and the mechanism of y.
    let half = || at().saw(&told, [("y", "1")]).unwrap().paid(&told, &[0.5]).unwrap().then(&told, 3).unwrap();
    assert_eq!((count(half(), "transitions"), count(half(), "payments")), (vec![1, 0], vec![0]));
    assert_eq!(
        count(half(), "mechanisms").iter().sum::<usize>() + 1,
        count(whole(), "mechanisms").iter().sum::<usize>()
    );
    // The next state not known yet, the reward not known.
    let early = || at().saw(&told, [("y", "1"), ("z", "1")]).unwrap();
    assert_eq!((count(early(), "transitions"), count(early(), "payments")), (vec![0, 0], vec![0]));
}

#[test]
fn known_transitions_are_used_and_not_learned() {
    let arena = Arena::new(small_worlds::factored(1));
    let names: Vec<&str> = arena.world.state().iter().map(|&id| arena.world.variable(id).name.as_str()).collect();
    let cells = |told: &Knowledge, options: &Options| Learner::new(told, options.clone()).unwrap().cells();
    let all = arena.knowledge().with_transitions_of(&arena.world, &names).unwrap();
    assert_eq!(all.known_transitions(), names);
    for name in [
        "graph-ucbvi",
        "graph-psrl",
        "cf-ucbvi",
        "cf-psrl",
        "greedy",
        "cf-ucbvi:width=hoeffding-v",
        "graph-ucbvi:sets=l1,schedule=visited",
    ] {
        let options = name.parse::<LearnerSpec>().unwrap().options(40, 2);
        // All known: nothing is left to learn, and the first plan is the best one.
        let mut sure = Learner::new(&all, options.clone()).unwrap();
        assert_eq!(sure.cells(), 0, "{name}");
        let regrets = arena.regrets_of(&mut sure, 5, 1);
        // Real-time dynamic programming brings values down where it comes, and only there.
        let by_visits = name.contains("visited");
        assert!(by_visits || regrets.iter().all(|r| r.abs() < 1e-9), "{name}: {regrets:?}");
        // One known: fewer cells, and saved and restored like any other.
        let one = arena.knowledge().with_transitions_of(&arena.world, &names[..1]).unwrap();
        assert!(cells(&one, &options) < cells(&arena.knowledge(), &options), "{name}");
        let mut learner = Learner::new(&one, options.clone()).unwrap();
        arena.regrets_of(&mut learner, 40, 1);
        let again = Learner::restore_in(&arena.world, &learner.save()).unwrap();
        assert_eq!(again.save(), learner.save(), "{name}");
        assert_eq!(again.explain(0, 0, 3), learner.explain(0, 0, 3));
    }
    let refused = |name: &str| {
        let spec: LearnerSpec = format!("{name}:known={}", names[0]).parse().unwrap();
        spec.learner(&arena.world, 10, 1).unwrap_err().to_string()
    };
    assert!(refused("c-ucbvi").contains("this learner sees the state whole"));
    assert!(refused("f-ucbvi").contains("this learner knows only interventions"));
    let text =
        "graph-psrl:known=mod".parse::<LearnerSpec>().unwrap().learner(&arena.world, 10, 1).unwrap_err().to_string();
    assert!(text.starts_with("there is no state factor `mod`"), "{text}");
}

#[test]
fn the_worst_members_promise_less_than_there_is_and_the_best_more() {
    for (seed, unknown) in [(1, false), (2, false), (1, true), (2, true)] {
        let arena = Arena::new(small_worlds::factored(seed));
        let told = if unknown { arena.knowledge().without_mechanisms().without_rewards() } else { arena.knowledge() };
        for name in ["graph-ucbvi", "c-ucbvi"] {
            let options = Options { delta: 0.05, ..name.parse::<Preset>().unwrap().options(400, seed) };
            let mut learner = Learner::new(&told, options).unwrap();
            let mut gaps = vec![];
            for _ in 0..4 {
                arena.regrets_of(&mut learner, 100, seed);
                for sets in Sets::ALL {
                    let [worst, best] =
                        [Reading::Worst(*sets), Reading::Best(*sets)].map(|r| learner.read(r, 0).unwrap());
                    let kept = arena.values_of(&worst.policy_hs);
                    for i in 0..kept.len() {
                        assert!(
                            worst.value_hs[i] <= kept[i] + 1e-9,
                            "{name}: {} promised, {} kept",
                            worst.value_hs[i],
                            kept[i]
                        );
                        assert!(best.value_hs[i] >= arena.optimal.value_hs[i] - 1e-9, "{name}");
                    }
                    gaps.push(best.value_hs[0] - worst.value_hs[0]);
                }
            }
            let closes_in = (0..Sets::ALL.len()).all(|kind| gaps[gaps.len() - Sets::ALL.len() + kind] < gaps[kind]);
            assert!(closes_in, "{name}: the bounds close in: {gaps:?}");
        }
    }
}

#[test]
fn bounds_hold_where_levers_are_left_alone_cost_something_and_act_directly() {
    for seed in 1..4 {
        let arena = Arena::new(small_worlds::crooked(seed));
        for told in told(&arena) {
            for name in ["graph-ucbvi", "c-ucbvi", "cf-ucbvi:stage-dependent=true", "ucbvi"] {
                let options = name.parse::<LearnerSpec>().unwrap().options(200, seed);
                let mut learner = Learner::new(&told, options).unwrap();
                for _ in 0..3 {
                    for sets in Sets::ALL {
                        let [worst, best] =
                            [Reading::Worst(*sets), Reading::Best(*sets)].map(|r| learner.read(r, 0).unwrap());
                        let kept = arena.values_of(&worst.policy_hs);
                        for i in 0..kept.len() {
                            assert!(worst.value_hs[i] <= kept[i] + 1e-9, "{name}: {} {}", worst.value_hs[i], kept[i]);
                            assert!(best.value_hs[i] >= arena.optimal.value_hs[i] - 1e-9, "{name}");
                        }
                    }
                    arena.regrets_of(&mut learner, 60, seed);
                }
            }
        }
    }
}

#[test]
fn a_sampler_deploys_the_plan_of_its_posterior_mean_which_is_better_than_its_samples() {
    let (mut deployed, mut sampled, mut best) = (0.0, 0.0, 0.0);
    for seed in 0..8 {
        let arena = Arena::new(small_worlds::factored(seed));
        let options = "graph-psrl".parse::<Preset>().unwrap().options(8, seed);
        let mut learner = Learner::new(&arena.knowledge(), options).unwrap();
        arena.regrets_of(&mut learner, 8, seed);
        let learned = learner.learned_policy();
        assert_eq!(learned.actions(), learner.read(Reading::Mean { prior: 2.0 }, 0).unwrap().policy_hs);
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
    for told in told(&arena) {
        for name in ["graph-ucbvi", "c-ucbvi:width=quasi", "psrl", "graph-psrl:guard=true", "c-lsvi-ucb", "c-rlsvi"] {
            let spec: LearnerSpec = name.parse().unwrap();
            let new = || match spec.linear_options(30, 1) {
                Some(options) => Learner::linear(&told, options),
                None => Learner::new(&told, spec.options(30, 1)),
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

/// Worlds of several shapes for random orders.
fn any_world(seed: u64) -> World {
    match seed % 3 {
        0 => small_worlds::factored(seed),
        1 => small_worlds::crooked(seed),
        _ => small_worlds::all_keys(seed),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn any_order_and_split_of_any_steps_gives_the_same_evidence(
        seed in 0u64..50,
        keys in prop::collection::vec(any::<u32>(), 40),
        cut in 0usize..40,
        view in 0usize..6,
    ) {
        let arena = Arena::new(any_world(seed));
        let told = arena.knowledge().without_mechanisms().without_rewards();
        let Ok(mut whole) = Evidence::new(&told, &views()[view]) else { return Ok(()) };
        let mut steps: Vec<Observation<'static>> = steps(&arena, 10, seed).iter().map(Seen::observation).collect();
        steps.truncate(keys.len());
        let (mut left, mut right) = (whole.clone(), whole.clone());
        steps.iter().for_each(|s| whole.add(s).unwrap());
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|&i| keys[i]);
        for (place, &i) in order.iter().enumerate() {
            if place < cut { left.add(&steps[i]).unwrap() } else { right.add(&steps[i]).unwrap() }
        }
        right.merge(&left).unwrap();
        prop_assert_eq!(right.save(), whole.save());
        prop_assert_eq!(right.fingerprint(), whole.fingerprint());
    }
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
    assert_eq!(guarded.read(Reading::Greedy, 0).unwrap(), inside.read(Reading::Greedy, 0).unwrap());
    assert_eq!(guarded.learned_policy().actions(), inside.learned_policy().actions());
}

/// A learner of either kind by name, told this.
fn by_name(told: &Knowledge, name: &str) -> Learner {
    let spec: LearnerSpec = name.parse().unwrap();
    match spec.linear_options(30, 1) {
        Some(options) => Learner::linear(told, options).unwrap(),
        None => Learner::new(told, spec.options(30, 1)).unwrap(),
    }
}

#[test]
fn a_learner_with_logs_open_sessions_or_an_episode_begun_again_is_restored_from_what_it_saved() {
    let arena = Arena::new(small_worlds::factored(1));
    let told = arena.knowledge();
    let seen = steps(&arena, 12, 1);
    let horizon = arena.world.horizon();
    for name in ["graph-psrl", "ucbvi", "c-lsvi-ucb:features=one-hot", "c-rlsvi:features=one-hot"] {
        let goes_on = |learner: &Learner, what: &str| {
            let again = Learner::restore(&told, &learner.save()).unwrap_or_else(|e| panic!("{name}, {what}: {e}"));
            assert_eq!(again.save(), learner.save(), "{name}, {what}");
        };
        let mut logged = by_name(&told, name);
        seen.iter().for_each(|s| logged.learn(&s.observation()).unwrap());
        goes_on(&logged, "logs");
        let mut playing = by_name(&told, name);
        let mut open = vec![];
        for episode in seen.chunks(horizon) {
            let mut session = playing.begin();
            session.observe(&mut playing, &episode[0].observation()).unwrap();
            open.push(session);
        }
        goes_on(&playing, "open sessions");
        let mut restarted = by_name(&told, name);
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
fn an_observation_that_does_not_say_what_was_done_is_refused_and_never_counted_as_the_first_intervention() {
    let arena = Arena::new(small_worlds::crooked(1));
    let told = arena.knowledge();
    let at = || Observation::at(&told, 0, 0).unwrap();
    for options in views() {
        let mut seen = Evidence::new(&told, &options).unwrap();
        let before = seen.save();
        let step = at().then(&told, 1).unwrap();
        assert_eq!(step.action(), None);
        assert_eq!(seen.add(&step), Err(EvidenceError::NothingDone), "{options:?}");
        assert_eq!(seen.remove(&step), Err(EvidenceError::NothingDone), "{options:?}");
        assert_eq!(seen.save(), before);
    }
    let text = at().found(&told, [("x1", "1")]).unwrap_err().to_string();
    assert!(text.ends_with("depends on what was done, and this observation does not say it yet; call `did` first"));
    // Said twice, the second counts, and nothing is left of the first.
    let both = at().did(&told, [("x1", "1"), ("x2", "2")]).unwrap().did(&told, [("x1", "0")]).unwrap();
    let once = at().did(&told, [("x1", "0")]).unwrap();
    assert_eq!((both.action(), both.values()), (once.action(), once.values()));
}

#[test]
fn what_was_received_for_a_step_takes_the_cost_of_what_was_done_off_and_needs_to_know_it() {
    let world = Draft::new(2, 4)
        .state("s", 2)
        .lever("x", 2)
        .cost(&[0.25, 0.5])
        .key("y", 2)
        .drawn(&["y"], &["x"])
        .next("s", &["s", "y"])
        .pays_between("r", &["y"], [0.0, 1.0], false)
        .world();
    let told = Knowledge::of(&world);
    let at = || Observation::at(&told, 0, 0).unwrap();
    assert_eq!(at().did(&told, [("x", "1")]).unwrap().received(&told, 0.25).unwrap().rewards(), [0.75]);
    let text = at().received(&told, 0.25).unwrap_err().to_string();
    assert!(text.starts_with("what was received for the whole step depends on what was done"), "{text}");
}

#[test]
fn an_observation_of_another_world_is_refused_and_changes_nothing() {
    let arena = Arena::new(small_worlds::factored(1));
    for (n, other) in [small_worlds::one_factor(1), small_worlds::all_keys(1)].iter().enumerate() {
        let theirs = Knowledge::of(other);
        let last = theirs.n_states() - 1;
        let keys: Vec<u32> = theirs.keys().iter().map(|_| 1).collect();
        let step = Observation::at(&theirs, theirs.horizon() - 1, last).unwrap().did(&theirs, 0).unwrap();
        let step = step.saw(&theirs, &keys[..]).unwrap().then(&theirs, last).unwrap();
        for name in ["ucbvi", "graph-psrl", "graph-ucbvi:guard=true", "lsvi-ucb:features=one-hot"] {
            let mut learner = by_name(&arena.knowledge(), name);
            learner.learn(&steps(&arena, 1, 1)[0].observation()).unwrap();
            let before = learner.save();
            assert_eq!(learner.learn(&step), Err(EvidenceError::OtherWorld), "{name}, world {n}");
            assert_eq!(learner.take_back(&step), Err(EvidenceError::OtherWorld), "{name}, world {n}");
            assert_eq!(learner.save(), before, "{name}, world {n}");
        }
    }
}

#[test]
fn a_guard_that_cannot_take_a_step_back_leaves_the_learner_inside_alone() {
    let arena = Arena::new(small_worlds::factored(1));
    let told = arena.knowledge();
    let mut learner = by_name(&told, "graph-ucbvi:guard=true");
    let keys: Vec<u32> = told.keys().iter().map(|_| 0).collect();
    let did = |action: usize| {
        let at = Observation::at(&told, 0, 0).unwrap().did(&told, action).unwrap();
        at.saw(&told, &keys[..]).unwrap().then(&told, 1).unwrap()
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
fn the_policy_of_a_guard_that_gave_the_causes_up_says_which_plan_it_came_from() {
    let arena = Arena::new(small_worlds::factored(1));
    let told = arena.knowledge();
    let mut learner = by_name(&told, "graph-ucbvi:guard=true");
    let keys: Vec<u32> = told.keys().iter().map(|_| 0).collect();
    let mut last = 0;
    for episode in 0..400 {
        let mut session = learner.begin();
        let action = session.act(&mut learner, 0).unwrap();
        let policy = session.policy().unwrap();
        if learner.gave_up_causes().is_some() {
            assert!(policy.plan() > last, "plan {} after {last}", policy.plan());
            assert_ne!(policy.evidence(), 0);
        }
        last = last.max(policy.plan());
        // Whatever is done, the same key values: not what the mechanisms say.
        let at = Observation::at(&told, 0, 0).unwrap().did_action(&told, action).unwrap();
        let step = at.saw(&told, &keys[..]).unwrap().then(&told, episode % 2).unwrap();
        session.observe(&mut learner, &step).unwrap();
        session.end(&mut learner);
    }
    assert!(learner.gave_up_causes().is_some());
    assert!(learner.learned_policy().plan() > last);
}

#[test]
fn a_session_takes_back_only_what_it_observed_itself() {
    let arena = Arena::new(small_worlds::factored(1));
    let told = arena.knowledge();
    let mut learner = by_name(&told, "graph-psrl");
    let keys: Vec<u32> = told.keys().iter().map(|_| 0).collect();
    let to = |next: usize| {
        let at = Observation::at(&told, 0, 0).unwrap().did(&told, 0).unwrap();
        at.saw(&told, &keys[..]).unwrap().paid(&told, &[f64::NAN, 0.25]).unwrap().then(&told, next).unwrap()
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
fn a_regression_takes_back_no_payment_that_cannot_have_been_made() {
    let arena = Arena::new(small_worlds::one_factor(1));
    let told = arena.knowledge().without_rewards();
    let mut learner = by_name(&told, "c-lsvi-ucb:features=one-hot");
    let paid = |reward: f64| {
        let at = Observation::at(&told, 0, 0).unwrap().did(&told, 0).unwrap();
        at.saw(&told, &[0u32][..]).unwrap().paid(&told, &[reward]).unwrap().then(&told, 0).unwrap()
    };
    learner.learn(&paid(1.0)).unwrap();
    learner.learn(&paid(1.0)).unwrap();
    assert_eq!(learner.take_back(&paid(0.0)), Err(EvidenceError::NotThere));
    learner.take_back(&paid(1.0)).unwrap();
}
