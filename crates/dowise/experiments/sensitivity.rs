//! Whether the worst and best cases at the Γ of a hidden cause contain the truth, and whether recommendations with a
//! larger tipping Γ are right: the table of `docs/results.md` (`make sensitivity`).
//!
//! `cargo run --release -p dowise --example sensitivity -- [LOGS [EPISODES of each [SEED]]]`
//!
//! Each log comes from a random world with a hidden cause u, drawn anew in every step. u changes the odds of the logged
//! intervention, given the state, by a factor of exactly Γ, and acts on key variables, rewards and next states.
//!
//! - `own rows`: rows of the model are specific to state and intervention; u acts on any of the three together.
//! - `shared rows`: states or interventions share rows as the graph says; u acts on one of the three.
//! - `sharp`: u nearly decides what it acts on (rewards and next states, or one of the three if rows are shared). Then the
//!   truth lies at the edge of what Γ allows.

#![allow(clippy::print_stdout)] // a study prints its result

use std::fmt::Write;
use std::io::Cursor;
use std::ops::ControlFlow;

use dowise::World;
use dowise::data::{CsvTable, LogReader};
use dowise::offline::fit::{FitOptions, Fitting};
use dowise::offline::{Episodes, OfflineOptions, Recommendation, Sensitivity, evaluate, plan_safely};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Outcomes<T> = Result<T, Box<dyn std::error::Error>>;

const GAMMAS: [f64; 3] = [1.5, 2.0, 3.0];

fn main() -> Outcomes<()> {
    let number = |i: usize, default: u64| std::env::args().nth(i).map_or(Ok(default), |a| a.parse());
    let (logs, episodes, first) = (number(1, 1000)?, number(2, 2000)?, number(3, 1)?);
    println!("{logs} logs of {episodes} episodes for each row; width: mean of the interval's width / |truth|");
    println!(
        "| Γ | rows | evaluated | interval contains the truth | without the margin | width | width without the margin | \
         recommended | with a larger tipping Γ | of these truly better | of all recommended |"
    );
    println!("|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for gamma in GAMMAS {
        for (shared, sharp) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut sums = Sums::default();
            for seed in first..first + logs {
                sums.add(gamma, &Truth::drawn(gamma, shared, sharp, seed), episodes, seed)?;
            }
            println!("{}", sums.row(gamma, shared, sharp));
        }
    }
    Ok(())
}

/// What was counted over the logs.
#[derive(Default)]
struct Sums {
    evaluated: f64,
    covered: f64,
    covered_bare: f64,
    width: f64,
    width_bare: f64,
    recommended: f64,
    right: f64,
    beyond: f64,
    beyond_right: f64,
}

impl Sums {
    fn add(&mut self, gamma: f64, truth: &Truth, episodes: u64, seed: u64) -> Outcomes<()> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x6c6f_6773);
        let log = truth.log(episodes, &mut rng)?;
        let world = truth.world()?;
        let options = OfflineOptions { samples: 100, played: 1, ..OfflineOptions::default() };
        let ranks: Vec<usize> = (0..truth.horizon * truth.n_s).map(|_| rng.random_range(0..truth.n_a)).collect();
        let policy: Vec<_> = ranks.iter().map(|&rank| world.interventions().nth(rank as u64)).collect();
        let found = evaluate(&log, &policy, &options)?;
        if let Some(sensitivity) = &found.sensitivity {
            let value = truth.value(|stage, state| one_hot(truth.n_a, ranks[stage * truth.n_s + state]));
            let [low, high] = at(sensitivity, gamma);
            let off = [found.model.mean - found.model.posterior.low, found.model.posterior.high - found.model.mean];
            self.evaluated += 1.0;
            self.covered += f64::from(u8::from(low - off[0] <= value && value <= high + off[1]));
            self.covered_bare += f64::from(u8::from(low <= value && value <= high));
            self.width += (high - low + off[0] + off[1]) / value.abs();
            self.width_bare += (high - low) / value.abs();
        }
        let plan = plan_safely(&log, &options)?;
        if matches!(plan.recommendation, Recommendation::DeployMean | Recommendation::DeployPessimistic) {
            let policy_hs = &plan.recommended().policy_hs;
            let rank = |at: usize| world.interventions().rank(policy_hs[at]).unwrap_or(0) as usize;
            let value = truth.value(|stage, state| one_hot(truth.n_a, rank(stage * truth.n_s + state)));
            let is_better = value > truth.value(|_, state| truth.nominal[state].clone());
            self.recommended += 1.0;
            self.right += f64::from(u8::from(is_better));
            if plan.sensitivity.as_ref().is_some_and(|found| found.gamma > gamma) {
                self.beyond += 1.0;
                self.beyond_right += f64::from(u8::from(is_better));
            }
        }
        Ok(())
    }

    fn row(&self, gamma: f64, shared: bool, sharp: bool) -> String {
        let share = |n: f64, of: f64| if of > 0.0 { format!("{:.1} %", 100.0 * n / of) } else { "-".to_owned() };
        let n = self.evaluated;
        format!(
            "| {gamma} | {}{} | {n} | {} | {} | {:.2} | {:.2} | {} | {} | {} | {} |",
            if sharp { "sharp, " } else { "" },
            if shared { "shared rows" } else { "own rows" },
            share(self.covered, n),
            share(self.covered_bare, n),
            self.width / n,
            self.width_bare / n,
            self.recommended,
            self.beyond,
            share(self.beyond_right, self.beyond),
            share(self.right, self.recommended),
        )
    }
}

