//! Maps, rewards as one number, names that the world has too, and logs without some of their columns.

use dowise::World;
use dowise::data::{FindingKind, LogMap};

use crate::common::{episodes, read, read_with, world, written};

const WALK: &str = r#"
dowise = 1
name = "walk"
horizon = 3
[state.mood]
values = ["low", "high"]
scope = ["mood", "walk"]
next.p = [[[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]]
[lever.shoes]
values = ["cupboard", "door"]
cost = { door = 0.25 }
[key.walk]
values = ["none", "short", "long"]
parents = ["shoes"]
p = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
[reward.well]
scope = ["mood"]
value = [0.0, 1.0]
"#;

fn walk() -> World {
    World::from_toml(WALK, "walk.toml").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_map_renames_columns_and_values_cuts_numbers_and_says_what_is_missing() {
    let world = walk();
    let map = r#"
        missing = ["NA"]
        [columns]
        id = "episode"
        day = "stage"
        steps = "walk"
        [values.mood]
        bad = "low"
        good = "high"
        unknown = ""
        [bins.walk]
        edges = [100, 5000]
    "#;
    let map = LogMap::from_toml(map, "map.toml", &world).unwrap();
    let log = "id,day,mood,shoes,steps,next.mood\na,1,bad,door,0,\na,2,good,door,100,\na,3,good,cupboard,NA,unknown\n";
    let (steps, report) = read_with(&world, log, Some(&map)).unwrap();
    let key = world.keys()[0];
    let walked: Vec<Option<u32>> = steps.iter().map(|s| s.observation.value(key)).collect();
    assert_eq!(walked, [Some(0), Some(1), None], "a bin begins with its edge");
    assert_eq!(steps.iter().map(|s| s.observation.state()).collect::<Vec<_>>(), [0, 1, 1]);
    assert_eq!(report.next_missing, 1);
    assert!(!report.findings.has_errors(), "{}", report.findings);
}

#[test]
fn a_spreadsheets_line_that_names_the_delimiter_is_understood_and_counted() {
    let world = walk();
    for delimiter in [',', ';', '\t', '|'] {
        for first in [format!("sep={delimiter}\n"), format!("\"SEP={delimiter}\"\r\n")] {
            // Cells with other delimiters in them would lead a guess astray.
            let rows = "episode;stage;mood;shoes;walk;next.mood\n\"a,|b\";1;low;door;far;\na;2;lower;door;far;low\n";
            let log = first.clone() + &rows.replace(';', &delimiter.to_string());
            let (_, report) = read_with(&world, log.as_str(), None).unwrap();
            let text = report.findings.to_string();
            assert!(text.contains("line 4 column 3: \"lower\" is no value"), "{first:?}: {text}");
        }
    }
}

#[test]
fn a_map_says_that_numbers_have_commas_and_stages_begin_at_0() {
    let world = walk();
    let bins = "[bins.walk]\nedges = [1.5, 3.5]\n";
    let log = "episode;stage;mood;shoes;walk;next.mood\na;0;low;door;1,4;\na;1;high;door;3,5;\na;2;low;door;2;low\n";
    let map = |text: &str| LogMap::from_toml(text, "map.toml", &world).unwrap();
    let read = |text: &str| read_with(&world, log, Some(&map(text))).unwrap();
    let (steps, report) = read(&format!("decimal = \",\"\nfirst_stage = 0\n{bins}"));
    assert!(!report.findings.has_errors(), "{}", report.findings);
    let key = world.keys()[0];
    let walked: Vec<Option<u32>> = steps.iter().map(|s| s.observation.value(key)).collect();
    assert_eq!(walked, [Some(0), Some(2), Some(1)]);
    assert_eq!(steps.iter().map(|s| s.observation.stage()).collect::<Vec<_>>(), [0, 1, 2]);
    // Without them, what to say is said, once for each column.
    let text = read(bins).1.findings.to_string();
    assert!(
        text.contains("line 2, 3 column 5: \"1,4\" is not a number; if it has a decimal comma, say `decimal"),
        "{text}"
    );
    assert!(text.contains("there is no stage 0: an episode has stages 1 to 3; if the log counts from 0"), "{text}");
    let error = LogMap::from_toml("decimal = \";\"\nfirst_stage = 0.5", "map.toml", &world).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
}

#[test]
fn a_column_that_a_map_leaves_out_needs_no_note_and_others_get_one() {
    let world = walk();
    let text = "episode,stage,mood,remark,other,shoes,walk,next.mood\na,1,low,x,y,door,none,low\n";
    let map = LogMap::from_toml("[columns]\nremark = \"\"\n", "map.toml", &world).unwrap();
    let (_, report) = read_with(&world, text, Some(&map)).unwrap();
    let said = report.findings.to_string();
    assert!(said.contains("\"other\"") && !said.contains("remark") && !said.contains("\"\""), "{said}");
}

#[test]
fn next_values_that_are_missing_are_named_where_others_are_there() {
    let world = world("treatment");
    let steps = episodes(&world, 1, 3);
    let text = written(&world, &steps);
    let mut lines: Vec<Vec<String>> = text.lines().map(|l| l.split(',').map(str::to_owned).collect()).collect();
    let last = lines.len() - 1;
    // Where an episode is said to have ended, nothing has to follow.
    for name in ["next.kidney", "end"] {
        let column = lines[0].iter().position(|column| column == name).unwrap();
        lines[last][column].clear();
    }
    let joined: Vec<String> = lines.iter().map(|cells| cells.join(",")).collect();
    let said = read(&world, joined.join("\n")).1.findings.to_string();
    assert!(said.contains("`next.kidney` is missing") && !said.contains("`next.heart`"), "{said}");
}

#[test]
fn a_text_that_a_map_almost_has_is_suggested() {
    let world = walk();
    let map = LogMap::from_toml("[values.mood]\n\"not good\" = \"low\"\n", "map.toml", &world).unwrap();
    let log = "episode,stage,mood,shoes\na,1,not god,door\n";
    let text = read_with(&world, log, Some(&map)).unwrap().1.findings.to_string();
    assert!(text.contains("did you mean \"not good\"?"), "{text}");
}

#[test]
fn mistakes_in_a_map_are_named_all_at_once() {
    let map = r#"
        colums = 3
        [columns]
        id = "episod"
        [values.moood]
        bad = "low"
        [values.mood]
        bad = "lov"
        [bins.walk]
        edges = [5, 5]
    "#;
    let error = LogMap::from_toml(map, "map.toml", &walk()).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 5, "{error}");
    for part in ["`columns`", "\"episode\"", "\"mood\"", "\"low\"", "increase"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let error = LogMap::from_toml("[bins.walk]\nedges = [1, 2, 3]", "map.toml", &walk()).unwrap_err().to_string();
    assert!(error.contains("3 edges make 4 bins, but there are 3 labels"), "{error}");
}

#[test]
fn one_reward_is_what_was_received_the_cost_taken_off() {
    let log = "episode,stage,mood,shoes,walk,reward\n1,1,high,door,long,0.75\n1,2,low,cupboard,none,0\n";
    let (steps, _) = read(&walk(), log);
    assert_eq!(steps[0].observation.rewards(), [1.0]);
    assert_eq!((steps[0].reward, steps[1].reward), (Some(0.75), Some(0.0)));
    let both = "episode,stage,mood,shoes,walk,reward,reward.well\n1,1,high,door,long,0.75,1\n1,2,low,door,none,0,0\n";
    let (_, report) = read(&walk(), both);
    let found: Vec<u64> = report.findings.of(FindingKind::RewardContradicts).map(|f| f.first[0].line).collect();
    assert_eq!(found, [3]);
    let out = "episode,stage,mood,shoes,walk,reward\n1,1,high,door,long,0.9\n";
    assert_eq!(read(&walk(), out).1.findings.of(FindingKind::RewardRange).count(), 1);
}

#[test]
fn columns_that_are_not_there_are_said_once() {
    let (steps, report) = read(&walk(), "episode,stage,mood,shoes,customer,walks\n1,1,high,door,Ann,long\n");
    assert_eq!(steps[0].observation.value(walk().keys()[0]), None);
    let absent: Vec<_> = report.findings.of(FindingKind::AbsentColumn).filter_map(|f| f.column.clone()).collect();
    assert_eq!(absent, ["walk", "reward.well"]);
    let ignored: Vec<_> = report.findings.of(FindingKind::IgnoredColumn).map(|f| f.nearest.clone()).collect();
    assert_eq!(ignored, [None, Some("walk".into())]);
    assert!(!report.findings.has_errors());
}

#[test]
fn very_many_columns_that_are_not_known_are_counted() {
    let more: String = (0..100_000).map(|i| format!(",c{i}")).collect();
    let (_, report) = read(&world("river-swim"), format!("{}{more}\n", header().trim_end()));
    assert_eq!(report.findings.of(FindingKind::IgnoredColumn).count(), 40);
    let others: Vec<String> = report.findings.of(FindingKind::IgnoredColumns).map(|f| f.message.clone()).collect();
    assert_eq!(others, ["99960 other columns are not known and ignored"]);
}

#[test]
fn a_log_with_columns_alone_is_a_note() {
    let (steps, report) = read(&world("river-swim"), header());
    assert_eq!((steps.len(), report.rows), (0, 0));
    assert_eq!(report.findings.of(FindingKind::NoRows).count(), 1);
}

fn header() -> String {
    let world = world("river-swim");
    let names = world.state().iter().chain(world.levers()).map(|&id| world.variable(id).name.clone());
    format!("episode,stage,{}\n", names.collect::<Vec<_>>().join(","))
}
