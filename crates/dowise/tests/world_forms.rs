//! Good files compile to exactly the expected tables.

use dowise::World;
use dowise::world::{LeverRule, Start};

fn world(text: &str) -> World {
    World::from_toml(text, "w.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn transition(world: &World, factor: usize) -> Vec<f64> {
    world.transitions()[factor].table.as_ref().expect("known").to_vec()
}

fn mechanism(world: &World, name: &str) -> Vec<f64> {
    let id = world.find(name).expect("a variable");
    let own = world.mechanisms().iter().find(|m| m.children[0] == id).expect("a mechanism");
    own.table.as_ref().expect("known").to_vec()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} against {expected:?}");
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} against {expected:?}");
}

const CAMPAIGN: &str = include_str!("world_errors/base.toml");

#[test]
fn the_whole_example_compiles() {
    let world = world(CAMPAIGN);
    assert_eq!(world.name(), "E-mail campaign");
    assert_eq!((world.horizon(), world.n_states()), (4, 3));
    let names =
        |ids: &[dowise::world::VarId]| ids.iter().map(|&id| world.variable(id).name.as_str()).collect::<Vec<_>>();
    assert_eq!(names(world.levers()), ["subject", "discount"]);
    assert_eq!(names(world.keys()), ["opened", "bought"]);
    assert_eq!(names(world.hidden()), ["mood"]);
    let order: Vec<&str> = world.mechanisms().iter().flat_map(|m| names(&m.children)).collect();
    assert_eq!(order, ["subject", "discount", "mood", "opened", "bought"]);
    assert_eq!(world.interventions().lever_rule(), &LeverRule::AtMost(2));
    assert_eq!(world.reward_range(), [0.0, 1.0]);
    assert_eq!(world.start(), &Start::Product(vec![vec![1.0, 0.0, 0.0]]));
    assert_eq!(world.findings(), []);
    assert!(world.is_fully_known());
}

/// A world with the given middle part; `d` is a lever of three values, `k` a key variable that pays.
fn around(middle: &str) -> World {
    world(&format!(
        "dowise = 1\nhorizon = 2\n[lever.d]\nvalues = [\"a\", \"b\", \"c\"]\n{middle}\n\
         [reward.r]\nscope = [\"k\"]\nsum = {{ base = 1.0, effects = {{ k = {{ yes = 0.5 }} }} }}\n"
    ))
}

#[test]
fn nested_lists_run_over_the_parents_first_slowest() {
    let world = around(
        "[state.s]\nvalues = 2\nscope = [\"s\"]\nnext = [[0.1, 0.9], [0.3, 0.7]]\n\
         [key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"s\", \"d\"]\n\
         p = [[[0, 1], [0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6], [0.5, 0.5]]]",
    );
    assert_eq!(transition(&world, 0), [0.1, 0.9, 0.3, 0.7]);
    assert_eq!(mechanism(&world, "k"), [0.0, 1.0, 0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5]);
    assert_eq!(world.rewards()[0].table.as_deref(), Some(&[1.0, 1.5][..]));
    assert_eq!(world.reward_range(), [1.0, 1.5]);
    assert_eq!(world.interventions().lever_rule(), &LeverRule::All);
    assert!(world.mechanisms().iter().all(|m| !m.children.contains(&world.levers()[0])));
}

#[test]
fn the_first_row_that_matches_counts() {
    let world = around(
        "[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"d\", \"h\"]\n\
         rows = [\n\
           { when = { d = [\"a\", \"c\"], h = 1 }, p = [0.1, 0.9] },\n\
           { when = { d = \"c\", h = \"*\" }, p = { yes = 1.0 } },\n\
           { when = { h = true }, is = \"no\" },\n\
           { p = { no = 0.25, yes = 0.75 } },\n\
         ]\n\
         [hidden.h]\nvalues = [0, 1, true]\np = [0.5, 0.25, 0.25]",
    );
    let expected = [
        [0.25, 0.75], // a, 0
        [0.1, 0.9],   // a, 1
        [1.0, 0.0],   // a, true
        [0.25, 0.75], // b, 0
        [0.25, 0.75], // b, 1
        [1.0, 0.0],   // b, true
        [0.0, 1.0],   // c, 0
        [0.1, 0.9],   // c, 1
        [0.0, 1.0],   // c, true
    ];
    assert_eq!(mechanism(&world, "k"), expected.concat());
}

