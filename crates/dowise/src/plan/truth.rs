//! Exact planning and evaluation where every mechanism and reward is known.

use std::sync::atomic::{AtomicBool, Ordering};

use super::decomposed::Split;
use super::error::PlanError;
use super::follow::{MOST_REMEMBERED, check_policy};
use super::improve;
use super::low_rank::LowRankLayout;
use super::near_ties::NearTies;
use super::per_state_scale;
use super::{Buffers, Contraction, Evaluator, Lookahead, Mean, Plan, TIE_TOLERANCE, Ties, backward_induction};
use crate::Space;
use crate::kernel::{CauseSpace, Components, Found, Kernel, Scratch, Sure, rows_by_cause, scope_strides, state_scope};
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

/// How a look ahead is computed.
#[derive(Clone, Debug)]
enum Layout {
    /// Over all states and joint causes.
    Joint { contraction: Contraction, factors: Vec<Mean>, reward_sc: Vec<f64> },
    /// Over all states and joint causes, by way of anchors.
    LowRank(Box<LowRankLayout>),
    /// By components, where joint causes are too many.
    Split(Box<Split>),
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

    /// Holds memory, or says that a plan would not fit.
    pub(crate) fn ask(world: &World, bytes: u128) -> Result<Held, PlanError> {
        is_enumerable(world)?;
        Held::ask(bytes).map_err(|left| PlanError::TooLarge {
            bytes,
            n_states: world.n_states(),
            n_causes: CauseSpace::new(world).len(),
            limit: u128::from(left),
            part: Components::too_large(world, Sure::Numbers),
        })
    }

    /// Bytes that planning in a world takes at most, known before anything is computed: kernel, tables by cause or by part, one
    /// plan, and what is held while it is made or its policy evaluated.
    pub fn bytes(world: &World) -> u128 {
        if is_split(world) { Planner::bytes_split(world) } else { Planner::bytes_joint(world) }
    }

    /// The same by components.
    fn bytes_split(world: &World) -> u128 {
        let entries = (world.horizon() as u128 + 1).saturating_mul(world.n_states() as u128);
        let differ = entries.min(u128::from(world.interventions().count()));
        // Values and policy, of a plan that is made again those of both, or what its policy is worth and how large that is; while it is
        // made or evaluated, one row of next values and what a search holds of it for each part, on every thread; the
        // interventions of a policy.
        let row = world.n_states() as u128 * 8 * (4 + world.state().len() as u128);
        let threads = rayon::current_num_threads() as u128;
        (entries.saturating_mul(6 * 8))
            .saturating_add(threads.saturating_mul(row))
            .saturating_add(evaluation_bytes(world, differ))
            .saturating_add(Components::bytes(world, Sure::Numbers))
            .saturating_add(Kernel::bytes(world))
    }

    /// The same over joint causes.
    fn bytes_joint(world: &World) -> u128 {
        let (n_states, n_causes) = (world.n_states() as u128, CauseSpace::new(world).len() as u128);
        let cells = n_states.saturating_mul(n_causes);
        let (largest, tables) = match world.low_rank() {
            // A place for each state and cause; weights and anchors are the world's.
            Some(_) => (cells, (n_states + n_causes) / 2 + 1),
            None => joint_tables(world, n_causes as usize),
        };
        let entries = (world.horizon() as u128 + 1).saturating_mul(n_states);
        // While a plan is made: q and two intermediate arrays, and a size and a flag for every state.
        let making = cells.saturating_add(2 * largest).saturating_mul(8).saturating_add(9 * n_states);
        // What next states are worth, where that is not their value.
        let making = making.saturating_add(if Continuation::of(world).is_some() { 17 * n_states } else { 0 });
        // While it is evaluated: a second array of values, and the interventions that were found to be allowed.
        let differ = entries.min(u128::from(world.interventions().count()));
        let evaluating =
            evaluation_bytes(world, differ).saturating_add(entries.saturating_mul(8)).saturating_add(32 * differ);
        // Rewards and tables; values and policy for every stage.
        let kept = cells.saturating_add(tables).saturating_add(entries.saturating_mul(2)).saturating_mul(8);
        kept.saturating_add(making.max(evaluating)).saturating_add(Kernel::bytes(world))
    }

    /// Bytes that evaluating policies one after the other takes at most, besides the planner.
    pub(crate) fn evaluation_bytes(world: &World) -> u128 {
        let most = (world.n_states() + MOST_REMEMBERED) as u128;
        evaluation_bytes(world, most.min(u128::from(world.interventions().count())))
    }

