//! The loops of `src/loops/` beside plain ones: `cargo bench -p dowise --features probes --bench kernels`.
//!
//! Sizes are those of learners and plans: 8 states and 64 interventions, 64 states and 343 interventions, 2^14 states, each
//! with 8 causes. Every loop runs plainly, plainly but compiled for the widest registers, and tuned by hand.

use divan::Bencher;
use dowise::probes::loops::{Balls, GammaVariates, KlBalls, Least, Loop, Means, Normalised, Pairs, Version, Weighed};
use dowise::probes::{Expectation, Weighing};

fn main() {
    divan::main();
}

const VERSIONS: [Version; 3] = [Version::Plain, Version::PlainWide, Version::Fast];

/// Every size in every version.
fn each<T: Copy>(sizes: &[T]) -> Vec<(T, Version)> {
    sizes.iter().flat_map(|&size| VERSIONS.map(|version| (size, version))).collect()
}

fn run(bencher: Bencher<'_, '_>, mut probe: impl Loop, version: Version) {
    bencher.bench_local(|| probe.run(version));
}

/// Next states, causes: interventions are causes of learners without key variables.
#[divan::bench(args = each(&[(8, 8), (8, 64), (64, 8), (64, 343)]))]
fn best_of_balls(bencher: Bencher<'_, '_>, ((values, causes), version): ((usize, usize), Version)) {
    run(bencher, Balls::new(values, causes), version);
}

/// Next states that were seen, rows.
#[divan::bench(args = each(&[(3, 64), (8, 64), (20, 64), (64, 64)]))]
fn least_loss(bencher: Bencher<'_, '_>, ((values, rows), version): ((usize, usize), Version)) {
    run(bencher, KlBalls::new(values, rows), version);
}

/// Settings kept by an anchor, settings of a state.
#[divan::bench(args = each(&[16, 40, 64, 343]))]
fn weigh(bencher: Bencher<'_, '_>, (settings, version): (usize, Version)) {
    run(bencher, Weighed::new(8, settings), version);
}

#[divan::bench(args = each(&[16, 64, 343]))]
fn least(bencher: Bencher<'_, '_>, (settings, version): (usize, Version)) {
    run(bencher, Least::new(settings), version);
}

/// Next states, causes.
#[divan::bench(args = each(&[(8, 8), (8, 64), (64, 8), (64, 343)]))]
fn mean_of_shared(bencher: Bencher<'_, '_>, ((values, causes), version): ((usize, usize), Version)) {
    run(bencher, Means::shared(values, causes), version);
}

/// Values, causes, tiles that share a row.
#[divan::bench(args = each(&[(2, 8, 1), (2, 8, 16), (2, 64, 1), (2, 343, 1), (3, 8, 16)]))]
fn mean_of_tiles(bencher: Bencher<'_, '_>, ((values, causes, tiles), version): ((usize, usize, usize), Version)) {
    run(bencher, Means::tiles(values, causes, tiles), version);
}

#[divan::bench(args = [Version::Plain, Version::Fast])]
fn pairs(bencher: Bencher<'_, '_>, version: Version) {
    run(bencher, Pairs::default(), version);
}

/// Values, rows side by side.
#[divan::bench(args = each(&[(2, 8), (8, 8), (64, 8), (64, 343)]))]
fn normalise(bencher: Bencher<'_, '_>, ((values, rows), version): ((usize, usize), Version)) {
    run(bencher, Normalised::new(values, rows), version);
}

/// Cells of 8 states and 8 causes, of 64 states and 8 causes; seen, and never seen.
#[divan::bench(args = [(512, 0.25), (512, 5.0), (32_768, 0.25), (32_768, 5.0)])]
fn gamma_variates(bencher: Bencher<'_, '_>, (cells, shape): (usize, f64)) {
    run(bencher, GammaVariates::new(cells, shape), Version::Fast);
}

#[divan::bench(args = [(512, 0.25), (512, 5.0), (32_768, 0.25), (32_768, 5.0)])]
fn gamma_variates_plainly(bencher: Bencher<'_, '_>, (cells, shape): (usize, f64)) {
    run(bencher, GammaVariates::new(cells, shape), Version::Plain);
}

/// States, settings: tables streamed from memory.
#[divan::bench(args = [(64, 343), (2048, 343)])]
fn weigh_settings(bencher: Bencher<'_, '_>, (states, settings): (usize, usize)) {
    let mut weighing = Weighing::new(states, 8, settings);
    bencher.bench_local(|| weighing.run());
}

#[divan::bench(args = [(64, 343), (2048, 343)])]
fn weigh_settings_plainly(bencher: Bencher<'_, '_>, (states, settings): (usize, usize)) {
    let mut weighing = Weighing::new(states, 8, settings);
    bencher.bench_local(|| weighing.run_plainly());
}

/// Binary factors of a whole look ahead.
#[divan::bench(args = [3, 6, 14])]
fn expect_next_value(bencher: Bencher<'_, '_>, factors: usize) {
    let mut expectation = Expectation::new(factors, 8);
    bencher.bench_local(|| expectation.run());
}

#[divan::bench(args = [3, 6, 14])]
fn expect_next_value_plainly(bencher: Bencher<'_, '_>, factors: usize) {
    let mut expectation = Expectation::new(factors, 8);
    bencher.bench_local(|| expectation.run_plainly());
}
