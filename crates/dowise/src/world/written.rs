//! A part of a specification as written by the user, or unreadable.

use crate::diagnostics::{At, Located};

/// What stands at one place of a specification, if it can be read.
///
/// Programs make it with `into()`, so a specification made by a program is readable everywhere. Only the reader of
/// world files makes unreadable parts, always with an error. Validation skips what depends on them, so that one mistake
/// neither hides nor causes others; no world contains one.
///
/// ```
/// use dowise::world::Written;
/// assert_eq!(Written::from(0.5).get(), Some(&0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written<T>(Option<T>);

/// The name of a variable or of a value.
pub type Name = Located<Written<String>>;

/// A number.
pub type Number = Located<Written<f64>>;

impl<T> Written<T> {
    /// An unreadable part, which must have been reported.
    pub(crate) const UNREAD: Written<T> = Written(None);

    /// What is written; `None` if it cannot be read.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Something else in its place, made from what is written; what is unreadable stays so.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Written<U> {
        Written(self.0.map(change))
    }

    /// What is written in a specification that was validated.
    pub(crate) fn valid(&self) -> &T {
        self.0.as_ref().expect("invariant: every part of a valid specification is readable")
    }
}

impl<T> Located<Written<T>> {
    /// What was read at this place; an error must have been reported if that is nothing.
    pub(crate) fn of(read: Option<T>, at: Option<At>) -> Self {
        Located::new(Written(read), at)
    }
}

impl<T: PartialEq> PartialEq<T> for Written<T> {
    fn eq(&self, other: &T) -> bool {
        self.0.as_ref() == Some(other)
    }
}

impl PartialEq<str> for Written<String> {
    fn eq(&self, other: &str) -> bool {
        self.0.as_deref() == Some(other)
    }
}

impl PartialEq<&str> for Written<String> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl<T> From<T> for Written<T> {
    fn from(value: T) -> Self {
        Written(Some(value))
    }
}

impl<T> From<T> for Located<Written<T>> {
    fn from(value: T) -> Self {
        Written::from(value).into()
    }
}

impl<T> From<Located<T>> for Located<Written<T>> {
    fn from(value: Located<T>) -> Self {
        Located::new(value.value.into(), value.at)
    }
}

impl From<&str> for Located<Written<String>> {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}
