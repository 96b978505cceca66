//! Every kind of fault is found, with its line and column, and what becomes of the row is as it says.

use dowise::data::{Effect, FindingKind, LogError, Severity};
use proptest::prelude::*;

use crate::common::{episodes, read, read_with, table, world, written};

/// A log of the treatment world as a grid of cells that can be broken.
struct Grid {
    cells: Vec<Vec<String>>,
}

impl Grid {
    fn new() -> Grid {
        let world = world("treatment");
        let text = written(&world, &episodes(&world, 4, 9));
        Grid { cells: text.lines().map(|l| l.split(',').map(str::to_owned).collect()).collect() }
    }

    fn column(&self, name: &str) -> usize {
        self.cells[0].iter().position(|c| c == name).unwrap_or_else(|| panic!("no column {name}"))
    }

    /// Puts a text into a cell; lines are numbered from 1.
    fn put(&mut self, line: usize, column: &str, text: &str) -> &mut Grid {
        let c = self.column(column);
        self.cells[line - 1][c] = text.to_owned();
        self
    }

    fn text(&self) -> String {
        self.cells.iter().map(|row| row.join(",") + "\n").collect()
    }

    /// The only finding of a kind is at this line and column, and it does what its kind says.
    fn finds(&self, kind: FindingKind, line: u64, column: Option<&str>) -> String {
        let (steps, report) = read(&world("treatment"), self.text());
        let found: Vec<_> = report.findings.of(kind).collect();
        let [one] = found[..] else { panic!("{kind:?}: {found:?}\n{}", report.findings) };
        let place = one.first[0];
        assert_eq!((place.line, place.column), (line, column.map(|c| self.column(c) + 1)), "{one}");
        assert_eq!(one.effect, kind.effect());
        assert_eq!(report.steps + report.left_out, report.rows, "every row is a step or left out: {}", report.findings);
        assert_eq!(report.steps, steps.len() as u64);
        if one.effect == Effect::RowsLeftOut {
            assert!(report.left_out >= 1 && steps.iter().all(|s| s.line != line), "{one}");
        } else {
            assert_eq!(report.left_out, 0, "{one}");
        }
        assert_eq!(report.findings.has_errors(), one.severity == Severity::Error, "{}", report.findings);
        one.to_string()
    }
}

#[test]
fn a_good_log_has_nothing_wrong() {
    let (_, report) = read(&world("treatment"), Grid::new().text());
    assert_eq!(report.findings.list(), []);
}

#[test]
fn labels_that_are_no_values_are_named_with_the_nearest() {
    let mut grid = Grid::new();
    let says = grid.put(4, "kidney", "helthy").finds(FindingKind::UnknownLabel, 4, Some("kidney"));
    assert!(says.contains("did you mean \"healthy\"?") && says.contains("1 row left out"), "{says}");
    Grid::new().put(5, "pressure", "purple").finds(FindingKind::UnknownLabel, 5, Some("pressure"));
    Grid::new().put(5, "set.diet", "maybe").finds(FindingKind::UnknownLabel, 5, Some("set.diet"));
    Grid::new().put(7, "end", "dead").finds(FindingKind::UnknownLabel, 7, Some("end"));
    Grid::new().put(7, "next.heart", "stone").finds(FindingKind::UnknownLabel, 7, Some("next.heart"));
}

#[test]
fn a_row_that_is_left_out_still_says_what_followed_the_row_before() {
    let world = world("treatment");
    let (steps, report) = read(&world, Grid::new().put(4, "pressure", "purple").text());
    assert_eq!((report.left_out, report.next_missing), (1, 0));
    assert!(steps.iter().any(|s| s.line == 3 && s.observation.next_state().is_some()));
}

#[test]
fn cells_that_are_missing_are_counted_by_column() {
    Grid::new().put(4, "oxygen", "").finds(FindingKind::MissingCell, 4, Some("oxygen"));
    Grid::new().put(4, "reward.body", " ").finds(FindingKind::MissingCell, 4, Some("reward.body"));
    Grid::new().put(4, "propensity", "").finds(FindingKind::MissingCell, 4, Some("propensity"));
    for needed in ["episode", "stage", "heart", "set.sleep"] {
        Grid::new().put(4, needed, "").finds(FindingKind::MissingNeeded, 4, Some(needed));
    }
}

