//! `dowise learn`: one learner in one world, and what it learned.

pub(super) mod noticed;
pub(super) mod promise;
mod report;
pub(super) mod saved;
pub(in crate::commands) mod visited_states;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use dowise::offline::fit::{
    Confounded, FitError, FitOptions, Fitting, NotFitted, fingerprint_in, not_fitted_in, read_summary,
};
use dowise::offline::{MissingnessCounts, MissingnessTest};
use dowise::{Arena, Knowledge, Learner, LearnerSpec, World};
use dowise_study::{Evaluation, MOST_TEXT, StudyError, WorldChoice, read_text_file, write_file};

use self::noticed::FromLog;
use self::promise::{Promises, Until, is_svg};
use self::report::Report;
use self::saved::{Resumed, SavedRun};
use crate::known::Known;
use crate::log::{self, LogArgs};
use crate::number::{counted, whole};
use crate::output::{Failure, Output, Status};
use crate::overwrite::{Files, Overwrite};
use crate::progress::Progress;
use crate::{interrupt, missingness, policy_file, render, study, table};

/// Let one learner learn in a world, and show what it learned
///
/// Plays episode after episode in the simulated world and evaluators every policy exactly, or, in large worlds of low rank, by playing. At the end:
/// regret, what the learned policy is worth beside the best one and doing things at random, and what it does where it matters most.
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
    /// How policies are evaluated: `exact`, by the values of all states, or `monte-carlo`, estimated from simulated episodes [default: exact, unless
    /// states are too many to enumerate, or exact values of a world of low rank would take most of the time of a learner that regresses]
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
    /// Levers that the log's people set by a draw that looked at nothing but what is recorded, whatever the graph says acts on
    /// them.
    #[arg(long, value_name = "LEVER", value_delimiter = ',', requires = "from")]
    randomised: Vec<String>,
    /// Begin with the evidence that `dowise fit` wrote beside a fitted world, and learn on all that was fitted.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    evidence: Option<PathBuf>,
    /// The world that the learner assumes, in place of the simulated one: the same variables, with arrows or numbers that may be wrong.
    #[arg(long, alias = "told", value_name = "WORLD", conflicts_with_all = ["resume", "evidence", "save"])]
    assumed: Option<String>,
    /// Never do much worse than this policy, such as today's: a file that `dowise plan --json` or `dowise learn --policy` wrote.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    baseline: Option<PathBuf>,
    /// The share of the baseline's value, counted from the least that an episode can pay, that may be lost: between 0 and 1 [default: 0.1]
    #[arg(long, value_name = "SHARE", requires = "baseline", allow_negative_numbers = true)]
    alpha: Option<f64>,
    /// The learner knows what the baseline is worth from each starting state.
    #[arg(long, requires = "baseline")]
    baseline_known: bool,
    /// Write the policy to deploy into a file that `dowise plan --evaluate` reads: for samplers the plan of the posterior mean.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Stop as soon as the policy is surely this near to the best: a share of the way from random to best such as 5%, or a gap in
    /// rewards of an episode such as 0.2. `--policy` then writes that policy.
    #[arg(long, value_name = "GAP")]
    until: Option<Until>,
    /// Say at the end how far from best the policy can be, also without `--until`. The policy that is shown and written is then the one of
    /// which that is said.
    #[arg(long)]
    certify: bool,
    /// Probability with which what is promised of gaps, and to a baseline, may be wrong at any time. Guards and `forget=reset` have the
    /// learner's own (`--learner graph-psrl:guard=true,delta=0.01`) [default: 0.05].
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

/// The learner of whoever names none, where tables can go.
const DEFAULT: &str = "graph-psrl";

/// Most episodes of a run: their regrets take 80 MB, and a quarter of what a saved run may take as text.
const MOST_EPISODES: u64 = 10_000_000;

/// Bytes of the largest evidence that is read: 1 GiB.
const MOST_EVIDENCE: u64 = 1 << 30;

/// Probability with which a true graph is said to be contradicted by a log, at most.
const GRAPH_DELTA: f64 = 0.05;

/// The share of a baseline that may be lost if nothing else is asked for.
const ALPHA: f64 = 0.1;

