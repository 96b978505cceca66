//! Empirical Bayes: partial pooling of the rows of a mechanism. The prior's centre is an additive logit in the
//! parents' values, with pairwise interactions where the counts support them. The counts also determine the weight of
//! that centre.

use crate::Space;
use crate::learn::evidence::Counts;
use crate::learn::forms::{Fit, FormModel};
use crate::math::{ln, ln_gamma};
use crate::world::{Mechanism, World};

/// Most parameters of the centre; a fit solves equations of this many unknowns.
const MOST_PARAMETERS: usize = 200;

/// Most cells of pooled rows: the temporary memory, which is not counted as the learner's, stays within a few
/// megabytes.
const MOST_CELLS: usize = 1 << 16;

/// Most multiplications for trying pairs of parents, with one information matrix and [`PASSES`] passes for each.
const MOST_WORK: usize = 1 << 26;

/// Standard deviation of the effects of the centre, and its inverse square: rows differ from the centre only as far as
/// necessary.
const EFFECT_SD: f64 = 0.5;
const EFFECT_PRECISION: f64 = 1.0 / (EFFECT_SD * EFFECT_SD);

/// Approximate number of passes over all rows in a fit.
const PASSES: usize = 16;

/// Candidate weights in visits: from nearly nothing, repeatedly doubled. The last one bounds the weight: some rows
/// differ from the centre far more than others, and a greater weight would correct them too slowly.
const LEAST_WEIGHT: f64 = 0.25;
const MOST_WEIGHT: f64 = 32.0;

/// A prior of all rows of one mechanism: Dirichlet(`weight` · `centre` of the row).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pool {
    /// The logit that fits the counts best, `[row][value]`.
    pub(crate) centre: Vec<f64>,
    pub(crate) weight: f64,
}

impl Pool {
    /// `None` if pooling does not apply: fewer than two varying parents, too many parameters or cells, or counts that
    /// are as likely with separate rows.
    ///
    /// # Cost
    /// For k parents up to k²/2 fits of a logit, as many as [`MOST_WORK`] allows, and visited rows × values logarithms
    /// of the gamma function for each weight, twice.
    pub(crate) fn of(world: &World, mechanism: &Mechanism, counts: &Counts, prior: f64) -> Option<Pool> {
        if world.sizes(&mechanism.parents).iter().filter(|size| **size > 1).count() < 2
            || counts.n_rv.len() > MOST_CELLS
        {
            return None;
        }
        let (model, fit) = chosen(world, mechanism, counts)?;
        let first = fit.mean(&model);
        let guess = weight(counts, &first, prior);
        // N visits of a row that differs from its centre like Dirichlet(w) carry as much information about the centre
        // as N (w + 1)/(w + N) independent ones. Without this correction, a few rows with thousands of visits would
        // dominate the effects.
        let n = counts.n_values;
        let worth = |i: usize| (guess + 1.0) / (guess + f64::from(counts.n_r[i / n]).max(1.0));
        let tally: Vec<f64> = counts.n_rv.iter().enumerate().map(|(i, &n)| f64::from(n) * worth(i)).collect();
        let fit = Fit::of_tally(&model, &tally);
        let centre = fit.mean(&model);
        let weight = weight(counts, &centre, prior);
        let pooled = evidence_for(counts, &centre, weight) + fit.log_occam(&model);
        let alone = evidence_for(counts, &vec![1.0 / n as f64; centre.len()], prior);
        // Rows without common structure stay separate: a centre fitted to the often visited good rows would be too
        // optimistic for the rest.
        if pooled <= alone {
            return None;
        }
        Some(Pool { centre, weight })
    }
}

/// The logit that the counts support: additive, plus every pair of parents whose interaction makes them more likely,
/// the most promising pair first.
fn chosen(world: &World, mechanism: &Mechanism, counts: &Counts) -> Option<(FormModel, Fit)> {
    let fitted = |pairs: &[Vec<usize>]| {
        let model = FormModel::logit(world, mechanism, pairs.to_vec(), EFFECT_SD, MOST_PARAMETERS)?;
        let fit = Fit::new(&model, counts);
        let evidence = fit.log_evidence(&model);
        Some((evidence, model, fit))
    };
    let mut best = fitted(&[])?;
    let cells = counts.visited().count() * counts.n_values;
    let mut kept: Vec<Vec<usize>> = Vec::new();
    let mut left = MOST_WORK;
    for pair in promising(world, mechanism, counts, &best.2.mean(&best.1)) {
        // A row has the base, an effect of each parent and one of each pair, for every value but the first.
        let of_a_row = (2 + mechanism.parents.len() + kept.len()) * (counts.n_values - 1);
        // The information matrix of the visited rows, and a few passes over the whole table.
        let work = cells * of_a_row * of_a_row + PASSES * counts.n_rv.len() * of_a_row;
        match left.checked_sub(work) {
            Some(rest) => left = rest,
            None => break,
        }
        let tried: Vec<Vec<usize>> = kept.iter().cloned().chain([pair]).collect();
        if let Some(found) = fitted(&tried).filter(|found| found.0 > best.0) {
            (best, kept) = (found, tried);
        }
    }
    Some((best.1, best.2))
}

