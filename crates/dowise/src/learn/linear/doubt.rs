//! Misspecification checks of a linear fit: fewer steps than weights, and residuals that do not average out.

use std::fmt;

use nalgebra::DVector;

use crate::kernel::CauseSpace;
use crate::world::{VarId, World};

use super::learner::LinearLearner;
use super::options::Regression;
use super::residuals::Residuals;

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
    /// O(d³ + (d + next states) · visited pairs).
    pub fn doubts(&self) -> Vec<Doubt> {
        let (dimension, steps) = (self.features.dimension(), self.model.designs.iter().map(|d| d.met.steps).sum());
        let mut out = Vec::new();
        if steps < dimension as u64 {
            out.push(Doubt::FewSteps { steps, dimension });
        }
        // ψ(s, a) has no key variables to group by, and before the first plan there are no values.
        if self.options().regression == Regression::Causes && self.plans > 0 && steps > dimension as u64 {
            out.extend(self.worst_residuals());
        }
        out
    }

    fn worst_residuals(&self) -> Option<Doubt> {
        let n = self.plan.n_states;
        let floor = self.model.sizes.floor(0);
        let ahead = &self.plan.value_hs[n..2 * n].iter().map(|v| v - floor).collect::<Vec<f64>>()[..];
        let mut off_by = OffBy::new(self.knowledge.world(), &self.key_causes);
        for design in &self.model.designs {
            // Without the ridge: its shrinkage of rarely observed features is no misfit.
            let mut fitted = DVector::zeros(self.features.dimension());
            design.sums(ahead, &mut fitted);
            let residuals = Residuals::of(&design.met, self.model.sizes.regressed);
            let range = self.model.range_left(0);
            let weights = residuals.posterior(&self.model.columns, design, &fitted, ahead, range).mean;
            residuals.each(&self.model.columns, &weights, ahead, |cell, visits, off| {
                off_by.add((cell / self.key_causes.len(), cell % self.key_causes.len()), visits, off);
            });
        }
        off_by.worst(self.model.range_left(0))
    }
}

/// Residuals by values of state factors and key variables.
pub(super) struct OffBy<'a> {
    world: &'a World,
    causes: &'a CauseSpace,
    /// Groups of values of each variable, with their residuals.
    sums: Vec<Vec<Sums>>,
}

impl<'a> OffBy<'a> {
    pub(super) fn new(world: &'a World, causes: &'a CauseSpace) -> OffBy<'a> {
        let mut out = OffBy { world, causes, sums: Vec::new() };
        out.sums = out.ids().map(|id| vec![(0.0, 0.0, 0.0); world.variable(id).size().min(RANGES)]).collect();
        out
    }

    fn ids(&self) -> impl Iterator<Item = VarId> {
        self.world.state().iter().copied().chain(self.causes.variables().iter().copied())
    }

    /// Adds the residual of this many steps in a state under a configuration.
    pub(super) fn add(&mut self, (state, cause): (usize, usize), visits: f64, off: f64) {
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
    pub(super) fn worst(&self, range: f64) -> Option<Doubt> {
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
