//! A wrong graph is noticed and changed no more than it has to be; a right one is left alone.

use dowise::learn::{Causes, Estimate, Observation, Sets, States};
use dowise::world::{Form, SetSpec};
use dowise::worlds::Paper;
use dowise::{Knowledge, Learner, Options, World};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::draft::Draft;
use crate::play::Arena;
use crate::small_worlds;

/// Which of the edges past the key variable a world has.
#[derive(Clone, Copy, PartialEq)]
enum Direct {
    Nothing,
    NextState,
    Reward,
}

/// x = 3 is by far the best lever value, but not through z: by its effect on z it looks like a middling one.
///
/// ```text
/// x ──→ z ──→ s', r        declared
/// └───────────↑            true
/// ```
fn world(direct: Direct) -> World {
    let (state, pays) = (direct == Direct::NextState, direct == Direct::Reward);
    let next: Vec<f64> = (0..16)
        .flat_map(|i| {
            let (z, x) = (i / 4 % 2, i % 4);
            let p = if state && x == 3 { 0.95 } else { 0.1 + 0.2 * z as f64 };
            [1.0 - p, p]
        })
        .collect();
    let reward: Vec<f64> = (0..16)
        .map(|i| {
            let (s, z, x) = (i / 8, i / 4 % 2, i % 4);
            let extra = if pays && x == 3 { 0.6 } else { 0.0 };
            0.3 * s as f64 + 0.1 * z as f64 + extra
        })
        .collect();
    let draft = Draft::new(3, 0).state("s", 2).lever("x", 4).key("z", 2);
    let draft = draft.given(&["z"], &["x"], vec![0.1, 0.9, 0.9, 0.1, 0.5, 0.5, 0.5, 0.5]);
    let past = |edge: bool, table: Vec<f64>, n: usize| -> (Vec<&'static str>, Vec<f64>) {
        if edge {
            (vec!["s", "z", "x"], table)
        } else {
            (vec!["s", "z"], table.chunks_exact(4 * n).flat_map(|c| c[..n].to_vec()).collect())
        }
    };
    let (scope, table) = past(state, next, 2);
    let draft = draft.next_given("s", &scope, table);
    let (scope, table) = past(pays, reward, 1);
    let mut draft = draft.pays("r", &scope, table);
    draft.spec.rewards[0].range = Some([0.0, 1.0].into());
    draft.world()
}

/// A learner that tries everything now and then, in a world of which it is given a graph without the edge past the key variable.
fn exploring(guard: bool) -> Options {
    Options {
        states: States::Flat,
        causes: Causes::Keys,
        estimate: Estimate::EpsilonGreedy { epsilon: 0.3 },
        guard,
        seed: 1,
        ..Options::default()
    }
}

/// How much worse than the best the learned policy is, from all states together.
fn loss(arena: &Arena, learner: &Learner) -> f64 {
    let best: f64 = arena.optimal.value_hs[..2].iter().sum();
    best - arena.values_of(learner.learned_policy().actions())[..2].iter().sum::<f64>()
}

fn beats_the_unguarded(direct: Direct, change: impl Fn(Knowledge) -> Knowledge) {
    let arena = Arena::new(world(direct));
    let knowledge = change(Knowledge::of(&world(Direct::Nothing)));
    let mut plain = Learner::new(&knowledge, exploring(false)).expect("a learner");
    arena.regrets_of(&mut plain, 600, 1);
    assert!(loss(&arena, &plain) > 0.5, "without a guard it stays wrong: {}", loss(&arena, &plain));
    let mut guarded = Learner::new(&knowledge, exploring(true)).expect("a learner");
    arena.regrets_of(&mut guarded, 600, 1);
    assert!(loss(&arena, &guarded) < 1e-9, "{} {:?}", loss(&arena, &guarded), guarded.amendments());
    let [amendment] = guarded.amendments() else { panic!("one change: {:?}", guarded.amendments()) };
    let outcome = if direct == Direct::Reward { "the payment r" } else { "the next s" };
    let expected = format!("the lever x acts on {outcome} directly: given s and z, ");
    assert!(amendment.found.starts_with(&expected) && amendment.found.contains("higher where x = 3"), "{amendment:?}");
    assert!(amendment.became.starts_with("x is added to the scope of "), "{amendment:?}");
    assert_eq!(guarded.gave_up_causes(), None);
    // What was changed is saved and restored.
    let mut again = Learner::restore(&knowledge, &guarded.save()).expect("what was saved");
    assert_eq!((again.save(), again.amendments()), (guarded.save(), guarded.amendments()));
    assert_eq!(arena.regrets_of(&mut again, 5, 2), arena.regrets_of(&mut guarded, 5, 2));
    assert_eq!(again.save(), guarded.save());
}

