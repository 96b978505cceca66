//! The subcommands, one file each.

mod check;
mod compare;
mod completions;
mod data;
mod evaluate;
mod explain;
mod export;
mod fit;
mod import;
mod learn;
mod load_test;
mod merge;
mod new;
mod plan;
mod plot;
mod reproduce;
mod serve;
mod simulate;
mod slurm;
mod store;
mod test;

use crate::output::{Failure, Output, Status};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    New(new::Args),
    Import(import::Args),
    Export(export::Args),
    Check(check::Args),
    Plan(plan::Args),
    Learn(learn::Args),
    Explain(explain::Args),
    Simulate(simulate::Args),
    Data(data::Args),
    Test(test::Args),
    Fit(fit::Args),
    Evaluate(evaluate::Args),
    Compare(compare::Args),
    Merge(merge::Args),
    Slurm(slurm::Args),
    Plot(plot::Args),
    Reproduce(reproduce::Args),
    Serve(serve::Args),
    #[command(alias = "crowd")]
    LoadTest(load_test::Args),
    Replay(store::ReplayArgs),
    Backup(store::BackupArgs),
    Restore(store::RestoreArgs),
    Keys(store::KeysArgs),
    Completions(completions::Args),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> Result<Status, Failure> {
        match self {
            Command::New(args) => new::run(args, output),
            Command::Import(args) => import::run(args, output),
            Command::Export(args) => export::run(args, output),
            Command::Check(args) => check::run(args, output),
            Command::Fit(args) => fit::run(args, output),
            Command::Test(args) => test::run(args, output),
            Command::Plan(args) => plan::run(args, output),
            Command::Evaluate(args) => evaluate::run(args, output),
            Command::Learn(args) => learn::run(args, output),
            Command::Simulate(args) => simulate::run(args, output),
            Command::Data(args) => data::run(args, output),
            Command::Explain(args) => explain::run(args, output),
            Command::Compare(args) => compare::run(args, output),
            Command::Merge(args) => merge::run(args, output),
            Command::Slurm(args) => slurm::run(args, output),
            Command::Plot(args) => plot::run(args, output),
            Command::Reproduce(args) => reproduce::run(args, output),
            Command::Serve(args) => serve::run(args, output),
            Command::LoadTest(args) => load_test::run(args, output),
            Command::Replay(args) => store::replay_store(args, output),
            Command::Backup(args) => store::backup(args, output),
            Command::Restore(args) => store::restore(args, output),
            Command::Keys(args) => store::keys(args, output),
            Command::Completions(args) => completions::run(args, output),
        }
    }
}