#[test]
fn numbers_are_checked() {
    Grid::new().put(3, "reward.body", "much").finds(FindingKind::NotANumber, 3, Some("reward.body"));
    Grid::new().put(3, "reward.body", "NaN").finds(FindingKind::NotANumber, 3, Some("reward.body"));
    Grid::new().put(3, "reward.body", "7").finds(FindingKind::RewardRange, 3, Some("reward.body"));
    for wrong in ["0", "1.5", "-0.1"] {
        Grid::new().put(3, "propensity", wrong).finds(FindingKind::Propensity, 3, Some("propensity"));
    }
    for wrong in ["0", "7", "-1", "99999999999999999999"] {
        let kind = if wrong.len() > 5 { FindingKind::NotANumber } else { FindingKind::Stage };
        Grid::new().put(3, "stage", wrong).finds(kind, 3, Some("stage"));
    }
    Grid::new().put(3, "stage", "one").finds(FindingKind::NotANumber, 3, Some("stage"));
}

#[test]
fn weights_are_whole_numbers() {
    let world = world("treatment");
    let weighed = |weight: &str| {
        let mut grid = Grid::new();
        grid.cells.iter_mut().enumerate().for_each(|(i, row)| {
            row.push(
                if i == 0 {
                    "log.weight"
                } else if i == 3 {
                    weight
                } else {
                    "1"
                }
                .to_owned(),
            );
        });
        grid
    };
    // The world has a state factor called "weight".
    let (_, report) = read(&world, weighed("5").text());
    assert_eq!((report.steps, report.weight), (24, 28));
    let says = weighed("0.5").finds(FindingKind::Weight, 4, Some("log.weight"));
    assert!(says.contains("a fraction of a visit cannot be counted"), "{says}");
    weighed("0").finds(FindingKind::Weight, 4, Some("log.weight"));
    let says = weighed("4294967296").finds(FindingKind::Weight, 4, Some("log.weight"));
    assert!(says.contains("from 1 to 4294967295"), "{says}");
}

#[test]
fn blanks_around_a_name_mean_nothing_and_a_cell_of_blanks_is_missing() {
    let (plain, _) = read(&world("treatment"), Grid::new().text());
    let mut grid = Grid::new();
    let episode = grid.cells[2][grid.column("episode")].clone();
    grid.put(3, "episode", &format!(" {episode} ")).put(4, "propensity", "  ").put(5, "policy", "at random ");
    let (steps, report) = read(&world("treatment"), grid.text());
    assert_eq!((steps.len(), report.policies.len()), (plain.len(), 1));
    assert_eq!(steps[1].episode, plain[1].episode);
    assert_eq!(report.findings.of(FindingKind::MissingCell).count(), 1, "{}", report.findings);
    Grid::new().put(3, "episode", "  ").finds(FindingKind::MissingNeeded, 3, Some("episode"));
}

