//! `dowise explain`: why a saved learner would do what it does.

use std::path::PathBuf;

use dowise::World;
use dowise::learn::{Certificate, ChangeNoticed, Explanation};
use dowise::world::Start;
use dowise_study::{StudyError, WorldChoice};
use serde::Serialize;
use serde_json::{Map, Value};

use super::learn::saved::Saved;
use crate::output::{Failure, Output, Status};
use crate::table::{self, Align, Amounts};
use crate::{naming, study};

/// Explain the preferences of a saved learner in a state
///
/// Shows the interventions with the largest values there: the value that the learner plans with (optimistic, or of its next
/// posterior sample), the value by empirical means, and the visits behind it; and the suboptimality certificate.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The world that the learner learned in: a file, or a ready-made world such as deep-sea:size=6.
    world: String,
    /// What `dowise learn --save` wrote.
    learner: PathBuf,
    /// The state: factor=value for each state factor, separated by commas, or its number [default: the likeliest start]
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// The stage, from 1.
    #[arg(long, value_name = "H", default_value_t = 1)]
    stage: usize,
    /// Probability with which what is said of how far from best it can be may be wrong, at any time.
    #[arg(long, value_name = "DELTA", default_value_t = 0.05)]
    delta: f64,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 8)]
    rows: usize,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise learn campaign.toml --save learned.json
  dowise explain campaign.toml learned.json --state loyalty=fan,willingness=low,purse=modest
  dowise explain campaign.toml learned.json --stage 5 --json";

/// What `dowise explain --json` prints.
#[derive(Serialize)]
struct Explained {
    schema: &'static str,
    world: String,
    learner: String,
    episodes: u64,
    stage: usize,
    state: Map<String, Value>,
    preferred: Vec<Row>,
    /// How far from best the policy to deploy can be, where that can be determined.
    #[serde(skip_serializing_if = "Option::is_none")]
    promised: Option<Surely>,
    /// Changes of the world that were noticed, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<ChangeNoticed>,
}

/// A certificate, over how episodes start.
#[derive(Serialize)]
struct Surely {
    delta: f64,
    at_least: f64,
    gap: f64,
    share: Option<f64>,
}

impl Surely {
    fn of(certificate: &Certificate, start: &[f64]) -> Surely {
        Surely {
            delta: certificate.delta,
            at_least: certificate.at_least(start),
            gap: certificate.gap(start),
            share: certificate.share(start),
        }
    }

    fn text(&self) -> String {
        let amounts = Amounts::of([self.at_least, self.gap]);
        let share = self
            .share
            .map_or(String::new(), |share| format!(", {:.1} % of the way from random to best", 100.0 * share));
        table::wrapped(&format!(
            "Suboptimality certificate (confidence 1 − δ, δ = {}): the deployed policy has value at least {} per episode, at most {} below the optimum{share}.",
            self.delta,
            amounts.show(self.at_least),
            amounts.show(self.gap)
        )) + "\n"
    }
}

#[derive(Serialize)]
struct Row {
    r#do: Map<String, Value>,
    optimistic: f64,
    mean: f64,
    /// `null`: everything is known.
    visits: Option<f64>,
}

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let fail = |e: StudyError| study::failure_in(&args.world, e, args.json, output);
    let choice = WorldChoice::read(&args.world);
    if !(args.delta > 0.0 && args.delta < 1.0) {
        return Err(Failure::Usage(format!("--delta {}: a probability between 0 and 1", args.delta)));
    }
    let saved = Saved::read(&args.learner)?;
    match &saved {
        Saved::MonteCarlo(run) => {
            let world = choice.make(saved.seed()).map_err(fail)?;
            let learner = run.learner(&world)?;
            let (stage, state) = place(&args, &world)?;
            let explanation = learner.explain(stage, state, args.rows).map_err(|e| of_file(&args, &e))?;
            let noticed = learner.doubts().iter().map(|doubt| format!("Warning: {doubt}.")).collect();
            let (spec, episodes) = (run.learner.to_string(), learner.episodes());
            let said = Said { spec, episodes, explanation, noticed, promised: None, changes: vec![] };
            said.print(&args, &world, output)
        }
        Saved::Exact(saved) => {
            let arena = choice.arena(saved.run.seed).map_err(fail)?;
            let learner = saved.learner(&arena)?;
            let world = arena.world();
            let (stage, state) = place(&args, world)?;
            let explanation = learner.explain(stage, state, args.rows).map_err(|e| of_file(&args, &e))?;
            // Where nothing can be promised (features, forgetting, too many causes, a graph that is contradicted), what
            // is preferred is explained all the same.
            let certificate = learner.certificate(args.delta).ok().filter(|_| !learner.is_contradicted());
            let said = Said {
                spec: saved.run.learner.to_string(),
                episodes: learner.episodes(),
                explanation,
                noticed: super::learn::noticed::lines(&learner, saved.run.log),
                promised: certificate.map(|c| Surely::of(&c, &arena.start_distribution())),
                changes: learner.changes(),
            };
            said.print(&args, world, output)
        }
    }
}

