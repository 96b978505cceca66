//! Exact evaluation of stochastic policies.

use super::evaluate::EvaluationLookahead;
use super::follow::FollowMixed;
use super::{Buffers, Plan, PlanError, Planner, Ties, backward_induction};
use crate::kernel::AtRandom;
use crate::memory::Held;
use crate::tolerance::STATED_PROBABILITIES;

impl Planner {
    /// Values of a stochastic policy, as `[stage][state]` with one further stage of zeros.
    ///
    /// `policy` has a probability for each intervention by rank, `[state][rank]` for a stationary policy or
    /// `[stage][state][rank]`. Rows that sum to 1 up to rounding are normalised.
    pub fn evaluate_mixed(&self, policy: &[f64]) -> Result<Vec<f64>, PlanError> {
        let kernel = self.kernel();
        let (horizon, n) = (self.horizon(), kernel.n_states());
        // In decomposed planning, next states replace joint key values.
        let n_causes = if self.is_split() { n } else { kernel.n_causes() };
        let acting = self.split().map(|split| split.acting(kernel, false));
        let all = kernel.interventions();
        let entries = (all.count() as usize).saturating_mul(n);
        let stages = if policy.len() == entries { 1 } else { horizon };
        if policy.len() != stages.saturating_mul(entries) {
            return Err(PlanError::PolicySize { found: policy.len(), expected: entries });
        }
        let bytes = (stages as u128 * n as u128)
            .saturating_mul(8 * (n_causes as u128 + 1))
            .saturating_add(self.own_judge_bytes());
        let _held = Held::ask(bytes).map_err(|left| PlanError::TooLarge {
            bytes,
            n_states: n,
            n_causes,
            limit: u128::from(left),
            part: None,
        })?;
        // The policy's distribution of joint key values and its cost: one row for each stage and state.
        let mut mixture = vec![0.0; stages * n * n_causes];
        let mut cost = vec![0.0; stages * n];
        let mut set_off = vec![0.0; n_causes];
        let rows = policy.chunks_exact(all.count() as usize);
        for (i, (row, out)) in rows.zip(mixture.chunks_exact_mut(n_causes)).enumerate() {
            let (stage, state) = (i / n + 1, i % n);
            let sum: f64 = row.iter().sum();
            if row.iter().any(|p| !p.is_finite() || *p < 0.0) || (sum - 1.0).abs() > STATED_PROBABILITIES {
                return Err(PlanError::PolicyNotRandom { stage, state, sum });
            }
            for (rank, p) in row.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                let action = all.nth(rank as u64);
                if !kernel.allows(state, action) {
                    return Err(PlanError::PolicyNotAllowed { stage, state });
                }
                match &acting {
                    None => kernel.distribution(state, action, &mut set_off),
                    Some(acting) => cost[i] -= p / sum * acting.distribution(state, action, &mut set_off),
                }
                out.iter_mut().zip(&set_off).for_each(|(o, c)| *o += p / sum * c);
                cost[i] += p / sum * all.cost(action);
            }
        }
        Ok(self.follow_mixed(&FollowMixed { n_states: n, n_causes, prob: mixture, cost }))
    }

    /// Values of the uniform policy over allowed interventions, as `[stage][state]` with one further stage of zeros;
    /// and whether they are exact. If combinations are forbidden and there are too many interventions to enumerate,
    /// they are Monte Carlo means over 4096 interventions per state.
    pub fn at_random(&self) -> (Vec<f64>, bool) {
        let kernel = self.kernel();
        let AtRandom { prob_sc: prob, cost_s: cost, exact } = match self.split() {
            None => kernel.at_random(),
            Some(split) => split.acting(kernel, false).at_random(),
        };
        let n_states = kernel.n_states();
        let follow = FollowMixed { n_states, n_causes: prob.len() / n_states, prob, cost };
        (self.follow_mixed(&follow), exact)
    }

    fn follow_mixed(&self, follow: &FollowMixed) -> Vec<f64> {
        let mut look = EvaluationLookahead { planner: self, spare: Vec::new(), sizes: false };
        let mut plan = Plan::new(self.horizon(), follow.n_states);
        backward_induction(&mut look, follow, 0.0, Ties::First, &mut Buffers::default(), &mut plan);
        plan.value_hs
    }
}

#[cfg(test)]
mod tests {
    use crate::{Planner, World, worlds};

    #[test]
    fn a_policy_that_is_certain_is_worth_what_it_is_worth_without_dice() {
        for name in ["river-swim", "paper", "treatment"] {
            let world = World::from_toml(&worlds::text(name, &[]).unwrap(), name).unwrap();
            let planner = Planner::new(&world).unwrap();
            let plan = planner.plan();
            let all = world.interventions();
            let mut certain = vec![0.0; plan.policy_hs.len() * all.count() as usize];
            for (row, &action) in certain.chunks_exact_mut(all.count() as usize).zip(&plan.policy_hs) {
                row[all.rank(action).unwrap() as usize] = 1.0;
            }
            let value = planner.evaluate_mixed(&certain).unwrap();
            let expected = planner.evaluate(&plan.policy_hs).unwrap();
            assert!(value.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-9), "{name}");
        }
    }

    #[test]
    fn interventions_at_random_are_the_even_mixture_of_all() {
        for name in ["river-swim", "paper", "treatment"] {
            let world = World::from_toml(&worlds::text(name, &[]).unwrap(), name).unwrap();
            let planner = Planner::new(&world).unwrap();
            let all = world.interventions();
            let allowed = |s: usize| {
                let digits = world.state_space().digits(s);
                (0..all.count()).map(|i| f64::from(u8::from(all.allows(&digits, all.nth(i))))).collect::<Vec<_>>()
            };
            let even = |row: Vec<f64>| {
                let n: f64 = row.iter().sum();
                row.into_iter().map(move |p| p / n).collect::<Vec<_>>()
            };
            let mixture: Vec<f64> = (0..world.n_states()).flat_map(|s| even(allowed(s))).collect();
            let expected = planner.evaluate_mixed(&mixture).unwrap();
            let (found, exact) = planner.at_random();
            assert!(exact && found.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-9), "{name}");
        }
    }

    #[test]
    fn rows_that_are_no_probabilities_are_refused() {
        let world = World::from_toml(&worlds::text("river-swim", &[]).unwrap(), "river").unwrap();
        let planner = Planner::new(&world).unwrap();
        let error = planner.evaluate_mixed(&vec![0.5; 6 * 16]).unwrap_err();
        assert!(error.to_string().starts_with("at stage 1 in state 0"), "{error}");
        assert!(planner.evaluate_mixed(&[1.0]).is_err());
    }
}
