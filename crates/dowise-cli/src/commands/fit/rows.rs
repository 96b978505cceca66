//! Every row of a fit as CSV: one line for each outcome of each row.

use dowise::offline::fit::FitReport;

/// Columns: table, row, outcome, visits, mean, low, high.
pub(super) fn csv(report: &FitReport) -> String {
    let mut out = String::from("table,row,outcome,visits,mean,low,high\n");
    for table in &report.tables {
        for (i, row) in table.rows.iter().enumerate() {
            for (v, outcome) in table.outcomes.iter().enumerate() {
                let words = [&table.what, &table.row_words(i), outcome].map(|w| quoted(w)).join(",");
                out += &format!("{words},{},{:?},{:?},{:?}\n", row.visits, row.mean[v], row.low[v], row.high[v]);
            }
        }
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