/// All pairs of parents, sorted by the promised gain in likelihood over the additive form with this mean: one Newton
/// step for each effect separately, less the cost of selection.
fn promising(world: &World, mechanism: &Mechanism, counts: &Counts, mean: &[f64]) -> Vec<Vec<usize>> {
    let rows = Space::new(&world.sizes(&mechanism.parents)).expect("invariant: a world's tables were counted");
    let (sizes, n) = (rows.sizes(), counts.n_values);
    let parents: Vec<usize> = (0..sizes.len()).filter(|&p| sizes[p] > 1).collect();
    let gain = |a: usize, b: usize| -> f64 {
        // By joint value of the two and own value: the excess of the count over its expectation, and its variance.
        let mut off = vec![(0.0, 0.0); sizes[a] * sizes[b] * n];
        for row in counts.visited() {
            let (of_a, of_b) = (rows.digit(row, a), rows.digit(row, b));
            if of_a == 0 || of_b == 0 {
                continue;
            }
            let visits = f64::from(counts.n_r[row]);
            let cells = counts.values(row).iter().zip(&mean[row * n..]).enumerate().skip(1);
            for (value, (&seen, p)) in cells {
                let (excess, spread) = &mut off[(of_a * sizes[b] + of_b) * n + value];
                *excess += f64::from(seen) - visits * p;
                *spread += visits * p * (1.0 - p);
            }
        }
        let one = |&(excess, spread): &(f64, f64)| {
            excess * excess / (spread + EFFECT_PRECISION) - ln(1.0 + spread / EFFECT_PRECISION)
        };
        off.iter().map(one).sum::<f64>() / 2.0
    };
    let pairs = parents.iter().flat_map(|&a| parents.iter().filter(move |b| **b > a).map(move |&b| (a, b)));
    let mut order: Vec<(f64, Vec<usize>)> = pairs.map(|(a, b)| (gain(a, b), vec![a, b])).collect();
    order.sort_by(|x, y| y.0.total_cmp(&x.0));
    order.into_iter().map(|(_, pair)| pair).collect()
}

/// The weight with the greatest marginal likelihood; `prior` unless another one is better by more than rounding.
fn weight(counts: &Counts, centre: &[f64], prior: f64) -> f64 {
    let mut best = (evidence_for(counts, centre, prior), prior);
    let mut weight = LEAST_WEIGHT;
    while weight <= MOST_WEIGHT {
        let found = evidence_for(counts, centre, weight);
        if found > best.0 + 1e-9 {
            best = (found, weight);
        }
        weight *= 2.0;
    }
    best.1
}

