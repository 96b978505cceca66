//! Kills, races and full disks: what is left is whole, and the same command ends with the same bytes.
//!
//! Every round shows that its fault happened. `cargo test` plays a few; `make faults` plays as many as FAULT_ROUNDS says.
#![cfg(unix)]
#![allow(clippy::print_stderr)] // `make faults` shows how many faults there were

mod rounds;

use std::io::BufRead;
use std::path::Path;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use rounds::{TempDir, dowise, half_written, killed, pause, play, records, rounds, run, starts, temporary, wait};

const COMPARE: &str =
    "--quiet compare paper:factors=2,levers=2 --learners c-ucbvi,c-psrl --episodes 150 --repetitions 8 --threads 2";
const RUNS: usize = 16;

/// All that must not depend on time.
fn data(out: &Path) -> Vec<Vec<u8>> {
    ["study.toml", "runs.csv", "curves.csv", "summary.csv", "figures/regret.svg"]
        .map(|name| std::fs::read(out.join(name)).unwrap_or_else(|e| panic!("{}: {e}", out.join(name).display())))
        .to_vec()
}

#[test]
fn a_killed_comparison_goes_on_where_it_was() {
    let place = TempDir::new("killed");
    run(&place.0, &format!("{COMPARE} --out whole"));
    let (mut landed, mut in_claim, mut in_write) = (0, 0, 0);
    play(rounds(2), |round| {
        let out = place.0.join(format!("killed-{round}"));
        let command = format!("{COMPARE} --out killed-{round}");
        // At some time before the first run is done, or in every other round as soon as the directory is there.
        let mut child = dowise(&place.0, &command).spawn().unwrap();
        if round % 2 == 1 {
            std::thread::sleep(pause(round, Duration::from_millis(40)));
        } else if !wait(&mut child, || out.exists()) {
            return false;
        }
        let first = killed(&mut child) && records(&out) < RUNS;
        in_claim += usize::from(out.exists() && !out.join("runs").exists());
        // In the middle: some runs are done and others are not, and in every other round a record is being written.
        let wanted = 1 + round * 5 % (RUNS / 2);
        let mut child = dowise(&place.0, &command).spawn().unwrap();
        let middle = || records(&out) >= wanted && (round % 2 == 0 || temporary(&out.join("runs")) > 0);
        let second = wait(&mut child, middle) && killed(&mut child) && records(&out) < RUNS;
        in_write += usize::from(temporary(&out.join("runs")) > 0);
        let _ = child.wait();
        run(&place.0, &command);
        assert_eq!(data(&place.0.join("whole")), data(&out), "round {round}");
        assert_eq!((temporary(&out), temporary(&out.join("runs"))), (0, 0), "temporary files stay behind");
        std::fs::remove_dir_all(&out).unwrap();
        landed += usize::from(first) + usize::from(second);
        first && second
    });
    eprintln!("{landed} kills of a comparison; {in_claim} in a claim; {in_write} while a record was written");
}

#[test]
fn shards_that_are_killed_and_run_again_merge_into_the_bytes_of_one_run() {
    const SHARDS: usize = 3;
    let place = TempDir::new("shards");
    run(&place.0, &format!("{COMPARE} --out whole"));
    let mut landed = 0;
    play(rounds(1), |round| {
        let parts: Vec<String> = (1..=SHARDS).map(|i| format!("part-{round}-{i}")).collect();
        let command = |i: usize| format!("{COMPARE} --shard {}/{SHARDS} --out {}", i + 1, parts[i]);
        // All at once; each is killed once some of its runs are done, another number in each.
        let mut children: Vec<Child> = (0..SHARDS).map(|i| dowise(&place.0, &command(i)).spawn().unwrap()).collect();
        let mut kills = 0;
        for (i, child) in children.iter_mut().enumerate() {
            let out = place.0.join(&parts[i]);
            let there = wait(child, || records(&out) > (round + i) % 3);
            kills += usize::from(there && killed(child) && records(&out) < RUNS / SHARDS);
            let _ = child.wait();
        }
        (0..SHARDS).for_each(|i| run(&place.0, &command(i)));
        run(&place.0, &format!("--quiet merge {} --out merged-{round}", parts.join(" ")));
        assert_eq!(data(&place.0.join("whole")), data(&place.0.join(format!("merged-{round}"))), "round {round}");
        landed += kills;
        kills > 0
    });
    eprintln!("{landed} kills of shards");
}

