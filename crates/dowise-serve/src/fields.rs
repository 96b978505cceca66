//! Reads the fields of a JSON object and collects every mistake, by the path of the field.

use dowise::World;
use dowise::world::{Given, GivenValue, VarId};
use serde_json::{Map, Value};

use crate::problem::{FieldError, Problem};

/// Most characters of an identifier.
pub(crate) const MOST_ID: usize = 200;

/// An object being read.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    known: Vec<&'static str>,
    errors: Vec<FieldError>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value) -> Result<Fields<'a>, Problem> {
        match value {
            Value::Object(object) => Ok(Fields { object, known: Vec::new(), errors: Vec::new() }),
            other => Err(Problem::malformed(format!("expected a JSON object, found {}", kind(other)))),
        }
    }

    pub(crate) fn wrong(&mut self, field: &str, expected: impl Into<String>) {
        self.errors.push(FieldError { field: field.to_owned(), expected: expected.into() });
    }

    /// A field, unless it is missing or null.
    pub(crate) fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.object.get(name).filter(|v| !v.is_null())
    }

    /// An identifier; empty if it is wrong.
    pub(crate) fn id(&mut self, name: &'static str) -> String {
        let expected = format!("expected text of 1 to {MOST_ID} characters");
        match self.get(name) {
            Some(Value::String(text)) if is_id(text) => return text.clone(),
            Some(other) => self.wrong(name, format!("{expected}, found {}", kind(other))),
            None => self.wrong(name, format!("{expected}, found nothing")),
        }
        String::new()
    }

    pub(crate) fn optional_id(&mut self, name: &'static str) -> Option<String> {
        self.get(name)?;
        Some(self.id(name))
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        match self.get(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.wrong(name, format!("expected true or false, found {}", kind(other)));
                false
            }
        }
    }

    /// A whole number from `least` to `most`.
    pub(crate) fn number(&mut self, name: &'static str, least: u64, most: u64) -> Option<u64> {
        let value = self.get(name)?;
        let number = value.as_u64().filter(|n| (least..=most).contains(n));
        if number.is_none() {
            self.wrong(name, format!("expected a whole number from {least} to {most}, found {}", kind(value)));
        }
        number
    }

    /// Values of variables by name: `{variable: value}`.
    pub(crate) fn values(
        &mut self,
        world: &World,
        name: &'static str,
        ids: &[VarId],
        what: &'static str,
    ) -> Vec<Option<usize>> {
        let mut out = vec![None; ids.len()];
        let Some(value) = self.get(name) else { return out };
        let Value::Object(pairs) = value else {
            self.wrong(name, format!("expected an object {{{what}: value}}, found {}", kind(value)));
            return out;
        };
        for (variable, value) in pairs {
            let one = Given::Named(vec![(variable.clone(), given(value))]);
            match world.read_values(ids, what, &one) {
                Ok(read) => out.iter_mut().zip(read).for_each(|(to, from)| *to = from.or(*to)),
                Err(error) => self.wrong(&format!("{name}.{variable}"), error.to_string()),
            }
        }
        out
    }

    /// A state: a value for every state factor.
    pub(crate) fn state(&mut self, world: &World, name: &'static str) -> Option<usize> {
        self.get(name)?;
        let before = self.errors.len();
        let digits = self.values(world, name, world.state(), "state factor");
        if self.errors.len() > before {
            return None;
        }
        for (&id, _) in world.state().iter().zip(&digits).filter(|(_, d)| d.is_none()) {
            let variable = world.variable(id);
            self.wrong(&format!("{name}.{}", variable.name), format!("expected one of {}", variable.values.join(", ")));
        }
        let digits: Option<Vec<usize>> = digits.into_iter().collect();
        digits.map(|digits| world.state_space().index(&digits))
    }

    /// Fails with every mistake, fields that nobody asked for included.
    pub(crate) fn end(mut self) -> Result<(), Problem> {
        let unknown: Vec<String> = self.object.keys().filter(|k| !self.known.contains(&k.as_str())).cloned().collect();
        for name in unknown {
            let known = self.known.join(", ");
            self.wrong(&name, format!("there is no such field; there are {known}"));
        }
        if self.errors.is_empty() { Ok(()) } else { Err(Problem::fields(self.errors)) }
    }
}

/// Whether this may name something; databases have no text with a zero in it.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=MOST_ID).contains(&text.chars().count()) && !text.contains('\0')
}

/// A value as it was given; numbers and booleans are names as well, as in a world file.
pub(crate) fn given(value: &Value) -> GivenValue {
    match value {
        Value::Null => GivenValue::Missing,
        Value::String(name) => GivenValue::Name(name.clone()),
        other => GivenValue::Name(other.to_string()),
    }
}

pub(crate) fn kind(value: &Value) -> String {
    let text = match value {
        Value::Null => return "null".into(),
        Value::Object(_) => return "an object".into(),
        Value::Array(_) => return "a list".into(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    };
    if text.chars().count() > 60 { format!("{}…", text.chars().take(60).collect::<String>()) } else { text }
}
