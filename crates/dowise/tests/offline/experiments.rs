//! Logs with randomised rows and others: what confounding hides is learned from the former, and both are compared.

use std::fmt::Write;
use std::io::Cursor;
use std::ops::ControlFlow;

use dowise::data::{CsvTable, LogMap, LogReader, LogReport, has_randomised_row};
use dowise::offline::fit::{FitError, FitOptions, Fitting, read_summary};
use dowise::offline::{
    About, Assumption, Episodes, GraphReport, GraphTest, Identification, Recommendation, SafePlan, Status, Tier,
    calibrate, evaluate, plan_safely,
};
use dowise::{Knowledge, World};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::harm::deploys;
use super::hidden_causes::{binary, happens, word};
use super::logger::{constant, quick, truth};

/// The state s, the lever a and the key variable y, which pays; u may be declared.
fn clinic(declared: bool) -> World {
    let (hidden, of_a, u) =
        if declared { ("hidden.u\nparents = []", "parents = [\"u\"]", ", \"u\"") } else { ("", "", "") };
    let state = "state.s\nscope = []\nnext = { p = [0.5, 0.5] }";
    let (lever, key) = (format!("lever.a\n{of_a}"), format!("key.y\nparents = [\"a\"{u}]\nlearn = \"table\""));
    let sections: Vec<&str> = [state, hidden, &lever, &key].into_iter().filter(|section| !section.is_empty()).collect();
    binary(&sections, "[reward.r]\nscope = [\"y\"]\nvalue = [0, 1]")
}

/// How a log comes about: P(a = yes | s, u) of usual practice, P(y = yes | a, u), and the share of randomised steps.
struct Practice {
    of_a: fn(bool, bool) -> f64,
    of_y: fn(bool, bool) -> f64,
    randomised: f64,
}

/// u makes a likely and y unlikely, so that a looks harmful: 0.325 against 0.475, and in truth 0.5 against 0.3.
const HARMFUL_LOOKS: Practice = Practice {
    of_a: |s, u| if u { 0.85 } else { 0.15 } + if s { 0.1 } else { -0.1 },
    of_y: |a, u| 0.55 + 0.2 * f64::from(u8::from(a)) - 0.5 * f64::from(u8::from(u)),
    randomised: 0.2,
};

impl Practice {
    fn log(&self, episodes: u64, seed: u64) -> String {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut text = "episode,stage,s,a,y,next.s,randomised\n".to_owned();
        for episode in 0..episodes {
            let mut s = happens(&mut rng, 0.5);
            for stage in 1..=2 {
                let (drawn, u) = (happens(&mut rng, self.randomised), happens(&mut rng, 0.5));
                let a = happens(&mut rng, if drawn { 0.5 } else { (self.of_a)(s, u) });
                let (y, next) = (happens(&mut rng, (self.of_y)(a, u)), happens(&mut rng, 0.5));
                let [s_, a, y, next_, drawn] = [s, a, y, next, drawn].map(word);
                writeln!(text, "{episode},{stage},{s_},{a},{y},{next_},{drawn}").unwrap();
                s = next;
            }
        }
        text
    }
}

fn table(text: &str) -> CsvTable {
    CsvTable::new(Cursor::new(text.to_owned().into_bytes()), "log.csv").unwrap()
}

fn fitting(world: &World, text: &str) -> Fitting {
    let randomised_steps = has_randomised_row(table(text), world, None).unwrap();
    let keep = vec!["rewards".to_owned()];
    Fitting::new(world, FitOptions { keep, randomised_steps, ..FitOptions::default() }).unwrap()
}

fn read(world: &World, text: &str) -> Episodes {
    let fitting = fitting(world, text);
    assert_eq!(fitting.rests_on().unwrap(), Vec::new());
    let mut log = Episodes::of_fit(&fitting, 5).unwrap();
    let reader = LogReader::new(table(text), fitting.world(), None).unwrap();
    let report = reader.episodes(|steps| {
        log.add(steps).unwrap();
        ControlFlow::Continue(())
    });
    assert!(!report.unwrap().findings.has_errors());
    log
}

fn about(plan: &SafePlan, subject: About) -> &Assumption {
    plan.record.about(subject).unwrap_or_else(|| panic!("{subject:?}: {:?}", plan.record))
}