#[test]
fn a_killed_run_leaves_the_old_save_or_the_new_one() {
    let place = TempDir::new("learn");
    let read = |name: &str| std::fs::read(place.0.join(name)).unwrap();
    run(&place.0, "--quiet learn linear --learner c-rlsvi --seed 3 --episodes 50 --save start.json --force");
    let resume = "--quiet learn linear --resume saved.json --episodes 900 --save saved.json";
    std::fs::copy(place.0.join("start.json"), place.0.join("saved.json")).unwrap();
    let begun = Instant::now();
    run(&place.0, resume);
    let took = begun.elapsed();
    let (start, whole) = (read("start.json"), read("saved.json"));
    let (mut landed, mut in_write) = (0, 0);
    play(rounds(4), |round| {
        std::fs::copy(place.0.join("start.json"), place.0.join("saved.json")).unwrap();
        let mut child = dowise(&place.0, resume).spawn().unwrap();
        // In every other round as soon as something of the new save is there.
        if round % 2 == 0 {
            std::thread::sleep(pause(round, took));
        } else if !wait(&mut child, || half_written(&place.0) > 0) {
            return false;
        }
        if !killed(&mut child) {
            return false;
        }
        landed += 1;
        in_write += half_written(&place.0);
        let saved = read("saved.json");
        assert!(saved == start || saved == whole, "round {round}: the save is neither the old nor the new one");
        if saved == start {
            run(&place.0, resume);
            assert_eq!(read("saved.json"), whole, "round {round}");
        }
        assert_eq!(temporary(&place.0), 0, "temporary files stay behind");
        true
    });
    eprintln!("{landed} kills of a run that is saved; {in_write} while the save was written");
}

#[test]
fn interrupted_work_keeps_finished_runs() {
    let place = TempDir::new("given");
    let read = |name: &str| std::fs::read(place.0.join(name)).unwrap();
    run(&place.0, "--quiet learn linear --learner c-rlsvi --seed 3 --episodes 50 --save start.json --force");
    run(&place.0, "--quiet learn linear --resume start.json --episodes 2000 --save whole.json --force");
    run(&place.0, &format!("{COMPARE} --out whole"));
    // Whether it was stopped in the middle, and what it said; it may have been done by then.
    let stop = |child: Child| {
        let knowledge = starts(std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]));
        let end = child.wait_with_output().unwrap();
        let code = end.status.code();
        assert!(code == Some(130) || code == Some(0), "{end:?}");
        (knowledge && code == Some(130), String::from_utf8_lossy(&end.stderr).into_owned())
    };
    play(rounds(1), |round| {
        let learn = "learn linear --resume start.json --episodes 2000 --save stopped.json --force";
        // It says that it goes on once it can be given to stop.
        let mut child = dowise(&place.0, learn).spawn().unwrap();
        let mut talk = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("going on after 50") {
            line.clear();
            assert!(talk.read_line(&mut line).unwrap() > 0, "it ended");
        }
        std::thread::sleep(Duration::from_millis(5) + pause(round, Duration::from_millis(20)));
        let (stopped, _) = stop(child);
        if stopped && read("stopped.json") != read("whole.json") {
            run(&place.0, "--quiet learn linear --resume stopped.json --episodes 2000 --save stopped.json");
        }
        assert_eq!(read("stopped.json"), read("whole.json"));
        stopped
    });
    play(rounds(1), |round| {
        let out = place.0.join("stopped");
        let mut child = dowise(&place.0, &format!("{COMPARE} --out stopped").replace("--quiet ", "")).spawn().unwrap();
        let _ = wait(&mut child, || records(&out) > round % (RUNS / 2));
        let (stopped, said) = stop(child);
        assert!(!stopped || said.contains("runs are kept in stopped, the same command goes on from there"), "{said}");
        assert!(!stopped || records(&out) < RUNS);
        run(&place.0, &format!("{COMPARE} --out stopped"));
        assert_eq!(data(&place.0.join("whole")), data(&out));
        std::fs::remove_dir_all(&out).unwrap();
        stopped
    });
}

/// Waits for both and gives the one that ended well, and what the other said.
fn winner(children: [Child; 2]) -> (usize, String) {
    let ends: Vec<Output> = children.into_iter().map(|c| c.wait_with_output().unwrap()).collect();
    let codes: Vec<i32> = ends.iter().map(|e| e.status.code().unwrap()).collect();
    let won = codes.iter().position(|&c| c == 0).unwrap_or_else(|| panic!("no writer has won: {ends:?}"));
    assert_eq!(codes[1 - won], 2, "{ends:?}");
    (won, String::from_utf8_lossy(&ends[1 - won].stderr).into_owned())
}

#[test]
fn of_two_studies_that_want_one_directory_one_gets_it() {
    let place = TempDir::new("race");
    let command = |seed: usize, out: &str| format!("{COMPARE} --seed {seed} --out {out}");
    for seed in 0..2 {
        run(&place.0, &command(seed, &format!("alone-{seed}")));
    }
    let mut won = [0, 0];
    play(rounds(2), |_| {
        let out = place.0.join("both");
        let children = [0, 1].map(|seed| dowise(&place.0, &command(seed, "both")).spawn().unwrap());
        // Both live and neither has the directory yet; else nothing was raced for.
        let raced_for = !out.join("study.toml").exists();
        let (winner, said) = winner(children);
        assert!(said.contains("holds the results of another study, with seed"), "{said}");
        assert_eq!(data(&out), data(&place.0.join(format!("alone-{winner}"))), "runs are mixed");
        assert_eq!(records(&out), RUNS);
        std::fs::remove_dir_all(&out).unwrap();
        won[winner] += usize::from(raced_for);
        raced_for
    });
    eprintln!("{} races; won by the first {}, by the second {}", won[0] + won[1], won[0], won[1]);
}