#[test]
fn a_lever_that_moves_the_state_past_its_key_variable_is_found_out() {
    beats_the_unguarded(Direct::NextState, |knowledge| knowledge);
}

#[test]
fn a_lever_that_pays_past_its_key_variable_is_found_out() {
    beats_the_unguarded(Direct::Reward, |knowledge| knowledge);
}

#[test]
fn it_is_found_out_where_rewards_and_mechanisms_are_learned_as_well() {
    beats_the_unguarded(Direct::NextState, |knowledge| knowledge.without_mechanisms());
    beats_the_unguarded(Direct::Reward, |knowledge| knowledge.without_rewards().without_mechanisms());
}

/// The paper's environment with s1 depending on one thing more, by ±0.15, and the graph that does not say so.
fn paper(parent: &str, sign: fn(usize) -> bool) -> (World, World) {
    let mut spec = Paper { seed: 3, ..Paper::default() }.spec().expect("a world");
    let size = if parent.starts_with('x') { 4 } else { 2 };
    for transition in &mut spec.transitions {
        let Form::Table(table) = &mut transition.form else { panic!("a table") };
        table.iter_mut().for_each(|p| *p = 0.15 + 0.7 * *p);
    }
    let declared = World::new(spec.clone()).expect("declared");
    let Form::Table(table) = &mut spec.transitions[0].form else { panic!("a table") };
    let split = |row: &[f64]| {
        let p = |g: usize| row[1] + if sign(g) { 0.15 } else { -0.15 };
        (0..size).flat_map(|g| [1.0 - p(g), p(g)]).collect::<Vec<_>>()
    };
    *table = table.chunks_exact(2).flat_map(split).collect();
    spec.transitions[0].parents.push(parent.into());
    (World::new(spec).expect("the truth"), declared)
}

#[test]
fn a_missing_parent_and_a_direct_lever_are_named_and_added_without_exploring() {
    for (parent, sign, found) in [
        (
            "s2",
            (|g| g == 1) as fn(usize) -> bool,
            "the next s1 depends on s2, which its scope lacks: given s1, z1, z2 and z3, P(",
        ),
        ("x2", |g| g >= 2, "the lever x2 acts on the next s1 directly: given s1, z1, z2 and z3, P("),
    ] {
        let (truth, declared) = paper(parent, sign);
        let (arena, knowledge) = (Arena::new(truth), Knowledge::of(&declared));
        let mut learner =
            Learner::new(&knowledge, Options { guard: true, seed: 2, ..Options::default() }).expect("a learner");
        let mut watched = Learner::new(&knowledge, Options { seed: 2, ..Options::default() }).expect("a learner");
        watched.watch_graph(0.05).expect("memory");
        arena.regrets_of(&mut learner, 250, 2);
        arena.regrets_of(&mut watched, 250, 2);
        let first = learner.amendments().first().unwrap_or_else(|| panic!("{parent}: nothing was found"));
        assert!(first.found.starts_with(found) && first.episode < 250, "{first:?}");
        assert_eq!(first.became, format!("{parent} is added to the scope of s1"));
        let watch = watched.graph_watch().expect("it is tested");
        let seen = watch.found.expect("it is found without a guard as well");
        assert_eq!((seen.outcome.as_str(), seen.variable.as_str()), ("s1", parent), "{seen:?}");
        assert!(seen.effect > 0.1 && seen.effect < 0.6, "{seen:?}");
        // What bets have gained they may lose again; that the bar was reached once is what counts.
        assert!(watch.contradicted && watched.graph_contradicted() && watched.amendments().is_empty());
        let again = Learner::restore(&knowledge, &watched.save()).expect("what was saved");
        assert_eq!((again.save(), again.graph_watch()), (watched.save(), watched.graph_watch()));
    }
}

