//! Whether what was recorded depends on what followed: then what is left is no fair sample of what happens.

use std::collections::BTreeMap;

use serde::Serialize;

use super::graph_test::upper_gamma;
use crate::learn::{Knowledge, Observation};
use crate::world::{Action, VarId};

/// Steps on either side, recorded and not, from which on a state and an intervention are looked at by themselves.
const LEAST: f64 = 10.0;

/// Expected number of steps below which next values are put together.
const EXPECTED: f64 = 5.0;

/// Variance of what is summed up below which its distribution is too far from normal to say anything.
const SPREAD: f64 = 2.0;

/// Numbers that are kept of all states and interventions together: 80 MB.
const MOST_CELLS: usize = 20_000_000;

/// Whether a variable or a payment is recorded depending on what followed, given the state and the intervention.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordingTest {
    /// Such as `key variable opened`, `lever mail, left alone` or `reward sales`.
    pub what: String,
    /// Whether it is what was paid.
    pub is_payment: bool,
    /// Steps in which it was not recorded, of those whose next state is known.
    pub missing: u64,
    /// Of this many steps.
    pub steps: u64,
    /// How often chance alone would make recorded and unrecorded steps differ as much in what followed; 1 where nothing could be tested.
    pub p: f64,
    /// The state factor in whose next value they differ most clearly.
    pub factor: Option<String>,
}

impl RecordingTest {
    /// Whether chance would hardly do it.
    pub fn depends_on_what_followed(&self) -> bool {
        self.p < 0.001
    }
}

/// Counts, for every state and intervention as far as they act on a next value, what followed where something was recorded and where it was not.
///
/// ```
/// use dowise::offline::RecordedSteps;
/// use dowise::{Knowledge, Observation, worlds};
/// let world = worlds::world("river-swim", &[])?;
/// let told = Knowledge::of(&world);
/// let mut recorded = RecordedSteps::new(&told);
/// for i in 0..100 {
///     let step = Observation::at(&told, 0, 1)?.did(&told, 0)?;
///     // Recorded only if the swimmer was carried back.
///     let step = if i % 2 == 0 { step.saw(&told, [("push", "forward")])? } else { step };
///     recorded.add(&step.then(&told, if i % 2 == 0 { 0 } else { 2 })?, 1);
/// }
/// let tests = recorded.tests();
/// assert_eq!((tests[0].what.as_str(), tests[0].missing), ("key variable push", 50));
/// assert!(tests[0].depends_on_what_followed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RecordedSteps {
    told: Knowledge,
    what: Vec<What>,
    factors: Vec<Factor>,
    cells: usize,
    steps: u64,
    missing: Vec<u64>,
    /// Steps that there was no room for, of the factor that has most of them.
    not_counted: u64,
}

/// What followed, by the next value of one state factor.
#[derive(Clone, Debug)]
struct Factor {
    n_values: usize,
    /// State factors and levers, by their positions, that act on its next value, if only through other variables: all that it has to be compared within.
    axes: Vec<usize>,
    levers: Vec<usize>,
    /// Steps and, for each of `what`, steps without it, by next value: `[1 + what][value]`.
    strata: BTreeMap<(usize, u64), Vec<u32>>,
    not_counted: u64,
}

impl Factor {
    fn new(told: &Knowledge, f: usize) -> Factor {
        let world = told.world();
        // Ancestors of the next value within the step.
        let mut ancestors: Vec<VarId> = world.transitions()[f].parents.clone();
        let mut at = 0;
        while let Some(&id) = ancestors.get(at) {
            let of = world.mechanisms().iter().filter(|m| m.children.contains(&id));
            let parents: Vec<VarId> = of.flat_map(|m| &m.parents).copied().filter(|p| !ancestors.contains(p)).collect();
            ancestors.extend(parents);
            at += 1;
        }
        // By way of anchors everything may act on everything.
        let acts = |id: &VarId| world.low_rank.is_some() || ancestors.contains(id);
        let places = |ids: &[VarId]| (0..ids.len()).filter(|&i| acts(&ids[i])).collect();
        Factor {
            n_values: told.state_space().sizes()[f],
            axes: places(world.state()),
            levers: places(world.levers()),
            strata: BTreeMap::new(),
            not_counted: 0,
        }
    }

    /// The state and the intervention, as far as they act on it.
    fn stratum(&self, told: &Knowledge, state: usize, action: Action) -> (usize, u64) {
        let (states, all) = (told.state_space(), told.interventions());
        let row = self.axes.iter().fold(0, |row, &axis| row * states.sizes()[axis] + states.digit(state, axis));
        (row, self.levers.iter().map(|&lever| all.part(lever, all.lever(action, lever))).sum())
    }
}

