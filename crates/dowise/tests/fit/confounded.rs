//! Unmeasured confounding of a lever and its effect: the fit names it, keeps what is given, and learns the rest.

use dowise::offline::fit::{FitOptions, Fitting, not_fitted_in, read_evidence};
use dowise::{Action, World};

use super::common::DOCTORS;
use super::simulated::*;

#[test]
fn a_hidden_common_cause_of_a_lever_and_its_effect_is_named_and_the_rest_is_fitted() {
    let world = World::from_toml(DOCTORS, "doctors.toml").unwrap();
    // What is seen when the drug is left alone points the wrong way: it looks harmful, and setting it helps.
    let steps = simulate_with(&world, 4000, 1, |_, _, _, _| Action(0));
    let given = |drug: u32| {
        let of: Vec<&Step> = steps.iter().filter(|s| s.outcome.values[world.levers()[0].ix()] == drug).collect();
        of.iter().filter(|s| s.outcome.values[world.keys()[0].ix()] == 1).count() as f64 / of.len() as f64
    };
    let does = |drug: usize| {
        let action = world.read_action(&[("drug", ["no", "yes"][drug])].into()).unwrap();
        kernel_row(&world, 0, action)[1]
    };
    assert!(given(1) < given(0) && does(1) > does(0));
    let fitting = Fitting::new(&world, FitOptions::default()).unwrap();
    let [found] = fitting.confounded() else { panic!("{:?}", fitting.confounded()) };
    assert_eq!(
        (&found.lever[..], &found.hidden[..], &found.effects[..]),
        ("drug", &["severity".into()][..], &["better".into()][..])
    );
    // Whoever rests on every number says which are not from the log, and refuses where they are nowhere.
    let [question] = &fitting.rests_on().unwrap()[..] else { panic!() };
    assert!(
        question.why.contains("\"severity\", \"better\" and \"drug\" stay as the world file gives them"),
        "{question:?}"
    );
    let bare = DOCTORS.replace("p = [[[0.3, 0.7], [0.8, 0.2]], [[0.2, 0.8], [0.6, 0.4]]]\n", "");
    let bare = World::from_toml(&bare, "doctors.toml").unwrap();
    let text = Fitting::new(&bare, FitOptions::default()).unwrap().rests_on().unwrap_err().to_string();
    assert!(
        text.contains("the hidden \"severity\" acts on the lever \"drug\" (when it is left alone) and on \"better\""),
        "{text}"
    );
    assert!(text.contains("set drug by a draw") && text.contains("give \"better\" numbers"), "{text}");
    // The rest is fitted, what is confounded stays, and the report, the file and the evidence say so.
    let fitted = fit(&world, &steps, FitOptions::default());
    let report = fitted.report();
    assert_eq!(kernel_row(fitted.world(), 0, Action(2)), kernel_row(&world, 0, Action(2)));
    assert!(report.tables.iter().any(|t| t.what == "P(next sex | sex)") && report.kept.is_empty());
    assert!(report.tables.iter().all(|t| !t.what.contains("better |")));
    assert!(report.open[0].what.contains("drug") && report.open[0].experiment.contains("by a draw"));
    assert!(fitted.text().contains("# Not fitted, see below: severity, better, drug"), "{}", fitted.text());
    let not_fitted = not_fitted_in(&fitted.evidence_text()).unwrap();
    assert_eq!(not_fitted.names, ["severity", "better", "drug"]);
    assert_eq!(not_fitted.without_numbers, Some(Vec::new()));
    read_evidence(fitted.world(), &fitted.evidence_text()).unwrap();
    // Without numbers in the file all values alike stand in their place, by name.
    let fitted = fit(&bare, &steps, FitOptions::default());
    assert_eq!(fitted.report().confounded[0].without_numbers, ["better"]);
    assert_eq!(kernel_row(fitted.world(), 0, Action(2)), [0.5, 0.5]);
    // Numbers that are given may be kept; then only the rest is fitted.
    let keep = FitOptions { keep: vec!["mechanisms".into()], ..FitOptions::default() };
    let fitted = fit(&world, &steps, keep);
    assert!(fitted.report().confounded.is_empty() && not_fitted_in(&fitted.evidence_text()).unwrap().names.is_empty());
    assert_eq!(kernel_row(fitted.world(), 0, Action(2)), kernel_row(&world, 0, Action(2)));
}

