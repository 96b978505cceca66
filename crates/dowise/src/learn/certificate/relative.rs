//! Relative values (up to a constant of each stage): much narrower bounds than those of the values themselves.
//!
//! Uncertainty far ahead shifts all values alike, and only differences of values matter for decisions. Suppose that at
//! the next stage V(y) = κ + m(y) + f(y) with |f(y)| ≤ w(y) and an unknown number κ. Then for any distribution ρ
//!
//! ```text
//! Σ_c P(c | s, a) p_c·V = (κ + ρ·f) + Σ_c P(c | s, a) p_c·m + (p_a − ρ)·f,   |(p_a − ρ)·f| ≤ Σ_y w(y) max |p_a(y) − ρ(y)|,
//! ```
//!
//! with p_a = Σ_c P(c | s, a) p_c. So at this stage, with κ + ρ·f for κ, every value lies within that sum of the
//! bounds of r_c + p_c·m. Uncertainty ahead is multiplied, stage by stage, by how far the next-state distributions of
//! interventions differ. In the bounds of the values themselves it accumulates. Two other choices are valid: the same
//! κ, with p_c·f between its pessimistic and optimistic estimates for ∓w, and κ = 0 with the bounds of the values. At
//! each stage the choice with the smallest sum of widths is used.
//!
//! With a discount γ and next-state rewards, V(y) above is arrival(y) + γ V(y), and κ becomes γ κ: still one number
//! for all next states.
//!
//! Terminal states break this. With e(y) = 1 where an episode that reaches y continues, else 0, a step's continuation
//! is arrival(y) + γ e(y) (κ + m(y) + f(y)), and κ counts g_a = γ p_a·e times. A carried bound k of |κ| bounds the
//! remainder after the constant of this stage is removed:
//!
//! ```text
//! κ as it was:    constant γ κ,                   |κ (g_a − γ)| ≤ k max (γ − g_a),       k becomes γ k
//! ρ·f added:      constant κ γ ρ·e + γ ρ·(e f),   |κ (g_a − γ ρ·e)| ≤ k max |g_a − γ ρ·e|,   k becomes k γ ρ·e + γ ρ·(e w)
//! κ = 0:                                                                                  k = 0
//! ```
//!
//! A narrower V up to an unknown κ may then serve worse than a wider V. So policies are also compared with κ = 0
//! throughout.

use super::difference::{Difference, Other, look};
use super::step::{Effect, Ends, Joint};
use crate::learn::Plans;
use crate::learn::belief::Belief;
use crate::plan::Lookahead;

/// Relative values: bounds up to a constant of each stage, `[stage][state]`, and one stage of zeros.
#[derive(Clone, Debug, Default)]
pub(super) struct Relative {
    middle: Vec<f64>,
    half: Vec<f64>,
    /// Bound on |κ|, `[stage]`; unused without terminal states.
    constant: Vec<f64>,
}

impl Relative {
    /// The middle and half the width of a stage.
    pub(super) fn at(&self, stage: usize, n: usize) -> [&[f64]; 2] {
        [&self.middle, &self.half].map(|x| &x[stage * n..(stage + 1) * n])
    }

    /// Bound on the constant of a stage.
    pub(super) fn constant(&self, stage: usize) -> f64 {
        self.constant[stage]
    }
}

/// Bounds of the values of a stage up to a constant: upper and lower ends for every state, and a bound on the
/// constant.
struct Bounds {
    ends: [Vec<f64>; 2],
    constant: f64,
}

/// Relative values of the next stage, as they enter this one.
struct Next<'a> {
    /// Optimistic and pessimistic r_c + p_c·m, with m ± w or with m alone.
    q: [Vec<f64>; 2],
    goes_on: Option<&'a Ends>,
    /// Bound on |κ|.
    constant: f64,
    /// m and w, if ρ·f is added to the constant.
    apart: Option<[Vec<f64>; 2]>,
}

