//! Misspecification checks of a linear fit: fewer steps than weights, and residuals that do not average out.

use std::fmt;

use nalgebra::DVector;

use crate::kernel::CauseSpace;
use crate::world::{VarId, World};

use super::learner::LinearLearner;
use super::options::Regression;
use super::residuals::Residuals;

/// Probability with which a linear world would be doubted for its residuals, if they were normal.
const DELTA: f64 = 0.01;

/// A mean residual below this part of the range of values is no reason to doubt: where values hardly differ, what the prior takes off the
/// weights is far beyond chance, and nothing.
const MATTERS: f64 = 1e-5;

/// Values of a variable with more than this many are taken together in as many ranges.
const RANGES: usize = 16;

/// A reason to doubt what a regression says.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// Fewer steps were seen than there are weights.
    FewSteps {
        /// Steps seen.
        steps: u64,
        /// Weights (d).
        dimension: usize,
    },
    /// The residuals of some steps have a mean that is not 0, and more steps will not mend it: the world is not linear in the
    /// features there.
    Residuals {
        /// Which steps: those with these values of a variable.
        place: String,
        /// How many there are.
        steps: u64,
        /// Mean of what was received and expected ahead, less what was fitted.
        mean: f64,
        /// How many standard deviations that is from 0.
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
    /// Reasons to doubt the fit: too few steps, and the variable whose residuals are farthest from 0 on average, if that is
    /// farther than chance makes them in one of a hundred linear worlds.
    ///
    /// Residuals are those of r + V₂(s'), with the values of the present plan, on the observed φ(s, z); for each value of each state
    /// factor and key variable (or range of values, beyond 16) their sum is compared with what chance makes of as many residuals of
    /// the spread that all of them have, or these, if that is larger.
    /// Steps of one stage after the other are not independent of the plan, so this is a warning and no test.
    ///
    /// # Cost
    /// O(d³ + (d + next states) · pairs met).
    pub fn doubts(&self) -> Vec<Doubt> {
        let (dimension, steps) = (self.features.dimension(), self.model.designs.iter().map(|d| d.met.steps).sum());
        let mut out = Vec::new();
        if steps < dimension as u64 {
            out.push(Doubt::FewSteps { steps, dimension });
        }
        // ψ(s, a) has no key variables to group by, and nothing was planned ahead for before the first plan.
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
            // Not the ridge: what λ takes off the weights of features that were seen rarely is no misfit.
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
    /// Groups of values of each variable, and what was off there.
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

    /// Takes in a residual of so many steps in a state under a cause.
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

    /// The group that is farthest off, if that is farther than chance makes it and matters where values have this range.
    pub(super) fn worst(&self, range: f64) -> Option<Doubt> {
        let total: usize = self.sums.iter().map(Vec::len).sum();
        let bound = (2.0 * crate::math::ln(2.0 * total as f64 / DELTA)).sqrt();
        // What is rare and large may be missing from a group altogether, so its own spread counts only where it is the larger one.
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
