//! The reproduction as a page of Markdown: claims, numbers beside the published ones, figures.

use std::fmt::Write;

use super::claims::short;
use super::figures::figures;
use super::parts::Part;
use super::published::published;
use super::results::Results;
use super::rules::{FIGURES, LITERAL, SAMPLING, SETS};

/// The page; figures lie in `figures/` beside it.
pub fn markdown(results: &Results) -> String {
    let mut page = String::from("# The paper's experiments, again\n\n");
    page += "This page is written by `make figures`; the numbers are those that `dowise reproduce --extras` prints.\n";
    page += "Regret is exact: V* − V of the policy that is followed, at the starting state, by policy evaluation.\n\n";
    page += "Rules, each the same for every learner:\n\n";
    for rule in [FIGURES, SETS, SAMPLING, LITERAL] {
        let example = rule.learner(2);
        let _ = writeln!(page, "- **{}**: {} (`{example}`)", rule.key, rule.about);
    }
    page += "\nThe scale of the rule `figures` is the one thing that was fitted: of the rules tried with one constant for all\n";
    page += "learners and experiments it comes nearest to the published curves. How much it decides is shown below.\n";
    page += "\n## Claims\n\n| experiment | rule | claim | | numbers |\n|---|---|---|---|---|\n";
    for c in results.claims() {
        let held = if c.held { "held" } else { "**not held**" };
        let _ = writeln!(page, "| {} | {} | {} | {held} | {} |", c.experiment, c.rule, c.claim, c.numbers);
    }
    page += "\nStable and \"varies little\" mean: the largest mean is at most twice the smallest. Growing means: the last mean is at\n";
    page += "least 1.25 times the first, and above it by more than two standard errors.\n";
    page += &final_regrets(results);
    page += &beside_published(results);
    page += "\n## Figures\n";
    for (name, figure) in figures(results) {
        let _ = write!(page, "\n![{}](figures/{name}.svg)\n\n{}: {}\n", figure.title, figure.title, figure.subtitle);
    }
    page
}

/// Mean and standard deviation of every experiment under every rule.
fn final_regrets(results: &Results) -> String {
    let mut page = String::from("\n## Final regret, mean ± standard deviation\n\n");
    page += "| experiment | rule | | UCBVI, PSRL | F | C | CF |\n|---|---|---|---:|---:|---:|---:|\n";
    for part in Part::EXPERIMENTS {
        for rule in [FIGURES, SETS, SAMPLING, LITERAL] {
            for (x, s) in results.finals(part, &rule).at {
                let x = match part {
                    Part::Experiment2 => format!("m = {x}"),
                    Part::Experiment3 => format!("d_s = {x}"),
                    _ => String::new(),
                };
                let cells = s.map(|s| format!("{} ± {}", short(s.mean), short(s.sd))).join(" | ");
                let _ = writeln!(page, "| {} | {} | {x} | {cells} |", part as u8 + 1, rule.key);
            }
        }
    }
    page
}

/// The published values, ours under the rule of the figures, and their ratio.
fn beside_published(results: &Results) -> String {
    let mut page = String::from(
        "\n## Beside the published curves\n\nRead off the published figures (within about 1.5 % of an axis), ours under the rule `figures`.\n\n",
    );
    page += "| figure | learner | at | published | ours | ours / published |\n|---|---|---|---:|---:|---:|\n";
    for p in published() {
        let Some(ours) = ours(results, p.figure, p.learner, p.x) else { continue };
        let at = if p.figure == 2 { format!("episode {}", p.x) } else { format!("d_s = {}", p.x) };
        let name = crate::figures::display_name(FIGURES.learners[p.learner]);
        let _ = writeln!(
            page,
            "| {} | {name} | {at} | {} | {} | {:.2} |",
            p.figure,
            p.regret,
            short(ours),
            ours / p.regret
        );
    }
    page += "\nNo single rule reproduces all published curves. The published UCBVI of Figure 2 is the straight line of a policy that\n";
    page += "never leaves the uniform one, C-UCBVI of Figure 4 is met within a few per cent by this rule, and the published CF-UCBVI\n";
    page += "needs a smaller constant than C-UCBVI: the figures were made with constants that differ between learners, or with\n";
    page += "widths other than those printed. Rewards are divided by d_s, which the published magnitudes suggest and the cap H needs.\n";
    page
}

fn ours(results: &Results, figure: u8, learner: usize, x: u64) -> Option<f64> {
    if figure == 4 {
        let finals = results.finals(Part::Experiment3, &FIGURES);
        return finals.at.iter().find(|(d, _)| *d == x as f64).map(|(_, s)| s[learner].mean);
    }
    let (study, tables) = results.part(Part::Experiment1)?;
    let spec = FIGURES.learner(learner);
    let setting = study.settings.iter().position(|s| s.learner == spec)?;
    tables.curve(setting).into_iter().find(|(k, _)| *k == x).map(|(_, s)| s.mean)
}
