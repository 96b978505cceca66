//! Tests of learner specifications as text.

use super::*;
use crate::learn::linear::{Beta, FeatureChoice, Rewards, Switching};
use crate::learn::{Cap, Schedule, Sets, Width};

fn read(text: &str) -> LearnerSpec {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn says(text: &str) -> String {
    text.parse::<LearnerSpec>().unwrap_err().to_string()
}

#[test]
fn every_word_of_every_option_is_understood_and_written_back() {
    for option in &OPTIONS {
        let learner = match option.name {
            "prior" => "psrl:",
            "epsilon" => "epsilon-greedy:",
            "scale" => "c-ucbvi:width=paper,",
            "features" | "beta" | "beta-scale" | "lambda" | "regress-rewards" | "weights" => "c-lsvi-ucb:",
            _ => "c-ucbvi:",
        };
        let values = match option.values.words() {
            words if words.is_empty() && option.name == "known" => vec!["purse+mood"],
            words if words.is_empty() && option.name == "forget" => {
                vec!["never", "reset", "window:300", "discount:0.99"]
            }
            words if words.is_empty() => vec!["0.25"],
            words => words,
        };
        for value in values {
            let text = format!("{learner}{}={value}", option.name);
            let spec = read(&text);
            assert_eq!(spec.to_string(), text.replace("unknown=all", "unknown=kernel+rewards"));
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<LearnerSpec>(&json).unwrap(), spec);
            spec.options(10, 0);
            assert_eq!(spec.linear_options(10, 0).is_some(), learner == "c-lsvi-ucb:");
        }
    }
}

#[test]
fn options_change_what_they_say() {
    let o = read("c-ucbvi:width=paper-plain,scale=0.002,cap=horizon,delta=0.05,schedule=doubling").options(50, 3);
    assert_eq!((o.estimate, o.scale), (Estimate::Width(Width::PaperPlain), 0.002));
    assert_eq!((o.cap, o.delta, o.schedule), (Cap::Horizon, 0.05, Schedule::Doubling));
    assert_eq!((o.episodes, o.seed), (50, 3));
    assert_eq!(read("ucbvi:sets=l1").options(1, 0).estimate, Estimate::Sets(Sets::L1));
    assert_eq!(read("psrl:prior=0.5").options(1, 0).estimate, Estimate::Posterior { prior: 0.5 });
    let o = read("cf-ucbvi:monotone=true,stage-dependent=true").options(1, 0);
    assert!(o.monotone && o.stage_dependent);
}

#[test]
fn learners_with_sets_plan_rarely_by_default_and_others_before_each_episode() {
    let of = |text: &str| read(text).options(10, 0).schedule;
    for text in ["ucbvi", "c-ucbvi:sets=l1", "graph-ucbvi:unknown=all", "cf-ucbvi:forget=reset", "f-ucbvi:guard=true"] {
        assert_eq!(of(text), Schedule::Growing, "{text}");
    }
    let others =
        ["c-ucbvi:width=paper", "c-ucbvi:forget=window:50", "cf-ucbvi:schedule=episode", "graph-psrl", "greedy"];
    for text in others {
        assert_eq!(of(text), Schedule::Episode, "{text}");
    }
    assert_eq!(of("c-ucbvi:width=paper,schedule=doubling"), Schedule::Doubling);
    let paper: Preset = "c-ucbvi".parse().unwrap();
    assert_eq!(paper.options(10, 0).schedule, Schedule::Growing);
    assert_eq!(paper.paper_options(10, 0).schedule, Schedule::Episode);
}

#[test]
fn options_of_linear_learners_change_what_they_say() {
    let text = "c-lsvi-ucb:cap=horizon,schedule=doubling,features=radial-3,beta=published,beta-scale=0.01,lambda=0.5";
    let o = read(text).linear_options(50, 3).unwrap();
    assert_eq!((o.cap, o.switching), (Cap::Horizon, Switching::Doubling));
    assert_eq!((o.beta, o.beta_scale, o.lambda), (Beta::Published, 0.01, 0.5));
    assert_eq!(o.features, FeatureChoice::Radial { centres: 3, width: 1.0 });
    assert_eq!((o.episodes, o.seed, o.rewards), (50, 3, Rewards::Known));
    assert_eq!(read(text).estimate(), "published β × 0.01");
    assert_eq!(read("c-rlsvi").estimate(), "sampled, deviation");
    let o = read("lsvi-ucb:regress-rewards=false,stage-dependent=false,features=one-hot").linear_options(1, 0).unwrap();
    assert_eq!((o.rewards, o.stage_dependent, o.features), (Rewards::Known, false, FeatureChoice::OneHot));
    assert!(says("lsvi-ucb:width=paper").contains("it regresses on features instead of counting"));
    assert!(says("lsvi-ucb:schedule=visited").contains("choose episode or doubling"));
    assert!(says("c-ucbvi:lambda=1").contains("it counts; only lsvi-ucb, c-lsvi-ucb, c-rlsvi and c-blsvi"));
}

