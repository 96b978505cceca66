//! Logs of worlds whose episodes end, or whose mechanisms depend on the stage: steps that cannot have been, and what is learned of them.

use dowise::data::FindingKind;
use dowise::offline::fit::{FitOptions, Fitting};
use dowise::offline::{Episodes, OfflineOptions, evaluate};
use dowise::{Knowledge, Planner, World};

use crate::common::{episodes, read, written};

const ENDING: &str = r#"
dowise = 1
horizon = 4
ends = { when = { x = "dead" } }
[state.x]
values = ["ok", "dead"]
scope = ["x", "z"]
next = [[[0.9, 0.1], [0.5, 0.5]], [[0, 1], [0, 1]]]
start = "ok"
[lever.a]
values = ["0", "1"]
[key.z]
values = ["no", "yes"]
parents = ["a"]
p = [[0.8, 0.2], [0.3, 0.7]]
[reward.r]
scope = ["z"]
value = [0, 1]
[interventions]
set = "all"
"#;

fn ending() -> World {
    World::from_toml(ENDING, "ending.toml").unwrap()
}

#[test]
fn a_step_where_episodes_have_ended_is_found_and_left_out() {
    let world = ending();
    let text = written(&world, &episodes(&world, 20, 1));
    assert!(!read(&world, text.clone()).1.findings.has_errors());
    // The first step of the first episode in a state that no episode goes on from.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let column = lines[0].split(',').position(|name| name == "x").unwrap();
    let mut cells: Vec<&str> = lines[1].split(',').collect();
    cells[column] = "dead";
    lines[1] = cells.join(",");
    let (steps, report) = read(&world, lines.join("\n"));
    assert!(
        report.findings.has_errors() && report.findings.of(FindingKind::AfterEnd).count() > 0,
        "{}",
        report.findings
    );
    assert!(report.findings.to_string().contains("where episodes have ended"), "{}", report.findings);
    assert!(steps.iter().all(|step| !world.has_ended(step.observation.state())));
}

#[test]
fn ends_that_are_none_by_the_world_and_episodes_that_stop_are_said() {
    let world = ending();
    let of = |rows: &str, kind: FindingKind| {
        let (_, report) = read(&world, format!("episode,stage,x,a,z,next.x,end\n{rows}\n"));
        assert!(!report.findings.has_errors(), "{}", report.findings);
        report.findings.of(kind).count()
    };
    // Ended where the world goes on, cut off where it has ended, and as it should be.
    assert_eq!(of("0,1,ok,0,no,ok,terminated", FindingKind::OtherEnd), 1);
    assert_eq!(of("0,1,ok,0,no,dead,truncated", FindingKind::OtherEnd), 1);
    assert_eq!(of("0,1,ok,0,no,dead,terminated\n1,1,ok,0,no,ok,truncated", FindingKind::OtherEnd), 0);
    // No end, before the horizon: where the world goes on, and where it has ended.
    assert_eq!(of("0,1,ok,0,no,ok,\n0,2,ok,0,no,ok,", FindingKind::Stops), 1);
    assert_eq!(of("0,1,ok,0,no,ok,\n0,2,ok,0,no,dead,", FindingKind::Stops), 0);
    let whole = (1..=4).map(|stage| format!("0,{stage},ok,0,no,ok,")).collect::<Vec<_>>().join("\n");
    assert_eq!(of(&whole, FindingKind::Stops), 0);
}

#[test]
fn nothing_is_learned_of_what_comes_after_the_end_in_whatever_order_rows_come() {
    let world = ending();
    let rows = ["0,1,ok,0,no,0", "0,2,dead,0,no,0", "0,3,ok,1,yes,1"];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let text = format!("episode,stage,x,a,z,reward.r\n{}\n", order.map(|i| rows[i]).join("\n"));
        let (steps, report) = read(&world, text);
        assert!(report.findings.of(FindingKind::AfterEnd).count() > 0, "{order:?}: {}", report.findings);
        assert_eq!(report.steps + report.left_out, 3, "{order:?}");
        let ended = steps.iter().find(|step| step.observation.next_state().is_some_and(|next| world.has_ended(next)));
        let later = |stage| steps.iter().any(|step| step.observation.stage() > stage);
        assert!(ended.is_none_or(|step| !later(step.observation.stage())), "{order:?}");
        assert!(steps.len() == 1 || ended.is_none(), "{order:?}");
    }
}

