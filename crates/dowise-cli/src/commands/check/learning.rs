//! What has to be learned where only the graph is known.

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
        let weights = world.low_rank().and(world.n_features()).filter(|_| !world.pays_on_next_values());
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
            let advice = match t.within_step {
                true => "say in which form it depends on its parents, such as `learn = \"logit\"`, or give it fewer",
                false => "name less in its `scope`",
            };
            let rows = table::count(t.rows);
            text += &table::wrapped(&format!("{} has {rows} rows, and each has to be visited: {advice}.", t.what));
            text.push('\n');
        }
        text
    }

    /// Where transitions are of low rank nobody learns the rows of their tables: regressions learn weights, and mechanisms within a step by themselves.
    fn by_regression(&self, weights: u64) -> String {
        let row = |t: &ToLearn| vec![t.what.clone(), t.form.clone(), table::count(t.rows), table::count(t.numbers)];
        let mechanisms: Vec<&ToLearn> = self.to_learn.iter().filter(|t| t.within_step).collect();
        let mut rows: Vec<Vec<String>> = mechanisms.iter().map(|t| row(t)).collect();
        let what = "what a step pays and leads to, by the features of its state and causes";
        rows.push(vec![what.into(), "linear".into(), String::new(), table::count(weights)]);
        let numbers = mechanisms.iter().map(|t| t.numbers).fold(weights, u64::saturating_add);
        rows.push(vec!["together".into(), String::new(), String::new(), table::count(numbers)]);
        let align = [Align::Left, Align::Left, Align::Right, Align::Right];
        let table = table::wide_table(&["what", "form", "rows", "numbers"], &rows, &align);
        let in_tables = self.to_learn.iter().filter(|t| !t.within_step).map(|t| t.rows).fold(0, u64::saturating_add);
        let text = format!(
            "For c-blsvi, whatever the number of states and interventions: `dowise learn --learner c-blsvi:unknown=all`. As tables, what a step pays and leads \
             to would have {} rows, and each would have to be visited.",
            table::count(in_tables)
        );
        format!("{table}{}\n", table::wrapped(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learning(key: &str, reward: &str) -> Learning {
        let text = format!(
            "dowise = 1\nhorizon = 3\n[state.a]\nvalues = 2\nscope = [\"a\", \"{key}\"]\n[lever.x]\nvalues = 2\n\
             [key.\"{key}\"]\nvalues = 2\nparents = [\"x\", \"a\"]\np = [[[0.9, 0.1], [0.8, 0.2]], [[0.5, 0.5], [0.4, 0.6]]]\n\
             [reward.pay]\nscope = [\"{reward}\"]\nvalue = [0.0, 1.0]\n[interventions]\nset = \"all\"\n\
             [features]\nkind = \"table\"\nscope = [\"a\", \"{key}\"]\nvalue = [[[0.8, 0.2], [0.1, 0.9]], [[0.5, 0.5], [0.3, 0.7]]]\n\
             [low_rank]\nnext.a = [[0.9, 0.1], [0.2, 0.8]]\n"
        );
        Learning::of(&World::from_toml(&text, "world.toml").unwrap())
    }

    /// Four rows of a number each, and two weights, whatever the key variable is called.
    #[test]
    fn what_regressions_learn_does_not_depend_on_names() {
        for key in ["z", "next_step", "next a", "reward"] {
            let text = learning(key, "a").text();
            let together = text.lines().find(|line| line.contains("together")).unwrap();
            assert!(together.trim_end().ends_with(" 6") && text.contains("c-blsvi:unknown=all"), "{key}: {text}");
        }
    }

    #[test]
    fn regressions_are_not_offered_where_they_refuse() {
        let text = learning("z", "next.a").text();
        assert!(!text.contains("c-blsvi") && text.contains("graph-psrl:unknown=all"), "{text}");
    }
}
