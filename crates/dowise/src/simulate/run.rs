//! Runs an agent for many episodes, and evaluates each of its policies exactly (regret).

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{Play, Simulator};
use crate::learn::Agent;
use crate::memory::Held;
use crate::plan::{Evaluator, Planner};
use crate::world::Action;

/// One finished episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Its number, from 1.
    pub number: u64,
    /// Its initial state.
    pub start: usize,
    /// Exact V*(start) − V^π(start) of the policy. For an agent that does not expose its policy, V*(start) less the
    /// return, which has the same expectation.
    pub regret: f64,
    /// Discounted return, net of costs.
    pub reward: f64,
}

/// Position of a run: finished episodes, and words drawn from each random stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Finished episodes.
    pub episode: u64,
    /// Words drawn for initial states.
    pub(super) starts: u64,
    /// Words drawn for steps.
    pub(super) steps: u64,
}

/// Runs episodes in sequence, a function of the seed.
///
/// Initial states and steps use two separate random streams (common random numbers): learners with one seed start every
/// episode alike.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    play: Play<'a>,
    optimal_s: &'a [f64],
    evaluator: Evaluator<'a>,
    /// Whether the evaluator has evaluated a policy.
    evaluated: bool,
    _held: Held,
}

impl<'a> Run<'a> {
    /// `planner` and `optimal_s` (its values at the first stage) belong to the same world as `simulator`.
    pub(crate) fn new(simulator: &'a Simulator, planner: &'a Planner, optimal_s: &'a [f64], seed: u64) -> Run<'a> {
        Run {
            play: Play::new(simulator, seed),
            optimal_s,
            evaluator: Evaluator::new(planner),
            evaluated: false,
            _held: Held::take(planner.own_judge_bytes()),
        }
    }

    /// The position between episodes.
    pub fn position(&self) -> Position {
        self.play.position()
    }

    /// Resumes from a position of the same world and seed.
    pub fn go_on(&mut self, from: Position) {
        self.play.go_on(from);
    }

    /// Runs one episode and evaluates its policy.
    pub fn episode(&mut self, agent: &mut (impl Agent + ?Sized)) -> Episode {
        self.play(agent, true)
    }

    /// Runs one episode. Without `evaluation` the regret is zero.
    pub fn play(&mut self, agent: &mut (impl Agent + ?Sized), evaluation: bool) -> Episode {
        let start = self.play.begin();
        agent.begin_episode();
        let exact = if evaluation { agent.policy().map(|policy| self.evaluate(policy, start)) } else { None };
        let reward = self.play.go_through(agent, start);
        agent.end_episode();
        let regret = match exact {
            Some(regret) => regret,
            None if evaluation => self.optimal_s[start] - reward,
            None => 0.0,
        };
        Episode { number: self.play.episode, start, regret, reward }
    }

    /// V*(start) − V^π(start); an unchanged policy is not evaluated again.
    fn evaluate(&mut self, policy: &[Action], start: usize) -> f64 {
        if !self.evaluated || self.evaluator.last().policy_hs != policy {
            self.evaluator.evaluate(policy);
            self.evaluated = true;
        }
        self.optimal_s[start] - self.evaluator.last().value(0, start)
    }

    /// Expected return of the last evaluated policy under the initial-state distribution; `None` before the first
    /// evaluation.
    pub fn value_of_judged(&self) -> Option<f64> {
        self.evaluated.then(|| self.evaluator.worth_at_start())
    }

    /// Runs `n` episodes and calls `after` with each; it may stop the run.
    pub fn episodes(
        &mut self,
        n: u64,
        agent: &mut (impl Agent + ?Sized),
        mut after: impl FnMut(&Episode) -> ControlFlow<()>,
    ) {
        for _ in 0..n {
            if after(&self.episode(agent)).is_break() {
                break;
            }
        }
    }
}
