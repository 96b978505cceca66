//! Every world of `docs/gallery` is good, can be planned in and learned, from logs too, and has its picture.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use dowise::data::{Chooser, CsvTable, LogReader, LogStep, LogWriter, WrittenColumns, simulate_log};
use dowise::offline::fit::{FitOptions, Fitting};
use dowise::offline::{Episodes, OfflineOptions, calibrate, evaluate, plan_safely};
use dowise::world::{Severity, VarId};
use dowise::{Arena, LearnerSpec, Simulator, World, draw};

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    let all = std::fs::read_dir(dir).expect("docs/gallery").map(|f| f.expect("a file").path());
    let mut files: Vec<PathBuf> = all.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

#[test]
fn worlds_of_the_gallery_are_good_and_have_their_pictures() {
    assert_eq!(files().len(), 6);
    let readme = include_str!("../../../docs/gallery/README.md");
    for file in files() {
        let world = World::from_file(&file).unwrap_or_else(|e| panic!("{e}"));
        let warnings: Vec<_> = world.findings().iter().filter(|f| f.severity != Severity::Note).collect();
        assert!(warnings.is_empty(), "{}: {warnings:?}", file.display());
        let name = file.file_name().unwrap().to_string_lossy();
        assert!(readme.contains(&*name), "{name} is not in docs/gallery/README.md");
        let picture = file.with_extension("svg");
        if std::env::var_os("DOWISE_BLESS").is_some() {
            std::fs::write(&picture, draw::svg(&world)).unwrap();
        }
        let drawn = std::fs::read_to_string(&picture).unwrap_or_default();
        assert!(
            drawn == draw::svg(&world),
            "{}: draw it anew with DOWISE_BLESS=1 cargo test -p dowise --test gallery",
            picture.display()
        );
        let again = World::from_toml(&world.to_toml(), "again.toml").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.to_toml(), world.to_toml(), "{name}");
    }
}

#[test]
fn worlds_of_the_gallery_can_be_planned_in_and_learned() {
    for file in files() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let world = World::from_file(&file).unwrap();
        let arena = Arena::new(&world).unwrap();
        arena.planner().verify(arena.best()).unwrap();
        let (best, (random, _)) = (arena.optimal(), arena.at_random());
        assert!(best > random + 0.02 * best.abs(), "{name}: {best} against {random} at random");
        let spec: LearnerSpec = "graph-psrl:schedule=doubling".parse().unwrap();
        let mut learner = spec.learner(&world, 200, 1).unwrap();
        let mut run = arena.run(1);
        (0..200).for_each(|_| {
            run.play(&mut learner, false);
        });
        let value = arena.value_of(learner.learned_policy().actions()).unwrap();
        assert!(value > random + 0.5 * (best - random), "{name}: {value} of {best}, {random} at random");
    }
}

/// A log of episodes with interventions drawn from all, as a file.
fn log_file(world: &World, episodes: u64, seed: u64) -> Vec<u8> {
    let with = WrittenColumns { end: true, ..WrittenColumns::default() };
    let mut writer = LogWriter::new(world, Vec::new(), with).unwrap();
    let mut n = 0;
    simulate_log(&Simulator::new(world).unwrap(), Chooser::AtRandom, episodes, seed, |steps| {
        n += 1;
        writer.episode(&n.to_string(), steps, &[]).unwrap();
        ControlFlow::Continue(())
    });
    writer.finish().unwrap()
}

