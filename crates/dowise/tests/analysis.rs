//! What the analysis says about worlds whose answer is known.

use dowise::{World, worlds};

fn world(extra: &str) -> World {
    let text = format!(
        r#"
dowise = 1
horizon = 2
[lever.x]
values = 3
[state.a]
values = 2
scope = ["a", "z"]
next.rows = [{{ when = {{ z = 1 }}, p = [0.3, 0.7] }}, {{ same_as = "a" }}]
[reward.r]
scope = ["a"]
rows = [{{ when = {{ a = 1 }}, value = 1.0 }}, {{ value = 0.0 }}]
{extra}
"#
    );
    World::from_toml(&text, "test").unwrap_or_else(|e| panic!("{e}"))
}

const RANDOM_Z: &str = "[key.z]\nvalues = 2\nparents = [\"x\"]\np = [[0.5, 0.5], [0.2, 0.8], [1, 0]]\n";
const CERTAIN_Z: &str = "[key.z]\nvalues = 2\nparents = [\"x\"]\np = [[0, 1], [0, 1], [1, 0]]\n";
const B_ON_Z: &str = "[state.b]\nvalues = 2\nscope = [\"b\", \"z\"]\nnext.rows = [{ when = { z = 1 }, p = [0.6, 0.4] }, { same_as = \"b\" }]\n";

#[test]
fn cells_of_the_papers_experiment() {
    let world = World::new(worlds::Paper::default().spec().unwrap()).unwrap();
    let analysis = world.analyse(5000);
    let cells: Vec<u64> = analysis.cells.iter().map(|c| c.cells).collect();
    // S = 8, A = 64, Z = 8, three factors with scope {i} and all key variables.
    assert_eq!(cells, [8 * 64, 3 * 2 * 64, 8 * 8, 3 * 2 * 8, 3 * 2 * 8]);
    assert_eq!((analysis.states, analysis.interventions, analysis.causes), (8, 64, 8));
    assert!(analysis.unknown.is_empty());
}

#[test]
fn bounds_of_the_papers_experiment() {
    let world = World::new(worlds::Paper::default().spec().unwrap()).unwrap();
    // Their squares, by hand: H² S A T for UCBVI with H = 5, S = 8, A = 64 and T = 25,000 steps is 25 · 512 · 25,000, and so on.
    let squares = [320e6, 720e6, 320e6, 40e6, 180e6, 819_200e6];
    let bounds = world.analyse(5000).bounds;
    assert_eq!(bounds.len(), squares.len());
    for (bound, square) in bounds.iter().zip(squares) {
        assert!((bound.value * bound.value / square - 1.0).abs() < 1e-12, "{}: {}", bound.learner, bound.value);
    }
    // Each of them grows with the root of the episodes.
    for (few, many) in bounds.iter().zip(world.analyse(20_000).bounds) {
        assert!((many.value / few.value - 2.0).abs() < 1e-12, "{}", few.learner);
    }
}

#[test]
fn factors_with_a_random_cause_in_common_are_dependent() {
    let view = world(&format!("{RANDOM_Z}{B_ON_Z}")).analyse(1).factored_view;
    assert!(!view.right);
    assert_eq!(view.dependent[0].factors, ["a", "b"]);
    assert_eq!(view.dependent[0].causes, ["z"]);
    assert!(view.outside.is_empty());
}

#[test]
fn factors_with_a_certain_cause_in_common_are_not() {
    let view = world(&format!("{CERTAIN_Z}{B_ON_Z}")).analyse(1).factored_view;
    assert!(view.right, "{}", view.why);
}

#[test]
fn factors_are_dependent_through_a_hidden_variable_behind_their_causes() {
    let extra = r#"
[hidden.u]
values = 2
p = [0.5, 0.5]
[key.z]
values = 2
parents = ["x", "u"]
rows = [{ when = { x = 0 }, same_as = "u" }, { is = 0 }]
[key.y]
values = 2
parents = ["u"]
rows = [{ same_as = "u" }]
[state.b]
values = 2
scope = ["y"]
next.rows = [{ same_as = "y" }]
"#;
    let view = world(extra).analyse(1).factored_view;
    assert_eq!(view.dependent[0].causes, ["u"]);
}

#[test]
fn a_cause_that_depends_on_another_factor_is_outside_the_scope() {
    let extra = r#"
[key.z]
values = 2
parents = ["x", "b"]
p = [[[0.5, 0.5], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]
[state.b]
values = 2
scope = ["b"]
next.rows = [{ p = [0.5, 0.5] }]
"#;
    let view = world(extra).analyse(1).factored_view;
    assert!(view.dependent.is_empty());
    assert_eq!((view.outside[0].factor.as_str(), &view.outside[0].depends_on[..]), ("a", &["b".to_owned()][..]));
}

#[test]
fn what_is_left_out_is_listed_as_unknown() {
    let extra = "[key.z]\nvalues = 2\nparents = [\"x\"]\n[reward.q]\nscope = [\"z\"]\nrange = [0, 1]\n";
    let unknown = world(extra).analyse(1).unknown;
    let said: Vec<(&str, u64)> = unknown.iter().map(|u| (u.what.as_str(), u.cells)).collect();
    assert_eq!(said, [("P(z | x)", 3), ("reward q(z)", 2)]);
}
