//! Roles: which variables of a graph can be set, are observed, are kept from step to step, and what is paid.

use dowise::WorldError;
use dowise::diagnostics::Problems;
use dowise::messages::nearest;
use dowise::world::{At, Located, Problem, SetSpec, Source};
use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

use crate::findings::finish;

/// What a graph does not say and a world needs; names are those of the graph's variables and values.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Title of the world; otherwise the network's.
    pub name: Option<String>,
    /// Steps of an episode; otherwise 1.
    pub horizon: Option<Located<u64>>,
    /// What can be set.
    pub levers: Vec<Located<String>>,
    /// What is observed within a step, and acts on the next state or the reward.
    pub keys: Vec<Located<String>>,
    /// What is not observed; so is everything that has no role.
    pub hidden: Vec<Located<String>>,
    /// What is kept from step to step: a variable, and the variable that is its value at the next step.
    pub states: Vec<(Located<String>, Located<String>)>,
    /// What is paid.
    pub rewards: Vec<Payment>,
    /// What setting a lever costs.
    pub costs: Vec<Payment>,
    /// Where state factors start, as (variable, value).
    pub starts: Vec<(Located<String>, Located<String>)>,
    /// Values of variables to which the graph gives none.
    pub values: Vec<(Located<String>, Vec<Located<String>>)>,
    /// Which levers an intervention sets; otherwise all.
    pub set: Option<SetSpec>,
    /// What stands for numbers that the graph does not have.
    pub missing: Option<Missing>,
}

/// An amount for a value of a variable.
#[derive(Clone, Debug)]
pub struct Payment {
    /// The variable.
    pub variable: Located<String>,
    /// Its value; `None`: every value has a number for a name, and that is the amount.
    pub value: Option<Located<String>>,
    /// The amount.
    pub amount: Located<f64>,
}

/// What stands for numbers that a graph does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Uniform tables, as placeholders.
    #[default]
    Uniform,
    /// Nothing: the mechanism is to be learned.
    Learn,
}

const KEYS: [&str; 12] =
    ["name", "horizon", "lever", "key", "hidden", "state", "reward", "cost", "start", "values", "set", "numbers"];

/// A place of roles in messages: the graph file is source 0, the file of roles source 1.
const SOURCE: usize = 1;

type Node<'i> = Spanned<DeValue<'i>>;

impl Roles {
    /// Reads roles from the text of a file; `name` is shown in messages.
    pub fn from_toml(text: &str, name: &str) -> Result<Roles, WorldError> {
        let mut reader = Reader { findings: Problems::default() };
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let at = error.span().and_then(|span| reader.place(span));
            reader.findings.push(Problem::error("syntax", format!("not TOML: {}", error.message())).at(at));
        }
        let roles = reader.roles(document.get_ref());
        // The graph's place is taken by a source without text, so that places keep their numbers.
        let sources = vec![
            Source { name: String::new(), text: String::new() },
            Source { name: name.to_owned(), text: text.to_owned() },
        ];
        finish(reader.findings, sources)?;
        Ok(roles)
    }

    /// These roles, and those of `more` behind them; what can be said once is taken from `more`.
    pub fn and(mut self, more: Roles) -> Roles {
        self.name = more.name.or(self.name);
        self.horizon = more.horizon.or(self.horizon);
        self.set = more.set.or(self.set);
        self.missing = more.missing.or(self.missing);
        self.levers.extend(more.levers);
        self.keys.extend(more.keys);
        self.hidden.extend(more.hidden);
        self.states.extend(more.states);
        self.rewards.extend(more.rewards);
        self.costs.extend(more.costs);
        self.starts.extend(more.starts);
        self.values.extend(more.values);
        self
    }
}

struct Reader {
    findings: Problems,
}

impl Reader {
    fn place(&self, span: std::ops::Range<usize>) -> Option<At> {
        Some(At { source: SOURCE, start: span.start, end: span.end })
    }

    fn wrong(&mut self, node: &Node<'_>, what: &str, expected: &str) {
        let at = self.place(node.span());
        self.findings.push(Problem::error("wrong-type", format!("{what}: expected {expected}")).at(at));
    }