#[test]
fn same_as_and_shift_follow_values_by_name_and_stop_at_the_ends() {
    let world = around(
        "[state.s]\nvalues = [\"b\", \"c\", \"d\"]\nscope = [\"s\", \"d\"]\n\
         next = { rows = [\n\
           { when = { d = \"a\" }, shift = { \"-1\" = 0.2, \"0\" = 0.5, \"+1\" = 0.3 } },\n\
           { when = { s = [\"b\", \"c\"] }, same_as = \"d\" },\n\
           { shift = { \"-9\" = 0.5, \"0\" = 0.5 }, of = \"d\" },\n\
         ] }\n\
         [key.k]\nvalues = [\"no\", \"yes\"]\nparents = []\np = [1, 0]",
    );
    let expected = [
        [0.7, 0.3, 0.0], // s = b, d = a: moves down stop at b
        [1.0, 0.0, 0.0], // s = b, d = b
        [0.0, 1.0, 0.0], // s = b, d = c
        [0.2, 0.5, 0.3], // s = c, d = a
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.2, 0.8], // s = d, d = a: moves up stop at d
        [1.0, 0.0, 0.0], // s = d, d = b: from b, down nine stops at b
        [0.5, 0.5, 0.0], // s = d, d = c
    ];
    close(&transition(&world, 0), &expected.concat());
}

#[test]
fn noisy_or_agrees_with_the_formula() {
    let world = around(
        "[hidden.h]\nvalues = [\"off\", \"on\"]\np = [0.5, 0.5]\n\
         [key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"d\", \"h\"]\n\
         noisy_or = { leak = 0.1, effects = { d = { b = 0.2, c = 0.3 }, h = { on = 0.4 } } }",
    );
    let mut expected = Vec::new();
    for push in [0.0, 0.2, 0.3] {
        for on in [0.0, 0.4] {
            let no = (1.0 - 0.1) * (1.0 - push) * (1.0 - on);
            expected.extend([no, 1.0 - no]);
        }
    }
    close(&mechanism(&world, "k"), &expected);
}

#[test]
fn logit_of_two_values_is_the_log_odds_of_the_second() {
    let world = around(
        "[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"d\"]\nlogit = { base = -1.0, effects = { d = { c = 2.5 } } }",
    );
    let odds = |score: f64| [1.0 / (1.0 + score.exp()), score.exp() / (1.0 + score.exp())];
    close(&mechanism(&world, "k"), &[odds(-1.0), odds(-1.0), odds(1.5)].concat());
}

#[test]
fn logit_of_many_values_has_a_score_for_each() {
    let world = around(
        "[key.k]\nvalues = [\"no\", \"yes\", \"both\"]\nparents = [\"d\"]\n\
         logit = { base = [0, 1, 2], effects = { d = { b = [1, 0, -1] } } }",
    );
    let shares = |scores: [f64; 3]| {
        let sum: f64 = scores.iter().map(|s| s.exp()).sum();
        scores.map(|s| s.exp() / sum)
    };
    let expected = [shares([0.0, 1.0, 2.0]), shares([1.0, 1.0, 1.0]), shares([0.0, 1.0, 2.0])];
    close(&mechanism(&world, "k"), &expected.concat());
}

