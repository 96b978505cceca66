//! `dowise export`: one step of a world as a graph or a network that other tools read.

use std::path::{Path, PathBuf};

use dowise_formats::{Format, export};

use super::import::FormatName;
use super::new::write;
use crate::output::{Failure, Output, Status};
use crate::overwrite::Files;
use crate::render;
use crate::worldfile;

/// Write a world's causal graph for other tools: BIF, XMLBIF, DAGitty, DOT or GML
///
/// The graph is that of one step: state factors, levers, hidden and key variables, and the next values of the state
/// factors. BIF and XMLBIF have the numbers as well.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The world file, `-` for standard input.
    world: PathBuf,
    /// The format [default: what the name given by --output ends in].
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<FormatName>,
    /// Where to write it [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the file if it is there.
    #[arg(short, long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise export campaign.toml -o campaign.bif        for bnlearn, pgmpy and others, with the numbers
  dowise export campaign.toml --to dagitty           to be pasted into DAGitty's page
  dowise export campaign.toml --to dot | dot -Tsvg -o campaign.svg";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let file = args.output.as_deref().filter(|file| *file != Path::new("-"));
    let format = match (args.to, file) {
        (Some(name), _) => name.into(),
        (None, Some(file)) => Format::of_path(file).ok_or_else(|| {
            let message = "its name does not say which format it has; let it end in .bif, .xmlbif, .dagitty, .dot or .gml, or \
                           give --to";
            Failure::Usage(format!("--output {}: {message}", file.display()))
        })?,
        (None, None) => return Err(Failure::Usage("say which format: --to bif, xmlbif, dagitty, dot or gml".to_owned())),
    };
    Files::default().read("the world", Some(&args.world)).write("--output", file).check_apart()?;
    let world = worldfile::read(&args.world)?.world.map_err(|error| {
        render::problems(&error, output);
        Failure::Shown
    })?;
    let exported = export(&world).map_err(Failure::Usage)?;
    let numbers = exported.number_notes.iter().filter(|_| format.has_numbers());
    for note in exported.notes.iter().chain(numbers) {
        output.talk(format_args!("note: {note}"));
    }
    if !format.has_numbers() {
        output.talk(format_args!("note: {} has no place for probabilities; bif and xmlbif have", format.name()));
    }
    let text = format.write(&exported.network);
    match file {
        None => output.data(text)?,
        Some(file) => {
            write(file, &text, args.force)?;
            output.talk(format_args!("wrote {}", file.display()));
        }
    }
    Ok(Status::Fine)
}
