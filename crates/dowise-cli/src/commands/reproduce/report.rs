//! What `dowise reproduce` prints.

use dowise_study::paper::{Claim, Part, ReproductionSize, Results, rules};
use serde::Serialize;

use crate::output::Output;
use crate::table::{self, Align};

/// What `--json` prints.
#[derive(Serialize)]
pub(super) struct Report {
    schema: &'static str,
    episodes: u64,
    repetitions: u64,
    seed: u64,
    settings: Vec<Entry>,
    claims: Vec<Claim>,
    /// Seconds that each part took just now; nothing where everything was done before.
    seconds: Vec<Took>,
}

#[derive(Serialize)]
struct Entry {
    part: &'static str,
    world: String,
    learner: String,
    estimate: String,
    mean: f64,
    sd: f64,
}

#[derive(Serialize)]
struct Took {
    part: &'static str,
    seconds: f64,
}

impl Report {
    pub(super) fn new(results: &Results, size: ReproductionSize, took: &[(Part, f64)]) -> Report {
        let entries = results.parts.iter().flat_map(|(part, study, tables)| {
            study.combinations.iter().enumerate().map(move |(i, s)| {
                let regret = tables.summary(i);
                Entry {
                    part: part.folder(),
                    world: s.world.to_string(),
                    learner: s.learner.to_string(),
                    estimate: s.learner.estimate(),
                    mean: regret.mean,
                    sd: regret.sd,
                }
            })
        });
        Report {
            schema: "dowise-reproduce/1",
            episodes: size.episodes,
            repetitions: size.repetitions,
            seed: size.seed,
            settings: entries.collect(),
            claims: results.claims(),
            seconds: took.iter().map(|&(part, seconds)| Took { part: part.folder(), seconds }).collect(),
        }
    }
}

/// For people: final regrets, then the claims.
pub(super) fn text(results: &Results, output: &Output) -> String {
    let mut text = String::new();
    for part in Part::EXPERIMENTS {
        let mut rows = vec![];
        for rule in rules() {
            for (x, s) in results.finals(part, &rule).at {
                let x = if part == Part::Experiment1 { String::new() } else { x.to_string() };
                let cells = s.map(|s| if s.n == 0 { "–".to_owned() } else { format!("{:.1} ± {:.1}", s.mean, s.sd) });
                rows.push([vec![rule.key.to_owned(), x], cells.to_vec()].concat());
            }
        }
        if rows.is_empty() {
            continue;
        }
        let x = if part == Part::Experiment2 {
            "m"
        } else if part == Part::Experiment3 {
            "dₛ"
        } else {
            ""
        };
        text += &format!("{}\n", output.heading(part.title()));
        let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
        text += &table::table(&["rule", x, "plain", "F", "C", "CF"], &rows, &align);
        if let Some(uniform) = results.uniform(part).filter(|_| part == Part::Experiment1) {
            text += &format!("Interventions at random: {:.1} ± {:.1}.\n", uniform.mean, uniform.sd);
        }
        text += "\n";
    }
    for rule in rules() {
        text += &format!("{:<9} {} ({})\n", rule.key, rule.about, rule.learner(2));
    }
    text += &format!("\n{}\n", output.heading("The paper's claims"));
    for claim in results.claims() {
        let held = if claim.held { "held    " } else { "NOT HELD" };
        text += &format!("{held}  {}, {}: {}\n          {}\n", claim.of(), claim.rule, claim.claim, claim.numbers);
    }
    text
}