#[test]
fn randomised_rows_show_what_confounding_hides_and_all_rows_together_do_not() {
    let (world, blind) = (clinic(true), clinic(false));
    // Always a = yes, in two steps; without the column, nothing says that some steps were randomised.
    let value = 1.0;
    let (mut covered, mut by_robust, mut off, mut off_robust, mut pooled) = (0, 0, 0.0, 0.0, 0.0);
    for seed in 0..12 {
        let text = HARMFUL_LOOKS.log(1000, seed);
        let without = text.replace(",randomised", "").replace(",yes\n", "\n").replace(",no\n", "\n");
        let refusal = fitting(&world, &without).rests_on().unwrap_err();
        assert!(matches!(&refusal, FitError::Confounded { lever, .. } if lever == "a"), "{refusal}");

        let log = read(&world, &text);
        let found = evaluate(&log, &constant(&world, 1), &quick()).unwrap();
        let (model, robust) = (found.model, found.robust.unwrap());
        covered += usize::from(model.posterior.low <= value && value <= model.posterior.high);
        by_robust += usize::from(robust.interval.low <= value && value <= robust.interval.high);
        assert!(found.guaranteed.is_some_and(|g| g.low <= value && value <= g.high), "seed {seed}");
        off += (model.mean - value) / 12.0;
        off_robust += (robust.mean - value) / 12.0;
        let of_y = found.record.identification.iter().find(|of| of.quantity == "P(y | a)").unwrap();
        assert_eq!(of_y.by, Identification::RandomisedSteps);
        assert!((300..500).contains(&of_y.steps), "{} of 2000 steps are randomised", of_y.steps);
        let reproduced = found.record.about(About::LoggedReturns).unwrap();
        assert_eq!(reproduced.status, Status::Passed, "seed {seed}: {}", reproduced.statement);
        let log = read(&blind, &text);
        pooled += (evaluate(&log, &constant(&blind, 1), &quick()).unwrap().model.mean - value) / 12.0;
    }
    assert!(covered >= 10, "{covered} of 12 posterior intervals of 95 % cover");
    assert!(by_robust >= 10, "{by_robust} of 12 doubly robust intervals of 95 % cover");
    assert!(off.abs() < 0.04 && off_robust.abs() < 0.04, "off by {off} and {off_robust} on average");
    assert!(pooled < -0.2, "all rows together would be off by {pooled}");
}

#[test]
fn plans_from_randomised_rows_of_a_confounded_log_are_truly_better() {
    let world = clinic(true);
    let mut recommended = 0;
    for seed in 0..12 {
        let log = read(&world, &HARMFUL_LOOKS.log(2500, 100 + seed));
        let plan = plan_safely(&log, &quick()).unwrap();
        // Tests reject what is right in 5 % (graph) and 1 % of all logs; nothing else may fail.
        let tests = [About::Graph, About::Markov, About::Stationarity, About::Confounding];
        let failed = plan.record.failed();
        assert!(failed.is_none_or(|failed| tests.contains(&failed.about)), "seed {seed}: {failed:?}");
        if !deploys(&plan) {
            continue;
        }
        recommended += 1;
        // In truth setting a pays 0.5 a step, leaving it out 0.3, and usual practice 0.4.
        let at: Vec<f64> = plan
            .recommended()
            .policy_hs
            .iter()
            .map(|&action| [0.3, 0.5][world.interventions().rank(action).unwrap() as usize])
            .collect();
        let mean = at.iter().sum::<f64>() / at.len() as f64;
        assert!(mean > 0.4, "seed {seed}: a plan worth {mean} a step, in place of 0.4");
        let confounding = about(&plan, About::Confounding);
        assert!(
            confounding.statement.contains("does to y is learned from randomised rows only"),
            "{}",
            confounding.statement
        );
    }
    assert!(recommended >= 9, "{recommended} of 12 logs lead to a recommendation");
}

#[test]
fn the_graph_is_tested_where_it_holds() {
    // Given a, the state says something about u in rows that were not randomised, and so about y.
    let world = clinic(true);
    let contradicted = |seed: u64| {
        let log = read(&world, &HARMFUL_LOOKS.log(1500, 200 + seed));
        let record = plan_safely(&log, &quick()).unwrap().record;
        record.about(About::Graph).unwrap().status == Status::Failed
    };
    let wrong = (0..20).filter(|&seed| contradicted(seed)).count();
    assert!(wrong <= 4, "{wrong} of 20 right graphs are contradicted at level 0.05");
}

/// Doctors see u and do well by it: 0.86 a step, in place of 0.6 by any plan and 0.572 in a log that is mostly random.
const GOOD_DOCTORS: Practice = Practice {
    of_a: |_, u| if u { 0.95 } else { 0.05 },
    of_y: |a, u| match (a, u) {
        (true, true) => 1.0,
        (true, false) => 0.2,
        (false, true) => 0.0,
        (false, false) => 0.8,
    },
    randomised: 0.8,
};

