//! Every message about a bad world file, word for word.
//!
//! `world_errors/cases.txt` holds the cases. Each starts with `### ` and a name, and edits `world_errors/base.toml`:
//! lines with `- ` are what is replaced (none: something is added at the end), lines with `+ ` after them are what
//! stands there instead, lines with `| ` are the content of a file `table.csv` beside it, and lines with `> ` are what dowise says.
//! To write the answers anew after a deliberate change: `DOWISE_BLESS=1 cargo test --test world_errors`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use dowise::World;
use dowise::world::Severity;

const BASE: &str = include_str!("world_errors/base.toml");

struct Case {
    name: String,
    /// What is replaced by what; nothing is replaced: added at the end.
    edits: Vec<(Vec<String>, Vec<String>)>,
    csv: Option<Vec<String>>,
    said: Vec<String>,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        let (mark, rest) = line.split_at_checked(2).unwrap_or((line, ""));
        match (mark, cases.last_mut()) {
            ("##", _) => cases.push(Case {
                name: rest.trim_start_matches(['#', ' ']).to_owned(),
                edits: Vec::new(),
                csv: None,
                said: Vec::new(),
            }),
            ("- ", Some(case)) => {
                if case.edits.last().is_none_or(|(_, new)| !new.is_empty()) {
                    case.edits.push(Default::default());
                }
                case.edits.last_mut().expect("just made").0.push(rest.to_owned());
            }
            ("+ ", Some(case)) => {
                if case.edits.is_empty() {
                    case.edits.push(Default::default());
                }
                case.edits.last_mut().expect("just made").1.push(rest.to_owned());
            }
            ("| ", Some(case)) => case.csv.get_or_insert_default().push(rest.to_owned()),
            ("> ", Some(case)) => case.said.push(rest.to_owned()),
            _ => assert!(line.is_empty(), "not a line of a case: {line}"),
        }
    }
    cases
}

/// What dowise says: all errors, or the warnings and notes about a world that can be used.
fn answer(case: &Case, dir: &Path) -> Vec<String> {
    let mut text = BASE.to_owned();
    for (old, new) in &case.edits {
        let (old, new) = (old.join("\n"), new.join("\n"));
        text = if old.is_empty() {
            format!("{text}\n{new}\n")
        } else {
            assert_eq!(text.matches(&old).count(), 1, "{}: `{old}` must stand in the base exactly once", case.name);
            text.replace(&old, &new)
        };
    }
    if let Some(csv) = &case.csv {
        std::fs::write(dir.join("table.csv"), csv.join("\n") + "\n").expect("a writable directory");
    }
    let said = match World::from_toml_in(&text, "w.toml", dir) {
        Err(error) => error.to_string(),
        Ok(world) => {
            let mut said = String::new();
            for finding in world.findings() {
                let word = match finding.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Note => "note",
                };
                writeln!(said, "{word}: {}", finding.render(world.sources())).expect("a string");
            }
            said
        }
    };
    let shown = format!("{}{}", dir.display(), std::path::MAIN_SEPARATOR);
    said.replace(&shown, "").lines().map(str::to_owned).collect()
}

#[test]
fn every_mistake_gets_its_message() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/world_errors/cases.txt");
    let text = std::fs::read_to_string(&path).expect("the cases");
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("world_errors");
    std::fs::create_dir_all(&dir).expect("a writable directory");
    let cases = cases(&text);
    let mut written = String::new();
    let mut wrong = String::new();
    for case in &cases {
        let said = answer(case, &dir);
        if said != case.said {
            writeln!(wrong, "### {}\nexpected:\n{}\nfound:\n{}\n", case.name, case.said.join("\n"), said.join("\n"))
                .expect("a string");
        }
        writeln!(written, "{}### {}", if written.is_empty() { "" } else { "\n" }, case.name).expect("a string");
        let none = Vec::new();
        let edits = case.edits.iter().flat_map(|(old, new)| [('-', old), ('+', new)]);
        for (mark, lines) in edits.chain([('|', case.csv.as_ref().unwrap_or(&none)), ('>', &said)]) {
            lines.iter().for_each(|line| writeln!(written, "{mark} {line}").expect("a string"));
        }
    }
    if std::env::var_os("DOWISE_BLESS").is_some() {
        std::fs::write(&path, written).expect("a writable file");
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
}