#[test]
fn factors_that_share_a_hidden_cause_are_counted_together() {
    let world = Draft::new(4, 0).state("s", 2).state("t", 2).state("u", 2).lever("x", 2).key("z", 2);
    let world = world.given(&["z"], &["x"], vec![0.3, 0.7, 0.7, 0.3]);
    let world =
        world.next_given("s", &["z"], vec![0.4, 0.6, 0.6, 0.4]).next_given("t", &["z"], vec![0.5, 0.5, 0.5, 0.5]);
    let world = world.next_given("u", &["s"], vec![0.5, 0.5, 0.5, 0.5]);
    let knowledge = Knowledge::of(&world.pays("r", &["s", "t"], vec![0.0, 0.0, 0.0, 1.0]).world()).without_mechanisms();
    let mut learner = Learner::new(&knowledge, Options { guard: true, ..Options::default() }).expect("a learner");
    // Whatever else happens, both factors go the same way three times out of four.
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for i in 0..400usize {
        let [x, z, s] = [0; 3].map(|_: usize| random.random_range(0..2usize));
        let t = if random.random::<f64>() < 0.75 { s } else { 1 - s };
        let at = Observation::at(&knowledge, i % 4, random.random_range(0..8usize))
            .and_then(|o| o.did(&knowledge, x))
            .expect("a step");
        let step = at
            .saw(&knowledge, &[z as u32][..])
            .and_then(|o| o.then(&knowledge, 4 * s + 2 * t + i / 3 % 2))
            .expect("a step");
        learner.learn(&step).expect("of this world");
    }
    let first = learner.amendments().first().expect("they go together");
    assert!(first.found.contains("share a cause that is not declared"), "{first:?}");
    assert_eq!(first.became, "the next values of s and t are counted together, over the scopes of all");
    assert_eq!(learner.options().map(|o| o.states), Some(States::Factored), "the others are left as they are");
    let evidence = learner.evidence().expect("it counts");
    assert_eq!(evidence.steps(), 400, "all that was seen is counted again");
    let tables: Vec<_> = evidence.tables().into_iter().map(|t| (t.names.join(" "), t.rows, t.visits)).collect();
    assert_eq!(
        tables,
        [("s t", 2, 400), ("u", 2, 400), ("z", 2, 400)].map(|(n, rows, visits)| (n.to_owned(), rows, visits))
    );
    assert!(learner.gave_up_causes().is_none() && learner.graph_watch().is_some_and(|watch| !watch.contradicted));
    let again = Learner::restore(&knowledge, &learner.save()).expect("what was saved");
    assert_eq!(again.save(), learner.save());
}

#[test]
fn wrong_known_parameters_are_named_and_learned() {
    let world = Draft::new(4, 0).state("s", 2).lever("x", 2).key("z", 2);
    let world = world.given(&["z"], &["x"], vec![0.3, 0.7, 0.7, 0.3]).next_given("s", &["z"], vec![0.4, 0.6, 0.6, 0.4]);
    let knowledge = Knowledge::of(&world.pays("r", &["s"], vec![0.0, 1.0]).world());
    let mut learner = Learner::new(&knowledge, Options { guard: true, ..Options::default() }).expect("a learner");
    let mut watched = Learner::new(&knowledge, Options::default()).expect("a learner");
    watched.watch_graph(0.05).expect("memory");
    // z is a fair coin, whatever x is.
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for i in 0..400usize {
        let [x, z, s] = [0; 3].map(|_: usize| random.random_range(0..2usize));
        let at = Observation::at(&knowledge, i % 4, s).and_then(|o| o.did(&knowledge, x)).expect("a step");
        let next = random.random_range(0..2usize);
        let step = at.saw(&knowledge, &[z as u32][..]).and_then(|o| o.then(&knowledge, next)).expect("a step");
        learner.learn(&step).expect("of this world");
        watched.learn(&step).expect("of this world");
    }
    let first = learner.amendments().first().expect("z is not as it was given");
    assert!(first.found.starts_with("the known parameters of the key variable z are not right: P(z = "), "{first:?}");
    assert_eq!(first.became, "its numbers are learned from now on");
    assert!(learner.amendments().len() == 1 && learner.gave_up_causes().is_none(), "{:?}", learner.amendments());
    let tables = learner.evidence().expect("it counts").tables();
    assert!(tables.iter().any(|t| t.names == ["z"] && t.visits == 400), "{tables:?}");
    assert!(watched.graph_watch().and_then(|w| w.found).is_some_and(|f| f.variable == "known parameters"));
    let again = Learner::restore(&knowledge, &learner.save()).expect("what was saved");
    assert_eq!(again.save(), learner.save());
}

