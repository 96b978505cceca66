//! Least-squares value iteration the plain way: the whole history is swept again for every plan, nothing is kept.

use dowise::kernel::Kernel;
use dowise::learn::{Agent, Observation};
use dowise::linear::{LinearLearner, Regression, Rewards};
use dowise::{Action, World};

/// One step as the regression sees it.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) stage: usize,
    pub(crate) cell: usize,
    pub(crate) reward: f64,
    pub(crate) next: usize,
}

/// Everything that a plan is computed from besides the history.
pub(crate) struct Resweep {
    horizon: usize,
    n_states: usize,
    /// Causes, or interventions, of a state.
    n_causes: usize,
    shared: bool,
    lambda: f64,
    clip: Vec<[f64; 2]>,
    columns: Vec<Vec<f64>>,
    knowledge: Vec<f64>,
    /// P(cause | state, intervention), `[state][intervention]`; point masses for regression on interventions.
    prob: Vec<Vec<Vec<f64>>>,
}

/// Weights and inverse design of one stage.
struct Stage {
    weights: Vec<f64>,
    inverse: Vec<Vec<f64>>,
}

impl Resweep {
    /// For a world with rewards in [0, 1], no costs and a cap of H at every stage.
    pub(crate) fn new(world: &World, learner: &LinearLearner) -> Resweep {
        let kernel = Kernel::new(world).unwrap();
        let options = learner.options();
        let actions: Vec<Action> = (0..world.interventions().count()).map(|i| world.interventions().nth(i)).collect();
        let distribution = |s: usize, a: &Action| {
            let mut p = vec![0.0; kernel.n_causes()];
            kernel.distribution(s, *a, &mut p);
            p
        };
        let of_keys: Vec<Vec<Vec<f64>>> =
            (0..world.n_states()).map(|s| actions.iter().map(|a| distribution(s, a)).collect()).collect();
        let rewards = dowise::Planner::new(world).unwrap().rewards().to_vec();
        let by_action = options.regression == Regression::Interventions;
        let n_causes = if by_action { actions.len() } else { kernel.n_causes() };
        let one = |i: usize| (0..n_causes).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
        let knowledge = match (options.rewards, by_action) {
            (Rewards::Regressed, _) => vec![0.0; world.n_states() * n_causes],
            (Rewards::Known, false) => rewards,
            (Rewards::Known, true) => of_keys
                .iter()
                .enumerate()
                .flat_map(|(s, rows)| {
                    rows.iter().map(|p| dot(p, &rewards[s * p.len()..][..p.len()])).collect::<Vec<_>>()
                })
                .collect(),
        };
        let cells = (0..world.n_states()).flat_map(|s| (0..n_causes).map(move |c| (s, c)));
        Resweep {
            horizon: world.horizon(),
            n_states: world.n_states(),
            n_causes,
            shared: !options.stage_dependent,
            lambda: options.lambda,
            clip: vec![[0.0, world.horizon() as f64]; world.horizon()],
            columns: cells.map(|(s, c)| learner.enumerated().unwrap().regressor(s, c).to_vec()).collect(),
            knowledge,
            prob: if by_action { vec![(0..n_causes).map(one).collect(); world.n_states()] } else { of_keys },
        }
    }

    /// Values of all states at all stages: Λ, w and every width computed from the history, with the value of each next
    /// state that was ever seen worked out again each time it comes up.
    pub(crate) fn values(&self, history: &[Seen], beta: f64) -> Vec<f64> {
        let mut ahead: Option<Stage> = None;
        let mut values = vec![0.0; self.horizon * self.n_states];
        for stage in (0..self.horizon).rev() {
            let now = self.fit(history, stage, ahead.as_ref(), beta);
            for s in 0..self.n_states {
                values[stage * self.n_states + s] = self.value(stage, &now, s, beta);
            }
            ahead = Some(now);
        }
        values
    }

