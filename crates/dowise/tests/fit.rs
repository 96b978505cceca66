//! Fits worlds to simulated logs: what was simulated is recovered, and what cannot be is said.

mod common;

use common::DOCTORS;
use dowise::data::LogStep;
use dowise::kernel::Kernel;
use dowise::learn::{Estimator, Evidence, Knowledge, Observation};
use dowise::offline::fit::{
    FitError, FitOptions, FitPart, Fitted, Fitting, fingerprint_in, not_fitted_in, read_evidence,
};
use dowise::simulate::{Outcome, Simulator};
use dowise::{Action, Arena, Learner, Options, Planner, Preset, World, worlds};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// One simulated step by the numbers of the true world.
struct Step {
    episode: u64,
    stage: usize,
    state: usize,
    action: Action,
    outcome: Outcome,
}

/// Episodes in which every allowed intervention is as likely.
fn simulate(world: &World, episodes: u64, seed: u64) -> Vec<Step> {
    simulate_with(world, episodes, seed, |simulator, _, state, rng| simulator.any_allowed(state, rng))
}

fn simulate_with(
    world: &World,
    episodes: u64,
    seed: u64,
    choose: impl Fn(&Simulator, usize, usize, &mut ChaCha8Rng) -> Action,
) -> Vec<Step> {
    let simulator = Simulator::new(world).unwrap();
    let [mut starts, mut rng] = Simulator::streams(seed);
    let mut out = Vec::new();
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        for stage in 0..world.horizon() {
            let action = choose(&simulator, stage, state, &mut rng);
            let mut outcome = Outcome::default();
            simulator.step(state, action, &mut rng, &mut outcome);
            let next = outcome.next_state;
            out.push(Step { episode, stage, state, action, outcome });
            state = next;
        }
    }
    out
}

/// The step as a log has it: hidden variables are not there.
fn logged(world: &World, knowledge: &Knowledge, step: &Step) -> LogStep<'static> {
    let values = |ids: &[dowise::world::VarId]| ids.iter().map(|id| step.outcome.values[id.ix()]).collect::<Vec<u32>>();
    let observation = Observation::at(knowledge, step.stage, step.state)
        .unwrap()
        .did_action(knowledge, step.action)
        .unwrap()
        .saw(knowledge, &values(world.keys())[..])
        .unwrap()
        .found(knowledge, &values(world.levers())[..])
        .unwrap()
        .paid(knowledge, &step.outcome.rewards)
        .unwrap()
        .then(knowledge, step.outcome.next_state)
        .unwrap();
    LogStep::new(step.episode, observation)
}

fn fit(world: &World, steps: &[Step], options: FitOptions) -> Fitted {
    let mut fitting = Fitting::new(world, options).unwrap();
    let knowledge = fitting.knowledge().clone();
    steps.iter().for_each(|step| fitting.add(&logged(world, &knowledge, step)).unwrap());
    fitting.fit().unwrap()
}