#[test]
fn rows_of_states_in_which_episodes_have_ended_are_no_open_question() {
    let world = ending();
    let mut fitting = Fitting::new(&world, FitOptions::default()).unwrap();
    episodes(&world, 200, 4).iter().flatten().for_each(|step| fitting.add(step).unwrap());
    let fitted = fitting.fit().unwrap();
    let table = fitted.report().tables.iter().find(|t| t.what.starts_with("P(next x")).unwrap();
    let dead: Vec<usize> = (0..table.rows.len()).filter(|&row| table.row_words(row).contains("x=dead")).collect();
    assert_eq!((&table.ended, table.never_seen()), (&dead, 0));
    assert!(table.rows[dead[0]].visits == 0 && fitted.report().open.is_empty(), "{:?}", fitted.report().open);
}

#[test]
fn what_a_policy_needs_to_know_does_not_include_what_comes_after_the_end() {
    let world = ending();
    let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
    let mut log = Episodes::new(&knowledge, 5).unwrap();
    for steps in episodes(&world, 2000, 3) {
        log.add(&steps).unwrap();
    }
    let planner = Planner::new(&world).unwrap();
    let plan = planner.plan();
    let found = evaluate(&log, &plan.policy_hs, &OfflineOptions::default()).unwrap();
    assert_eq!((found.support.share, found.support.thin), (0.0, 0.0), "{:?}", found.support.rows);
    let truth = planner.from_start(&plan.value_hs[..world.n_states()]);
    assert!((found.model.mean - truth).abs() < 0.1, "{} and {truth}", found.model.mean);
}

#[test]
fn a_fitted_world_begins_at_the_first_stage_however_short_the_log() {
    let text = ENDING
        .replace("ends = { when = { x = \"dead\" } }", "")
        .replace("scope = [\"z\"]", "scope = [\"stage\", \"z\"]");
    let text = text.replace("value = [0, 1]", "value = [[0, 1], [0, 2], [0, 3], [0, 4]]");
    let world = World::from_toml(&text, "stages.toml").unwrap();
    let options = FitOptions { keep: vec!["rewards".into()], ..FitOptions::default() };
    let mut fitting = Fitting::new(&world, options).unwrap();
    let (steps, _) = read(&fitting.world().clone(), written(&world, &episodes(&world, 5, 1)));
    steps.iter().for_each(|step| fitting.add(step).unwrap());
    let fitted = World::from_toml(fitting.fit().unwrap().text(), "fitted.toml").unwrap();
    let planner = Planner::new(&fitted).unwrap();
    let late = (0..fitted.n_states()).filter(|&s| !fitted.occurs_at(0, s));
    let at_first =
        |s: usize| planner.from_start(&(0..fitted.n_states()).map(|t| f64::from(u8::from(s == t))).collect::<Vec<_>>());
    assert_eq!(late.map(at_first).sum::<f64>(), 0.0);
}

#[test]
fn the_stage_is_written_and_read_once_where_the_world_depends_on_it() {
    let text = ENDING
        .replace("ends = { when = { x = \"dead\" } }", "")
        .replace("scope = [\"z\"]", "scope = [\"stage\", \"z\"]")
        .replace("value = [0, 1]", "value = [[0, 1], [0, 2], [0, 3], [0, 4]]");
    let world = World::from_toml(&text, "stages.toml").unwrap();
    let played = episodes(&world, 20, 2);
    let log = written(&world, &played);
    let header = log.lines().next().unwrap();
    assert_eq!(header.split(',').filter(|name| name.contains("stage")).collect::<Vec<_>>(), ["stage"], "{header}");
    let (steps, report) = read(&world, log);
    assert!(!report.findings.has_errors(), "{}", report.findings);
    let states = |s: &dowise::Observation| (s.stage(), s.state(), s.next_state());
    let expected: Vec<_> = played.iter().flatten().map(|s| states(&s.observation)).collect();
    assert_eq!(steps.iter().map(|s| states(&s.observation)).collect::<Vec<_>>(), expected);
}
