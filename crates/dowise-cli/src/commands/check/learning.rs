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
    /// Weights of a regression on the world's features (d), where transitions are of low rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<u64>,
    /// Why nothing can be learned from observations, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl Learning {
    pub(super) fn of(world: &World) -> Learning {
        let weights = world.low_rank().and(world.n_features());
        match Knowledge::of(world).without_mechanisms().without_rewards().to_learn() {
            Ok(to_learn) => Learning { to_learn, weights, refused: None },
            Err(error) => Learning { to_learn: Vec::new(), weights, refused: Some(error.to_string()) },
        }
    }

    pub(super) fn text(&self) -> String {
        if let Some(refused) = &self.refused {
            return format!("{}\n", table::wrapped(&format!("Not from observations: {refused}.")));
        }
        if let Some(weights) = self.weights {
            return self.by_regression(weights);
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

    /// Where transitions are of low rank nobody learns the rows of their tables: regressions learn weights, and mechanisms within a step by themselves.
    fn by_regression(&self, weights: u64) -> String {
        let is_of_step = |t: &&ToLearn| t.what.starts_with("P(next") || t.what.starts_with("reward");
        let row = |t: &ToLearn| vec![t.what.clone(), t.form.clone(), table::count(t.rows), table::count(t.numbers)];
        let mechanisms: Vec<&ToLearn> = self.to_learn.iter().filter(|t| !is_of_step(t)).collect();
        let mut rows: Vec<Vec<String>> = mechanisms.iter().map(|t| row(t)).collect();
        let what = "what a step pays and leads to, by the features of its state and causes";
        rows.push(vec![what.into(), "linear".into(), String::new(), table::count(weights)]);
        let numbers = mechanisms.iter().map(|t| t.numbers).fold(weights, u64::saturating_add);
        rows.push(vec!["together".into(), String::new(), String::new(), table::count(numbers)]);
        let align = [Align::Left, Align::Left, Align::Right, Align::Right];
        let table = table::wide_table(&["what", "form", "rows", "numbers"], &rows, &align);
        let in_tables = self.to_learn.iter().filter(is_of_step).map(|t| t.rows).fold(0, u64::saturating_add);
        let text = format!(
            "For c-blsvi, whatever the number of states and interventions: `dowise learn --learner c-blsvi:unknown=all`. As tables, what a step pays and leads \
             to would have {} rows, and each would have to be visited.",
            table::count(in_tables)
        );
        format!("{table}{}\n", table::wrapped(&text))
    }
}
