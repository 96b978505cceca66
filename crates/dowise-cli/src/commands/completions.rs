//! `dowise completions`: a script that lets a shell complete commands and options.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

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
    output.data(String::from_utf8_lossy(&script))?;
    Ok(Status::Fine)
}
