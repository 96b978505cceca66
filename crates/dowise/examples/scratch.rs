//! scratch
#![allow(clippy::print_stdout)]
use dowise::learn::*;
use dowise::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let k: u64 = args.get(1).map_or(1000, |s| s.parse().unwrap());
    let reps: u64 = args.get(2).map_or(3, |s| s.parse().unwrap());
    let names: Vec<&str> = args[3].split(',').collect();
    for spec in names {
        let (name, est) = spec.split_once(':').unwrap_or((spec, ""));
        let mut finals = vec![];
        let t = Instant::now();
        for rep in 0..reps {
            let world = match std::env::var("W").as_deref() {
                Ok("river") => World::new(worlds::RiverSwim::default().spec().unwrap()).unwrap(),
                Ok("sea") => World::new(worlds::DeepSea::default().spec().unwrap()).unwrap(),
                Ok(f) => World::from_file(f).unwrap(),
                _ => World::new(worlds::Paper { seed: rep, ..Default::default() }.spec().unwrap()).unwrap(),
            };
            let planner = Planner::new(&world).unwrap();
            let plan = planner.plan();
            let sim = Simulator::new(&world).unwrap();
            let p: Preset = name.parse().unwrap();
            let mut o = p.options(k, rep);
            for kv in est.split('/').filter(|s| !s.is_empty()) {
                let (key, v) = kv.split_once('=').unwrap();
                match key {
                    "w" => o.estimate = Estimate::Width(serde_json::from_str(&format!("\"{v}\"")).unwrap()),
                    "sets" => o.estimate = Estimate::Sets(serde_json::from_str(&format!("\"{v}\"")).unwrap()),
                    "prior" => o.estimate = Estimate::Posterior { prior: v.parse().unwrap() },
                    "scale" => o.scale = v.parse().unwrap(),
                    "cap" => o.cap = serde_json::from_str(&format!("\"{v}\"")).unwrap(),
                    _ => panic!(),
                }
            }
            let mut kn = Knowledge::of(&world);
            if std::env::var("NOZ").is_ok() {
                kn = kn.without_mechanisms();
            }
            if std::env::var("NOR").is_ok() {
                kn = kn.without_rewards();
            }
            let mut l = Learner::new(&kn, o).unwrap();
            let mut run = Run::new(&sim, &planner, &plan.value_hs, rep);
            let mut total = 0.0;
            let judge = std::env::var("NOJUDGE").is_err();
            for _ in 0..k {
                total += run.play(&mut l, judge).regret;
            }
            finals.push(total);
        }
        let mean = finals.iter().sum::<f64>() / reps as f64;
        let sd = (finals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (reps - 1).max(1) as f64).sqrt();
        println!(
            "{spec:40} {mean:10.2} +- {sd:8.2}   {:7.2} us/episode",
            t.elapsed().as_secs_f64() * 1e6 / (k * reps) as f64
        );
    }
}