    fn fit(&self, history: &[Seen], stage: usize, ahead: Option<&Stage>, beta: f64) -> Stage {
        let d = self.columns[0].len();
        let mut gram: Vec<Vec<f64>> =
            (0..d).map(|i| (0..d).map(|j| if i == j { self.lambda } else { 0.0 }).collect()).collect();
        let mut sums = vec![0.0; d];
        for seen in history.iter().filter(|seen| self.shared || seen.stage == stage) {
            let phi = &self.columns[seen.cell];
            let next = ahead.map_or(0.0, |ahead| self.value(stage + 1, ahead, seen.next, beta));
            for i in 0..d {
                sums[i] += phi[i] * (seen.reward + next);
                for j in 0..d {
                    gram[i][j] += phi[i] * phi[j];
                }
            }
        }
        let inverse = inverse(gram);
        Stage { weights: inverse.iter().map(|row| dot(row, &sums)).collect(), inverse }
    }

    fn value(&self, stage: usize, fitted: &Stage, state: usize, beta: f64) -> f64 {
        let [lo, hi] = self.clip[stage];
        let q = |c: usize| {
            let cell = state * self.n_causes + c;
            let phi = &self.columns[cell];
            let square: f64 = fitted.inverse.iter().zip(phi).map(|(row, x)| x * dot(row, phi)).sum();
            (self.knowledge[cell] + dot(phi, &fitted.weights) + beta * square.sqrt()).clamp(lo, hi)
        };
        let q: Vec<f64> = (0..self.n_causes).map(q).collect();
        self.prob[state].iter().map(|p| dot(p, &q)).fold(f64::NEG_INFINITY, f64::max)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Gauss and Jordan, with the largest pivot of each column.
fn inverse(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let d = a.len();
    let mut out: Vec<Vec<f64>> = (0..d).map(|i| (0..d).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for k in 0..d {
        let pivot = (k..d).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        out.swap(k, pivot);
        let scale = 1.0 / a[k][k];
        a[k].iter_mut().chain(&mut out[k]).for_each(|x| *x *= scale);
        let (row, out_row) = (a[k].clone(), out[k].clone());
        for i in (0..d).filter(|&i| i != k) {
            let by = a[i][k];
            a[i].iter_mut().zip(&row).for_each(|(x, y)| *x -= by * y);
            out[i].iter_mut().zip(&out_row).for_each(|(x, y)| *x -= by * y);
        }
    }
    out
}

/// A learner that also writes down what it sees.
pub(crate) struct Recorder {
    pub(crate) learner: LinearLearner,
    pub(crate) history: Vec<Seen>,
    kernel: Kernel,
}

impl Recorder {
    pub(crate) fn new(world: &World, learner: LinearLearner) -> Recorder {
        Recorder { learner, history: Vec::new(), kernel: Kernel::new(world).unwrap() }
    }
}

impl Agent for Recorder {
    fn begin_episode(&mut self) {
        self.learner.begin_episode();
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.learner.act(stage, state)
    }

    fn observe(&mut self, step: &Observation<'_>) {
        let all = self.kernel.interventions();
        let cell = match self.learner.options().regression {
            Regression::Causes => step.state() * self.kernel.n_causes() + self.kernel.causes().of_values(step.values()),
            Regression::Interventions => {
                let rank = (0..all.count()).position(|i| Some(all.nth(i)) == step.action()).unwrap();
                step.state() * all.count() as usize + rank
            }
        };
        let regressed = self.learner.options().rewards == Rewards::Regressed;
        let reward = if regressed { step.rewards().iter().sum() } else { 0.0 };
        self.history.push(Seen { stage: step.stage(), cell, reward, next: step.next_state().unwrap() });
        self.learner.observe(step);
    }

    fn end_episode(&mut self) {
        self.learner.end_episode();
    }

    fn policy(&mut self) -> Option<&[Action]> {
        self.learner.policy()
    }
}