    fn roles(&mut self, top: &DeTable<'_>) -> Roles {
        let mut roles = Roles::default();
        for (key, node) in entries(top) {
            match key.get_ref().as_ref() {
                "name" => roles.name = self.name(node, "`name`").map(|name| name.value),
                "horizon" => roles.horizon = self.horizon(node),
                "lever" => roles.levers = self.names(node, "`lever`"),
                "key" => roles.keys = self.names(node, "`key`"),
                "hidden" => roles.hidden = self.names(node, "`hidden`"),
                "state" => roles.states = self.pairs(node, "`state`"),
                "start" => roles.starts = self.pairs(node, "`start`"),
                "reward" => roles.rewards = self.payments(node, "`reward`"),
                "cost" => roles.costs = self.payments(node, "`cost`"),
                "values" => {
                    for (key, values) in self.table(node, "`values`") {
                        roles.values.push((key, self.names(values, "`values` of a variable")));
                    }
                }
                "set" => roles.set = self.set(node),
                "numbers" => {
                    roles.missing = match node.get_ref().as_str() {
                        Some("uniform") => Some(Missing::Uniform),
                        Some("learn") => Some(Missing::Learn),
                        _ => {
                            self.wrong(node, "`numbers`", "\"uniform\" or \"learn\"");
                            None
                        }
                    }
                }
                other => {
                    let help = match nearest(other, KEYS.into_iter()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("the keys are {}", KEYS.join(", ")),
                    };
                    let at = self.place(key.span());
                    let message = format!("roles have no key `{other}`");
                    self.findings.push(Problem::error("unknown-key", message).help(help).at(at));
                }
            }
        }
        roles
    }

    fn table<'a, 'i>(&mut self, node: &'a Node<'i>, what: &str) -> Vec<(Located<String>, &'a Node<'i>)> {
        let Some(table) = node.get_ref().as_table() else {
            self.wrong(node, what, "a table with the names of variables");
            return vec![];
        };
        let named = |(key, value): (&Spanned<DeString<'i>>, &'a Node<'i>)| {
            (Located::new(key.get_ref().to_string(), self.place(key.span())), value)
        };
        entries(table).into_iter().map(named).collect()
    }

    /// A name; whole numbers and true and false stand for their text, as in a world file.
    fn name(&mut self, node: &Node<'_>, what: &str) -> Option<Located<String>> {
        let text = match node.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Boolean(flag) => flag.to_string(),
            _ => {
                self.wrong(node, what, "a name");
                return None;
            }
        };
        Some(Located::new(text, self.place(node.span())))
    }

    fn names(&mut self, node: &Node<'_>, what: &str) -> Vec<Located<String>> {
        match node.get_ref() {
            DeValue::Array(items) => items.iter().filter_map(|item| self.name(item, what)).collect(),
            DeValue::String(_) => self.name(node, what).into_iter().collect(),
            _ => {
                self.wrong(node, what, "a list of names");
                vec![]
            }
        }
    }

    fn pairs(&mut self, node: &Node<'_>, what: &str) -> Vec<(Located<String>, Located<String>)> {
        let table = self.table(node, what);
        table.into_iter().filter_map(|(key, value)| Some((key, self.name(value, what)?))).collect()
    }

    /// `{ variable = { value = amount } }`, or `{ variable = "values" }`.
    fn payments(&mut self, node: &Node<'_>, what: &str) -> Vec<Payment> {
        let mut payments = vec![];
        for (variable, amounts) in self.table(node, what) {
            if amounts.get_ref().as_str() == Some("values") {
                let amount = Located::new(1.0, self.place(amounts.span()));
                payments.push(Payment { variable, value: None, amount });
                continue;
            }
            if amounts.get_ref().as_table().is_none() {
                self.wrong(amounts, what, "amounts by value, such as { yes = 1.0 }, or \"values\"");
                continue;
            }
            for (value, amount) in self.table(amounts, what) {
                let number = match amount.get_ref() {
                    DeValue::Integer(number) => whole_of(number).map(|n| n as f64),
                    DeValue::Float(number) => number.as_str().parse().ok(),
                    _ => None,
                };
                match number {
                    Some(number) => payments.push(Payment {
                        variable: variable.clone(),
                        value: Some(value),
                        amount: Located::new(number, self.place(amount.span())),
                    }),
                    None => self.wrong(amount, what, "a number"),
                }
            }
        }
        payments
    }

    fn horizon(&mut self, node: &Node<'_>) -> Option<Located<u64>> {
        let steps = node.get_ref().as_integer().and_then(whole_of).and_then(|n| u64::try_from(n).ok());
        if steps.is_none() {
            self.wrong(node, "`horizon`", "a number of steps");
        }
        steps.map(|steps| Located::new(steps, self.place(node.span())))
    }

    fn set(&mut self, node: &Node<'_>) -> Option<SetSpec> {
        let at_most = node.get_ref().as_integer().and_then(whole_of).and_then(|n| u64::try_from(n).ok());
        match (node.get_ref().as_str(), at_most) {
            (Some("all"), _) => Some(SetSpec::All),
            (Some("any"), _) => Some(SetSpec::Any),
            (_, Some(n)) => Some(SetSpec::AtMost(Located::new(n, self.place(node.span())))),
            _ => {
                self.wrong(node, "`set`", "\"all\", \"any\", or the most levers that are set at once");
                None
            }
        }
    }
}

fn whole_of(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The entries of a table in the order of the file.
fn entries<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(&'a Spanned<DeString<'i>>, &'a Node<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}
