//! The program `dowise`: worlds in a file, what their structure is worth, and what to do in them.

mod assumptions;
mod commands;
mod factors;
mod interrupt;
mod known;
mod levers;
mod log;
mod missingness;
mod naming;
mod number;
mod output;
mod overwrite;
mod policy_file;
mod progress;
mod render;
mod sensitivity;
mod study;
mod table;
mod worldfile;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use output::{ColorChoice, Output};

/// Learn good interventions when there are too many to try: causal Markov decision processes.
///
/// A world is a whole problem in one file: what is known of the situation (state factors), what can be set (levers),
/// what that sets off (key variables), and what it is worth (rewards).
#[derive(Parser)]
#[command(name = "dowise", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to colour what is printed; NO_COLOR is honoured.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorChoice,
    /// Print only results and errors.
    #[arg(short, long, global = true)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise new campaign              write campaign.toml, an e-mail campaign to start from
  dowise check campaign.toml       is it correct, how large is it, and what does its graph save?
  dowise check campaign.toml --draw campaign.svg
  dowise plan campaign.toml        the best mail for every customer at every stage
  dowise learn campaign.toml --learner graph-psrl
  dowise compare river-swim deep-sea --learners c-ucbvi,c-psrl,greedy
  dowise data log.csv treatment.toml
  dowise import asia.bif --lever smoke --key dysp --reward dysp=no
  dowise reproduce                 the paper's three experiments: data, figures, claims

Exit status: 0 success, 1 negative result (see the command), 2 wrong usage, 3 could not read or write, 130 interrupted.";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.color, cli.quiet);
    dowise_study::keep_to_memory();
    match cli.command.run(&output) {
        Ok(status) => status.into(),
        Err(failure) => failure.report(&output),
    }
}