/// The log marginal likelihood of the counts if every row is Dirichlet(weight · centre), without constants. A row with
/// one visit is as likely under every weight.
fn evidence_for(counts: &Counts, centre: &[f64], weight: f64) -> f64 {
    let m = counts.n_values;
    let of_row = |row: usize| -> f64 {
        let values = counts.values(row).iter().zip(&centre[row * m..]).filter(|(n, _)| **n > 0);
        let seen: f64 = values
            .map(|(&n, p)| {
                let share = (weight * p).max(f64::MIN_POSITIVE);
                ln_gamma(share + f64::from(n)) - ln_gamma(share)
            })
            .sum();
        seen + ln_gamma(weight) - ln_gamma(weight + f64::from(counts.n_r[row]))
    };
    counts.visited().map(of_row).sum()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::learn::belief::posterior::beta;

    /// Counts of rows of two values, drawn from Beta(weight · centre) each.
    fn drawn(weight: Option<f64>, centre: &[f64], visits: u32, seed: u64) -> Counts {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut counts = Counts::new(centre.len() / 2, 2);
        for row in 0..centre.len() / 2 {
            let p = centre[row * 2 + 1];
            let p = weight.map_or(p, |w| beta(w * p, w * (1.0 - p), &mut rng));
            for _ in 0..visits {
                counts.add(row, usize::from(beta(1.0, 1.0, &mut rng) < p));
            }
        }
        counts
    }

    fn centre(rows: usize) -> Vec<f64> {
        (0..rows).flat_map(|row| [0.8 - 0.1 * (row % 5) as f64, 0.2 + 0.1 * (row % 5) as f64]).collect()
    }

    #[test]
    fn the_weight_is_that_from_which_rows_were_drawn() {
        let centre = centre(600);
        for truth in [2.0, 8.0, 16.0] {
            let found = weight(&drawn(Some(truth), &centre, 40, 1), &centre, 2.0);
            assert!((0.5 * truth..=2.0 * truth).contains(&found), "{found} for {truth}");
        }
        // Rows that equal the centre.
        assert_eq!(weight(&drawn(None, &centre, 40, 2), &centre, 2.0), MOST_WEIGHT);
    }

    #[test]
    fn rows_visited_once_at_most_say_nothing_about_the_weight() {
        let centre = centre(50);
        assert_eq!(weight(&Counts::new(50, 2), &centre, 3.0), 3.0);
        assert_eq!(weight(&drawn(None, &centre, 1, 3), &centre, 3.0), 3.0);
    }

    #[test]
    fn the_evidence_is_the_probability_of_a_sequence_one_by_one() {
        // 1, 1, 0 from Beta(w p, w (1 − p)): each value has the probability of the counts before it.
        let mut counts = Counts::new(1, 2);
        [1, 1, 0].into_iter().for_each(|v| counts.add(0, v));
        let (w, p) = (3.0, 0.3);
        let one_by_one = (w * p / w) * ((w * p + 1.0) / (w + 1.0)) * (w * (1.0 - p) / (w + 2.0));
        let found = evidence_for(&counts, &[1.0 - p, p], w);
        assert!((found - crate::math::ln(one_by_one)).abs() < 1e-12, "{found}");
    }

    /// Mean squared error of P(second value | row) over rows with a few visits each: separate, and pooled.
    fn errors(truth: impl Fn([usize; 3]) -> f64) -> [f64; 2] {
        let text = "dowise = 1\nhorizon = 1\n[state.s]\nvalues = 2\nscope = [\"k\"]\n[lever.a]\nvalues = 4\n[lever.b]\nvalues = 4\n\
            [lever.c]\nvalues = 4\n[key.k]\nvalues = 2\nparents = [\"a\", \"b\", \"c\"]\n[reward.r]\nscope = [\"k\"]\nvalue = [0, 1]";
        let world = World::from_toml(text, "pool.toml").unwrap_or_else(|e| panic!("{e}"));
        let of = |row: usize| truth([row / 16, row / 4 % 4, row % 4]);
        let truth: Vec<f64> = (0..64).flat_map(|row| [1.0 - of(row), of(row)]).collect();
        let mut sums = [0.0; 2];
        for seed in 0..10 {
            let counts = drawn(None, &truth, 8, seed);
            let mechanism = world.mechanisms().iter().find(|m| !m.parents.is_empty()).expect("that of k");
            let alone = Pool { centre: vec![0.5; 128], weight: 2.0 };
            let Pool { centre, weight } = Pool::of(&world, mechanism, &counts, 2.0).unwrap_or(alone);
            for row in 0..64 {
                let seen = f64::from(counts.n_rv[row * 2 + 1]);
                for (sum, [share, worth]) in sums.iter_mut().zip([[1.0, 2.0], [weight * centre[row * 2 + 1], weight]]) {
                    let off = (seen + share) / (8.0 + worth) - truth[row * 2 + 1];
                    *sum += off * off / 640.0;
                }
            }
        }
        sums
    }

    #[test]
    fn pooled_rows_are_closer_to_the_truth_for_additive_effects_and_no_worse_otherwise() {
        let sigma = |x: f64| 1.0 / (1.0 + crate::math::exp(-x));
        let [alone, pooled] = errors(|[a, b, c]| sigma(-1.0 + 0.5 * a as f64 - 0.3 * b as f64 + 0.2 * (c % 2) as f64));
        assert!(pooled < 0.4 * alone, "additive: {pooled} pooled, {alone} alone");
        // Every row differs from its neighbours, and no parent has a main effect.
        let [alone, pooled] = errors(|[a, b, c]| if (a + b + c) % 2 == 0 { 0.15 } else { 0.85 });
        assert!(pooled < 1.05 * alone, "parity: {pooled} pooled, {alone} alone");
        // Two parents with a pure interaction, and a third.
        let [alone, pooled] = errors(|[a, b, c]| sigma(if (a + b) % 2 == 0 { -1.0 } else { 1.0 } + 0.4 * c as f64));
        assert!(pooled < 0.95 * alone, "a pair: {pooled} pooled, {alone} alone");
    }
}
