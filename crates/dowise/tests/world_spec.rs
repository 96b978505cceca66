//! Worlds stated by programs: what a file cannot say is checked as well, and nothing depends on places.

use dowise::World;
use dowise::world::*;

fn variable(name: &str, kind: Kind, values: &[&str]) -> VariableSpec {
    let values = values.iter().map(|&v| v.into()).collect();
    VariableSpec { name: name.into(), kind: kind.into(), values, values_at: None, costs: Vec::new() }
}

fn mechanism(children: &[&str], parents: &[&str], table: &[f64]) -> MechanismSpec {
    let names = |names: &[&str]| names.iter().map(|&n| n.into()).collect();
    MechanismSpec {
        children: names(children),
        parents: names(parents),
        form: Form::Table(table.to_vec()),
        learn: None,
        at: None,
    }
}

fn reward(name: &str, scope: &[&str], table: &[f64]) -> RewardSpec {
    let scope = scope.iter().map(|&n| n.into()).collect();
    let form = RewardForm::Table(table.to_vec());
    RewardSpec { name: name.into(), scope, form, range: None, random: false, learn: false, at: None }
}

/// x → k → s, and k pays.
fn spec() -> WorldSpec {
    WorldSpec {
        name: "small".to_owned(),
        about: String::new(),
        horizon: 2.into(),
        discount: None,
        ends: Vec::new(),
        variables: vec![
            variable("k", Kind::Key, &["0", "1"]),
            variable("s", Kind::State, &["0", "1"]),
            variable("x", Kind::Lever, &["0", "1"]),
        ],
        transitions: vec![mechanism(&["s"], &["k"], &[0.5, 0.5, 0.25, 0.75])],
        mechanisms: vec![mechanism(&["k"], &["x"], &[1.0, 0.0, 0.0, 1.0])],
        rewards: vec![reward("r", &["k"], &[0.0, 1.0])],
        reward_range: None,
        interventions: InterventionSpec::default(),
        start: StartSpec::Uniform,
    }
}

/// What is said about the world after a change.
fn said(change: impl FnOnce(&mut WorldSpec)) -> String {
    let mut spec = spec();
    change(&mut spec);
    World::new(spec).map_or_else(|e| e.to_string(), |_| "good".to_owned())
}

#[test]
fn a_world_can_be_stated_without_a_file() {
    assert_eq!(said(|_| ()), "good");
    let world = World::new(spec()).unwrap();
    assert_eq!(world.findings(), []);
    assert_eq!(world.keys(), [VarId(0)]);
}

#[test]
fn tables_have_as_many_entries_as_combinations() {
    assert_eq!(
        said(|s| s.mechanisms[0].form = Form::Table(vec![0.5, 0.5])),
        "the table of \"k\" has 2 entries, not 4; one for each combination of its parents and each value"
    );
    assert_eq!(
        said(|s| s.rewards[0].form = RewardForm::Table(vec![0.5])),
        "the table of reward \"r\" has 1 entries, not 2; one for each combination of its scope"
    );
}

#[test]
fn a_mechanism_decides_something_and_a_transition_one_thing() {
    assert_eq!(
        said(|s| s.transitions[0].children.clear()),
        "a transition decides 0 state factors; write one for each state factor"
    );
    assert_eq!(said(|s| s.mechanisms[0].children.clear()), "a mechanism decides no variable; name its variables");
    assert_eq!(
        said(|s| s.transitions.push(s.transitions[0].clone())),
        "\"s\" has more than one mechanism; keep its own or the joint table, not both"
    );
}

#[test]
fn names_stand_once() {
    assert_eq!(
        said(|s| s.variables.push(variable("k", Kind::Key, &["0"]))),
        "two key variables are called \"k\"; rename one of them"
    );
    assert_eq!(said(|s| s.rewards.push(s.rewards[0].clone())), "two rewards are called \"r\"; rename one of them");
    let twice = || vec![("x".into(), "0".into()), ("x".into(), "1".into())];
    assert_eq!(
        said(|s| s.interventions.set = SetSpec::List(vec![twice()])),
        "\"x\" stands twice in one intervention; take one out"
    );
    let when: Pattern = vec![("x".into(), vec!["0".into()]), ("x".into(), vec!["1".into()])];
    let row = RowSpec { when: when.into(), outcome: Outcome::Is("0".into()), at: None };
    assert_eq!(
        said(|s| s.mechanisms[0].form = Form::Rows(vec![row])),
        "\"x\" stands twice in `when`; put its values into one list"
    );
    let factor = || ("s".into(), Outcome::Is("0".into()));
    assert_eq!(
        said(|s| s.start = StartSpec::PerFactor(vec![factor(), factor()])),
        "the start of \"s\" is given twice; take one out"
    );
    let state = vec![("s".into(), "0".into()), ("s".into(), "0".into())];
    assert_eq!(
        said(|s| s.start = StartSpec::States(vec![StartRow { state, weight: 1.0.into() }])),
        "\"s\" stands twice in one starting state; take one out"
    );
}

#[test]
fn only_levers_cost_and_a_start_follows_nothing() {
    assert_eq!(
        said(|s| s.variables[0].costs = vec![("1".into(), 1.0.into())]),
        "\"k\" is a key variable and has a cost; only setting a lever can cost something"
    );
    assert_eq!(
        said(|s| s.start = StartSpec::PerFactor(vec![("s".into(), Outcome::SameAs("s".into()))])),
        "the probabilities of \"s\" at the start cannot follow another variable; write probabilities or a value"
    );
}

#[test]
fn sizes_beyond_all_numbers_are_refused_before_anything_is_allocated() {
    let many: Vec<String> = (0..40).map(|i| format!("f{i}")).collect();
    let values: Vec<String> = (0..1000).map(|v| v.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let answer = said(|s| {
        s.variables.extend(many.iter().map(|name| variable(name, Kind::State, &values)));
        s.transitions.extend(many.iter().map(|name| mechanism(&[name.as_str()], &[], &vec![1e-3; 1000])));
    });
    assert_eq!(
        answer,
        "the list of all states would have more than 10^38 entries, more than the 268,435,456 that fit; \
         fewer state factors or fewer values of each; or state how all of them move by [low_rank], with episodes that do not end early: \
         then states need not be listed"
    );
    let names: Vec<String> = (0..70_000).map(|i| format!("h{i}")).collect();
    assert_eq!(
        said(|s| s.variables.extend(names.iter().map(|name| variable(name, Kind::Hidden, &["0"])))),
        "70,003 variables are too many; at most 65,535 fit"
    );
}

#[test]
fn more_problems_than_anybody_reads_are_counted() {
    // 150 names, and what their probabilities sum to.
    let wrong: Vec<_> = (0..150).map(|i| (format!("value {i}").into(), 0.0.into())).collect();
    let row = RowSpec { when: Condition::default(), outcome: Outcome::Named(wrong), at: None };
    let answer = said(|s| s.mechanisms[0].form = Form::Rows(vec![row]));
    assert_eq!(answer.lines().count(), 101);
    assert_eq!(answer.lines().last(), Some("and 51 more problems"));
}
