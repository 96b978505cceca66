//! The subcommands, one file each.

mod check;
mod completions;
mod new;
mod plan;

use crate::output::{Failure, Output, Status};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    New(new::Args),
    Check(check::Args),
    Plan(plan::Args),
    Completions(completions::Args),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> Result<Status, Failure> {
        match self {
            Command::New(args) => new::run(args, output),
            Command::Check(args) => check::run(args, output),
            Command::Plan(args) => plan::run(args, output),
            Command::Completions(args) => completions::run(args, output),
        }
    }
}
