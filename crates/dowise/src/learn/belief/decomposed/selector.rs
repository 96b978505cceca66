//! Selection and evaluation of interventions in decomposed planning: by point estimates, or by optimistic or
//! pessimistic estimates.

use std::sync::Arc;

use crate::kernel::Effects;
use crate::kernel::{Acting, Components, Kernel, Member, Next, Numbers, Reach, Scratch, Tie};
use crate::learn::view::Decomposed;
use crate::world::Action;

/// Estimated parameters of a decomposed world.
#[derive(Clone, Debug)]
pub(super) struct PartsNumbers {
    /// Tables of the state factors, `[row][value]`: lower and upper ends, the second empty if they are equal.
    pub(super) ends: Vec<[Arc<[f64]>; 2]>,
    pub(super) rewards: Vec<Arc<[f64]>>,
}

impl PartsNumbers {
    fn with<T>(&self, ask: impl FnOnce(Numbers<'_>) -> T) -> T {
        let next: Vec<Next<'_>> = (self.ends.iter())
            .map(|[lo, hi]| if hi.is_empty() { Next::Exact(lo) } else { Next::Within([lo, hi]) })
            .collect();
        let rewards: Vec<&[f64]> = self.rewards.iter().map(|table| &table[..]).collect();
        ask(Numbers { next: &next, rewards: &rewards })
    }

    fn are_exact(&self) -> bool {
        self.ends.iter().all(|[_, hi]| hi.is_empty())
    }

    /// The same with all rewards times −1.
    fn with_rewards_turned(&self) -> PartsNumbers {
        let turned = |table: &Arc<[f64]>| table.iter().map(|r| -r).collect();
        PartsNumbers { ends: self.ends.clone(), rewards: self.rewards.iter().map(turned).collect() }
    }
}

/// The estimates of a stage, or of all stages.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    numbers: PartsNumbers,
    /// Its configurations are joint next values, and the cost of a setting is net of its reward.
    search: Kernel,
}

impl Stage {
    /// `reach` was computed with the kernel.
    pub(super) fn new(numbers: PartsNumbers, components: &Components, (kernel, reach): (&Kernel, &Reach)) -> Stage {
        let search = numbers.with(|numbers| components.kernel(kernel, reach, numbers, 0));
        Stage { numbers, search }
    }
}

/// Selects interventions by next-state values, and evaluates given ones.
#[derive(Clone, Debug)]
pub(crate) struct PartsSelector {
    pub(super) decomposed: Arc<Decomposed>,
    /// P(c | s, a), known or estimated.
    pub(crate) kernel: Arc<Kernel>,
    /// One for all stages, or one for each.
    stages: Vec<Stage>,
    /// Whether given interventions are evaluated optimistically or pessimistically.
    member: Member,
    /// For pessimistic evaluation: the parameters with rewards times −1, one per stage.
    turned: Vec<PartsNumbers>,
}

impl PartsSelector {
    pub(super) fn new(
        decomposed: Arc<Decomposed>,
        kernel: Arc<Kernel>,
        stages: Vec<Stage>,
        member: Member,
    ) -> PartsSelector {
        let turned = match member {
            Member::Optimistic => Vec::new(),
            Member::Pessimistic => stages.iter().map(|stage| stage.numbers.with_rewards_turned()).collect(),
        };
        PartsSelector { decomposed, kernel, stages, member, turned }
    }

    /// Index of the list of a stage.
    fn block(&self, stage: usize) -> usize {
        if self.stages.len() == 1 { 0 } else { stage }
    }

    fn at(&self, stage: usize) -> &Stage {
        &self.stages[self.block(stage)]
    }

    /// Number of joint next values.
    pub(crate) fn n_causes(&self) -> usize {
        self.at(0).search.n_causes()
    }

    /// The kernel over joint next values that searches a stage for the best intervention, optimistically.
    pub(crate) fn search(&self, stage: usize) -> &Kernel {
        &self.at(stage).search
    }

    /// Evaluation of given interventions. If rows are intervals, their lower ends are used, which are no
    /// distributions.
    pub(crate) fn acting(&self, stage: usize) -> Acting<'_> {
        let numbers = &self.at(stage).numbers;
        Acting {
            components: &self.decomposed.components,
            kernel: &self.kernel,
            next: numbers.ends.iter().map(|[lo, _]| &lo[..]).collect(),
            rewards: numbers.rewards.iter().map(|table| &table[..]).collect(),
            sizes: false,
        }
    }

    /// The value of a given intervention without costs, optimistic or pessimistic if rows are intervals.
    pub(crate) fn worth(&self, stage: usize, state: usize, action: Action, of: &[f64]) -> f64 {
        if self.is_one_number(stage) {
            return self.acting(stage).worth(state, action, of);
        }
        let mut settings = Vec::with_capacity(self.kernel.n_groups());
        self.kernel.decode(action, &mut settings);
        let loss: Vec<f64> = of.iter().map(|x| -x).collect();
        -self.expect(stage, state, &settings, &loss, &mut Scratch::default())
    }

    fn is_one_number(&self, stage: usize) -> bool {
        self.at(stage).numbers.are_exact() && self.kernel.is_certain()
    }

    /// The expected loss of a decoded intervention less its reward, without costs: the least over the sets if
    /// optimistic, the greatest if pessimistic.
    ///
    /// The greatest is the least with losses and rewards times −1, times −1 again. The relaxation is that of plans:
    /// never above the least, never below the greatest, and exact if every component determines one binary factor.
    ///
    /// # Cost
    /// If rows are intervals, a search among the corners of the intervention's possible effects.
    pub(crate) fn expect(
        &self,
        stage: usize,
        state: usize,
        settings: &[u32],
        loss: &[f64],
        scratch: &mut Scratch,
    ) -> f64 {
        if self.is_one_number(stage) {
            return self.acting(stage).expect(stage, state, settings, loss, scratch);
        }
        let (sign, numbers) = match self.member {
            Member::Optimistic => (1.0, &self.at(stage).numbers),
            Member::Pessimistic => (-1.0, &self.turned[self.block(stage)]),
        };
        let one = self.kernel.only(state, settings);
        let search = numbers.with(|numbers| self.decomposed.components.kernel_at(&one, state, numbers));
        // Measured from the least, so that no estimate exceeds the best next state.
        let least = loss.iter().map(|x| sign * x).fold(f64::INFINITY, f64::min);
        let above: Vec<f64> = loss.iter().map(|x| sign * x - least).collect();
        let found = search.best(state, &above, 0.0, Tie::First, scratch);
        sign * (found.least + least - self.kernel.interventions().cost(found.action))
    }
}
