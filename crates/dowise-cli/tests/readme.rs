//! The ways that the README and the docs show: every line runs, in order, in an empty directory.

use std::path::Path;
use std::process::Command;

/// Runs the lines of these blocks in one directory; how many there were.
fn run_all(blocks: &[&str], directory: &Path) -> usize {
    let program = Path::new(env!("CARGO_BIN_EXE_dowise"));
    let path = format!(
        "{}:{}",
        program.parent().expect("a program is in a directory").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let lines = blocks.iter().flat_map(|block| block.lines());
    let lines: Vec<&str> = lines.map(|line| line.split(" #").next().unwrap_or("").trim()).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    for line in &lines {
        // Long runs belong to people, not to tests.
        let line = match line.split_once("--episodes 3000") {
            Some((before, after)) => format!("{before}--episodes 20{after}"),
            None if line.starts_with("dowise learn") && !line.contains("--episodes") => format!("{line} --episodes 20"),
            None => (*line).to_owned(),
        };
        let done =
            Command::new("sh").args(["-c", &line]).current_dir(directory).env("PATH", &path).output().expect("a shell");
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
    lines.len()
}

/// The blocks of commands of a page.
fn blocks(page: &str) -> Vec<&str> {
    page.split("```sh").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_line_of_the_way_from_a_log_runs() {
    let readme = include_str!("../../../README.md");
    let section = readme.split("## From a log").nth(1).expect("the README has the section");
    let directory = tempfile::tempdir().expect("a directory");
    assert_eq!(run_all(&blocks(section)[..1], directory.path()), 9);
    for file in ["log.csv", "fitted.toml", "fitted.evidence.json", "known.svg", "policy.json"] {
        assert!(directory.path().join(file).exists(), "{file}");
    }
}

#[test]
fn every_line_of_learning_safely_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    assert_eq!(run_all(&blocks(include_str!("../../../docs/guide/safe-learning.md")), directory.path()), 7);
    let truth = std::fs::read_to_string(directory.path().join("truth.toml")).expect("the true world");
    assert!(truth.contains("\"pressure\", \"diuretic\"]") && truth.contains("{ when = { diuretic = \"strong\" }"));
    assert!(directory.path().join("better.json").exists());
}
