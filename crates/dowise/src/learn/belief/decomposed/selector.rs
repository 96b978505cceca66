//! Selection and evaluation of interventions in decomposed planning: by point estimates, or by optimistic or
//! pessimistic estimates.

use std::sync::Arc;

use crate::kernel::Effects;
use crate::kernel::{Acting, Components, Kernel, Member, Next, Numbers, Reach, Scratch, Tie};
use crate::learn::view::Decomposed;
use crate::world::Action;

/// The numbers of a world in parts, as they were read.
#[derive(Clone, Debug)]
pub(super) struct PartsNumbers {
    /// Tables of the state factors, `[row][value]`: lower and upper ends, the second empty where they are the same.
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

    /// The same with all that is paid times −1.
    fn with_rewards_turned(&self) -> PartsNumbers {
        let turned = |table: &Arc<[f64]>| table.iter().map(|r| -r).collect();
        PartsNumbers { ends: self.ends.clone(), rewards: self.rewards.iter().map(turned).collect() }
    }
}

/// What is believed of a stage, or of all of them.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    numbers: PartsNumbers,
    /// Its causes are joint next values, and its settings cost what they cost less what they pay.
    search: Kernel,
}

impl Stage {
    /// `reach` was made with the kernel.
    pub(super) fn new(numbers: PartsNumbers, components: &Components, (kernel, reach): (&Kernel, &Reach)) -> Stage {
        let search = numbers.with(|numbers| components.kernel(kernel, reach, numbers, 0));
        Stage { numbers, search }
    }
}

/// Picks interventions from what next states are worth, and says what given ones come to.
#[derive(Clone, Debug)]
pub(crate) struct PartsSelector {
    pub(super) decomposed: Arc<Decomposed>,
    /// P(c | s, a), as known or believed.
    pub(crate) kernel: Arc<Kernel>,
    /// One for all stages, or one for each.
    stages: Vec<Stage>,
    /// Which members of intervals count for given interventions.
    member: Member,
    /// Where those are the worst: the numbers with rewards times −1, as many as stages.
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

    /// Which of the lists of stages is meant.
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

    /// The kernel over joint next values by which a stage is searched for the best intervention, with the optimistic members.
    pub(crate) fn search(&self, stage: usize) -> &Kernel {
        &self.at(stage).search
    }

    /// What given interventions come to; where rows are intervals, by their lower ends, which are no distributions.
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

    /// What a given intervention comes to, by the members that count where that is not one number, costs left out.
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

    /// The expected loss of a decoded intervention less what it pays, costs left out: the least that any member has where the best ones
    /// count, the greatest where the worst ones do.
    ///
    /// The greatest is the least with losses and rewards times −1, times −1 again. Relaxed as plans are: never above the least, never below the
    /// greatest, and exact where every part decides one factor of two values.
    ///
    /// # Cost
    /// Where it is not one number, a search among the corners of what the intervention may lead to.
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
        // Measured from the least, so that no member is taken to be better than the best next state.
        let least = loss.iter().map(|x| sign * x).fold(f64::INFINITY, f64::min);
        let above: Vec<f64> = loss.iter().map(|x| sign * x - least).collect();
        let found = search.best(state, &above, 0.0, Tie::First, scratch);
        sign * (found.least + least - self.kernel.interventions().cost(found.action))
    }
}
