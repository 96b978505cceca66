//! Results are believed only if they are what this study wrote: records, tables, and the directory itself.

mod temp_dir;

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dowise::saved::with_checksum;
use dowise_study::{Directory, Ending, Event, Study, StudyError, StudyFile, Tables, execute};
use temp_dir::TempDir;

const SMALL: &str = r#"
name = "Small"
worlds = ["river-swim:positions=3,horizon=4,levels=2,seed=1"]
learners = ["c-psrl", "uniform"]
episodes = 20
repetitions = 2
seed = 5
checkpoints = 4
"#;

fn study(text: &str) -> Study {
    StudyFile::from_toml(text, "small.toml").unwrap().resolve(Path::new("")).unwrap()
}

fn run(study: &Study, place: &Path) -> Result<Ending, StudyError> {
    let directory = Directory::claim(place, study)?;
    execute(study, &directory, None, 1, &AtomicBool::new(false), &|_| {})
}

fn says(study: &Study, place: &Path) -> String {
    run(study, place).unwrap_err().to_string()
}

fn record(place: &Path, setting: usize, repetition: u64) -> PathBuf {
    let (directory, study) = Directory::open(place).unwrap();
    directory.run_file(&study, setting, repetition)
}

/// Changes a text and makes its checksum fit again, as somebody might who knows how.
fn forged(text: &str, from: &str, to: &str) -> String {
    let (open, _) = text.rsplit_once(",\"checksum\"").unwrap();
    assert!(open.contains(from), "{from} in {open}");
    format!("{}}}\n", with_checksum(&open.replacen(from, to, 1)))
}