#[test]
fn a_plan_has_to_be_better_than_usual_practice_and_not_only_than_the_experiment() {
    let world = clinic(true);
    for seed in 0..6 {
        let log = read(&world, &GOOD_DOCTORS.log(6000, seed));
        let plan = plan_safely(&log, &quick()).unwrap();
        let today = plan.logged.unwrap().returns.unwrap();
        assert!(plan.mean.model.mean > today.normal.high, "seed {seed}: it is better than the mean of the log");
        assert!(!deploys(&plan), "seed {seed}: {:?}", plan.recommendation);
        assert!(plan.mean.difference.unwrap().high < 0.0, "seed {seed}");
        let practice = plan.unrandomised.unwrap().posterior;
        // Two steps of 0.86 each.
        assert!(practice.low < 1.75 && practice.high > 1.69, "seed {seed}: {practice:?}");
    }
    // Without usual practice in the log, the experiment is what a plan replaces.
    let log = read(&world, &Practice { randomised: 1.0, ..GOOD_DOCTORS }.log(6000, 1));
    let plan = plan_safely(&log, &quick()).unwrap();
    assert!(deploys(&plan) && plan.tier == Some(Tier::Guaranteed), "{:?}", plan.recommendation);
}

#[test]
fn a_fit_learns_from_randomised_rows_and_its_evidence_says_so() {
    let (world, text) = (clinic(true), HARMFUL_LOOKS.log(1000, 7));
    let mut fitting = fitting(&world, &text);
    let read_as = fitting.world().clone();
    let reader = LogReader::new(table(&text), &read_as, None).unwrap();
    let add = |steps: &[dowise::data::LogStep<'_>]| {
        fitting.add_episode(steps).unwrap();
        ControlFlow::Continue(())
    };
    let report: LogReport = reader.episodes(add).unwrap();
    assert!((300..500).contains(&report.randomised), "{}", report.randomised);
    let fitted = fitting.fit().unwrap();
    assert!(fitted.text().contains("Learned from randomised steps only: y"), "{}", &fitted.text()[..600]);
    let gain =
        truth(fitted.world(), &constant(fitted.world(), 1)) - truth(fitted.world(), &constant(fitted.world(), 0));
    assert!((gain - 0.4).abs() < 0.2, "in truth setting a gains 0.4, by the fit {gain}");
    let seen = read_summary(fitted.world(), &fitted.evidence_text()).unwrap();
    assert_eq!(seen.assumptions().identification, fitted.report().record.identification);
    let by = fitted.report().record.identification.iter().find(|of| of.quantity == "P(y | a)").unwrap().by;
    assert_eq!(by, Identification::RandomisedSteps);
}

#[test]
fn key_variables_are_predicted_in_randomised_steps_only() {
    let world = clinic(true);
    let log = read(&world, &HARMFUL_LOOKS.log(1000, 3));
    let found = calibrate(&log, 2.0).unwrap();
    let y = found.variables.iter().find(|of| of.name == "y").unwrap();
    let steps: f64 = y.bins.iter().map(|bin| bin.n).sum();
    assert!((300.0..500.0).contains(&steps), "{steps} of 2000");
    let mean = |of: fn(&dowise::offline::Bin) -> f64| y.bins.iter().map(|bin| bin.n * of(bin)).sum::<f64>() / steps;
    let [predicted, observed] = [mean(|bin| bin.predicted), mean(|bin| bin.observed)];
    assert!((predicted - observed).abs() < 0.02, "{predicted} {observed}");
}

fn compare(world: &World, text: &str) -> GraphReport {
    let mut test = GraphTest::new(&Knowledge::of(world));
    let reader = LogReader::new(table(text), world, None).unwrap();
    let read = reader.episodes(|steps| {
        test.add_episode(steps).unwrap();
        ControlFlow::Continue(())
    });
    read.unwrap();
    test.finish(0.01)
}

#[test]
fn an_undeclared_hidden_cause_makes_randomised_rows_differ() {
    let world = clinic(false);
    // Practice by u alone, so that nothing else in the graph is wrong.
    let practice = Practice { of_a: |_, u| if u { 0.85 } else { 0.15 }, ..HARMFUL_LOOKS };
    let mut found = 0;
    for seed in 0..10 {
        let plan = plan_safely(&read(&world, &practice.log(1500, 300 + seed)), &quick()).unwrap();
        let failed = about(&plan, About::Confounding).status == Status::Failed;
        found += usize::from(failed);
        assert!(!failed || !deploys(&plan), "seed {seed}: {:?}", plan.recommendation);
        if failed && plan.record.failed().is_some_and(|of| of.about == About::Confounding) {
            assert_eq!(plan.recommendation, Recommendation::Refused { because: About::Confounding });
            let remedy = &about(&plan, About::Confounding).remedy;
            assert!(remedy.contains("declare the hidden cause"), "{remedy}");
        }
    }
    assert!(found >= 8, "{found} of 10 hidden causes are noticed");
    // The remedy, followed: a declared cause is no surprise.
    let declared = plan_safely(&read(&clinic(true), &practice.log(1500, 300)), &quick()).unwrap();
    assert_ne!(about(&declared, About::Confounding).status, Status::Failed);
}

