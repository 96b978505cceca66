//! `dowise learn` where states are never listed: learning from the states met, judged by playing, with an interval.

use std::path::Path;
use std::sync::atomic::Ordering;

use dowise::linear::UnlistedLearner;
use dowise::simulate::{AtRandom, Estimate, Play, Position, SampledPlan};
use dowise::{Agent, LearnerSpec, Simulator, World};
use dowise_study::{percent, read_text_file, world_fingerprint, write_file};
use serde::{Deserialize, Serialize};

use super::{Args, EPISODES, within_limit};
use crate::output::{Failure, Output, Status};
use crate::progress::Progress;
use crate::{interrupt, study, table};

/// Bytes of the largest saved run: 1 GiB.
const MOST_SAVED: u64 = 1 << 30;

/// States drawn of each anchor, for the policy that learners are compared with.
const SAMPLES: usize = 500;

/// Episodes that every policy is judged by, with the same random numbers.
const JUDGED: u64 = 2000;

/// Keeps the random numbers of judging apart from those of learning.
const JUDGE: u64 = 0x6a75_6467_6500_0000;

/// A run as a file.
#[derive(Serialize, Deserialize)]
struct SavedRun {
    format: String,
    learner: LearnerSpec,
    seed: u64,
    position: Position,
    rewards: Vec<f64>,
    world: String,
    state: String,
}

const FORMAT: &str = "dowise unlisted run 1";

/// A mean with its interval.
#[derive(Serialize)]
struct Judged {
    mean: f64,
    half_width: f64,
}

impl From<Estimate> for Judged {
    fn from(estimate: Estimate) -> Judged {
        Judged { mean: estimate.mean, half_width: estimate.half }
    }
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    world: String,
    states: usize,
    learner: String,
    episodes: usize,
    seed: u64,
    plans: u64,
    states_met: usize,
    /// Mean reward of an episode over the last tenth of them, while learning.
    reward_at_the_end: Judged,
    /// Expected reward of an episode, by playing: learned policy, the plan by sampled states, at random.
    learned: Judged,
    sampled_plan: Judged,
    uniform: Judged,
    /// What the plan by sampled states has over the learned policy, in pairs of episodes with the same random numbers.
    lost: Judged,
    /// The share of the way from random to that plan.
    share: f64,
}

/// Options that list states, and are refused by name.
fn refuse(args: &Args, world: &World) -> Result<(), Failure> {
    let listing = [
        ("--from", args.from.is_some()),
        ("--evidence", args.evidence.is_some()),
        ("--told", args.told.is_some()),
        ("--baseline", args.baseline.is_some()),
        ("--policy", args.policy.is_some()),
        ("--until", args.until.is_some()),
        ("--certify", args.certify),
        ("--draw", args.draw.is_some()),
    ];
    match listing.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(Failure::Usage(format!(
            "{name} needs a list of all states, and there are {}; without it the learner works from the states that it meets",
            table::count(world.n_states() as u64)
        ))),
        None => Ok(()),
    }
}