#[test]
fn a_record_that_was_changed_is_named_and_run_again_once_it_is_gone() {
    let (study, place) = (study(SMALL), TempDir::new("changed"));
    run(&study, &place).unwrap();
    let file = record(&place, 1, 1);
    let whole = std::fs::read_to_string(&file).unwrap();
    // Any one character, anywhere.
    for i in (0..whole.trim_end().len()).step_by(7) {
        let mut bytes = whole.clone().into_bytes();
        bytes[i] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        let error = says(&study, &place);
        assert!(error.starts_with(&format!("{}: checksum: ", file.display())), "{error}");
        assert!(error.ends_with("; delete the file, and the same command runs this repetition again"), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    run(&study, &place).unwrap();
    let seconds = |text: &str| text.split_once("\"seconds\"").unwrap().0.to_owned();
    assert_eq!(seconds(&std::fs::read_to_string(&file).unwrap()), seconds(&whole));
}

#[test]
fn what_no_run_can_come_to_is_refused_even_with_a_checksum_that_fits() {
    let (study, place) = (study(SMALL), TempDir::new("forged"));
    run(&study, &place).unwrap();
    let file = record(&place, 1, 1);
    let whole = std::fs::read_to_string(&file).unwrap();
    let cases = [
        ("\"regret\":[", "\"regret\":[0.0,", "regret: there are 7 sums, and 6 checkpoints"),
        ("\"regret\":[", "\"regret\":[-", "a sum of regrets never falls"),
        ("\"regret\":[", "\"regret\":[99", "is more than the rewards allow"),
        ("\"regret\":[", "\"regret\":[null,", "schema: this is not a saved run"),
        ("\"value\":", "\"value\":99", "value: 99"),
        ("\"optimal\":", "\"optimal\":-", "value: "),
        ("\"reward\":", "\"reward\":99999", "reward: 99999"),
        ("\"seconds\":", "\"seconds\":-", "seconds: -"),
        ("\"bound\":", "\"bound\":-", "bound: -"),
        ("\"repetition\":1", "\"repetition\":0", "repetition: it is 0, and this run's is 1"),
        ("\"seed\":6", "\"seed\":7", "seed: it is 7, and this run's is 6"),
        ("\"learner\":\"uniform", "\"learner\":\"c-psrl", "learner: it is c-psrl, and this run's is uniform"),
        ("\"episodes\":20", "\"episodes\":21", "episodes: it is 21, and this run's is 20"),
        ("\"fingerprint\":\"", "\"fingerprint\":\"0", "fingerprint: it is 0"),
        ("\"made_by\":\"", "\"made_by\":\"0", "made_by: it is 0"),
        ("\"checkpoints\":4", "\"checkpoints\":5", "checkpoints: it is 5, and this run's is 4"),
        ("\"random\":", "\"random\":99", "random: 99"),
        (
            "dowise-run/2",
            "dowise-run/1",
            "schema: this is `dowise-run` version 1, and this dowise reads `dowise-run` version 2",
        ),
    ];
    for (from, to, why) in cases {
        std::fs::write(&file, forged(&whole, from, to)).unwrap();
        let error = says(&study, &place);
        assert!(error.starts_with(&format!("{}: ", file.display())) && error.contains(why), "{to}: {error}");
    }
    std::fs::write(&file, forged(&whole, "river", "river")).unwrap();
    run(&study, &place).unwrap();
}

#[test]
fn records_that_change_places_or_come_from_another_study_are_refused() {
    let (study_, place, other) = (study(SMALL), TempDir::new("moved"), TempDir::new("elsewhere"));
    run(&study_, &place).unwrap();
    let another = study(&SMALL.replace("checkpoints = 4", "checkpoints = 5"));
    run(&another, &other).unwrap();
    let copies = [
        (record(&place, 0, 0), record(&place, 1, 0), "learner: it is c-psrl, and this run's is uniform"),
        (record(&place, 0, 0), record(&place, 0, 1), "repetition: it is 0, and this run's is 1"),
        (record(&other, 0, 0), record(&place, 0, 0), "checkpoints: it is 5, and this run's is 4"),
    ];
    for (from, to, why) in copies {
        let kept = std::fs::read(&to).unwrap();
        std::fs::copy(&from, &to).unwrap();
        let error = says(&study_, &place);
        assert!(error.starts_with(&to.display().to_string()) && error.contains(why), "{error}");
        std::fs::write(&to, kept).unwrap();
    }
    run(&study_, &place).unwrap();
}

#[test]
fn tables_are_read_only_as_they_were_written() {
    let (study, place) = (study(SMALL), TempDir::new("tables"));
    run(&study, &place).unwrap();
    let read = || {
        let (directory, study) = Directory::open(&place)?;
        Tables::read(&study, &directory)
    };
    assert_eq!(read().unwrap().runs.len(), 4);
    for name in ["runs.csv", "curves.csv", "timings.csv"] {
        let whole = std::fs::read_to_string(place.join(name)).unwrap();
        let last = whole.rfind(|c: char| c.is_ascii_digit()).unwrap();
        let changed =
            [whole[..last].to_owned() + "x\n", whole[..whole.len() / 2].to_owned(), format!("{whole}{whole}")];
        for text in changed {
            std::fs::write(place.join(name), text).unwrap();
            let error = read().unwrap_err().to_string();
            assert!(
                error.contains(&format!("{name}: it is not the table that was written with tables.json")),
                "{error}"
            );
            assert!(error.ends_with("it makes the tables afresh from runs/"), "{error}");
        }
        std::fs::remove_file(place.join(name)).unwrap();
        assert!(read().is_err());
        // What the message says helps.
        run(&study, &place).unwrap();
        assert!(read().is_ok());
    }
    let sums = std::fs::read_to_string(place.join("tables.json")).unwrap();
    std::fs::write(place.join("tables.json"), sums.replacen("\"bounds\":[", "\"bounds\":[9", 1)).unwrap();
    assert!(read().unwrap_err().to_string().contains("tables.json: checksum: "));
    std::fs::remove_file(place.join("tables.json")).unwrap();
    assert!(read().unwrap_err().to_string().contains("it is missing, so the study is not finished"));
    // Tables that somebody has made fit their checksums are held against the study all the same.
    let forge = |name: &str, from: &str, to: &str| {
        run(&study, &place).unwrap();
        let (table, sums) = (std::fs::read_to_string(place.join(name)).unwrap(), place.join("tables.json"));
        assert!(table.contains(from), "{from} in {table}");
        let changed = table.replacen(from, to, 1);
        std::fs::write(place.join(name), &changed).unwrap();
        let sum = |text: &str| dowise::saved::checksum(text.as_bytes());
        let text = std::fs::read_to_string(&sums).unwrap();
        std::fs::write(&sums, forged(&text, &sum(&table), &sum(&changed))).unwrap();
        read().unwrap_err().to_string()
    };
    assert!(forge("curves.csv", ",20,0,1,", ",20,0,1,-").contains("a sum of regrets never falls"));
    assert!(
        forge("curves.csv", ",20,0,1,", ",20,0,1,NaN\n0,,,,,,,,20,0,1,")
            .contains("line 2: `NaN` is not a number that can be drawn")
    );
    assert!(forge("curves.csv", ",20,0,1,", ",20,0,2,").contains("its rows are not those of the study's checkpoints"));
    assert!(
        forge("runs.csv", ",20,0,5,", ",20,0,6,").contains("seed 6 where setting 0, repetition 0, seed 5 should be")
    );
    assert!(forge("runs.csv", ",20,0,5,", ",20,0,5,1").contains("is not where the curve ends"));
}

#[test]
fn a_directory_that_was_half_claimed_is_taken() {
    let study = study(SMALL);
    let leave = |name: &str, what: &dyn Fn(&Path)| {
        let place = TempDir::with(name);
        what(&place);
        place
    };
    let write = |path: PathBuf, text: &str| std::fs::write(path, text).unwrap();
    let half = [
        leave("runs-only", &|p| std::fs::create_dir(p.join("runs")).unwrap()),
        leave("part-only", &|p| write(p.join(".dowise-0123456789abcdef-x.part"), "schema")),
        leave("earlier", &|p| {
            std::fs::create_dir(p.join("runs")).unwrap();
            write(p.join(".study.toml.4711.part"), "schema");
            write(p.join("runs/.0000-0000.json.4711.part"), "{");
        }),
        leave("no-power", &|p| write(p.join("study.toml"), "")),
    ];
    for place in &half {
        run(&study, place).unwrap();
        let left: Vec<PathBuf> = std::fs::read_dir(&**place).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(left.iter().all(|p| !p.display().to_string().ends_with(".part")), "{left:?}");
    }
    // Nothing of anybody else is taken for a leftover.
    let others = [
        leave("notes", &|p| write(p.join("notes.part"), "mine")),
        leave("results", &|p| {
            std::fs::create_dir(p.join("runs")).unwrap();
            write(p.join("runs/0000-0000.json"), "mine");
        }),
        leave("runs-file", &|p| write(p.join("runs"), "mine")),
    ];
    for place in &others {
        assert!(says(&study, place).contains("is not empty and holds no study"), "{}", says(&study, place));
        assert!(!place.join("study.toml").exists());
    }
    let own = leave("own", &|p| write(p.join("study.toml"), SMALL));
    assert!(says(&study, &own).contains("study.toml that is not the record of a study"));
    assert_eq!(std::fs::read_to_string(own.join("study.toml")).unwrap(), SMALL);
    let directory = leave("directory", &|p| std::fs::create_dir(p.join("study.toml")).unwrap());
    assert!(says(&study, &directory).contains("study.toml: it is a directory"));
    let file = leave("file", &|p| write(p.join("out"), "mine"));
    assert!(says(&study, &file.join("out")).contains("cannot write"));
}

#[test]
fn one_of_many_studies_gets_a_directory() {
    let studies: Vec<Study> = (0..6).map(|i| study(&SMALL.replace("seed = 5", &format!("seed = {i}")))).collect();
    for round in 0..50 {
        let place = TempDir::new(&format!("race-{round}"));
        let barrier = Barrier::new(studies.len());
        let claim = |study: &Study| {
            barrier.wait();
            Directory::claim(&place, study).map(drop).map_err(|e| e.to_string())
        };
        let claims: Vec<Result<(), String>> = std::thread::scope(|scope| {
            let claim = &claim;
            let threads: Vec<_> = studies.iter().map(|s| scope.spawn(move || claim(s))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let winners: Vec<usize> = (0..studies.len()).filter(|&i| claims[i].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{claims:?}");
        for refused in claims.iter().filter_map(|c| c.as_ref().err()) {
            assert!(refused.contains("holds the results of another study, with seed"), "{refused}");
        }
        assert_eq!(Directory::open(&place).unwrap().1, studies[winners[0]]);
    }
}

#[test]
fn an_enlarged_study_runs_only_new_runs_and_equals_one_of_that_size() {
    let (small, place, whole) = (study(SMALL), TempDir::new("grown"), TempDir::new("at-once"));
    run(&small, &place).unwrap();
    let large =
        study(&SMALL.replace("repetitions = 2", "repetitions = 3").replace("[\"c-psrl\",", "[\"greedy\", \"c-psrl\","));
    let kept: Vec<(PathBuf, Vec<u8>)> = (0..4)
        .map(|i| record(&place, i / 2, i as u64 % 2))
        .map(|file| (file.clone(), std::fs::read(file).unwrap()))
        .collect();
    let begun = AtomicUsize::new(0);
    let directory = Directory::claim(&place, &large).unwrap();
    let tell = |event: Event<'_>| {
        if let Event::Begun { done, .. } = event {
            begun.store(done, Ordering::Relaxed);
        }
    };
    execute(&large, &directory, None, 1, &AtomicBool::new(false), &tell).unwrap();
    assert_eq!(begun.into_inner(), 4, "what was there is not run again");
    assert!(kept.iter().all(|(file, bytes)| std::fs::read(file).unwrap() == *bytes));
    run(&large, &whole).unwrap();
    for name in ["runs.csv", "curves.csv", "summary.csv", "study.toml"] {
        assert_eq!(std::fs::read(place.join(name)).unwrap(), std::fs::read(whole.join(name)).unwrap(), "{name}");
    }
    // The smaller one is another study now, and says so.
    assert!(
        says(&small, &place).contains("another study, with 3 repetitions instead of 2"),
        "{}",
        says(&small, &place)
    );
}

#[test]
fn tables_of_a_study_that_has_grown_are_left_to_whoever_made_it_larger() {
    let (small, place) = (study(SMALL), TempDir::new("meanwhile"));
    let directory = Directory::claim(&place, &small).unwrap();
    Directory::claim(&place, &study(&SMALL.replace("repetitions = 2", "repetitions = 3"))).unwrap();
    let error = execute(&small, &directory, None, 1, &AtomicBool::new(false), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("another process has made larger; all runs are kept"), "{error}");
    assert!(!place.join("tables.json").exists());
}

#[test]
fn a_study_is_what_decides_its_results_and_nothing_else() {
    let at = TempDir::with("same");
    let world = dowise::worlds::text("campaign", &[]).unwrap();
    std::fs::create_dir(at.join("moved")).unwrap();
    let place_world = |file: &str, text: &str| std::fs::write(at.join(file), text).unwrap();
    let text = |file: &str, name: &str| {
        format!("name = \"{name}\"\nworlds = [\"{file}\"]\nlearners = [\"uniform\"]\nepisodes = 3\nrepetitions = 2\n")
    };
    let resolve = |text: &str| StudyFile::from_toml(text, "s.toml").unwrap().resolve(&at).unwrap();
    place_world("campaign.toml", &world);
    let first = resolve(&text("campaign.toml", "One"));
    run(&first, &at.join("out")).unwrap();
    // Titles, descriptions and comments change, and the file moves: the same study goes on.
    let (name, about) = (world.lines().find(|l| l.starts_with("name")).unwrap(), world.find("about").is_some());
    assert!(about);
    place_world("moved/campaign.toml", &world.replacen(name, "name = \"Other words\" # a comment", 1));
    let second = resolve(&text("moved/campaign.toml", "Two"));
    assert_eq!(first.identity(), second.identity());
    run(&second, &at.join("out")).unwrap();
    assert_eq!(Directory::open(&at.join("out")).unwrap().1.name, "Two");
    // A number changes: it does not.
    let number = world.replacen("horizon = ", "horizon = 1", 1);
    assert_ne!(number, world);
    place_world("campaign.toml", &number);
    let third = resolve(&text("campaign.toml", "One"));
    assert!(says(&third, &at.join("out")).contains("which has changed since"));
    // And if it changes between two runs of one study, the second is not played.
    let run_file = record(&at.join("out"), 0, 1);
    std::fs::remove_file(&run_file).unwrap();
    place_world("moved/campaign.toml", &number);
    assert!(says(&second, &at.join("out")).contains("campaign.toml has changed since the study began"));
    assert!(!run_file.exists());
}

#[test]
fn a_directory_of_an_earlier_kind_is_refused_by_name() {
    let (study, place) = (study(SMALL), TempDir::new("earlier-kind"));
    run(&study, &place).unwrap();
    let text = std::fs::read_to_string(place.join("study.toml")).unwrap();
    std::fs::write(place.join("study.toml"), text.replace("dowise-study/3", "dowise-study/2")).unwrap();
    for error in [says(&study, &place), Directory::open(&place).unwrap_err().to_string()] {
        assert!(error.contains("(its schema is dowise-study/2, and this one reads dowise-study/3)"), "{error}");
        assert!(error.contains("run it again in another directory"), "{error}");
    }
    // Numbers that no study has are refused before anything is allocated for them.
    std::fs::write(place.join("study.toml"), text.replace("repetitions = 2", "repetitions = 1000000000000")).unwrap();
    assert!(Directory::open(&place).unwrap_err().to_string().contains("2000000000000 runs"));
}

#[test]
fn what_would_not_fit_is_refused_with_its_number() {
    let says = |from: &str, to: &str| {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL);
        let resolved = StudyFile::from_toml(&text, "s.toml").and_then(|f| f.resolve(Path::new("")));
        resolved.unwrap_err().to_string()
    };
    assert!(says("repetitions = 2", "repetitions = 1000000000").contains("is 1000000000, and 1 combination makes"));
    assert!(says("repetitions = 2", "repetitions = 1000000000000000000").contains("is 1000000000000000000"));
    assert!(says("repetitions = 2", "repetitions = 600000").contains("2 combinations make 1200000 runs"));
    assert!(
        says("episodes = 20", "episodes = 1000000000000000000").contains("is 1000000000000000000; a run has at most")
    );
    assert!(says("seed = 5", "seed = 9223372036854775807").contains("seed (--seed) is 9223372036854775807"));
    let text = SMALL
        .replace("episodes = 20", "episodes = 900000000")
        .replace("checkpoints = 4", "checkpoints = 1000000000000000000");
    let error = StudyFile::from_toml(&text, "s.toml").unwrap().resolve(Path::new("")).unwrap_err().to_string();
    assert!(error.contains("points or more on the curves of 2 runs; a study has at most 4000000"), "{error}");
    let values: Vec<String> = (0..200).map(|i| i.to_string()).collect();
    let list = values.join(", ");
    let sweeps = format!("checkpoints = 4\n[sweep.world]\nlevels = [{list}]\nhorizon = [{list}]");
    assert!(says("checkpoints = 4", &sweeps).contains("combinations or more; a study has at most 10000"));
}
