//! Worlds that change: what learners lose that never forget, and those that forget by age or where a change is noticed.
//!
//! `cargo run --release -p dowise --example changes [RUNS [EPISODES [FIGURE]]]` plays `EPISODES` episodes (5,000) in which every row of the
//! transitions, a fifth of them, or none is drawn anew every fifth of the way, prints the mean regret over `RUNS` worlds (10), each
//! episode evaluated by the world of its time, and draws how regret grows where all rows change. With `rows` as the first word it compares
//! two rules for one row instead: how soon a change is found, and how often one is where there is none.
#![allow(clippy::print_stdout)] // a study prints its result

use std::fmt::Write;

use dowise::simulate::Changing;
use dowise::world::{Form, World};
use dowise::worlds::{Paper, Redrawn};
use dowise::{Knowledge, Learner, LearnerSpec};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Failure = Box<dyn std::error::Error>;

/// The last one is given when the world changes, and begins anew.
const FORMS: [(&str, &str); 5] = [
    ("never", ""),
    ("discount:0.99", ",forget=discount:0.99"),
    ("window:300", ",forget=window:300"),
    ("reset", ",forget=reset"),
    ("given", ""),
];

const SHARES: [(&str, f64); 3] = [("all", 1.0), ("20 %", 0.2), ("none", 0.0)];

/// (world, whether each factor depends on itself and one key variable alone, learner)
const CASES: [(&str, bool, &str); 4] = [
    ("sparse", true, "graph-psrl"),
    ("paper", false, "graph-psrl"),
    ("paper", false, "cf-ucbvi"),
    ("paper", false, "c-psrl"),
];

/// The paper's environment, or the same where factor i depends on (s_i, z_i) alone.
fn world(sparse: bool, seed: u64) -> Result<World, Failure> {
    let mut spec = Paper { seed, ..Paper::default() }.spec()?;
    if sparse {
        for (i, transition) in spec.transitions.iter_mut().enumerate() {
            transition.parents = vec![format!("s{}", i + 1).into(), format!("z{}", i + 1).into()];
            transition.form = Form::Table(vec![0.5; 8]);
        }
    }
    let world = World::new(spec)?;
    Ok(if sparse { Redrawn { seed, ..Redrawn::default() }.of(&world) } else { world })
}

/// Regret after every hundredth of the way, and changes noticed.
struct Played {
    regret: Vec<f64>,
    noticed: u64,
}

fn play(
    changing: &Changing,
    learner: &str,
    told_every: Option<u64>,
    episodes: u64,
    seed: u64,
) -> Result<Played, Failure> {
    let knowledge = Knowledge::of(changing.arenas()[0].world());
    let options = learner.parse::<LearnerSpec>()?.options(episodes, seed);
    let mut learner = Learner::new(&knowledge, options.clone())?;
    let mut run = changing.run(seed);
    let (mut total, mut regret) = (0.0, vec![0.0]);
    for episode in 1..=episodes {
        if told_every.is_some_and(|every| episode > 1 && (episode - 1) % every == 0) {
            learner = Learner::new(&knowledge, options.clone())?;
        }
        total += run.episode(&mut learner).regret;
        if episode % (episodes / 100).max(1) == 0 || episode == episodes {
            regret.push(total);
        }
    }
    Ok(Played { regret, noticed: learner.n_changes() })
}

