//! Why a learner would do what it does: its preferred interventions in a state, what it hopes for, and what that rests on.

use super::counts::Counts;
use super::model::{Model, Rule};
use super::{Agent, Choice, Estimate, Learner};
use crate::plan::{Buffers, Plan, Ties, backward_induction};
use crate::world::Action;

/// Interventions that are listed one by one at most; with more, the best one and those that differ from it in one lever.
const MOST_LISTED: u64 = 1 << 16;

/// What a learner thinks of a state at a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Stage, from 0.
    pub stage: usize,
    /// State.
    pub state: usize,
    /// Interventions, the preferred one first.
    pub preferred: Vec<Preferred>,
}

/// What a learner thinks of an intervention.
#[derive(Clone, Debug, PartialEq)]
pub struct Preferred {
    /// The intervention.
    pub action: Action,
    /// Value as it plans with: optimistic, or of its sample.
    pub hoped: f64,
    /// Value by the plain averages of what it has seen, nothing added.
    pub mean: f64,
    /// Visits behind it: of each cause the least visited row among the factors, weighted by how likely the cause is.
    pub visits: f64,
}

impl Learner {
    /// The `n` interventions that it values most in a state at a stage (from 0), from all it has seen so far.
    ///
    /// # Cost
    /// Two plans and a look at every intervention (or, beyond 65,536, at those that differ from the best in one lever).
    pub fn explain(&self, stage: usize, state: usize, n: usize) -> Explanation {
        if let Some(guard) = self.guard.as_ref().filter(|g| g.ledger.tripped.is_some()) {
            return guard.direct.explain(stage, state, n);
        }
        let mut now = self.clone();
        now.guard = None;
        now.due = true;
        if matches!(self.options.estimate, Estimate::EpsilonGreedy { .. } | Estimate::Uniform) {
            // What is drawn at random has no reasons; what it has seen does.
            now.options.estimate = Estimate::Greedy;
        }
        now.begin_episode();
        let best = now.policy()[stage * self.layout.n_states() + state];
        let value_next = |plan: &Plan| plan.value_hs[(stage + 1) * plan.n_states..(stage + 2) * plan.n_states].to_vec();
        let mut hoped_q = Vec::new();
        now.model.look_at(&self.layout, stage, state, &value_next(&now.plan), &mut hoped_q);
        let mean_choice = now.mean_choice();
        let (mut mean_model, mean_plan) = now.mean_plan(&mean_choice);
        let mut mean_q = Vec::new();
        mean_model.look_at(&self.layout, stage, state, &value_next(&mean_plan), &mut mean_q);
        let visits: Vec<f64> = (0..self.layout.n_causes).map(|c| f64::from(self.visits(stage, state, c))).collect();

        let all = self.knowledge.interventions();
        let digits = self.knowledge.state_space().digits(state);
        let mut preferred: Vec<Preferred> = now
            .considered(best)
            .into_iter()
            .filter(|&a| all.allows(&digits, a))
            .map(|action| {
                let cost = all.cost(action);
                Preferred {
                    action,
                    hoped: now.choice.hope(state, action, &hoped_q).min(now.model.caps[stage]) - cost,
                    mean: mean_choice.average(state, action, &mean_q) - cost,
                    visits: mean_choice.average(state, action, &visits),
                }
            })
            .collect();
        // Among equals (up to rounding) the one that it takes comes first.
        preferred.sort_by(|a, b| {
            (b.action == best).cmp(&(a.action == best)).then(b.hoped.total_cmp(&a.hoped)).then(a.action.cmp(&b.action))
        });
        preferred.truncate(n);
        Explanation { stage, state, preferred }
    }

    /// All interventions, or the neighbours of one.
    fn considered(&self, best: Action) -> Vec<Action> {
        let all = self.knowledge.interventions();
        if all.count() <= MOST_LISTED {
            return (0..all.count()).map(|i| all.nth(i)).collect();
        }
        let base = all.levers(best);
        let mut out = vec![best];
        for lever in 0..base.len() {
            for value in std::iter::once(None).chain((0..all.sizes()[lever]).map(Some)).filter(|v| *v != base[lever]) {
                let mut levers = base.clone();
                levers[lever] = value;
                out.push(all.action(&levers));
            }
        }
        out
    }

    /// What interventions are believed to set off, by plain averages of what was seen.
    fn mean_choice(&self) -> Choice {
        match &self.mechanisms {
            Some(mechanisms) => {
                let reading = super::mechanisms::Reading::<rand_chacha::ChaCha8Rng>::Mean;
                let kernel = mechanisms.kernel(reading);
                Choice::Keys(Box::new(
                    kernel.expect("what was learned has the same shape as when the learner was made"),
                ))
            }
            None => self.choice.clone(),
        }
    }

    /// Visits of the least visited row among the factors.
    fn visits(&self, stage: usize, state: usize, cause: usize) -> u32 {
        let block = if self.options.stage_dependent { stage } else { 0 };
        let rows = self.layout.factors.iter().zip(&self.counts[block]).map(|(factor, counts): (_, &Counts)| {
            counts.n_r[factor.row(factor.state_row(&self.layout.state_space, state), cause, self.layout.n_causes)]
        });
        rows.min().unwrap_or(0)
    }

    /// A plan by plain averages: no width, no sample. Rows never seen lead nowhere.
    fn mean_plan(&self, choice: &Choice) -> (Model, Plan) {
        let mut counts = self.counts.clone();
        counts.iter_mut().flatten().for_each(|c| {
            let entries = c.entries();
            c.restore(&entries);
        });
        let mut model = Model::new(Rule::Mean, None, &self.layout, counts.len(), self.model.caps.clone(), false, None);
        model.refresh(&self.layout, &mut counts);
        let reading = super::rewards::Reading::<rand_chacha::ChaCha8Rng>::Mean;
        self.rewards.read(&self.layout.state_space, reading, &mut model.reward_sc);
        let mut plan = Plan::new(self.layout.horizon, self.layout.n_states());
        backward_induction(&mut model, choice, self.tolerance, Ties::First, &mut Buffers::default(), &mut plan);
        (model, plan)
    }
}

impl Choice {
    /// Σ_c P(c | s, a) of(c).
    fn average(&self, state: usize, action: Action, of: &[f64]) -> f64 {
        match self {
            Choice::Actions(list) => of[list.rank(action)],
            Choice::Keys(kernel) => {
                let mut prob = vec![0.0; of.len()];
                kernel.distribution(state, action, &mut prob);
                prob.iter().zip(of).map(|(p, x)| p * x).sum()
            }
        }
    }

    /// The same, with what is not known of P(c | s, a) taken at its best.
    fn hope(&self, state: usize, action: Action, of: &[f64]) -> f64 {
        let off = match self {
            Choice::Actions(_) => 0.0,
            Choice::Keys(kernel) => kernel.radius(state, action),
        };
        let (lo, hi) = of.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &x| (lo.min(x), hi.max(x)));
        self.average(state, action, of) + off * (hi - lo)
    }
}
