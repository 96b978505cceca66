//! What `dowise fit` prints: how well each part is known, what the best plan relies on, what stays open.

use dowise::World;
use dowise::offline::fit::{FitPart, FitReport, FitTable, Fitted, IntervalKind};
use dowise_study::{Strip, Strips};

use crate::output::Output;
use crate::table::{Align, count, short, table, wrapped};
use crate::{assumptions, missingness};

/// Rows of the table of what the best plan relies on.
const RELIED_ON: usize = 6;
/// Open questions that are printed; the rest is in the file and in the JSON.
const OPEN: usize = 6;
/// Episodes that are simulated to find out what the best plan relies on.
const EPISODES: u32 = 400;

pub(super) fn text(fitted: &Fitted, output: &Output) -> String {
    let report = fitted.report();
    let reliance = fitted.reliance(EPISODES, 0).ok();
    let mut out =
        format!("{} steps in {} episodes, evidence {}\n", count(report.steps), count(report.episodes), report.evidence);
    for warning in missingness::warnings(&report.missingness, report.em.is_some()) {
        out += &format!("{}\n", wrapped(&warning));
    }
    for s in &report.marginalised {
        let them = if s.hidden.len() == 1 { "it" } else { "them" };
        out += &format!("marginalised out: {}; {} learned without {them}\n", s.hidden.join(", "), s.keys.join(", "));
    }
    for c in &report.confounded {
        let line = format!(
            "NOT FITTED: {}. The hidden variable {} affects the lever {} and {} (unmeasured confounding); see below",
            c.not_fitted.join(", "),
            c.hidden.join(", "),
            c.lever,
            c.effects.join(", ")
        );
        out += &format!("{}\n", wrapped(&line));
    }
    if !report.kept.is_empty() {
        out += &format!("kept: {}\n", report.kept.join(", "));
    }
    out += &missing(report);
    out += &format!("\n{}", assumptions::section(&report.record, output));
    out += &format!("\n{}\n", output.heading("How well each part is known"));
    out += &parts(report, reliance.as_deref());
    if let Some(reliance) = &reliance {
        out += &format!(
            "\n{}\n",
            output.heading("Most uncertain rows that the optimal plan of the fitted world relies on")
        );
        out += &relied_on(report, reliance);
    }
    if !report.open.is_empty() {
        out +=
            &format!("\n{}\n", output.heading("Not identified from the log, and the experiment that would settle it"));
        for question in report.open.iter().take(OPEN) {
            let line = format!("- {}: {}. To settle it: {}.", question.what, question.why, question.experiment);
            out += &format!("{}\n", wrapped(&line));
        }
        if report.open.len() > OPEN {
            out += &format!("and {} more; the fitted file and --json have all\n", report.open.len() - OPEN);
        }
    }
    out
}

fn missing(report: &FitReport) -> String {
    let mut out = String::new();
    for m in &report.missing {
        out += &format!("not recorded in {} of {} steps: {}\n", count(m.steps), count(report.steps), m.what);
    }
    match &report.em {
        None if !report.missing.is_empty() => {
            out += "such steps count only where nothing is missing; --em imputes the rest\n"
        }
        None => {}
        Some(em) => {
            out += &format!(
                "expected from the rest of the step: {} steps, {} rounds of EM",
                count(em.steps),
                em.density.len()
            );
            out += &if em.left_out > 0 {
                format!("; {} left out, too much is missing\n", count(em.left_out))
            } else {
                "\n".into()
            };
        }
    }
    out
}

/// How much what is not known of a row can matter: rewards as a share of the greatest range of all terms.
fn doubt(report: &FitReport, table: &FitTable, row: usize) -> f64 {
    let rewards = || report.tables.iter().filter(|t| t.part == FitPart::Reward);
    match table.part {
        FitPart::Reward => table.rows[row].width() / rewards().map(FitTable::scale).fold(f64::MIN_POSITIVE, f64::max),
        FitPart::Transition | FitPart::Mechanism | FitPart::Start => table.share(row),
    }
}

/// How much of what is not known matters to the best plan, or without a plan simply how much is not known.
fn weight(report: &FitReport, table: &FitTable, used: Option<&[f64]>) -> f64 {
    let all = (0..table.rows.len()).map(|row| doubt(report, table, row) * used.map_or(1.0, |used| used[row]));
    all.sum::<f64>() / if used.is_some() { 1.0 } else { table.rows.len().max(1) as f64 }
}

