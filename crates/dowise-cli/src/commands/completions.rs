//! `dowise completions`: a script that lets a shell complete commands and options.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use dowise::worlds;

use crate::output::{Failure, Output, Status};

/// Print a script that lets a shell complete dowise's commands and options
///
/// For bash: dowise completions bash > ~/.local/share/bash-completion/completions/dowise
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let mut script = vec![];
    generate(args.shell, &mut crate::Cli::command(), "dowise", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Fish {
        script += &fish_worlds();
    }
    output.data(script)?;
    Ok(Status::Fine)
}

/// What the script for fish lacks: it is made for options alone, and worlds are given without one. Files are completed as well.
fn fish_worlds() -> String {
    let names = worlds::names().join(" ");
    let line = |command: &str| {
        format!(
            "complete -c dowise -n \"__fish_dowise_using_subcommand {command}\" -a \"{names}\" -d 'ready-made world'\n"
        )
    };
    ["new", "check", "plan", "learn", "compare", "simulate", "explain", "export"].map(line).concat()
}