/// Regret over episodes, where all rows change.
fn figure(lines: &[(String, Vec<f64>)], episodes: u64) -> String {
    let (left, right, top, bottom) = (60.0, 420.0, 20.0, 280.0);
    let most = lines.iter().flat_map(|(_, y)| y).fold(0.0, |a: f64, &b| a.max(b));
    let x = |i: usize, n: usize| left + (right - left) * i as f64 / (n - 1) as f64;
    let y = |value: f64| bottom - (bottom - top) * value / most;
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 560 330\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
    );
    for part in 0..=4 {
        let value = most * f64::from(part) / 4.0;
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{value:.1}</text>",
            left - 6.0,
            y(value) + 4.0,
            at = y(value)
        );
    }
    for part in 0..=5u64 {
        let at = left + (right - left) * part as f64 / 5.0;
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"#eee\"/><text x=\"{at:.1}\" y=\"298\" text-anchor=\"middle\">{}</text>",
            episodes * part / 5
        );
    }
    svg += "<text x=\"240\" y=\"320\" text-anchor=\"middle\">episodes; all rows are drawn anew at each line</text>\n\
            <text x=\"14\" y=\"155\" text-anchor=\"middle\" transform=\"rotate(-90 14 155)\">regret</text>\n";
    // Names beside the ends of their lines, apart from each other.
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|&a, &b| {
        lines[a].1.last().copied().unwrap_or(0.0).total_cmp(&lines[b].1.last().copied().unwrap_or(0.0))
    });
    let mut below = bottom + 16.0;
    for i in order {
        let ((name, values), colour) = (&lines[i], ["#d1495b", "#8d6a9f", "#3a7d44", "#1b6ca8", "#777"][i % 5]);
        let n = values.len();
        let points: Vec<String> =
            values.iter().enumerate().map(|(i, &v)| format!("{:.1},{:.1}", x(i, n), y(v))).collect();
        below = (y(values[n - 1]) + 4.0).min(below - 14.0);
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{:.0}\" y=\"{below:.1}\" fill=\"{colour}\">{name}</text>",
            points.join(" "),
            right + 8.0
        );
    }
    svg + "</svg>\n"
}

fn regrets(runs: u64, episodes: u64, file: Option<String>) -> Result<(), Failure> {
    let every = (episodes / 5).max(1);
    println!("regret of {episodes} episodes, mean of {runs} worlds, rows drawn anew every {every} episodes");
    println!(
        "{:<20} {:<7} {}  noticed  reset / never",
        "",
        "rows",
        FORMS.map(|(name, _)| format!("{name:>14}")).join("")
    );
    let mut lines = Vec::new();
    for (name, sparse, learner) in CASES {
        for (rows, share) in SHARES {
            let (mut sums, mut noticed) = (vec![Vec::new(); FORMS.len()], 0);
            for seed in 0..runs {
                let mut worlds = vec![world(sparse, seed)?];
                for i in 1..5 {
                    let other = Redrawn { share, seed: 100 * (seed + 1) + i, ..Redrawn::default() };
                    worlds.push(other.of(&worlds[worlds.len() - 1]));
                }
                let changing = Changing::new(&worlds, every)?;
                for (sum, (form, option)) in sums.iter_mut().zip(FORMS) {
                    let told_every = (form == "given").then_some(every);
                    let played =
                        play(&changing, &format!("{learner}:schedule=episode{option}"), told_every, episodes, seed)?;
                    sum.resize(played.regret.len(), 0.0);
                    sum.iter_mut().zip(&played.regret).for_each(|(sum, r)| *sum += r / runs as f64);
                    noticed += played.noticed;
                }
            }
            let ends: Vec<f64> = sums.iter().map(|sum| sum.last().copied().unwrap_or(0.0)).collect();
            println!(
                "{:<20} {rows:<7} {}  {:>7.1}  {:>13.2}",
                format!("{name}, {learner}"),
                ends.iter().map(|end| format!("{end:>14.2}")).collect::<String>(),
                noticed as f64 / runs as f64,
                ends[3] / ends[0]
            );
            if (name, share) == ("sparse", 1.0) {
                lines = FORMS.iter().zip(sums).map(|((form, _), sum)| ((*form).to_owned(), sum)).collect();
            }
        }
    }
    if let Some(file) = file {
        std::fs::write(file, figure(&lines, episodes))?;
    }
    Ok(())
}

/// ln Γ(n + 1/2) and n ln n, for whole numbers.
struct Logs {
    gamma: Vec<f64>,
    fit: Vec<f64>,
    factorial: Vec<f64>,
}

impl Logs {
    fn new(most: usize) -> Logs {
        let sum = |add: f64| {
            (0..=most)
                .scan(0.0, |sum, i| {
                    let now = *sum;
                    *sum += (i as f64 + add).ln();
                    Some(now)
                })
                .collect()
        };
        let fit = (0..=most).map(|n| if n == 0 { 0.0 } else { n as f64 * (n as f64).ln() }).collect();
        Logs { gamma: sum(0.5), factorial: sum(1.0), fit }
    }

