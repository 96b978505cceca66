//! The inner loops against what this machine can do, measured in the same run: one line of JSON each.
//!
//! `cargo run --release -p dowise --features probes --example roofline`. A loop is bounded by the time that its multiplications and additions
//! take at the highest rate measured, or its bytes at the bandwidth of the cache (or memory) that its arrays fit into.
#![allow(clippy::print_stdout)] // a benchmark prints its result

use std::hint::black_box;
use std::time::Instant;

use dowise::probes::{Expectation, Weighing, Work, multiply_and_add, read, write};

/// Least seconds of many calls.
fn best(mut call: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut least = f64::INFINITY;
    let mut calls = 1;
    while began.elapsed().as_secs_f64() < 0.6 {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        let seconds = start.elapsed().as_secs_f64();
        least = least.min(seconds / calls as f64);
        // Long enough for the clock.
        calls = if seconds < 2e-5 { calls * 2 } else { calls };
    }
    least
}

struct Machine {
    flops: f64,
    /// (bytes of an array, bytes a second read, bytes a second written)
    levels: Vec<(usize, f64, f64)>,
}

impl Machine {
    fn measure() -> Machine {
        let rounds = 1 << 12;
        let flops = multiply_and_add(rounds) / best(|| _ = black_box(multiply_and_add(rounds)));
        println!(r#"{{"machine": "multiply and add", "gflops": {:.1}}}"#, flops / 1e9);
        let levels = [24 << 10, 256 << 10, 8 << 20, 256 << 20].map(|bytes: usize| {
            let mut array = vec![1.0; bytes / 8];
            let reading = bytes as f64 / best(|| _ = black_box(read(black_box(&array))));
            let writing = bytes as f64 / best(|| write(black_box(&mut array), 2.0));
            println!(
                r#"{{"machine": "an array of {} KB", "read_gb_s": {:.1}, "write_gb_s": {:.1}}}"#,
                bytes >> 10,
                reading / 1e9,
                writing / 1e9
            );
            (bytes, reading, writing)
        });
        Machine { flops, levels: levels.to_vec() }
    }

    /// (seconds that a loop takes at least, why)
    fn bound(&self, work: Work) -> (f64, &'static str) {
        let level = self.levels.iter().find(|level| work.resident <= 1.4 * level.0 as f64);
        let (_, reading, writing) = level.unwrap_or(&self.levels[self.levels.len() - 1]);
        let memory = (work.read / reading).max(work.written / writing);
        let compute = work.flops / self.flops;
        if memory > compute { (memory, "bytes") } else { (compute, "flops") }
    }

    fn report(&self, name: &str, work: Work, seconds: f64, plain: f64) {
        let (bound, by) = self.bound(work);
        println!(
            r#"{{"loop": "{name}", "microseconds": {:.3}, "gflops": {:.1}, "gb_s": {:.1}, "bound_by": "{by}", "of_bound": {:.2}, "times_plain": {:.1}}}"#,
            seconds * 1e6,
            work.flops / seconds / 1e9,
            (work.read + work.written) / seconds / 1e9,
            bound / seconds,
            plain / seconds
        );
    }
}

fn main() {
    let machine = Machine::measure();
    for (states, settings) in [(1, 64), (1, 343), (64, 343), (2048, 343)] {
        let mut weighing = Weighing::new(states, 8, settings);
        let seconds = best(|| weighing.run());
        let plain = best(|| weighing.run_plainly());
        let name = format!("weigh {settings} settings, {states} states");
        machine.report(&name, weighing.work(), seconds, plain);
    }
    for factors in [3, 6, 8, 10, 12, 14, 16] {
        let mut expectation = Expectation::new(factors, 8);
        let seconds = best(|| expectation.run());
        let plain = best(|| expectation.run_plainly());
        let name = format!("expected next value, {factors} factors");
        machine.report(&name, expectation.work(), seconds, plain);
    }
}