#[derive(Clone, Copy, Debug)]
enum What {
    Key(VarId),
    /// A lever that was left alone, by its position.
    Lever(usize, VarId),
    Payment(usize),
}

impl RecordedSteps {
    /// Nothing counted yet.
    pub fn new(told: &Knowledge) -> RecordedSteps {
        let keys = told.keys().iter().map(|&id| What::Key(id));
        let levers = told.levers().iter().enumerate().map(|(i, &id)| What::Lever(i, id));
        let what: Vec<What> = keys.chain(levers).chain((0..told.rewards().len()).map(What::Payment)).collect();
        let factors = (0..told.state().len()).map(|f| Factor::new(told, f)).collect();
        let missing = vec![0; what.len()];
        RecordedSteps { told: told.clone(), what, factors, cells: 0, steps: 0, missing, not_counted: 0 }
    }

    /// Counts a step, this many times, if it says what was done and what followed.
    pub fn add(&mut self, step: &Observation<'_>, times: u32) {
        let (Some(action), Some(next)) = (step.action(), step.next_state()) else { return };
        self.steps += u64::from(times);
        let told = &self.told;
        let is_missing = |what: What| match what {
            What::Key(id) => step.value(id).is_none(),
            What::Lever(i, id) => told.interventions().lever(action, i).is_none() && step.value(id).is_none(),
            What::Payment(term) => step.rewards()[term].is_nan(),
        };
        let lacking: Vec<usize> = (0..self.what.len()).filter(|&i| is_missing(self.what[i])).collect();
        lacking.iter().for_each(|&i| self.missing[i] += u64::from(times));
        for (f, factor) in self.factors.iter_mut().enumerate() {
            let (at, n_values) = (factor.stratum(told, step.state(), action), factor.n_values);
            let cells = n_values * (1 + self.what.len());
            if !factor.strata.contains_key(&at) {
                if self.cells + cells > MOST_CELLS {
                    factor.not_counted += u64::from(times);
                    self.not_counted = self.not_counted.max(factor.not_counted);
                    continue;
                }
                self.cells += cells;
            }
            let stratum = factor.strata.entry(at).or_insert_with(|| vec![0; cells]);
            let value = told.state_space().digit(next, f);
            for row in std::iter::once(0).chain(lacking.iter().map(|i| 1 + i)) {
                let cell = &mut stratum[row * n_values + value];
                *cell = cell.saturating_add(times);
            }
        }
    }

    /// Steps of states and interventions beyond those that there was room for: the tests do not know of them.
    pub fn not_counted(&self) -> u64 {
        self.not_counted
    }

    /// One test for each variable and payment that is missing in some steps and not in all.
    ///
    /// For the next value of each state factor two statistics, within states and interventions as far as these act on it by the graph: the sum over all of them of the difference
    /// between the next values of unrecorded steps and those expected of them (Cochran, Mantel and Haenszel), which sees a dependence of one
    /// direction however few steps there are of each; and Pearson's, summed over states and interventions in which both kinds were seen often, which
    /// sees dependences of different directions. Under independence both have about a χ² distribution; p is the least of them times their number.
    pub fn tests(&self) -> Vec<RecordingTest> {
        let some = |i: &usize| self.missing[*i] > 0 && self.missing[*i] < self.steps;
        (0..self.what.len()).filter(some).map(|i| self.test(i)).collect()
    }

    fn test(&self, of: usize) -> RecordingTest {
        let (mut least, mut n_tests, mut factor) = (1.0f64, 0, None);
        for f in 0..self.factors.len() {
            let found = self.of_factor(of, f).into_iter().flatten();
            for p in found {
                n_tests += 1;
                if p < least {
                    (least, factor) = (p, Some(f));
                }
            }
        }
        let name = |id: VarId| self.told.variable(id).name.clone();
        RecordingTest {
            what: match self.what[of] {
                What::Key(id) => format!("key variable {}", name(id)),
                What::Lever(_, id) => format!("lever {}, left alone", name(id)),
                What::Payment(term) => format!("reward {}", self.told.rewards()[term].name),
            },
            is_payment: matches!(self.what[of], What::Payment(_)),
            missing: self.missing[of],
            steps: self.steps,
            p: (least * f64::from(n_tests.max(1))).min(1.0),
            factor: factor.map(|f: usize| name(self.told.state()[f])),
        }
    }

