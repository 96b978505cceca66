//! The inner loops beside plain ones: `cargo bench -p dowise --features probes --bench kernels`.

use divan::Bencher;
use divan::counter::BytesCount;
use dowise::probes::{Expectation, Weighing};

fn main() {
    divan::main();
}

/// One state's table, and tables of 64 states: settings weighed for 8 causes.
const WEIGHINGS: [(usize, usize); 3] = [(1, 64), (1, 343), (64, 343)];

#[divan::bench(args = WEIGHINGS)]
fn weigh_settings(bencher: Bencher<'_, '_>, (states, settings): (usize, usize)) {
    let mut weighing = Weighing::new(states, 8, settings);
    let bytes = weighing.work().read as u64;
    bencher.counter(BytesCount::new(bytes)).bench_local(|| weighing.run());
}

#[divan::bench(args = WEIGHINGS)]
fn weigh_settings_plainly(bencher: Bencher<'_, '_>, (states, settings): (usize, usize)) {
    let mut weighing = Weighing::new(states, 8, settings);
    let bytes = weighing.work().read as u64;
    bencher.counter(BytesCount::new(bytes)).bench_local(|| weighing.run_plainly());
}

#[divan::bench(args = [3, 8, 12, 16])]
fn expect_next_value(bencher: Bencher<'_, '_>, factors: usize) {
    let mut expectation = Expectation::new(factors, 8);
    bencher.bench_local(|| expectation.run());
}

#[divan::bench(args = [3, 8, 12, 16])]
fn expect_next_value_plainly(bencher: Bencher<'_, '_>, factors: usize) {
    let mut expectation = Expectation::new(factors, 8);
    bencher.bench_local(|| expectation.run_plainly());
}
