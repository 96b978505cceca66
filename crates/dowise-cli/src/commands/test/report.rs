//! What `dowise test` prints for people: the verdict in a box, what fails and what that means, and a table.

use dowise::offline::{GraphReport, Tested};

use crate::missingness::{self, probability};
use crate::output::Output;
use crate::table::{self, Align, count, short};

/// Rows of the first table, rows of other tables and contradictions in words, unless all are asked for.
const SHOWN: usize = 15;
const EXPLAINED: usize = 5;

pub(super) fn text(report: &GraphReport, all: bool, output: &Output) -> String {
    let mut lines = vec![report.verdict()];
    lines.extend(report.markov_verdict());
    lines.extend(report.stationarity_verdict());
    lines.extend(report.confounding_verdict());
    let untested =
        [&report.untested[..], &report.markov_untested, &report.stationarity_untested, &report.confounding_untested]
            .concat();
    lines.push(format!(
        "{} episodes, {} steps; {} independences tested, {} not",
        count(report.episodes),
        count(report.steps),
        report.tested.len() + report.markov.len() + report.stationarity.len() + report.confounding.len(),
        untested.len()
    ));
    lines.push(format!(
        "{} steps with a missing cell, left out where the cell was needed",
        count(report.incomplete_steps)
    ));
    let mut text = boxed(&lines);
    text += &failures(report.contradictions(), "What fails, and what it would mean", all, output);
    let of_markov = "What fails of the Markov property, and what it would mean";
    text += &failures(report.markov_contradictions(), of_markov, all, output);
    let of_time = "What changes with time, and what it would mean";
    text += &failures(report.stationarity_contradictions(), of_time, all, output);
    let of_draws = "What differs between randomised and other rows, and what it would mean";
    text += &failures(report.confounding_contradictions(), of_draws, all, output);
    text += &independences(&report.tested, SHOWN, "Independences, the most doubtful first", all, output);
    let of_markov = "Independences of the previous step (Markov property), the most doubtful first";
    text += &independences(&report.markov, EXPLAINED, of_markov, all, output);
    let of_time = "Independences of the number of the episode (stationarity), the most doubtful first";
    text += &independences(&report.stationarity, EXPLAINED, of_time, all, output);
    let of_draws =
        "Independences of whether the row was randomised (no unmeasured confounding), the most doubtful first";
    text += &independences(&report.confounding, EXPLAINED, of_draws, all, output);
    if !(report.tested.is_empty() && report.markov.is_empty() && report.stationarity.is_empty()) {
        let legend = format!(
            "a ⊥ b | c: once c is known, b says nothing about a. Adjusted p: at most {} contradicts the graph; p: of this test alone. V: \
             Cramér's V, from 0 (no association) to 1. Difference: in probability. Rows and visits: values of c in which both sides \
             vary, and steps there.",
            report.level
        );
        text += &format!("{}\n", table::wrapped(&legend));
    }
    if !untested.is_empty() {
        text += &format!("\n{}\n", output.heading("Not tested"));
        let shown = if all { untested.len() } else { untested.len().min(EXPLAINED) };
        let rows: Vec<Vec<String>> = untested[..shown].iter().map(|u| vec![u.claim.clone(), u.why.clone()]).collect();
        text += &table::wide_table(&["independence", "why"], &rows, &[Align::Left, Align::Left]);
        text += &more(untested.len() - shown);
    }
    text + &missingness::section(&report.missingness, 0, output)
}

/// The rejected claims in words.
fn failures(failed: &[Tested], heading: &str, all: bool, output: &Output) -> String {
    if failed.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", output.heading(heading));
    let shown = if all { failed.len() } else { failed.len().min(EXPLAINED) };
    for one in &failed[..shown] {
        text += &format!("{}\n", table::wrapped(&explained(one)));
    }
    text + &more(failed.len() - shown)
}

/// Tested claims as a table.
fn independences(tested: &[Tested], most: usize, heading: &str, all: bool, output: &Output) -> String {
    if tested.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", output.heading(heading));
    let shown = if all { tested.len() } else { tested.len().min(most) };
    let header = ["independence", "adjusted p", "p", "V", "difference", "rows", "visits"];
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
    let rows: Vec<Vec<String>> = tested[..shown].iter().map(row).collect();
    text += &table::wide_table(&header, &rows, &align);
    text + &more(tested.len() - shown)
}

fn more(left: usize) -> String {
    if left == 0 { String::new() } else { format!("… and {left} more; --all shows them\n") }
}

fn row(t: &Tested) -> Vec<String> {
    vec![
        t.claim.clone(),
        probability(t.adjusted_p),
        probability(t.p),
        format!("{:.3}", t.effect.association),
        format!("{:+.3}", t.effect.difference),
        count(t.rows as u64),
        count(t.visits),
    ]
}

fn explained(t: &Tested) -> String {
    let (e, r) = (&t.effect, &t.effect.strongest);
    let place = if r.row.is_empty() { String::new() } else { format!(" with {}", r.row) };
    format!(
        "- {}: {}. {} is {} by {} with {}; clearest{place}: {} in {} of {} with {}, {} of {} without.",
        t.claim,
        t.meaning,
        e.outcome,
        if e.difference > 0.0 { "more probable" } else { "less probable" },
        short(e.difference.abs()),
        e.other,
        r.outcome,
        percent(r.share),
        count(r.visits),
        r.other,
        percent(r.elsewhere),
        count(r.visits_elsewhere),
    )
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// Lines in a box as wide as they need.
fn boxed(paragraphs: &[String]) -> String {
    let lines: Vec<String> =
        paragraphs.iter().flat_map(|p| table::wrapped(p).lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let width = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let edge = "─".repeat(width + 2);
    let mut text = format!("┌{edge}┐\n");
    for line in &lines {
        text += &format!("│ {line}{} │\n", " ".repeat(width - line.chars().count()));
    }
    text + &format!("└{edge}┘\n")
}