/// The worst and the best value at a reported Γ.
fn at(found: &Sensitivity, gamma: f64) -> [f64; 2] {
    [&found.worst, &found.best].map(|table| table.iter().find(|pair| pair[0] == gamma).map_or(f64::NAN, |pair| pair[1]))
}

fn one_hot(n: usize, i: usize) -> Vec<f64> {
    (0..n).map(|j| f64::from(u8::from(i == j))).collect()
}

/// A world with a hidden cause u (0 or 1) of what is logged.
struct Truth {
    horizon: usize,
    n_s: usize,
    n_a: usize,
    start: Vec<f64>,
    /// P(a | s) of the log.
    nominal: Vec<Vec<f64>>,
    /// P(u = 1 | s).
    p_u: Vec<f64>,
    /// P(a | s, u), `[state][u]`.
    known: Vec<[Vec<f64>; 2]>,
    /// P(z = 1 | s, a, u), `[state][intervention][u]`.
    key: Vec<Vec<[f64; 2]>>,
    /// P(r = 1 | s, a, z, u), `[state][intervention][z][u]`.
    reward: Vec<Vec<[[f64; 2]; 2]>>,
    /// P(s' | s, a, z, u), `[state][intervention][z][u]`.
    next: Vec<Vec<[[Vec<f64>; 2]; 2]>>,
    /// Parents of the key variable, scope of the reward, scope of the next state.
    scopes: [&'static str; 3],
}

impl Truth {
    fn drawn(gamma: f64, shared: bool, sharp: bool, seed: u64) -> Truth {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (horizon, n_s, n_a) = (rng.random_range(1..=3), rng.random_range(1..=3), rng.random_range(2..=3));
        let n_a = if sharp { 2 } else { n_a };
        let scopes = match (shared, rng.random_range(0..3)) {
            (false, _) => ["\"s\", \"a\"", "\"s\", \"z\", \"a\"", "\"s\", \"z\", \"a\""],
            (true, 0) => ["\"a\"", "\"s\", \"z\"", "\"s\", \"z\""],
            (true, 1) => ["\"s\", \"a\"", "\"z\"", "\"s\", \"z\""],
            (true, _) => ["\"a\"", "\"z\"", "\"z\""],
        };
        // Where u acts.
        let acts = if shared {
            one_hot(3, rng.random_range(0..3)).into_iter().map(|x| x > 0.0).collect::<Vec<_>>()
        } else if sharp {
            vec![false, true, true]
        } else {
            let which = rng.random_range(1..8);
            (0..3).map(|i| which >> i & 1 == 1).collect()
        };
        let has = |i: usize, name: &str| scopes[i].contains(&format!("\"{name}\""));
        let p_all = rng.random_range(0.2..0.8);
        let one = |rng: &mut ChaCha8Rng| {
            let nominal = simplex(n_a, rng);
            // With two interventions, u can change the odds by Γ in both directions.
            let p_u = if shared || n_a > 2 { p_all } else { both_ways(&nominal, gamma) };
            let known = changed(&nominal, p_u, gamma, rng);
            (nominal, p_u, known)
        };
        let (mut nominal, mut p_u, mut known) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..n_s {
            let found = one(&mut rng);
            nominal.push(found.0);
            p_u.push(found.1);
            known.push(found.2);
        }
        // A table over (s, a, z, u) that depends on what is in the scope.
        let table = |i: usize, rng: &mut ChaCha8Rng, n: usize| -> Vec<Vec<f64>> {
            // In every second world interventions have strong effects.
            let strong = seed % 2 == 1;
            let row = |rng: &mut ChaCha8Rng| if strong { peaked(n, rng) } else { simplex(n, rng) };
            let rows: Vec<Vec<f64>> = (0..n_s * n_a * 2).map(|_| row(rng)).collect();
            let of_u: Vec<Vec<f64>> = (0..n_s * n_a * 4).map(|_| simplex(n, rng)).collect();
            let edge: Vec<usize> = (0..n_s * n_a * 4).map(|_| rng.random_range(0..n)).collect();
            let cell = |s: usize, a: usize, z: usize, u: usize| {
                let kept = |name: &str, v: usize| if has(i, name) { v } else { 0 };
                ((kept("s", s) * n_a + kept("a", a)) * 2 + kept("z", z)) * 2 + u
            };
            let mixed = |at: usize| -> Vec<f64> {
                let cell = cell(at / (4 * n_a), at / 4 % n_a, at / 2 % 2, at % 2);
                let row = &rows[cell / 2];
                match (acts[i], sharp) {
                    (false, _) => row.clone(),
                    (true, false) => row.iter().zip(&of_u[cell]).map(|(p, q)| 0.6 * p + 0.4 * q).collect(),
                    (true, true) => {
                        // u decides in 19 of 20 cases: rewards and key variables by u, next states by a draw.
                        let to = if i < 2 { cell % 2 } else { edge[cell] };
                        row.iter().zip(one_hot(n, to)).map(|(p, q)| 0.05 * p + 0.95 * q).collect()
                    }
                }
            };
            (0..n_s * n_a * 4).map(mixed).collect()
        };
        let (key, reward, next) = (table(0, &mut rng, 2), table(1, &mut rng, 2), table(2, &mut rng, n_s));
        let at = |s: usize, a: usize, z: usize, u: usize| ((s * n_a + a) * 2 + z) * 2 + u;
        let each = |s: usize, a: usize| [0, 1].map(|z| [0, 1].map(|u| at(s, a, z, u)));
        Truth {
            key: (0..n_s).map(|s| (0..n_a).map(|a| each(s, a)[0].map(|i| key[i][1])).collect()).collect(),
            reward: (0..n_s).map(|s| (0..n_a).map(|a| each(s, a).map(|z| z.map(|i| reward[i][1]))).collect()).collect(),
            next: (0..n_s)
                .map(|s| (0..n_a).map(|a| each(s, a).map(|z| z.map(|i| next[i].clone()))).collect())
                .collect(),
            start: simplex(n_s, &mut rng),
            horizon,
            n_s,
            n_a,
            nominal,
            p_u,
            known,
            scopes,
        }
    }

