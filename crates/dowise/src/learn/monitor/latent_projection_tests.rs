//! Tests of the latent projection in simulated worlds: wrong claims are rejected, and right ones are not.

use super::*;
use crate::random::splitmix64;
use crate::simulate::{Outcome as Drawn, Simulator};
use crate::world::World;

const DELTA: f64 = 0.1;

/// A world of two optional levers and two key variables; the tests fill in its parts.
fn world(parts: &str) -> World {
    let common =
        "dowise = 1\nhorizon = 1\n[interventions]\nset = \"any\"\n[reward.r]\nscope = [\"s\"]\nvalue = [0.0, 1.0]\n";
    World::from_toml(&format!("{common}{parts}"), "within.toml").expect("a world")
}

const S: &str = "[state.s]\nvalues = 2\nscope = [\"z\"]\nnext = [[0.7, 0.3], [0.4, 0.6]]\n";
const Z: &str = "[key.z]\nvalues = 2\nparents = [\"x\"]\np = [[0.7, 0.3], [0.3, 0.7]]\n";

fn lever(name: &str, p: &str) -> String {
    format!("[lever.{name}]\nvalues = 2\n{p}\n")
}

/// The finding of the monitor in steps of one world under the graph of another; levers are left unset with probability
/// `left`.
fn found(truth: &World, knowledge: &World, seed: u64, steps: u64, left: f64) -> Option<GraphFinding> {
    found_where(truth, knowledge, seed, steps, [left, left])
}

/// The same with a probability for each of two levers.
fn found_where(truth: &World, knowledge: &World, seed: u64, steps: u64, left: [f64; 2]) -> Option<GraphFinding> {
    let knowledge = Knowledge::of(knowledge);
    let mut monitor = Monitor::new(&knowledge, States::Factored, Causes::OwnKeys, DELTA);
    let simulator = Simulator::new(truth).expect("all is known");
    let [_, mut random] = Simulator::streams(seed);
    let (mut outcome, all) = (Drawn::default(), knowledge.interventions());
    let mut state = 0;
    for i in 0..steps {
        let drawn = |of: u64| splitmix64(splitmix64(seed) ^ (8 * i + of));
        let lever = |l: usize| {
            let share = (drawn(l as u64) >> 11) as f64 / (1u64 << 53) as f64;
            (share >= left[l]).then(|| (drawn(4 + l as u64) >> 40 & 1) as usize)
        };
        let action = all.action(&(0..all.n_levers()).map(lever).collect::<Vec<_>>());
        simulator.step(state, action, &mut random, &mut outcome);
        monitor.observe(&outcome.observation(0, state, action));
        if monitor.contradicted() {
            return monitor.finding();
        }
        state = outcome.next_state;
    }
    None
}

fn alarms(truth: &World, knowledge: &World, runs: u64, steps: u64, left: f64) -> Vec<GraphFinding> {
    (0..runs).filter_map(|seed| found(truth, knowledge, seed, steps, left)).collect()
}

#[test]
fn natural_levers_are_tested_against_their_known_parameters() {
    let of = |p: &str| world(&format!("{S}{}{Z}", lever("x", p)));
    let (truth, knowledge) = (of("p = [0.9, 0.1]"), of("p = [0.6, 0.4]"));
    let wrong = alarms(&truth, &knowledge, 20, 400, 0.5);
    assert!(wrong.len() >= 18, "{}", wrong.len());
    let named = wrong
        .iter()
        .filter(|f| f.what.starts_with("the known parameters of the lever x left alone are not right: P(x = "));
    assert!(named.count() >= 18, "{wrong:?}");
    // If it is always set, there is no claim about it.
    assert_eq!(alarms(&truth, &knowledge, 20, 400, 0.0), []);
    assert!(alarms(&truth, &truth, 60, 400, 0.5).len() <= 6);
}

#[test]
fn natural_levers_that_depend_on_other_variables_contradict_the_graph() {
    let of = |p: &str| world(&format!("{S}{}{}{Z}", lever("x", p), lever("y", "p = [0.5, 0.5]")));
    let (by_y, by_s) =
        (of("parents = [\"y\"]\np = [[0.8, 0.2], [0.2, 0.8]]"), of("parents = [\"s\"]\np = [[0.8, 0.2], [0.2, 0.8]]"));
    let knowledge = of("parents = []");
    let wrong = alarms(&by_s, &knowledge, 10, 600, 0.5);
    let words = "the lever x left alone depends on s, which the graph denies";
    assert!(wrong.iter().filter(|f| f.what.starts_with(words)).count() >= 9, "{wrong:?}");
    // If both levers are unset, the direction of the edge is not identifiable.
    let wrong = alarms(&by_y, &knowledge, 10, 600, 0.5);
    let either = |f: &&GraphFinding| {
        f.what.starts_with("the lever x left alone depends on the lever y")
            || f.what.starts_with("the lever y left alone depends on the lever x")
    };
    assert!(wrong.iter().filter(either).count() >= 9, "{wrong:?}");
    // If one is always set, it is.
    let wrong: Vec<_> = (0..10).filter_map(|seed| found_where(&by_y, &knowledge, seed, 600, [1.0, 0.0])).collect();
    let words = "the lever x left alone depends on the lever y";
    assert!(wrong.iter().filter(|f| f.what.starts_with(words)).count() >= 9, "{wrong:?}");
}

