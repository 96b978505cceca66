//! Action-value queries: the value and the effects of any intervention under a plan, and the best allowed
//! intervention.

use std::sync::{Arc, Mutex, PoisonError};

use super::belief::{Belief, Estimator};
use super::learner::Kind;
use super::memory::hold_belief;
use super::selector::Selector;
use super::{Knowledge, LearnError, LearnResult, Learner};
use crate::kernel::{Kernel, Scratch, Tie};
use crate::memory::Held;
use crate::plan::{Chooser, Plan, Ties};
use crate::world::some_allowed;
use crate::world::{Action, Forbid, Interventions, VarId};

/// Interventions up to which all are compared one by one when some are ruled out.
const MOST_LISTED: u64 = 1 << 12;

/// Kernels of restricted interventions that are kept: a service asks for the same few restrictions again and again.
const MOST_KEPT: usize = 32;

/// Evidence read by a rule: its plan, and a look at any single intervention.
///
/// ```
/// use dowise::learn::Estimator;
/// use dowise::{Knowledge, Learner, Preset, worlds};
/// let world = worlds::world("campaign", &[])?;
/// let learner = Learner::new(&Knowledge::of(&world), "graph-psrl".parse::<Preset>()?.options(100, 1))?;
/// let action_values = learner.action_values(Estimator::Mean { prior: 1.0 }, 0)?;
/// let best = action_values.plan().action(0, 0);
/// assert!((action_values.value(0, 0, best) - action_values.plan().value(0, 0)).abs() < 1e-9);
/// let (key, chances) = &action_values.sets_off(0, best)[0];
/// assert_eq!((world.variable(*key).name.as_str(), chances.len()), ("opened", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ActionValues {
    knowledge: Knowledge,
    plan: Plan,
    tolerance: f64,
    caps: Vec<f64>,
    belief: Mutex<Belief>,
    selector: Selector,
    /// P(c | s, a) as believed; `None` where interventions are their own causes and their mechanisms are not known.
    kernel: Option<Box<Kernel>>,
    restricted: Mutex<Vec<(Vec<Forbid>, Arc<Kernel>)>>,
    _held: Held,
}

impl Learner {
    /// The evidence read by a rule, kept to be asked. `seed` is for samples.
    ///
    /// # Cost
    /// One plan, and tables as large as the learner's own for as long as it is kept.
    pub fn action_values(&self, reading: Estimator, seed: u64) -> LearnResult<ActionValues> {
        let Kind::Tabular(tabular) = &self.kind else { return Err(LearnError::NoTables) };
        let held = hold_belief(tabular)?;
        let (plan, belief, selector) = tabular.read(reading, seed, Ties::First)?;
        let knowledge = self.knowledge().clone();
        let kernel = match &selector {
            Selector::Kernel(_) | Selector::Parts(_) => None,
            Selector::Listed(_) => Kernel::new(knowledge.world()).ok().map(Box::new),
        };
        Ok(ActionValues {
            knowledge,
            plan,
            tolerance: tabular.tolerance(),
            caps: belief.caps().to_vec(),
            belief: Mutex::new(belief),
            selector,
            kernel,
            restricted: Mutex::default(),
            _held: held,
        })
    }
}

impl ActionValues {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Q(s, a) = Σ_c P(c | s, a) q(s, c) − cost(a) at a stage (from 0), the plan followed afterwards.
    pub fn value(&self, stage: usize, state: usize, action: Action) -> f64 {
        let q = self.q(stage, state);
        self.selector.average(stage, state, action, &q) - self.knowledge.interventions().cost(action)
    }

    /// How likely each key variable that acts takes each of its values.
    ///
    /// Empty where interventions are their own causes and what they set off is not known.
    pub fn sets_off(&self, state: usize, action: Action) -> Vec<(VarId, Vec<f64>)> {
        let kernel: &Kernel = match (&self.selector, &self.kernel) {
            (Selector::Kernel(kernel), _) | (Selector::Listed(_), Some(kernel)) => kernel,
            (Selector::Parts(parts), _) => &parts.kernel,
            (Selector::Listed(_), None) => return Vec::new(),
        };
        let keys = self.knowledge.keys();
        let mut out = kernel.marginals(state, action);
        out.retain(|(id, _)| keys.contains(id));
        out.sort_by_key(|(id, _)| keys.iter().position(|key| key == id));
        out
    }

