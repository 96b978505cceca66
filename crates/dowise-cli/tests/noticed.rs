//! What `dowise learn` says of a graph that is wrong or a world that changes: in its report, also where it is asked to be quiet.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of its own with the world as it is, and as it is told.
fn place(name: &str, truth: &str, told: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("dowise-noticed-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("truth.toml"), truth).unwrap();
    std::fs::write(place.join("told.toml"), told).unwrap();
    place
}

/// What is printed, and the status.
fn quiet(at: &Path, arguments: &str) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_dowise"))
        .current_dir(at)
        .arg("-q")
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    // Lines are wrapped.
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    (text, output.status.code())
}

/// A lever that is left alone with this probability of each value.
fn world(p: &str) -> String {
    format!(
        "dowise = 1\nhorizon = 3\n[state.s]\nvalues = 2\nscope = [\"s\", \"z\"]\n\
         next = [[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]]]\n[lever.x]\nvalues = 2\np = {p}\n\
         cost = {{ \"1\" = 0.3, \"0\" = 0.3 }}\n[key.z]\nvalues = 2\nparents = [\"x\"]\np = [[0.9, 0.1], [0.1, 0.9]]\n\
         [reward.r]\nscope = [\"s\"]\nvalue = [0.0, 1.0]\n[interventions]\nset = \"any\"\n"
    )
}

#[test]
fn a_guard_says_in_the_report_what_it_changed_and_without_one_there_is_a_warning_and_no_promise() {
    let at = place("told", &world("[0.9, 0.1]"), &world("[0.2, 0.8]"));
    let wrong = "the numbers told of the lever x left alone are not right: P(x = ";
    let (text, _) = quiet(&at, "learn truth.toml --told told.toml --learner graph-psrl:guard=true --episodes 200");
    assert!(text.contains("The graph was changed in episode ") && text.contains(wrong), "{text}");
    assert!(text.contains("; its numbers are learned from now on."), "{text}");
    let learn = "learn truth.toml --told told.toml --learner graph-ucbvi --episodes 200 --certify";
    let (text, _) = quiet(&at, learn);
    let warns = "Warning: what was seen contradicts the graph (after ";
    assert!(text.contains(warns) && text.contains(wrong), "{text}");
    assert!(text.contains("learn with guard=true. Void, because it rests on what the learner was told,"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&quiet(&at, &format!("{learn} --json")).0).unwrap();
    assert_eq!(json["promise_is_void"], true);
    assert_eq!((&json["graph"]["found"]["outcome"], &json["graph"]["untested"]), (&"x".into(), &serde_json::json!([])));
    // A promise that is void is no reason to stop.
    let (_, status) = quiet(&at, "learn truth.toml --told told.toml --learner graph-ucbvi --episodes 200 --until 0.2");
    assert_eq!(status, Some(1));
    // What is told rightly is promised as it was.
    let (text, _) = quiet(&at, "learn truth.toml --told truth.toml --learner graph-ucbvi --episodes 200 --certify");
    assert!(text.contains("Surely (δ = 0.05)") && !text.contains("Void") && !text.contains("Warning"), "{text}");
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn what_was_noticed_says_whether_it_was_in_the_log_or_in_the_run() {
    // The log is of another world than the one that is played after it.
    let at = place("log", &world("[0.9, 0.1]"), &world("[0.2, 0.8]"));
    quiet(&at, "simulate told.toml --episodes 300 -o told.csv");
    let (text, _) = quiet(&at, "learn truth.toml --from told.csv --learner graph-psrl:guard=true --episodes 20");
    assert!(text.contains("The graph was changed by the log: the numbers told of the lever x left alone"), "{text}");
    let (text, _) = quiet(&at, "learn truth.toml --from told.csv --learner graph-psrl --episodes 20");
    assert!(text.contains(" steps of the log): the numbers told of the lever x left alone"), "{text}");
    let changed = world("[0.9, 0.1]").replace("[[0.9, 0.1], [0.2, 0.8]]", "[[0.1, 0.9], [0.8, 0.2]]");
    std::fs::write(at.join("changed.toml"), changed).unwrap();
    let learn = "learn changed.toml --from told.csv --learner graph-psrl:forget=reset,unknown=all --episodes 150";
    let (text, _) = quiet(&at, learn);
    assert!(text.contains("A change was noticed in episode ") && text.contains(" with the log's: "), "{text}");
    std::fs::remove_dir_all(&at).unwrap();
}
