//! A polite kill ends long work of every kind, also where nothing can be kept.
#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn evaluation_with_many_samples_ends_when_interrupted() {
    let at = std::env::temp_dir().join(format!("dowise-interrupted-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&at);
    std::fs::create_dir_all(&at).unwrap();
    let program = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dowise"));
        command.current_dir(&at).arg("--quiet");
        command
    };
    let run = |arguments: &str| {
        let output = program().args(arguments.split(' ')).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("new river-swim -o river.toml");
    run("simulate river.toml --episodes 200 --output log.csv");
    run("learn river.toml --episodes 20 --policy policy.json");
    let long = "evaluate --policy policy.json --samples 1000000 --allow-unsupported river.toml log.csv";
    let mut child = program().args(long.split(' ')).stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(child.try_wait().unwrap(), None, "it ended before it was given to, so that this test shows nothing");
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let knowledge = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if knowledge.elapsed() > Duration::from_secs(30) => {
                child.kill().unwrap();
                panic!("it goes on 30 s after it was given to end");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    // Told while the log is read, it says so; afterwards it ends at once. A kill before there is a handler is one as well.
    assert!(status.code() == Some(130) || status.code().is_none(), "{status}");
    std::fs::remove_dir_all(&at).unwrap();
}