#[test]
fn unknown_parameters_are_not_given_to_the_learner() {
    let world = World::new(crate::worlds::Paper::default().spec().unwrap()).unwrap();
    let knowledge = |text| {
        let k = read(text).knowledge(&world).unwrap();
        (k.knows_mechanisms(), k.knows_rewards())
    };
    assert_eq!(knowledge("c-ucbvi"), (true, true));
    assert_eq!(knowledge("c-ucbvi:unknown=kernel"), (false, true));
    assert_eq!(knowledge("c-ucbvi:unknown=rewards+kernel"), (false, false));
}

#[test]
fn mistakes_are_named_with_what_was_probably_meant() {
    assert!(says("c-ucbvy").contains("did you mean `c-ucbvi`?"));
    assert!(says("c-ucbvi:widht=paper").contains("no option `widht`, did you mean `width`?"));
    assert!(says("c-ucbvi:width=papper").starts_with("width = `papper`, did you mean `paper`?; it must be paper, "));
    assert!(says("c-ucbvi:width").contains("not option=value"));
    assert!(says("c-ucbvi:cap=stage,cap=stage").contains("given twice"));
    assert!(says("psrl:prior=0").ends_with("it must be a number from 1e-6 to 1e6"));
    assert!(says("ucbvi:scale=2").contains("it multiplies a width"));
    assert!(says("graph-psrl:scale=0.7").contains("samples of mechanisms that are unknown"));
    assert!(says("psrl:width=paper").contains("not optimistic"));
    assert!(says("ucbvi:width=paper,sets=l1").contains("take the place of widths"));
    assert!(says("uniform:schedule=doubling").contains("learns nothing"));
}

#[test]
fn lists_keep_options_with_their_learner() {
    let list = LearnerSpec::list("ucbvi, c-ucbvi:width=paper,scale=0.1,psrl").unwrap();
    let texts: Vec<String> = list.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["ucbvi", "c-ucbvi:width=paper,scale=0.1", "psrl"]);
}

#[test]
fn sweeps_know_which_learners_an_option_concerns() {
    assert!(read("c-ucbvi:width=paper").takes("scale").unwrap());
    assert!(!read("psrl").takes("scale").unwrap());
    assert!(read("psrl").takes("skale").is_err());
    assert_eq!(
        read("c-ucbvi:width=paper,scale=1").with("scale", "0.5").unwrap().to_string(),
        "c-ucbvi:width=paper,scale=0.5"
    );
}

#[test]
fn the_estimate_is_said_in_words() {
    assert_eq!(read("c-ucbvi:width=paper-plain,scale=0.002").estimate(), "paper-plain × 0.002");
    assert_eq!(read("c-ucbvi:width=rlberry").estimate(), "rlberry");
    assert_eq!(read("c-ucbvi").estimate(), "mixture sets");
    assert_eq!(read("psrl").estimate(), "posterior, prior 2");
    assert_eq!(read("psrl:unknown=all,scale=0.7").estimate(), "posterior, prior 2, spread × 0.7");
}

#[test]
fn the_documentation_has_exactly_the_options_of_the_table() {
    let page = include_str!("../../../../../docs/reference/learners.md");
    let (_, options) = page.split_once("\n## Options\n").unwrap();
    let (options, _) = options.split_once("\n## ").unwrap();
    let documented: Vec<&str> = options.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(documented, LearnerSpec::options_table());
}

#[test]
fn every_default_that_is_a_value_is_one() {
    for option in &OPTIONS {
        let default = option.default.split(';').next().unwrap().trim_matches('`');
        let is_said_in_words = default.contains(' ') || default.contains('[') || option.default == "none";
        assert!(is_said_in_words || option.read(default).is_some(), "{} = {default}", option.name);
    }
}

#[test]
fn former_words_are_read_and_written_as_the_present_ones() {
    assert_eq!(read("c-lsvi-ucb:beta=covered").to_string(), "c-lsvi-ucb:beta=covering-number");
    assert!(says("c-ucbvi:width=covered").starts_with("width = `covered`"));
}
