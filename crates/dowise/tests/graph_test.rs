//! The test of a graph against a log: true graphs are kept, wrong ones are found, and holes in the log are no trouble.

mod common;

use common::random_world::{Sizes, random_world};
use dowise::data::LogStep;
use dowise::offline::{GraphReport, GraphTest};
use dowise::simulate::Outcome;
use dowise::{Knowledge, Observation, Simulator, World, worlds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Episodes of interventions drawn at random.
fn episodes(world: &World, n: u64, seed: u64) -> Vec<Vec<LogStep<'static>>> {
    let simulator = Simulator::new(world).unwrap();
    let [mut starts, mut steps] = Simulator::streams(seed);
    let mut outcome = Outcome::default();
    let mut out = Vec::new();
    for episode in 0..n {
        let mut state = simulator.start(&mut starts);
        let mut played = Vec::new();
        for stage in 0..world.horizon() {
            let action = simulator.any_allowed(state, &mut steps);
            simulator.step(state, action, &mut steps, &mut outcome);
            played.push(LogStep::new(episode, outcome.observation(stage, state, action).into_owned()));
            state = outcome.next_state;
        }
        out.push(played);
    }
    out
}

/// The episodes with their places as numbers.
fn numbered(mut log: Vec<Vec<LogStep<'static>>>) -> Vec<Vec<LogStep<'static>>> {
    for (place, steps) in log.iter_mut().enumerate() {
        steps.iter_mut().for_each(|step| step.episode = place as u64);
    }
    log
}

fn report(declared: &Knowledge, log: &[Vec<LogStep<'static>>]) -> GraphReport {
    let mut test = GraphTest::new(declared);
    log.iter().for_each(|episode| test.add_episode(episode).unwrap());
    test.finish(0.05)
}

/// Most contradictions of `n` true graphs that a rate of 0.05 brings but once in a thousand times.
fn most_by_chance(n: u32) -> u32 {
    let (mut p, mut sum, mut k) = (0.95f64.powi(n as i32), 0.0, 0);
    loop {
        sum += p;
        if sum > 0.999 {
            return k;
        }
        p *= f64::from(n - k) / f64::from(k + 1) * 0.05 / 0.95;
        k += 1;
    }
}

#[test]
fn true_graphs_with_hidden_variables_are_rarely_contradicted() {
    for (name, n, length) in [("campaign", 25, 120), ("treatment", 25, 120), ("paper", 25, 120)] {
        let world = worlds::world(name, &[]).unwrap();
        let knowledge = Knowledge::of(&world);
        let wrong =
            (0..n).filter(|&seed| report(&knowledge, &episodes(&world, length, u64::from(seed))).is_contradicted());
        let (wrong, most) = (wrong.count() as u32, most_by_chance(n));
        assert!(wrong <= most, "{name}: {wrong} of {n} true graphs contradicted, {most} by chance");
    }
}

#[test]
fn true_random_graphs_are_rarely_contradicted() {
    // Levers left alone, hidden causes of levers and key variables, joint tables, forbidden combinations.
    let sizes = Sizes { hidden: [1, 3], levers: [1, 3], keys: [1, 3], values: [2, 3], ..Sizes::default() };
    let n = 150;
    let mut wrong = Vec::new();
    for seed in 0..n {
        let world = random_world(u64::from(seed), &sizes).1;
        let found = report(&Knowledge::of(&world), &episodes(&world, 150, 1));
        if found.is_contradicted() {
            wrong.push((seed, found.contradictions()[0].claim.clone()));
        }
    }
    let most = most_by_chance(n);
    assert!(wrong.len() as u32 <= most, "{} of {n}, {most} by chance: {wrong:?}", wrong.len());
}

#[test]
fn the_scope_of_a_reward_on_next_values_is_tested() {
    let text = |scope: &str, value: &str| {
        format!(
            "dowise = 1\nname = \"w\"\nhorizon = 2\n[state.x]\nvalues = [\"a\", \"b\"]\nscope = [\"x\", \"l\"]\n\
             next = [[[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]]\n[lever.l]\nvalues = [\"0\", \"1\"]\n\
             [reward.r]\nscope = [{scope}]\nvalue = {value}\nrange = [0.0, 1.0]\n[interventions]\nset = \"all\"\n"
        )
    };
    let world = |scope: &str, value: &str| World::from_toml(&text(scope, value), "w.toml").unwrap();
    let declared = world("\"next.x\"", "[0.1, 0.9]");
    let truth = world("\"l\", \"next.x\"", "[[0.1, 0.9], [0.6, 0.3]]");
    let knowledge = Knowledge::of(&declared);
    assert!(GraphTest::new(&knowledge).claims().contains(&"reward r ⊥ l | next x".to_owned()));
    let found = report(&knowledge, &episodes(&truth, 300, 1));
    assert!(found.contradictions()[0].claim.starts_with("reward r ⊥ l"), "{found:?}");
    let wrong = (0..20).filter(|&seed| report(&knowledge, &episodes(&declared, 200, seed)).is_contradicted()).count();
    assert!(wrong as u32 <= most_by_chance(20), "{wrong} of 20");
}

#[test]
fn a_declared_behaviour_mechanism_does_not_contradict_the_graph() {
    let text = |parents: &str| {
        format!(
            "dowise = 1\nname = \"w\"\nhorizon = 1\n[lever.l]\nvalues = [\"0\", \"1\"]\nparents = [{parents}]\n[key.m]\nvalues = [\"0\", \"1\"]\n\
             parents = []\np = [0.5, 0.5]\n[reward.r]\nscope = [\"l\", \"m\"]\nvalue = [[0.0, 0.5], [0.6, 0.2]]\n[interventions]\nset = \"all\"\n"
        )
    };
    for (parents, contradicted) in [("", true), ("\"m\"", false)] {
        let world = World::from_toml(&text(parents), "w.toml").unwrap();
        let knowledge = Knowledge::of(&world);
        // Whoever chose went by m.
        let chosen = |m: u32| world.read_action(&[("l", ["0", "1"][m as usize])].into()).unwrap();
        let simulator = Simulator::new(&world).unwrap();
        let [mut starts, mut rng] = Simulator::streams(3);
        let mut log = Vec::new();
        let mut learner = dowise::Learner::new(&knowledge, dowise::Options::default()).unwrap();
        learner.watch_log(0.05).unwrap();
        for episode in 0..400 {
            let state = simulator.start(&mut starts);
            let mut outcome = Outcome::default();
            let guess = u32::from(rng.random::<f64>() < 0.5);
            simulator.step(state, chosen(guess), &mut rng, &mut outcome);
            outcome.values[world.keys()[0].ix()] = guess;
            outcome.rewards[0] = [0.0, 0.2][guess as usize];
            let seen = outcome.observation(0, state, chosen(guess)).into_owned();
            learner.learn_times(&seen, 1).unwrap();
            log.push(vec![LogStep::new(episode, seen)]);
        }
        assert_eq!(report(&knowledge, &log).is_contradicted(), contradicted, "{parents}");
        assert_eq!(learner.graph_watch().unwrap().found.is_some(), contradicted, "{parents}");
    }
}

#[test]
fn a_long_log_is_watched_in_part_and_a_wrong_graph_is_found_all_the_same() {
    let world = worlds::world("treatment", &[]).unwrap();
    let knowledge = Knowledge::of(&world);
    for (from, found) in [(0, false), (9_000, true)] {
        let mut learner = dowise::Learner::new(&knowledge, dowise::Options::default()).unwrap();
        learner.watch_log(0.05).unwrap();
        let mut n = 0;
        for episode in episodes(&world, 60_000 / world.horizon() as u64, 5) {
            for step in episode {
                n += 1;
                let mut seen = step.observation;
                // From some step on, what follows is the lever's doing, past the key variables.
                if from > 0 && n > from {
                    let lever = seen.action().and_then(|action| knowledge.interventions().lever(action, 0));
                    seen = seen.then(&knowledge, lever.map_or(0, |v| v + 1) % world.n_states()).unwrap();
                }
                learner.learn_times(&seen, 1).unwrap();
            }
        }
        let watch = learner.graph_watch().unwrap();
        assert_eq!(watch.found.is_some(), found, "{:?}", watch.found);
    }
}

#[test]
fn a_log_that_is_watched_in_part_is_watched_so_after_a_restart_too() {
    let world = worlds::world("treatment", &[]).unwrap();
    let knowledge = Knowledge::of(&world);
    let mut learner = dowise::Learner::new(&knowledge, dowise::Options::default()).unwrap();
    learner.watch_log(0.05).unwrap();
    let mut steps = episodes(&world, 10_000 / world.horizon() as u64, 5).into_iter().flatten();
    for step in steps.by_ref().take(9_000) {
        learner.learn_times(&step.observation, 1).unwrap();
    }
    let mut again = dowise::Learner::restore(&knowledge, &learner.save()).unwrap();
    for step in steps {
        learner.learn_times(&step.observation, 1).unwrap();
        again.learn_times(&step.observation, 1).unwrap();
    }
    assert_eq!(learner.graph_watch(), again.graph_watch());
    assert_eq!(learner.save(), again.save());
}

/// A world whose next factors can depend on what the declared graph does not have.
fn shop(direct: f64, missing: f64) -> World {
    let mut table = Vec::new();
    for mood in [0.0, 1.0] {
        for seen in [0.0, 1.0] {
            for price in [-1.0, 1.0] {
                for purse in [-1.0, 1.0] {
                    let p = 0.3 + 0.2 * mood + 0.2 * seen + direct * price + missing * purse;
                    table.extend([1.0 - p, p]);
                }
            }
        }
    }
    let builder = World::builder("shop", 4)
        .state("mood", ["low", "high"])
        .state("purse", ["thin", "full"])
        .lever("price", ["low", "high"])
        .key("seen", ["no", "yes"])
        .mechanism("seen", ["price"], [0.6, 0.4, 0.3, 0.7])
        .next("purse", ["purse"], [0.7, 0.3, 0.3, 0.7])
        .reward("well", "mood", [0.0, 1.0]);
    let form = dowise::world::Form::Table(table);
    builder.next("mood", ["mood", "seen", "price", "purse"], form).build().unwrap()
}

/// A world with the declared graph and these probabilities of the next mood.
fn as_declared(mood: [f64; 8]) -> World {
    let builder = World::builder("shop", 4)
        .state("mood", ["low", "high"])
        .state("purse", ["thin", "full"])
        .lever("price", ["low", "high"])
        .key("seen", ["no", "yes"])
        .mechanism("seen", ["price"], [0.6, 0.4, 0.3, 0.7])
        .next("purse", ["purse"], [0.7, 0.3, 0.3, 0.7])
        .next("mood", ["mood", "seen"], mood)
        .reward("well", "mood", [0.0, 1.0]);
    builder.build().unwrap()
}

fn declared() -> Knowledge {
    Knowledge::of(&as_declared([0.5; 8]))
}

#[test]
fn a_lever_that_acts_directly_and_a_missing_parent_are_found_by_name() {
    let knowledge = declared();
    for (direct, missing, claim, meaning) in [
        (0.15, 0.0, "next mood ⊥ price | mood, seen", "price acts on next mood directly"),
        (0.0, 0.15, "next mood ⊥ purse | mood, seen", "purse acts on next mood directly"),
    ] {
        let found = report(&knowledge, &episodes(&shop(direct, missing), 600, 3));
        let first = &found.contradictions()[0];
        assert_eq!(first.claim, claim);
        assert!(first.meaning.starts_with(meaning), "{}", first.meaning);
        let size = first.effect.difference.abs();
        assert!((size - 0.3).abs() < 0.1, "twice 0.15 apart, found {size}");
        assert!(found.verdict().starts_with("contradicted at level 0.05"));
    }
    assert!(!report(&knowledge, &episodes(&shop(0.0, 0.0), 600, 3)).is_contradicted());
}

#[test]
fn the_claims_of_a_small_graph_are_these() {
    assert_eq!(
        GraphTest::new(&declared()).claims(),
        [
            "seen ⊥ stage | price",
            "seen ⊥ mood | price",
            "seen ⊥ purse | price",
            "reward well ⊥ stage | mood",
            "reward well ⊥ purse | mood",
            "reward well ⊥ price | mood",
            "reward well ⊥ seen | mood",
            "next mood ⊥ stage | mood, seen",
            "next mood ⊥ purse | mood, seen",
            "next mood ⊥ price | mood, seen",
            "next mood ⊥ reward well | mood, seen",
            "next purse ⊥ stage | purse",
            "next purse ⊥ mood | purse",
            "next purse ⊥ price | purse",
            "next purse ⊥ seen | purse",
            "next purse ⊥ reward well | purse",
            "next purse ⊥ next mood | purse",
        ]
    );
}

#[test]
fn what_shares_a_hidden_cause_is_not_compared() {
    let world = World::builder("hidden", 3)
        .state("s", ["a", "b"])
        .lever("x", ["a", "b"])
        .key("y", ["a", "b"])
        .key("z", ["a", "b"])
        .hidden("u", ["a", "b"])
        .mechanism("u", [] as [&str; 0], [0.5, 0.5])
        .mechanism("x", ["u"], [0.9, 0.1, 0.1, 0.9])
        .mechanism("y", ["u"], [0.9, 0.1, 0.1, 0.9])
        .mechanism("z", ["u", "x"], [0.9, 0.1, 0.1, 0.9, 0.2, 0.8, 0.6, 0.4])
        .next("s", ["y", "z"], [0.9, 0.1, 0.1, 0.9, 0.2, 0.8, 0.6, 0.4])
        .reward("well", "s", [0.0, 1.0])
        .set(dowise::world::SetSpec::Any)
        .build()
        .unwrap();
    let knowledge = Knowledge::of(&world);
    let claims = GraphTest::new(&knowledge).claims();
    let has = |claim: &str| claims.iter().any(|c| c == claim);
    assert!(!claims.iter().any(|c| c.starts_with("z ⊥ y") || c.starts_with("y ⊥ x")), "{claims:?}");
    assert!(has("y ⊥ set x"), "what was done to the lever is free of the hidden cause: {claims:?}");
    assert!(!has("z ⊥ s | x"), "given the lever's value alone, the hidden cause is open: {claims:?}");
    assert!(has("z ⊥ s | set x, x"), "{claims:?}");
    let wrong = (0..40).filter(|&seed| report(&knowledge, &episodes(&world, 200, seed)).is_contradicted()).count();
    assert!(wrong as u32 <= most_by_chance(40), "{wrong} of 40");
}

#[test]
fn missing_cells_are_left_out_pair_by_pair_and_counted() {
    let knowledge = declared();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut log = episodes(&shop(0.2, 0.0), 800, 5);
    let mut holes = 0;
    for step in log.iter_mut().flatten() {
        let seen = &step.observation;
        if rng.random_bool(0.2) {
            // The key variable was not seen, and the reward is not known.
            let bare = Observation::at(&knowledge, seen.stage(), seen.state()).unwrap();
            let bare = bare.did_action(&knowledge, seen.action().unwrap()).unwrap();
            step.observation = bare.then(&knowledge, seen.next_state().unwrap()).unwrap();
            holes += 1;
        }
    }
    let found = report(&knowledge, &log);
    assert_eq!(found.incomplete_steps, holes);
    let first = &found.contradictions()[0];
    assert_eq!((first.claim.as_str(), first.missing), ("next mood ⊥ price | mood, seen", holes));
    let kept = found.tested.iter().find(|t| t.claim == "next purse ⊥ price | purse").unwrap();
    assert_eq!(kept.missing, 0);
}

#[test]
fn an_empty_log_says_that_nothing_was_tested() {
    let found = report(&declared(), &[]);
    assert!(!found.is_contradicted() && found.tested.is_empty());
    assert_eq!(found.untested.len(), GraphTest::new(&declared()).claims().len());
    assert!(found.verdict().starts_with("nothing could be tested"), "{}", found.verdict());
    let few = report(&declared(), &episodes(&shop(0.0, 0.0), 3, 1));
    assert!(few.tested.is_empty() && few.untested.iter().all(|u| !u.why.is_empty()));
}

#[test]
fn the_order_of_episodes_matters_to_stationarity_only() {
    let mut log = episodes(&shop(0.1, 0.0), 150, 9);
    let timeless = |log: &_| {
        let report = report(&declared(), log);
        GraphReport { stationarity: Vec::new(), stationarity_untested: Vec::new(), ..report }
    };
    let before = timeless(&log);
    log.reverse();
    assert_eq!(timeless(&log), before);
}

#[test]
fn episodes_that_are_handed_on_late_keep_their_place_in_the_log() {
    // A reader hands on episodes whose end is missing after all others: here those that end in a good mood.
    let late = |seed: u64| {
        let ends_well = |steps: &Vec<LogStep<'_>>| steps.last().unwrap().observation.next_state().unwrap() % 2 == 1;
        let (late, mut log): (Vec<_>, Vec<_>) = episodes(&shop(0.0, 0.0), 600, seed).into_iter().partition(ends_well);
        log.extend(late);
        log
    };
    let rejects = |log: &_| !report(&declared(), log).stationarity_contradictions().is_empty();
    let wrong = (0..10).filter(|&seed| rejects(&late(300 + seed))).count();
    let by_arrival = (0..10).filter(|&seed| rejects(&numbered(late(300 + seed)))).count();
    assert!(wrong <= 2, "{wrong} of 10 stationary logs were rejected at level 0.05");
    assert!(by_arrival >= 8, "numbered as they arrive, {by_arrival} of 10 would be");
}

#[test]
fn a_world_that_changes_half_way_contradicts_stationarity_and_a_behaviour_policy_that_changes_does_not() {
    // With mood = low and seen = no, the next mood is high with this probability.
    let moody = |high: f64| as_declared([1.0 - high, high, 0.5, 0.5, 0.5, 0.5, 0.2, 0.8]);
    let two = |first: &World, second: &World, seed: u64| {
        let mut later = episodes(second, 800, seed + 1);
        // Another behaviour policy: most episodes with a high first price are left out.
        let mut n = 0;
        later.retain(|steps| {
            n += 1;
            steps[0].observation.values()[2] == 0 || n % 4 == 0
        });
        numbered([episodes(first, 400, seed), later].concat())
    };
    let rejects = |log: &_| !report(&declared(), log).stationarity_contradictions().is_empty();
    let changed = (0..20).filter(|&seed| rejects(&two(&moody(0.3), &moody(0.7), 100 + 2 * seed))).count();
    assert!(changed >= 18, "{changed} of 20 changes were noticed");
    let same = (0..40).filter(|&seed| rejects(&two(&moody(0.3), &moody(0.3), 200 + 2 * seed))).count();
    assert!(same <= 6, "{same} of 40 stationary logs were rejected at level 0.05");
}

#[test]
fn a_log_of_another_world_is_refused() {
    let other = worlds::world("campaign", &[]).unwrap();
    let mut test = GraphTest::new(&declared());
    assert!(test.add_episode(&episodes(&other, 1, 1)[0]).is_err());
}

/// A world in which the lever of the previous step acts, through a state factor that remembers it, and the same without that factor.
fn delayed() -> [World; 2] {
    let shared = "dowise = 1\nhorizon = 4\n[lever.x]\nvalues = [\"no\", \"yes\"]\n[key.k]\nvalues = [\"no\", \"yes\"]\n\
        parents = [\"x\"]\np = [[0.8, 0.2], [0.3, 0.7]]\n[interventions]\nset = \"all\"\n\
        [state.s]\nvalues = [\"bad\", \"good\"]\nstart = \"good\"\n";
    let of = |text: &str| World::from_toml(&format!("{shared}{text}"), "w.toml").unwrap_or_else(|e| panic!("{e}"));
    let remembers = "scope = [\"s\", \"m\"]\nnext = [[[0.7, 0.3], [0.9, 0.1]], [[0.2, 0.8], [0.6, 0.4]]]\n\
        [state.m]\nvalues = [\"no\", \"yes\"]\nstart = \"no\"\nscope = [\"x\"]\nnext = [[1, 0], [0, 1]]\n\
        [reward.r]\nscope = [\"s\", \"k\"]\nvalue = [[0.0, 0.3], [0.7, 1.0]]\n";
    let forgets = "scope = [\"s\", \"k\"]\nnext = [[[0.6, 0.4], [0.6, 0.4]], [[0.4, 0.6], [0.4, 0.6]]]\n[reward.r]\nscope = [\"s\", \"k\"]\nvalue = [[0.0, 0.3], [0.7, 1.0]]\n";
    [of(remembers), of(forgets)]
}

#[test]
fn an_effect_one_step_later_contradicts_the_markov_property() {
    let [truth, declared] = delayed();
    let simulator = Simulator::new(&truth).unwrap();
    let knowledge = Knowledge::of(&declared);
    let [mut starts, mut rng] = Simulator::streams(5);
    let mut test = GraphTest::new(&knowledge);
    for episode in 0..300 {
        let (mut state, mut steps) = (simulator.start(&mut starts), Vec::new());
        for stage in 0..4 {
            let (action, mut outcome) = (simulator.any_allowed(state, &mut rng), Outcome::default());
            simulator.step(state, action, &mut rng, &mut outcome);
            let [x, k] = ["x", "k"].map(|n| ["no", "yes"][outcome.values[truth.find(n).unwrap().ix()] as usize]);
            let of_s = |state: usize| truth.state_space().digit(state, 0);
            let seen = Observation::at(&knowledge, stage, of_s(state)).unwrap();
            let seen = seen.did(&knowledge, [("x", x)]).unwrap();
            let seen = seen.saw(&knowledge, [("k", k)]).unwrap().then(&knowledge, of_s(outcome.next_state)).unwrap();
            steps.push(LogStep::new(episode, seen));
            state = outcome.next_state;
        }
        test.add_episode(&steps).unwrap();
    }
    let report = test.finish(0.05);
    let found = report.markov_contradictions();
    assert_eq!(found[0].claim, "next s ⊥ previous x | s, k", "{found:?}");
    assert!(report.markov_verdict().unwrap().contains("the lever x acts on next s one step later"));
}

#[test]
fn true_markov_worlds_are_rarely_contradicted() {
    let sizes = Sizes { hidden: [0, 2], levers: [1, 3], keys: [1, 3], values: [2, 3], ..Sizes::default() };
    let (n, mut wrong, mut tested) = (150, Vec::new(), 0);
    for seed in 0..n {
        let world = random_world(u64::from(seed), &sizes).1;
        let found = report(&Knowledge::of(&world), &episodes(&world, 150, 2));
        tested += found.markov.len();
        wrong.extend(found.markov_contradictions().first().map(|one| (seed, one.claim.clone())));
    }
    let most = most_by_chance(n);
    assert!(tested > 1000, "{tested} independences of the previous step tested");
    assert!(wrong.len() as u32 <= most, "{} of {n}, {most} by chance: {wrong:?}", wrong.len());
}

#[test]
fn a_rare_lever_with_a_rare_outcome_is_tested() {
    // The declared graph lets x act through k alone; in truth the rare value of x kills.
    let text = |scope: &str, next: &str| {
        format!(
            "dowise = 1\nhorizon = 1\n[lever.x]\nvalues = [\"no\", \"yes\"]\n[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\"]\n\
             p = [[0.5, 0.5], [0.5, 0.5]]\n[interventions]\nset = \"all\"\n[state.s]\nvalues = [\"dead\", \"alive\"]\nstart = \"alive\"\n\
             scope = [{scope}]\nnext = {next}\n[reward.r]\nscope = [\"k\"]\nvalue = [0, 1]\n"
        )
    };
    let of = |scope: &str, next: &str| World::from_toml(&text(scope, next), "w.toml").unwrap_or_else(|e| panic!("{e}"));
    let declared = of("\"k\"", "[[0.005, 0.995], [0.005, 0.995]]");
    let harmless = of("\"x\"", "[[0.005, 0.995], [0.005, 0.995]]");
    let lethal = of("\"x\"", "[[0.005, 0.995], [0.6, 0.4]]");
    let knowledge = Knowledge::of(&declared);
    let play = |truth: &World, seed: u64| {
        let simulator = Simulator::new(truth).unwrap();
        let [mut starts, mut rng] = Simulator::streams(seed);
        let mut test = GraphTest::new(&knowledge);
        for episode in 0..800 {
            let state = simulator.start(&mut starts);
            let rank = u64::from(rng.random::<f64>() < 0.0125);
            let (action, mut outcome) = (truth.interventions().nth(rank), Outcome::default());
            simulator.step(state, action, &mut rng, &mut outcome);
            let seen = outcome.observation(0, state, action).into_owned();
            test.add_episode(&[LogStep::new(episode, seen)]).unwrap();
        }
        test.finish(0.05)
    };
    let found = play(&lethal, 1);
    assert_eq!(found.contradictions()[0].claim, "next s ⊥ x | k", "{found:?}");
    let n = 60;
    let wrong = (0..n).filter(|&seed| play(&harmless, 100 + u64::from(seed)).is_contradicted()).count() as u32;
    assert!(wrong <= most_by_chance(n), "{wrong} of {n}");
}
