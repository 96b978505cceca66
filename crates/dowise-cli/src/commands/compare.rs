//! `dowise compare`: several learners in several worlds, from the command line or a study file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dowise::learn::LearnerSpec;
use dowise_study::{Checkpoints, Directory, Evaluation, Shard, Study, StudyFile, Summary, Tables, percent, threads};
use serde::Serialize;

use crate::known::Known;
use crate::number::{counted, whole};
use crate::output::{Failure, Output, Status};
use crate::study;
use crate::table::{self, Align, Amounts};

/// Compare learners on one or more worlds; write tables and figures
///
/// Every learner plays every world several times. Generated worlds without a seed are drawn afresh for each repetition,
/// the same ones for every learner. An interrupted comparison goes on when the same command is given again; with more
/// repetitions, learners or worlds only what is new is run.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// World files, or ready-made worlds such as paper:levels=4.
    #[arg(conflicts_with = "study", value_parser = Known::World, hide_possible_values = true)]
    worlds: Vec<String>,
    /// Learners, separated by commas; options behind a colon, as in c-ucbvi:width=paper-plain,scale=0.002.
    #[arg(long, value_name = "LIST", required_unless_present = "study", conflicts_with = "study", value_parser = Known::Learner,
        hide_possible_values = true)]
    learners: Option<String>,
    /// Read everything from a study file instead.
    #[arg(long, value_name = "FILE")]
    study: Option<PathBuf>,
    /// Try several values, as in world.levels=3,4,5 or learner.scale=0.1,1; may be given several times.
    #[arg(long, value_name = "WHAT=VALUES", conflicts_with = "study")]
    sweep: Vec<String>,
    /// Episodes of a run [default: 1000].
    #[arg(long, value_name = "K", value_parser = counted, allow_negative_numbers = true)]
    episodes: Option<u64>,
    /// Runs of each combination [default: 10].
    #[arg(long, value_name = "N", value_parser = counted, allow_negative_numbers = true)]
    repetitions: Option<u64>,
    /// Seed of the first repetition [default: 0].
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// How policies are evaluated: `exact`, by the values of all states, or `monte-carlo`, estimated from simulated episodes, in worlds of low rank
    /// [default: exact where states can be enumerated]
    #[arg(long, alias = "judge", value_name = "HOW")]
    evaluate: Option<Evaluation>,
    /// Where results go [default: dowise-compare, or the study file's name with -results].
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run only a part, such as 2/5: every fifth run, from the second on. `dowise merge` puts the parts together.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Number of threads; results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print what would be run, and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise compare river-swim deep-sea --learners c-ucbvi,c-psrl,greedy
  dowise compare campaign.toml --learners graph-psrl,cf-psrl --episodes 2000
  dowise compare paper --learners ucbvi,c-ucbvi --sweep world.levels=3,5,7
  dowise compare paper --learners c-ucbvi:width=rlberry --sweep learner.scale=0.1,1,10
  dowise compare --study study.toml
  dowise compare --study study.toml --shard 2/5 --out part-2";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    if args.learners.as_deref() == Some("help") {
        return super::learn::list_learners(args.json, output);
    }
    if args.worlds.is_empty() && args.study.is_none() {
        let message = "name the worlds to compare learners in: files, or ready-made ones, which `dowise new` lists; or give --study";
        return Err(Failure::Usage(message.into()));
    }
    let threads = threads(args.threads).map_err(|e| study::failure(e, output))?;
    let (file, base) = study_file(&args, output)?;
    let resolved = file.resolve(&base).map_err(|e| study::failure(e, output))?;
    if args.dry_run {
        if args.json {
            output.json(&Listed::new(&resolved))?;
        } else {
            output.data(listing(&resolved))?;
        }
        return Ok(Status::Fine);
    }
    let out = args.out.clone().unwrap_or_else(|| match &args.study {
        Some(file) => PathBuf::from(format!("{}-results", file.file_stem().unwrap_or_default().to_string_lossy())),
        None => PathBuf::from("dowise-compare"),
    });
    let runs = args.shard.map_or(resolved.n_runs(), |shard| shard.count(resolved.n_runs()));
    output.talk(format_args!(
        "{} runs on {threads} threads, seed {}, results in {}",
        table::count(runs as u64),
        resolved.seed,
        out.display()
    ));
    let (directory, tables) = study::run(&resolved, &out, args.shard, threads, output)?;
    if let Some(tables) = tables {
        show(&resolved, &tables, &directory, args.json, output)?;
    }
    Ok(Status::Fine)
}

/// Draws the figures of a finished study and prints what it came to.
pub(super) fn show(
    study: &Study,
    tables: &Tables,
    directory: &Directory,
    json: bool,
    output: &Output,
) -> Result<(), Failure> {
    let names = study::draw(study, tables, directory, output)?;
    if json {
        return output.json(&Report::new(study, tables, directory));
    }
    output.data(text(study, tables))?;
    let out = directory.path();
    output.talk(format_args!("wrote tables and {} figures into {}", names.len(), out.display()));
    output.talk(format_args!("look at {}", out.join("report.html").display()));
    Ok(())
}

