//! What does not fit under a limit of the process is refused with a message, not aborted.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program with at most three gigabytes of address space.
fn limited(at: &Path, arguments: &str) -> Output {
    let script = format!("ulimit -v 3000000; exec {} --quiet {arguments}", env!("CARGO_BIN_EXE_dowise"));
    Command::new("sh").current_dir(at).args(["-c", &script]).output().unwrap()
}

/// A directory of its own for one test.
fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("dowise-memory-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    place
}

#[test]
fn what_needs_more_than_a_limit_of_the_process_is_refused() {
    let at = place("refused");
    // A guard lists no interventions.
    let guarded = "learn campaign.toml --episodes 3 --learner graph-psrl:guard=true";
    for fits in ["new campaign -o campaign.toml", "check campaign.toml", "plan campaign.toml", guarded] {
        let output = limited(&at, fits);
        assert!(output.status.success(), "{fits}: {}", String::from_utf8_lossy(&output.stderr));
    }
    for learner in ["ucbvi", "psrl", "psrl:stage-dependent=true", "lsvi-ucb"] {
        for command in [
            format!("learn campaign.toml --episodes 3 --learner {learner}"),
            format!("compare campaign.toml --episodes 3 --repetitions 2 --threads 2 --out out --learners {learner}"),
        ] {
            let output = limited(&at, &command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command}: {said}");
            assert!(said.starts_with(&format!("error: {learner} on campaign.toml: ")), "{command}: {said}");
            assert!(said.contains(" bytes") || said.contains(" counters"), "{command}: {said}");
        }
    }
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn a_run_does_not_write_over_its_world_or_its_own_files() {
    let at = place("apart");
    let run = |arguments: &str| limited(&at, arguments);
    assert!(run("new river-swim -o river.toml").status.success());
    let world = std::fs::read(at.join("river.toml")).unwrap();
    for (arguments, says) in [
        ("learn river.toml --episodes 2 --save ./river.toml", "--save and the world are one file, ./river.toml"),
        ("learn river.toml --episodes 2 --policy river.toml", "--policy and the world are one file, river.toml"),
        ("learn river.toml --episodes 2 --save a.json --policy ./a.json", "--policy and --save are one file, ./a.json"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(says), "{arguments}: {said}");
    }
    assert_eq!(std::fs::read(at.join("river.toml")).unwrap(), world);
    assert!(run("learn river.toml --episodes 2 --save a.json --policy b.json").status.success());
    assert!(run("learn river.toml --episodes 4 --resume a.json --save a.json").status.success());

    // Forced or not, whatever the file is read for.
    std::fs::copy(at.join("river.toml"), at.join("given.toml")).unwrap();
    std::fs::write(at.join("map.toml"), "").unwrap();
    std::fs::write(at.join("river.evidence.json"), "{}").unwrap();
    std::fs::write(at.join("graph.dot"), "digraph { a [states=2]; b; a -> b }").unwrap();
    assert!(run("simulate river.toml --episodes 3 -o log.csv").status.success());
    let files =
        ["river.toml", "given.toml", "map.toml", "log.csv", "a.json", "b.json", "river.evidence.json", "graph.dot"];
    let contents = || files.map(|file| std::fs::read(at.join(file)).unwrap());
    let before = contents();
    for (arguments, says) in [
        ("learn river.toml --episodes 6 --resume a.json --policy a.json --force", "--policy and --resume"),
        ("learn river.toml --episodes 6 --resume a.json --save a.json --policy a.json --force", "--policy and --save"),
        ("learn river.toml --assumed given.toml --policy given.toml --force", "--policy and --assumed"),
        ("learn river.toml --from log.csv --map map.toml --policy map.toml --force", "--policy and --map"),
        ("learn river.toml --from log.csv --save log.csv --force", "--save and --from"),
        ("fit river.toml log.csv -o fitted.toml --map map.toml --rows map.toml --force", "--rows and --map"),
        ("plan river.toml --safe --policy river.evidence.json --force", "--policy and the evidence"),
        ("plan river.toml --safe --from log.csv --map map.toml --policy map.toml --force", "--policy and --map"),
        ("simulate river.toml --policy b.json -o b.json --force", "--output and --policy"),
        ("import graph.dot --lever a --key b --reward b=1 -o graph.dot --force", "--output and the graph"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && said.contains(&format!("{says} are one file")),
            "{arguments}: {said}"
        );
    }
    assert!(contents() == before, "a file that was read was written");
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn a_text_that_takes_more_than_is_left_while_it_is_read_is_refused() {
    let at = place("text");
    let rows = "{ when = { s = \"a\" }, value = 1 },\n".repeat(800_000);
    std::fs::write(
        at.join("long.toml"),
        format!("dowise = 1\nhorizon = 2\n[reward.r]\nscope = []\nrows = [\n{rows}]\n"),
    )
    .unwrap();
    for (command, code) in
        [("check long.toml", 1), ("plan long.toml", 2), ("learn long.toml --episodes 1", 2), ("check - < long.toml", 1)]
    {
        let output = limited(&at, command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        assert!(said.contains("may take") && said.contains("put large tables into CSV files"), "{command}: {said}");
    }
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn a_world_in_a_pipe_is_read_once() {
    let at = place("pipe");
    assert!(limited(&at, "new river-swim -o river.toml").status.success());
    for (text, code) in [("cat river.toml", 0), ("printf 'name = \"\\377\"'", 3), ("echo 'dowise = 1'", 1)] {
        // A pipe that is read a second time has no writer any more: opening it would wait for ever.
        let script = format!(
            "rm -f pipe; mkfifo pipe; ({text} > pipe &); timeout 20 {} --quiet check pipe",
            env!("CARGO_BIN_EXE_dowise")
        );
        let output = Command::new("sh").current_dir(&at).args(["-c", &script]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::remove_dir_all(&at).unwrap();
}