const K: &str = "[key.k]\nvalues = 2\nparents = [\"y\"]\np = [[0.7, 0.3], [0.3, 0.7]]\n";

/// z follows x and k follows y; in truth they also have a hidden common cause, or one acts on the other.
#[test]
fn key_variables_that_go_together_are_named() {
    let levers = lever("x", "p = [0.5, 0.5]") + &lever("y", "p = [0.5, 0.5]");
    let knowledge = world(&format!("{S}{levers}{Z}{K}"));
    let arrow =
        "[key.k]\nvalues = 2\nparents = [\"y\", \"z\"]\np = [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]]\n";
    let acts = world(&format!("{S}{levers}{Z}{arrow}"));
    let hidden = "[hidden.u]\nvalues = 2\np = [0.5, 0.5]\n[key.z]\nvalues = 2\nparents = [\"x\", \"u\"]\n\
                  p = [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]]\n[key.k]\nvalues = 2\nparents = [\"y\", \"u\"]\n\
                  p = [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]]\n";
    let shares = world(&format!("{S}{levers}{hidden}"));
    for truth in [&acts, &shares] {
        let wrong = alarms(truth, &knowledge, 10, 2500, 0.3);
        let right = wrong.iter().filter(|f| f.outcome == "k" && f.variable == "z" && f.what.contains("go together"));
        assert!(right.count() >= 9, "{wrong:?}");
    }
    for right in [&knowledge, &acts, &shares] {
        assert!(alarms(right, right, 40, 300, 0.3).len() <= 4);
    }
}

/// The hidden u affects z and, if it is not set, x.
fn confounded(p_u: &str) -> World {
    world(&format!(
        "{S}[hidden.u]\nvalues = 2\np = {p_u}\n{}[key.z]\nvalues = 2\nparents = [\"x\", \"u\"]\n\
         p = [[[0.9, 0.1], [0.4, 0.6]], [[0.6, 0.4], [0.1, 0.9]]]\n",
        lever("x", "parents = [\"u\"]\np = [[0.9, 0.1], [0.1, 0.9]]")
    ))
}

