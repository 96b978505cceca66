//! Why a log cannot be read at all; what is wrong with single rows are findings.

use crate::world::WorldError;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot read {name}: {error}")]
    Io {
        /// The file as it was named.
        name: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Something else than a table in UTF-8.
    #[error("{name} {what}; {help}")]
    Encoding {
        /// The file as it was named.
        name: String,
        /// What it is instead.
        what: String,
        /// What to do.
        help: &'static str,
    },
    /// A row of which one cannot tell where it ends.
    #[error("{name}: line {line}: {what}")]
    Row {
        /// The file as it was named.
        name: String,
        /// Where the row begins, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Nothing in it.
    #[error("{name} is empty; its first line names the columns")]
    Empty {
        /// The file as it was named.
        name: String,
    },
    /// Columns that have to be there are not.
    #[error("{}", missing_columns(.missing, .found, *.other_world, .world))]
    Columns {
        /// Names of the missing columns, with a column of the log that may be meant.
        missing: Vec<(String, Option<String>)>,
        /// Names of the columns that are there.
        found: Vec<String>,
        /// Whether hardly any column fits.
        other_world: bool,
        /// The world's name.
        world: String,
    },
    /// One thing in two columns.
    #[error("two columns say \"{name}\": columns {} and {}; remove or rename one of them", .columns[0], .columns[1])]
    Twice {
        /// What both say.
        name: String,
        /// Their positions, from 1.
        columns: [usize; 2],
    },
    /// A value that a log cannot say.
    #[error(
        "\"{variable}\" has a value with an empty name, which in a log would mean that it is missing; name it in the world file"
    )]
    EmptyValue {
        /// The variable.
        variable: String,
    },
    /// The map is wrong.
    #[error(transparent)]
    Map(#[from] WorldError),
}

/// Columns named in a message.
const SHOWN: usize = 12;

fn some(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("\"{n}\"")).collect();
    let more = names.len().saturating_sub(SHOWN);
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

fn missing_columns(missing: &[(String, Option<String>)], found: &[String], other_world: bool, world: &str) -> String {
    if let [one] = found {
        return format!(
            "there is one column, \"{}\"; columns are separated by commas, semicolons, tabs or bars",
            one.chars().take(80).collect::<String>()
        );
    }
    if other_world {
        return format!(
            "this looks like a log of another world: hardly any column is one of \"{world}\"; the log has {}, the world \
             needs {}; give the right world, or a map that renames columns (--map FILE)",
            some(found),
            some(&missing.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
        );
    }
    let names: Vec<String> = missing
        .iter()
        .map(|(name, near)| match near {
            Some(near) => format!("\"{name}\" (is it \"{near}\"?)"),
            None => format!("\"{name}\""),
        })
        .collect();
    let (columns, them) = if names.len() == 1 { ("a column is", "it") } else { ("the columns are", "them") };
    format!("{columns} missing: {}; add {them}, or rename columns by a map", names.join(", "))
}
