//! The library's modules form a directed acyclic graph: a module uses only modules that come before it in [`ORDER`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the library, the most basic first. `ARCHITECTURE.md` has one line on each.
const ORDER: [&str; 21] = [
    "tolerance",
    "math",
    "memory",
    "messages",
    "diagnostics",
    "hash",
    "saved",
    "index",
    "random",
    "loops",
    "graph",
    "world",
    "draw",
    "kernel",
    "plan",
    "learn",
    "simulate",
    "worlds",
    "data",
    "offline",
    "probes",
];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the sources are there") {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file: no comments, nothing from the first test module on.
fn code(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    let lines = before_tests.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The modules that some code uses: `crate::name`, or a name that `lib.rs` re-exports from one.
fn used(code: &str) -> BTreeSet<String> {
    let root = [
        ("Space", "index"),
        ("World", "world"),
        ("Action", "world"),
        ("WorldError", "world"),
        ("Planner", "plan"),
        ("Plan", "plan"),
        ("Learner", "learn"),
        ("LearnerSpec", "learn"),
        ("Knowledge", "learn"),
        ("Observation", "learn"),
        ("Agent", "learn"),
        ("linear", "learn"),
        ("Simulator", "simulate"),
        ("Run", "simulate"),
        ("Arena", "simulate"),
    ];
    let names = code.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..end];
        root.iter().find(|(item, _)| *item == name).map_or(name, |(_, module)| module).to_owned()
    });
    names.filter(|name| ORDER.contains(&name.as_str())).collect()
}

/// The edges `user → used` between modules.
fn edges() -> BTreeSet<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut edges = BTreeSet::new();
    for file in files {
        let inside = file.strip_prefix(&src).expect("found there");
        let is_test = inside.to_string_lossy().contains("tests") || inside.ends_with("lib.rs");
        let first = inside.components().next().expect("a file").as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        if is_test {
            continue;
        }
        assert!(ORDER.contains(&module.as_str()), "{module} has no place in the order of modules");
        for used in used(&code(&fs::read_to_string(&file).expect("a source file"))) {
            if used != module {
                edges.insert((module.clone(), used));
            }
        }
    }
    edges
}

#[test]
fn modules_use_only_modules_before_them() {
    let place = |module: &str| ORDER.iter().position(|m| *m == module).expect("checked");
    let wrong: Vec<String> =
        edges().iter().filter(|(a, b)| place(b) > place(a)).map(|(a, b)| format!("{a} uses {b}")).collect();
    assert!(wrong.is_empty(), "against the order of modules: {}", wrong.join(", "));
}

#[test]
fn an_edge_against_the_order_would_be_seen() {
    assert_eq!(
        used(&code("use crate::learn::Agent;\n// use crate::data::Log;\n")),
        BTreeSet::from(["learn".to_owned()])
    );
    assert_eq!(used("fn f(world: &crate::World) {}"), BTreeSet::from(["world".to_owned()]));
    assert!(edges().contains(&("plan".to_owned(), "kernel".to_owned())));
}

#[test]
fn every_module_is_in_the_map() {
    let map = include_str!("../../../ARCHITECTURE.md");
    let missing: Vec<&str> = ORDER.into_iter().filter(|module| !map.contains(&format!("`{module}`"))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not have {}", missing.join(", "));
}

#[test]
fn comments_name_only_files_that_exist() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).expect("the crates are there") {
        let crate_directory = entry.expect("a directory entry").path();
        ["src", "tests", "benches", "experiments", "examples"]
            .iter()
            .map(|part| crate_directory.join(part))
            .filter(|directory| directory.is_dir())
            .for_each(|directory| sources(&directory, &mut files));
    }
    let mut dead = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("architecture.rs")) {
        let text = fs::read_to_string(file).expect("a source file");
        for line in text.lines().filter(|line| line.trim_start().starts_with("//")) {
            let names = line.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs") && !name.contains(' '));
            let missing = names.filter(|name| !files.iter().any(|f| f.ends_with(name)));
            dead.extend(missing.map(|name| format!("{}: `{name}`", file.display())));
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}
