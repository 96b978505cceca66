//! Whether the log contradicts the declared graph, in words and numbers.

use dowise::messages::grouped;
use serde_json::{Value, json};

use crate::graph_watch::{DELTA, Watched};

/// Claims that are listed: the most doubtful ones.
const LISTED: usize = 20;

/// One plain sentence on the graph.
pub(crate) fn graph_sentence(watched: Option<&Watched>) -> String {
    let Some(Watched { report, .. }) = watched else {
        return "The declared graph is not watched yet, or its tables are too large for that.".to_owned();
    };
    if let Some(found) = &report.found {
        let what = capitalised(&found.what);
        return format!("The declared graph is contradicted, noticed after {} steps. {what}.", grouped(found.steps));
    }
    let Some(worst) = report.claims.first() else {
        return "The declared graph claims nothing that could be contradicted.".to_owned();
    };
    if report.steps == 0 {
        return format!("The declared graph makes {} claims; nothing has been observed yet.", report.claims.len());
    }
    // What bets against a claim have made of their stake; it is contradicted where that is the number of claims over δ.
    let [worst_e, bar] = [worst.log_e, report.bar].map(|log| short(log.exp()));
    format!(
        "{} steps do not contradict the declared graph. Most doubtful of its {} claims: {}. A bet of 1 against that has become {worst_e}; at {bar} \
         it would be contradicted.",
        grouped(report.steps),
        report.claims.len(),
        worst.claim,
    )
}

/// The sentence, and what it rests on.
pub(crate) fn graph_watch(watched: Option<&Watched>) -> Value {
    let sentence = graph_sentence(watched);
    let Some(Watched { report, seq }) = watched else {
        return json!({"sentence": sentence, "watched": false, "contradicted": false, "delta": DELTA});
    };
    json!({
        "sentence": sentence,
        "watched": true,
        "contradicted": report.contradicted,
        "found": report.found,
        "delta": report.delta,
        "steps": report.steps,
        "events": seq,
        "bar": report.bar,
        "n_claims": report.claims.len(),
        "untested": report.untested,
        "claims": &report.claims[..report.claims.len().min(LISTED)],
    })
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Three digits.
fn short(x: f64) -> String {
    match x {
        x if x >= 1e6 => format!("{x:.0e}"),
        x if x >= 100.0 => grouped(x.round() as u64),
        x if x >= 10.0 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!([0.123, 4.0, 31.04, 740.2, 2e7].map(short), ["0.12", "4.00", "31.0", "740", "2e7"]);
    }
}