/// Files with mistakes of every stage of reading and checking: none hides another, and none brings others with it. What is said of
/// `whole/NAME.toml` stands in `whole/NAME.txt`.
#[test]
fn one_mistake_does_not_hide_another() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/world_errors/whole");
    for name in ["ends", "counts", "names", "graph", "infinite"] {
        let text = std::fs::read_to_string(dir.join(format!("{name}.toml"))).expect("a world file");
        let said = World::from_toml(&text, "w.toml").unwrap_err().to_string() + "\n";
        let file = dir.join(format!("{name}.txt"));
        if std::env::var_os("DOWISE_BLESS").is_some() {
            std::fs::write(&file, said).expect("a writable file");
        } else {
            assert_eq!(said, std::fs::read_to_string(&file).expect("what is said of it"), "{name}");
        }
    }
}

/// Cases about what rests on other parts of the file, which `docs/reference/world-file.md` says are looked at when these are right; or which change
/// what a name means in those.
const RESTING: [&str; 8] = [
    "the same name for two variables",
    "value out of many",
    "logit beyond numbers",
    "everything ruled out",
    "-inf and inf meet",
    "cycle",
    "rules that leave nothing",
    "starts where it has ended",
];

/// Every two mistakes of `cases.txt` in different sections are both reported, and nothing else is.
#[test]
fn any_two_mistakes_are_reported_together() {
    let cases = cases(include_str!("world_errors/cases.txt"));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("world_errors_pairs");
    std::fs::create_dir_all(&dir).expect("a writable directory");
    let lines = |case: &Case| -> Option<(usize, usize)> {
        let [(old, _)] = case.edits.as_slice() else { return None };
        let start = BASE.find(&old.join("\n")).filter(|_| !old.is_empty())?;
        let first = BASE[..start].matches("\n\n").count();
        Some((first, first + old.join("\n").matches("\n\n").count()))
    };
    // The message without its place, which moves with the lines before it.
    let message = |line: &String| line.splitn(4, ':').nth(3).unwrap_or(line).trim().to_owned();
    let usable = |case: &&Case| {
        let said = &case.said;
        !RESTING.contains(&case.name.as_str())
            && case.csv.is_none()
            && !said.is_empty()
            && said
                .iter()
                .all(|line| line.starts_with("w.toml:") && !line.contains("not TOML") && !line.contains(" fit"))
    };
    let single: Vec<(&Case, (usize, usize))> =
        cases.iter().filter(usable).filter_map(|case| Some((case, lines(case)?))).collect();
    let (mut pairs, mut wrong) = (0, String::new());
    for (i, (a, at_a)) in single.iter().enumerate() {
        for (b, at_b) in &single[i + 1..] {
            let [(old_a, new_a), (old_b, _)] = [&a.edits[0], &b.edits[0]].map(|(o, n)| (o.join("\n"), n.join("\n")));
            let apart = at_a.1 < at_b.0 || at_b.1 < at_a.0;
            if !apart || BASE.replace(&old_a, &new_a).matches(&old_b).count() != 1 {
                continue;
            }
            let edits = [&a.edits[0], &b.edits[0]].map(Clone::clone).to_vec();
            let both = Case { name: format!("{} + {}", a.name, b.name), edits, csv: None, said: Vec::new() };
            let said: Vec<String> = answer(&both, &dir).iter().map(message).collect();
            let mut expected: Vec<String> = a.said.iter().chain(&b.said).map(message).collect();
            pairs += 1;
            let mut found = said.clone();
            expected.sort();
            expected.dedup();
            found.sort();
            found.dedup();
            if found != expected {
                writeln!(wrong, "{}\n  expected {expected:#?}\n  found {found:#?}", both.name).expect("a string");
            }
        }
    }
    std::fs::write(dir.join("wrong.txt"), &wrong).expect("a writable directory");
    assert!(pairs > 1000, "{pairs}");
    assert!(wrong.is_empty(), "see {}", dir.join("wrong.txt").display());
}