impl Difference<'_> {
    /// The relative values of the optimal policy, or of a fixed one; with terminal states, with the constant 0 as
    /// well.
    pub(super) fn all_relative_values(&mut self, other: Other) -> Vec<Relative> {
        let mut all = vec![self.relative_values(other, true)];
        if self.best.ended().is_some() && self.compares(other) {
            all.push(self.relative_values(other, false));
        }
        all
    }

    fn relative_values(&mut self, other: Other, with_constants: bool) -> Relative {
        let (n, horizon) = (self.up.n_states, self.up.horizon);
        let zeros = vec![0.0; (horizon + 1) * n];
        let mut relative = Relative { middle: zeros.clone(), half: zeros, constant: vec![0.0; horizon + 1] };
        for stage in (0..horizon).rev() {
            let mut bounds = Bounds { ends: self.interval(other, stage).map(<[f64]>::to_vec), constant: 0.0 };
            // At the last stage only next-state rewards are ahead.
            let ahead = stage + 1 < horizon || self.best.pays_on_next_state();
            if with_constants && self.compares(other) && ahead {
                for candidate in self.one_stage(other, stage, &relative) {
                    if width(&candidate.ends) < width(&bounds.ends) {
                        bounds = candidate;
                    }
                }
            }
            relative.constant[stage] = bounds.constant;
            for (s, (up, low)) in bounds.ends[0].iter().zip(&bounds.ends[1]).enumerate() {
                relative.middle[stage * n + s] = low + 0.5 * (up - low);
                relative.half[stage * n + s] = (0.5 * (up - low)).max(0.0);
            }
        }
        relative
    }

    /// The bounds with an unchanged constant, and with ρ·f added to it.
    fn one_stage(&mut self, other: Other, stage: usize, relative: &Relative) -> Vec<Bounds> {
        let [middle, half] = relative.at(stage + 1, self.up.n_states);
        let constant = relative.constant(stage + 1);
        let goes_on = self.goes_on(stage, constant);
        let goes_on = goes_on.as_ref();
        let shifted = |sign: f64| middle.iter().zip(half).map(|(m, w)| m + sign * w).collect::<Vec<f64>>();
        let q = [look(&mut self.best, stage, &shifted(1.0)), look(&mut self.worst, stage, &shifted(-1.0))];
        let mut out = vec![self.choose(other, stage, &Next { q, goes_on, constant, apart: None })];
        if !self.entries.is_empty() {
            let q = [look(&mut self.best, stage, middle), look(&mut self.worst, stage, middle)];
            let apart = Some([self.best.worth_of(middle), self.best.later_of(half)]);
            out.push(self.choose(other, stage, &Next { q, goes_on, constant, apart }));
        }
        out
    }

    /// The bounds of the reference policy, from the relative values of the next stage.
    fn choose(&self, other: Other, stage: usize, next: &Next<'_>) -> Bounds {
        let (n, n_causes) = (self.up.n_states, next.q[0].len() / self.up.n_states);
        let discount = self.tabular.knowledge().world().discount();
        let mut joint = Joint::default();
        let rho = next.apart.as_ref().map(|_| self.typical_next(stage, &mut joint));
        let over_rho = |of: &[f64]| rho.iter().flatten().zip(of).map(|(r, x)| r * x).sum::<f64>();
        // The weight of κ in the new constant, and the bound on that constant.
        let typical = match (&rho, next.goes_on) {
            (Some(_), Some(goes_on)) => over_rho(&goes_on.weight),
            (Some(_), None) | (None, _) => discount,
        };
        let constant = typical * next.constant + next.apart.as_ref().map_or(0.0, |[_, half]| over_rho(half));
        let [reward_up, reward_low] = [&self.best, &self.worst].map(Belief::rewards);
        let mut ends = [Vec::with_capacity(n), Vec::with_capacity(n)];
        for state in 0..n {
            if self.has_ended(state) {
                ends.iter_mut().for_each(|ends| ends.push(0.0));
                continue;
            }
            let of_state = state * n_causes..(state + 1) * n_causes;
            let [up, low] = [0, 1].map(|end| &next.q[end][of_state.clone()]);
            if rho.is_some() {
                self.fill_joint(stage, state, &mut joint);
            }
            let rows = self.rows_together(stage, state).filter(|_| rho.is_some());
            let mut of = |a: &Effect| {
                let [mut most, mut least] = [a.mean(up), a.mean(low)];
                let mut off = 0.0;
                if let (Some([middle, half]), Some(rho)) = (&next.apart, &rho) {
                    if let Some(rows) = rows {
                        let [centre, off] = rows.mean(&a.at, middle, &mut joint.scratch);
                        most = most.min(a.mean(&reward_up[of_state.clone()]) + centre + off);
                        least = least.max(a.mean(&reward_low[of_state.clone()]) + centre - off);
                    }
                    off += joint.apart(&a.at, rho, half, rows);
                }
                if let Some(goes_on) = next.goes_on {
                    let mut weight = [&goes_on.low, &goes_on.up].map(|g| a.later(&g[of_state.clone()]));
                    if let Some(rows) = rows {
                        let [centre, off] = rows.mean(&a.at, &goes_on.weight, &mut joint.scratch);
                        weight = [weight[0].max(centre - off), weight[1].min(centre + off)];
                    }
                    off += next.constant * (weight[1] - typical).max(typical - weight[0]).max(0.0);
                }
                [most + off, least - off]
            };
            let [highest, lowest] = match other {
                Other::Random => of(self.random_effect(state)),
                Other::Best => {
                    let ends = self.can_be_best(stage, state).map(&mut of);
                    ends.fold([f64::NEG_INFINITY; 2], |best, e| [best[0].max(e[0]), best[1].max(e[1])])
                }
            };
            ends[0].push(highest);
            ends[1].push(lowest);
        }
        Bounds { ends, constant }
    }

    /// ρ: the mean next-state distribution of the pessimistic plan.
    fn typical_next(&self, stage: usize, joint: &mut Joint) -> Vec<f64> {
        let n = self.up.n_states;
        let mut rho = vec![0.0; n];
        for state in 0..n {
            self.fill_joint(stage, state, joint);
            for &(c, p) in &self.effect(state, self.low.action(stage, state)).at {
                let row = c as usize * n..(c as usize + 1) * n;
                let centre = joint.low[row.clone()].iter().zip(&joint.high[row]);
                rho.iter_mut().zip(centre).for_each(|(r, (lo, hi))| *r += p * 0.5 * (lo + hi));
            }
        }
        let total: f64 = rho.iter().sum();
        rho.iter_mut().for_each(|r| *r /= total);
        rho
    }
}

/// Total width over all states.
fn width(ends: &[Vec<f64>; 2]) -> f64 {
    ends[0].iter().zip(&ends[1]).map(|(up, low)| up - low).sum()
}