#[test]
fn hidden_variables_are_marginalised_out_and_levers_that_depend_on_them_must_be_set() {
    let knowledge = confounded("[0.5, 0.5]");
    let [x, z] = ["x", "z"].map(|name| knowledge.find(name).expect("a variable"));
    let within = Within::of(&knowledge, z).expect("it is decided where x is set");
    assert_eq!((&within.scope[..], &within.set[..]), (&[x][..], &[0][..]));
    let table = within.table(&knowledge).expect("small").expect("given");
    let expected = [0.65, 0.35, 0.35, 0.65];
    assert!(table.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{table:?}");
    // An unset x is informative about u: counting those steps would contradict a true graph.
    assert!(alarms(&knowledge, &knowledge, 60, 400, 0.5).len() <= 6);
    let wrong = alarms(&confounded("[0.9, 0.1]"), &knowledge, 20, 600, 0.0);
    assert!(
        wrong.len() >= 18 && wrong.iter().all(|f| f.outcome == "z" && f.variable == "known parameters"),
        "{wrong:?}"
    );
    // In steps with an unset x, its own parameters are contradicted.
    let wrong = alarms(&confounded("[0.9, 0.1]"), &knowledge, 20, 600, 1.0);
    assert!(wrong.len() >= 18 && wrong.iter().all(|f| f.outcome == "x"), "{wrong:?}");
}

#[test]
fn what_what_was_seen_does_not_decide_is_said_to_be_untested() {
    let hidden = "[hidden.u]\nvalues = 2\np = [0.5, 0.5]\n[key.z]\nvalues = 2\nparents = [\"u\"]\np = [[0.9, 0.1], [0.1, 0.9]]\n\
                  [key.k]\nvalues = 2\nparents = [\"z\", \"u\"]\np = [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]]\n";
    let knowledge = Knowledge::of(&world(&format!("{S}{}{hidden}", lever("x", "p = [0.5, 0.5]"))));
    let report = Monitor::new(&knowledge, States::Factored, Causes::OwnKeys, DELTA).report(&[]);
    assert_eq!(report.untested, ["the key variable k: z, on which it depends, follows from the hidden u too"]);
    let treatment = Knowledge::of(&crate::worlds::world("treatment", &[]).expect("a world"));
    let report = Monitor::new(&treatment, States::Factored, Causes::OwnKeys, DELTA).report(&[]);
    assert_eq!(report.untested, [""; 0]);
    for name in ["pressure", "oxygen", "nutrients"] {
        let claim = format!("the known parameters of the key variable {name} are right");
        assert!(report.claims.iter().any(|c| c.claim == claim), "{claim}");
    }
}

/// A behaviour policy that depends on a key variable, as declared, creates no spurious edge.
#[test]
fn what_follows_from_a_choice_by_a_key_variable_is_not_held_against_it() {
    let text = "dowise = 1\nhorizon = 1\n[state.s]\nvalues = 2\nscope = [\"k\"]\nnext = [[0.5, 0.5], [0.5, 0.5]]\n\
                [lever.x]\nvalues = 2\nparents = [\"z\"]\np = [[0.9, 0.1], [0.1, 0.9]]\n\
                [key.k]\nvalues = 2\nparents = [\"x\"]\np = [[0.9, 0.1], [0.1, 0.9]]\n\
                [key.z]\nvalues = 2\np = [0.5, 0.5]\n[reward.r]\nscope = [\"s\"]\nvalue = [0.0, 1.0]\n";
    let knowledge = Knowledge::of(&World::from_toml(text, "behaviour.toml").expect("a world"));
    let mut monitor = Monitor::new(&knowledge, States::Factored, Causes::OwnKeys, DELTA);
    let coin = |i: u64, of: u64, p: f64| ((splitmix64(4 * i + of) >> 11) as f64 / (1u64 << 53) as f64) < p;
    for i in 0..400 {
        let z = u32::from(coin(i, 0, 0.5));
        let x = usize::from(coin(i, 1, [0.1, 0.9][z as usize]));
        let k = u32::from(coin(i, 2, [0.1, 0.9][x]));
        let at = Observation::at(&knowledge, 0, 0).and_then(|o| o.did(&knowledge, x)).expect("a step");
        let seen = at
            .saw(&knowledge, &[k, z][..])
            .and_then(|o| o.then(&knowledge, usize::from(coin(i, 3, 0.5))))
            .expect("a step");
        monitor.observe(&seen);
    }
    assert_eq!(monitor.finding(), None);
}

#[test]
fn payments_outside_their_range_or_by_the_next_state_contradict_the_graph() {
    let pays = |r: &str| {
        let text = format!("dowise = 1\nhorizon = 1\n{S}{}{Z}[reward.r]\n{r}\n", lever("x", ""));
        World::from_toml(&text, "pays.toml").expect("a world")
    };
    let knowledge = pays("scope = [\"z\"]\nvalue = [0.0, 1.0]");
    let truth = pays("scope = [\"z\"]\nvalue = [0.0, 2.0]");
    for seed in 0..5 {
        let found = found(&truth, &knowledge, seed, 40, 0.0).expect("2 is no payment");
        let what = "the known range of the payment r is not right: it was given as 0 to 1, and 2 was paid";
        assert_eq!((found.what.as_str(), found.variable.as_str(), found.effect), (what, "range", 1.0));
    }
    let knowledge = pays("scope = [\"z\"]\nrange = [0.0, 1.0]");
    let truth = pays("scope = [\"z\", \"next.s\"]\nvalue = [[0.0, 0.5], [0.5, 1.0]]");
    let wrong = alarms(&truth, &knowledge, 10, 300, 0.0);
    let words = "the payment r depends on the next s, which its scope lacks";
    assert!(wrong.len() == 10 && wrong.iter().all(|f| f.what.starts_with(words)), "{wrong:?}");
    // As a known table, it is tested by its rows with the next value.
    assert!(alarms(&truth, &truth, 40, 300, 0.0).len() <= 4);
    let other = pays("scope = [\"z\", \"next.s\"]\nvalue = [[0.0, 0.5], [1.0, 0.5]]");
    let wrong = alarms(&truth, &other, 10, 300, 0.0);
    assert!(wrong.len() == 10 && wrong.iter().all(|f| f.what.contains("next s = ")), "{wrong:?}");
}

#[test]
fn a_key_variable_that_a_scope_lacks_is_named_and_not_the_lever_before_it() {
    let of = |next: &str| {
        let k = "[key.k]\nvalues = 2\nparents = [\"y\"]\np = [[0.8, 0.2], [0.2, 0.8]]\n";
        world(&format!(
            "[state.s]\nvalues = 2\n{next}{}{}{Z}{k}",
            lever("x", "p = [0.5, 0.5]"),
            lever("y", "p = [0.5, 0.5]")
        ))
    };
    let truth = "scope = [\"z\", \"k\"]\nnext = [[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.2, 0.8]]]\n";
    let knowledge = "scope = [\"z\"]\nnext = [[0.5, 0.5], [0.5, 0.5]]\n";
    let wrong = alarms(&of(truth), &of(knowledge), 20, 2000, 0.0);
    let words = "the next s depends on the key variable k, which its scope lacks";
    let right = wrong.iter().filter(|f| f.what.starts_with(words)).count();
    assert!(right >= 17, "{right} of {}: {wrong:?}", wrong.len());
}

#[test]
fn amounts_have_the_digits_of_their_range() {
    assert_eq!(known_parameters::rounded(3.24e-7, 1e-6), 3.24e-7);
    assert_eq!(known_parameters::rounded(0.123456, 1.0), 0.1235);
    assert_eq!(known_parameters::rounded(1234.56789, 5000.0), 1234.5679);
}
