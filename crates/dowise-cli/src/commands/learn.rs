//! `dowise learn`: one learner in one world, evaluated exactly or by Monte Carlo, and what it learned.

mod arguments;
mod exact;
mod initial;
mod learners;
mod monte_carlo;
pub(super) mod noticed;
mod program;
pub(super) mod promise;
mod report;
pub(super) mod saved;
mod warm_start;

use std::path::PathBuf;

use dowise::LearnerSpec;
use dowise::learn::LearnError;
use dowise_study::{Evaluation, StudyError, WorldChoice};

pub(super) use self::learners::list_learners;

use self::arguments::Program;
use self::promise::Until;
use crate::known::Known;
use crate::log::LogArgs;
use crate::number::{counted, whole};
use crate::output::{Failure, Output, Status};
use crate::overwrite::Overwrite;
use crate::study;

/// Let one learner learn in a world, and show what it learned
///
/// Simulates episodes and evaluates every policy exactly or, in large worlds of low rank, by Monte Carlo. Prints the
/// regret, the value of the learned policy beside the optimum and random interventions, and its decisions in the states
/// it visits most.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A world file, or a ready-made world such as deep-sea:size=6.
    #[arg(value_parser = Known::World, hide_possible_values = true, default_value = "", hide_default_value = true)]
    world: String,
    /// The learner; options behind a colon. `--learner help` lists them [default: graph-psrl].
    #[arg(long, value_name = "LEARNER", value_parser = Known::Learner, hide_possible_values = true)]
    learner: Option<String>,
    /// Number of episodes, those of a resumed run included [default: 1000, or what the resumed run was meant to have]
    #[arg(long, value_name = "K", value_parser = counted, allow_negative_numbers = true)]
    episodes: Option<u64>,
    /// Seed of everything random, of a generated world too if it has none.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole, allow_negative_numbers = true)]
    seed: u64,
    /// How policies are evaluated: `exact`, by the values of all states, or `monte-carlo`, estimated from simulated
    /// episodes [default: exact, unless
    /// states are too many to enumerate, or exact values of a world of low rank would take most of the time of a
    /// learner that regresses]
    #[arg(long, alias = "judge", value_name = "HOW", conflicts_with = "resume")]
    evaluate: Option<Evaluation>,
    /// Write the learner and its run into a file, also when interrupted.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Begin with the steps of a log, which others have played.
    #[arg(long, value_name = "LOG", conflicts_with = "resume")]
    from: Option<PathBuf>,
    #[command(flatten)]
    reading: LogArgs,
    /// Leave rows of the log out in which something is wrong, instead of refusing the log.
    #[arg(long, requires = "from")]
    skip_bad: bool,
    /// Go on with a run that was saved, in the same world, as if it had never stopped.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["learner", "seed"])]
    resume: Option<PathBuf>,
    /// Levers that the log's people set by a draw that looked at nothing but what is recorded, whatever the graph says
    /// acts on
    /// them.
    #[arg(long, value_name = "LEVER", value_delimiter = ',', requires = "from")]
    randomised: Vec<String>,
    /// Begin with the evidence that `dowise fit` wrote beside a fitted world, and learn on all that was fitted.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    evidence: Option<PathBuf>,
    /// The world that the learner assumes, in place of the simulated one: the same variables, with arrows or numbers
    /// that may be wrong.
    #[arg(long, alias = "told", value_name = "WORLD", conflicts_with_all = ["resume", "evidence", "save"])]
    assumed: Option<String>,
    /// Never do much worse than this policy, such as today's: a file that `dowise plan --json` or `dowise learn
    /// --policy` wrote.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    baseline: Option<PathBuf>,
    /// The share of the baseline's value that may be lost, measured from the minimum return: between 0 and 1
    /// [default: 0.1]
    #[arg(long, value_name = "SHARE", requires = "baseline", allow_negative_numbers = true)]
    alpha: Option<f64>,
    /// The learner knows the baseline's value from each starting state.
    #[arg(long, requires = "baseline")]
    baseline_known: bool,
    /// Write the policy to deploy, for `dowise plan --evaluate`. For PSRL learners it is the posterior-mean plan.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Stop when the certified gap is at most GAP: an amount of reward per episode such as 0.2, or a share of the way
    /// from random to optimal such as 5%. `--policy` then writes the certified policy.
    #[arg(long, value_name = "GAP")]
    until: Option<Until>,
    /// Print a suboptimality certificate at the end. The policy that is shown and written is then the certified one.
    #[arg(long)]
    certify: bool,
    /// Failure probability of certificates and of the baseline guarantee. Guards and `forget=reset` use the learner's own
    /// (`--learner graph-psrl:guard=true,delta=0.01`) [default: 0.05].
    #[arg(long, value_name = "DELTA")]
    delta: Option<f64>,
    /// Draw how the gap shrinks beside the true one, as .svg or .png.
    #[arg(long, value_name = "FILE")]
    draw: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Rows of the table of what was learned.
    #[arg(long, value_name = "N", default_value_t = 12)]
    rows: usize,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise learn river-swim
  dowise learn campaign.toml --learner graph-psrl --episodes 2000
  dowise learn paper:levels=3 --learner c-ucbvi:width=rlberry,cap=horizon --seed 7
  dowise learn campaign.toml --learner graph-psrl:unknown=all --episodes 5000
  dowise learn treatment --learner cf-ucbvi:unknown=kernel+rewards
  dowise learn river-swim --learner c-lsvi-ucb --save learned.json
  dowise learn linear-code --learner c-blsvi --episodes 500
  dowise learn linear-lock:states=65536,causes=64,levels=9 --learner c-blsvi --evaluate exact
  dowise learn campaign.toml --policy policy.json
  dowise learn paper --learner cf-ucbvi --until 10% --episodes 10000 --draw gap.svg
  dowise learn treatment --from log.csv --episodes 100
  dowise learn treatment --baseline today.json --alpha 0.05
  dowise learn truth.toml --assumed treatment.toml --learner graph-psrl:guard=true
  dowise learn river-swim --resume learned.json --episodes 2000 --save learned.json
  dowise learn paper --learner help";

/// Probability that a guarantee fails, if the user names none.
const DELTA: f64 = 0.05;

/// What the functions of a run share: the arguments, the world's name and where to print.
struct Task<'a> {
    args: &'a Args,
    choice: WorldChoice,
    output: &'a Output,
}

impl Task<'_> {
    /// Shows what is wrong with the world or the learner.
    fn fail(&self, error: StudyError) -> Failure {
        study::failure_in(&self.args.world, error, self.args.json, self.output)
    }

    /// Shows why a learner cannot learn in this world.
    fn cannot_learn(&self, spec: &LearnerSpec, error: LearnError) -> Failure {
        let (learner, world) = (spec.to_string(), self.choice.to_string());
        self.fail(StudyError::Learn { learner, world, source: error.into() })
    }
}

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    if args.learner.as_deref() == Some("help") {
        return list_learners(args.json, output);
    }
    arguments::check(&args, output)?;
    let task = Task { args: &args, choice: WorldChoice::read(&args.world), output };
    match arguments::program(&task)? {
        Program::Exact { learner, resumed } => exact::run(&task, &learner, resumed.as_ref()),
        Program::MonteCarlo { world, learner, seed, resumed } => {
            monte_carlo::run(&task, &world, (&learner, seed), resumed.as_ref())
        }
    }
}
