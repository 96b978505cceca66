//! Names of states, interventions and values: conversion to and from numbers, with errors by name.

use super::{Action, LeverRule, VarId, World};
use crate::messages::nearest;

/// A state, an intervention or values of variables as user input.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Its number.
    Number(i64),
    /// One value for each variable, in the order of the world.
    List(Vec<GivenValue>),
    /// Values by the names of their variables.
    Named(Vec<(String, GivenValue)>),
}

/// The value of one variable as user input.
#[derive(Clone, Debug, PartialEq)]
pub enum GivenValue {
    /// Not given: a lever left alone, or a missing observation.
    Missing,
    /// Its number.
    Number(i64),
    /// Its name.
    Name(String),
}

/// Why user input does not exist in this world.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NamingError {
    /// A number outside the state space.
    #[error("there is no state {number}; states run from 0 to {last}")]
    State {
        /// As given.
        number: i64,
        /// The last one.
        last: usize,
    },
    /// A number outside the interventions.
    #[error("there is no intervention {number}; they run from 0 to {last}")]
    Intervention {
        /// As given.
        number: i64,
        /// The last one.
        last: u64,
    },
    /// A combination of settings outside the world's interventions.
    #[error("this world has no intervention {intervention}")]
    NotOffered {
        /// The settings.
        intervention: String,
    },
    /// An intervention that is forbidden in the state.
    #[error("{intervention} is not allowed in state {state}")]
    NotAllowed {
        /// The settings.
        intervention: String,
        /// The state's number.
        state: usize,
    },
    /// An unknown name for that kind of variable.
    #[error("there is no {kind} \"{name}\"{}; there are {}", did_you_mean(.nearest), .names.join(", "))]
    Variable {
        /// `state factor`, `lever` or `key variable`.
        kind: &'static str,
        /// As given.
        name: String,
        /// The most similar name, if one is similar.
        nearest: Option<String>,
        /// All names.
        names: Vec<String>,
    },
    /// An unknown value of a variable.
    #[error("\"{variable}\" has no value {value}; it has {}", some(.values))]
    Value {
        /// The variable.
        variable: String,
        /// As given.
        value: String,
        /// Names of its values.
        values: Vec<String>,
    },
    /// A list of the wrong length.
    #[error("{found} values given for {kind}s of sizes ({})", .sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))]
    Length {
        /// `state factor`, `lever` or `key variable`.
        kind: &'static str,
        /// Values given.
        found: usize,
        /// Number of values of each variable.
        sizes: Vec<usize>,
    },
    /// A required value is missing.
    #[error("the {kind} \"{name}\" is not given")]
    Missing {
        /// `state factor`, `lever` or `key variable`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Levers left alone although every lever has to be set.
    #[error("every lever has to be set here, and nothing is given for {}", .levers.join(", "))]
    LeversOpen {
        /// Their names.
        levers: Vec<String>,
    },
    /// A variable named twice.
    #[error("the {kind} \"{name}\" is given twice")]
    Twice {
        /// `state factor`, `lever` or `key variable`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A number instead of values of variables.
    #[error("{number} is one number; give the values of the {kind}s as a list or by name")]
    OneNumber {
        /// `state factor`, `lever` or `key variable`.
        kind: &'static str,
        /// As given.
        number: i64,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |n| format!(", did you mean \"{n}\"?"))
}

/// Names of values, abbreviated if there are many.
fn some(values: &[String]) -> String {
    const SHOWN: usize = 20;
    match values.len() {
        n if n <= SHOWN => values.join(", "),
        n => format!("{}, … ({} more)", values[..SHOWN].join(", "), n - SHOWN),
    }
}

impl From<usize> for Given {
    fn from(number: usize) -> Given {
        Given::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<const N: usize> From<[&str; N]> for Given {
    fn from(values: [&str; N]) -> Given {
        Given::List(values.into_iter().map(|v| GivenValue::Name(v.to_owned())).collect())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Given {
    fn from(pairs: [(&str, &str); N]) -> Given {
        Given::Named(pairs.into_iter().map(|(k, v)| (k.to_owned(), GivenValue::Name(v.to_owned()))).collect())
    }
}

impl From<&[u32]> for Given {
    fn from(values: &[u32]) -> Given {
        Given::List(values.iter().map(|&v| GivenValue::Number(i64::from(v))).collect())
    }
}

impl World {
    /// Parses a state: its number, or a value for each state factor.
    pub fn read_state(&self, given: &Given) -> Result<usize, NamingError> {
        let space = self.state_space();
        if let Given::Number(number) = *given {
            return match usize::try_from(number) {
                Ok(s) if s < space.len() => Ok(s),
                _ => Err(NamingError::State { number, last: space.len() - 1 }),
            };
        }
        let digits = self.read_values(self.state(), "state factor", given)?;
        let digit = |(digit, &id): (Option<usize>, &VarId)| digit.ok_or_else(|| self.missing("state factor", id));
        let digits: Vec<usize> = digits.into_iter().zip(self.state()).map(digit).collect::<Result<_, _>>()?;
        Ok(space.index(&digits))
    }

    /// Parses an intervention: its number, or values of levers; the others are left alone.
    pub fn read_action(&self, given: &Given) -> Result<Action, NamingError> {
        let all = self.interventions();
        if let Given::Number(number) = *given {
            return match u64::try_from(number) {
                Ok(rank) if rank < all.count() => Ok(all.nth(rank)),
                _ => Err(NamingError::Intervention { number, last: all.count().saturating_sub(1) }),
            };
        }
        let values = self.read_values(self.levers(), "lever", given)?;
        if matches!(all.lever_rule(), LeverRule::All) && values.contains(&None) {
            let open = self.levers().iter().zip(&values).filter(|(_, value)| value.is_none());
            let levers = open.map(|(&id, _)| self.variable(id).name.clone()).collect();
            return Err(NamingError::LeversOpen { levers });
        }
        let action = all.action(&values);
        match all.rank(action) {
            Some(_) => Ok(action),
            None => Err(NamingError::NotOffered { intervention: self.describe_action(action) }),
        }
    }

    /// Fails unless the intervention is allowed in the state.
    pub fn check_allowed(&self, state: usize, action: Action) -> Result<(), NamingError> {
        let all = self.interventions();
        if all.rank(action).is_none() {
            return Err(NamingError::NotOffered { intervention: self.describe_action(action) });
        }
        if !all.forbid().is_empty() && all.is_forbidden(&self.state_space().digits(state), action) {
            return Err(NamingError::NotAllowed { intervention: self.describe_action(action), state });
        }
        Ok(())
    }

    /// Parses values of these variables, in their order; `None` for missing ones. `kind` is for messages.
    pub fn read_values(
        &self,
        ids: &[VarId],
        kind: &'static str,
        given: &Given,
    ) -> Result<Vec<Option<usize>>, NamingError> {
        match given {
            Given::Number(number) => Err(NamingError::OneNumber { kind, number: *number }),
            Given::List(values) if values.len() != ids.len() => {
                Err(NamingError::Length { kind, found: values.len(), sizes: self.sizes(ids) })
            }
            Given::List(values) => values.iter().zip(ids).map(|(value, &id)| self.read_value(id, value)).collect(),
            Given::Named(pairs) => {
                let mut out = vec![None; ids.len()];
                let mut seen = vec![false; ids.len()];
                for (name, value) in pairs {
                    let names = || ids.iter().map(|&id| self.variable(id).name.as_str());
                    let Some(i) = names().position(|n| n == name) else {
                        let nearest = nearest(name, names()).map(str::to_owned);
                        let names = names().map(str::to_owned).collect();
                        return Err(NamingError::Variable { kind, name: name.clone(), nearest, names });
                    };
                    if std::mem::replace(&mut seen[i], true) {
                        return Err(NamingError::Twice { kind, name: name.clone() });
                    }
                    out[i] = self.read_value(ids[i], value)?;
                }
                Ok(out)
            }
        }
    }

    /// Parses the value of one variable; `None` if it is missing.
    pub fn read_value(&self, id: VarId, value: &GivenValue) -> Result<Option<usize>, NamingError> {
        let variable = self.variable(id);
        let found = match value {
            GivenValue::Missing => return Ok(None),
            GivenValue::Number(i) => usize::try_from(*i).ok().filter(|&i| i < variable.size()),
            GivenValue::Name(name) => variable.values.iter().position(|v| v == name),
        };
        let text = || match value {
            GivenValue::Name(name) => name.clone(),
            GivenValue::Number(i) => i.to_string(),
            GivenValue::Missing => String::new(),
        };
        match found {
            Some(i) => Ok(Some(i)),
            None => {
                let (variable, values) = (variable.name.clone(), variable.values.clone());
                Err(NamingError::Value { variable, value: text(), values })
            }
        }
    }

    fn missing(&self, kind: &'static str, id: VarId) -> NamingError {
        NamingError::Missing { kind, name: self.variable(id).name.clone() }
    }

    /// A state as (factor, value) by name.
    pub fn state_names(&self, state: usize) -> Vec<(&str, &str)> {
        let digits = self.state_space().digits(state);
        self.state().iter().zip(digits).map(|(&id, digit)| self.value_name(id, digit)).collect()
    }

    /// An intervention as (lever, value) by name, without levers left alone.
    pub fn action_names(&self, action: Action) -> Vec<(&str, &str)> {
        let digits = self.interventions().levers(action);
        self.levers().iter().zip(digits).filter_map(|(&id, digit)| Some(self.value_name(id, digit?))).collect()
    }

    fn value_name(&self, id: VarId, digit: usize) -> (&str, &str) {
        let variable = self.variable(id);
        (&variable.name, &variable.values[digit])
    }

    /// A state in words: `mood=low rain=yes`.
    pub fn describe_state(&self, state: usize) -> String {
        let pairs = self.state_names(state);
        pairs.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
    }

    /// An intervention in words, without levers left alone: `shoes=door call=yes`, or `nothing`.
    pub fn describe_intervention(&self, action: Action) -> String {
        let set: Vec<String> = self.action_names(action).iter().map(|(k, v)| format!("{k}={v}")).collect();
        if set.is_empty() { "nothing".into() } else { set.join(" ") }
    }

    /// `do(subject = emoji, hour = evening)`.
    pub fn describe_action(&self, action: Action) -> String {
        let set: Vec<String> = self.action_names(action).iter().map(|(k, v)| format!("{k} = {v}")).collect();
        format!("do({})", set.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds;

    fn world() -> World {
        World::from_toml(&worlds::text("campaign", &[]).unwrap(), "campaign").unwrap()
    }

    #[test]
    fn numbers_lists_and_names_of_every_state_mean_the_same() {
        let world = world();
        for state in 0..world.n_states() {
            let named = world.state_names(state);
            let pairs = named.iter().rev().map(|(k, v)| ((*k).to_owned(), GivenValue::Name((*v).to_owned())));
            let list = named.iter().map(|(_, v)| GivenValue::Name((*v).to_owned()));
            let digits = world.state_space().digits(state);
            let numbers = digits.iter().map(|&d| GivenValue::Number(d as i64));
            for given in [
                Given::from(state),
                Given::Named(pairs.collect()),
                Given::List(list.collect()),
                Given::List(numbers.collect()),
            ] {
                assert_eq!(world.read_state(&given), Ok(state), "{given:?}");
            }
        }
    }

    #[test]
    fn mistakes_are_named_with_what_there_is() {
        let world = world();
        let says = |given: Given| world.read_state(&given).unwrap_err().to_string();
        assert_eq!(says(Given::Number(-1)), "there is no state -1; states run from 0 to 17");
        let text = says([("loyalti", "fan"), ("willingness", "low"), ("purse", "modest")].into());
        let expected =
            "there is no state factor \"loyalti\", did you mean \"loyalty\"?; there are loyalty, willingness, purse";
        assert_eq!(text, expected);
        let text = says([("loyalty", "fans"), ("willingness", "low"), ("purse", "modest")].into());
        assert_eq!(text, "\"loyalty\" has no value fans; it has new, regular, fan");
        assert_eq!(
            says([("loyalty", "fan"), ("purse", "modest")].into()),
            "the state factor \"willingness\" is not given"
        );
        assert_eq!(
            says([("loyalty", "fan"), ("loyalty", "new")].into()),
            "the state factor \"loyalty\" is given twice"
        );
        assert_eq!(says(["fan"].into()), "1 values given for state factors of sizes (3, 3, 2)");
    }

    #[test]
    fn an_intervention_is_read_back_from_its_names() {
        let world = world();
        let all = world.interventions();
        for rank in [0, 1, 77, all.count() - 1] {
            let action = all.nth(rank);
            let pairs = world.action_names(action).into_iter();
            let named = Given::Named(pairs.map(|(k, v)| (k.to_owned(), GivenValue::Name(v.to_owned()))).collect());
            assert_eq!(world.read_action(&named), Ok(action));
            assert_eq!(world.read_action(&Given::Number(rank as i64)), Ok(action));
        }
        let open = world.read_action(&[("tone", "playful")].into()).unwrap_err().to_string();
        assert!(
            open.contains("every lever has to be set") && open.contains("subject") && !open.contains("tone"),
            "{open}"
        );
    }
}