#[test]
fn a_missing_file_is_named() {
    let error = World::from_file("no/such/world.toml").unwrap_err();
    assert_eq!(error.to_string(), "there is no file no/such/world.toml; check the path");
    let dir = env!("CARGO_TARGET_TMPDIR");
    let error = World::from_file(dir).unwrap_err();
    assert_eq!(error.to_string(), format!("{dir} is a directory; name a file in it"));
}

#[test]
fn a_wrong_encoding_is_named_with_its_byte() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("encoding");
    std::fs::create_dir_all(&dir).expect("a writable directory");
    let said = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).expect("a writable directory");
        match World::from_file(&path) {
            Ok(world) => format!("good: {}", world.name()),
            Err(error) => error.to_string().replace(&format!("{}{}", dir.display(), std::path::MAIN_SEPARATOR), ""),
        }
    };
    assert_eq!(
        said("latin.toml", b"dowise = 1\nname = \"caf\xe9\"\n"),
        "latin.toml is not written in UTF-8: byte 22, on line 2, belongs to no letter; \
         save it again with the encoding UTF-8"
    );
    let utf16: Vec<u8> = [0xFF, 0xFE].into_iter().chain("dowise = 1".bytes().flat_map(|b| [b, 0])).collect();
    assert_eq!(
        said("wide.toml", &utf16),
        "wide.toml is written in UTF-16, not in UTF-8; save it again with the encoding UTF-8"
    );
    assert_eq!(said("marked.toml", format!("\u{feff}{BASE}").as_bytes()), "good: E-mail campaign");
    let latin = "caf\u{e9}".chars().map(|c| c as u8).collect::<Vec<u8>>();
    std::fs::write(dir.join("table.csv"), latin).expect("a writable directory");
    assert_eq!(
        said("beside.toml", BASE.replace("p = [0.4, 0.6]", "csv = \"table.csv\"").as_bytes()),
        "beside.toml:38:7: table.csv is not written in UTF-8: byte 3, on line 1, belongs to no letter; \
         save it again with the encoding UTF-8"
    );
}

#[test]
fn a_text_without_a_directory_cannot_name_tables() {
    let error = World::from_toml(&BASE.replace("p = [0.4, 0.6]", "csv = \"table.csv\""), "w.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "w.toml:38:7: `csv` of hidden variable \"mood\" names the file table.csv, but this text does not come from a \
         file; read the world from a file, or say in which directory its tables are"
    );
}

#[test]
fn more_causes_than_can_be_numbered_are_counted_and_refused() {
    let world = |n: usize| {
        let mut text = "dowise = 1\nhorizon = 2\n[lever.x]\nvalues = 2\n".to_owned();
        for i in 0..n {
            write!(
                text,
                "[key.z{i}]\nvalues = 2\nparents = [\"x\"]\n[reward.r{i}]\nscope = [\"z{i}\"]\nrange = [0, 1]\n"
            )
            .expect("a string");
        }
        World::from_toml(&text, "keys.toml")
    };
    let error = world(64).unwrap_err().to_string();
    assert!(error.contains("(64 in all) have 18,446,744,073,709,551,616 joint values"), "{error}");
    assert!(world(200).unwrap_err().to_string().contains("more than 10^38 joint values"));
    // What can be numbered can be looked at.
    assert_eq!(world(60).unwrap().analyse(100).causes, 1 << 60);
}