    /// ln of the greatest likelihood of this number of ones among n.
    fn greatest(&self, ones: usize, n: usize) -> f64 {
        self.fit[ones] + self.fit[n - ones] - self.fit[n]
    }

    /// ln of Krichevsky and Trofimov's mixture.
    fn mixture(&self, ones: usize, n: usize) -> f64 {
        self.gamma[ones] + self.gamma[n - ones] - self.factorial[n]
    }
}

/// Visits after a change until each rule finds it: the constant of a prototype, and the e-process at a bar. `None`: not within what is played.
fn found(logs: &Logs, values: &[bool], after: usize, bar: f64) -> [Option<usize>; 2] {
    let mut out = [None; 2];
    let mut ones = vec![0];
    for (i, &y) in values.iter().enumerate() {
        ones.push(ones[i] + usize::from(y));
        let n = i + 1;
        let all = logs.greatest(ones[n], n);
        let (mut ratio, mut sum) = (0.0f64, 0.0);
        for k in 1..n {
            let (b, a) = (ones[k], ones[n] - ones[k]);
            ratio = ratio.max(logs.greatest(b, k) + logs.greatest(a, n - k) - all);
            let weight = 0.1 * 0.45f64.powi(k.ilog2() as i32);
            sum += weight * (logs.mixture(b, k) + logs.mixture(a, n - k) - all).exp();
        }
        for (out, reached) in out.iter_mut().zip([ratio > 6.0 + 1.5 * (n as f64).ln(), sum >= bar]) {
            if reached && out.is_none() {
                *out = Some((n).saturating_sub(after));
            }
        }
        if out.iter().all(Option::is_some) {
            break;
        }
    }
    out
}

fn rows() {
    let (logs, rows, delta) = (Logs::new(4000), 48.0, 0.1);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut drawn = |p: f64, n: usize| (0..n).map(|_| rng.random::<f64>() < p).collect::<Vec<bool>>();
    println!("one row of two values, 200 runs: visits after a change until it is found, median and 90 %");
    println!("{:<34} {:>24} {:>24}", "", "ratio > 6 + 1.5 ln n", "e-process, 48 rows, δ = 0.1");
    for before in [100, 300, 1000] {
        for (from, to) in [(0.2, 0.8), (0.3, 0.6)] {
            let mut delays = [Vec::new(), Vec::new()];
            for _ in 0..200 {
                let values = [drawn(from, before), drawn(to, 1000)].concat();
                for (list, delay) in delays.iter_mut().zip(found(&logs, &values, before, rows / delta)) {
                    list.push(delay.unwrap_or(usize::MAX));
                }
            }
            let said = delays.map(|mut list| {
                list.sort_unstable();
                let say = |i: usize| if list[i] == usize::MAX { "> 1000".to_owned() } else { list[i].to_string() };
                format!("{:>24}", format!("{} ({})", say(list.len() / 2), say(list.len() * 9 / 10)))
            });
            println!("{:<34} {}", format!("{before} visits of {from}, then {to}"), said.join(" "));
        }
    }
    println!("\n1,000 rows that never change, 400 visits each: rows in which a change was found");
    for p in [0.5, 0.1, 0.01] {
        let mut wrong = [0; 2];
        for _ in 0..1000 {
            let values = drawn(p, 400);
            for (wrong, found) in wrong.iter_mut().zip(found(&logs, &values, 0, rows / delta)) {
                *wrong += u32::from(found.is_some());
            }
        }
        println!("{:<34} {:>24} {:>24}", format!("p = {p}"), wrong[0], wrong[1]);
    }
}

fn main() -> Result<(), Failure> {
    let word = |at: usize| std::env::args().nth(at);
    if word(1).as_deref() == Some("rows") {
        rows();
        return Ok(());
    }
    let number = |at: usize, default: u64| word(at).map_or(Ok(default), |n| n.parse());
    regrets(number(1, 10)?, number(2, 5000)?, word(3))
}
