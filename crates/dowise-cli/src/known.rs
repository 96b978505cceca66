//! Names that shells complete: ready-made worlds and learners. Any other text is taken as well.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use dowise::{Preset, worlds};
use std::ffi::OsStr;

/// What a text may begin with.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    /// A ready-made world; or a file.
    World,
    /// A learner, with or without options.
    Learner,
}

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names: Vec<&'static str> = match self {
            Known::World => worlds::names().to_vec(),
            Known::Learner => Preset::all().iter().map(|preset| preset.name()).collect(),
        };
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}