fn of_file(args: &Args, error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {error}", args.learner.display()))
}

/// The stage (from 0) and the state that are asked about.
fn place(args: &Args, world: &World) -> Result<(usize, usize), Failure> {
    if args.stage == 0 || args.stage > world.horizon() {
        return Err(Failure::Usage(format!("--stage {}: stages run from 1 to {}", args.stage, world.horizon())));
    }
    let state = match &args.state {
        Some(text) => naming::read_state(world, text).map_err(|e| Failure::Usage(format!("--state {text}: {e}")))?,
        None => likeliest(world),
    };
    if !world.decides_at(args.stage - 1, state) {
        let why =
            if world.has_ended(state) { "the episode has ended there" } else { "it does not occur at that stage" };
        let (state, stage) = (world.describe_state(state), args.stage);
        return Err(Failure::Usage(format!("in the state {state} nothing is decided at stage {stage}: {why}")));
    }
    Ok((args.stage - 1, state))
}

/// What is to be said.
struct Said {
    spec: String,
    episodes: u64,
    explanation: Explanation,
    noticed: Vec<String>,
    promised: Option<Surely>,
    changes: Vec<ChangeNoticed>,
}

impl Said {
    fn print(self, args: &Args, world: &World, output: &Output) -> Result<Status, Failure> {
        let Said { spec, episodes, explanation, noticed, promised, changes } = self;
        let state = explanation.state;
        if args.json {
            noticed.iter().for_each(|line| output.talk(table::wrapped(line)));
            output.json(&Explained {
                schema: "dowise-explain/1",
                world: world.name().to_owned(),
                learner: spec,
                episodes,
                stage: args.stage,
                state: naming::state(world, state),
                preferred: rows(world, &explanation),
                promised,
                changes,
            })?;
        } else {
            let head = format!(
                "{spec} after {} episodes in {}, stage {}, {}:\n\n",
                table::count(episodes),
                world.name(),
                args.stage,
                world.describe_state(state)
            );
            let surely = promised.map_or(String::new(), |p| format!("\n{}", p.text()));
            let noticed: String = noticed.iter().map(|line| table::wrapped(line) + "\n\n").collect();
            output.data(head + &noticed + &text(world, &explanation) + &surely)?;
        }
        Ok(Status::Fine)
    }
}

/// The state in which most episodes start; the first of several.
fn likeliest(world: &World) -> usize {
    // The first of equal ones: `max_by` would give the last.
    let first = |p: &[f64]| (0..p.len()).rev().max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap_or(0);
    match world.start() {
        Start::Product(factors) => {
            let digits: Vec<usize> = factors.iter().map(|p| first(p)).collect();
            world.state_space().index(&digits)
        }
        Start::States(states) => {
            let p: Vec<f64> = states.iter().map(|(_, p)| *p).collect();
            states.get(first(&p)).map_or(0, |(state, _)| *state)
        }
    }
}

fn rows(world: &World, explanation: &Explanation) -> Vec<Row> {
    let row = |p: &dowise::learn::Preferred| Row {
        r#do: naming::intervention(world, p.action),
        optimistic: p.optimistic,
        mean: p.mean,
        visits: p.visits,
    };
    explanation.preferred.iter().map(row).collect()
}

fn text(world: &World, explanation: &Explanation) -> String {
    let amounts = Amounts::of(explanation.preferred.iter().flat_map(|p| [p.optimistic, p.mean]));
    let rows: Vec<Vec<String>> = explanation
        .preferred
        .iter()
        .map(|p| {
            let words = world.describe_intervention(p.action);
            vec![
                words,
                amounts.show(p.optimistic),
                amounts.show(p.mean),
                p.visits.map_or("known".to_owned(), |n| format!("{n:.1}")),
            ]
        })
        .collect();
    let header = ["intervention", "planning value", "mean value", "visits"];
    let table = table::table(&header, &rows, &[Align::Left, Align::Right, Align::Right, Align::Right]);
    let legend = "Planning value: the value that the learner plans with, optimistic or of its posterior sample. Mean value: by \
                  empirical means. Visits: steps behind it, by the least visited learned row, mechanism or reward.";
    format!("{table}\n{}\n", table::wrapped(legend))
}
