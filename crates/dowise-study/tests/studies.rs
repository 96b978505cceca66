//! Studies from settings to tables: the same bytes whatever happens on the way, a schema that does not drift, and
//! mistakes that are named.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dowise_study::{Directory, Ending, Event, RunRow, Study, StudyError, StudyFile, Tables, execute, figures};

/// A directory of its own that goes when the test ends.
struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> TempDir {
        let path = std::env::temp_dir().join(format!("dowise-studies-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        TempDir(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SMALL: &str = r#"
name = "Small"
worlds = ["paper:levers=1,horizon=2", "river-swim:positions=3,horizon=4,levels=2,seed=1"]
learners = ["c-ucbvi:width=paper-plain,scale=0.01", "c-psrl", "uniform"]
episodes = 20
repetitions = 3
seed = 5
checkpoints = 4
[sweep.world]
factors = [1, 2]
[sweep.learner]
schedule = ["episode", "doubling"]
"#;

fn small() -> Study {
    StudyFile::from_toml(SMALL, "small.toml").unwrap().resolve(Path::new("")).unwrap()
}

/// Runs the study until it is done, or until `most` runs are done.
fn run(study: &Study, place: &Path, threads: usize, most: usize) -> Ending {
    let directory = Directory::claim(place, study).unwrap();
    let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let tell = |event: Event<'_>| {
        if matches!(event, Event::Done { .. }) && count.fetch_add(1, Ordering::Relaxed) + 1 >= most {
            stop.store(true, Ordering::Relaxed);
        }
    };
    execute(study, &directory, None, threads, &stop, &tell).unwrap()
}

/// All files that must not depend on time or threads.
fn data(place: &Path) -> Vec<(String, Vec<u8>)> {
    ["study.toml", "runs.csv", "curves.csv", "summary.csv"]
        .map(|name| (name.to_owned(), std::fs::read(place.join(name)).unwrap()))
        .to_vec()
}

#[test]
fn a_study_stopped_again_and_again_is_the_same_bytes_as_one_that_was_not() {
    let study = small();
    let (whole, broken) = (TempDir::new("whole"), TempDir::new("broken"));
    assert!(matches!(run(&study, &whole.0, 1, usize::MAX), Ending::Finished(_)));
    let mut stops = 0;
    loop {
        match run(&study, &broken.0, 2, 1 + stops % 4) {
            Ending::Finished(_) => break,
            Ending::Part { .. } => panic!("nothing was left to another shard"),
            Ending::Interrupted { done, total } => {
                assert!(done < total);
                assert!(!broken.0.join("runs.csv").exists());
                stops += 1;
            }
        }
        if stops == 3 {
            // Half a record is not taken for a result: it is named, and run again once it is gone.
            let some = std::fs::read_dir(broken.0.join("runs")).unwrap().next().unwrap().unwrap().path();
            let text = std::fs::read_to_string(&some).unwrap();
            std::fs::write(&some, &text[..text.len() / 2]).unwrap();
            let directory = Directory::claim(&broken.0, &study).unwrap();
            let error = execute(&study, &directory, None, 1, &AtomicBool::new(false), &|_| {}).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: checksum: ", some.display())), "{error}");
            assert!(error.ends_with("delete the file, and the same command runs this repetition again"), "{error}");
            std::fs::remove_file(some).unwrap();
        }
    }
    assert!(stops > 3);
    assert_eq!(data(&whole.0), data(&broken.0));
}

#[test]
fn runs_with_non_enumerable_states_are_evaluated_by_monte_carlo_and_say_so() {
    let text = "worlds = [\"linear-code:places=3,symbols=9\"]\nlearners = [\"c-blsvi\", \"uniform\"]\nepisodes = 40\nrepetitions = 2";
    let study = StudyFile::from_toml(text, "study.toml").unwrap().resolve(Path::new("")).unwrap();
    assert!(study.combinations.iter().all(|s| s.monte_carlo) && study.by_play_note().is_some());
    let (one, two) = (TempDir::new("by-play-1"), TempDir::new("by-play-2"));
    assert!(matches!(run(&study, &one.0, 1, usize::MAX), Ending::Finished(_)));
    assert!(matches!(run(&study, &two.0, 2, usize::MAX), Ending::Finished(_)));
    assert_eq!(data(&one.0), data(&two.0));
    // What was written is read back, although estimated regret may fall.
    let (directory, read) = Directory::open(&one.0).unwrap();
    let tables = Tables::read(&read, &directory).unwrap();
    assert_eq!(read, study);
    let reached = |i: usize| tables.runs.iter().filter(|r| r.combination == i).map(RunRow::reached).sum::<f64>() / 2.0;
    assert!(reached(0) > 0.9, "{}", reached(0));
    assert!(reached(1).abs() < 1e-12, "the same random numbers judge interventions at random: {}", reached(1));
    assert!(tables.summary(0).mean < 0.5 * tables.summary(1).mean);
    let counts = text.replace("uniform", "c-ucbvi");
    let error = StudyFile::from_toml(&counts, "study.toml").unwrap().resolve(Path::new("")).unwrap_err().to_string();
    assert!(error.contains("c-ucbvi counts") && error.contains("such as c-blsvi"), "{error}");
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let study = small();
    let (one, four) = (TempDir::new("one"), TempDir::new("four"));
    run(&study, &one.0, 1, usize::MAX);
    run(&study, &four.0, 4, usize::MAX);
    assert_eq!(data(&one.0), data(&four.0));
}

#[test]
fn the_columns_of_the_tables_are_pinned() {
    let place = TempDir::new("columns");
    run(&small(), &place.0, 2, usize::MAX);
    let header = |name: &str| {
        let text = std::fs::read_to_string(place.0.join(name)).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    let setting =
        "setting,world,parameters,learner,options,estimate,width,scale,episodes,world.factors,learner.schedule";
    assert_eq!(
        header("runs.csv"),
        format!("{setting},repetition,seed,regret,reward,optimal_value,final_value,random_value")
    );
    assert_eq!(header("curves.csv"), format!("{setting},repetition,episode,regret"));
    assert_eq!(header("summary.csv"), format!("{setting},runs,mean,sd,min,q25,median,q75,max"));
    assert_eq!(header("timings.csv"), format!("{setting},repetition,seconds,episodes_per_second"));
}

#[test]
fn figures_made_from_the_files_are_those_made_from_the_runs() {
    let study = small();
    let place = TempDir::new("figures");
    let Ending::Finished(tables) = run(&study, &place.0, 2, usize::MAX) else { panic!("it was not stopped") };
    let (directory, read) = Directory::open(&place.0).unwrap();
    assert_eq!(read, study);
    let again = Tables::read(&read, &directory).unwrap();
    assert_eq!((&again.runs, &again.curves), (&tables.runs, &tables.curves));
    let (first, second) = (figures(&study, &tables), figures(&read, &again));
    assert!(first.iter().any(|(name, _)| name.starts_with("regret-by-world-factors")));
    assert_eq!(first, second);
}

#[test]
fn learners_see_the_same_worlds_and_fresh_worlds_differ() {
    let study = small();
    let place = TempDir::new("paired");
    let Ending::Finished(tables) = run(&study, &place.0, 2, usize::MAX) else { panic!("it was not stopped") };
    let optimal = |learner: &str, repetition: u64| {
        let row = tables.runs.iter().find(|r| {
            let s = &study.combinations[r.combination];
            s.world.name() == "paper" && s.learner.preset().name() == learner && r.repetition == repetition
        });
        row.unwrap().optimal
    };
    assert_eq!(optimal("c-psrl", 0), optimal("uniform", 0));
    assert_ne!(optimal("c-psrl", 0), optimal("c-psrl", 1));
}

#[test]
fn a_directory_of_another_study_or_with_other_things_is_refused() {
    let place = TempDir::new("other");
    run(&small(), &place.0, 1, 2);
    let refused = |text: String| {
        let other = StudyFile::from_toml(&text, "s.toml").unwrap().resolve(Path::new("")).unwrap();
        Directory::claim(&place.0, &other).unwrap_err().to_string()
    };
    assert!(refused(SMALL.replace("seed = 5", "seed = 6")).contains("another study, with seed 5 instead of 6; choose"));
    assert!(refused(SMALL.replace("episodes = 20", "episodes = 30")).contains("of 20 episodes instead of 30"));
    assert!(
        refused(SMALL.replace("\"c-psrl\"", "\"psrl\""))
            .contains("with c-psrl:schedule=episode where there is now psrl")
    );
    // What an earlier dowise drew is not mixed with what this one draws.
    let saved = std::fs::read_to_string(place.0.join("study.toml")).unwrap();
    let draws = format!("draws {}", dowise::learn::DRAWS);
    assert!(saved.contains(&draws), "{saved}");
    std::fs::write(place.0.join("study.toml"), saved.replace(&draws, "draws 1")).unwrap();
    assert!(refused(SMALL.to_owned()).contains("another study, with other random draws (rand "));
    let full = TempDir::new("full");
    std::fs::create_dir_all(&full.0).unwrap();
    std::fs::write(full.0.join("thesis.tex"), "important").unwrap();
    let error = Directory::claim(&full.0, &small()).unwrap_err();
    assert!(error.to_string().contains("is not empty and holds no study"), "{error}");
}

#[test]
fn unknown_names_in_a_study_file_offer_the_nearest() {
    let says = |text: String| {
        let resolved = StudyFile::from_toml(&text, "s.toml").and_then(|f| f.resolve(Path::new("")));
        resolved.unwrap_err().to_string()
    };
    assert!(says(SMALL.replace("c-psrl", "c-prsl")).contains("did you mean `c-psrl`?"));
    assert!(says(SMALL.replace("\"paper:levers=1", "\"paper:lever=1")).contains("did you mean \"levers\"?"));
    assert!(says(SMALL.replace("factors =", "factor =")).contains("did you mean \"factors\"?"));
    assert!(says(SMALL.replace("schedule =", "shedule =")).contains("did you mean `schedule`?"));
    assert!(says(SMALL.replace("repetitions =", "repetition =")).contains("did you mean `repetitions`?"));
    assert!(says(SMALL.replace("river-swim", "river-swimm")).contains("did you mean \"river-swim\"?"));
}

#[test]
fn what_cannot_be_written_is_said_and_what_is_done_is_kept() {
    let study = small();
    let place = TempDir::new("write");
    run(&study, &place.0, 1, 3);
    let kept = || std::fs::read_dir(place.0.join("runs")).unwrap().count();
    let before = kept();
    // A directory stands where a table should go: the same failure as a disk that refuses, and it needs no full disk.
    std::fs::create_dir(place.0.join("runs.csv")).unwrap();
    let directory = Directory::claim(&place.0, &study).unwrap();
    let error = execute(&study, &directory, None, 1, &AtomicBool::new(false), &|_| {}).unwrap_err();
    assert!(matches!(error, StudyError::Unwritable { .. }) && error.is_io());
    assert!(error.to_string().contains("runs.csv: it is a directory; give the name of a file"), "{error}");
    assert!(kept() > before);
    std::fs::remove_dir(place.0.join("runs.csv")).unwrap();
    assert!(matches!(run(&study, &place.0, 1, usize::MAX), Ending::Finished(_)));
    let leftovers = std::fs::read_dir(&place.0)
        .unwrap()
        .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().ends_with(".part"));
    assert_eq!(leftovers.count(), 0);
}
