//! The reproduction as a page of Markdown: claims, numbers beside the published ones, figures.

use std::fmt::Write;

use super::claims::short;
use super::figures::figures;
use super::parts::Part;
use super::published::published;
use super::results::Results;
use super::rules::{ExplorationRule, FIGURES, FITTED, rules};
use crate::Summary;

/// The page; figures lie in `figures/` beside it.
pub fn markdown(results: &Results) -> String {
    let mut page = String::from("# The paper's experiments, again\n\n");
    page += "This page is written by `make figures`; the numbers are those that `dowise reproduce --extras` prints.\n";
    page += "Regret is exact: V* − V of the policy that is followed, at the starting state, by policy evaluation.\n\n";
    page += "Rules, each the same for every learner:\n\n";
    for rule in rules() {
        let example = rule.learner(2);
        let _ = writeln!(page, "- **{}**: {} (`{example}`)", rule.key, rule.about);
    }
    page += "\nThe paper's printed constants show nothing at this size, and the constants behind its figures are not known, so a rule\n";
    page += "had to be chosen, and it was chosen knowing what the candidates give: the paper's width without √S at scales 0.0005,\n";
    page += "0.001, 0.002 and 0.005, and rlberry's at 0.5, 1 and 2. `fitted` is the candidate nearest to the published curves on the\n";
    page += "whole; `figures` is the one without a fitted constant, and under it the four learners differ most. A claim that holds\n";
    page += "under one rule only is a statement about that rule. How much a scale decides is shown below.\n";
    page += "\n## Claims\n\n| experiment | rule | claim | | numbers |\n|---|---|---|---|---|\n";
    for c in results.claims() {
        let held = if c.held { "held" } else { "**not held**" };
        let _ = writeln!(page, "| {} | {} | {} | {held} | {} |", c.label(), c.rule, c.claim, c.numbers);
    }
    page += "\nStable and \"varies little\" mean: the largest mean is at most twice the smallest. Growing means: the last mean is at\n";
    page += "least 1.25 times the first, and above it by more than two standard errors.\n";
    page += &final_regrets(results);
    page += &beside_published(results);
    page += "\n## Figures\n";
    for (name, figure) in figures(results) {
        let _ = write!(page, "\n![{}](figures/{name}.svg)\n\n{}: {}\n", figure.title, figure.title, figure.subtitle);
    }
    page.lines().map(|line| wrapped(line) + "\n").collect()
}

/// A line of prose wrapped at 120 characters, items of lists indented; tables and pictures stay whole.
fn wrapped(line: &str) -> String {
    const WIDTH: usize = 120;
    if line.starts_with(['|', '!']) {
        return line.to_owned();
    }
    let indent = if line.starts_with("- ") { "  " } else { "" };
    let (mut out, mut length) = (String::new(), 0);
    for word in line.split(' ') {
        let n = word.chars().count();
        if length > 0 && length + 1 + n > WIDTH {
            let _ = write!(out, "\n{indent}");
            length = indent.len();
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out += word;
        length += n;
    }
    out
}

/// Mean and standard deviation of every experiment under every rule.
fn final_regrets(results: &Results) -> String {
    let mut page = String::from("\n## Final regret, mean ± standard deviation\n\n");
    page += "| experiment | rule | | UCBVI, PSRL | F | C | CF |\n|---|---|---|---:|---:|---:|---:|\n";
    for part in Part::EXPERIMENTS {
        for rule in rules() {
            for (x, s) in results.finals(part, &rule).at {
                let x = match part {
                    Part::Experiment2 => format!("m = {x}"),
                    Part::Experiment3 => format!("dₛ = {x}"),
                    Part::Experiment1
                    | Part::Others2
                    | Part::Others3
                    | Part::Scales
                    | Part::Hard
                    | Part::Many
                    | Part::ManyPlain
                    | Part::Unknown
                    | Part::LinearActions
                    | Part::LinearActionsPlain
                    | Part::LinearStates
                    | Part::LinearStatesTables => String::new(),
                };
                let cell = |s: Summary| {
                    if s.n == 0 { "–".to_owned() } else { format!("{} ± {}", short(s.mean), short(s.sd)) }
                };
                let cells = s.map(cell).join(" | ");
                let _ = writeln!(page, "| {} | {} | {x} | {cells} |", part as u8 + 1, rule.key);
            }
        }
    }
    page
}

/// The published values, ours under two rules, and the ratios.
fn beside_published(results: &Results) -> String {
    let mut page = String::from(
        "\n## Beside the published curves\n\nRead off the published figures (within about 1.5 % of an axis); ours, and ours divided by the published value.\n\n",
    );
    page += "| figure | learner | at | published | `figures` | ratio | `fitted` | ratio |\n|---|---|---|---:|---:|---:|---:|---:|\n";
    for p in published() {
        let [Some(ours), Some(fitted)] = [FIGURES, FITTED].map(|rule| ours(results, &rule, p.figure, p.learner, p.x))
        else {
            continue;
        };
        let at = if p.figure == 2 { format!("episode {}", p.x) } else { format!("dₛ = {}", p.x) };
        let name = crate::figures::display_name(FIGURES.learners[p.learner]);
        let cell = |x: f64| format!("{} | {:.2}", short(x), x / p.regret);
        let _ = writeln!(page, "| {} | {name} | {at} | {} | {} | {} |", p.figure, p.regret, cell(ours), cell(fitted));
    }
    if let (Some(uniform), Some(last)) = (
        results.uniform(Part::Experiment1),
        published().into_iter().find(|p| p.figure == 2 && p.learner == 0 && p.x == 5000),
    ) {
        let _ = write!(
            page,
            "\nThe published UCBVI of Figure 2 ends at {}; interventions at random end at {} here. Its line is that of a learner\n\
             that never leaves the uniform policy.\n",
            last.regret,
            short(uniform.mean)
        );
    }
    page += "\nNo rule with one constant for all learners reproduces all published curves: CF-UCBVI was published with less regret,\n";
    page += "relative to C-UCBVI, than either rule gives. Rewards are divided by dₛ, which the published magnitudes suggest and the\n";
    page += "cap H needs.\n";
    page
}

fn ours(results: &Results, rule: &ExplorationRule, figure: u8, learner: usize, x: u64) -> Option<f64> {
    if figure == 4 {
        let finals = results.finals(Part::Experiment3, rule);
        return finals.at.iter().find(|(d, _)| *d == x as f64).map(|(_, s)| s[learner].mean);
    }
    let (study, tables) = results.part(Part::Experiment1)?;
    let spec = rule.learner(learner);
    let combination = study.combinations.iter().position(|s| s.learner == spec)?;
    tables.curve(combination).into_iter().find(|(k, _)| *k == x).map(|(_, s)| s.mean)
}
