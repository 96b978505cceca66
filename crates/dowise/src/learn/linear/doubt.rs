//! Misspecification checks of a linear fit: fewer steps than weights, and residuals that do not average out.

use std::fmt;

use crate::kernel::CauseSpace;
use crate::world::{VarId, World};

use super::fit::Steps;
use super::learner::{LinearLearner, Storage};
use super::options::Regression;
use super::residuals::Posterior;

/// Probability of a false warning in a linear world with normal residuals.
const DELTA: f64 = 0.01;

/// A mean residual below this share of the range of values is ignored: if values hardly differ, shrinkage by the prior
/// is significant but negligible.
const MATTERS: f64 = 1e-5;

/// Most groups of values of a variable; more values are grouped into ranges.
const RANGES: usize = 16;

/// A warning about a linear fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// There are fewer steps than weights.
    FewSteps {
        /// Observed steps.
        steps: u64,
        /// Weights (d).
        dimension: usize,
    },
    /// The residuals of some steps have a nonzero mean: the world is not linear in the features there, and more steps
    /// do not help.
    Residuals {
        /// The steps, by the values of a variable.
        place: String,
        /// Their number.
        steps: u64,
        /// Mean of reward plus next value, less the fitted value.
        mean: f64,
        /// The mean in standard deviations.
        deviations: f64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::FewSteps { steps, dimension } => write!(
                f,
                "{dimension} weights are fitted to {steps} steps, so most of them are what the prior says; see more, or choose fewer features"
            ),
            Doubt::Residuals { place, steps, mean, deviations } => write!(
                f,
                "where {place} the fit is off by {mean:.3} on average over {steps} steps, {:.1} standard deviations: the world is not \
                 linear in these features, and more steps will not mend it; add features of that variable",
                deviations.abs()
            ),
        }
    }
}

/// Steps, sum and sum of squares of residuals.
type Sums = (f64, f64, f64);

impl LinearLearner {
    /// Warnings about the fit: too few steps, and the variable with the largest mean residual, if it is significant at
    /// one in a hundred linear worlds.
    ///
    /// Residuals are those of r + V₂(s'), with the values of the present plan, on the observed φ(s, z). Steps are
    /// grouped by each value of each state factor and key variable (or range of values, beyond 16). The sum of a group
    /// is compared with chance, by the spread of all residuals or of the group, whichever is larger. Steps depend on
    /// the plan, so this is a warning and no test.
    ///
    /// # Cost
    /// O(d³ + (d + next states) · visited pairs), or O(d³ + n · d) for n steps over visited states, and the values of
    /// the second stage.
    pub fn doubts(&self) -> Vec<Doubt> {
        let (problem, world) = (&self.problem, self.knowledge().world());
        let range = problem.sizes.range_left(0);
        match &self.storage {
            Storage::Enumerated(states) => {
                // ψ(s, a) has no key variables to group by, and before the first plan there are no values.
                let planned = problem.options.regression == Regression::Causes && self.plans > 0;
                let values = planned.then_some(|| {
                    let (n, floor) = (states.plan.n_states, problem.sizes.floor(0));
                    states.plan.value_hs[n..2 * n].iter().map(|v| v - floor).collect()
                });
                let off_by = OffBy::new(world, states.key_causes());
                states.with_steps(problem, |steps| doubts_of(steps, off_by, range, values))
            }
            Storage::Visited(states) => {
                let planned = self.plans > 0 && problem.sizes.horizon > 1;
                let values = planned.then_some(|| states.first_worth(problem));
                doubts_of(&states.steps(), OffBy::new(world, states.causes()), range, values)
            }
        }
    }
}