/// Episodes of a run that is not known how many.
const EPISODES: u64 = 1000;

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    if args.learner.as_deref() == Some("help") {
        return list_learners(args.json, output);
    }
    if args.world.is_empty() {
        return Err(Failure::Usage(
            "name a world to learn in: a file, or a ready-made one; `dowise new` lists them".into(),
        ));
    }
    let fail = |e: StudyError| study::failure_in(&args.world, e, args.json, output);
    if args.episodes == Some(0) {
        return Err(Failure::Usage("--episodes 0: a run needs at least one episode".into()));
    }
    args.episodes.map_or(Ok(()), within_limit)?;
    if args.reading.map.is_some() && args.from.is_none() {
        return Err(Failure::Usage("--map says how a log is read; give the log with --from".into()));
    }
    let promises = args.until.is_some() || args.certify || args.draw.is_some() || args.baseline.is_some();
    if args.delta.is_some() && !promises {
        return Err(Failure::Usage(
            "--delta is the probability that a guarantee fails, and this run gives none: add --until, --certify or --baseline; to set the learner's own δ, write `--learner graph-ucbvi:delta=0.01`"
                .into(),
        ));
    }
    // What was learned is not to be lost at the end because it cannot be written.
    args.overwrite.check(&files(&args), output)?;
    let svg = args.draw.as_deref().map(is_svg).transpose()?;
    let choice = WorldChoice::read(&args.world);
    let drawn = args.resume.as_deref().and_then(visited_states::seed_of).unwrap_or(args.seed);
    let mut named = args.learner.as_deref().unwrap_or(DEFAULT).to_owned();
    if let Ok(world) = choice.make(drawn) {
        // The learner of whoever names none.
        if args.learner.is_none() && [&args.resume, &args.evidence].iter().all(|file| file.is_none()) {
            let (spec, why) = LearnerSpec::default_for(&world);
            why.iter().for_each(|why| output.talk(format_args!("{why}")));
            named = spec.to_string();
        }
        let was_monte_carlo = args.resume.as_deref().is_some_and(|file| visited_states::seed_of(file).is_some());
        if was_monte_carlo || evaluation(&args, &world, &named).map_err(fail)? == Evaluation::MonteCarlo {
            return visited_states::run(&args, &world, &named, drawn, output);
        }
    }
    let resumed = args.resume.as_deref().map(Resumed::read).transpose()?;
    let mut state = match &resumed {
        Some(resumed) => resumed.run.clone(),
        None => SavedRun::new(named.parse().map_err(|e| fail(StudyError::Learner(e)))?, args.seed),
    };
    let (spec, seed): (LearnerSpec, u64) = (state.learner.clone(), state.seed);
    let arena = long_setup(&choice, seed, output).map_err(fail)?;
    let mut run = arena.run(seed);
    let cannot_learn = |e: dowise::learn::LearnError| {
        fail(StudyError::Learn { learner: spec.to_string(), world: choice.to_string(), source: e.into() })
    };
    let mut learner = match &resumed {
        Some(resumed) => resumed.learner(&arena)?,
        None => {
            let episodes = args.episodes.unwrap_or(EPISODES);
            match &args.evidence {
                None => match &args.assumed {
                    None => spec.learner(arena.world(), episodes, seed).map_err(cannot_learn)?,
                    Some(other) => {
                        let knowledge = WorldChoice::read(other).arena(seed).map_err(fail)?;
                        let learner = spec.learner(knowledge.world(), episodes, seed).map_err(cannot_learn)?;
                        if !learner.knowledge().can_play(arena.world()) {
                            return Err(Failure::Usage(format!(
                                "--assumed {other}: variables, interventions, reward terms, the horizon, the discount and where episodes end \
                                 must be those of {choice}; only arrows and numbers may differ"
                            )));
                        }
                        if args.baseline.is_some() {
                            within_assumed_ranges(other, &learner, arena.world())?;
                        }
                        learner
                    }
                },
                Some(file) => {
                    let text = read_text_file(file, MOST_EVIDENCE).map_err(|e| Failure::Io(e.to_string()))?;
                    let wrong = |e: FitError| Failure::Usage(format!("{}: {e}", file.display()));
                    same_fit(&not_fitted_in(&text).map_err(wrong)?, &args.world, file)?;
                    let seen = read_summary(arena.world(), &text).map_err(wrong)?;
                    state.unfair.extend(unfair(seen.missingness()));
                    let evidence = seen.evidence().clone();
                    let steps = table::count(evidence.steps());
                    let learner =
                        Learner::with_evidence(evidence, spec.options(episodes, seed)).map_err(cannot_learn)?;
                    output.talk(format_args!("began with {steps} steps of {}", file.display()));
                    learner
                }
            }
        }
    };
    // A log is of the real world, which may not be what the file says, and so is what is played where another world is given.
    // One who expects the world to change cannot tell a change from a wrong arrow.
    if spec.options(1, 0).forget.is_never() {
        let watched = match (&args.assumed, &args.from) {
            (Some(_), _) => learner.watch_graph(GRAPH_DELTA),
            (None, Some(_)) => learner.watch_log(GRAPH_DELTA),
            (None, None) => Ok(()),
        };
        watched.map_err(cannot_learn)?;
    }
    if let Some(log) = &args.from {
        state.unfair.extend(confounded(&learner, arena.world(), &args.randomised)?);
        let (steps, missingness) = warm_start(&mut learner, log, &args, arena.world(), output)?;
        state.unfair.extend(unfair(&missingness));
        output.talk(format_args!("began with {} steps of {}", table::count(steps), log.display()));
        state.log = FromLog::new(&learner, steps);
    }
    let mut worth_of_baseline = None;
    if let Some(file) = &args.baseline {
        let today = policy_file::read(file, arena.world())?;
        let values = arena.planner().evaluate(&today).expect("invariant: a policy that was read is allowed");
        let known = args.baseline_known.then_some(&values[..arena.world().n_states()]);
        let kept = learner.keep_baseline_at(&today, [args.alpha.unwrap_or(ALPHA), args.delta.unwrap_or(DELTA)], known);
        kept.map_err(|e| Failure::Usage(format!("--baseline {}: {e}", file.display())))?;
        worth_of_baseline = Some(arena.planner().from_start(&values[..arena.world().n_states()]));
    }
    // What was learned is not to be lost at the end because there is no memory to make a policy of it.
    learner.room_to_deploy().map_err(cannot_learn)?;
    let certifies = args.until.is_some() || args.certify || args.draw.is_some();
    let mut promises = certifies.then(|| {
        Promises::new(
            &arena,
            args.until,
            args.delta.unwrap_or(DELTA),
            &learner,
            args.from.is_none() && args.evidence.is_none(),
        )
    });
    if let Some(promises) = &mut promises {
        promises.check(&learner).map_err(|e| match e {
            promise::Cannot::Learn(e) => cannot_learn(e),
            promise::Cannot::Until(why) => Failure::Usage(why),
        })?;
    }
    let (done, episodes) = (learner.episodes(), args.episodes.unwrap_or(learner.planned_episodes()));
    within_limit(episodes)?;
    if episodes <= done {
        let message = format!("the run has had {done} episodes; --episodes is their number in all, so ask for more");
        return Err(Failure::Usage(message));
    }

    output.talk(format_args!("{spec} in {choice}, seed {seed}"));
    output.talk(table::wrapped(&report::knowledge(&learner)));
    if let Some(why) = learner.wrong_view() {
        output.talk(table::wrapped(&format!("warning: {why}; its values stay wrong however much it sees")));
    }
    for finding in learner.as_linear().map(|linear| linear.findings()).unwrap_or_default() {
        output.talk(table::wrapped(&format!("warning: {finding}")));
    }
    for finding in render::decisive(arena.world()) {
        output.talk(format_args!("warning: {}; `dowise check` shows where", finding.message));
    }
    if done > 0 {
        output.talk(format_args!("going on after {done} of {episodes} episodes"));
    }
    let stop = interrupt::flag();
    let progress = Progress::after(output, done, episodes, "episodes");
    if let Some(position) = state.position {
        run.go_on(position);
    }
    let mut total: f64 = state.regrets.iter().sum();
    let begins_unfair = !state.unfair.is_empty();
    let is_void = |learner: &Learner| begins_unfair || learner.graph_contradicted();
    let mut reached = false;
    for _ in done..episodes {
        let episode = run.episode(&mut learner);
        total += episode.regret;
        state.reward += episode.reward;
        state.regrets.push(episode.regret);
        if episode.number % 16 == 0 {
            progress.set(episode.number, || format!("regret {total:.1}"));
        }
        reached = promises.as_mut().is_some_and(|promises| promises.after(&learner)) && !is_void(&learner);
        if reached || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    progress.finish();
    if let Some(promises) = &mut promises {
        reached |= promises.now(&learner) && !is_void(&learner);
    }
    state.position = Some(run.position());
    // If it cannot be saved after all, what was learned is printed first.
    let saved = args.save.as_deref().map_or(Ok(()), |file| state.write(&learner, &arena, file, output));
    let learned = learner.learned_policy();
    // What can be promised is promised of one policy, so it is that one which is shown and written.
    let promised = promises.as_ref().and_then(|promises| promises.last.as_ref());
    let actions = promised.map_or(learned.actions(), |certificate| &certificate.policy_hs);
    let deployed = args.policy.as_deref().map_or(Ok(()), |file| {
        let (made_by, evidence) = (spec.to_string(), format!("{:016x}", learned.evidence()));
        let origin = (made_by.as_str(), learner.episodes());
        policy_file::write(file, arena.world(), origin, (learned.plan(), evidence), actions)?;
        output.talk(format_args!("the learned policy is in {}", file.display()));
        Ok(())
    });
    let drawn = promises.as_ref().zip(args.draw.as_deref()).map_or(Ok(()), |(promises, file)| {
        let drawing = promises.picture(&spec.to_string()).draw().map_err(fail)?;
        let bytes = if svg == Some(true) { drawing.svg.into_bytes() } else { drawing.png };
        write_file(file, &bytes).map_err(fail)
    });
    let promised = promises.as_ref().and_then(|promises| promises.history.last().cloned());
    let report =
        Report::new(&arena, &learner, actions, &state, args.rows, promised).with_baseline(&learner, worth_of_baseline);
    if args.json {
        noticed::lines(&learner, state.log).iter().for_each(|line| output.talk(table::wrapped(line)));
    }
    let printed = if args.json { output.json(&report) } else { output.data(report.text(output)) };
    saved.and(deployed).and(drawn).and(printed)?;
    if stop.load(Ordering::Relaxed) {
        let message =
            format!("interrupted after {} of {episodes} episodes; this is what was learned", state.regrets.len());
        return Err(Failure::Interrupted(message));
    }
    match args.until {
        Some(until) if !reached => {
            let played = table::count(state.regrets.len() as u64);
            output.talk(format_args!(
                "not within {until} with confidence 1 − δ after {played} episodes; continue with more"
            ));
            Ok(Status::No)
        }
        Some(_) | None => Ok(Status::Fine),
    }
}