    /// What the analyst declares: the graph without u, and no numbers.
    fn world(&self) -> Outcomes<World> {
        let list = |n: usize| (0..n).map(|i| format!("\"{i}\"")).collect::<Vec<_>>().join(", ");
        let [parents, reward, next] = self.scopes;
        let text = format!(
            "dowise = 1\nhorizon = {}\n[state.s]\nvalues = [{}]\nscope = [{next}]\nnext.rows = [{{ p = [{}] }}]\n\
             [lever.a]\nvalues = [{}]\n[key.z]\nvalues = [\"0\", \"1\"]\nparents = [{parents}]\nlearn = \"table\"\n\
             [reward.r]\nscope = [{reward}]\nlearn = true\nrange = [0, 1]\n[interventions]\nset = \"all\"\n",
            self.horizon,
            list(self.n_s),
            vec![format!("{}", 1.0 / self.n_s as f64); self.n_s].join(", "),
            list(self.n_a)
        );
        World::from_toml(&text, "world.toml").map_err(|e| e.to_string().into())
    }

    fn log(&self, episodes: u64, rng: &mut ChaCha8Rng) -> Outcomes<Episodes> {
        let mut text = "episode,stage,s,a,z,reward.r,next.s\n".to_owned();
        for episode in 0..episodes {
            let mut s = pick(&self.start, rng);
            for stage in 1..=self.horizon {
                let u = usize::from(rng.random::<f64>() < self.p_u[s]);
                let a = pick(&self.known[s][u], rng);
                let z = usize::from(rng.random::<f64>() < self.key[s][a][u]);
                let r = usize::from(rng.random::<f64>() < self.reward[s][a][z][u]);
                let next = pick(&self.next[s][a][z][u], rng);
                writeln!(text, "{episode},{stage},{s},{a},{z},{r},{next}")?;
                s = next;
            }
        }
        let world = self.world()?;
        let fitting = Fitting::new(&world, FitOptions::default())?;
        let mut log = Episodes::of_fit(&fitting, 5)?;
        let table = CsvTable::new(Cursor::new(text.into_bytes()), "log.csv")?;
        let mut failed = Ok(());
        let report = LogReader::new(table, fitting.world(), None)?.episodes(|steps| {
            failed = log.add(steps);
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        failed?;
        if report.findings.has_errors() { Err(report.findings.to_string().into()) } else { Ok(log) }
    }

    /// The true value of a policy that sets interventions, by its probabilities at each stage and state.
    fn value(&self, policy: impl Fn(usize, usize) -> Vec<f64>) -> f64 {
        let mut later = vec![0.0; self.n_s];
        for stage in (0..self.horizon).rev() {
            let mut now = vec![0.0; self.n_s];
            for (s, now) in now.iter_mut().enumerate() {
                for (a, p_a) in policy(stage, s).into_iter().enumerate() {
                    for (u, p_u) in [1.0 - self.p_u[s], self.p_u[s]].into_iter().enumerate() {
                        let p_z = self.key[s][a][u];
                        for (z, p_z) in [1.0 - p_z, p_z].into_iter().enumerate() {
                            let next: f64 = self.next[s][a][z][u].iter().zip(&later).map(|(p, v)| p * v).sum();
                            *now += p_a * p_u * p_z * (self.reward[s][a][z][u] + next);
                        }
                    }
                }
            }
            later = now;
        }
        self.start.iter().zip(&later).map(|(p, v)| p * v).sum()
    }
}

/// A distribution in which nothing is rarer than about a tenth.
fn simplex(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let weights: Vec<f64> = (0..n).map(|_| rng.random_range(0.15..1.0)).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / total).collect()
}

/// A distribution with one likely value.
fn peaked(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let peak = one_hot(n, rng.random_range(0..n));
    simplex(n, rng).iter().zip(peak).map(|(p, q)| 0.15 * p + 0.85 * q).collect()
}

fn pick(shares: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let mut left: f64 = rng.random();
    for (i, share) in shares.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return i;
        }
    }
    shares.len() - 1
}

