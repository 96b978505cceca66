//! Exact planning and evaluation where every mechanism and reward is known.

mod layout;
mod lookahead;
mod memory;

pub(crate) use self::layout::rewards_by_cause;

use self::layout::{Layout, is_split};
use self::lookahead::TrueLookahead;
use super::decomposed::Split;
use super::error::PlanError;
use super::follow::check_policy;
use super::improve;
use super::near_ties::NearTies;
use super::per_state_scale;
use super::{Buffers, Evaluator, Lookahead, Plan, TIE_TOLERANCE, Ties, backward_induction};
use crate::Space;
use crate::kernel::{Components, Kernel, Scratch};
use crate::memory::Held;
use crate::world::{Action, Continuation, Start, VarId, World};

/// How far a plan's value may be from that of its policy, as a share of the expected sum of absolute rewards and costs.
pub(super) const VERIFIED: f64 = 1e-9;

/// Everything that is known about a world, laid out for planning: exact plans and values of policies.
///
/// ```
/// use dowise::{Planner, World, worlds};
/// let world = World::new(worlds::Paper::default().spec()?)?;
/// let planner = Planner::new(&world)?;
/// let plan = planner.plan();
/// let value = planner.evaluate(&plan.policy_hs)?;
/// assert!((value[0] - plan.value(0, 0)).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Planner {
    horizon: usize,
    kernel: Kernel,
    layout: Layout,
    /// How values of the next stage enter a step, where not as they are.
    continuation: Option<Continuation>,
    /// Whether an episode has ended, state by state, where it can before the horizon.
    ended: Option<std::sync::Arc<[bool]>>,
    /// Greatest reward of one step, least cost taken off.
    best_step: f64,
    /// Greatest less least reward of one step, costs included.
    range: f64,
    start: Start,
    state_space: Space,
    /// Bytes that a judge of policies takes besides.
    evaluation_bytes: u128,
    /// What [`Planner::bytes`] says, for as long as it is there.
    _held: Held,
}

/// An error where there are more states than can be listed: no memory would do.
fn is_enumerable(world: &World) -> Result<(), PlanError> {
    match world.is_enumerable() {
        true => Ok(()),
        false => Err(PlanError::NotEnumerable { n_states: world.n_states(), horizon: world.horizon() }),
    }
}

/// An error that names what is to be learned, if anything is.
fn all_known(world: &World) -> Result<(), PlanError> {
    is_enumerable(world)?;
    let names = |ids: &[VarId]| ids.iter().map(|&id| world.variable(id).name.clone()).collect::<Vec<_>>();
    let tables = if world.low_rank().is_some() { &[] } else { world.transitions() };
    let unknown: Vec<VarId> = tables.iter().filter(|m| m.table.is_none()).map(|m| m.children[0]).collect();
    if !unknown.is_empty() {
        return Err(PlanError::Unknown { what: "the next value", names: names(&unknown) });
    }
    let unknown: Vec<String> = world.rewards().iter().filter(|r| r.table.is_none()).map(|r| r.name.clone()).collect();
    if !unknown.is_empty() {
        return Err(PlanError::Unknown { what: "the reward", names: unknown });
    }
    Ok(())
}

impl Planner {
    /// Lays a world out for planning: over all joint values of the key variables, or by components where these are many.
    pub fn new(world: &World) -> Result<Planner, PlanError> {
        all_known(world)?;
        let held = Planner::ask(world, Planner::bytes(world))?;
        let kernel = Kernel::new(world)?;
        let layout = if is_split(world) {
            Layout::Split(Box::new(Split::new(world, &kernel)))
        } else {
            Layout::joint(world, &kernel)
        };
        Ok(Planner::with_layout(world, kernel, layout, held))
    }

    /// Lays a world out by components, even where its joint causes are few; `None` if a part is too large for that.
    pub fn decomposed(world: &World) -> Result<Option<Planner>, PlanError> {
        all_known(world)?;
        if world.low_rank().is_some() || !Components::fit(world) {
            return Ok(None);
        }
        let held = Planner::ask(world, Planner::bytes_split(world))?;
        let kernel = Kernel::new(world)?;
        let layout = Layout::Split(Box::new(Split::new(world, &kernel)));
        Ok(Some(Planner::with_layout(world, kernel, layout, held)))
    }

    /// Lays a world out over all joint values of its key variables, however many they are.
    pub fn over_joint_causes(world: &World) -> Result<Planner, PlanError> {
        all_known(world)?;
        let held = Planner::ask(world, Planner::bytes_joint(world))?;
        let kernel = Kernel::new(world)?;
        let layout = Layout::joint(world, &kernel);
        Ok(Planner::with_layout(world, kernel, layout, held))
    }

