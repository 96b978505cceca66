//! What is written is read back as the same steps, whatever the order of rows.

use std::ops::ControlFlow;

use dowise::data::{Chooser, LogReader, LogWriter, WrittenColumns, simulate_log};
use dowise::learn::Evidence;
use dowise::{Knowledge, Options, Simulator, World, worlds};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{episodes, evidence, read, table, world, written};

#[test]
fn every_ready_made_world_is_read_back_as_it_was_written() {
    for name in worlds::names() {
        let world = world(name);
        let all = episodes(&world, 40, 3);
        let (mut steps, report) = read(&world, written(&world, &all));
        assert!(report.findings.list().iter().all(|f| f.column.is_some()), "{name}: {}", report.findings);
        assert_eq!((report.episodes, report.left_out, report.next_missing), (40, 0, 0), "{name}");
        let mut expected: Vec<_> = all.into_iter().flatten().collect();
        for (i, (step, expected)) in steps.iter_mut().zip(&mut expected).enumerate() {
            assert_eq!(step.line, i as u64 + 2, "{name}");
            expected.line = step.line;
            // A sum of parts may differ in the last bit from one in another order; here the order is the same.
            assert_eq!(step, expected, "{name}");
        }
        assert_eq!(steps.len(), expected.len());
    }
}

#[test]
fn a_log_is_the_same_evidence_as_seeing_the_steps_oneself() {
    for name in worlds::names() {
        let world = world(name);
        // Nobody counts by states that cannot be listed.
        if !world.is_enumerable() {
            continue;
        }
        let knowledge = Knowledge::of(&world).without_rewards();
        let mut seen = Evidence::new(&knowledge, &Options::default()).unwrap();
        let mut from_log = seen.clone();
        let simulator = Simulator::new(&world).unwrap();
        simulate_log(&simulator, Chooser::AtRandom, 30, 5, |steps| {
            steps.iter().for_each(|step| seen.add(&step.observation).unwrap());
            ControlFlow::Continue(())
        });
        let (steps, _) = read(&world, written(&world, &episodes(&world, 30, 5)));
        steps.iter().for_each(|step| from_log.add(&step.observation).unwrap());
        assert_eq!(seen.save(), from_log.save(), "{name}");
    }
}

#[test]
fn episodes_that_end_are_read_back_with_their_ends() {
    for name in ["push-notifications", "season-pricing"] {
        let file = format!("{}/../../docs/gallery/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let world = World::from_file(file).unwrap();
        let all = episodes(&world, 60, 3);
        assert!(all.iter().any(|e| e.len() < world.horizon()), "{name}: no episode ends early");
        for end in [true, false] {
            let with = WrittenColumns { end, ..WrittenColumns::default() };
            let mut writer = LogWriter::new(&world, Vec::new(), with).unwrap();
            all.iter().enumerate().for_each(|(i, steps)| {
                writer.episode(&(i + 1).to_string(), steps, &["at random"]).unwrap();
            });
            let (steps, report) = read(&world, writer.finish().unwrap());
            assert_eq!((report.episodes, report.left_out, report.next_missing), (60, 0, 0), "{name}, {end}");
            let expected: Vec<_> = all.iter().flatten().collect();
            assert_eq!(steps.len(), expected.len(), "{name}");
            for (step, expected) in steps.iter().zip(expected) {
                assert_eq!(step.observation, expected.observation, "{name}");
                // The end of the horizon needs no word, and where episodes end neither.
                let ended = expected.observation.next_state().is_some_and(|s| world.has_ended(s));
                assert_eq!(step.end.is_some(), if end { expected.end.is_some() } else { ended }, "{name}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_in_any_order_are_the_same_evidence_and_the_same_episodes(seed in any::<u64>(), name in prop::sample::select(vec!["treatment", "river-swim"])) {
        let world = world(name);
        let all = episodes(&world, 12, seed);
        let text = written(&world, &all);
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let shuffled = lines.join("\n");
        let (steps, report) = read(&world, shuffled.as_str());
        prop_assert!(!report.findings.has_errors());
        prop_assert_eq!((report.next_missing, report.episodes), (0, 12));
        prop_assert_eq!(evidence(&world, &steps), evidence(&world, all.iter().flatten()));

        let mut whole = Vec::new();
        let reader = LogReader::new(table(shuffled).unwrap(), &world, None).unwrap();
        reader.episodes(|steps| {
            whole.push(steps.iter().map(|s| s.observation.clone().into_owned()).collect::<Vec<_>>());
            ControlFlow::Continue(())
        }).unwrap();
        let expected: Vec<Vec<_>> = all.iter().map(|e| e.iter().map(|s| s.observation.clone()).collect()).collect();
        prop_assert_eq!(whole.len(), expected.len());
        prop_assert!(expected.iter().all(|episode| whole.contains(episode)));
    }
}

#[test]
fn interleaved_episodes_are_handed_on_as_soon_as_they_are_complete() {
    let world = world("treatment");
    let all = episodes(&world, 2, 1);
    let text = written(&world, &all);
    let lines: Vec<&str> = text.lines().collect();
    let h = world.horizon();
    let mut order = vec![lines[0]];
    (0..h).for_each(|i| order.extend([lines[1 + i], lines[1 + h + i]]));
    let (steps, report) = read(&world, order.join("\n"));
    assert_eq!((report.steps, report.next_missing), (2 * h as u64, 0));
    let stages: Vec<usize> = steps.iter().map(|s| s.observation.stage()).collect();
    // A step waits for the next row of its episode and no longer; the last one waits for nothing.
    assert_eq!(stages, [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 4, 5]);
}

#[test]
fn gzip_and_other_delimiters_and_line_ends_are_the_same_log() {
    use std::io::Write;
    let world = world("treatment");
    let text = written(&world, &episodes(&world, 5, 2));
    let expected = read(&world, text.as_str());
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let semicolons = text.replace(',', ";");
    let variants: [Vec<u8>; 7] = [
        gz.finish().unwrap(),
        semicolons.clone().into_bytes(),
        text.replace(',', "\t").into_bytes(),
        text.replace(',', "|").into_bytes(),
        text.replace('\n', "\r\n").into_bytes(),
        [b"\xef\xbb\xbf", semicolons.replace('\n', "\r\n").as_bytes()].concat(),
        text.trim_end().as_bytes().to_vec(),
    ];
    for (i, variant) in variants.into_iter().enumerate() {
        assert!(read(&world, variant) == expected, "variant {i}");
    }
}