#[test]
fn csv_rows_have_any_order_and_joint_tables_one_column_per_combination() {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("world_forms");
    std::fs::create_dir_all(&dir).expect("a writable directory");
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("a writable directory");
    write("joint.csv", "no|x, d ,no|y,yes|x,yes|y\r\n0.1,b,0.2,0.3,0.4\r\n\r\n0,c,0,0,1\r\n1,\"a\",0,0,0\r\n");
    write("pay.csv", "value,l,k\n1,x,no\n2,y,no\n3,x,yes\n4,y,yes\n");
    write(
        "world.toml",
        "dowise = 1\nhorizon = 2\n[lever.d]\nvalues = [\"a\", \"b\", \"c\"]\n\
         [key.k]\nvalues = [\"no\", \"yes\"]\n[key.l]\nvalues = [\"x\", \"y\"]\n\
         [joint]\nkeys = [\"k\", \"l\"]\nparents = [\"d\"]\ncsv = \"joint.csv\"\n\
         [reward.r]\nscope = [\"k\", \"l\"]\ncsv = \"pay.csv\"\n",
    );
    let world = World::from_file(dir.join("world.toml")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(mechanism(&world, "k"), [1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(world.mechanisms()[0].children, world.keys());
    assert_eq!(world.rewards()[0].table.as_deref(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
    assert_eq!(world.n_states(), 1);
}

#[test]
fn rows_of_a_joint_table_may_name_combinations() {
    let world = around(
        "[key.k]\nvalues = [\"no\", \"yes\"]\n[key.l]\nvalues = [\"x\", \"y\", \"z\"]\n\
         [[joint]]\nkeys = [\"l\", \"k\"]\nparents = [\"d\"]\n\
         rows = [{ when = { d = \"a\" }, is = \"y|no\" }, { p = { \"x|yes\" = 0.25, \"z|no\" = 0.75 } }]",
    );
    let other = [0.0, 0.25, 0.0, 0.0, 0.75, 0.0];
    assert_eq!(mechanism(&world, "l"), [[0.0, 0.0, 1.0, 0.0, 0.0, 0.0], other, other].concat());
}

#[test]
fn what_is_left_out_is_to_be_learned() {
    let world = world(
        "dowise = 1\nhorizon = 2\n\
         [state.free]\nvalues = 2\n[state.scoped]\nvalues = 2\nscope = [\"scoped\", \"k\"]\n\
         [lever.x]\nvalues = 2\n[lever.y]\nvalues = 2\n[key.k]\nvalues = 2\nparents = [\"x\", \"y\"]\n\
         [reward.r]\nscope = [\"k\"]\nrange = [0, 3]\n\
         [interventions]\nset = [{ x = 0, y = 0 }, { x = 1, y = 1 }, { y = 1 }]\n",
    );
    assert!(!world.is_fully_known());
    let id = |name: &str| world.find(name).expect("a variable");
    assert_eq!(world.transitions()[0].parents, [id("free"), id("scoped"), id("k")]);
    assert_eq!(world.transitions()[1].parents, [id("scoped"), id("k")]);
    assert_eq!(world.reward_range(), [0.0, 3.0]);
    // Every listed intervention sets y, so only x has a mechanism of its own, which is unknown.
    let children: Vec<_> = world.mechanisms().iter().map(|m| m.children.clone()).collect();
    assert_eq!(children, [vec![id("x")], vec![id("k")]]);
    let all = world.interventions();
    let listed: Vec<_> = (0..all.count()).map(|i| all.levers(all.nth(i))).collect();
    assert_eq!(listed, [[None, Some(1)], [Some(0), Some(0)], [Some(1), Some(1)]]);
}

#[test]
fn a_start_may_be_a_value_probabilities_uniform_or_weighted_states() {
    let with = |start: &str| {
        let text = format!(
            "dowise = 1\nhorizon = 1\n[state.s]\nvalues = [\"a\", \"b\"]\n{start}\n[lever.x]\nvalues = 1\n\
             [reward.r]\nvalue = 0.5\n"
        );
        world(&text).start().clone()
    };
    let product = |a: f64, b: f64| Start::Product(vec![vec![a, b]]);
    assert_eq!(with("start = \"b\""), product(0.0, 1.0));
    assert_eq!(with("start = [0.25, 0.75]"), product(0.25, 0.75));
    assert_eq!(with("start = { b = 1.0 }"), product(0.0, 1.0));
    assert_eq!(with("start = \"uniform\""), product(0.5, 0.5));
    assert_eq!(with(""), product(0.5, 0.5));
    let states = "[[start]]\nstate = { s = \"b\" }\nweight = 3\n[[start]]\nstate = { s = \"a\" }";
    assert_eq!(with(states), Start::States(vec![(0, 0.25), (1, 0.75)]));
}