    /// The best intervention among those that neither the world nor the `forbid`den combinations rule out, and its value.
    ///
    /// `None` if there is no such intervention, or if it cannot be found exactly: mechanisms are learned or the world is planned part
    /// by part, and there are more than 4096 interventions.
    ///
    /// # Cost
    /// One look ahead, and one search; the first time that combinations are forbidden, one kernel.
    pub fn best_without(&self, stage: usize, state: usize, forbid: &[Forbid]) -> Option<(f64, Action)> {
        let all = self.knowledge.interventions();
        let digits = self.knowledge.state_space().digits(state);
        let here = |rule: &&Forbid| rule.when.iter().all(|(factor, values)| values[digits[*factor]]);
        // As rules of this state alone: elsewhere every intervention stays, so that no state is left without any.
        let only_here = |rule: &Forbid| Forbid {
            when: digits.iter().enumerate().map(|(f, &d)| (f, self.only(f, d))).collect(),
            levers: rule.levers.clone(),
        };
        let extra: Vec<Forbid> = forbid.iter().filter(here).map(only_here).collect();
        let rules = all.forbid().iter().cloned().chain(extra.iter().cloned()).collect();
        let costs = all.costs().to_vec();
        let fewer = Interventions::new(all.sizes().to_vec(), all.lever_rule().clone(), rules, costs)
            .expect("invariant: no more interventions than before");
        some_allowed(&fewer, &digits)?;
        let q = self.q(stage, state);
        if all.count() <= MOST_LISTED {
            let allowed = (0..all.count()).map(|i| all.nth(i)).filter(|&a| fewer.allows(&digits, a));
            let worth = allowed.map(|a| (self.selector.average(stage, state, a, &q) - all.cost(a), a));
            return worth.reduce(|best, next| if next.0 > best.0 + self.tolerance { next } else { best });
        }
        let kernel = self.kernel_without(extra, fewer)?;
        let cap = self.caps[stage];
        let loss: Vec<f64> = q.iter().map(|q| cap - q).collect();
        let found = kernel.best(state, &loss, self.tolerance, Tie::First, &mut Scratch::default());
        Some((cap - found.least, found.action))
    }

    /// Which values of a state factor are this one.
    fn only(&self, factor: usize, digit: usize) -> Vec<bool> {
        (0..self.knowledge.variable(self.knowledge.state()[factor]).size()).map(|v| v == digit).collect()
    }

