//! What a run that is evaluated by Monte Carlo reports: estimates with intervals.

use dowise::linear::LinearLearner;
use dowise::simulate::Estimate;
use dowise_study::{MONTE_CARLO_EPISODES, MonteCarlo as Judge, percent};
use serde::Serialize;

use crate::table;

/// A mean with its interval.
#[derive(Serialize)]
struct Interval {
    mean: f64,
    half_width: f64,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Interval {
        Interval { mean: estimate.mean, half_width: estimate.half }
    }
}

/// What simulated episodes show.
#[derive(Serialize)]
pub(in crate::commands::learn) struct MonteCarlo {
    plans: u64,
    states_met: usize,
    /// Mean reward of an episode over the last tenth of them, while learning.
    reward_at_the_end: Interval,
    /// Expected reward of an episode, by playing: learned policy, the plan by sampled states, at random.
    learned: Interval,
    sampled_plan: Interval,
    uniform: Interval,
    /// What the plan by sampled states has over the learned policy, in pairs of episodes with the same random numbers.
    lost: Interval,
    /// The share of the way from random to that plan; missing where play does not tell these two apart.
    share: Option<f64>,
    /// Whether `--evaluation exact` could give exact values: states can be enumerated.
    exact_possible: bool,
    /// The most that a step paid, and the most that one can pay, where that was never seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    never_paid: Option<[f64; 2]>,
    /// What contradicts the fit, if anything does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
}

impl MonteCarlo {
    pub(in crate::commands::learn) fn new(judge: &Judge, learner: &LinearLearner, rewards: &[f64]) -> MonteCarlo {
        let world = judge.world();
        let evaluated = judge.evaluate(&mut learner.learned_policy());
        let last = &rewards[rewards.len() - (rewards.len() / 10).max(1)..];
        MonteCarlo {
            plans: learner.plans(),
            states_met: learner.met(),
            reward_at_the_end: Estimate::of(last.iter().copied(), world.return_range()).into(),
            learned: evaluated.learned.into(),
            sampled_plan: evaluated.best.into(),
            uniform: evaluated.random.into(),
            lost: evaluated.lost.into(),
            share: evaluated.reached(),
            exact_possible: world.is_enumerable(),
            never_paid: learner.unseen_reward(),
            doubts: learner.doubts().iter().map(ToString::to_string).collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        let line = |what: &str, evaluated: &Interval| {
            format!("{what:<34} {:>9.4} ± {:.4}\n", evaluated.mean, evaluated.half_width)
        };
        let mut out =
            format!("{} plans, {} states met\n\n", table::count(self.plans), table::count(self.states_met as u64));
        out += &format!("expected reward of an episode, estimated by {MONTE_CARLO_EPISODES} episodes each\n");
        out += &line("  learned policy", &self.learned);
        out += &line("  plan by sampled states", &self.sampled_plan);
        out += &line("  at random", &self.uniform);
        out += &line("  lost against the plan (common random numbers)", &self.lost);
        out += &line("  while learning, last tenth", &self.reward_at_the_end);
        out += &match self.share {
            Some(share) => format!("{} of the way from random to that plan\n", percent(share)),
            None => {
                table::wrapped(
                    "The Monte Carlo estimate does not distinguish that plan from random interventions: the \
                     difference, if any, is too rare or too small for so many episodes. What was not learned may be \
                     as rare.",
                ) + "\n"
            }
        };
        if self.exact_possible {
            out += "--evaluate exact has exact values and regret in place of estimates, and takes longer\n";
        }
        if let Some([most, payable]) = self.never_paid {
            let text = format!(
                "Warning: no step had a reward above {most}, and the world states up to {payable}: either the range is \
                 too wide, or the best outcome was never observed."
            );
            out += &format!("\n{}\n", table::wrapped(&text));
        }
        for doubt in &self.doubts {
            out += &format!("\n{}\n", table::wrapped(&format!("Warning: {doubt}.")));
        }
        out
    }
}
