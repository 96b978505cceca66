//! Construction of linear learners: checked options, chosen features, value ranges, and required memory.

use nalgebra::DMatrix;

use super::MOST_BYTES;
use super::error::LinearError;
use super::evidence::MetStep;
use super::features::Features;
use super::gram::REFRESH_EVERY;
use super::model::{kernel_rule, tracks_widths};
use super::options::{Beta, FeatureChoice, LinearEstimate, LinearOptions, Regression, Rewards, Weights};
use crate::kernel::{CauseSpace, Kernel};
use crate::learn::{ActionList, Cap, Knowledge, MechanismRule, Mechanisms, kernel_bytes};
use crate::memory::Held;
use crate::world::FeatureMap;

/// P(c | s, do(a)) before the first step, with the mechanisms to learn, if any; checks that the kernel can be built.
pub(super) fn first_kernel(
    knowledge: &Knowledge,
    mechanisms: &mut Option<Mechanisms>,
    options: &LinearOptions,
) -> Result<Kernel, LinearError> {
    match mechanisms {
        None => Ok(Kernel::new(knowledge.world())?),
        Some(mechanisms) => Ok(mechanisms.kernel(kernel_rule(options, 0))?),
    }
}

/// P(c | s, do(a)) from the present counts of unknown mechanisms; `None` if all are known.
pub(super) fn learned_kernel(mechanisms: &mut Option<Mechanisms>, rule: MechanismRule) -> Option<Kernel> {
    let kernel = mechanisms.as_mut()?.kernel(rule);
    Some(kernel.expect("invariant: what was learned has the shape that it had when the learner was made"))
}

/// Positions of the regressed reward terms, and the range of their sum.
pub(super) fn regressed_terms(knowledge: &Knowledge, options: &LinearOptions) -> (Vec<usize>, [f64; 2]) {
    let all = 0..knowledge.rewards().len();
    match options.rewards {
        Rewards::Regressed => (all.collect(), knowledge.reward_range()),
        Rewards::Known => {
            let unknown: Vec<usize> = all.filter(|&i| knowledge.rewards()[i].table.is_none()).collect();
            let ranges = unknown.iter().map(|&i| knowledge.rewards()[i].range);
            let range = ranges.fold([0.0, 0.0], |[lo, hi], [a, b]| [lo + a, hi + b]);
            (unknown, range)
        }
    }
}

/// Range of the reward of a step for widths, and the range of values of every stage.
pub(super) fn clip_values(knowledge: &Knowledge, options: &LinearOptions) -> (f64, Vec<[f64; 2]>) {
    let [lo, hi] = knowledge.reward_range();
    let [least, most] = knowledge.world().step_range();
    let range = if options.cap == Cap::Literal { 1.0 } else { most - least };
    let horizon = knowledge.horizon();
    let clip = (0..horizon).map(|stage| {
        let ahead = match options.cap {
            Cap::Literal => return [0.0, horizon as f64],
            Cap::Horizon => horizon - 1,
            Cap::Stage => horizon - 1 - stage,
        } as f64;
        [lo + ahead * least, hi + ahead * most]
    });
    (range, clip.collect())
}

/// Range of the next values of every stage, from the clipping of q there: net of costs, and including 0 with a
/// discount or terminal states. The last stage has no continuation.
pub(super) fn values_ahead(knowledge: &Knowledge, clip: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let (world, [cheapest, dearest]) = (knowledge.world(), knowledge.interventions().cost_range());
    let as_they_are = world.discount() == 1.0 && world.ends().is_none();
    let before_costs = clip.iter().skip(1).map(|&[lo, hi]| match [lo - dearest, hi - cheapest] {
        ends if as_they_are => ends,
        [least, most] => [least.min(0.0), most.max(0.0)],
    });
    before_costs.chain([[0.0; 2]]).collect()
}

/// The features of the options; `None` for those of the world.
pub(super) fn feature_map(knowledge: &Knowledge, options: &LinearOptions) -> Option<FeatureMap> {
    match options.features {
        FeatureChoice::World => None,
        FeatureChoice::OneHot => Some(FeatureMap::one_hot(knowledge.world())),
        FeatureChoice::Factors => Some(FeatureMap::factors(knowledge.world())),
        FeatureChoice::Polynomial { degree } => Some(FeatureMap::polynomial(knowledge.world(), degree)),
        FeatureChoice::Radial { centres, width } => Some(FeatureMap::radial(knowledge.world(), centres, width)),
    }
}

/// ψ(s, a) = Σ_z P(z | s, a) φ(s, z), one column for each state and intervention.
pub(super) fn by_intervention(features: &Features, kernel: &Kernel, list: &ActionList) -> DMatrix<f64> {
    let (n_states, n_causes) = (kernel.n_states(), kernel.n_causes());
    let phi = features.columns();
    let mut psi = DMatrix::zeros(features.dimension(), n_states * list.actions.len());
    let mut prob = vec![0.0; n_causes];
    let mut column = 0;
    for s in 0..n_states {
        for &action in &list.actions {
            kernel.distribution(s, action, &mut prob);
            for (c, &p) in prob.iter().enumerate() {
                psi.column_mut(column).axpy(p, &phi.column(s * n_causes + c), 1.0);
            }
            column += 1;
        }
    }
    psi
}