#[test]
fn causes_are_given_up_where_no_smaller_change_can_be_represented() {
    // Left alone, x follows from z; set, it moves z: with the arrow x → z the graph would have a cycle.
    let world = Draft::new(2, 0).state("s", 2).lever("x", 2).key("z", 2).set(SetSpec::Any);
    let world = world.given(&["z"], &[], vec![0.5, 0.5]).given(&["x"], &["z"], vec![0.9, 0.1, 0.1, 0.9]);
    let knowledge =
        Knowledge::of(&world.next_given("s", &["z"], vec![0.5; 4]).pays("r", &["s"], vec![0.0, 1.0]).world());
    let mut learner = Learner::new(&knowledge, Options { guard: true, ..Options::default() }).expect("a learner");
    let all = knowledge.interventions();
    let mut last = 0;
    for i in 0..300usize {
        let mut session = learner.begin();
        last = last.max(session.policy().map_or(0, |p| p.plan()));
        let x = i / 3 % 2;
        let at = Observation::at(&knowledge, 0, 0)
            .and_then(|o| o.did_action(&knowledge, all.action(&[Some(x)])))
            .expect("a step");
        let z = if i % 5 == 0 { 1 - x } else { x };
        let step = at.saw(&knowledge, &[z as u32][..]).and_then(|o| o.then(&knowledge, i / 6 % 2)).expect("a step");
        session.observe(&mut learner, &step).expect("its step");
        session.end(&mut learner);
        let again = Learner::restore(&knowledge, &learner.save()).expect("what was saved");
        assert_eq!(again.save(), learner.save(), "episode {i}");
    }
    assert!(learner.gave_up_causes().is_some_and(|k| k < 300), "{:?}", learner.graph_watch());
    assert_eq!(learner.amendments().last().map(|a| a.became.as_str()), Some("the causes are given up for plain UCBVI"));
    assert_eq!(learner.graph_watch(), None, "there is nothing left to test");
    assert!(learner.begin().policy().is_some_and(|p| p.plan() >= last), "plans are numbered on");
}

fn options(guard: bool, seed: u64) -> Options {
    let estimate = Estimate::Sets(Sets::Mixture);
    Options { states: States::Flat, causes: Causes::Keys, estimate, episodes: 4000, guard, seed, ..Options::default() }
}

#[test]
fn a_guard_keeps_quiet_where_the_graph_is_right_and_costs_no_regret() {
    let mut changed = vec![];
    for seed in 0..8 {
        for world in [small_worlds::one_factor(seed), small_worlds::factored(seed), small_worlds::crooked(seed)] {
            let arena = Arena::new(world);
            let known = arena.knowledge();
            let all = [known.clone(), known.clone().without_mechanisms(), known.without_mechanisms().without_rewards()];
            for (i, knowledge) in all.iter().enumerate() {
                let guarded =
                    Options { states: States::Factored, causes: Causes::OwnKeys, episodes: 150, ..options(true, seed) };
                let plain = Options { guard: false, ..guarded.clone() };
                let mut learner = Learner::new(knowledge, guarded).expect("a learner");
                let regrets = arena.regrets_of(&mut learner, 150, seed);
                match learner.amendments() {
                    [] => {
                        let mut plain = Learner::new(knowledge, plain).expect("a learner");
                        assert_eq!(regrets, arena.regrets_of(&mut plain, 150, seed));
                    }
                    some => changed.push((seed, arena.world.n_states(), i, some.to_vec())),
                }
            }
        }
    }
    assert_eq!(changed, []);
}

#[test]
fn a_guard_restored_while_it_learns_the_mechanisms_keeps_quiet_too() {
    // z is x, and the next state is z, nearly always: a belief that z is anyone's guess would look very wrong.
    let near = vec![0.98, 0.02, 0.02, 0.98];
    let world = Draft::new(3, 0)
        .state("s", 2)
        .lever("x", 2)
        .key("z", 2)
        .given(&["z"], &["x"], near.clone())
        .next_given("s", &["z"], near)
        .pays("r", &["s"], vec![0.0, 1.0])
        .world();
    let arena = Arena::new(world);
    let knowledge = arena.knowledge().without_mechanisms();
    let mut learner = Learner::new(&knowledge, Options { episodes: 200, ..options(true, 3) }).expect("a learner");
    let mut run = arena.run(3);
    for episode in 0..200 {
        run.episode(&mut learner);
        assert_eq!(learner.amendments(), [], "episode {episode}");
        learner = Learner::restore(&knowledge, &learner.save()).expect("what was saved");
    }
}

/// Plays a truth that the learner is given otherwise.
fn guarded(truth: &str, knowledge: &str, learner: &str, episodes: u64, seed: u64) -> (Arena, Learner) {
    let read = |text: &str| World::from_toml(text, "world.toml").expect("a world");
    let (arena, spec) = (Arena::new(read(truth)), learner.parse::<dowise::LearnerSpec>().expect("a learner"));
    let mut learner = spec.learner(&read(knowledge), episodes, seed).expect("a learner");
    arena.regrets_of(&mut learner, episodes, seed);
    (arena, learner)
}

