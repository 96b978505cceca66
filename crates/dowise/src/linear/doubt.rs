//! What speaks against a linear fit: fewer steps than weights, and residuals that do not average out.

use std::fmt;

use nalgebra::DVector;

use crate::world::World;

use super::learner::LinearLearner;
use super::options::Regression;
use super::residuals::Residuals;

/// Probability with which a linear world would be doubted for its residuals, if they were normal.
const DELTA: f64 = 0.01;

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
        let world = self.knowledge.world();
        let n = self.plan.n_states;
        let ahead = &self.plan.value_hs[n..2 * n];
        let ids = || world.state().iter().copied().chain(self.key_causes.variables().iter().copied());
        let groups: Vec<usize> = ids().map(|id| world.variable(id).size().min(RANGES)).collect();
        let mut sums: Vec<Vec<Sums>> = groups.iter().map(|&n| vec![(0.0, 0.0, 0.0); n]).collect();
        for design in &self.model.designs {
            // Not the ridge: what λ takes off the weights of features that were seen rarely is no misfit.
            let mut fitted = DVector::zeros(self.features.dimension());
            design.sums(ahead, &mut fitted);
            let residuals = Residuals::of(&design.met, self.model.sizes.regressed);
            let range = self.model.range_left(0);
            let weights = residuals.posterior(&self.model.columns, design, &fitted, ahead, range).mean;
            residuals.each(&self.model.columns, &weights, ahead, |cell, visits, off| {
                let (state, cause) = (cell / self.key_causes.len(), cell % self.key_causes.len());
                for (i, id) in ids().enumerate() {
                    let value = match world.state().get(i) {
                        Some(_) => world.state_space().digit(state, i),
                        None => self.key_causes.digit(cause, i - world.state().len()),
                    };
                    let of = &mut sums[i][value * groups[i] / world.variable(id).size()];
                    *of = (of.0 + visits, of.1 + visits * off, of.2 + visits * off * off);
                }
            });
        }
        let total: usize = groups.iter().sum();
        let bound = (2.0 * crate::math::ln(2.0 * total as f64 / DELTA)).sqrt();
        // What is rare and large may be missing from a group altogether, so its own spread counts only where it is the larger one.
        let (steps, squares) = sums.first()?.iter().fold((0.0, 0.0), |(n, sum), of| (n + of.0, sum + of.2));
        let overall = squares / steps;
        let of_group = |(i, group, &(n, sum, squares)): (usize, usize, &Sums)| {
            (i, group, n, sum, sum / (n * overall.max(squares / n)).sqrt())
        };
        let all = sums.iter().enumerate().flat_map(|(i, of)| of.iter().enumerate().map(move |(g, s)| (i, g, s)));
        let worst = all.filter(|(_, _, s)| s.2 > 0.0).map(of_group).max_by(|a, b| a.4.abs().total_cmp(&b.4.abs()))?;
        let (i, group, n, sum, deviations) = worst;
        let id = ids().nth(i)?;
        (deviations.abs() > bound).then(|| Doubt::Residuals {
            place: place(world, id, group, groups[i]),
            steps: n as u64,
            mean: sum / n,
            deviations,
        })
    }
}

/// `z = "3"`, or `s is from "0" to "255"`.
fn place(world: &World, id: crate::world::VarId, group: usize, groups: usize) -> String {
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
