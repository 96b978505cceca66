//! The way from a log to a safe plan that the README shows: every line runs, in order, in an empty directory.

use std::path::Path;
use std::process::Command;

#[test]
fn every_line_of_the_way_from_a_log_runs() {
    let readme = include_str!("../../../README.md");
    let section = readme.split("## From a log").nth(1).expect("the README has the section");
    let block = section.split("```sh").nth(1).and_then(|s| s.split("```").next()).expect("the section has a block");
    let program = Path::new(env!("CARGO_BIN_EXE_dowise"));
    let directory = tempfile::tempdir().expect("a directory");
    let path = format!(
        "{}:{}",
        program.parent().expect("a program is in a directory").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let lines: Vec<&str> = block.lines().map(|line| line.split(" #").next().unwrap_or("").trim()).collect();
    let mut ran = 0;
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        // Long runs belong to people, not to tests.
        let line = if line.starts_with("dowise learn") { format!("{line} --episodes 20") } else { line.to_owned() };
        let done = Command::new("sh")
            .args(["-c", &line])
            .current_dir(directory.path())
            .env("PATH", &path)
            .output()
            .expect("a shell");
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        ran += 1;
    }
    assert_eq!(ran, 9);
    for file in ["log.csv", "fitted.toml", "fitted.evidence.json", "known.svg", "policy.json"] {
        assert!(directory.path().join(file).exists(), "{file}");
    }
}
