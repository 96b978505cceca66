//! The two ways to judge: they agree about one world, are part of what a study is, and refuse what they cannot judge.

mod temp_dir;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use dowise::simulate::Estimate;
use dowise_study::{Directory, Ending, Judge, Place, RunRecord, Study, StudyFile, WorldChoice, execute, merge};
use temp_dir::TempDir;

const RIVER: &str = "linear-river:states=64,causes=9,dimension=5,levels=3,horizon=6,seed=1";

/// Rewards are told here, and are to be learned in the river: there c-blsvi differs, since it knows every payment if it learns from the states met, and
/// their means otherwise.
const TOLD: &str = "linear:states=12,causes=4,dimension=3,low_rank=true,seed=5";

fn played(world: &str, judge: Judge, learner: &str, episodes: u64) -> (Place, RunRecord) {
    // At random the far bank of the river is met once in a thousand episodes; the judge of this seed never sees it.
    let place = Place::new(&WorldChoice::read(world).make(0).unwrap(), world, Some(judge), 3).unwrap();
    let checkpoints: Vec<u64> = (1..=episodes).collect();
    let stop = AtomicBool::new(false);
    let record = place.play(&learner.parse().unwrap(), 3, &checkpoints, &stop, |_, _, _| {}).unwrap().unwrap();
    (place, record)
}

#[test]
fn both_judges_see_the_same_decisions_and_play_agrees_with_exact_values_within_its_interval() {
    let [river, told] = [RIVER, TOLD].map(|world| move |learner| (world, learner));
    let cases = [
        told("c-blsvi"),
        river("c-lsvi-ucb:schedule=doubling,beta-scale=0.1"),
        river("c-rlsvi"),
        river("c-psrl"),
        river("lsvi-ucb:beta-scale=0.01"),
        river("uniform"),
    ];
    for (world, learner) in cases {
        let [(_, exact), (place, by_play)] = Judge::ALL.map(|judge| played(world, judge, learner, 150));
        if learner != "uniform" {
            // The same interventions in the same states, since the random numbers are the same.
            assert_eq!(exact.reward, by_play.reward, "{learner}");
        }
        assert!(by_play.estimated && !exact.estimated);
        let Place::ByPlay(judge) = &place else { panic!("it was chosen") };
        let judged = judge.judge(&mut dowise::simulate::AtRandom::new(judge.simulator(), 7));
        let within = |what: &str, estimate: f64, half: f64, value: f64| {
            assert!((estimate - value).abs() <= 2.0 * half, "{learner}, {what}: {estimate} ± {half}, {value} exactly");
        };
        within("random", by_play.random, judged.random.half, exact.random);
        within("best", by_play.optimal, judged.best.half, exact.optimal);
        if learner != "c-rlsvi" {
            // Regressions deploy the plan of mean weights if they learn from the states met, and their next plan otherwise. The next one of c-rlsvi is a
            // sample that is far off; the others come to the same.
            within("learned", by_play.value, judged.best.half, exact.value);
        }
        let each = |record: &RunRecord| -> Vec<f64> {
            let before = [0.0].into_iter().chain(record.regret.iter().copied());
            record.regret.iter().zip(before).map(|(now, before)| now - before).collect()
        };
        let off = Estimate::of_pairs(&each(&by_play), &each(&exact), judge.world().return_range());
        assert!(off.mean.abs() <= 2.0 * off.half, "{learner}: regret is off by {} ± {}", off.mean, off.half);
    }
}

fn study(judge: &str, repetitions: u64) -> Study {
    let text = format!(
        "worlds = [\"{RIVER}\"]\nlearners = [\"c-blsvi\", \"c-psrl\", \"uniform\"]\nepisodes = 20\nrepetitions = {repetitions}\n{judge}"
    );
    StudyFile::from_toml(&text, "study.toml").unwrap().resolve(Path::new("")).unwrap()
}

fn run(study: &Study, place: &Path) {
    let directory = Directory::claim(place, study).unwrap();
    let ending = execute(study, &directory, None, 2, &AtomicBool::new(false), &|_| {}).unwrap();
    assert!(matches!(ending, Ending::Finished(_)));
}

#[test]
fn the_judge_is_part_of_a_study_and_of_its_records() {
    let (exact, by_play) = (study("", 1), study("judge = \"play\"", 1));
    assert_eq!(exact, study("judge = \"exact\"", 1));
    assert_ne!(exact.identity(), by_play.identity());
    assert_eq!(Study::from_toml(&by_play.to_toml()).unwrap(), by_play);
    // Whoever chose nothing has the file that studies had before there was a choice.
    assert!(!exact.to_toml().contains("by_play") && by_play.to_toml().contains("by_play_chosen = true"));
    assert!(exact.by_play_note().is_none());
    assert!(by_play.by_play_note().unwrap().contains("as was chosen (judge = play)"));
    let (one, two) = (TempDir::new("judge-exact"), TempDir::with("judge-play"));
    run(&exact, &one);
    run(&by_play, &two);
    let claimed = Directory::claim(&one, &study("judge = \"play\"", 2)).unwrap_err().to_string();
    assert!(claimed.contains("with judge exact in") && claimed.contains("where it is now play"), "{claimed}");
    let directory = |at: &TempDir| Directory::open(at).unwrap().0;
    let files = |of: &Study, at: &TempDir| directory(at).run_file(of, 0, 0);
    assert_ne!(files(&exact, &one).file_name(), files(&by_play, &two).file_name());
    let error = merge(&exact, &directory(&one), &[directory(&two)]).unwrap_err().to_string();
    assert!(error.contains("with judge play in"), "{error}");
    // It grows as others do.
    run(&study("judge = \"play\"", 2), &two);
}

#[test]
fn what_a_judge_cannot_judge_is_refused_by_name() {
    let says = |text: &str| {
        let study = StudyFile::from_toml(text, "study.toml").unwrap().resolve(Path::new(""));
        study.unwrap_err().to_string()
    };
    let unlisted = says("worlds = [\"linear-code\"]\nlearners = [\"c-blsvi\"]\njudge = \"exact\"");
    assert!(unlisted.contains("linear-code: exact values need a list of all states"), "{unlisted}");
    let no_anchors = says("worlds = [\"paper\"]\nlearners = [\"c-blsvi\"]\njudge = \"play\"");
    assert!(no_anchors.starts_with("paper: whoever is judged by playing") && no_anchors.contains("or judge exactly"));
}