/// Warnings about the fit of these designs. `worth` computes continuation values of the first stage, if there is a
/// plan; `range` is the range of the targets.
fn doubts_of(
    designs: &[impl Steps],
    mut off_by: OffBy<'_>,
    range: f64,
    worth: Option<impl FnOnce() -> Vec<f64>>,
) -> Vec<Doubt> {
    let dimension = designs[0].gram().dimension();
    let count: u64 = designs.iter().map(Steps::count).sum();
    if count < dimension as u64 {
        return vec![Doubt::FewSteps { steps: count, dimension }];
    }
    let Some(worth) = worth.filter(|_| count > dimension as u64) else { return Vec::new() };
    let worth = worth();
    for steps in designs {
        // Without the ridge: its shrinkage of rarely observed features is no misfit.
        let posterior = Posterior::new(steps, &steps.sums(&worth), &worth, range);
        steps.each(&posterior.mean, &worth, |place, visits, off| off_by.add(place, visits, off));
    }
    off_by.worst(range).into_iter().collect()
}

/// Residuals by values of state factors and key variables.
struct OffBy<'a> {
    world: &'a World,
    causes: &'a CauseSpace,
    /// Groups of values of each variable, with their residuals.
    sums: Vec<Vec<Sums>>,
}

impl<'a> OffBy<'a> {
    fn new(world: &'a World, causes: &'a CauseSpace) -> OffBy<'a> {
        let mut out = OffBy { world, causes, sums: Vec::new() };
        out.sums = out.ids().map(|id| vec![(0.0, 0.0, 0.0); world.variable(id).size().min(RANGES)]).collect();
        out
    }

    fn ids(&self) -> impl Iterator<Item = VarId> {
        self.world.state().iter().copied().chain(self.causes.variables().iter().copied())
    }

    /// Adds the residual of this many steps in a state under a configuration.
    fn add(&mut self, (state, cause): (usize, usize), visits: f64, off: f64) {
        let factors = self.world.state().len();
        for (i, of) in self.sums.iter_mut().enumerate() {
            let (id, value) = match self.world.state().get(i) {
                Some(&id) => (id, self.world.state_space().digit(state, i)),
                None => (self.causes.variables()[i - factors], self.causes.digit(cause, i - factors)),
            };
            let group = value * of.len() / self.world.variable(id).size();
            let of = &mut of[group];
            *of = (of.0 + visits, of.1 + visits * off, of.2 + visits * off * off);
        }
    }

    /// The group with the largest deviation, if it is significant and relevant for this range of values.
    fn worst(&self, range: f64) -> Option<Doubt> {
        let total: usize = self.sums.iter().map(Vec::len).sum();
        let bound = (2.0 * crate::math::ln(2.0 * total as f64 / DELTA)).sqrt();
        // Rare large values may be absent from a group, so its own spread counts only if it is larger.
        let (steps, squares) = self.sums.first()?.iter().fold((0.0, 0.0), |(n, sum), of| (n + of.0, sum + of.2));
        let overall = squares / steps;
        let of_group = |(i, group, &(n, sum, squares)): (usize, usize, &Sums)| {
            (i, group, n, sum, sum / (n * overall.max(squares / n)).sqrt())
        };
        let all = self.sums.iter().enumerate().flat_map(|(i, of)| of.iter().enumerate().map(move |(g, s)| (i, g, s)));
        let worst = all.filter(|(_, _, s)| s.2 > 0.0).map(of_group).max_by(|a, b| a.4.abs().total_cmp(&b.4.abs()))?;
        let (i, group, n, sum, deviations) = worst;
        let id = self.ids().nth(i)?;
        (deviations.abs() > bound && (sum / n).abs() > MATTERS * range).then(|| Doubt::Residuals {
            place: place(self.world, id, group, self.sums[i].len()),
            steps: n as u64,
            mean: sum / n,
            deviations,
        })
    }
}

/// `z = "3"`, or `s is from "0" to "255"`.
fn place(world: &World, id: VarId, group: usize, groups: usize) -> String {
    let variable = world.variable(id);
    let n = variable.size();
    // Values v with v · groups / n = group.
    let (first, last) = ((group * n).div_ceil(groups), ((group + 1) * n).div_ceil(groups) - 1);
    if first == last {
        format!("{} = \"{}\"", variable.name, variable.values[first])
    } else {
        format!("{} is from \"{}\" to \"{}\"", variable.name, variable.values[first], variable.values[last])
    }
}
