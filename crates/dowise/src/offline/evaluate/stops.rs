//! Values if episodes that stop without an end are worth something else afterwards than the model says: rollouts in the
//! fitted world that stop as often as the log's episodes did after the same intervention in the same state.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::missing::{Lacking, TippingPoint};
use super::model::Model;
use super::sensitivity::Claim;
use super::start::StartStates;
use crate::offline::Episodes;
use crate::random::splitmix64;
use crate::simulate::{Outcome, Simulator};
use crate::world::{Action, World};

/// Episodes that are simulated for each policy.
const ROLLOUTS: u32 = 8000;

/// Steps and stops: how often an episode stopped after a step.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    steps: f64,
    stops: f64,
}

impl Share {
    fn add(&mut self, stops: bool, weight: f64) {
        self.steps += weight;
        self.stops += if stops { weight } else { 0.0 };
    }

    fn mean(self) -> f64 {
        self.stops / self.steps
    }
}

/// Stops of a log's episodes, and its fitted world.
pub(super) struct Stops {
    world: World,
    simulator: Simulator,
    /// By state and intervention, where an episode could go on.
    of_action: BTreeMap<(usize, Action), Share>,
    /// By lever and value.
    of_setting: BTreeMap<(usize, Option<usize>), Share>,
    /// The logged interventions of each state, with their weights.
    logged: BTreeMap<usize, Vec<(Action, f64)>>,
    range: [f64; 2],
}

/// Mean discounted reward before an episode stops, and mean discounted number of stages after it.
struct Rollout {
    gained: f64,
    left: f64,
}

impl Stops {
    /// `None` if the fitted world cannot be simulated.
    pub(super) fn new(log: &Episodes, model: &Model, starts: &StartStates, prior: f64) -> Option<Stops> {
        let world = model.mean_world(prior, starts.to_start());
        let simulator = Simulator::new(&world).ok()?;
        let (mut of_action, mut of_setting, mut logged) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let all = world.interventions().clone();
        for episode in &log.episodes {
            let (weight, stops, steps) = (f64::from(episode.weight), log.stops(episode), log.steps_of(episode));
            for (i, step) in steps.iter().enumerate() {
                let Some(action) = step.action else { continue };
                let state = step.state as usize;
                logged.entry(state).or_insert_with(Vec::new).push((action, weight));
                let is_last = i + 1 == steps.len();
                if is_last && !stops {
                    continue;
                }
                of_action.entry((state, action)).or_insert_with(Share::default).add(is_last, weight);
                for lever in 0..all.n_levers() {
                    let setting = (lever, all.lever(action, lever));
                    of_setting.entry(setting).or_insert_with(Share::default).add(is_last, weight);
                }
            }
        }
        Some(Stops { world, simulator, of_action, of_setting, logged, range: log.continuations() })
    }

    /// The tipping point of what follows a stop, between what the model expects and the end of the range that would
    /// overturn the comparison. Values are linear in it.
    pub(super) fn tipping_point(&self, policy_hs: &[Action], per_stage: f64, claim: Claim) -> TippingPoint {
        let n = self.world.n_states();
        let policy = self.rollouts(|stage, state, _| policy_hs[stage * n + state]);
        let behaviour = self.rollouts(|_, state, rng| self.behaviour(state, rng));
        let difference = |y: f64| policy.gained - behaviour.gained + (policy.left - behaviour.left) * y;
        let tipping = |end: f64| {
            if claim.holds(difference(end)) {
                return None;
            }
            let (now, then) = (difference(per_stage), difference(end));
            let part = if claim.holds(now) { now / (now - then) } else { 0.0 };
            Some(per_stage + part * (end - per_stage))
        };
        let [least, greatest] = self.range;
        TippingPoint {
            of: Lacking::NextStates,
            recorded: per_stage,
            expected: per_stage,
            at_least: if least < per_stage { tipping(least) } else { None },
            at_most: if greatest > per_stage { tipping(greatest) } else { None },
            range: self.range,
        }
    }

    /// Share of steps with an intervention in a state after which an episode stopped. If the log has no such step, the
    /// largest share of the intervention's settings.
    fn share(&self, state: usize, action: Action) -> f64 {
        if let Some(share) = self.of_action.get(&(state, action)) {
            return share.mean();
        }
        let all = self.world.interventions();
        let settings = (0..all.n_levers()).map(|lever| (lever, all.lever(action, lever)));
        settings.filter_map(|setting| self.of_setting.get(&setting)).map(|share| share.mean()).fold(0.0, f64::max)
    }

    fn behaviour(&self, state: usize, rng: &mut ChaCha8Rng) -> Action {
        let Some(logged) = self.logged.get(&state) else { return self.simulator.any_allowed(state, rng) };
        let total: f64 = logged.iter().map(|(_, weight)| weight).sum();
        let mut left = rng.random::<f64>() * total;
        let chosen = logged.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        chosen.unwrap_or(&logged[0]).0
    }

    fn rollouts(&self, choose: impl Fn(usize, usize, &mut ChaCha8Rng) -> Action) -> Rollout {
        let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(0x7374_6f70));
        let (mut outcome, mut found) = (Outcome::default(), Rollout { gained: 0.0, left: 0.0 });
        for _ in 0..ROLLOUTS {
            let (mut state, mut discount) = (self.simulator.start(&mut rng), 1.0);
            let mut stopped = false;
            for stage in 0..self.world.horizon() {
                if stopped {
                    found.left += discount;
                } else if !self.world.has_ended(state) {
                    let action = choose(stage, state, &mut rng);
                    self.simulator.step(state, action, &mut rng, &mut outcome);
                    found.gained += discount * outcome.reward;
                    stopped = rng.random::<f64>() < self.share(state, action);
                    state = outcome.next_state;
                    stopped &= !self.world.has_ended(state);
                }
                discount *= self.world.discount();
            }
        }
        let n = f64::from(ROLLOUTS);
        Rollout { gained: found.gained / n, left: found.left / n }
    }
}