    /// Bytes that a judge of policies takes besides.
    pub(crate) fn own_judge_bytes(&self) -> u128 {
        self.evaluation_bytes
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

impl Layout {
    /// Tables over states and joint causes.
    fn joint(world: &World, kernel: &Kernel) -> Layout {
        if let Some(low_rank) = world.low_rank() {
            return Layout::LowRank(Box::new(LowRankLayout::new(world, low_rank, kernel.causes())));
        }
        let n_causes = kernel.n_causes();
        let (contraction, scopes) = contraction(world, n_causes);
        let factors = world
            .transitions()
            .iter()
            .zip(&scopes)
            .map(|(m, scope)| {
                let table = m.table.as_deref().expect("invariant: a planner is made only of known tables");
                let n_values = world.variable(m.children[0]).size();
                let rows = rows_by_cause(world, &m.parents, scope, kernel.causes());
                let n_rows = rows.len() / n_causes;
                let mut prob = vec![0.0; rows.len() * n_values];
                for row in 0..n_rows {
                    for v in 0..n_values {
                        for c in 0..n_causes {
                            prob[(row * n_values + v) * n_causes + c] = table[rows[row * n_causes + c] * n_values + v];
                        }
                    }
                }
                Mean { prob, n_values, n_causes }
            })
            .collect();
        Layout::Joint { contraction, factors, reward_sc: rewards_by_cause(world, kernel.causes()) }
    }
}

/// Bytes of an evaluation in which this many different interventions are met with.
fn evaluation_bytes(world: &World, interventions: u128) -> u128 {
    let (n_states, horizon) = (world.n_states() as u128, world.horizon() as u128);
    let n_causes = CauseSpace::new(world).len();
    let largest = match (is_split(world), world.low_rank()) {
        (true, _) => world.n_states(),
        (false, Some(_)) => world.n_states() * n_causes,
        (false, None) => contraction(world, n_causes).0.largest(),
    };
    // Two arrays over states and causes, the values, the policy evaluated last, and where each of its entries was decoded.
    let arrays = (16 * largest as u128).saturating_add(n_states.saturating_mul(20 * horizon + 8));
    // A hash map and three lists that grow by doubling; an intervention has a part for every group.
    let parts = 12 * crate::kernel::groups::groups(world).len() as u128;
    arrays.saturating_add(interventions.saturating_mul(88 + parts))
}

struct TrueLookahead<'a> {
    planner: &'a Planner,
    spare: Vec<f64>,
    /// For each state: whether every reward from the present stage on is 0.
    pays_nothing: Vec<bool>,
    /// Whether the choice in some state is not good enough at the scale of that state.
    doubt: AtomicBool,
}

impl TrueLookahead<'_> {
    fn new(planner: &Planner) -> TrueLookahead<'_> {
        TrueLookahead { planner, spare: Vec::new(), pays_nothing: Vec::new(), doubt: AtomicBool::new(false) }
    }
}

impl Lookahead for TrueLookahead<'_> {
    fn look(&mut self, _stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        self.planner.look(next_value, q, &mut self.spare);
        self.pays_nothing.clear();
        let nothing = |row: &[f64]| row.iter().all(|&q| q == 0.0);
        match self.planner.split() {
            Some(split) if nothing(q) => {
                self.pays_nothing.extend((0..self.planner.kernel.n_states()).map(|s| split.search().is_free(s)));
            }
            Some(_) => {}
            None if self.planner.kernel.has_costs() => {}
            None => self.pays_nothing.extend(q.chunks_exact(self.planner.kernel.n_causes()).map(nothing)),
        }
    }

    fn ended(&self) -> Option<&[bool]> {
        self.planner.ended()
    }

    fn is_shared(&self) -> bool {
        self.planner.is_split()
    }

    fn cap(&self, stage: usize) -> f64 {
        (self.planner.horizon - stage) as f64 * self.planner.best_step
    }

    fn chosen(&self, stage: usize, state: usize, loss: &[f64], found: &Found) -> f64 {
        if self.pays_nothing.get(state) == Some(&true) {
            // Not what rounding at the scale of the cap leaves: where nothing is at stake, nothing is small beside it.
            return 0.0;
        }
        let cap = self.cap(stage);
        let size = || self.planner.size_of_choice(state, cap, loss, found.action);
        if !self.doubt.load(Ordering::Relaxed) && per_state_scale::is_doubtful(cap, found, size) {
            self.doubt.store(true, Ordering::Relaxed);
        }
        cap - found.least
    }
}

/// Whether a world is planned by components.
fn is_split(world: &World) -> bool {
    world.low_rank().is_none() && Components::pay(world, Sure::Numbers)
}

/// Numbers of the largest array while transitions are marginalised out, and of all their tables by cause.
fn joint_tables(world: &World, n_causes: usize) -> (u128, u128) {
    let (contraction, scopes) = contraction(world, n_causes);
    let tables = world.transitions().iter().zip(&scopes).fold(0u128, |sum, (m, scope)| {
        let rows = scope.iter().map(|&f| world.state_space().sizes()[f] as u128).product::<u128>();
        let values = world.variable(m.children[0]).size() as u128;
        sum.saturating_add(rows.saturating_mul(n_causes as u128).saturating_mul(values))
    });
    (contraction.largest() as u128, tables)
}

/// How the transitions of a world are marginalised out, and the state scope of each.
fn contraction(world: &World, n_causes: usize) -> (Contraction, Vec<Vec<usize>>) {
    let scopes: Vec<Vec<usize>> = world.transitions().iter().map(|m| state_scope(world, &m.parents)).collect();
    (Contraction::new(world.state_space().sizes(), &scopes, n_causes), scopes)
}

/// Sum of the reward terms whose means are known, `[state][cause]`, except those on next values alone, which [`Continuation`] pays.
pub(crate) fn rewards_by_cause(world: &World, causes: &CauseSpace) -> Vec<f64> {
    let n_causes = causes.len();
    let mut reward_sc = vec![0.0; world.n_states() * n_causes];
    for term in world.rewards().iter().filter(|term| !term.pays_on_next_state() && !world.mean_is_learned(term)) {
        let mean = (!term.next.is_empty()).then(|| world.expected_term(term));
        let term = mean.as_ref().unwrap_or(term);
        let Some(table) = term.table.as_deref() else { continue };
        let scope = state_scope(world, &term.scope);
        let rows = rows_by_cause(world, &term.scope, &scope, causes);
        let strides = scope_strides(world.state_space(), &scope);
        for (s, rewards) in reward_sc.chunks_exact_mut(n_causes).enumerate() {
            let row = strides.iter().map(|&(f, stride)| world.state_space().digit(s, f) * stride).sum::<usize>();
            for (c, r) in rewards.iter_mut().enumerate() {
                *r += table[rows[row * n_causes + c]];
            }
        }
    }
    reward_sc
}
