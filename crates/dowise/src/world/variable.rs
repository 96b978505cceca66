//! Variables of a world and their kinds: state factor, lever, key variable, hidden variable.

use serde::{Deserialize, Serialize};

/// Position of a variable in [`World::variables`](crate::World::variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VarId(pub u16);

impl VarId {
    /// The position as an index.
    pub fn ix(self) -> usize {
        usize::from(self.0)
    }
}

/// The kind of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A component of the state, kept from step to step (S_i in the paper).
    State,
    /// A variable that may be set (a member of X^I).
    Lever,
    /// Observed after the intervention, never set; affects the next state or the reward (Z).
    Key,
    /// Between levers and key variables, never observed; marginalised out.
    Hidden,
}

impl Kind {
    /// The word for messages: "state factor", "lever", "key variable", "hidden variable".
    pub fn describe(self) -> &'static str {
        match self {
            Kind::State => "state factor",
            Kind::Lever => "lever",
            Kind::Key => "key variable",
            Kind::Hidden => "hidden variable",
        }
    }

    /// The table name in a world file: `state`, `lever`, `key`, `hidden`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::State => "state",
            Kind::Lever => "lever",
            Kind::Key => "key",
            Kind::Hidden => "hidden",
        }
    }
}

/// A named variable with a finite list of named values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As the user wrote it.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Value names, in order.
    pub values: Vec<String>,
}

impl Variable {
    /// Number of values.
    pub fn size(&self) -> usize {
        self.values.len()
    }
}
