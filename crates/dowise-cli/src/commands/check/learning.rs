//! What has to be learned where nothing but the graph is told.

use dowise::learn::ToLearn;
use dowise::{Knowledge, World};
use serde::Serialize;

use crate::table::{self, Align};

/// Rows of one table beyond which learning each by itself is hardly what anybody means.
const MANY_ROWS: u64 = 1000;

/// What a learner has to learn with `unknown=all`.
#[derive(Serialize)]
pub(super) struct Learning {
    to_learn: Vec<ToLearn>,
    /// Why nothing can be learned from observations, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl Learning {
    pub(super) fn of(world: &World) -> Learning {
        match Knowledge::of(world).without_mechanisms().without_rewards().to_learn() {
            Ok(to_learn) => Learning { to_learn, refused: None },
            Err(error) => Learning { to_learn: Vec::new(), refused: Some(error.to_string()) },
        }
    }

    pub(super) fn text(&self) -> String {
        if let Some(refused) = &self.refused {
            return format!("{}\n", table::wrapped(&format!("Not from observations: {refused}.")));
        }
        let row = |t: &ToLearn| vec![t.what.clone(), t.form.clone(), table::count(t.rows), table::count(t.numbers)];
        let mut rows: Vec<Vec<String>> = self.to_learn.iter().map(row).collect();
        let sum = |of: fn(&ToLearn) -> u64| table::count(self.to_learn.iter().map(of).fold(0, u64::saturating_add));
        rows.push(vec!["together".into(), String::new(), sum(|t| t.rows), sum(|t| t.numbers)]);
        let align = [Align::Left, Align::Left, Align::Right, Align::Right];
        let mut text = table::wide_table(&["what", "form", "rows", "numbers"], &rows, &align);
        text += &table::wrapped(
            "For graph-psrl and graph-ucbvi, whatever the number of interventions: `dowise learn --learner graph-psrl:unknown=all`.",
        );
        text.push('\n');
        for t in self.to_learn.iter().filter(|t| t.rows > MANY_ROWS && t.form.starts_with("table")) {
            let advice = match t.what.starts_with("P(next") || t.what.starts_with("reward") {
                true => "name less in its `scope`",
                false => "say in which form it depends on its parents, such as `learn = \"logit\"`, or give it fewer",
            };
            let rows = table::count(t.rows);
            text += &table::wrapped(&format!("{} has {rows} rows, and each has to be visited: {advice}.", t.what));
            text.push('\n');
        }
        text
    }
}