    fn with_layout(world: &World, kernel: Kernel, layout: Layout, held: Held) -> Planner {
        let [least, most] = world.step_range();
        Planner {
            horizon: world.horizon(),
            kernel,
            layout,
            continuation: Continuation::of(world),
            ended: world.ends().map(|ends| ends.states.clone()),
            best_step: most,
            range: most - least,
            start: world.start().clone(),
            state_space: world.state_space().clone(),
            evaluation_bytes: Planner::evaluation_bytes(world),
            _held: held,
        }
    }

    /// The kernel P(c | s, do(a)).
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Number of stages.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// Expected reward of each cause in each state, `[state][cause]`, without what arriving somewhere pays ([`World::arrival`]);
    /// empty where the world is planned by components ([`Planner::is_split`]).
    pub fn rewards(&self) -> &[f64] {
        match &self.layout {
            Layout::Joint { reward_sc, .. } => reward_sc,
            Layout::LowRank(layout) => &layout.reward_sc,
            Layout::Split(_) => &[],
        }
    }

    /// Whether the world is planned by components, since its joint causes are too many to be listed.
    pub fn is_split(&self) -> bool {
        matches!(self.layout, Layout::Split(_))
    }

    /// Parts by which the world is planned, those without levers not counted; 1 over joint causes.
    pub fn n_parts(&self) -> usize {
        self.split().map_or(1, Split::n_parts)
    }

    /// P(s' | s, do(a)), written into `out`, and the expected reward of the step, costs left out; arriving somewhere pays besides
    /// ([`World::arrival`]). Only where the world is planned by components.
    pub fn step(&self, state: usize, action: Action, out: &mut [f64]) -> Option<f64> {
        let Layout::Split(split) = &self.layout else { return None };
        let mut prob = Vec::new();
        let paid = split.acting(&self.kernel, false).distribution(state, action, &mut prob);
        split.states().iter().zip(&prob).for_each(|(&s, p)| out[s as usize] = *p);
        Some(paid)
    }

    /// The layout by parts, if there is one.
    pub(super) fn split(&self) -> Option<&Split> {
        match &self.layout {
            Layout::Joint { .. } | Layout::LowRank(_) => None,
            Layout::Split(split) => Some(split),
        }
    }

    /// The best policy and its values; of equally good interventions the first.
    pub fn plan(&self) -> Plan {
        self.plan_with(Ties::First)
    }

    /// The best policy and its values.
    ///
    /// Where an intervention chosen among ties is not as good as the best of the state up to 10⁻¹² of what is at stake there,
    /// because rewards or costs are of very different size, the plan is made again with every state at its own scale.
    pub fn plan_with(&self, ties: Ties) -> Plan {
        let mut plan = Plan::new(self.horizon, self.kernel.n_states());
        let mut lookahead = TrueLookahead::new(self);
        let tolerance = TIE_TOLERANCE * self.range.max(f64::MIN_POSITIVE) * self.horizon as f64;
        let caps = (0..self.horizon).map(|stage| lookahead.cap(stage)).collect();
        let chooser = NearTies { kernel: self.split().map_or(&self.kernel, |split| split.search()), caps };
        backward_induction(&mut lookahead, &chooser, tolerance, ties, &mut Buffers::default(), &mut plan);
        match (&self.layout, lookahead.doubt.into_inner()) {
            (Layout::Joint { .. } | Layout::LowRank(_), false) => {}
            (Layout::Joint { .. } | Layout::LowRank(_), true) => plan = per_state_scale::plan(self, ties),
            (Layout::Split(split), doubt) => {
                if doubt {
                    plan = per_state_scale::decomposed(self, split, &plan, ties);
                }
                self.say_worth(&mut plan);
            }
        }
        plan
    }

    /// Replaces the values of a plan by those of its policy, measured from zero, where the two differ by rounding alone. Where they
    /// differ by more, the plan keeps what its search found, and [`Planner::verify`] refuses it.
    fn say_worth(&self, plan: &mut Plan) {
        let worth_hs = Evaluator::new(self).evaluate(&plan.policy_hs).value_hs.clone();
        let close = |said: f64, worth: f64, size: f64| (said - worth).abs() <= 1e-2 * VERIFIED * size;
        // The size is at least the value, and mostly that is enough.
        if !plan.value_hs.iter().zip(&worth_hs).all(|(&said, &worth)| close(said, worth, worth.abs())) {
            let size_hs = Evaluator::of_sizes(self).evaluate(&plan.policy_hs).value_hs.clone();
            for ((said, worth), size) in plan.value_hs.iter_mut().zip(worth_hs).zip(size_hs) {
                *said = if close(*said, worth, size) { worth } else { *said };
            }
        } else {
            plan.value_hs = worth_hs;
        }
    }

    /// No value of an episode is larger.
    pub(super) fn largest(&self) -> f64 {
        self.horizon as f64 * self.range.max(self.best_step.abs())
    }