/// Prints the learners and their options.
pub(super) fn list_learners(json: bool, output: &Output) -> Result<Status, Failure> {
    if json {
        output.json(&report::Learners::new())?;
    } else {
        output.data(report::learners(output))?;
    }
    Ok(Status::Fine)
}

/// Where a log cannot teach what setting a lever does, and the learner takes it from there.
fn confounded(learner: &Learner, world: &World, randomised: &[String]) -> Result<Vec<String>, Failure> {
    let fitting = match Fitting::new(world, FitOptions { randomised: randomised.to_vec(), ..FitOptions::default() }) {
        Ok(fitting) => fitting,
        Err(error) if !randomised.is_empty() => return Err(Failure::Usage(error.to_string())),
        Err(_) => return Ok(Vec::new()),
    };
    if learner.knowledge().knows_mechanisms() {
        return Ok(Vec::new());
    }
    let sentence = |lever: &Confounded| {
        format!(
            "UNMEASURED CONFOUNDING: the hidden variable {} affects the lever {} and {}, so the log does not show the effect of setting {}. If it was randomised, pass --randomised {}.",
            lever.hidden.join(", "),
            lever.lever,
            lever.effects.join(", "),
            lever.lever,
            lever.lever
        )
    };
    Ok(fitting.confounded().iter().filter(|c| c.always_set).map(sentence).collect())
}