/// Most bytes of a linear learner: features, columns, designs, arrays over states and configurations, one plan, its
/// kernel.
pub(super) fn bytes(knowledge: &Knowledge, d: u128, options: &LinearOptions) -> u128 {
    let (world, states) = (knowledge.world(), knowledge.n_states() as u128);
    let keys = states.saturating_mul(CauseSpace::new(world).len() as u128);
    let count = u128::from(knowledge.interventions().count());
    let (all, list) = match options.regression {
        Regression::Causes => (keys, 0),
        // The list of interventions, with a flag for each state if some are forbidden, and ψ beside φ.
        Regression::Interventions => (states.saturating_mul(count), count.saturating_mul(16 + states)),
    };
    let horizon = knowledge.horizon() as u128;
    let designs = if options.stage_dependent { horizon } else { 1 };
    // Λ, its factor and a copy during a refresh, M; three more during the computation of a posterior.
    let residuals = options.beta == Beta::Residuals;
    let square = d.saturating_mul(d).saturating_mul(if residuals { 6 } else { 3 });
    let widths = match options.estimate {
        LinearEstimate::Sampled => 0,
        // As of the last plan and of this one, or cached, as computed, and products with all features.
        LinearEstimate::Width if tracks_widths(options) => 3,
        LinearEstimate::Width => 2,
    };
    let design = square.saturating_add(d.saturating_mul(states)).saturating_add(all.saturating_mul(widths));
    // Steps since the last refresh, in a list that grows by doubling.
    let recent = 2 * d.max(REFRESH_EVERY as u128) * size_of::<MetStep>() as u128;
    // Visited pairs, and pairs with next state: at most the number of steps. Maps are half empty.
    let steps = u128::from(options.episodes).saturating_mul(horizon);
    let (columns, pairs) = (steps.min(all), steps.min(all.saturating_mul(states)));
    // Residuals store them in lists, which grow by doubling.
    let [column, pair] = if residuals { [80 + 48, 40 + 32] } else { [80, 40] };
    let met = columns.saturating_mul(column).saturating_add(pairs.saturating_mul(pair));
    // The features (twice during construction, unless they are the world's table), and ψ if it is the regressor, twice
    // during construction.
    let shared =
        matches!((&options.features, world.features()), (FeatureChoice::World, Some(FeatureMap::Table { .. })));
    let own = if options.regression == Regression::Causes { 0 } else { all.saturating_mul(2) };
    let features = keys.saturating_mul(if shared { 1 } else { 2 }).saturating_add(own).saturating_mul(d);
    // Rewards for causes and for columns, means, q, losses; values, policy and what is followed, and the first two state by state.
    let arrays = keys.saturating_add(all.saturating_mul(4)).saturating_add((horizon + 1).saturating_mul(states) * 6);
    let numbers = features.saturating_add(designs.saturating_mul(design)).saturating_add(arrays);
    let kernel = match options.regression {
        Regression::Causes => kernel_bytes(world, options.estimate == LinearEstimate::Width),
        Regression::Interventions => Kernel::bytes(world),
    };
    numbers
        .saturating_mul(8)
        .saturating_add(designs.saturating_mul(recent))
        .saturating_add(met)
        .saturating_add(list)
        .saturating_add(kernel)
}

/// Reserves the memory of a learner, if there is enough.
pub(super) fn hold(
    knowledge: &Knowledge,
    d: usize,
    cells: usize,
    options: &LinearOptions,
) -> Result<Held, LinearError> {
    let bytes = bytes(knowledge, d as u128, options);
    let designs = if options.stage_dependent { knowledge.horizon() } else { 1 };
    let too_large = |limit| LinearError::TooLarge { dimension: d, designs, cells, bytes, limit };
    if bytes > MOST_BYTES {
        return Err(too_large(MOST_BYTES));
    }
    Held::ask(bytes).map_err(|left| too_large(u128::from(left)))
}

/// The range of λ: beyond it Λ⁻¹ loses all precision in unobserved, or in observed directions.
const LAMBDAS: std::ops::RangeInclusive<f64> = 1e-12..=1e6;

pub(super) fn check(options: &LinearOptions) -> Result<(), LinearError> {
    let bad = |name, value, expected| Err(LinearError::Option { name, value, expected });
    let LinearOptions { lambda, beta_scale, delta, episodes, beta, .. } = *options;
    if lambda == 0.0 {
        return Err(LinearError::Singular);
    }
    if !LAMBDAS.contains(&lambda) {
        return bad("lambda", lambda, "lambda is a number from 1e-12 to 1e6");
    }
    if beta == Beta::Residuals && lambda != 1.0 {
        return bad("lambda", lambda, "with beta=residuals λ follows from the noise; leave lambda out");
    }
    // Products of larger ones overflow, and differences of infinite widths are no numbers.
    if !(0.0..=1e100).contains(&beta_scale) {
        return bad("beta-scale", beta_scale, "the scale of a width is a number from 0 to 1e100");
    }
    if !(delta > 0.0 && delta < 1.0) {
        return bad("delta", delta, "delta is a probability between 0 and 1, neither included");
    }
    if options.weights == Weights::Variance && options.estimate != LinearEstimate::Width {
        return Err(LinearError::NoWeights);
    }
    match beta {
        Beta::Fixed(beta) if !(beta.is_finite() && beta >= 0.0) => bad("beta", beta, "beta is a number from 0 on"),
        Beta::Residuals if options.estimate != LinearEstimate::Sampled => Err(LinearError::ResidualWidth),
        Beta::Published
        | Beta::SelfNormalised
        | Beta::CoveringNumber
        | Beta::Deviation
        | Beta::Residuals
        | Beta::Fixed(_)
            if episodes == 0 =>
        {
            bad("episodes", 0.0, "at least one episode")
        }
        Beta::Published
        | Beta::SelfNormalised
        | Beta::CoveringNumber
        | Beta::Deviation
        | Beta::Residuals
        | Beta::Fixed(_) => Ok(()),
    }
}