/// Small enough to be simulated and planned in quickly.
fn small_worlds() -> Vec<(&'static str, World)> {
    let settings: [(&str, &[(&str, &str)]); 5] = [
        ("campaign", &[]),
        ("treatment", &[]),
        ("river-swim", &[]),
        ("deep-sea", &[("size", "4")]),
        ("paper", &[("levels", "2")]),
    ];
    let make = |(name, choices): (&'static str, &[(&str, &str)])| (name, worlds::world(name, choices).unwrap());
    settings.into_iter().map(make).collect()
}

/// P(cause | s, do(a)) of every cause.
fn kernel_row(world: &World, state: usize, action: Action) -> Vec<f64> {
    let kernel = Kernel::new(world).unwrap();
    let mut out = vec![0.0; kernel.n_causes()];
    kernel.distribution(state, action, &mut out);
    out
}

#[test]
fn a_fitted_world_is_read_back_from_its_file_and_nearly_as_good_to_plan_in() {
    for (name, world) in small_worlds() {
        let arena = Arena::new(&world).unwrap();
        // Half of what was done is the best, half anything: at random alone nobody swims up a river.
        let mixed = |simulator: &Simulator, stage: usize, state: usize, rng: &mut ChaCha8Rng| {
            let any = simulator.any_allowed(state, rng);
            if rng.random::<f64>() < 0.5 { arena.best().action(stage, state) } else { any }
        };
        let fitted = fit(&world, &simulate_with(&world, 2000, 3, mixed), FitOptions::default());
        let again = World::from_toml(fitted.text(), "fitted.toml").unwrap();
        assert_eq!(again.to_toml(), fitted.world().to_toml(), "{name}");
        assert!(again.is_fully_known(), "{name}");
        assert!(
            fitted
                .text()
                .starts_with(&format!("# Fitted to a log of {} steps in 2000 episodes.", fitted.report().steps))
        );
        let planned = Planner::new(&again).unwrap().plan();
        let (best, ours) = (arena.optimal(), arena.value_of(&planned.policy_hs).unwrap());
        let uniform: f64 = {
            let steps = simulate(&world, 2000, 4);
            steps.iter().map(|s| s.outcome.reward).sum::<f64>() / 2000.0
        };
        let share = (ours - uniform) / (best - uniform);
        assert!(share > 0.9, "{name}: {share} of the way from random {uniform} to best {best}");
    }
}

#[test]
fn intervals_cover_the_truth_at_their_rate_and_means_converge() {
    // Free tables: all of the treatment world and of the river, whose rows hold zeros and ones as well.
    for (name, world) in small_worlds().into_iter().filter(|(name, _)| ["treatment", "river-swim"].contains(name)) {
        let (mut held, mut all) = (0u32, 0u32);
        let mut off = [0.0f64; 2];
        for (size, episodes) in [(0, 40), (1, 4000)] {
            for seed in 0..if size == 0 { 20 } else { 1 } {
                let fitted = fit(&world, &simulate(&world, episodes, seed), FitOptions::default());
                for (i, table) in fitted.report().tables.iter().filter(|t| t.part == FitPart::Transition).enumerate() {
                    let truth = world.transitions()[i].table.as_ref().unwrap();
                    for (row, truth) in table.rows.iter().zip(truth.chunks(table.outcomes.len())) {
                        // One value of each row: those of a binary row hold together. An endpoint that was rounded counts as reached.
                        let (low, high, p) = (row.low[0], row.high[0], truth[0]);
                        if row.visits > 0 && size == 0 {
                            all += 1;
                            held += u32::from(low <= p + 1e-12 && p <= high + 1e-12);
                        }
                        if row.visits >= 200 {
                            off[size] = off[size].max((row.mean[0] - p).abs());
                        }
                    }
                }
            }
        }
        // Binomial: three standard deviations below the promised rate.
        let least = 0.95 * f64::from(all) - 3.0 * (0.95 * 0.05 * f64::from(all)).sqrt();
        assert!(all > 150 && f64::from(held) >= least, "{name}: {held} of {all}");
        assert!(off[1] < 0.09, "{name}: {off:?}");
    }
}

#[test]
fn intervals_of_forms_cover_the_truth_at_their_rate() {
    let world = worlds::world("campaign", &[]).unwrap();
    let (mut held, mut all) = (0u32, 0u32);
    for seed in 0..6 {
        let fitted = fit(&world, &simulate(&world, 1500, seed), FitOptions::default());
        let table = fitted.report().tables.iter().find(|t| t.what.starts_with("P(price |")).unwrap();
        let truth = world.mechanisms().iter().find(|m| world.variable(m.children[0]).name == "price").unwrap();
        let truth = truth.table.as_ref().unwrap();
        for (row, truth) in table.rows.iter().zip(truth.chunks(3)) {
            for v in 0..3 {
                all += 1;
                held += u32::from(row.low[v] <= truth[v] && truth[v] <= row.high[v]);
            }
        }
    }
    // Rows of one fit share parameters, so they fall together: half of the bound is left to that.
    assert!(all == 6 * 96 && f64::from(held) >= 0.9 * f64::from(all), "{held} of {all}");
}

#[test]
fn learning_goes_on_from_the_evidence_beside_a_fitted_world() {
    for (name, world) in small_worlds() {
        let steps = simulate(&world, 30, 5);
        let fitted = fit(&world, &steps, FitOptions::default());
        let again = World::from_toml(fitted.text(), "fitted.toml").unwrap();
        let evidence = read_evidence(&again, &fitted.evidence_text()).unwrap();
        assert_eq!(evidence.save(), fitted.evidence().save(), "{name}");
        let options: Options = "graph-psrl".parse::<Preset>().unwrap().options(100, 1);
        let mut resumed = Learner::with_evidence(evidence, options.clone()).unwrap();
        // The same log, seen by a learner that knows what is to be fitted.
        let mut direct = Learner::new(resumed.knowledge(), options).unwrap();
        let knowledge = direct.knowledge().clone();
        steps.iter().for_each(|step| direct.learn(&logged(&world, &knowledge, step).observation).unwrap());
        assert_eq!(direct.evidence().unwrap().save(), resumed.evidence().unwrap().save(), "{name}");
        let arena = Arena::new(&again).unwrap();
        let (mut one, mut two) = (arena.run(9), arena.run(9));
        for _ in 0..5 {
            assert_eq!(one.episode(&mut direct).regret, two.episode(&mut resumed).regret, "{name}");
        }
    }
}

#[test]
fn the_plan_of_a_fitted_world_is_a_learners_posterior_mean_plan() {
    for (name, world) in small_worlds().into_iter().filter(|(name, _)| *name != "campaign") {
        let fitted = fit(&world, &simulate(&world, 50, 6), FitOptions::default());
        let options = "graph-psrl".parse::<Preset>().unwrap().options(100, 1);
        let learner = Learner::with_evidence(fitted.evidence().clone(), Options { ..options }).unwrap();
        let planner = Planner::new(fitted.world()).unwrap();
        let mean = learner.read(Estimator::Mean { prior: FitOptions::default().prior }, 0).unwrap();
        let [ours, theirs] = [planner.plan().policy_hs, mean.policy_hs]
            .map(|policy| planner.from_start(&planner.evaluate(&policy).unwrap()[..fitted.world().n_states()]));
        assert!((ours - theirs).abs() < 1e-9, "{name}: {ours} {theirs}");
    }
}

#[test]
fn a_step_with_a_weight_counts_as_often() {
    let world = worlds::world("treatment", &[]).unwrap();
    let steps = simulate(&world, 10, 7);
    let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
    let [mut once, mut often] = [0, 1].map(|_| Evidence::new(&knowledge, &Options::default()).unwrap());
    for (i, step) in steps.iter().enumerate() {
        let seen = logged(&world, &knowledge, step).observation;
        often.add_times(&seen, i as u32 % 4).unwrap();
        (0..i % 4).for_each(|_| once.add(&seen).unwrap());
    }
    assert_eq!(once.save(), often.save());
    assert_eq!(once.fingerprint(), often.fingerprint());
}

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
        text.contains("the hidden \"severity\" moves both the lever, when it is left alone, and \"better\""),
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
    assert_eq!(world.habits().len(), 1);
    assert_eq!(World::from_toml(&world.to_toml(), "again.toml").unwrap().habits(), world.habits());
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
        text.contains("by whoever chose it in the log, and \"better\"") && text.contains("--randomised drug"),
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
    // The hidden variable acts on what the lever acts on: at once, through another hidden one, or through an observed choice.
    assert!(!is_learned("\"u\"", "", "\"x\", \"u\"", u));
    assert!(!is_learned("\"v\"", "", "\"x\", \"u\"", uv));
    assert!(!is_learned("\"m\"", "\"u\"", "\"x\", \"u\"", u));
    // The front door: what the lever acts on comes between.
    assert!(!is_learned("\"u\"", "\"x\"", "\"m\", \"u\"", u));
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

/// Two symptoms with a hidden common cause, moved by a lever that follows the state when it is left alone.
const SHARED: &str = r#"
dowise = 1
name = "Symptoms"
horizon = 3
[state.age]
values = ["young", "old"]
scope = ["age", "fever"]
next = [[[0.8, 0.2], [0.6, 0.4]], [[0.1, 0.9], [0.3, 0.7]]]
[lever.dose]
values = ["low", "high"]
parents = ["age"]
p = [[0.8, 0.2], [0.3, 0.7]]
[hidden.infection]
values = ["no", "yes"]
parents = ["dose"]
p = [[0.3, 0.7], [0.8, 0.2]]
[key.fever]
values = ["no", "yes"]
parents = ["infection", "age"]
p = [[[0.9, 0.1], [0.8, 0.2]], [[0.2, 0.8], [0.3, 0.7]]]
[key.cough]
values = ["no", "yes"]
parents = ["infection"]
p = [[0.85, 0.15], [0.25, 0.75]]
[reward.well]
scope = ["fever", "cough"]
value = [[1.0, 0.5], [0.4, 0.0]]
[interventions]
set = "any"
"#;

#[test]
fn natural_levers_and_keys_with_a_hidden_common_cause_are_fitted_correctly() {
    let world = World::from_toml(SHARED, "symptoms.toml").unwrap();
    let fitted = fit(&world, &simulate(&world, 8000, 2), FitOptions::default());
    let table = fitted.report().tables.iter().find(|t| t.what == "P(fever, cough | age, dose)").unwrap();
    assert_eq!((table.rows.len(), table.outcomes.len()), (4, 4));
    for state in 0..2 {
        // Left alone, and each value set.
        for a in 0..3 {
            let [ours, truth] = [fitted.world(), &world].map(|w| kernel_row(w, state, Action(a)));
            assert!(ours.iter().zip(&truth).all(|(o, t)| (o - t).abs() < 0.02), "{state} {a}: {ours:?} {truth:?}");
        }
    }
}

#[test]
fn evidence_says_which_world_it_is_of_and_what_its_fit_expected_beyond_it() {
    let world = World::from_toml(SHARED, "symptoms.toml").unwrap();
    let steps = simulate(&world, 200, 2);
    let fitted = fit(&world, &steps, FitOptions::default());
    let beside = not_fitted_in(&fitted.evidence_text()).unwrap();
    assert_eq!(fingerprint_in(fitted.text()), beside.fingerprint.as_deref());
    assert!(!beside.em && beside.unpaid.is_empty() && fingerprint_in(&world.to_toml()).is_none());
    let other = fit(&world, &steps[..300], FitOptions::default());
    assert_ne!(fingerprint_in(other.text()), beside.fingerprint.as_deref());
    // With nothing missing there is nothing to expect.
    let em = || FitOptions { em: true, ..FitOptions::default() };
    assert!(!not_fitted_in(&fit(&world, &steps, em()).evidence_text()).unwrap().em);
    for (options, expected) in [(em(), true), (FitOptions::default(), false)] {
        let mut fitting = Fitting::new(&world, options).unwrap();
        let knowledge = fitting.knowledge().clone();
        for next in [0, 1, 1, 0, 1] {
            let step =
                Observation::at(&knowledge, 0, 0).unwrap().did(&knowledge, 1).unwrap().then(&knowledge, next).unwrap();
            fitting.add(&LogStep::new(0, step)).unwrap();
        }
        let fitted = fitting.fit().unwrap();
        assert_eq!(not_fitted_in(&fitted.evidence_text()).unwrap().em, expected);
    }
}

#[test]
fn what_was_never_recorded_or_done_is_said_by_name() {
    let world = worlds::world("treatment", &[]).unwrap();
    let mut fitting = Fitting::new(&world, FitOptions::default()).unwrap();
    let knowledge = fitting.knowledge().clone();
    let lone = Observation::at(&knowledge, 0, 0).unwrap().did(&knowledge, 0).unwrap();
    fitting.add(&LogStep::new(0, lone)).unwrap();
    let fitted = fitting.fit().unwrap();
    let report = fitted.report();
    let open: Vec<&str> = report.open.iter().map(|o| o.what.as_str()).collect();
    for key in world.keys() {
        let name = format!("key variable {}", world.variable(*key).name);
        assert!(open.contains(&name.as_str()), "{open:?}");
    }
    assert!(open.contains(&"transitions"), "{open:?}");
    assert!(report.tables.iter().filter(|t| t.part != FitPart::Start).all(|t| t.never_seen() == t.rows.len()));
    assert!(report.missing.iter().any(|m| m.what == "next state" && m.steps == 1));
    let wrong = FitOptions { keep: vec!["fevr".into(), "sunshine".into()], ..FitOptions::default() };
    let message = Fitting::new(&world, wrong).unwrap_err().to_string();
    assert!(message.contains("\"fevr\"") && message.contains("\"sunshine\""), "{message}");
    let nothing = Fitting::new(&world, FitOptions::default()).unwrap().fit().unwrap_err();
    assert!(matches!(nothing, FitError::NoSteps));
}

/// The fit of a log in which `hides` decides by s′ whether the key variables of a step are missing.
fn fit_with_holes(world: &World, steps: &[Step], em: bool, hides: impl Fn(&Step, &mut ChaCha8Rng) -> bool) -> Fitted {
    let mut fitting = Fitting::new(world, FitOptions { em, ..FitOptions::default() }).unwrap();
    let knowledge = fitting.knowledge().clone();
    let [mut rng, _] = Simulator::streams(77);
    for step in steps {
        let whole = logged(world, &knowledge, step);
        if !hides(step, &mut rng) {
            fitting.add(&whole).unwrap();
            continue;
        }
        let levers: Vec<u32> = world.levers().iter().map(|id| step.outcome.values[id.ix()]).collect();
        let holed = Observation::at(&knowledge, step.stage, step.state)
            .unwrap()
            .did_action(&knowledge, step.action)
            .unwrap()
            .found(&knowledge, &levers[..])
            .unwrap()
            .then(&knowledge, step.outcome.next_state)
            .unwrap();
        fitting.add(&LogStep::new(step.episode, holed)).unwrap();
    }
    fitting.fit().unwrap()
}

#[test]
fn em_is_right_for_missingness_by_the_next_state_and_its_density_never_falls() {
    let world = World::from_toml(SHARED, "symptoms.toml").unwrap();
    let steps = simulate(&world, 6000, 3);
    // Four of five patients who got old have no record of their symptoms.
    let hides = |step: &Step, rng: &mut ChaCha8Rng| step.outcome.next_state == 1 && rng.random::<f64>() < 0.8;
    let error = |fitted: &Fitted| {
        let pairs = fitted.world().transitions()[0].table.as_ref().unwrap().iter();
        let truth = world.transitions()[0].table.as_ref().unwrap();
        pairs.zip(truth.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    let dropped = fit_with_holes(&world, &steps, false, hides);
    let expected = fit_with_holes(&world, &steps, true, hides);
    let full = fit_with_holes(&world, &steps, true, |_, _| false);
    let (dropped_error, em_error, full_error) = (error(&dropped), error(&expected), error(&full));
    assert!(dropped_error > 0.2 && em_error < 0.05 && full_error < 0.03, "{dropped_error} {em_error} {full_error}");
    let em = expected.report().em.as_ref().unwrap();
    assert!(em.steps > 3000 && em.left_out == 0 && em.density.len() > 5, "{em:?}");
    assert!(em.density.windows(2).all(|w| w[1] >= w[0]), "{:?}", em.density);
    // Without holes nothing is expected, and the numbers are those without EM.
    assert_eq!(full.report().em.as_ref().unwrap().steps, 0);
    let plain = fit(&world, &steps, FitOptions::default());
    assert_eq!(full.world().to_toml(), plain.world().to_toml());
    // What is kept for learning on is what was counted.
    assert_eq!(dropped.evidence().save(), expected.evidence().save());
}

#[test]
fn intervals_of_em_have_room_for_what_was_not_recorded() {
    let world = World::from_toml(SHARED, "symptoms.toml").unwrap();
    let truth = world.transitions()[0].table.clone().unwrap();
    let hides = |step: &Step, rng: &mut ChaCha8Rng| step.outcome.next_state == 1 && rng.random::<f64>() < 0.8;
    let (rounds, mut held, mut cells) = (40, 0, 0);
    for seed in 0..rounds {
        let fitted = fit_with_holes(&world, &simulate(&world, 250, 100 + seed), true, hides);
        let rows = &fitted.report().tables[0].rows;
        let ends = rows.iter().flat_map(|row| row.low.iter().zip(&row.high));
        for ((low, high), p) in ends.zip(truth.iter()) {
            held += u32::from((*low..=*high).contains(p));
            cells += 1;
        }
    }
    // 95 %; cells of a log depend on each other, so that 40 logs tell 95 % from 88 %.
    assert!(f64::from(held) >= 0.88 * f64::from(cells), "{held} of {cells}");
}

#[test]
fn em_goes_through_forms_and_hidden_variables() {
    let world = worlds::world("campaign", &[]).unwrap();
    let steps = simulate(&world, 400, 3);
    let fitted = fit_with_holes(&world, &steps, true, |_, rng| rng.random::<f64>() < 0.3);
    let em = fitted.report().em.as_ref().unwrap();
    assert!(em.steps > 300 && em.density.windows(2).all(|w| w[1] >= w[0]), "{em:?}");
}

#[test]
fn what_the_best_plan_relies_on_adds_up_to_the_steps_of_an_episode() {
    let world = worlds::world("treatment", &[]).unwrap();
    let fitted = fit(&world, &simulate(&world, 50, 1), FitOptions::default());
    let used = fitted.reliance(50, 0).unwrap();
    assert_eq!(used.len(), fitted.report().tables.len());
    for (table, used) in fitted.report().tables.iter().zip(&used) {
        assert_eq!(table.rows.len(), used.len());
        let steps = if table.part == FitPart::Start { 1.0 } else { world.horizon() as f64 };
        let used: f64 = used.iter().sum();
        // A lever's own mechanism is used only where the lever is left alone.
        let own = |name: &str| table.what.strip_prefix("P(").and_then(|rest| rest.strip_prefix(name));
        let lever =
            world.levers().iter().any(|&id| own(&world.variable(id).name).is_some_and(|r| r.starts_with([' ', ')'])));
        assert!(used <= steps + 1e-9 && (lever || used >= steps - 1e-9), "{}: {used}", table.what);
    }
}