#[test]
fn without_a_hidden_cause_randomised_rows_rarely_differ() {
    let world = clinic(false);
    let practice =
        Practice { of_a: |s, _| if s { 0.9 } else { 0.2 }, of_y: |a, _| if a { 0.6 } else { 0.3 }, randomised: 0.3 };
    let rejects = |seed: u64| !compare(&world, &practice.log(150, 1000 + seed)).confounding_contradictions().is_empty();
    let wrong = (0..200).filter(|&seed| rejects(seed)).count();
    // More than 7 of 200 have a probability of 0.001 at level 0.01.
    assert!(wrong <= 7, "{wrong} of 200");
    let plan = plan_safely(&read(&world, &practice.log(3000, 1)), &quick()).unwrap();
    let found = about(&plan, About::Confounding);
    assert_eq!(found.status, Status::Assumed, "{}", found.statement);
    assert!(found.statement.contains("were compared") && found.statement.contains("proves nothing"), "{found:?}");
    let only = compare(&world, &practice.log(150, 1).replace(",no\n", ",yes\n"));
    assert!(only.confounding.is_empty() && only.confounding_untested.is_empty(), "there is nothing to compare");
}

#[test]
fn rows_say_in_many_ways_that_they_are_randomised_and_duplicates_do_not_contradict() {
    let world = clinic(false);
    let text = "episode,stage,s,a,y,next.s,drawn\n1,1,no,no,no,no,TRUE\n1,2,no,no,no,no,0\n2,1,no,no,no,no,\n2,2,no,no,no,no,trial\n";
    let map = "[columns]\ndrawn = \"randomised\"\n[values.randomised]\ntrial = \"yes\"\n";
    let map = LogMap::from_toml(map, "map.toml", &world).unwrap();
    let mut found = Vec::new();
    let report = LogReader::new(table(text), &world, Some(&map)).unwrap().steps(|step| {
        found.push(step.randomised);
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert!(!report.findings.has_errors(), "{}", report.findings);
    assert_eq!(found, [Some(true), Some(false), None, Some(true)]);
    assert_eq!(report.randomised, 2);
    assert!(has_randomised_row(table(text), &world, Some(&map)).unwrap());
    assert!(!has_randomised_row(table(text), &world, None).unwrap(), "without the map there is no such column");
    let wrong = LogReader::new(table(&text.replace("drawn", "randomised")), &world, None).unwrap();
    let report = wrong.steps(|_| ControlFlow::Continue(())).unwrap();
    assert!(
        report.findings.to_string().contains("\"trial\" is not understood: it must be 0 or 1"),
        "{}",
        report.findings
    );
}

#[test]
fn a_contradiction_given_a_binned_variable_says_that_the_bins_may_be_too_coarse() {
    let world = binary(
        &[
            "state.s\nscope = []\nnext = { p = [0.5, 0.5] }",
            "lever.x",
            "key.age\nparents = []",
            "key.bought\nparents = [\"age\", \"x\"]",
            "key.clicked\nparents = [\"age\", \"x\"]",
        ],
        "[reward.r]\nscope = [\"bought\", \"clicked\"]\nvalue = [[0, 1], [1, 2]]",
    );
    let log = |edges: &str| {
        let map = LogMap::from_toml(&format!("[bins.age]\nedges = [{edges}]\n"), "map.toml", &world).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut text = "episode,stage,s,x,age,bought,clicked,next.s\n".to_owned();
        for episode in 0..2000 {
            let age: f64 = 100.0 * rng.random::<f64>();
            let [x, bought, clicked] = [0.5, age / 100.0, age / 100.0].map(|p| word(happens(&mut rng, p)));
            writeln!(text, "{episode},1,no,{x},{age},{bought},{clicked},no").unwrap();
        }
        let mut test = GraphTest::new(&Knowledge::of(&world));
        let reader = LogReader::new(table(&text), &world, Some(&map)).unwrap();
        let report = reader.episodes(|steps| {
            test.add_episode(steps).unwrap();
            ControlFlow::Continue(())
        });
        test.cut(&report.unwrap().binned);
        test.finish(0.05)
    };
    let found = log("50");
    let meaning = &found.contradictions()[0].meaning;
    assert!(meaning.contains("age is cut into 2 bins") && meaning.contains("cut it finer"), "{meaning}");
    let is_plain = |claim: &str| !claim.split(" | ").nth(1).is_some_and(|given| given.contains("age"));
    let plain = found.tested.iter().find(|of| is_plain(&of.claim)).unwrap();
    assert!(!plain.meaning.contains("bins"), "{}: {}", plain.claim, plain.meaning);
}