fn odds(p: f64) -> f64 {
    p / (1.0 - p)
}

/// P(u = 1) with which u = 1 multiplies the odds of the last of two interventions by Γ, and u = 0 divides them by Γ.
fn both_ways(nominal: &[f64], gamma: f64) -> f64 {
    let p_of = |odds: f64| odds / (1.0 + odds);
    let [high, low] = [odds(nominal[1]) * gamma, odds(nominal[1]) / gamma].map(p_of);
    (nominal[1] - low) / (high - low)
}

/// P(a | u) with this mean over u, in which the largest change of the odds of an intervention is exactly a factor of Γ.
fn changed(nominal: &[f64], p_u: f64, gamma: f64, rng: &mut ChaCha8Rng) -> [Vec<f64>; 2] {
    let direction: Vec<f64> = (0..nominal.len()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mean = direction.iter().sum::<f64>() / direction.len() as f64;
    let at = |t: f64| {
        [-p_u, 1.0 - p_u].map(|by| nominal.iter().zip(&direction).map(|(p, d)| p + t * by * (d - mean)).collect())
    };
    let is_within = |known: &[Vec<f64>; 2]| {
        let of = |(&p, &q): (&f64, &f64)| q > 0.0 && q < 1.0 && (odds(q) / odds(p)).max(odds(p) / odds(q)) <= gamma;
        known.iter().all(|known| nominal.iter().zip(known).all(of))
    };
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if is_within(&at(middle)) { low = middle } else { high = middle }
    }
    at(low)
}
