//! A comparison that is killed at several points and started again ends with the same bytes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const ARGUMENTS: [&str; 9] = [
    "--quiet",
    "compare",
    "paper:factors=2,levers=2",
    "--learners",
    "c-ucbvi,c-psrl",
    "--episodes",
    "150",
    "--repetitions",
    "8",
];

fn compare(out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dowise"));
    command.args(ARGUMENTS).arg("--out").arg(out).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn data(out: &Path) -> Vec<Vec<u8>> {
    ["study.toml", "runs.csv", "curves.csv", "summary.csv", "figures/regret.svg"]
        .map(|name| std::fs::read(out.join(name)).unwrap())
        .to_vec()
}

#[test]
fn a_killed_comparison_goes_on_where_it_was() {
    let place: PathBuf = std::env::temp_dir().join(format!("dowise-interrupted-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    let (whole, killed) = (place.join("whole"), place.join("killed"));
    assert!(compare(&whole).status().unwrap().success());
    for milliseconds in [5, 20, 40, 80] {
        let mut child = compare(&killed).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        // It may be done by now; a process that is gone cannot be killed.
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(compare(&killed).status().unwrap().success());
    assert_eq!(data(&whole), data(&killed));
    std::fs::remove_dir_all(&place).unwrap();
}