/// Where what was recorded is not missing at random for a learner: it does not expect what is missing.
fn unfair(missingness: &[MissingnessTest]) -> impl Iterator<Item = String> {
    missingness.iter().filter(|test| test.is_missing_not_at_random(false)).map(missingness::unfair)
}

/// Refuses evidence that the world was not fitted to, where the world is a file that says to which it was.
fn same_fit(of: &NotFitted, world: &str, file: &Path) -> Result<(), Failure> {
    match read_text_file(Path::new(world), MOST_TEXT) {
        Ok(text) => super::plan::check_fingerprint(of, fingerprint_in(&text), file),
        Err(_) => Ok(()),
    }
}

/// Takes the steps of a log in; how many went in, by their weights, and whether what is missing depends on what they came to.
fn warm_start(
    learner: &mut Learner,
    log: &Path,
    args: &Args,
    world: &World,
    output: &Output,
) -> Result<(u64, Vec<MissingnessTest>), Failure> {
    let mut recorded = MissingnessCounts::new(&Knowledge::of(world));
    let report = log::steps(log, args.reading.map.as_deref(), world, output, |step| {
        let cannot = |e| Failure::Usage(format!("{}: line {}: {e}", log.display(), step.line));
        recorded.add(&step.observation, step.weight);
        learner.learn_times(&step.observation, step.weight).map_err(cannot)
    })?;
    log::refuse_errors(&report, log, args.skip_bad, output)?;
    Ok((report.weight, recorded.tests()))
}