    /// Both p-values of a factor, where there is enough to say something.
    fn of_factor(&self, of: usize, f: usize) -> [Option<f64>; 2] {
        let Factor { n_values, strata, .. } = &self.factors[f];
        let n_values = *n_values;
        let (mut sum, mut covariance) = (vec![0.0; n_values], vec![0.0; n_values * n_values]);
        let (mut pearson, mut freedom) = (0.0, 0.0);
        for stratum in strata.values() {
            let read = |row: usize| &stratum[row * n_values..][..n_values];
            let (all, lacking) = (read(0), read(1 + of));
            let total = |counts: &[u32]| counts.iter().map(|&n| f64::from(n)).sum::<f64>();
            let (n, m) = (total(all), total(lacking));
            if m == 0.0 || m == n {
                continue;
            }
            let scale = m * (n - m) / (n * n * (n - 1.0));
            for (v, &n_v) in all.iter().enumerate() {
                let n_v = f64::from(n_v);
                sum[v] += f64::from(lacking[v]) - m * n_v / n;
                for (w, &n_w) in all.iter().enumerate() {
                    let same = if v == w { n * n_v } else { 0.0 };
                    covariance[v * n_values + w] += scale * (same - n_v * f64::from(n_w));
                }
            }
            if m >= LEAST && n - m >= LEAST {
                let (statistic, classes) = in_stratum(all, lacking, m / n);
                (pearson, freedom) = (pearson + statistic, freedom + classes);
            }
        }
        let spread = (0..n_values).map(|v| covariance[v * n_values + v]).fold(0.0, f64::max);
        let (statistic, rank) = quadratic(sum, covariance);
        let p = |statistic: f64, freedom: f64| upper_gamma(0.5 * freedom, 0.5 * statistic);
        [(spread >= SPREAD).then(|| p(statistic, rank as f64)), (freedom > 0.0).then(|| p(pearson, freedom))]
    }
}

/// Pearson's statistic of one state and intervention and its degrees of freedom; next values with few expected steps are one class.
fn in_stratum(all: &[u32], lacking: &[u32], share: f64) -> (f64, f64) {
    let (mut classes, mut rest): (Vec<[f64; 2]>, [f64; 2]) = (Vec::new(), [0.0; 2]);
    for (&n, &m) in all.iter().zip(lacking) {
        let (n, m) = (f64::from(n), f64::from(m));
        if n * share.min(1.0 - share) >= EXPECTED {
            classes.push([n, m]);
        } else {
            rest = [rest[0] + n, rest[1] + m];
        }
    }
    if rest[0] * share.min(1.0 - share) >= EXPECTED {
        classes.push(rest);
    }
    let (n, m) = classes.iter().fold((0.0, 0.0), |(n, m), c| (n + c[0], m + c[1]));
    let share = m / n;
    if classes.len() < 2 || share <= 0.0 || share >= 1.0 {
        return (0.0, 0.0);
    }
    let of = |[n, m]: &[f64; 2]| (m - n * share) * (m - n * share) / (n * share * (1.0 - share));
    (classes.iter().map(of).sum(), classes.len() as f64 - 1.0)
}

/// xᵀ A⁻ x and the rank of A, positive semidefinite, by elimination with the largest pivot first.
fn quadratic(mut x: Vec<f64>, mut a: Vec<f64>) -> (f64, usize) {
    let n = x.len();
    let largest = |a: &[f64], left: &[usize]| {
        left.iter().copied().max_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j])).map(|i| (i, a[i * n + i]))
    };
    let mut left: Vec<usize> = (0..n).collect();
    let scale = largest(&a, &left).map_or(0.0, |(_, pivot)| pivot);
    let (mut statistic, mut rank) = (0.0, 0);
    while let Some((at, pivot)) = largest(&a, &left).filter(|(_, pivot)| *pivot > 1e-9 * scale) {
        statistic += x[at] * x[at] / pivot;
        rank += 1;
        left.retain(|&i| i != at);
        for &i in &left {
            let factor = a[i * n + at] / pivot;
            x[i] -= factor * x[at];
            for &j in &left {
                a[i * n + j] -= factor * a[at * n + j];
            }
        }
    }
    (statistic, rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quadratic_form_is_that_of_the_inverse_and_knows_its_rank() {
        // [[2, 1], [1, 3]]⁻¹ = [[3, −1], [−1, 2]] / 5
        let (found, rank) = quadratic(vec![1.0, 2.0], vec![2.0, 1.0, 1.0, 3.0]);
        assert!((found - (3.0 - 4.0 + 8.0) / 5.0).abs() < 1e-12 && rank == 2);
        let (found, rank) = quadratic(vec![1.0, -1.0], vec![0.5, -0.5, -0.5, 0.5]);
        assert!((found - 2.0).abs() < 1e-12 && rank == 1);
    }
}
