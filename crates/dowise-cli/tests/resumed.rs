//! A run that was saved and resumed ends as one that never stopped, whichever kind of learner; other files are refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of its own for one test.
fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("dowise-resumed-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    place
}

fn learn(at: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dowise"));
    command.current_dir(at).args(["--quiet", "learn", "linear"]).args(arguments.split(' ')).output().unwrap()
}

/// What a run prints.
fn answer(at: &Path, arguments: &str) -> String {
    let output = learn(at, arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a run says is wrong.
fn refusal(at: &Path, arguments: &str) -> String {
    let output = learn(at, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_resumed_run_ends_as_one_that_never_stopped() {
    let at = place("same");
    for learner in ["lsvi-ucb:beta-scale=0.01", "c-lsvi-ucb", "c-rlsvi:unknown=rewards", "graph-psrl", "c-ucbvi"] {
        answer(&at, &format!("--learner {learner} --seed 5 --episodes 30 --save start.json --force"));
        // In one go, and with two stops more, the second after the first step at which factors are computed afresh.
        let whole = answer(&at, "--resume start.json --episodes 130 --save whole.json --force --json");
        answer(&at, "--resume start.json --episodes 50 --save parts.json --force");
        answer(&at, "--resume parts.json --episodes 110 --save parts.json");
        let parts = answer(&at, "--resume parts.json --episodes 130 --save parts.json --json");
        assert_eq!(whole, parts, "{learner}");
        let read = |name| std::fs::read_to_string(at.join(name)).unwrap();
        assert_eq!(read("whole.json"), read("parts.json"), "{learner}");
    }
    // Neither of these has a width that counts on the number of episodes.
    for learner in ["c-lsvi-ucb", "c-rlsvi", "c-blsvi", "graph-psrl"] {
        answer(&at, &format!("--learner {learner} --seed 5 --episodes 30 --save start.json --force"));
        let never_stopped = answer(&at, &format!("--learner {learner} --seed 5 --episodes 130 --json"));
        assert_eq!(answer(&at, "--resume start.json --episodes 130 --json"), never_stopped, "{learner}");
    }
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn a_resumed_run_is_evaluated_by_the_episodes_of_an_uninterrupted_one() {
    let at = place("meant");
    let run = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dowise"));
        let world = "linear-lock:states=30,causes=4,levels=2,dimension=5,horizon=3";
        command.current_dir(&at).args(["--quiet", "learn", world]).args(arguments.split(' ')).output().unwrap()
    };
    for evaluation in ["exact", "play"] {
        let begun = run(&format!("--learner c-blsvi --evaluate {evaluation} --episodes 30 --save start.json --force"));
        assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
        let said = String::from_utf8(run("--resume start.json").stderr).unwrap();
        assert!(said.contains("the run has had 30 episodes"), "{evaluation}: {said}");
        assert!(run("--resume start.json --episodes 31").status.success(), "{evaluation}");
    }
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn a_guarded_run_whose_graph_was_changed_goes_on() {
    let at = place("guarded");
    let world = |scope: &str, next: &str, hidden: &str| {
        format!(
            "dowise = 1\nhorizon = 3\n[state.x]\nvalues = 2\nscope = {scope}\nnext = {next}\nstart = [0.5, 0.5]\n[lever.b]\nvalues = 2\nparents = [\"q\"]\np = [[0.9, 0.1], [0.1, 0.9]]\n\
             [key.z]\nvalues = 2\nparents = [\"b\", \"q\"]\np = [[[0.9, 0.1], [0.3, 0.7]], [[0.6, 0.4], [0.1, 0.9]]]\n[hidden.q]\nvalues = 2\n\
             parents = []\np = {hidden}\n[reward.pay]\nscope = [\"x\"]\nvalue = [0.0, 1.0]\nrange = [0.0, 1.0]\n[interventions]\nset = \"any\"\n"
        )
    };
    let table = "[[0.8, 0.2], [0.3, 0.7]]";
    let knowledge = world(r#"["z"]"#, table, "[0.5, 0.5]");
    // What is true of the log, and what a guard makes of it: an arrow of the lever, or, since what is hidden cannot be learned, no causes.
    let direct = world(r#"["z", "b"]"#, "[[[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.1, 0.9]]]", "[0.5, 0.5]");
    let numbers = world(r#"["z"]"#, table, "[0.1, 0.9]");
    std::fs::write(at.join("given.toml"), knowledge).unwrap();
    let run = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dowise"));
        let output = command.current_dir(&at).arg("--quiet").args(arguments.split(' ')).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for (truth, became) in [(direct, "b is added to the scope of x"), (numbers, "given up for plain UCBVI")] {
        std::fs::write(at.join("truth.toml"), truth).unwrap();
        run("simulate truth.toml --episodes 600 --output log.csv --force");
        let learn = "learn given.toml --from log.csv --learner graph-psrl:guard=true";
        run(&format!("{learn} --episodes 3 --save start.json --force"));
        let resumed = run("learn given.toml --resume start.json --episodes 9 --json");
        assert!(resumed.contains("\"amendments\"") && resumed.contains(became), "{resumed}");
        assert_eq!(resumed, run(&format!("{learn} --episodes 9 --json")));
        assert!(run("explain given.toml start.json").contains("The graph was changed by the log"));
    }
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let at = place("refused");
    answer(&at, "--learner c-rlsvi --episodes 20 --save saved.json");
    assert!(
        refusal(&at, "--resume saved.json").contains("the run has had 20 episodes; --episodes is their number in all")
    );
    assert!(refusal(&at, "--resume saved.json --seed 3").contains("cannot be used with '--seed"));
    assert!(refusal(&at, "--resume saved.json --learner c-psrl").contains("cannot be used with '--learner"));
    let read = std::fs::read_to_string(at.join("saved.json")).unwrap();
    let write = |text: &str| std::fs::write(at.join("changed.json"), text).unwrap();
    write(&read[..read.len() / 2]);
    assert!(refusal(&at, "--resume changed.json").contains("changed.json: this is not a saved learner"));
    write(&read.replace("\"run\":", "\"walk\":"));
    assert!(refusal(&at, "--resume changed.json").contains("this is not a saved learner"));
    // What was changed is noticed, and so is what cannot be, even if somebody has made the checksum fit.
    let changes = [
        ("\"episode\":20", "\"episode\":21", "do not have the same episodes; the file is damaged"),
        ("\"seed\":0,\"position\"", "\"seed\":1,\"position\"", "saved for another world"),
        ("\"regrets\":[", "\"regrets\":[-0.5,", "do not have the same episodes"),
        ("\"reward\":", "\"reward\":99999", "run.reward: "),
        ("\"learner\":\"c-rlsvi\"", "\"learner\":\"c-psrl\"", "run.learner: c-psrl with seed 0 is not what is saved"),
        (
            "\"learner\":\"c-rlsvi\"",
            "\"learner\":\"c-lsvi-ucb\"",
            "run.learner: c-lsvi-ucb with seed 0 is not what is saved",
        ),
    ];
    let sealed =
        |text: &str| format!("{}}}}}\n", dowise::saved::with_checksum(text.rsplit_once(",\"checksum\"").unwrap().0));
    assert_eq!(sealed(&read), read);
    for (from, to, says) in changes {
        // The run stands behind the learner.
        let (before, after) = read.rsplit_once(from).unwrap();
        let changed = format!("{before}{to}{after}");
        write(&changed);
        let error = refusal(&at, "--resume changed.json --episodes 40");
        assert!(error.contains("changed.json: checksum: it does not fit the rest of the file"), "{error}");
        write(&sealed(&changed));
        let error = refusal(&at, "--resume changed.json --episodes 40");
        assert!(error.contains(says), "{from}: {error}");
    }
    let (before, after) = read.split_once("\"regrets\":[").unwrap();
    let (_, rest) = after.split_once(',').unwrap();
    for regret in ["-0.5", "1e300"] {
        write(&sealed(&format!("{before}\"regrets\":[{regret},{rest}")));
        let error = refusal(&at, "--resume changed.json --episodes 40");
        assert!(error.contains("in episode 1 is not a regret that this world allows"), "{error}");
    }
    let missing = learn(&at, "--resume nowhere.json");
    assert_eq!(missing.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("cannot read nowhere.json"));
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn a_run_from_the_states_met_goes_on_unless_its_file_was_changed() {
    let at = place("unlisted");
    let run = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dowise"));
        command
            .current_dir(&at)
            .args(["--quiet", "learn", "linear-code:places=3"])
            .args(arguments.split(' '))
            .output()
            .unwrap()
    };
    assert!(run("--episodes 10 --save half.json").status.success());
    let whole = run("--episodes 20 --seed 0 --json");
    let resumed = run("--resume half.json --episodes 20 --json");
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    assert_eq!(String::from_utf8_lossy(&whole.stdout), String::from_utf8_lossy(&resumed.stdout));
    let text = std::fs::read_to_string(at.join("half.json")).unwrap();
    std::fs::write(at.join("changed.json"), text.replacen("\"rewards\":[", "\"rewards\":[9.0,", 1)).unwrap();
    let refused = run("--resume changed.json --episodes 20");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("changed.json: checksum: it does not fit the rest"), "{said}");
    std::fs::remove_dir_all(&at).unwrap();
}