    /// Values of a policy (`[stage][state]`), as `[stage][state]` with one further stage of zeros.
    pub fn evaluate(&self, policy_hs: &[Action]) -> Result<Vec<f64>, PlanError> {
        check_policy(self.kernel.interventions(), &self.state_space, self.horizon, policy_hs)?;
        let mut evaluator = Evaluator::new(self);
        evaluator.evaluate(policy_hs);
        Ok(evaluator.into_values())
    }

    /// Values of a plan's policy, evaluated anew; an error where they are not those of the plan.
    ///
    /// They may differ by 10⁻⁹ of the expected sum of the absolute values of all rewards and costs, which is rounding. Where a world is
    /// planned by components, it is an error as well if other settings of one group of levers are better than the plan's, by more
    /// than rounding: the search that made the plan has no part in that.
    pub fn verify(&self, plan: &Plan) -> Result<Vec<f64>, PlanError> {
        let value_hs = self.evaluate(&plan.policy_hs)?;
        let mut sizes = Evaluator::of_sizes(self);
        let size_hs = &sizes.evaluate(&plan.policy_hs).value_hs;
        let pairs = value_hs.iter().zip(&plan.value_hs).zip(size_hs);
        let close = |((worth, said), size): ((&f64, &f64), &f64)| (worth - said).abs() <= VERIFIED * size;
        if let Some(i) = pairs.into_iter().position(|pair| !close(pair)) {
            let (stage, state) = (i / plan.n_states + 1, i % plan.n_states);
            return Err(PlanError::NotWorth { stage, state, said: plan.value_hs[i], worth: value_hs[i] });
        }
        match self.split().and_then(|split| improve::improvement(self, split, &plan.policy_hs, &value_hs, size_hs)) {
            None => Ok(value_hs),
            Some(better) => Err(better),
        }
    }

    /// For each state, whether an episode that reaches it has ended; `None` if no state ends an episode.
    pub(super) fn ended(&self) -> Option<&[bool]> {
        self.ended.as_deref()
    }

    /// q(s, c) for a stage, from the values of the next one: `r(s, c) + E[V(s') | s, c]`. By parts, what next states are worth,
    /// the same for all states.
    pub(crate) fn look(&self, next_value: &[f64], q: &mut Vec<f64>, spare: &mut Vec<f64>) {
        let mut worth = Vec::new();
        let worth = match &self.continuation {
            None => next_value,
            Some(continuation) => {
                continuation.worth(next_value, &mut worth);
                &worth
            }
        };
        match &self.layout {
            Layout::Joint { contraction, factors, reward_sc } => {
                contraction.apply(factors, worth, q, spare);
                q.iter_mut().zip(reward_sc).for_each(|(q, r)| *q += r);
            }
            Layout::LowRank(layout) => layout.look(worth, false, q),
            Layout::Split(split) => split.arrange(worth, q),
        }
    }

    /// The same of absolute values: `|r(s, c)| + E[size(s') | s, c]`.
    pub(super) fn look_at_sizes(&self, next_size: &[f64], out: &mut Vec<f64>, spare: &mut Vec<f64>) {
        let mut worth = Vec::new();
        let worth = match &self.continuation {
            None => next_size,
            Some(continuation) => {
                continuation.size(next_size, &mut worth);
                &worth
            }
        };
        match &self.layout {
            Layout::Joint { contraction, factors, reward_sc } => {
                contraction.apply(factors, worth, out, spare);
                out.iter_mut().zip(reward_sc).for_each(|(q, r)| *q += r.abs());
            }
            Layout::LowRank(layout) => layout.look(worth, true, out),
            Layout::Split(split) => split.arrange(worth, out),
        }
    }

    /// Expected absolute value of what an intervention meets with; `loss` is cap − q for every cause.
    fn size_of_choice(&self, state: usize, cap: f64, loss: &[f64], action: Action) -> f64 {
        match &self.layout {
            Layout::Joint { .. } | Layout::LowRank(_) => {
                per_state_scale::size_of_choice(&self.kernel, state, cap, loss, action)
            }
            Layout::Split(split) => {
                let sizes: Vec<f64> = loss.iter().map(|x| -(cap - x).abs()).collect();
                let acting = split.acting(&self.kernel, true);
                per_state_scale::size_of_step(&self.kernel, &acting, state, action, &sizes, &mut Scratch::default())
            }
        }
    }

    /// Expected value over starting states of something that has one number per state.
    pub fn from_start(&self, value_s: &[f64]) -> f64 {
        match &self.start {
            Start::States(states) => states.iter().map(|&(s, p)| p * value_s[s]).sum(),
            Start::Product(factors) => {
                let mut value = value_s.to_vec();
                for factor in factors {
                    let rest = value.len() / factor.len();
                    value = (0..rest)
                        .map(|i| factor.iter().enumerate().map(|(v, p)| p * value[v * rest + i]).sum())
                        .collect();
                }
                value[0]
            }
        }
    }

    /// The state as a product of its factors.
    pub fn state_space(&self) -> &Space {
        &self.state_space
    }
}