pub(super) fn run(args: &Args, world: &World, seed: u64, output: &Output) -> Result<Status, Failure> {
    refuse(args, world)?;
    let usage = |e: &dyn std::fmt::Display| Failure::Usage(e.to_string());
    let simulator = Simulator::new(world).map_err(|e| usage(&e))?;
    let saved = args.resume.as_deref().map(|file| read(file, world)).transpose()?;
    let spec: LearnerSpec = match &saved {
        Some(saved) => saved.learner.clone(),
        // The learner of whoever names none.
        None if args.learner == super::DEFAULT => {
            let (spec, why) = LearnerSpec::default_for(world);
            why.iter().for_each(|why| output.talk(format_args!("{why}")));
            spec
        }
        None => args.learner.parse().map_err(|e| usage(&e))?,
    };
    let told = spec.knowledge(world).map_err(|e| usage(&e))?;
    let episodes = args.episodes.unwrap_or(EPISODES);
    within_limit(episodes)?;
    let Some(options) = spec.linear_options(episodes, seed) else {
        return Err(Failure::Usage(format!(
            "{spec} counts, and there are {} states: too many to list; take a learner that regresses on features, such as c-blsvi",
            table::count(world.n_states() as u64)
        )));
    };
    let mut play = Play::new(&simulator, seed);
    let (mut learner, mut rewards) = match &saved {
        Some(saved) => {
            play.go_on(saved.position);
            (UnlistedLearner::restore(&told, &saved.state).map_err(|e| usage(&e))?, saved.rewards.clone())
        }
        None => (UnlistedLearner::new(&told, options).map_err(|e| usage(&e))?, Vec::new()),
    };
    let done = learner.episodes();
    if episodes <= done {
        let message = format!("the run has had {done} episodes; --episodes is their number in all, so ask for more");
        return Err(Failure::Usage(message));
    }
    output.talk(format_args!("{spec} in {}, seed {seed}", args.world));
    let states = table::count(world.n_states() as u64);
    output.talk(format_args!(
        "{states} states are never listed: it learns from those that it meets, and is judged by playing"
    ));
    for finding in learner.findings() {
        output.talk(table::wrapped(&format!("warning: {finding}")));
    }
    let stop = interrupt::flag();
    let progress = Progress::after(output, done, episodes, "episodes");
    for number in done..episodes {
        rewards.push(play.episode(&mut learner).1);
        if number % 16 == 0 {
            progress.set(number, || format!("{} states met", table::count(learner.met() as u64)));
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    progress.finish();
    let written = args.save.as_deref().map_or(Ok(()), |file| {
        let saved = SavedRun {
            format: FORMAT.to_owned(),
            learner: spec.clone(),
            seed,
            position: play.position(),
            rewards: rewards.clone(),
            world: world_fingerprint(world),
            state: learner.save(),
        };
        let text = serde_json::to_string(&saved).expect("invariant: names and numbers can be written");
        write_file(file, text.as_bytes()).map_err(|e| study::failure(e, output))?;
        output.talk(format_args!("saved as {}", file.display()));
        Ok(())
    });
    let report = judge(args, world, &simulator, &learner, (&spec, seed), &rewards)?;
    let printed = if args.json { output.json(&report) } else { output.data(text(&report)) };
    written.and(printed)?;
    if stop.load(Ordering::Relaxed) {
        let message = format!("interrupted after {} of {episodes} episodes; this is what was learned", rewards.len());
        return Err(Failure::Interrupted(message));
    }
    Ok(Status::Fine)
}

fn judge(
    args: &Args,
    world: &World,
    simulator: &Simulator,
    learner: &UnlistedLearner,
    (spec, seed): (&LearnerSpec, u64),
    rewards: &[f64],
) -> Result<Report, Failure> {
    let mut plan = SampledPlan::new(world, SAMPLES, seed).map_err(|e| Failure::Usage(e.to_string()))?;
    let returns = |agent: &mut dyn Agent| simulator.returns(agent, JUDGED, seed ^ JUDGE);
    let [learned, best] = [returns(&mut learner.learned_policy()), returns(&mut plan)];
    let random = returns(&mut AtRandom::new(simulator, seed ^ JUDGE));
    let mean = |values: &[f64]| Estimate::of(values.iter().copied());
    let last = &rewards[rewards.len() - (rewards.len() / 10).max(1)..];
    let (to, from, at) = (mean(&best).mean, mean(&random).mean, mean(&learned).mean);
    Ok(Report {
        schema: "dowise-learn-unlisted/1",
        world: args.world.clone(),
        states: world.n_states(),
        learner: spec.to_string(),
        episodes: rewards.len(),
        seed,
        plans: learner.plans(),
        states_met: learner.met(),
        reward_at_the_end: mean(last).into(),
        learned: mean(&learned).into(),
        sampled_plan: mean(&best).into(),
        uniform: mean(&random).into(),
        lost: Estimate::of_pairs(&best, &learned).into(),
        share: if to > from { (at - from) / (to - from) } else { 1.0 },
    })
}

fn text(report: &Report) -> String {
    let line = |what: &str, judged: &Judged| format!("{what:<34} {:>9.4} ± {:.4}\n", judged.mean, judged.half_width);
    let mut out = format!(
        "after {} episodes: {} plans, {} states met\n\n",
        table::count(report.episodes as u64),
        table::count(report.plans),
        table::count(report.states_met as u64)
    );
    out += &format!("expected reward of an episode, by {JUDGED} episodes each\n");
    out += &line("  learned policy", &report.learned);
    out += &line("  plan by sampled states", &report.sampled_plan);
    out += &line("  at random", &report.uniform);
    out += &line("  lost against the plan, in pairs", &report.lost);
    out += &line("  while learning, last tenth", &report.reward_at_the_end);
    out += &format!("{} of the way from random to that plan\n", percent(report.share));
    out
}

fn read(file: &Path, world: &World) -> Result<SavedRun, Failure> {
    let shown = file.display();
    let text = read_text_file(file, MOST_SAVED).map_err(|e| Failure::Io(e.to_string()))?;
    let saved: SavedRun = serde_json::from_str(&text).map_err(|e| {
        Failure::Usage(format!("{shown}: this is not a saved run of a world whose states are not listed: {e}"))
    })?;
    if saved.format != FORMAT {
        return Err(Failure::Usage(format!(
            "{shown}: its format is {}, and this program reads {FORMAT}",
            saved.format
        )));
    }
    if saved.world != world_fingerprint(world) {
        return Err(Failure::Usage(format!("{shown}: it was saved in another world")));
    }
    Ok(saved)
}

/// The seed of a saved run, which draws the world; `None` if the file is none of ours.
pub(super) fn seed_of(file: &Path) -> Option<u64> {
    #[derive(Deserialize)]
    struct Part {
        format: String,
        seed: u64,
    }
    let text = read_text_file(file, MOST_SAVED).ok()?;
    let part: Part = serde_json::from_str(&text).ok()?;
    (part.format == FORMAT).then_some(part.seed)
}
