//! Every world of `docs/gallery` is good, can be planned in and learned, and has its picture.

use std::path::{Path, PathBuf};

use dowise::world::Severity;
use dowise::{Arena, LearnerSpec, World, draw};

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
