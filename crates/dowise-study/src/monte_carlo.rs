//! Learners evaluated by Monte Carlo, against a plan by sampled states: where states cannot be enumerated, and where that is chosen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dowise::learn::{Agent, LearnError, Learner, LearnerSpec, Policy};
use dowise::linear::LinearLearner;
use dowise::simulate::{AtRandom, Estimate, Play, SampledValueIteration, Simulator};
use dowise::{Action, Observation, World};

use crate::{RunRecord, StudyError};

/// States drawn of each anchor, for the policy that learners are compared with.
const SAMPLES: usize = 500;

/// Episodes that every policy is evaluated by, with the same random numbers.
pub const MONTE_CARLO_EPISODES: u64 = 2000;

/// Keeps the random numbers of evaluation apart from those of learning.
const JUDGE: u64 = 0x6a75_6467_6500_0000;

/// A world with what policies are evaluated by: the same episodes for all of them.
#[derive(Clone, Debug)]
pub struct MonteCarlo {
    simulator: Simulator,
    plan: SampledValueIteration,
    /// Seed of the evaluation.
    seed: u64,
    /// What the plan and interventions at random bring, episode by episode.
    best: Vec<f64>,
    random: Vec<f64>,
}

/// What a policy is worth by playing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluated {
    /// Of the policy.
    pub learned: Estimate,
    /// Of the plan by sampled states.
    pub best: Estimate,
    /// Of interventions at random.
    pub random: Estimate,
    /// What the plan has over the policy, in pairs of episodes with the same random numbers.
    pub lost: Estimate,
}

impl Evaluated {
    /// The share of the way from random to the plan; `None` where play does not tell the plan from interventions at random, since what
    /// makes the difference is too rare or too small to be seen in so many episodes.
    pub fn reached(&self) -> Option<f64> {
        let way = self.best.mean - self.random.mean;
        (way > self.best.half.max(self.random.half)).then(|| (self.learned.mean - self.random.mean) / way)
    }
}

impl MonteCarlo {
    /// Makes the plan by sampled states, and plays it; all of it is a function of the seed. `name` is for messages.
    ///
    /// # Cost
    /// That of [`SampledValueIteration::new`], and 4,000 episodes.
    pub fn new(world: &World, name: &str, seed: u64) -> Result<MonteCarlo, StudyError> {
        let seed = seed ^ JUDGE;
        let refused = |message: String| StudyError::NotSimulable { world: name.to_owned(), message };
        let simulator = Simulator::new(world).map_err(|e| refused(e.to_string()))?;
        let mut plan = SampledValueIteration::new(world, SAMPLES, seed).map_err(|e| {
            refused(match world.is_enumerable() {
                true => format!(
                    "whoever is evaluated by Monte Carlo is compared with a plan by sampled states: {e}; or evaluate exactly"
                ),
                false => {
                    format!("its states are not enumerated, so learners are evaluated against a plan by sampled states: {e}")
                }
            })
        })?;
        let best = simulator.returns(&mut plan, MONTE_CARLO_EPISODES, seed);
        let random = simulator.returns(&mut AtRandom::new(&simulator, seed), MONTE_CARLO_EPISODES, seed);
        Ok(MonteCarlo { simulator, plan, seed, best, random })
    }

    /// The world.
    pub fn world(&self) -> &World {
        self.simulator.world()
    }

    /// Plays steps.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// What a policy is worth.
    pub fn evaluate(&self, policy: &mut dyn Agent) -> Evaluated {
        let learned = self.simulator.returns(policy, MONTE_CARLO_EPISODES, self.seed);
        let range = self.world().return_range();
        let mean = |values: &[f64]| Estimate::of(values.iter().copied(), range);
        Evaluated {
            learned: mean(&learned),
            best: mean(&self.best),
            random: mean(&self.random),
            lost: Estimate::of_pairs(&self.best, &learned, range),
        }
    }

    /// Plays up to the last checkpoint; `None` if `stop` was set before that.
    ///
    /// The regret of an episode is what the plan by sampled states receives, with the same random numbers, less what the learner receives: its
    /// mean is right, it may be negative, and it is 0 where both do the same.
    pub(crate) fn play(
        &self,
        spec: &LearnerSpec,
        seed: u64,
        checkpoints: &[u64],
        stop: &AtomicBool,
        mut after: impl FnMut(u64, f64, f64),
    ) -> Result<Option<RunRecord>, StudyError> {
        let begun = Instant::now();
        let episodes = checkpoints.last().copied().unwrap_or(0);
        let mut learner = Player::new(spec, self.world(), &self.simulator, episodes, seed)?;
        let (mut play, mut beside) = (Play::new(&self.simulator, seed), Play::new(&self.simulator, seed));
        let mut plan = self.plan.clone();
        let (mut total, mut reward, mut regret) = (0.0, 0.0, Vec::with_capacity(checkpoints.len()));
        for number in 1..=episodes {
            beside.go_on(play.position());
            let best = beside.episode(&mut plan).1;
            let received = play.episode(&mut learner).1;
            total += best - received;
            reward += received;
            if checkpoints.get(regret.len()) == Some(&number) {
                regret.push(total);
            }
            after(number, best - received, total);
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        let evaluated = match &learner {
            Player::Regression(learner) => self.evaluate(&mut learner.learned_policy()),
            Player::Listed(learner) => self.evaluate(&mut Followed(learner.clone().learned_policy())),
            // The random numbers of its own evaluation.
            Player::Random(_) => self.evaluate(&mut AtRandom::new(&self.simulator, self.seed)),
        };
        Ok(Some(RunRecord {
            regret,
            reward,
            optimal: evaluated.best.mean,
            value: evaluated.learned.mean,
            random: evaluated.random.mean,
            seconds: begun.elapsed().as_secs_f64(),
            estimated: true,
        }))
    }
}

/// Who can play.
enum Player<'a> {
    /// From the states that are met.
    Regression(Box<LinearLearner>),
    /// From a list of all states, where there can be one: learners that count, and regressions that need it.
    Listed(Box<Learner>),
    Random(Box<AtRandom<'a>>),
}

impl<'a> Player<'a> {
    fn new(
        spec: &LearnerSpec,
        world: &World,
        simulator: &'a Simulator,
        episodes: u64,
        seed: u64,
    ) -> Result<Player<'a>, StudyError> {
        if spec.is_at_random() {
            return Ok(Player::Random(AtRandom::new(simulator, seed).into()));
        }
        if world.is_enumerable() && !learns_from_visited_states(spec, world) {
            let learner = spec.learner(world, episodes, seed).and_then(|learner| {
                learner.room_to_deploy()?;
                Ok(learner)
            });
            return learner.map(|learner| Player::Listed(learner.into())).map_err(|source| cannot(spec, world, source));
        }
        visited_states_learner(spec, world, episodes, seed).map(|learner| Player::Regression(Box::new(learner)))
    }