#[test]
fn levers_that_are_always_set_may_be_confounded_by_hidden_variables() {
    // The log: doctors who went by severity, as those who left the drug alone did, written down as set.
    let alone = World::from_toml(DOCTORS, "doctors.toml").unwrap();
    let world = World::from_toml(&DOCTORS.replace("set = \"any\"", "set = \"all\""), "doctors.toml").unwrap();
    let mut steps = simulate_with(&alone, 4000, 1, |_, _, _, _| Action(0));
    for step in &mut steps {
        let drug = ["no", "yes"][step.outcome.values[alone.levers()[0].ix()] as usize];
        step.action = world.read_action(&[("drug", drug)].into()).unwrap();
    }
    assert_eq!(world.behaviour_mechanisms().len(), 1);
    assert_eq!(
        World::from_toml(&world.to_toml(), "again.toml").unwrap().behaviour_mechanisms(),
        world.behaviour_mechanisms()
    );
    let fitting = Fitting::new(&world, FitOptions::default()).unwrap();
    let [found] = fitting.confounded() else { panic!("{:?}", fitting.confounded()) };
    assert_eq!((&found.lever[..], found.always_set, &found.effects[..]), ("drug", true, &["better".into()][..]));
    let [question] = &fitting.rests_on().unwrap()[..] else { panic!() };
    assert!(question.why.contains("whoever chose drug in the log may have gone by it"), "{question:?}");
    assert!(question.experiment.contains("--randomised drug"), "{question:?}");
    let fitted = fit(&world, &steps, FitOptions::default());
    let rows = |w: &World| [1, 2].map(|a| kernel_row(w, 0, Action(a)));
    assert_eq!(rows(fitted.world()), rows(&world));
    read_evidence(fitted.world(), &fitted.evidence_text()).unwrap();
    // Going by the log alone, the drug looks harmful, and the truth is the other way round.
    let naive = fit(&world, &steps, FitOptions { randomised: vec!["drug".into()], ..FitOptions::default() });
    let [ours, truth] = [naive.world(), &world].map(rows);
    assert!(ours[1][1] < ours[0][1] && truth[1][1] > truth[0][1], "{ours:?} {truth:?}");
    // Without numbers in the file nobody can rest on them, and the refusal says what would settle it.
    let numbers = "p = [[[0.3, 0.7], [0.8, 0.2]], [[0.2, 0.8], [0.6, 0.4]]]\n";
    let bare = DOCTORS.replace("set = \"any\"", "set = \"all\"").replace(numbers, "");
    let bare = World::from_toml(&bare, "bare.toml").unwrap();
    let text = Fitting::new(&bare, FitOptions::default()).unwrap().rests_on().unwrap_err().to_string();
    assert!(
        text.contains("acts on the lever \"drug\" (in the log) and on \"better\"")
            && text.contains("--randomised drug"),
        "{text}"
    );
    let wrong = FitOptions { randomised: vec!["drugs".into()], ..FitOptions::default() };
    let text = Fitting::new(&world, wrong).unwrap_err().to_string();
    assert!(text.contains("\"drugs\" is no lever") && text.contains("did you mean \"drug\"?"), "{text}");
}

/// Whether the effect of a lever that is always set is taken from a log, for what acts on `lever`, `mid` and `out`.
fn is_learned(lever: &str, mid: &str, out: &str, hidden: &str) -> bool {
    let text = format!(
        "dowise = 1\nname = \"w\"\nhorizon = 1\n[lever.x]\nvalues = [\"a\", \"b\"]\nparents = [{lever}]\n\
         [key.m]\nvalues = [\"a\", \"b\"]\nparents = [{mid}]\n[key.y]\nvalues = [\"a\", \"b\"]\nparents = [{out}]\n{hidden}\
         [reward.r]\nscope = [\"m\", \"y\"]\nrange = [0.0, 1.0]\n[interventions]\nset = \"all\"\n"
    );
    let world = World::from_toml(&text, "w.toml").unwrap();
    Fitting::new(&world, FitOptions::default()).unwrap().confounded().is_empty()
}

#[test]
fn only_mechanisms_confounded_by_a_hidden_cause_of_a_lever_are_not_learned() {
    let u = "[hidden.u]\nvalues = [\"a\", \"b\"]\nparents = []\n";
    let uv = &format!("{u}[hidden.v]\nvalues = [\"a\", \"b\"]\nparents = [\"u\"]\n");
    // The hidden variable acts on what the lever acts on: at once, or through another hidden one.
    assert!(!is_learned("\"u\"", "", "\"x\", \"u\"", u));
    assert!(!is_learned("\"v\"", "", "\"x\", \"u\"", uv));
    // It acts on the lever through a key variable only, for which the outcome is adjusted.
    assert!(is_learned("\"m\"", "\"u\"", "\"x\", \"u\"", u));
    // The front door, but a mediator that the hidden variable acts on too.
    assert!(!is_learned("\"u\"", "\"x\", \"u\"", "\"m\", \"u\"", u));
    // The front door: what the lever acts on comes between, also if the hidden variable acts through another.
    assert!(is_learned("\"u\"", "\"x\"", "\"m\", \"u\"", u));
    assert!(is_learned("\"v\"", "\"x\"", "\"m\", \"u\"", uv));
    // It acts on something that the lever has no part in, or the choice went by what is recorded.
    assert!(is_learned("\"u\"", "\"u\"", "\"x\"", u));
    assert!(is_learned("\"m\"", "", "\"x\", \"m\"", ""));
}

#[test]
fn effects_of_randomised_levers_are_right_with_hidden_variables_marginalised_out() {
    let world = World::from_toml(&DOCTORS.replace("set = \"any\"", "set = \"all\""), "doctors.toml").unwrap();
    let drawn = FitOptions { randomised: vec!["drug".into()], ..FitOptions::default() };
    let fitted = fit(&world, &simulate(&world, 20_000, 2), drawn);
    assert!(fitted.text().contains("# Said to have been set by a draw in the log: drug"));
    assert_eq!(fitted.report().marginalised.len(), 1);
    assert_eq!(fitted.report().marginalised[0].hidden, ["severity"]);
    assert!(fitted.text().contains("# Summed out: severity"));
    for a in 1..3 {
        let [ours, truth] = [fitted.world(), &world].map(|w| kernel_row(w, 0, Action(a)));
        assert!(ours.iter().zip(&truth).all(|(o, t)| (o - t).abs() < 0.02), "{a}: {ours:?} {truth:?}");
    }
}
