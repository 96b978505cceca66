//! The two ways to judge: they agree about one world, are part of what a study is, and refuse what they cannot judge.

mod temp_dir;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use dowise::simulate::Estimate;
use dowise_study::{
    Directory, Ending, Evaluation, Evaluator, RunRecord, Study, StudyFile, WorldChoice, execute, merge,
};
use temp_dir::TempDir;

const RIVER: &str = "linear-river:states=64,causes=9,dimension=5,levels=3,horizon=6,seed=1";

/// Rewards are given here, and are to be learned in the river: there c-blsvi differs, since it knows every payment if it learns from the states met, and
/// their means otherwise.
const TOLD: &str = "linear:states=12,causes=4,dimension=3,low_rank=true,seed=5";

fn played(world: &str, evaluation: Evaluation, learner: &str, episodes: u64) -> (Evaluator, RunRecord) {
    // At random the far bank of the river is met once in a thousand episodes; the judge of this seed never sees it.
    let place = Evaluator::new(&WorldChoice::read(world).make(0).unwrap(), world, Some(evaluation), 3).unwrap();
    let checkpoints: Vec<u64> = (1..=episodes).collect();
    let stop = AtomicBool::new(false);
    let record = place.play(&learner.parse().unwrap(), 3, &checkpoints, &stop, |_, _, _| {}).unwrap().unwrap();
    (place, record)
}

#[test]
fn monte_carlo_evaluates_the_same_decisions_and_agrees_with_exact_values() {
    let [river, knowledge] = [RIVER, TOLD].map(|world| move |learner| (world, learner));
    let cases = [
        knowledge("c-blsvi"),
        river("c-lsvi-ucb:schedule=doubling,beta-scale=0.1"),
        river("c-rlsvi"),
        river("c-psrl"),
        river("lsvi-ucb:beta-scale=0.01"),
        river("uniform"),
    ];
    for (world, learner) in cases {
        let [(_, exact), (place, monte_carlo)] =
            Evaluation::ALL.map(|evaluation| played(world, evaluation, learner, 150));
        if learner != "uniform" {
            // The same interventions in the same states, since the random numbers are the same.
            assert_eq!(exact.reward, monte_carlo.reward, "{learner}");
        }
        assert!(monte_carlo.estimated && !exact.estimated);
        let Evaluator::MonteCarlo(evaluation) = &place else { panic!("it was chosen") };
        let evaluated = evaluation.evaluate(&mut dowise::simulate::AtRandom::new(evaluation.simulator(), 7));
        let within = |what: &str, estimate: f64, half: f64, value: f64| {
            assert!((estimate - value).abs() <= 2.0 * half, "{learner}, {what}: {estimate} ± {half}, {value} exactly");
        };
        within("random", monte_carlo.random, evaluated.random.half, exact.random);
        within("best", monte_carlo.optimal, evaluated.best.half, exact.optimal);
        if learner != "c-rlsvi" {
            // Regressions deploy the plan of mean weights if they learn from the states met, and their next plan otherwise. The next one of c-rlsvi is a
            // sample that is far off; the others come to the same.
            within("learned", monte_carlo.value, evaluated.best.half, exact.value);
        }
        let each = |record: &RunRecord| -> Vec<f64> {
            let before = [0.0].into_iter().chain(record.regret.iter().copied());
            record.regret.iter().zip(before).map(|(now, before)| now - before).collect()
        };
        let off = Estimate::of_pairs(&each(&monte_carlo), &each(&exact), evaluation.world().return_range());
        assert!(off.mean.abs() <= 2.0 * off.half, "{learner}: regret is off by {} ± {}", off.mean, off.half);
    }
}

fn study(evaluation: &str, repetitions: u64) -> Study {
    let text = format!(
        "worlds = [\"{RIVER}\"]\nlearners = [\"c-blsvi\", \"c-psrl\", \"uniform\"]\nepisodes = 20\nrepetitions = {repetitions}\n{evaluation}"
    );
    StudyFile::from_toml(&text, "study.toml").unwrap().resolve(Path::new("")).unwrap()
}

fn run(study: &Study, place: &Path) {
    let directory = Directory::claim(place, study).unwrap();
    let ending = execute(study, &directory, None, 2, &AtomicBool::new(false), &|_| {}).unwrap();
    assert!(matches!(ending, Ending::Finished(_)));
}

#[test]
fn the_kind_of_evaluation_is_part_of_a_study_and_of_its_records() {
    let (exact, monte_carlo) = (study("", 1), study("evaluate = \"monte-carlo\"", 1));
    assert_eq!(exact, study("evaluate = \"exact\"", 1));
    assert_ne!(exact.identity(), monte_carlo.identity());
    assert_eq!(Study::from_toml(&monte_carlo.to_toml()).unwrap(), monte_carlo);
    // Whoever chose nothing has the file that studies had before there was a choice.
    assert!(!exact.to_toml().contains("by_play") && monte_carlo.to_toml().contains("by_play_chosen = true"));
    assert!(exact.by_play_note().is_none());
    assert!(monte_carlo.by_play_note().unwrap().contains("as was chosen (evaluate = monte-carlo)"));
    let (one, two) = (TempDir::new("judge-exact"), TempDir::with("judge-play"));
    run(&exact, &one);
    run(&monte_carlo, &two);
    let claimed = Directory::claim(&one, &study("evaluate = \"monte-carlo\"", 2)).unwrap_err().to_string();
    assert!(
        claimed.contains("with evaluation exact in") && claimed.contains("where it is now monte-carlo"),
        "{claimed}"
    );
    let directory = |at: &TempDir| Directory::open(at).unwrap().0;
    let files = |of: &Study, at: &TempDir| directory(at).run_file(of, 0, 0);
    assert_ne!(files(&exact, &one).file_name(), files(&monte_carlo, &two).file_name());
    let error = merge(&exact, &directory(&one), &[directory(&two)]).unwrap_err().to_string();
    assert!(error.contains("with evaluation monte-carlo in"), "{error}");
    // It grows as others do.
    run(&study("evaluate = \"monte-carlo\"", 2), &two);
}

#[test]
fn unsupported_evaluations_are_refused_by_name() {
    let says = |text: &str| {
        let study = StudyFile::from_toml(text, "study.toml").unwrap().resolve(Path::new(""));
        study.unwrap_err().to_string()
    };
    let unlisted = says("worlds = [\"linear-code\"]\nlearners = [\"c-blsvi\"]\nevaluate = \"exact\"");
    assert!(unlisted.contains("linear-code: exact values need all states enumerated"), "{unlisted}");
    let no_anchors = says("worlds = [\"paper\"]\nlearners = [\"c-blsvi\"]\nevaluate = \"monte-carlo\"");
    assert!(
        no_anchors.starts_with("paper: whoever is evaluated by Monte Carlo")
            && no_anchors.contains("or evaluate exactly")
    );
}