#[test]
fn wrong_known_parameters_of_a_natural_lever_are_learned() {
    let world = |p: &str| {
        format!(
            "dowise = 1\nhorizon = 3\n[state.s]\nvalues = 2\nscope = [\"s\", \"z\"]\n\
             next = [[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]]]\n[lever.x]\nvalues = 2\np = {p}\n\
             cost = {{ \"1\" = 0.3, \"0\" = 0.3 }}\n[key.z]\nvalues = 2\nparents = [\"x\"]\np = [[0.9, 0.1], [0.1, 0.9]]\n\
             [reward.r]\nscope = [\"z\"]\nvalue = [0.0, 1.0]\n[interventions]\nset = \"any\"\n"
        )
    };
    let (arena, learner) = guarded(&world("[0.9, 0.1]"), &world("[0.2, 0.8]"), "graph-psrl:guard=true", 300, 1);
    let [first] = learner.amendments() else { panic!("one change: {:?}", learner.amendments()) };
    assert!(first.found.starts_with("the known parameters of the lever x left alone are not right"), "{first:?}");
    assert_eq!(first.became, "its numbers are learned from now on");
    assert!(loss(&arena, &learner) < 1e-9, "{}", loss(&arena, &learner));
    let knowledge = Knowledge::of(&World::from_toml(&world("[0.2, 0.8]"), "given.toml").expect("a world"));
    assert_eq!(Learner::restore(&knowledge, &learner.save()).expect("what was saved").save(), learner.save());
}

#[test]
fn key_variables_with_a_hidden_cause_get_an_arrow_and_the_policy_is_the_best() {
    let world = |keys: &str| {
        format!(
            "dowise = 1\nhorizon = 2\n[state.s]\nvalues = 2\nscope = [\"z\", \"k\"]\n\
             next = [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.9, 0.1]]]\nstart = \"0\"\n[lever.x]\nvalues = 2\n{keys}\
             [reward.differ]\nscope = [\"z\", \"k\"]\nvalue = [[0.0, 1.0], [1.0, 0.0]]\n"
        )
    };
    let truth = world(
        "[key.z]\nvalues = 2\n[key.k]\nvalues = 2\n[joint]\nkeys = [\"z\", \"k\"]\nparents = [\"x\"]\n\
         p = [[0.475, 0.025, 0.025, 0.475], [0.49, 0.21, 0.21, 0.09]]\n",
    );
    let key = |name: &str| format!("[key.{name}]\nvalues = 2\nparents = [\"x\"]\np = [[0.5, 0.5], [0.7, 0.3]]\n");
    let knowledge = world(&(key("z") + &key("k")));
    for learner in ["graph-ucbvi:guard=true", "graph-psrl:guard=true,unknown=all"] {
        let (arena, learner) = guarded(&truth, &knowledge, learner, 400, 1);
        let [first] = learner.amendments() else { panic!("one change: {:?}", learner.amendments()) };
        let words = "the key variable k and the key variable z go together";
        assert!(first.found.starts_with(words) && first.became == "z is added to the parents of k", "{first:?}");
        assert!(loss(&arena, &learner) < 1e-9, "{}", loss(&arena, &learner));
    }
}

#[test]
fn a_payment_outside_its_range_widens_the_range_and_is_learned() {
    let world = |pays: &str| {
        format!(
            "dowise = 1\nhorizon = 2\n[state.s]\nvalues = 2\nscope = [\"z\"]\nnext = [[0.8, 0.2], [0.2, 0.8]]\n\
             [lever.x]\nvalues = 3\n[key.z]\nvalues = 2\nparents = [\"x\"]\np = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]\n\
             [reward.pay]\nscope = [\"z\"]\nvalue = {pays}\n"
        )
    };
    let (arena, learner) = guarded(&world("[0.5, -50.0]"), &world("[0.5, 1.0]"), "graph-psrl:guard=true", 200, 2);
    let [first] = learner.amendments() else { panic!("one change: {:?}", learner.amendments()) };
    let found = "the known range of the payment pay is not right: it was given as 0.5 to 1, and -50 was paid";
    assert_eq!(first.found, found);
    assert_eq!(first.became, "pay is taken to pay between -50 and 1, and what it pays is learned from now on");
    assert!(first.episode <= 5 && loss(&arena, &learner) < 1e-9, "{first:?}");
    let knowledge = Knowledge::of(&World::from_toml(&world("[0.5, 1.0]"), "given.toml").expect("a world"));
    assert_eq!(Learner::restore(&knowledge, &learner.save()).expect("what was saved").save(), learner.save());
}