    fn agent(&mut self) -> &mut dyn Agent {
        match self {
            Player::Regression(learner) => learner.as_mut(),
            Player::Listed(learner) => learner.as_mut(),
            Player::Random(random) => random.as_mut(),
        }
    }
}

impl Agent for Player<'_> {
    fn begin_episode(&mut self) {
        self.agent().begin_episode();
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.agent().act(stage, state)
    }

    fn observe(&mut self, seen: &Observation<'_>) {
        self.agent().observe(seen);
    }

    fn end_episode(&mut self) {
        self.agent().end_episode();
    }
}

/// Follows a policy.
struct Followed(Arc<Policy>);

impl Agent for Followed {
    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.0.action(stage, state)
    }

    fn observe(&mut self, _: &Observation<'_>) {}
}

/// Whether a learner needs no list of all states here: it regresses on features of states and causes, which it computes for the states
/// that it meets.
pub(crate) fn learns_from_visited_states(spec: &LearnerSpec, world: &World) -> bool {
    let options = spec.linear_options(1, 0);
    let knowledge = || spec.knowledge(world).ok();
    options.is_some_and(|options| {
        knowledge().is_some_and(|knowledge| LinearLearner::over_visited_states(&knowledge, options).is_ok())
    })
}

/// A learner that works from the states it meets, or who has to be asked instead.
pub fn visited_states_learner(
    spec: &LearnerSpec,
    world: &World,
    episodes: u64,
    seed: u64,
) -> Result<LinearLearner, StudyError> {
    let knowledge = spec.knowledge(world).map_err(|source| cannot(spec, world, source))?;
    let Some(options) = spec.linear_options(episodes, seed) else {
        let (states, name) = (world.n_states(), world.name());
        if spec.is_at_random() {
            return Err(StudyError::Invalid(format!(
                "{spec} learns nothing: what interventions at random bring is said beside every other learner, such as c-blsvi"
            )));
        }
        return Err(StudyError::Invalid(match world.is_enumerable() {
            true => format!(
                "{spec} counts, and needs a list of the {states} states of {name}; evaluate exactly, or take a learner that regresses on features, \
                 such as c-blsvi"
            ),
            false => format!(
                "{spec} counts, and the {states} states of {name} are too many to enumerate; take a learner that regresses on features, such as c-blsvi"
            ),
        }));
    };
    let learner = LinearLearner::over_visited_states(&knowledge, options);
    let learner = learner.map_err(|e| StudyError::Invalid(format!("{spec} in {}: {e}", world.name())))?;
    Ok(learner.named(spec.to_string()))
}

fn cannot(spec: &LearnerSpec, world: &World, source: LearnError) -> StudyError {
    StudyError::Learn { learner: spec.to_string(), world: world.name().to_owned(), source: source.into() }
}

/// Whether a learner can be evaluated by Monte Carlo in a world.
pub(crate) fn check(spec: &LearnerSpec, world: &World, episodes: u64, seed: u64) -> Result<(), StudyError> {
    match spec.is_at_random() {
        true => Ok(()),
        false if world.is_enumerable() && !learns_from_visited_states(spec, world) => {
            spec.learner(world, episodes, seed).map(|_| ()).map_err(|source| cannot(spec, world, source))
        }
        false => visited_states_learner(spec, world, episodes, seed).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_is_reported_where_plan_and_random_estimates_overlap() {
        let of = |mean, half| Estimate { mean, half };
        let evaluated = |best, random| Evaluated { learned: of(1.0, 0.0), best, random, lost: of(0.0, 0.0) };
        assert_eq!(evaluated(of(1.0, 0.0), of(2.0168, 1.6958)).reached(), None);
        assert_eq!(evaluated(of(2.1, 0.3), of(2.0, 0.3)).reached(), None);
        assert_eq!(evaluated(of(3.0, 0.1), of(-1.0, 0.1)).reached(), Some(0.5));
    }

    #[test]
    fn another_seed_evaluates_by_other_episodes() {
        let world = dowise::worlds::LinearCode { places: 3, ..Default::default() }.world().unwrap();
        let evaluated = |seed| MonteCarlo::new(&world, "code", seed).unwrap().random;
        assert_eq!(evaluated(1), evaluated(1));
        assert_ne!(evaluated(1), evaluated(2));
    }
}
