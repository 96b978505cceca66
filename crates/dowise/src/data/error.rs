//! Errors that prevent reading a log; problems of single rows are findings.

use crate::world::WorldError;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot read {name}: {error}")]
    Io {
        /// The file name as given.
        name: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The input is not a UTF-8 table.
    #[error("{name} {what}; {help}")]
    Encoding {
        /// The file name as given.
        name: String,
        /// The actual format.
        what: String,
        /// The remedy.
        help: &'static str,
    },
    /// A row without a recognisable end.
    #[error("{name}: line {line}: {what}")]
    Row {
        /// The file name as given.
        name: String,
        /// First line of the row, from 1.
        line: u64,
        /// The problem.
        what: String,
    },
    /// The input is empty.
    #[error("{name} is empty; its first line names the columns")]
    Empty {
        /// The file name as given.
        name: String,
    },
    /// Required columns are missing.
    #[error("{}", missing_columns(.missing, .found, *.other_world, .world))]
    Columns {
        /// Names of the missing columns, each with a similar column of the log.
        missing: Vec<(String, Option<String>)>,
        /// Names of the columns found.
        found: Vec<String>,
        /// Whether hardly any column matches.
        other_world: bool,
        /// The world's name.
        world: String,
    },
    /// Two columns have the same role.
    #[error("two columns say \"{name}\": columns {} and {}; remove or rename one of them", .columns[0], .columns[1])]
    Twice {
        /// Their common role.
        name: String,
        /// Their positions, from 1.
        columns: [usize; 2],
    },
    /// A value name that a log cannot represent.
    #[error(
        "\"{variable}\" has a value with an empty name, which in a log would mean that it is missing; name it in the world file"
    )]
    EmptyValue {
        /// The variable.
        variable: String,
    },
    /// The map is invalid.
    #[error(transparent)]
    Map(#[from] WorldError),
}

/// Maximum number of columns named in a message.
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
    format!("{columns} missing: {}; add {them}, or rename columns with a map (--map FILE)", names.join(", "))
}