fn parts(report: &FitReport, reliance: Option<&[Vec<f64>]>) -> String {
    let mut order: Vec<usize> = (0..report.tables.len()).collect();
    let weights: Vec<f64> =
        report.tables.iter().enumerate().map(|(i, t)| weight(report, t, reliance.map(|r| &r[i][..]))).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    let line = |&i: &usize| {
        let t = &report.tables[i];
        // Rows where episodes have ended need not be known; a table has others, since episodes begin somewhere.
        let needed: Vec<usize> = (0..t.rows.len()).filter(|row| t.ended.binary_search(row).is_err()).collect();
        let mut widths: Vec<f64> = needed.iter().map(|&row| t.share(row)).collect();
        widths.sort_by(f64::total_cmp);
        let mut visits: Vec<u64> = needed.iter().map(|&row| t.rows[row].visits).collect();
        visits.sort_unstable();
        let form = match t.interval {
            IntervalKind::Beta => t.form.clone(),
            IntervalKind::Laplace => format!("{} (Laplace)", t.form),
        };
        vec![
            t.what.clone(),
            form,
            count(needed.len() as u64),
            count(t.never_seen() as u64),
            count(visits[visits.len() / 2]),
            short(two(widths[widths.len() / 2])),
            short(two(widths[widths.len() - 1])),
        ]
    };
    let rows: Vec<Vec<String>> = order.iter().map(line).collect();
    let header = ["", "form", "rows", "never seen", "visits", "width", "widest"];
    let align = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
    let percent = short(report.level * 100.0);
    let order_words = match reliance {
        Some(_) => "sorted by how much the optimal plan relies on uncertain rows",
        None => "sorted by uncertainty",
    };
    let note = format!(
        "visits, width: of the row in the middle; width: of the {percent} % credible interval, as a share of what it could be; \
         {order_words}"
    );
    table(&header, &rows, &align) + &format!("{}\n", wrapped(&note))
}

fn relied_on(report: &FitReport, reliance: &[Vec<f64>]) -> String {
    let mut all: Vec<(f64, usize, usize)> = Vec::new();
    for (i, t) in report.tables.iter().enumerate().filter(|(_, t)| t.part != FitPart::Start) {
        let rows = (0..t.rows.len()).filter(|&row| reliance[i][row] > 0.0);
        all.extend(rows.map(|row| (doubt(report, t, row) * reliance[i][row], i, row)));
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let line = |&(_, i, row): &(f64, usize, usize)| {
        let (t, r) = (&report.tables[i], &report.tables[i].rows[row]);
        // The outcome that is least sure.
        let at =
            (0..r.mean.len()).max_by(|&a, &b| (r.high[a] - r.low[a]).total_cmp(&(r.high[b] - r.low[b]))).unwrap_or(0);
        let outcome = if t.part == FitPart::Reward { String::new() } else { format!("{}: ", t.outcomes[at]) };
        vec![
            t.what.clone(),
            t.row_words(row),
            {
                let scale = if t.part == FitPart::Reward { t.range[0].abs().max(t.range[1].abs()) } else { 1.0 };
                let [mean, low, high] = [r.mean[at], r.low[at], r.high[at]].map(|x| of_scale(x, scale));
                format!("{outcome}{mean} [{low}, {high}]")
            },
            count(r.visits),
            short(two(reliance[i][row])),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().take(RELIED_ON).map(line).collect();
    let align = [Align::Left, Align::Left, Align::Left, Align::Right, Align::Right];
    table(&["", "row", "mean and interval", "visits", "uses"], &rows, &align)
        + "uses: how often an episode of that plan rests on the row\n"
}

/// With digits that say something of numbers of this size.
fn of_scale(x: f64, scale: f64) -> String {
    match scale {
        _ if x == 0.0 => "0".into(),
        scale if scale >= 0.1 => short(two(x)),
        scale if scale >= 0.01 => short(x),
        _ => format!("{x:.2e}"),
    }
}

fn two(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// What is well known and what is not.
pub(super) fn picture(report: &FitReport, world: &World) -> Strips {
    let strip = |t: &FitTable| {
        let never = t.never_seen();
        let rows = t.rows.len();
        let words = if rows == 1 { "1 row".to_owned() } else { format!("{} rows", count(rows as u64)) };
        Strip {
            label: t.what.clone(),
            note: if never > 0 { format!("{words}, {} never seen", count(never as u64)) } else { words },
            rows: (0..rows).map(|row| (t.share(row), t.rows[row].visits)).collect(),
        }
    };
    let (steps, episodes) = (count(report.steps), count(report.episodes));
    Strips {
        title: format!("{}: what the log says", world.name()),
        subtitle: format!(
            "{steps} steps in {episodes} episodes. Each bar is a row; its height is the width of the {} % interval.",
            short(report.level * 100.0)
        ),
        strips: report.tables.iter().filter(|t| t.part != FitPart::Start).map(strip).collect(),
    }
}