/// Reads the file for a world; nothing may be wrong in it.
fn read(world: &World, file: Vec<u8>, mut each: impl FnMut(&[LogStep<'_>])) {
    let table = CsvTable::new(std::io::Cursor::new(file), "log.csv").unwrap();
    let report = LogReader::new(table, world, None).unwrap().episodes(|steps| {
        each(steps);
        ControlFlow::Continue(())
    });
    let findings = report.unwrap().findings;
    assert!(!findings.has_errors(), "{findings}");
}

#[test]
fn worlds_of_the_gallery_are_fitted_to_logs_what_next_values_pay_included() {
    for file in files() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let world = World::from_file(&file).unwrap();
        let mut fitting = Fitting::new(&world, FitOptions::default()).unwrap();
        let of = fitting.world().clone();
        read(&of, log_file(&world, 3000, 1), |steps| steps.iter().for_each(|step| fitting.add(step).unwrap()));
        let fitted = fitting.fit().unwrap();
        let again = World::from_toml(fitted.text(), "fitted.toml").unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(again.is_fully_known() && again.to_toml() == fitted.world().to_toml(), "{name}");
        let used = fitted.reliance(20, 1).unwrap();
        for (table, used) in fitted.report().tables.iter().zip(&used) {
            assert_eq!(table.rows.len(), used.len(), "{name}: {}", table.what);
        }
        for (term, found) in world.rewards().iter().zip(again.rewards()) {
            let names = |of: &World, ids: &[VarId]| -> Vec<String> {
                ids.iter().map(|&id| of.variable(id).name.clone()).collect()
            };
            let [then, now] =
                [(&world, term), (&again, found)].map(|(of, t)| (names(of, &t.scope), names(of, &t.next)));
            assert_eq!(then, now, "{name}");
            let report = fitted.report().tables.iter().find(|t| t.what.starts_with(&format!("reward {}(", term.name)));
            let report = report.unwrap_or_else(|| panic!("{name}: {} is not in the report", term.name));
            assert_eq!(report.given.len(), term.scope.len() + term.next.len(), "{name}: {}", report.what);
            let (truth, found) = (term.table.as_ref().unwrap(), found.table.as_ref().unwrap());
            let mut seen = 0;
            for ((truth, found), row) in truth.iter().zip(found.iter()).zip(&report.rows) {
                let n = row.visits as f64;
                // A payment that is not random is off by the prior alone, which is worth two visits.
                let prior = (term.range[1] - term.range[0]) * 2.0 / (2.0 + n);
                let chance = if term.random { 4.5 * (term.range[1] - term.range[0]) * 0.5 / n.sqrt() } else { 0.0 };
                assert!(n == 0.0 || (truth - found).abs() <= prior + chance + 1e-6, "{name}, {}: {row:?}", term.name);
                seen += row.visits;
            }
            assert!(seen > 0, "{name}: {} was paid in no step", term.name);
        }
    }
}

#[test]
fn values_of_policies_are_found_in_logs_of_the_gallery() {
    let options = OfflineOptions { samples: 100, played: 200, ..OfflineOptions::default() };
    for file in files() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let world = World::from_file(&file).unwrap();
        let arena = Arena::new(&world).unwrap();
        for keep in [&[][..], &["rewards".to_owned()][..]] {
            let keep = keep.to_vec();
            let fitting = Fitting::new(&world, FitOptions { keep: keep.clone(), ..FitOptions::default() }).unwrap();
            let mut log = Episodes::new(fitting.knowledge(), 5).unwrap();
            read(fitting.world(), log_file(&world, 3000, 2), |steps| log.add(steps).unwrap());
            let best = arena.best();
            let found = evaluate(&log, &best.policy_hs, &options).unwrap();
            let exact = arena.optimal();
            assert!(found.guaranteed.unwrap().contains(exact), "{name} {keep:?}: {exact} {:?}", found.guaranteed);
            let (model, robust) = (&found.model, found.robust.unwrap());
            let off = [(model.mean - exact).abs(), (robust.mean - exact).abs()];
            assert!(off[0] < 1.5 * model.posterior.width(), "{name} {keep:?}: {exact} {model:?}");
            let few = robust.effective < 50.0;
            assert!(few || off[1] < 1.5 * robust.interval.width(), "{name} {keep:?}: {exact} {robust:?}");
            // Behaviour policy drew from all: what that is worth is known exactly.
            let (random, _) = arena.at_random();
            let returns = found.logged.returns.unwrap();
            assert_eq!(returns.episodes, 3000.0, "{name}");
            let apart = (returns.mean - random).abs();
            assert!(apart < 4.5 * returns.sd / 3000f64.sqrt(), "{name}: {random} {returns:?}");
            assert!(returns.guaranteed.contains(random), "{name}");
            let by_model = found.logged.model.unwrap();
            assert!((by_model.mean - random).abs() < 1.5 * by_model.posterior.width(), "{name}: {random} {by_model:?}");
            // By frequencies: a prior moves what is seen seldom to the middle of its range.
            let returns = calibrate(&log, 1e-9).unwrap().returns;
            let first = &returns[0];
            assert!((first.predicted - first.observed).abs() < 2.0 * first.interval.width(), "{name}: {first:?}");
            let safe = plan_safely(&log, &options).unwrap();
            for plan in [&safe.mean, &safe.pessimistic] {
                let worth = arena.value_of(&plan.policy_hs).unwrap();
                assert!(plan.guaranteed.unwrap().contains(worth), "{name} {keep:?}: {worth} {:?}", plan.guaranteed);
            }
        }
    }
}
