//! Lets one learner play in one world and records regret, rewards and values.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dowise::Arena;
use dowise::learn::{LearnError, LearnerSpec};
use serde::{Deserialize, Serialize};

use crate::StudyError;

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Sum of regrets up to each checkpoint.
    pub regret: Vec<f64>,
    /// Sum of rewards received over all episodes.
    pub reward: f64,
    /// Value of the best policy.
    pub optimal: f64,
    /// Value of the policy that was learned: what one would deploy.
    pub value: f64,
    /// Value of interventions at random.
    pub random: f64,
    /// Seconds that the run took; the only field that differs between machines.
    pub seconds: f64,
    /// Whether regret and values were estimated by playing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl RunRecord {
    /// Sum of regrets over all episodes.
    pub fn total_regret(&self) -> f64 {
        self.regret.last().copied().unwrap_or(0.0)
    }
}

/// Plays up to the last checkpoint; `None` if `stop` was set before that.
///
/// The run's draws and the learner's own come from separate streams of the seed, so learners that share a seed start every
/// episode alike. `after` knows the episode, its regret and the sum so far.
pub fn play(
    arena: &Arena,
    learner: &LearnerSpec,
    seed: u64,
    checkpoints: &[u64],
    stop: &AtomicBool,
    mut after: impl FnMut(u64, f64, f64),
) -> Result<Option<RunRecord>, StudyError> {
    let begun = Instant::now();
    let episodes = checkpoints.last().copied().unwrap_or(0);
    let cannot_learn = |source: LearnError| StudyError::Learn {
        learner: learner.to_string(),
        world: arena.world().name().to_owned(),
        source: source.into(),
    };
    // The judge's memory is counted before the learner asks for its own.
    let mut run = arena.run(seed);
    let mut agent = learner.learner(arena.world(), episodes, seed).map_err(cannot_learn)?;
    agent.room_to_deploy().map_err(cannot_learn)?;
    let (mut total, mut reward, mut regret) = (0.0, 0.0, Vec::with_capacity(checkpoints.len()));
    let mut stopped = false;
    run.episodes(episodes, &mut agent, |episode| {
        total += episode.regret;
        reward += episode.reward;
        if checkpoints.get(regret.len()) == Some(&episode.number) {
            regret.push(total);
        }
        after(episode.number, episode.regret, total);
        stopped = stop.load(Ordering::Relaxed);
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if stopped {
        return Ok(None);
    }
    let (optimal, (random, _)) = (arena.optimal(), arena.at_random());
    let learned = || arena.value_of(agent.learned_policy().actions());
    let value = match learner.is_at_random() {
        true => random,
        false => learned().expect("invariant: a learner's policy is one of its world"),
    };
    Ok(Some(RunRecord {
        regret,
        reward,
        optimal,
        value,
        random,
        seconds: begun.elapsed().as_secs_f64(),
        estimated: false,
    }))
}