    /// The kernel of fewer interventions; what is pruned depends on them, so it is another one.
    fn kernel_without(&self, extra: Vec<Forbid>, fewer: Interventions) -> Option<Arc<Kernel>> {
        let known = matches!(self.selector, Selector::Kernel(_)) && self.knowledge.knows_mechanisms();
        if !known {
            return None;
        }
        let mut kept = self.restricted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kernel)) = kept.iter().find(|(rules, _)| *rules == extra) {
            return Some(kernel.clone());
        }
        let mut world = self.knowledge.world().clone();
        world.interventions = fewer;
        let kernel = Arc::new(Kernel::new(&world).ok()?);
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push((extra, kernel.clone()));
        Some(kernel)
    }

    fn q(&self, stage: usize, state: usize) -> Vec<f64> {
        let n = self.plan.n_states;
        let next = &self.plan.value_hs[(stage + 1) * n..(stage + 2) * n];
        let mut q = Vec::with_capacity(self.selector.n_causes());
        let mut belief = self.belief.lock().unwrap_or_else(PoisonError::into_inner);
        belief.look_at(stage, state, next, &mut q);
        q
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Preset, World, worlds};

    fn learner(world: &World, name: &str) -> Learner {
        Learner::new(&Knowledge::of(world), name.parse::<Preset>().unwrap().options(100, 1)).unwrap()
    }

    /// Forbids one value of one lever.
    fn without(world: &World, lever: usize, value: usize) -> Forbid {
        let size = world.variable(world.levers()[lever]).size();
        Forbid { when: Vec::new(), levers: vec![(lever, (0..size).map(|v| v == value).collect())] }
    }

    #[test]
    fn the_best_without_anything_forbidden_is_the_plans() {
        for name in ["campaign", "treatment", "river-swim"] {
            let world = worlds::world(name, &[]).unwrap();
            let action_values = learner(&world, "graph-psrl").action_values(Estimator::Mean { prior: 1.0 }, 0).unwrap();
            for (stage, state) in [(0, 0), (world.horizon() - 1, world.n_states() - 1)] {
                let (value, action) = action_values.best_without(stage, state, &[]).unwrap();
                assert_eq!(action, action_values.plan().action(stage, state), "{name}");
                assert!((value - action_values.plan().value(stage, state)).abs() < 1e-9, "{name}");
            }
        }
    }

    #[test]
    fn ruling_out_what_the_plan_does_gives_the_best_of_the_rest_by_enumeration() {
        let world = worlds::world("campaign", &[]).unwrap();
        let action_values = learner(&world, "graph-psrl").action_values(Estimator::Sample { prior: 1.0 }, 3).unwrap();
        let all = world.interventions();
        let (stage, state) = (1, 4);
        let best = action_values.plan().action(stage, state);
        // All values of nine levers but the plan's own, so that few interventions are left to enumerate.
        let mut forbid = vec![without(&world, 0, all.lever(best, 0).unwrap())];
        for lever in 3..all.n_levers() {
            let own = all.lever(best, lever).unwrap();
            forbid.extend((0..all.sizes()[lever]).filter(|&v| v != own).map(|v| without(&world, lever, v)));
        }
        let (value, action) = action_values.best_without(stage, state, &forbid).unwrap();
        let mut most = f64::NEG_INFINITY;
        let base = all.levers(best);
        for (a, b, c) in (0..64).map(|i| (i / 16, i / 4 % 4, i % 4)).filter(|(a, ..)| Some(*a) != base[0]) {
            let mut levers = base.clone();
            (levers[0], levers[1], levers[2]) = (Some(a), Some(b), Some(c));
            let candidate = all.action(&levers);
            if all.allows(&world.state_space().digits(state), candidate) {
                most = most.max(action_values.value(stage, state, candidate));
            }
        }
        assert!((value - most).abs() < 1e-9, "{value} {most}");
        assert!((action_values.value(stage, state, action) - value).abs() < 1e-9);
        assert_ne!(all.lever(action, 0), base[0]);
    }

    #[test]
    fn nothing_is_best_where_nothing_is_allowed() {
        let world = worlds::world("campaign", &[]).unwrap();
        let action_values = learner(&world, "graph-psrl").action_values(Estimator::Mean { prior: 1.0 }, 0).unwrap();
        let forbid: Vec<Forbid> = (0..4).map(|v| without(&world, 2, v)).collect();
        assert_eq!(action_values.best_without(0, 0, &forbid), None);
    }

    #[test]
    fn what_an_intervention_sets_off_are_distributions_of_the_key_variables() {
        for (name, preset) in [("campaign", "graph-psrl"), ("treatment", "graph-ucbvi"), ("river-swim", "ucbvi")] {
            let world = worlds::world(name, &[]).unwrap();
            let action_values = learner(&world, preset).action_values(Estimator::Mean { prior: 1.0 }, 0).unwrap();
            let off = action_values.sets_off(0, action_values.plan().action(0, 0));
            assert_eq!(off.iter().map(|(id, _)| *id).collect::<Vec<_>>(), world.keys(), "{name}");
            assert!(off.iter().all(|(_, p)| (p.iter().sum::<f64>() - 1.0).abs() < 1e-9), "{name}");
        }
    }
}
