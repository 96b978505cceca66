//! One changed option of a specification: its line of the table and its value.

use std::fmt;

use super::table::{LearnerOption, OPTIONS};
use crate::learn::options::Forget;

/// What the values of an option look like.
pub(super) enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// Some of these words, joined by `+`, or one word for all of them.
    Several(&'static [&'static str], &'static str),
    /// A number.
    Number {
        /// Which numbers, in words.
        expected: &'static str,
        /// The same in the documentation.
        documented: &'static str,
        example: &'static str,
        allowed: fn(f64) -> bool,
    },
    /// Names, joined by `+`.
    Names { expected: &'static str, documented: &'static str },
    /// What is forgotten.
    Forget { expected: &'static str, documented: &'static str },
    /// `true` or `false`.
    Flag,
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Word(&'static str),
    /// Words or names, each once.
    Several(Vec<String>),
    Number(f64),
    Forget(Forget),
    Flag(bool),
}

impl Values {
    /// Reads a value; `None` if it is none of these.
    pub(super) fn read(&self, text: &str) -> Option<Value> {
        match self {
            Values::Words(words) => words.iter().find(|word| **word == text).map(|word| Value::Word(word)),
            Values::Several(words, all) if text == *all => {
                Some(Value::Several(words.iter().map(|word| (*word).to_owned()).collect()))
            }
            Values::Several(words, _) => {
                let given = names(text)?;
                let known = given.iter().all(|g| words.contains(&g.as_str()));
                let in_order = words.iter().filter(|word| given.iter().any(|g| g == *word));
                known.then(|| Value::Several(in_order.map(|word| (*word).to_owned()).collect()))
            }
            Values::Number { allowed, .. } => number(text, allowed).map(Value::Number),
            Values::Names { .. } => names(text).map(Value::Several),
            Values::Forget { .. } => forget(text).map(Value::Forget),
            Values::Flag => text.parse().ok().map(Value::Flag),
        }
    }

    /// Some value.
    fn example(&self) -> &'static str {
        match self {
            Values::Words(words) | Values::Several(words, _) => words[0],
            Values::Number { example, .. } => example,
            Values::Names { .. } => "NAME",
            Values::Forget { .. } => "reset",
            Values::Flag => "true",
        }
    }

    /// The words that a value may be; none for numbers and names.
    pub(super) fn words(&self) -> Vec<&'static str> {
        match self {
            Values::Words(words) => words.to_vec(),
            Values::Several(words, all) => words.iter().copied().chain([*all]).collect(),
            Values::Flag => vec!["true", "false"],
            Values::Number { .. } | Values::Names { .. } | Values::Forget { .. } => vec![],
        }
    }

    /// What a value may be, for messages and help.
    pub(super) fn expected(&self) -> String {
        match self {
            Values::Words(words) => words.join(", "),
            Values::Several(words, all) => format!("{}, or {all} (that is {})", words.join(", "), words.join("+")),
            Values::Number { expected, .. } | Values::Names { expected, .. } | Values::Forget { expected, .. } => {
                (*expected).to_owned()
            }
            Values::Flag => "true or false".into(),
        }
    }

    /// What a value may be, as a cell of the documentation.
    pub(super) fn documented(&self) -> String {
        let code = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        match self {
            Values::Words(_) | Values::Flag => code(&self.words()),
            Values::Several(words, _) => format!("{} (= `{}`)", code(&self.words()), words.join("+")),
            Values::Number { documented, .. }
            | Values::Names { documented, .. }
            | Values::Forget { documented, .. } => (*documented).to_owned(),
        }
    }
}

impl Value {
    pub(super) fn number(&self) -> f64 {
        match self {
            Value::Number(x) => *x,
            other => unreachable!("invariant: the option has numbers, not {other:?}"),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        match self {
            Value::Flag(on) => *on,
            other => unreachable!("invariant: the option is true or false, not {other:?}"),
        }
    }

    pub(super) fn forget(&self) -> Forget {
        match self {
            Value::Forget(forget) => *forget,
            other => unreachable!("invariant: the option says what is forgotten, not {other:?}"),
        }
    }

    /// Names, or some words.
    pub(super) fn several(&self) -> &[String] {
        match self {
            Value::Several(names) => names,
            other => unreachable!("invariant: the option has several words, not {other:?}"),
        }
    }

    /// The entry of a vocabulary.
    pub(super) fn entry<T>(&self, of: fn(&str) -> Option<T>) -> T {
        match self {
            Value::Word(word) => of(word).expect("invariant: the option has the words of this vocabulary"),
            other => unreachable!("invariant: the option has words, not {other:?}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Word(word) => f.write_str(word),
            Value::Several(names) => f.write_str(&names.join("+")),
            Value::Number(x) => write!(f, "{x}"),
            Value::Flag(on) => write!(f, "{on}"),
            Value::Forget(Forget::Never) => f.write_str("never"),
            Value::Forget(Forget::Reset) => f.write_str("reset"),
            Value::Forget(Forget::Window { episodes }) => write!(f, "window:{episodes}"),
            Value::Forget(Forget::Discount { share }) => write!(f, "discount:{share}"),
        }
    }
}

/// One option with its value.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) option: &'static LearnerOption,
    pub(super) value: Value,
}

impl Change {
    /// An option with a value that it may have.
    pub(super) fn example(option: &'static LearnerOption) -> Change {
        let value = option.values.read(option.values.example());
        Change { option, value: value.expect("invariant: every example is a value of its option") }
    }

    /// Position among all options.
    pub(super) fn position(&self) -> usize {
        OPTIONS.iter().position(|o| o.name == self.option.name).expect("invariant: every option is in the table")
    }
}

impl PartialEq for Change {
    fn eq(&self, other: &Change) -> bool {
        self.option.name == other.option.name && self.value == other.value
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.option.name, self.value)
    }
}

fn number(text: &str, allowed: impl Fn(f64) -> bool) -> Option<f64> {
    text.parse().ok().filter(|x: &f64| x.is_finite() && allowed(*x))
}

/// Names joined by `+`, each once.
fn names(text: &str) -> Option<Vec<String>> {
    let names: Vec<String> = text.split('+').map(|n| n.trim().to_owned()).collect();
    let twice = (1..names.len()).any(|i| names[..i].contains(&names[i]));
    (!twice && names.iter().all(|n| !n.is_empty())).then_some(names)
}

/// What is forgotten, as it is written.
fn forget(text: &str) -> Option<Forget> {
    match text.split_once(':') {
        None if text == "reset" => Some(Forget::Reset),
        None if text == "never" => Some(Forget::Never),
        Some(("window", episodes)) => {
            let episodes = episodes.trim().parse().ok().filter(|n| crate::learn::error::WINDOWS.contains(n))?;
            Some(Forget::Window { episodes })
        }
        Some(("discount", share)) => {
            number(share.trim(), |x| x > 0.0 && x < 1.0).map(|share| Forget::Discount { share })
        }
        _ => None,
    }
}
