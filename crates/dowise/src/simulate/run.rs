//! Plays episodes one after another with an agent that decides, and evaluators the policy of each exactly.

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
    /// Where it started.
    pub start: usize,
    /// V*(start) − V^π(start) of the policy that was followed, exactly; for an agent that does not tell its policy, V*(start)
    /// less the rewards received, which is the same on average.
    pub regret: f64,
    /// Rewards received less costs paid, later ones discounted as the world says.
    pub reward: f64,
}

/// How far a run has come: episodes played, and how much was drawn for starting states and for steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Episodes played.
    pub episode: u64,
    /// Words drawn for starting states.
    pub(super) starts: u64,
    /// Words drawn for what happens.
    pub(super) steps: u64,
}

/// Plays episodes one after another; everything is a function of the seed.
///
/// Starting states and what happens at each step come from two streams of their own, so that learners compared with one
/// seed start every episode alike.
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

    /// How far the run has come, between episodes.
    pub fn position(&self) -> Position {
        self.play.position()
    }

    /// Goes on from where a run of the same world and seed had come to.
    pub fn go_on(&mut self, from: Position) {
        self.play.go_on(from);
    }

    /// Plays one episode and evaluators the policy that was followed.
    pub fn episode(&mut self, agent: &mut (impl Agent + ?Sized)) -> Episode {
        self.play(agent, true)
    }

    /// Plays one episode; the regret is exact, or zero if the policy is not to be evaluated.
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

    /// V*(start) − V^π(start); a policy that was evaluated last time is not evaluated again.
    fn evaluate(&mut self, policy: &[Action], start: usize) -> f64 {
        if !self.evaluated || self.evaluator.last().policy_hs != policy {
            self.evaluator.evaluate(policy);
            self.evaluated = true;
        }
        self.optimal_s[start] - self.evaluator.last().value(0, start)
    }

    /// Expected sum of rewards of an episode, over how episodes start, under the policy that was evaluated last; `None` before the first.
    pub fn value_of_judged(&self) -> Option<f64> {
        self.evaluated.then(|| self.evaluator.worth_at_start())
    }

    /// Plays `n` episodes, telling `after` about each; it may stop the run.
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
