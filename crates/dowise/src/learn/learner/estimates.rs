//! Estimates on request: plans and policy values by any estimator of the evidence, and the policy to deploy.

use std::sync::Arc;

use super::{Kind, Learner};
use crate::learn::error::{LearnError, LearnResult};
use crate::learn::memory::hold_belief;
use crate::learn::options::{Causes, Estimate, States};
use crate::learn::policy::Policy;
use crate::learn::view::blocks;
use crate::learn::wrappers::Wrapper;
use crate::learn::{Agent, Estimator, Plans};
use crate::memory::Held;
use crate::plan::{Plan, Ties, check_policy};
use crate::world::{Action, FactoredView};

impl Learner {
    /// The independence that the learner assumes although the declared graph contradicts it. Then its values are
    /// biased for any amount of data, and no guarantee holds. `None` if its view of the state is right.
    pub fn wrong_view(&self) -> Option<String> {
        let Kind::Tabular(tabular) = &self.kind else { return None };
        let (world, options) = (tabular.knowledge().world(), &tabular.options);
        if options.states == States::Flat {
            return None;
        }
        if world.tied && blocks(world).len() > 1 {
            return Some(
                "the world is of low rank, so next values of different state factors depend on each other once their causes are known, and this learner \
                 counts them apart"
                    .to_owned(),
            );
        }
        let product = FactoredView::of(world);
        let forgets_causes = options.causes == Causes::Actions;
        (forgets_causes && !product.right).then(|| product.why.trim_end_matches('.').to_owned())
    }

    /// The plan by any estimator of the evidence: a policy and its values. `seed` is for samples.
    ///
    /// The optimistic estimate is an upper bound on the optimal value, the pessimistic estimate a lower bound on its
    /// policy's value, each with probability 1 − δ.
    ///
    /// # Cost
    /// One plan, and tables as large as the learner's own.
    pub fn read(&self, reading: Estimator, seed: u64) -> LearnResult<Plan> {
        match &self.kind {
            Kind::Tabular(tabular) => {
                let _held = hold_belief(tabular)?;
                Ok(tabular.read(reading, seed, Ties::First)?.0)
            }
            Kind::Linear(_) => Err(LearnError::NoTables),
        }
    }

    /// Policy evaluation (`[stage][state]`) by any estimator of the evidence: that policy, with its values. `seed` is
    /// for samples.
    ///
    /// The recursion is that of [`Learner::read`], with the policy in place of the best intervention. Optimistic and
    /// pessimistic estimates bound its value from above and below, each with probability 1 − δ.
    ///
    /// # Cost
    /// One plan, and tables as large as the learner's own.
    pub fn read_policy(&self, policy_hs: &[Action], reading: Estimator, seed: u64) -> LearnResult<Plan> {
        match &self.kind {
            Kind::Tabular(tabular) => {
                let (knowledge, plan) = (tabular.knowledge(), tabular.plan());
                check_policy(knowledge.interventions(), knowledge.state_space(), plan.horizon, policy_hs)?;
                let _held = hold_belief(tabular)?;
                tabular.follow(reading, seed, policy_hs)
            }
            Kind::Linear(_) => Err(LearnError::NoTables),
        }
    }

    /// Checks that there is memory for [`Learner::learned_policy`], which needs as much again as the learner: call it
    /// before a long run.
    pub fn room_to_deploy(&self) -> LearnResult<()> {
        let bytes = match &self.kind {
            Kind::Tabular(tabular) => Learner::bytes(tabular.knowledge(), &tabular.options),
            Kind::Linear(linear) => linear.bytes_taken(),
        };
        Held::ask(bytes).map(drop).map_err(|limit| LearnError::TooMuchMemory { bytes, limit })
    }

    /// The policy to deploy, without exploration.
    ///
    /// Posterior sampling deploys the posterior-mean plan with [`Estimator::Pooled`]; linear learners the plan of mean
    /// weights; greedy learners the greedy plan; others their next plan. A uniformly random learner deploys its next
    /// random policy.
    pub fn learned_policy(&self) -> Arc<Policy> {
        if let Kind::Linear(linear) = &self.kind {
            let (plan, evidence) = linear.learned_plan();
            let fill = |out: &mut Vec<Action>| out.extend_from_slice(&plan.policy_hs);
            return Policy::made(&mut Arc::default(), linear.plans() + 1, evidence, plan.n_states, fill);
        }
        if let Kind::Tabular(tabular) = &self.kind {
            let reading = match tabular.options.estimate {
                Estimate::Posterior { prior } => Some(Estimator::Pooled { prior }),
                Estimate::EpsilonGreedy { .. } => Some(Estimator::Greedy),
                Estimate::Width(_) | Estimate::Sets(_) | Estimate::Greedy | Estimate::Uniform | Estimate::Linear => {
                    None
                }
            };
            if let Some(reading) = reading {
                let read = tabular.read(reading, 0, Ties::First);
                let plan = read.expect("invariant: its evidence can be read by every rule").0;
                let evidence = tabular.evidence.fingerprint();
                let fill = |out: &mut Vec<Action>| out.extend_from_slice(&plan.policy_hs);
                return Policy::made(&mut Arc::default(), tabular.plans + 1, evidence, plan.n_states, fill);
            }
        }
        let mut next = self.clone();
        next.around.retain(|around| match around {
            // These wrappers make no decisions.
            Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_) => false,
            Wrapper::Explore(_) => true,
            // Nor does conservative exploration apply.
            Wrapper::Baseline(_) => false,
        });
        if let Kind::Tabular(tabular) = &mut next.kind {
            tabular.make_due();
        }
        next.begin_episode();
        next.whole_policy()
    }
}
