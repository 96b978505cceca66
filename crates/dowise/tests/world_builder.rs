//! Worlds built in code are those of the file that says the same, with the same complaints.

use dowise::World;
use dowise::world::{Form, SetSpec, WorldBuilder};

const FILE: &str = r#"
    dowise = 1
    name = "walks"
    about = "Moods."
    horizon = 4
    [state.mood]
    values = ["low", "high"]
    start = "low"
    scope = ["mood", "walk"]
    next = [[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.1, 0.9]]]
    [state.rain]
    values = 2
    start = [0.5, 0.5]
    scope = []
    next = [0.75, 0.25]
    [lever.shoes]
    values = ["door", "cupboard"]
    cost = { door = 0.125 }
    p = [0.25, 0.75]
    [lever.call]
    values = 2
    p = [1, 0]
    [key.walk]
    values = ["no", "yes"]
    parents = ["rain", "shoes", "call"]
    p = [[[[0.5, 0.5], [0.25, 0.75]], [[1, 0], [0.5, 0.5]]], [[[0.75, 0.25], [1, 0]], [[1, 0], [1, 0]]]]
    [reward.well]
    scope = ["mood"]
    value = [0, 0.5]
    [reward.luck]
    scope = ["walk"]
    value = [0.125, 0.25]
    range = [0, 0.5]
    random = true
    [rewards]
    range = [0, 1]
    [interventions]
    set = "any"
    forbid = [{ when = { rain = ["1"] }, levers = { shoes = ["door"], call = ["1"] } }]
"#;

fn builder() -> WorldBuilder {
    let walk = vec![0.5, 0.5, 0.25, 0.75, 1.0, 0.0, 0.5, 0.5, 0.75, 0.25, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
    World::builder("walks", 4)
        .about("Moods.")
        .state("mood", ["low", "high"])
        .state("rain", 2)
        .lever_with_costs("shoes", ["door", "cupboard"], &[("door", 0.125)])
        .lever("call", 2)
        .key("walk", ["no", "yes"])
        .mechanism("shoes", [], [0.25, 0.75])
        .mechanism("call", [], [1.0, 0.0])
        .mechanism("walk", ["rain", "shoes", "call"], walk)
        .next("mood", ["mood", "walk"], [0.9, 0.1, 0.4, 0.6, 0.5, 0.5, 0.1, 0.9])
        .next("rain", [], [0.75, 0.25])
        .reward("well", "mood", [0.0, 0.5])
        .random_reward("luck", "walk", [0.125, 0.25], [0.0, 0.5])
        .reward_range([0.0, 1.0])
        .set(SetSpec::Any)
        .forbid(&[("rain", &["1"])], &[("shoes", &["door"]), ("call", &["1"])])
        .start("mood", "low")
        .start("rain", [0.5, 0.5])
}

#[test]
fn a_world_built_by_names_is_the_world_of_its_file() {
    let written = World::from_toml(FILE, "walks.toml").unwrap_or_else(|e| panic!("{e}"));
    let built = builder().build().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(built.to_toml(), written.to_toml());
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_the_names_used() {
    let wrong = builder()
        .reward("thrift", "walks", [0.0, 0.5])
        .mechanism("ran", ["shoes"], [0.5, 0.5])
        .lever_with_costs("lamp", 2, &[("bright", 1.0)])
        .start("mood", "middling")
        .start("snow", "0");
    let problems = wrong.build().unwrap_err().problems;
    for name in ["\"walks\"", "\"ran\"", "\"bright\"", "\"middling\"", "\"snow\""] {
        assert!(problems.iter().any(|p| p.message.contains(name)), "{name}: {problems:#?}");
    }
}

#[test]
fn tables_of_the_wrong_length_name_their_variable() {
    let says = |builder: WorldBuilder| builder.build().unwrap_err().to_string();
    let short = World::builder("short", 2).state("mood", 2).next("mood", ["mood"], [0.5, 0.5]);
    assert!(says(short).contains("mood"));
    let none = says(World::builder("none", 0).state("mood", Vec::<String>::new()));
    assert!(none.contains("horizon") && none.contains("mood"), "{none}");
}

#[test]
fn starting_states_with_weights_and_what_is_to_be_learned_are_kept() {
    let world = World::builder("learned", 2)
        .state("mood", 3)
        .lever("x", 2)
        .key("z", 2)
        .hidden("u", 2)
        .mechanism("u", ["x"], Form::Unknown)
        .mechanism("z", ["u"], [1.0, 0.0, 0.0, 1.0])
        .next("mood", ["mood", "z"], Form::Unknown)
        .unknown_reward("r", "z", [0.0, 1.0])
        .start_in([(vec![("mood", "0")], 1.0), (vec![("mood", "2")], 3.0)])
        .build()
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(world.start(), &dowise::world::Start::States(vec![(0, 0.25), (2, 0.75)]));
    assert!(world.transitions()[0].table.is_none() && world.rewards()[0].table.is_none());
    assert_eq!(world.mechanisms().iter().filter(|m| m.table.is_none()).count(), 1);
}

#[test]
fn ends_discounts_and_next_values_can_be_built() {
    let world = builder()
        .discount(0.5)
        .ends(&[("mood", &["!= low"]), ("rain", &["1"])])
        .reward("then", ["mood", "next.rain"], [0.0, 0.25, 0.5, 0.0])
        .reward_range([0.0, 2.0])
        .build()
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((world.discount(), world.rewards()[2].next.len()), (0.5, 1));
    let ended: Vec<bool> = (0..world.n_states()).map(|s| world.has_ended(s)).collect();
    assert_eq!(ended.iter().filter(|e| **e).count(), ended.len() / 2 / 2);
}