#[test]
fn a_finding_is_one_line_whatever_a_cell_holds() {
    let says = Grid::new().put(3, "kidney", "bad\t\u{1b}[31m").finds(FindingKind::UnknownLabel, 3, Some("kidney"));
    assert!(says.contains(r#""bad\t\u{1b}[31m" is no value"#), "{says}");
    let says = Grid::new().put(3, "reward.organs", "-1e300").finds(FindingKind::RewardRange, 3, Some("reward.organs"));
    assert!(says.contains("paid -1e300, but"), "{says}");
}

#[test]
fn a_quotation_mark_too_many_is_found_where_it_stands() {
    // Never closed: nothing after it can be distinguished.
    let text = refused(Grid::new().put(5, "kidney", "\"healthy").text());
    assert_eq!(text, "log.csv: line 5: a quotation mark that is opened in this row is never closed");
    // Closed by the next one, three lines on: the row says how far it goes.
    let mut grid = Grid::new();
    grid.put(5, "kidney", "\"healthy").put(8, "heart", "sound\"");
    let says = grid.finds(FindingKind::WrongFields, 5, None);
    assert!(says.contains("between quotation marks it goes on to line 8"), "{says}");
    // The same where the number of cells happens to be right.
    let mut grid = Grid::new();
    grid.put(5, "kidney", "\"healthy").put(8, "kidney", "healthy\"");
    let says = grid.finds(FindingKind::WrongFields, 5, Some("kidney"));
    assert!(says.contains("a cell goes on to line 8"), "{says}");
}

#[test]
fn in_a_long_log_faults_stand_on_their_lines() {
    let world = world("river-swim");
    let mut text = String::from("episode,stage,position,effort,stroke,note\n");
    for i in 0..30_000 {
        let position = if i == 20_000 || i == 29_999 { "9000" } else { "0" };
        text += &format!("{i},1,{position},3,2,\"two\nlines\"\n");
    }
    let (steps, report) = read(&world, text.clone());
    assert_eq!((steps.len(), report.left_out), (29_998, 2));
    let found = report.findings.of(FindingKind::UnknownLabel).next().unwrap();
    assert_eq!(found.first.iter().map(|place| place.line).collect::<Vec<_>>(), [40_002, 60_000]);
    // Whoever stops early is not waited for.
    let mut seen = 0;
    let stopped = dowise::data::LogReader::new(table(text).unwrap(), &world, None).unwrap().steps(|_| {
        seen += 1;
        if seen == 3 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    });
    assert!(stopped.unwrap().stopped && seen == 3);
}

#[test]
fn interventions_that_the_world_does_not_allow_are_named() {
    let mut grid = Grid::new();
    let levers = ["blocker", "diuretic", "exercise", "minutes", "sleep", "diet", "supplement"];
    for lever in levers {
        grid.put(5, &format!("set.{lever}"), "0");
    }
    grid.put(5, "kidney", "impaired").put(5, "blocker", "high dose").put(5, "set.blocker", "yes");
    grid.put(4, "next.kidney", "");
    let says = grid.finds(FindingKind::NotAllowed, 5, None);
    assert!(
        says.contains("do(blocker = high dose) is not allowed in state") && says.contains("kidney=impaired"),
        "{says}"
    );
    let mut grid = Grid::new();
    for lever in &levers[..4] {
        let value = if *lever == "minutes" { "20" } else { "none" };
        grid.put(5, &format!("set.{lever}"), "1").put(5, lever, value);
    }
    let says = grid.finds(FindingKind::NotAllowed, 5, None);
    assert!(says.contains("this world has no intervention"), "{says}");
    let mut grid = Grid::new();
    for lever in levers {
        grid.put(5, &format!("set.{lever}"), "0");
    }
    grid.put(5, "set.diet", "1").put(5, "diet", "").finds(FindingKind::LeverWithoutValue, 5, Some("diet"));
}

#[test]
fn rows_that_are_there_twice_are_the_same_or_contradict_each_other() {
    for line in [3, 7] {
        let mut grid = Grid::new();
        let again = grid.cells[line - 1].clone();
        grid.cells.push(again.clone());
        grid.finds_last(FindingKind::Duplicate, Severity::Note);
        let c = grid.column("oxygen");
        let other = if again[c] == "good" { "poor" } else { "good" };
        grid.cells.last_mut().unwrap()[c] = other.to_owned();
        grid.finds_last(FindingKind::Contradicting, Severity::Error);
    }
}

impl Grid {
    /// Only the last line is left out, for this reason.
    fn finds_last(&self, kind: FindingKind, severity: Severity) {
        let (_, report) = read(&world("treatment"), self.text());
        let [one] = report.findings.list() else { panic!("{}", report.findings) };
        assert_eq!((one.kind, one.severity, one.first[0].line), (kind, severity, self.cells.len() as u64));
        assert_eq!((report.left_out, report.steps), (1, 24));
    }
}

#[test]
fn gaps_late_starts_and_ends_are_found() {
    let mut grid = Grid::new();
    grid.cells.remove(3);
    grid.finds(FindingKind::Gap, 2, None);
    grid.finds(FindingKind::NextMissing, 3, None);
    let mut grid = Grid::new();
    grid.cells.remove(1);
    grid.finds(FindingKind::StartsLate, 2, None);
    let mut grid = Grid::new();
    grid.put(4, "end", "truncated").finds(FindingKind::AfterEnd, 5, None);
    let mut grid = Grid::new();
    grid.put(4, "next.age", "65 and over").put(5, "age", "under 65");
    grid.put(5, "set.blocker", "0").put(5, "set.diuretic", "0").put(5, "set.exercise", "0");
    assert!(grid.finds(FindingKind::NextContradicts, 4, None).contains("next"));
}

#[test]
fn rows_with_a_wrong_number_of_cells_are_found() {
    let mut grid = Grid::new();
    grid.cells[4].pop();
    grid.finds(FindingKind::WrongFields, 5, None);
    let mut grid = Grid::new();
    grid.cells[4].push("x".into());
    grid.finds(FindingKind::WrongFields, 5, None);
}

#[test]
fn faults_stand_on_the_right_line_after_empty_lines_and_quoted_line_feeds() {
    for end in ["\n", "\r\n"] {
        let mut grid = Grid::new();
        grid.cells[0].push("comment".into());
        grid.cells[1..].iter_mut().for_each(|row| row.push("-".into()));
        grid.cells[2].pop();
        grid.cells[2].push("\"two\nlines\"".into());
        grid.put(6, "kidney", "helthy");
        let text: String = grid.cells.iter().map(|row| row.join(",") + end).collect();
        let text = text.replacen(end, &format!("{end}{end}"), 1);
        let (_, report) = read(&world("treatment"), text);
        let found = report.findings.of(FindingKind::UnknownLabel).next().unwrap();
        // One empty line and one line feed in a cell before it.
        assert_eq!(found.first[0].line, 8, "{end:?}");
        assert_eq!(report.left_out, 1);
        assert_eq!(report.findings.of(FindingKind::IgnoredColumn).count(), 1);
    }
}

#[test]
fn findings_are_grouped_and_fit_on_a_screen() {
    let mut grid = Grid::new();
    for line in 2..=25 {
        grid.put(line, "oxygen", &format!("level {line}")).put(line, "kidney", "helthy");
    }
    let (_, report) = read(&world("treatment"), grid.text());
    assert_eq!(report.left_out, 24);
    assert_eq!(report.findings.of(FindingKind::UnknownLabel).map(|f| f.count).sum::<u64>(), 48);
    let text = report.findings.to_string();
    assert!(text.lines().count() <= 21, "{text}");
    assert!(text.contains("line 2, 3, 4, … column 5: \"helthy\" is no value of \"kidney\""), "{text}");
}

fn refused(text: impl Into<Vec<u8>>) -> String {
    read_with(&world("treatment"), text, None).expect_err("it is refused").to_string()
}

#[test]
fn what_is_no_table_of_this_world_is_refused_with_what_to_do() {
    let text = Grid::new().text();
    let utf16: Vec<u8> = [0xfeffu16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert!(refused(utf16).contains("is written in UTF-16; save it again as CSV with the encoding UTF-8"));
    let latin: Vec<u8> = text.replace("poor", "schw\u{e4}ch").chars().map(|c| c as u8).collect();
    assert!(refused(latin).contains("probably in Latin-1"));
    assert!(refused("").contains("empty"));
    assert!(refused(" \r\n \n").contains("empty"));
    assert!(refused(&b"PK\x03\x04rest"[..]).contains("workbook"));
    assert!(refused(&[0x1f, 0x8b, 8, 0, 1, 2, 3][..]).contains("damaged"));
    assert!(refused("a:b:c\n1:2:3\n").contains("there is one column"));
    let says = refused("customer,day,clicks\n1,2,3\n");
    assert!(says.contains("another world") && says.contains("\"clicks\""), "{says}");
    let mut grid = Grid::new();
    let (k, s) = (grid.column("kidney"), grid.column("set.diet"));
    grid.cells[0][k] = "kidny".into();
    grid.cells[0][s] = "dietset".into();
    let says = refused(grid.text());
    assert_eq!(
        says,
        "the columns are missing: \"kidney\" (is it \"kidny\"?), \"set.diet\"; add them, or rename columns with a map (--map FILE)"
    );
    for (text, what) in [("{\"episode\": 1}\n", "is JSON"), (" [1]\n", "is JSON"), ("<table>\n", "is a page or XML")] {
        assert!(refused(text).contains(what), "{text}");
    }
    let mut grid = Grid::new();
    grid.cells[0][s] = "heart".into();
    assert!(refused(grid.text()).starts_with("two columns say \"heart\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0usize..3000, cut in 0usize..40) {
        let world = world("treatment");
        // As they are, and in the middle of a log.
        let _ = table(bytes.clone()).and_then(|t| dowise::data::LogReader::new(t, &world, None)?.steps(|_| std::ops::ControlFlow::Continue(())));
        let mut text = Grid::new().text().into_bytes();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.splice(at..end, bytes);
        match read_with(&world, text, None) {
            Ok((steps, report)) => {
                prop_assert_eq!(steps.len() as u64, report.steps);
                prop_assert_eq!(report.steps + report.left_out, report.rows);
                let _ = report.findings.to_string();
            }
            Err(error) => prop_assert!(!matches!(error, LogError::Map(_))),
        }
    }
}