/// The study as the file or the command line gives it, and the directory that its files are relative to.
fn study_file(args: &Args, output: &Output) -> Result<(StudyFile, PathBuf), Failure> {
    let (mut file, base) = match &args.study {
        Some(path) => {
            let base = path.parent().map(Path::to_owned).unwrap_or_default();
            (StudyFile::read(path).map_err(|e| study::failure(e, output))?, base)
        }
        None => {
            let learners = LearnerSpec::list(args.learners.as_deref().unwrap_or_default());
            let learners = learners.map_err(|e| Failure::Usage(e.to_string()))?;
            let file = StudyFile {
                name: "Learners compared".into(),
                worlds: args.worlds.clone(),
                learners: learners.iter().map(ToString::to_string).collect(),
                checkpoints: Checkpoints::default(),
                ..StudyFile::default()
            };
            (file, PathBuf::new())
        }
    };
    for sweep in &args.sweep {
        add_sweep(&mut file, sweep)?;
    }
    file.episodes = args.episodes.unwrap_or(file.episodes);
    file.repetitions = args.repetitions.unwrap_or(file.repetitions);
    file.seed = args.seed.unwrap_or(file.seed);
    file.evaluation = args.evaluate.or(file.evaluation);
    Ok((file, base))
}

fn add_sweep(file: &mut StudyFile, text: &str) -> Result<(), Failure> {
    let usage = || {
        Failure::Usage(format!(
            "--sweep takes world.SETTING=VALUES, learner.OPTION=VALUES or episodes=VALUES, not \"{text}\""
        ))
    };
    let (what, values) = text.split_once('=').ok_or_else(usage)?;
    let values: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).filter(|v| !v.is_empty()).collect();
    if values.is_empty() {
        return Err(usage());
    }
    match what.trim().split_once('.') {
        Some(("world", setting)) => file.sweep.world.push((setting.to_owned(), values)),
        Some(("learner", option)) => file.sweep.learner.push((option.to_owned(), values)),
        None if what == "episodes" => {
            file.sweep.episodes = values.iter().map(|v| v.parse()).collect::<Result<_, _>>().map_err(|_| usage())?;
        }
        _ => return Err(usage()),
    }
    Ok(())
}

fn listing(study: &Study) -> String {
    let rows: Vec<Vec<String>> = study
        .combinations
        .iter()
        .map(|s| {
            vec![s.world.to_string(), s.learner.to_string(), table::count(s.episodes), study.repetitions.to_string()]
        })
        .collect();
    let align = [Align::Left, Align::Left, Align::Right, Align::Right];
    table::table(&["world", "learner", "episodes", "runs"], &rows, &align)
}

fn text(study: &Study, tables: &Tables) -> String {
    let regrets = Amounts::of((0..study.combinations.len()).map(|i| tables.summary(i).mean));
    let amounts = Amounts::of(tables.runs.iter().map(|r| r.optimal).chain([regrets.size()]));
    // One digit behind the point says enough, unless it would be zero and more than rounding.
    let digits = if (1e-9 * amounts.size()..0.1).contains(&regrets.size()) { 4 } else { 1 };
    let rows: Vec<Vec<String>> = study
        .combinations
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let regret = tables.summary(i);
            let reached = reached(tables, i);
            vec![
                s.world.to_string(),
                s.learner.to_string(),
                amounts.with(digits, regret.mean),
                amounts.with(digits, regret.sd),
                amounts.with(digits, regret.median),
                reached.map_or_else(|| "–".to_owned(), percent),
            ]
        })
        .collect();
    let header = ["world", "learner", "regret", "sd", "median", "learned"];
    let align = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    let note = "Learned: value of the final policy on the way from random interventions (0 %) to the optimum (100 %).";
    let monte_carlo = study.by_play_note().map(|note| format!("{}\n", table::wrapped(&note))).unwrap_or_default();
    format!("{}{}\n{monte_carlo}", table::table(&header, &rows, &align), table::wrapped(note))
}

/// Mean share of the way from interventions at random to the best that the learned policies came; `None` where there is no way to go.
fn reached(tables: &Tables, combination: usize) -> Option<f64> {
    let runs = tables.runs.iter().filter(|r| r.combination == combination);
    let mean = Summary::of(runs.map(dowise_study::RunRow::reached)).mean;
    mean.is_finite().then_some(mean)
}

/// What `--dry-run --json` prints.
#[derive(Serialize)]
struct Listed<'a> {
    schema: &'static str,
    seed: u64,
    runs: usize,
    settings: Vec<ListedSetting<'a>>,
}

#[derive(Serialize)]
struct ListedSetting<'a> {
    world: String,
    learner: String,
    episodes: u64,
    runs: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sweep: &'a BTreeMap<String, String>,
}

impl Listed<'_> {
    fn new(study: &Study) -> Listed<'_> {
        let settings = study.combinations.iter().map(|s| ListedSetting {
            world: s.world.to_string(),
            learner: s.learner.to_string(),
            episodes: s.episodes,
            runs: study.repetitions,
            sweep: &s.sweep,
        });
        Listed { schema: "dowise-dry-run/1", seed: study.seed, runs: study.n_runs(), settings: settings.collect() }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    directory: String,
    seed: u64,
    settings: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    world: String,
    learner: String,
    estimate: String,
    episodes: u64,
    runs: usize,
    mean: f64,
    sd: f64,
    median: f64,
    /// How far the learned policy is on the way from interventions at random (0) to the best (1), on average.
    learned: Option<f64>,
    /// Whether regret and values are estimated by playing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    estimated: bool,
}

impl Report {
    fn new(study: &Study, tables: &Tables, directory: &Directory) -> Report {
        let settings = study.combinations.iter().enumerate().map(|(i, s)| {
            let regret = tables.summary(i);
            Entry {
                world: s.world.to_string(),
                learner: s.learner.to_string(),
                estimate: s.learner.estimate(),
                episodes: s.episodes,
                runs: regret.n,
                mean: regret.mean,
                sd: regret.sd,
                median: regret.median,
                learned: reached(tables, i),
                estimated: s.monte_carlo,
            }
        });
        let directory = directory.path().display().to_string();
        Report { schema: "dowise-compare/1", directory, seed: study.seed, settings: settings.collect() }
    }
}
