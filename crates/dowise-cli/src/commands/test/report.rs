//! What `dowise test` prints for people: the verdict in a box, what fails and what that means, and a table.

use dowise::offline::{GraphReport, Tested};

use crate::missingness::{self, probability};
use crate::output::Output;
use crate::table::{self, Align, count, short};

/// Rows of the table, and contradictions in words, unless all are asked for.
const SHOWN: usize = 15;
const EXPLAINED: usize = 5;

pub(super) fn text(report: &GraphReport, all: bool, output: &Output) -> String {
    let mut text = boxed(&[
        report.verdict(),
        format!(
            "{} episodes, {} steps; {} independences tested, {} not",
            count(report.episodes),
            count(report.steps),
            report.tested.len(),
            report.untested.len()
        ),
        format!("{} steps with a missing cell, left out where the cell was needed", count(report.incomplete_steps)),
    ]);
    let failed = report.contradictions();
    if !failed.is_empty() {
        text += &format!("\n{}\n", output.heading("What fails, and what it would mean"));
        let shown = if all { failed.len() } else { failed.len().min(EXPLAINED) };
        for one in &failed[..shown] {
            text += &format!("{}\n", table::wrapped(&explained(one)));
        }
        text += &more(failed.len() - shown);
    }
    if !report.tested.is_empty() {
        text += &format!("\n{}\n", output.heading("Independences, the most doubtful first"));
        let shown = if all { report.tested.len() } else { report.tested.len().min(SHOWN) };
        let header = ["independence", "adjusted p", "p", "V", "difference", "rows", "visits"];
        let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
        let rows: Vec<Vec<String>> = report.tested[..shown].iter().map(row).collect();
        text += &table::wide_table(&header, &rows, &align);
        text += &more(report.tested.len() - shown);
        let legend = format!(
            "a ⊥ b | c: once c is known, b says nothing about a. Adjusted p: at most {} contradicts the graph; p: of this test alone. V: \
             Cramér's V, from 0 (no association) to 1. Difference: in probability. Rows and visits: values of c in which both sides \
             vary, and steps there.",
            report.level
        );
        text += &format!("{}\n", table::wrapped(&legend));
    }
    if !report.untested.is_empty() {
        text += &format!("\n{}\n", output.heading("Not tested"));
        let shown = if all { report.untested.len() } else { report.untested.len().min(EXPLAINED) };
        let rows: Vec<Vec<String>> =
            report.untested[..shown].iter().map(|u| vec![u.claim.clone(), u.why.clone()]).collect();
        text += &table::wide_table(&["independence", "why"], &rows, &[Align::Left, Align::Left]);
        text += &more(report.untested.len() - shown);
    }
    text + &missingness::section(&report.missingness, 0, output)
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
