//! What `dowise learn` says of a graph that is wrong or a world that changes: in its report, also where it is asked to be quiet.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of its own with the world as it is, and as it is given.
fn place(name: &str, truth: &str, knowledge: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("dowise-noticed-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("truth.toml"), truth).unwrap();
    std::fs::write(place.join("given.toml"), knowledge).unwrap();
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
fn graph_repair_reports_changes_and_without_it_a_warning_voids_the_certificate() {
    let at = place("given", &world("[0.9, 0.1]"), &world("[0.2, 0.8]"));
    let wrong = "the known parameters of the lever x left alone are not right: P(x = ";
    let (text, _) = quiet(&at, "learn truth.toml --assumed given.toml --learner graph-psrl:guard=true --episodes 200");
    assert!(text.contains("The graph was changed in episode ") && text.contains(wrong), "{text}");
    assert!(text.contains("; its numbers are learned from now on."), "{text}");
    let learn = "learn truth.toml --assumed given.toml --learner graph-ucbvi --episodes 200 --certify";
    let (text, _) = quiet(&at, learn);
    let warns = "Warning: the data contradict the graph (after ";
    assert!(text.contains(warns) && text.contains(wrong), "{text}");
    assert!(
        text.contains("guard=true (graph repair). Void, because the data contradict what the learner assumes"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&quiet(&at, &format!("{learn} --json")).0).unwrap();
    assert_eq!(json["promise_is_void"], true);
    assert_eq!((&json["graph"]["found"]["outcome"], &json["graph"]["untested"]), (&"x".into(), &serde_json::json!([])));
    // A promise that is void is no reason to stop.
    let (_, status) =
        quiet(&at, "learn truth.toml --assumed given.toml --learner graph-ucbvi --episodes 200 --until 0.2");
    assert_eq!(status, Some(1));
    // What is given rightly is promised as it was.
    let (text, _) = quiet(&at, "learn truth.toml --assumed truth.toml --learner graph-ucbvi --episodes 200 --certify");
    assert!(
        text.contains("Suboptimality certificate (confidence 1 − δ, δ = 0.05)")
            && !text.contains("Void")
            && !text.contains("Warning"),
        "{text}"
    );
    std::fs::remove_dir_all(&at).unwrap();
}

#[test]
fn what_was_noticed_says_whether_it_was_in_the_log_or_in_the_run() {
    // The log is of another world than the one that is played after it.
    let at = place("log", &world("[0.9, 0.1]"), &world("[0.2, 0.8]"));
    quiet(&at, "simulate given.toml --episodes 300 -o given.csv");
    let (text, _) = quiet(&at, "learn truth.toml --from given.csv --learner graph-psrl:guard=true --episodes 20");
    assert!(
        text.contains("The graph was changed by the log: the known parameters of the lever x left alone"),
        "{text}"
    );
    let (text, _) = quiet(&at, "learn truth.toml --from given.csv --learner graph-psrl --episodes 20");
    assert!(text.contains(" steps of the log): the known parameters of the lever x left alone"), "{text}");
    let changed = world("[0.9, 0.1]").replace("[[0.9, 0.1], [0.2, 0.8]]", "[[0.1, 0.9], [0.8, 0.2]]");
    std::fs::write(at.join("changed.toml"), changed).unwrap();
    let learn = "learn changed.toml --from given.csv --learner graph-psrl:forget=reset,unknown=all --episodes 150";
    let (text, _) = quiet(&at, learn);
    assert!(text.contains("A change was noticed in episode ") && text.contains(" with the log's: "), "{text}");
    std::fs::remove_dir_all(&at).unwrap();
}

/// A sale with probability 0.6 after `0`, and with this probability after `1`.
fn sale(p: f64) -> String {
    format!(
        "dowise = 1\nhorizon = 1\n[state.s]\nvalues = 2\nscope = [\"z\"]\nnext = [[0.5, 0.5], [0.5, 0.5]]\n\
         [lever.x]\nvalues = 2\n[key.z]\nvalues = 2\nparents = [\"x\"]\np = [[0.4, 0.6], [{}, {p}]]\n\
         [reward.r]\nscope = [\"z\"]\nvalue = [0.0, 1.0]\n[interventions]\nset = \"all\"\n",
        1.0 - p
    )
}

#[test]
fn a_log_that_live_steps_contradict_is_dropped_with_a_warning() {
    let at = place("misleading", &sale(0.4), &sale(0.75));
    quiet(&at, "simulate given.toml --episodes 1000 -o given.csv");
    quiet(&at, "simulate truth.toml --episodes 1000 -o truth.csv");
    let learn = |log: &str, learner: &str| {
        let learn = format!("learn truth.toml --from {log} --learner graph-ucbvi:unknown=all{learner} --episodes 1500");
        let (text, _) = quiet(&at, &format!("{learn} --certify"));
        let json: serde_json::Value =
            serde_json::from_str(&quiet(&at, &format!("{learn} --certify --json")).0).unwrap();
        (text, json)
    };
    let (text, json) = learn("given.csv", "");
    assert!(text.contains("live steps contradict the log (z where x=1: 1 in 0.75 of "), "{text}");
    assert!(text.contains("the learner dropped the 1,000 logged steps and continued with its own"), "{text}");
    assert_eq!(json["log_contradicted"]["dropped"], true);
    assert!(json["promise_is_void"].is_null(), "the certificate rests on live steps alone");
    // Graph repair keeps all steps, so nothing may be promised.
    let (text, json) = learn("given.csv", ",guard=true");
    assert!(text.contains("the learner keeps the 1,000 logged steps; learn without them"), "{text}");
    assert_eq!((&json["log_contradicted"]["dropped"], &json["promise_is_void"]), (&false.into(), &true.into()));
    let (text, json) = learn("truth.csv", "");
    assert!(!text.contains("contradict") && json["log_contradicted"].is_null(), "{text}");
    std::fs::remove_dir_all(&at).unwrap();
}

/// The log of a world, with the column blanked in those rows of which `hides` says so, by the row's values and a number that goes through [0, 1).
fn simulated(at: &Path, column: &str, hides: impl Fn(&dyn Fn(&str) -> String, f64) -> bool) {
    let (_, status) = quiet(at, "simulate truth.toml --episodes 4000 -o log.csv --force");
    assert_eq!(status, Some(0));
    let text = std::fs::read_to_string(at.join("log.csv")).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let mut out = names.join(",") + "\n";
    for (i, line) in lines.enumerate() {
        let mut cells: Vec<&str> = line.split(',').collect();
        let chance = (i as f64 * 0.618_033_988_749_895).fract();
        if hides(&|name| cells[place(name)].to_owned(), chance) {
            cells[place(column)] = "";
        }
        out += &(cells.join(",") + "\n");
    }
    std::fs::write(at.join("log.csv"), out).unwrap();
}

#[test]
fn values_missing_not_at_random_void_certificates_and_recommendations() {
    let truth = "dowise = 1\nhorizon = 2\n[state.x]\nvalues = 2\nscope = [\"z\"]\nnext = [[0.5, 0.5], [0.6, 0.4]]\nstart = [1.0, 0.0]\n\
                 [lever.a]\nvalues = 2\n[key.z]\nvalues = 2\nparents = [\"a\"]\np = [[0.9, 0.1], [0.1, 0.9]]\n\
                 [reward.pay]\nscope = [\"next.x\"]\nvalue = [0.0, 1.0]\nrange = [0.0, 1.0]\n[interventions]\nset = \"all\"\n";
    let at = place("not at random", truth, truth);
    // What led to nothing is seldom written down; then by chance.
    for unfair in [true, false] {
        simulated(&at, "z", |cell, chance| match unfair {
            true => cell("z") == "1" && cell("reward.pay").parse::<f64>() == Ok(0.0) && chance < 0.8,
            false => chance < 0.3,
        });
        let learn = "learn truth.toml --from log.csv --learner graph-ucbvi:unknown=all --episodes 20";
        let (text, _) = quiet(&at, &format!("{learn} --certify"));
        let says = "MISSING NOT AT RANDOM: whether key variable z was recorded depends on ";
        let void = "Void, because an assumption about the log failed:";
        let failed = "missing at random, FAILED: Missing not at random: whether key variable z was recorded";
        assert_eq!((text.contains(failed), text.contains(void)), (unfair, unfair), "{text}");
        assert!(text.find("Assumptions missing at random, ") < text.find("best policy"), "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&quiet(&at, &format!("{learn} --certify --json")).0).unwrap();
        assert_eq!((json["promise_is_void"] == true, json["void_because"].is_array()), (unfair, unfair), "{json}");
        // The fit remembers it.
        let (text, _) = quiet(&at, "fit truth.toml log.csv -o fitted.toml --force");
        assert_eq!(text.contains(says), unfair, "{text}");
        for plan in ["plan truth.toml --safe --from log.csv", "plan fitted.toml --safe"] {
            let (text, _) = quiet(&at, plan);
            assert_eq!((text.contains(says), text.contains("Nothing is recommended")), (unfair, unfair), "{text}");
            assert!(!unfair || text.find(says) < text.find("posterior-mean plan"), "{text}");
            assert!(
                text.contains("Guaranteed values assume missing at random, since key variable z is missing"),
                "{text}"
            );
            let json: serde_json::Value = serde_json::from_str(&quiet(&at, &format!("{plan} --json")).0).unwrap();
            assert_eq!(json["recommendation"] == "refused", unfair, "{json}");
            assert_eq!(json["warnings"].as_array().unwrap().len(), 1 + usize::from(unfair), "{json}");
        }
        // No policy is written past a failed assumption.
        let (_, status) = quiet(&at, "plan truth.toml --safe --from log.csv --policy safe.json --force");
        assert_eq!((at.join("safe.json").exists(), status == Some(1)), (!unfair, unfair));
        let learn = "learn fitted.toml --evidence fitted.evidence.json --learner graph-ucbvi --episodes 20 --certify";
        assert_eq!(quiet(&at, learn).0.contains(void), unfair);
    }
    // A promise that is void is no reason to stop.
    simulated(&at, "z", |cell, chance| {
        cell("z") == "1" && cell("reward.pay").parse::<f64>() == Ok(0.0) && chance < 0.8
    });
    let until = "learn truth.toml --from log.csv --learner graph-ucbvi:unknown=all --episodes 20 --until 0.9";
    assert_eq!(quiet(&at, until).1, Some(1));
}

#[test]
fn certificates_from_confounded_logs_are_void_unless_the_lever_was_randomised() {
    let truth = "dowise = 1\nhorizon = 2\n[state.x]\nvalues = 2\nscope = [\"x\", \"z\"]\n\
                 next = [[[0.8, 0.2], [0.3, 0.7]], [[0.6, 0.4], [0.1, 0.9]]]\nstart = [0.5, 0.5]\n\
                 [lever.a]\nvalues = 2\nparents = [\"q\"]\np = [[0.8, 0.2], [0.2, 0.8]]\n\
                 [key.z]\nvalues = 2\nparents = [\"a\", \"q\"]\np = [[[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.4, 0.6]]]\n\
                 [hidden.q]\nvalues = 2\nparents = []\np = [0.5, 0.5]\n\
                 [reward.pay]\nscope = [\"x\", \"z\"]\nvalue = [[0.0, 0.5], [0.5, 1.0]]\nrange = [0.0, 1.0]\n[interventions]\nset = \"all\"\n";
    let at = place("chosen", truth, truth);
    simulated(&at, "z", |_, _| false);
    let learn = "learn truth.toml --from log.csv --learner graph-ucbvi:unknown=all --episodes 20 --certify";
    for (draw, void) in [("", true), (" --randomised a", false)] {
        let (text, _) = quiet(&at, &format!("{learn}{draw}"));
        assert_eq!(
            text.contains("identification, FAILED: The log does not identify P(z | a, q): a hidden cause acts"),
            void,
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&quiet(&at, &format!("{learn}{draw} --json")).0).unwrap();
        assert_eq!(json["promise_is_void"] == true, void, "{json}");
    }
}
