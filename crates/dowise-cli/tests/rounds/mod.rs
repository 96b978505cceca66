//! What rounds of faults share: places, processes that are killed, and what they left.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A directory of its own that goes when the test ends.
pub(crate) struct TempDir(pub(crate) PathBuf);

impl TempDir {
    pub(crate) fn new(name: &str) -> TempDir {
        let path = std::env::temp_dir().join(format!("dowise-faults-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How many rounds to play: `few` times FAULT_ROUNDS.
pub(crate) fn rounds(few: usize) -> usize {
    few * std::env::var("FAULT_ROUNDS").map_or(1, |n| n.parse().expect("FAULT_ROUNDS is a number"))
}

/// The program with these arguments.
pub(crate) fn dowise(place: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dowise"));
    command.current_dir(place).args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs to the end, which must be a good one.
pub(crate) fn run(place: &Path, arguments: &str) {
    let end = dowise(place, arguments).output().unwrap();
    assert!(end.status.success(), "{arguments}: {}", String::from_utf8_lossy(&end.stderr));
}

/// Whether a command can be started and ends well.
pub(crate) fn starts(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// A time between nothing and `most` that is another one in every round, and spread evenly over the rounds.
pub(crate) fn pause(round: usize, most: Duration) -> Duration {
    most.mul_f64((round as f64 * 0.618_033_988_749_895 + 0.1).fract())
}

/// Kills a process; whether it was the kill that ended it, and not its own end.
#[must_use]
pub(crate) fn killed(child: &mut Child) -> bool {
    child.kill().unwrap();
    child.wait().unwrap().signal() == Some(9)
}

/// Waits until something is so, while a process runs; `false`: the process ended before.
#[must_use]
pub(crate) fn wait(child: &mut Child, mut so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !so() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "what was waited for does not come");
    }
    true
}

/// Plays rounds until `wanted` of them had their fault; `play` returns whether its round had.
pub(crate) fn play(wanted: usize, mut play: impl FnMut(usize) -> bool) {
    let (mut round, mut had) = (0, 0);
    while had < wanted {
        had += usize::from(play(round));
        round += 1;
        assert!(round < 20 * wanted + 20, "only {had} of {round} rounds had their fault");
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
}

/// Runs that are done.
pub(crate) fn records(out: &Path) -> usize {
    names(&out.join("runs")).iter().filter(|n| n.ends_with(".json")).count()
}

/// Temporary files in a directory.
pub(crate) fn temporary(directory: &Path) -> usize {
    names(directory).iter().filter(|n| n.ends_with(".part")).count()
}

/// Temporary files in a directory that have something in them.
pub(crate) fn half_written(directory: &Path) -> usize {
    let some = |n: &&String| n.ends_with(".part") && directory.join(n).metadata().is_ok_and(|m| m.len() > 0);
    names(directory).iter().filter(some).count()
}