#[test]
fn one_study_may_be_run_by_two_processes_at_once() {
    let place = TempDir::new("twice");
    run(&place.0, &format!("{COMPARE} --out whole"));
    for _ in 0..rounds(1) {
        let children = [0, 1].map(|_| dowise(&place.0, &format!("{COMPARE} --out both")).spawn().unwrap());
        for child in children {
            let end = child.wait_with_output().unwrap();
            assert!(end.status.success(), "{end:?}");
        }
        assert_eq!(data(&place.0.join("whole")), data(&place.0.join("both")));
        // The tables are those of one of them, timings too.
        run(&place.0, "--quiet plot both");
        std::fs::remove_dir_all(place.0.join("both")).unwrap();
    }
}

/// The command under a limit on the size of files, so that writes fail as they do on a full disk.
fn limited(place: &Path, blocks: usize, arguments: &str) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {} {arguments}", env!("CARGO_BIN_EXE_dowise"));
    std::process::Command::new("sh").current_dir(place).args(["-c", &script]).output().unwrap()
}

#[test]
fn a_disk_that_refuses_leaves_what_was_there() {
    let place = TempDir::new("full");
    run(&place.0, &format!("{COMPARE} --out whole"));
    for round in 0..rounds(2) {
        // The records fit into this number of 512-byte blocks, and some table or figure does not.
        let blocks = [4, 8, 16, 24][round % 4];
        let end = limited(&place.0, blocks, &format!("{COMPARE} --out full"));
        let said = String::from_utf8_lossy(&end.stderr);
        assert_eq!(end.status.code(), Some(3), "{said}");
        assert!(said.contains("cannot write full/") && said.contains("File too large"), "{said}");
        let out = place.0.join("full");
        assert_eq!((temporary(&out), temporary(&out.join("runs")), temporary(&out.join("figures"))), (0, 0, 0));
        run(&place.0, &format!("{COMPARE} --out full"));
        assert_eq!(data(&place.0.join("whole")), data(&out));
        std::fs::remove_dir_all(&out).unwrap();
    }
    // The old save stays, and what was learned is printed all the same.
    run(&place.0, "--quiet learn linear --learner c-rlsvi --episodes 20 --save saved.json --force");
    let old = std::fs::read(place.0.join("saved.json")).unwrap();
    let end = limited(&place.0, 2, "--quiet learn linear --resume saved.json --episodes 900 --save saved.json");
    assert_eq!(end.status.code(), Some(3));
    let said = String::from_utf8_lossy(&end.stderr);
    assert!(said.contains("cannot write saved.json: File too large"), "{said}");
    assert!(String::from_utf8_lossy(&end.stdout).contains("Regret"), "{end:?}");
    assert_eq!(std::fs::read(place.0.join("saved.json")).unwrap(), old);
    assert_eq!(temporary(&place.0), 0);
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let place = TempDir::new("tmpfs");
    std::fs::create_dir(place.0.join("disk")).unwrap();
    // A small disk of its own needs a name space of its own, which not every machine gives.
    if !starts(
        std::process::Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none"]).arg(place.0.join("disk")),
    ) {
        eprintln!("there can be no small disk here; the limit on the size of files was tested instead");
        return;
    }
    run(&place.0, "--quiet learn linear --learner c-rlsvi --episodes 20 --save saved.json --force");
    let program = env!("CARGO_BIN_EXE_dowise");
    let resume = "--quiet learn linear --resume saved.json --episodes 3000 --save saved.json";
    let script = format!(
        "mount -t tmpfs -o size=64k none disk && cp saved.json disk && cd disk && {program} {resume} > ../printed 2> ../said\n\
         echo $? > ../code; cp saved.json ../after.json; ls -A > ../left; df -k --output=size . | tail -1 > ../size"
    );
    let status =
        std::process::Command::new("unshare").current_dir(&place.0).args(["-rm", "sh", "-c", &script]).status();
    assert!(status.unwrap().success());
    let read = |name: &str| std::fs::read_to_string(place.0.join(name)).unwrap();
    assert_eq!(read("size").trim(), "64", "the disk is not the small one");
    assert_eq!(read("code").trim(), "3", "{}", read("said"));
    assert!(read("said").contains("cannot write saved.json: No space left on device"), "{}", read("said"));
    assert_eq!(read("left"), "saved.json\n");
    assert_eq!(read("after.json"), read("saved.json"));
    assert!(read("printed").contains("Regret"));
}
