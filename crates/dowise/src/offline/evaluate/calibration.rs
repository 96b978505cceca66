//! Calibration by cross-fitting: predicted against observed probabilities in bins, and returns stage by stage.

use super::behaviour::Behaviour;
use super::interval::{Interval, NORMAL_95, moments};
use super::model::{Followed, Model};
use crate::learn::{Estimator, LearnResult};
use crate::offline::Episodes;
use crate::world::{Kind, VarId};

/// Bins of predicted probabilities.
const BINS: usize = 10;

/// Predictions compared with observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Key variables given state and intervention, then next values of state factors given state and joint key values.
    pub variables: Vec<Variable>,
    /// For each stage, predicted and observed remaining return of the behaviour policy.
    pub returns: Vec<Bin>,
}

/// Calibration of one variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name; for a state factor, with "next" before it.
    pub name: String,
    /// Whether it is a key variable.
    pub is_key: bool,
    /// Non-empty bins, least likely first. Every value of the variable is an event; a binary variable has only the
    /// second.
    pub bins: Vec<Bin>,
}

/// Predictions in one bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Their number.
    pub n: f64,
    /// Their mean.
    pub predicted: f64,
    /// Observed mean.
    pub observed: f64,
    /// 95 % interval of the observed mean: Wilson's for probabilities, normal for returns.
    pub interval: Interval,
}

/// Sums of the predictions of one variable, by bin.
#[derive(Clone, Default)]
struct Sums {
    bins: [(f64, f64, f64); BINS],
}

impl Sums {
    fn add(&mut self, predicted: f64, happened: bool, weight: f64) {
        let bin = &mut self.bins[((predicted * BINS as f64) as usize).min(BINS - 1)];
        *bin = (bin.0 + weight, bin.1 + weight * predicted, bin.2 + weight * f64::from(u8::from(happened)));
    }

    fn bins(&self) -> Vec<Bin> {
        let seen = self.bins.iter().filter(|b| b.0 > 0.0);
        seen.map(|&(n, predicted, happened)| Bin {
            n,
            predicted: predicted / n,
            observed: happened / n,
            interval: wilson(happened / n, n),
        })
        .collect()
    }
}

/// Compares cross-fitted predictions with held-out episodes.
pub fn calibrate(log: &Episodes, prior: f64) -> LearnResult<Calibration> {
    let view = &log.view;
    let (layout, knowledge) = (&view.layout, &view.knowledge);
    let (horizon, n, n_causes) = (layout.horizon, layout.n_states(), layout.n_causes);
    let behaviour = Behaviour::new(log, None);
    let causes = view.key_causes.variables();
    let keys: Vec<(usize, VarId)> =
        causes.iter().copied().enumerate().filter(|(_, id)| knowledge.variable(*id).kind == Kind::Key).collect();
    let factors: Vec<usize> = (0..layout.factors.len()).filter(|&f| layout.factors[f].known.is_none()).collect();
    let mut of_keys = vec![Sums::default(); keys.len()];
    let mut of_factors = vec![Sums::default(); factors.len()];
    let mut predicted: Vec<Vec<(f64, f64, u32)>> = vec![Vec::new(); horizon];
    let mut prob = vec![0.0; n_causes];
    // P(c | s, do(a)) is then no prediction of logged key variables.
    let adjusted = knowledge.world().adjusts_for_logged_levers();
    for fold in 0..log.n_folds() {
        let model = Model::new(log.summary_without(Some(fold)), 0.1)?;
        let mut belief = model.belief(Estimator::Mean { prior });
        let selector = model.draw(&mut belief, 0)?;
        let kernel = Model::kernel(&selector);
        let value_hs = model.value_by(&mut belief, &selector, Followed::Logged(&behaviour), |_, _, _, _| {});
        let counts = &model.evidence().transitions[0];
        for episode in (0..log.len()).filter(|&e| log.fold(e) == fold).map(|e| &log.episodes[e]) {
            let weight = f64::from(episode.weight);
            for step in log.steps_of(episode) {
                let (Some(cause), Some(action)) = (step.cause, step.action) else { continue };
                let (state, cause) = (step.state as usize, cause as usize);
                kernel.distribution(state, action, &mut prob);
                let is_prediction = !adjusted && (step.randomised || !log.learns_from_experiments());
                for (sums, &(position, id)) in of_keys.iter_mut().zip(&keys).filter(|_| is_prediction) {
                    let size = knowledge.variable(id).size();
                    let mut marginal = vec![0.0; size];
                    (0..n_causes).for_each(|c| marginal[view.key_causes.digit(c, position)] += prob[c]);
                    let happened = view.key_causes.digit(cause, position);
                    events(size).for_each(|v| sums.add(marginal[v], v == happened, weight));
                }
                let Some(next) = step.next else { continue };
                for (sums, &f) in of_factors.iter_mut().zip(&factors) {
                    let factor = &layout.factors[f];
                    let row = factor.row(factor.state_row(&layout.state_space, state), cause, n_causes);
                    let size = factor.n_values;
                    let total = f64::from(counts[f].n_r[row]) + prior;
                    let happened = factor.value(&layout.state_space, next as usize);
                    for v in events(size) {
                        let p = (f64::from(counts[f].values(row)[v]) + prior / size as f64) / total;
                        sums.add(p, v == happened, weight);
                    }
                }
            }
            if log.gain(episode).is_none() {
                continue;
            }
            let mut rest = 0.0;
            for (h, step) in log.steps_of(episode).iter().enumerate().rev() {
                let action = step.action.expect("invariant: an episode with a return says what was done");
                rest = step.paid - knowledge.interventions().cost(action) + knowledge.world().discount() * rest;
                predicted[h].push((value_hs[h * n + step.state as usize], rest, episode.weight));
            }
        }
    }
    let variable = |name: String, is_key: bool, sums: &Sums| Variable { name, is_key, bins: sums.bins() };
    let name = |id: VarId| knowledge.variable(id).name.clone();
    let key_bins = keys.iter().zip(&of_keys).map(|(&(_, id), sums)| variable(name(id), true, sums));
    let factor_bins = factors.iter().zip(&of_factors).map(|(&f, sums)| {
        let position = layout.factors[f].factor.expect("invariant: the state is seen as factors here");
        variable(format!("next {}", name(knowledge.state()[position])), false, sums)
    });
    Ok(Calibration {
        variables: key_bins.chain(factor_bins).collect(),
        returns: predicted.iter().filter(|stage| !stage.is_empty()).map(|stage| returns(stage)).collect(),
    })
}

/// The values that are events: a binary variable needs only one.
fn events(size: usize) -> std::ops::Range<usize> {
    if size == 2 { 1..2 } else { 0..size }
}

fn returns(stage: &[(f64, f64, u32)]) -> Bin {
    let (_, predicted, _) = moments(stage.iter().map(|&(p, _, w)| (p, w)));
    let (n, observed, variance) = moments(stage.iter().map(|&(_, o, w)| (o, w)));
    Bin { n, predicted, observed, interval: Interval::around(observed, NORMAL_95 * (variance / n).sqrt()) }
}

/// Wilson's interval for a probability.
fn wilson(p: f64, n: f64) -> Interval {
    let z = NORMAL_95 * NORMAL_95 / n;
    let half = NORMAL_95 * (p * (1.0 - p) / n + z / (4.0 * n)).sqrt();
    let middle = p + z / 2.0;
    Interval { low: (middle - half) / (1.0 + z), high: (middle + half) / (1.0 + z) }
}
