//! `dowise new`: writes a ready-made world to start from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dowise::worlds;
use dowise_study::{StudyError, create_file, write_file};
use serde::Serialize;

use crate::known::Known;
use crate::output::{Failure, Output, Status};

/// Write a ready-made world to start from; without a name, list them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which world.
    #[arg(value_parser = Known::World, hide_possible_values = true)]
    name: Option<String>,
    /// Where to write it, `-` for standard output [default: NAME.toml].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Seed of a generated world; short for `--set seed=N`.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Change a setting of a generated world; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Overwrite the file if it is there.
    #[arg(short, long)]
    force: bool,
    /// Print the list of worlds as JSON.
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

/// The list of worlds, as JSON.
#[derive(Serialize)]
struct Listed {
    schema: &'static str,
    worlds: Vec<ListedWorld>,
}

#[derive(Serialize)]
struct ListedWorld {
    name: &'static str,
    about: &'static str,
    /// Settings and what they are if they are not given.
    settings: BTreeMap<&'static str, String>,
}

impl Listed {
    fn new() -> Listed {
        let world = |name: &&'static str| ListedWorld {
            name,
            about: worlds::describe(name).unwrap_or_default(),
            settings: worlds::settings(name).iter().map(|s| (s.key, s.default.to_string())).collect(),
        };
        Listed { schema: "dowise-worlds/1", worlds: worlds::names().iter().map(world).collect() }
    }
}

const EXAMPLES: &str = "\
Examples:
  dowise new                                  list the worlds and their settings
  dowise new campaign                         write campaign.toml
  dowise new deep-sea --set size=12 -o sea.toml
  dowise new paper --seed 7 -o - | dowise check -";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let Some(name) = &args.name else {
        if args.json {
            output.json(&Listed::new())?;
        } else {
            output.data(listing(output))?;
        }
        return Ok(Status::Fine);
    };
    let mut choices: Vec<(&str, &str)> = vec![];
    for choice in &args.set {
        let pair = choice.split_once('=');
        choices.push(pair.ok_or_else(|| Failure::Usage(format!("--set takes KEY=VALUE, not \"{choice}\"")))?);
    }
    let seed = args.seed.map(|s| s.to_string());
    choices.extend(seed.as_deref().map(|s| ("seed", s)));
    let text = worlds::text(name, &choices).map_err(|e| Failure::Usage(e.to_string()))?;

    let file = args.output.unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    if file == Path::new("-") {
        output.data(text)?;
        return Ok(Status::Fine);
    }
    write(&file, &text, args.force)?;
    output.talk(format_args!("wrote {0}; next: dowise check {0}", file.display()));
    Ok(Status::Fine)
}

fn listing(output: &Output) -> String {
    let mut text = String::new();
    for name in worlds::names() {
        let room = " ".repeat(14_usize.saturating_sub(name.len()));
        text += &format!("{}{room}{}\n", output.heading(name), worlds::describe(name).unwrap_or_default());
        let settings: Vec<String> = worlds::settings(name).iter().map(|s| format!("{}={}", s.key, s.default)).collect();
        if !settings.is_empty() {
            text += &format!("              settings: {}\n", settings.join(" "));
        }
    }
    text
}

/// Writes a new file; an existing one only if forced to.
pub(super) fn write(file: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let failed = |e: StudyError| Failure::Io(e.to_string());
    if force {
        return write_file(file, text.as_bytes()).map_err(failed);
    }
    match create_file(file, text.as_bytes()).map_err(failed)? {
        true => Ok(()),
        false => Err(Failure::Io(format!("{} is there already; --force overwrites it", file.display()))),
    }
}
