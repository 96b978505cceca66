//! Memory that is said is memory that is taken: every learner, in the making, in play and under judgement, beside what was said before.

use allocation_counter::measure;
use dowise::learn::LearnerSpec;
use dowise::worlds::{ManyLevers, Paper};
use dowise::{Arena, Preset, World};

/// What is said is at most this many times what is taken, but for [`FEW_BYTES`]: of learners whose memory does not depend on what they meet.
const FACTOR: u128 = 2;
const FEW_BYTES: u128 = 128 << 10;

/// Simulated episodes and evaluated.
const EPISODES: usize = 10;

/// Learners that take more are left to `memory.rs`, where fewer are tried in larger worlds.
const MOST_SAID: u128 = 3 << 20;

/// One group of levers, whose good settings are remembered; states and stages; several groups; and worlds planned by components.
fn worlds() -> Vec<(&'static str, World)> {
    let many = |factors, keys, sparse, levels| {
        let many = ManyLevers { factors, keys, sparse, levers: 1, levels, ..ManyLevers::default() };
        World::new(many.spec().unwrap()).unwrap()
    };
    vec![
        ("paper", World::new(Paper::default().spec().unwrap()).unwrap()),
        ("river-swim", dowise::worlds::world("river-swim", &[]).unwrap()),
        ("32 states", many(5, 3, false, 3)),
        ("12 key variables in parts", many(3, 12, true, 2)),
        ("24 key variables in parts", many(6, 24, true, 2)),
    ]
}

/// Everything given and nothing given; by stages; with what may be around a learner.
const CHANGES: [&str; 6] = ["", "unknown=all", "unknown=kernel", "stage-dependent=true", "guard=true", "forget=reset"];

fn named(preset: &str, change: &str) -> String {
    if change.is_empty() { preset.to_owned() } else { format!("{preset}:{change}") }
}

#[test]
fn no_learner_takes_more_than_was_said_and_few_take_less_than_half() {
    let (mut tried, mut in_parts) = (0, 0);
    for (name, world) in worlds() {
        let mut arena = None;
        let taken = measure(|| arena = Some(Arena::new(&world).unwrap())).bytes_max;
        let said = Arena::bytes(&world);
        assert!(u128::from(taken) <= said, "plan and judge in {name}: {taken} taken, {said} said");
        let arena = arena.unwrap();
        for (preset, change) in Preset::all().iter().flat_map(|preset| CHANGES.map(|change| (preset.name(), change))) {
            let what = named(preset, change);
            // Some options are not there for some learners.
            let Ok(spec) = what.parse::<LearnerSpec>() else { continue };
            let Some(said) = spec.bytes(&world, 100).ok().filter(|said| *said <= MOST_SAID) else { continue };
            // A run has room for its judge from the beginning.
            let (mut played, mut run) = (false, arena.run(1));
            let alone = measure(|| {
                let Ok(mut learner) = spec.learner(&world, 100, 1) else { return };
                (0..EPISODES).for_each(|_| _ = run.play(&mut learner, false));
                played = true;
            });
            if !played {
                continue;
            }
            let taken = u128::from(alone.bytes_max);
            assert!(taken <= said, "{what} in {name}: {taken} taken, {said} said");
            // Guards, regressions and what is forgotten grow with what is met, and sets with the corners that rows leave open.
            let grows = change.contains("guard") || change.contains("forget") || preset.contains("lsvi");
            let sets = (change.contains("unknown") || name.contains("parts")) && !preset.contains("psrl");
            assert!(
                grows || sets || said <= FACTOR * taken + FEW_BYTES,
                "{what} in {name}: {said} said, {taken} taken"
            );
            let evaluated = measure(|| {
                let mut learner = spec.learner(&world, 100, 1).expect("it was made before");
                let mut run = arena.run(1);
                (0..EPISODES).for_each(|_| _ = run.episode(&mut learner));
            });
            let (taken, said) = (u128::from(evaluated.bytes_max), said + Arena::run_bytes(&world));
            assert!(taken <= said, "{what} evaluated in {name}: {taken} taken, {said} said");
            tried += 1;
            in_parts += usize::from(name.contains("parts") && preset.starts_with("graph"));
        }
    }
    assert!(tried > 200 && in_parts >= 20, "{tried} learners tried, {in_parts} by components");
}
