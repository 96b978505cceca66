//! A study in parts, on any number of machines and in any order, is the same as in one piece.

mod temp_dir;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dowise::saved::with_checksum;
use dowise_study::{Directory, Ending, Event, Shard, Study, StudyFile, Tables, execute, merge};
use temp_dir::TempDir;

const STUDY: &str = r#"
name = "Parts"
worlds = ["river-swim:positions=3,horizon=4,levels=2,seed=1", "paper:factors=1,levers=1"]
learners = ["c-psrl", "uniform"]
episodes = 15
repetitions = 3
checkpoints = 4
"#;

fn study(text: &str) -> Study {
    StudyFile::from_toml(text, "parts.toml").unwrap().resolve(Path::new("")).unwrap()
}

/// Runs a shard; it is stopped after `most` of its runs.
fn run(study: &Study, place: &Path, shard: Option<Shard>, most: usize) -> Ending {
    let directory = Directory::claim(place, study).unwrap();
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let tell = |event: Event<'_>| {
        if matches!(event, Event::Done { .. }) && done.fetch_add(1, Ordering::Relaxed) + 1 >= most {
            stop.store(true, Ordering::Relaxed);
        }
    };
    execute(study, &directory, shard, 1, &stop, &tell).unwrap()
}

fn open(place: &Path) -> Directory {
    Directory::open(place).unwrap().0
}

#[test]
fn parts_that_were_stopped_and_run_again_come_to_the_bytes_of_one_run() {
    let study = study(STUDY);
    let whole = TempDir::new("whole");
    assert!(matches!(run(&study, &whole, None, usize::MAX), Ending::Finished(_)));
    for n in [2, 3, 5] {
        let parts: Vec<TempDir> = (0..n).map(|i| TempDir::new(&format!("part-{n}-{i}"))).collect();
        // The last first, and each stopped once in its middle.
        for (i, place) in parts.iter().enumerate().rev() {
            let shard: Shard = format!("{}/{n}", i + 1).parse().unwrap();
            assert!(matches!(run(&study, place, Some(shard), 1), Ending::Interrupted { done: 1, .. }));
            assert!(matches!(run(&study, place, Some(shard), usize::MAX), Ending::Part { total: 12, .. }));
            assert!(!place.join("tables.json").exists(), "a part has no tables");
        }
        let target = TempDir::with(&format!("merged-{n}"));
        let into = Directory::claim(&target, &study).unwrap();
        let from: Vec<Directory> = parts.iter().map(|place| open(place)).collect();
        let few = merge(&study, &into, &from[1..]).unwrap();
        assert!(few.done < few.total && few.missing[0].contains("repetition"), "{few:?}");
        let all = merge(&study, &into, &from).unwrap();
        assert_eq!((all.done, all.missing.len()), (12, 0));
        Tables::collect(&study, &into).unwrap().write(&study, &into).unwrap();
        for name in ["runs.csv", "curves.csv", "summary.csv", "study.toml"] {
            assert_eq!(
                std::fs::read(target.join(name)).unwrap(),
                std::fs::read(whole.join(name)).unwrap(),
                "{n} {name}"
            );
        }
    }
}

#[test]
fn what_does_not_belong_together_is_refused_by_name() {
    let (first, second) = (TempDir::new("one"), TempDir::new("two"));
    let (mine, other) = (study(STUDY), study(&STUDY.replace("episodes = 15", "episodes = 16")));
    run(&mine, &first, Some("1/2".parse().unwrap()), usize::MAX);
    run(&other, &second, Some("2/2".parse().unwrap()), usize::MAX);
    let target = TempDir::new("target");
    let into = Directory::claim(&target, &mine).unwrap();
    let error = merge(&mine, &into, &[open(&first), open(&second)]).unwrap_err().to_string();
    assert!(error.contains("another study, of 16 episodes instead of 15; merge parts of one study"), "{error}");

    // Parts that overlap must agree.
    let again = TempDir::new("again");
    run(&mine, &again, None, usize::MAX);
    let all = merge(&mine, &into, &[open(&first), open(&again)]).unwrap();
    assert_eq!(all.done, 12);
    let file = open(&first).run_file(&mine, 0, 0);
    let text = std::fs::read_to_string(&file).unwrap();
    let (body, _) = text.rsplit_once(",\"checksum\"").unwrap();
    let reward = body.split("\"reward\":").nth(1).unwrap().split(',').next().unwrap();
    std::fs::write(&file, format!("{}}}\n", with_checksum(&body.replace(reward, "0.125")))).unwrap();
    let error = merge(&mine, &into, &[open(&first), open(&again)]).unwrap_err().to_string();
    assert!(error.contains("another directory has this run with other numbers"), "{error}");
}