/// Refuses a given world whose rewards cannot be what the world pays that is played, where a baseline is to be kept: what is promised to it
/// is counted from the least that an episode can pay. Elsewhere a payment outside of its range is noticed.
fn within_assumed_ranges(other: &str, learner: &Learner, world: &World) -> Result<(), Failure> {
    for (knowledge, true_term) in learner.knowledge().rewards().iter().zip(world.rewards()) {
        let ([lo, hi], [least, most]) = (knowledge.range, true_term.range);
        let slack = 1e-9 * (hi - lo).max(lo.abs()).max(hi.abs());
        if least < lo - slack || most > hi + slack {
            return Err(Failure::Usage(format!(
                "--assumed {other}: the reward {} has the range {lo} to {hi} there, and the simulated world has rewards from {least} to {most}; the guarantee for a baseline rests on that range; widen it",
                knowledge.name
            )));
        }
    }
    Ok(())
}

/// How policies are evaluated a run that begins. What needs all states enumerated, or exact values, chooses these; so does a run that goes on and was evaluated so.
fn evaluation(args: &Args, world: &World, learner: &str) -> Result<Evaluation, StudyError> {
    let needs_exact = args.resume.is_some() || visited_states::needs_list(args).is_some();
    match (args.evaluate, learner.parse::<LearnerSpec>()) {
        // What is wrong with a learner's name is said where learners are made.
        (None, Ok(spec)) if !needs_exact => Ok(Evaluation::while_waiting(world, &spec)),
        (chosen, _) => Evaluation::of(chosen, world, &args.world),
    }
}

/// Probability with which promises may be wrong, for whoever names none.
const DELTA: f64 = 0.05;

/// States from which on the best policy takes a while to find.
const MANY_STATES: usize = 1 << 15;

/// The world to play in, with the best policy to judge by; if that takes long, it is said.
fn long_setup(choice: &WorldChoice, seed: u64, output: &Output) -> Result<Arena, StudyError> {
    if let Ok(world) = choice.make(seed)
        && world.n_states() >= MANY_STATES
    {
        let states = table::count(world.n_states() as u64);
        output.talk(format_args!("computing the optimal policy of {states} states first, to measure regret"));
    }
    choice.arena(seed)
}

/// What is read and written.
fn files(args: &Args) -> Files<'_> {
    let mut files = Files::default();
    files
        .read("the world", Some(Path::new(&args.world)))
        .read("--assumed", args.assumed.as_deref().map(Path::new))
        .read("--from", args.from.as_deref())
        .read("--map", args.reading.map.as_deref())
        .read("--evidence", args.evidence.as_deref())
        .read("--baseline", args.baseline.as_deref());
    // A run that goes on may take the place of what it was.
    files.go_on(("--resume", args.resume.as_deref()), ("--save", args.save.as_deref()));
    files.write("--policy", args.policy.as_deref()).write("--draw", args.draw.as_deref());
    files
}

fn within_limit(episodes: u64) -> Result<(), Failure> {
    if episodes <= MOST_EPISODES {
        return Ok(());
    }
    let most = table::count(MOST_EPISODES);
    Err(Failure::Usage(format!(
        "--episodes {episodes}: the regret of every episode is kept, of {most} at most; \
         `dowise compare` keeps checkpoints only"
    )))
}
