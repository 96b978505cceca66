//! Problem size: the number of rows and parameters to learn, and their form, computed before learning.

use serde::Serialize;

use super::Knowledge;
use super::error::LearnResult;
use super::view::MechanismRows;
use crate::world::{Kind, LearnedForm, Mechanism, VarId, World};

/// One distribution or reward term that has to be learned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToLearn {
    /// Such as `P(opened | subject, loyalty)`.
    pub what: String,
    /// Whether it is a mechanism within a step, and not what a step pays or leads to.
    #[serde(skip)]
    pub within_step: bool,
    /// In which form, such as `logit, through on_top`.
    pub form: String,
    /// Combinations of what it depends on.
    pub rows: u64,
    /// Numbers that have to be learned: probabilities of a table less one in each row, or the parameters of a form.
    pub numbers: u64,
}

impl Knowledge {
    /// What a learner has to learn that is given this, follows the graph, and sees only what can be observed: mechanisms behind
    /// hidden variables are counted as they are learned, without them.
    pub fn to_learn(&self) -> LearnResult<Vec<ToLearn>> {
        let world = self.world();
        let mut out = Vec::new();
        for m in world.transitions().iter().filter(|m| m.table.is_none()) {
            out.push(of_table(world, m, "next "));
        }
        if let Some(rows) = MechanismRows::new(world)? {
            for of in &rows.unknown {
                let m = &rows.world.mechanisms()[of.position];
                let mut entry = of_table(&rows.world, m, "");
                let members: Vec<&Mechanism> = of.made_from.iter().map(|&i| &world.mechanisms()[i]).collect();
                if let Some(model) = &of.model {
                    entry.numbers = model.n_parameters() as u64;
                    entry.form = form_of(&members, |id| world.variable(id).kind == Kind::Key);
                }
                let hidden: Vec<&str> = members
                    .iter()
                    .flat_map(|m| &m.children)
                    .filter(|id| world.variable(**id).kind == Kind::Hidden)
                    .map(|&id| world.variable(id).name.as_str())
                    .collect();
                if !hidden.is_empty() {
                    entry.form += &format!(", through {}", hidden.join(", "));
                }
                for m in members.iter().filter(|m| m.assumed.guess.is_some()) {
                    let (weight, visits) = match m.assumed.weight {
                        Some(1.0) => ("1".to_owned(), "visit"),
                        weight => (weight.unwrap_or_default().to_string(), "visits"),
                    };
                    entry.form += &format!(", a guess at {} worth {weight} {visits}", names(world, &m.children));
                }
                out.push(entry);
            }
        }
        for r in world.rewards().iter().filter(|r| world.mean_is_learned(r)) {
            let scope = world.expected_scope(r);
            let rows = product(&world.sizes(&scope));
            let what = format!("reward {}({})", r.name, names(world, &scope));
            out.push(ToLearn { what, within_step: false, form: "table".into(), rows, numbers: rows });
        }
        Ok(out)
    }
}

/// The forms of the observed variables among some mechanisms.
fn form_of(members: &[&Mechanism], observed: impl Fn(VarId) -> bool) -> String {
    let mut words: Vec<&str> = Vec::new();
    for m in members.iter().filter(|m| m.children.iter().any(|&id| observed(id))) {
        let word = match (&m.table, &m.assumed.form) {
            (Some(_), _) => "known",
            (None, LearnedForm::Table) => "table",
            (None, LearnedForm::NoisyOr) => "noisy-or",
            (None, LearnedForm::Logit { .. }) => "logit",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" and ")
}

fn of_table(world: &World, m: &Mechanism, next: &str) -> ToLearn {
    let given = if m.parents.is_empty() { String::new() } else { format!(" | {}", names(world, &m.parents)) };
    let (rows, values) = (product(&world.sizes(&m.parents)), product(&world.sizes(&m.children)));
    ToLearn {
        what: format!("P({next}{}{given})", names(world, &m.children)),
        within_step: next.is_empty(),
        form: "table".into(),
        rows,
        numbers: rows.saturating_mul(values - 1),
    }
}

fn names(world: &World, ids: &[VarId]) -> String {
    ids.iter().map(|&id| world.variable(id).name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A product that stays at the largest number instead of overflowing.
fn product(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1, |n, &size| n.saturating_mul(size as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds;

    #[test]
    fn everything_of_the_campaign_is_counted_as_it_is_learned() {
        let world = worlds::world("campaign", &[]).unwrap();
        let all = Knowledge::of(&world).without_mechanisms().without_rewards().to_learn().unwrap();
        let line = |t: &ToLearn| format!("{}: {}, {} rows, {} numbers", t.what, t.form, t.rows, t.numbers);
        assert_eq!(
            all.iter().map(line).collect::<Vec<_>>(),
            [
                "P(next loyalty | loyalty, opened, price): table, 18 rows, 36 numbers",
                "P(next willingness | willingness, opened, interest): table, 12 rows, 24 numbers",
                "P(next purse | purse): table, 2 rows, 2 numbers",
                "P(price | discount, shipping, purse): logit, 32 rows, 16 numbers",
                "P(cart | landing, reminder, willingness): table, 48 rows, 48 numbers",
                "P(opened | loyalty, subject, hour, weekday): logit, through on_top, 192 rows, 14 numbers",
                "P(interest | loyalty, willingness, product, picture, tone): logit, through relevant, 576 rows, 23 numbers",
                "reward purchase(opened, interest, price, cart, purse): table, 48 rows, 48 numbers",
                "reward goodwill(loyalty): table, 3 rows, 3 numbers",
            ]
        );
        let knowledge = Knowledge::of(&world).with_transitions_of(&world, &["purse"]).unwrap().to_learn().unwrap();
        assert_eq!(knowledge.len(), 2);
    }
}
