//! Rules of a world file mean what they say: comparisons, counts, forms in rows, what is ruled out, and where episodes start.

use dowise::world::{LearnedForm, Start};
use dowise::{Planner, World};

fn world(text: &str) -> World {
    World::from_toml(text, "w.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn table(world: &World, name: &str) -> Vec<f64> {
    let id = world.find(name).expect("a variable");
    let own = world.mechanisms().iter().find(|m| m.children[0] == id).expect("a mechanism");
    own.table.as_ref().expect("known").to_vec()
}

/// Three vital signs of three values, a lever, and a key variable `k` with this mechanism.
fn patient(mechanism: &str) -> World {
    let sign = |name: &str| {
        format!(
            "[state.{name}]\nvalues = [\"low\", \"normal\", \"high\"]\nscope = [\"{name}\"]\nnext = {{ rows = [{{ same_as = \"{name}\" }}] }}\n"
        )
    };
    world(&format!(
        "dowise = 1\nhorizon = 2\n{}{}{}[lever.d]\nvalues = [\"no\", \"yes\"]\n\
         [key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"heart\", \"pressure\", \"oxygen\", \"d\"]\n{mechanism}\n\
         [reward.r]\nscope = [\"k\"]\nvalue = {{ yes = 3.5 }}\n",
        sign("heart"),
        sign("pressure"),
        sign("oxygen")
    ))
}

/// P(k = yes) for each combination of heart, pressure, oxygen and d, the last fastest.
fn yes(world: &World) -> Vec<f64> {
    table(world, "k").chunks(2).map(|row| row[1]).collect()
}

fn each(mut f: impl FnMut([usize; 4], usize)) {
    for i in 0..54 {
        f([i / 18, i / 6 % 3, i / 2 % 3, i % 2], i);
    }
}

#[test]
fn comparisons_follow_the_order_of_the_values() {
    let world =
        patient(r#"rows = [{ when = { heart = ">= normal", pressure = "< high" }, is = "no" }, { is = "yes" }]"#);
    let found = yes(&world);
    each(|[heart, pressure, ..], i| {
        let expected = if heart >= 1 && pressure < 2 { 0.0 } else { 1.0 };
        assert_eq!(found[i], expected, "{i}");
    });
    let world = patient(r#"rows = [{ when = { heart = "!= normal" }, is = "yes" }, { is = "no" }]"#);
    each(|[heart, ..], i| assert_eq!(yes(&world)[i], f64::from(u8::from(heart != 1)), "{i}"));
    let world = patient(r#"rows = [{ when = { heart = ["≤ low", "> normal"] }, is = "yes" }, { is = "no" }]"#);
    each(|[heart, ..], i| assert_eq!(yes(&world)[i], f64::from(u8::from(heart != 1)), "{i}"));
}

#[test]
fn a_value_that_looks_like_a_comparison_is_a_value() {
    let world = world(
        r#"
        dowise = 1
        horizon = 1
        [lever.age]
        values = ["< 40", ">= 40"]
        [key.k]
        values = ["no", "yes"]
        parents = ["age"]
        rows = [{ when = { age = ">= 40" }, is = "yes" }, { is = "no" }]
        [reward.r]
        scope = ["k"]
        value = [0, 1]
        "#,
    );
    assert_eq!(table(&world, "k"), [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn counts_count() {
    let abnormal = |d: [usize; 4]| d[..3].iter().filter(|&&v| v != 1).count();
    for (test, holds) in [
        ("at_least = 2", (|n: usize| n >= 2) as fn(usize) -> bool),
        ("at_most = 1", |n| n <= 1),
        ("exactly = 3", |n| n == 3),
        ("at_least = 1, at_most = 2", |n| n == 1 || n == 2),
    ] {
        let of = "of = [\"heart\", \"pressure\", \"oxygen\"], are = \"!= normal\"";
        let found = yes(&patient(&format!(
            "rows = [{{ when = {{ d = \"yes\" }}, count = {{ {of}, {test} }}, is = \"yes\" }}, {{ is = \"no\" }}]"
        )));
        each(|d, i| assert_eq!(found[i] == 1.0, d[3] == 1 && holds(abnormal(d)), "{test} {i}"));
    }
    // Different values of each, and two counts at once.
    let found = yes(&patient(
        r#"rows = [
          { count = [
              { of = { heart = "high", pressure = "low" }, at_least = 1 },
              { of = ["pressure", "oxygen"], are = ["low", "high"], exactly = 1 },
            ], is = "yes" },
          { is = "no" },
        ]"#,
    ));
    each(|[h, p, o, _], i| {
        let expected = (h == 2 || p == 0) && (usize::from(p != 1) + usize::from(o != 1) == 1);
        assert_eq!(found[i] == 1.0, expected, "{i}");
    });
}

#[test]
fn a_row_may_fall_through_to_another_form() {
    let logit = "{ base = -1.0, effects = { heart = { high = 0.7 }, oxygen = { low = 0.4 } } }";
    let plain = yes(&patient(&format!("logit = {logit}")));
    let world = patient(&format!("rows = [{{ when = {{ d = \"no\" }}, is = \"no\" }}, {{ logit = {logit} }}]"));
    let found = yes(&world);
    each(|d, i| assert_eq!(found[i], if d[3] == 0 { 0.0 } else { plain[i] }, "{i}"));
    let or = "{ leak = 0.1, effects = { heart = { high = 0.5 } } }";
    let plain = yes(&patient(&format!("noisy_or = {or}")));
    let found = yes(&patient(&format!(
        "rows = [{{ when = {{ oxygen = \"low\" }}, p = [0.25, 0.75] }}, {{ noisy_or = {or} }}]"
    )));
    each(|d, i| assert_eq!(found[i], if d[2] == 0 { 0.75 } else { plain[i] }, "{i}"));
}

#[test]
fn minus_infinity_rules_out_and_infinity_makes_certain() {
    let effects = "heart = { high = 0.7 }, pressure = { low = -inf }";
    let world = patient(&format!("logit = {{ base = -1.0, effects = {{ {effects} }} }}"));
    let plain = yes(&patient("logit = { base = -1.0, effects = { heart = { high = 0.7 } } }"));
    let found = yes(&world);
    each(|d, i| assert_eq!(found[i], if d[1] == 0 { 0.0 } else { plain[i] }, "{i}"));
    // What is ruled out is no effect that could be learned.
    let id = world.find("k").unwrap();
    let own = world.mechanisms().iter().find(|m| m.children[0] == id).unwrap();
    assert_eq!(own.assumed.form, LearnedForm::Table);
    let found = yes(&patient("logit = { base = -1.0, effects = { pressure = { low = inf } } }"));
    each(|d, i| assert_eq!(found[i] == 1.0, d[1] == 0, "{i}"));
    let found =
        yes(&patient("logit = { base = [0, 0], effects = { pressure = { low = [-inf, 0], high = [0, -inf] } } }"));
    each(|d, i| assert_eq!(found[i], [1.0, 0.5, 0.0][d[1]], "{i}"));
}

#[test]
fn a_reward_may_be_given_by_the_values_of_its_variable() {
    let world = patient("rows = [{ p = [0.5, 0.5] }]");
    assert_eq!(world.rewards()[0].table.as_deref(), Some(&[0.0, 3.5][..]));
}

/// Two state factors and this about where episodes start.
fn start(diabetic: &str, start: &str) -> World {
    world(&format!(
        "dowise = 1\nhorizon = 2\n\
         [state.sugar]\nvalues = [\"low\", \"normal\", \"high\"]\nscope = [\"sugar\"]\nnext = {{ rows = [{{ same_as = \"sugar\" }}] }}\n\
         [state.diabetic]\nvalues = [\"no\", \"yes\"]\nscope = [\"diabetic\"]\nnext = {{ rows = [{{ same_as = \"diabetic\" }}] }}\n{diabetic}\n\
         [lever.d]\nvalues = [\"no\", \"yes\"]\n[reward.r]\nscope = [\"d\"]\nvalue = [0, 1]\n{start}\n"
    ))
}

#[test]
fn a_start_may_leave_states_out() {
    let world = start("start = { no = 0.8, yes = 0.2 }", "[start]\nwhen = { sugar = \"!= low\" }\n");
    let found = world.start_distribution();
    let expected = [0.0, 0.0, 0.4, 0.1, 0.4, 0.1];
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
}

#[test]
fn a_start_may_be_a_mixture_of_conditions() {
    let world = start(
        "",
        "[[start]]\nwhen = { diabetic = \"yes\" }\nweight = 0.2\n\
         [[start]]\nwhen = { diabetic = \"no\" }\ncount = { of = { sugar = \"normal\", diabetic = \"no\" }, exactly = 2 }\nweight = 0.8\n",
    );
    assert!(matches!(world.start(), Start::States(_)));
    let found = world.start_distribution();
    let expected = [0.0, 0.2 / 3.0, 0.8, 0.2 / 3.0, 0.0, 0.2 / 3.0];
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
}

/// A lever that works in the first step alone, and a state that only the hidden weather and a key variable move.
const STAGED: &str = r#"
dowise = 1
horizon = 3
[state.field]
values = ["bare", "green"]
scope = ["field", "water", "weather"]
next = [[[[0.9, 0.1], [0.8, 0.2]], [[0.5, 0.5], [0.2, 0.8]]], [[[0.7, 0.3], [0.4, 0.6]], [[0.1, 0.9], [0.0, 1.0]]]]
start = "bare"
[lever.pump]
values = ["off", "on"]
cost = { on = 0.1 }
[key.water]
values = ["no", "yes"]
parents = ["pump", "stage"]
rows = [{ when = { pump = "on", stage = "1" }, p = [0.1, 0.9] }, { p = [0.8, 0.2] }]
[hidden.weather]
values = ["dry", "wet"]
parents = ["front", "field"]
p = [[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.2, 0.8]]]
[hidden.front]
values = ["no", "yes"]
p = [0.75, 0.25]
[reward.green]
scope = ["stage", "next.field"]
rows = [{ when = { "next.field" = "bare" }, value = 0.0 }, { when = { stage = 3 }, value = 5.0 }, { value = 1.0 }]
"#;

#[test]
fn hidden_variables_that_act_on_one_next_value_are_marginalised_out() {
    let world = world(STAGED);
    assert_eq!(world.hidden(), []);
    let (field, water) = (world.find("field").unwrap(), world.find("water").unwrap());
    let m = world.transitions().iter().find(|m| m.children == [field]).unwrap();
    let mut parents = m.parents.clone();
    parents.sort_unstable();
    assert_eq!(parents, [field, water]);
    // P(wet | field) = 3/4 · P(wet | no front) + 1/4 · P(wet | front), by hand.
    let wet = [0.75 * 0.1 + 0.25 * 0.5, 0.75 * 0.4 + 0.25 * 0.8];
    let green = [[[0.1, 0.2], [0.5, 0.8]], [[0.3, 0.6], [0.9, 1.0]]];
    for f in 0..2 {
        for w in 0..2 {
            let expected = (1.0 - wet[f]) * green[f][w][0] + wet[f] * green[f][w][1];
            let row = m.parents.iter().fold(0, |row, id| row * 2 + if *id == field { f } else { w });
            let found = m.table.as_ref().unwrap()[row * 2 + 1];
            assert!((found - expected).abs() < 1e-15, "{f} {w}: {found} against {expected}");
        }
    }
    assert!(world.findings().iter().all(|f| f.code == "summed-out"), "{:?}", world.findings());
}

#[test]
fn a_hidden_variable_that_acts_on_nothing_goes_with_what_it_hangs_on() {
    let text = r#"
dowise = 1
horizon = 2
[state.s]
values = ["a", "b"]
scope = ["s", "u"]
next = [[[0.5, 0.5], [0.1, 0.9]], [[0.2, 0.8], [1.0, 0.0]]]
[lever.x]
values = ["0", "1"]
[hidden.u]
values = ["0", "1"]
p = [0.25, 0.75]
[hidden.v]
values = ["0", "1"]
parents = ["x", "u"]
p = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
[hidden.w]
values = ["0", "1"]
parents = ["v"]
p = [[0.5, 0.5], [0.5, 0.5]]
[reward.r]
scope = ["s"]
value = [0, 1]
"#;
    let world = world(text);
    assert_eq!((world.hidden().len(), world.mechanisms().len()), (0, 0));
    let table = world.transitions()[0].table.as_ref().unwrap();
    let expected = [0.25 * 0.5 + 0.75 * 0.1, 0.25 * 0.2 + 0.75];
    assert!((table[0] - expected[0]).abs() < 1e-15 && (table[2] - expected[1]).abs() < 1e-15, "{table:?}");
    let left_out = world.findings().iter().filter(|f| f.message.ends_with("acts on nothing and is left out"));
    assert_eq!(left_out.count(), 2, "{:?}", world.findings());
}

#[test]
fn the_stage_may_be_a_parent() {
    let world = world(STAGED);
    let time_index = world.time_index().expect("it is named");
    assert_eq!(world.variable(time_index).values, ["1", "2", "3"]);
    // By hand: values of bare and green ground from the last stage on, for water with these probabilities.
    let wet = [0.2, 0.5];
    let green = [[[0.1, 0.2], [0.5, 0.8]], [[0.3, 0.6], [0.9, 1.0]]];
    let grows = |f: usize, w: usize| (1.0 - wet[f]) * green[f][w][0] + wet[f] * green[f][w][1];
    let mut value = [0.0, 0.0];
    for stage in (1..=3).rev() {
        let pays = if stage == 3 { 5.0 } else { 1.0 };
        let after = |f: usize, water: f64| {
            let p = (1.0 - water) * grows(f, 0) + water * grows(f, 1);
            p * (pays + value[1]) + (1.0 - p) * value[0]
        };
        value = [0, 1].map(|f| {
            let on = after(f, if stage == 1 { 0.9 } else { 0.2 }) - 0.1;
            on.max(after(f, 0.2))
        });
    }
    let planner = dowise::Planner::new(&world).unwrap();
    let plan = planner.plan();
    let found = planner.from_start(&plan.value_hs[..world.n_states()]);
    assert!((found - value[0]).abs() < 1e-12, "{found} against {}", value[0]);
    // Learners know the time index, and read back what is written.
    assert_eq!(dowise::Knowledge::of(&world).known_transitions(), ["stage"]);
    let again = World::from_toml(&world.to_toml(), "again.toml").unwrap();
    assert_eq!((again.to_toml(), again.time_index().is_some()), (world.to_toml(), true));
    for (stage, state) in [(0, 0), (1, 0), (2, 0)] {
        assert_eq!(world.occurs_at(stage, state), stage == 0);
    }
}

/// A context of an advertisement, without transitions.
fn advertisement(horizon: u32, scope: &str) -> Result<World, dowise::world::WorldError> {
    let text = format!(
        "dowise = 1\nhorizon = {horizon}\n[state.device]\nvalues = [\"phone\", \"desktop\"]\nstart = [0.6, 0.4]\n\
         [lever.size]\nvalues = 2\n[key.click]\nvalues = 2\nparents = [\"size\", \"device\"]\n\
         p = [[[0.8, 0.2], [0.7, 0.3]], [[0.7, 0.3], [0.9, 0.1]]]\n\
         [reward.paid]\nscope = [\"{scope}\"]\nvalue = [0, 1]\n[interventions]\nset = \"all\"\n"
    );
    World::from_toml(&text, "advertisement.toml")
}

#[test]
fn a_context_needs_no_transitions_if_the_horizon_is_one() {
    let world = advertisement(1, "click").unwrap();
    let plan = Planner::new(&world).unwrap().plan();
    assert!((plan.value(0, 0) - 0.3).abs() < 1e-12 && (plan.value(0, 1) - 0.3).abs() < 1e-12);
    let spec: dowise::LearnerSpec = "graph-psrl:unknown=kernel".parse().unwrap();
    assert!(spec.learner(&world, 10, 0).is_ok());
    // With a second step, or a reward on the next value, transitions matter.
    for (horizon, scope) in [(2, "click"), (1, "next.device")] {
        let error = Planner::new(&advertisement(horizon, scope).unwrap()).expect_err("unknown transitions");
        assert!(error.to_string().contains("the next value of device is not given"), "{error}");
    }
}
