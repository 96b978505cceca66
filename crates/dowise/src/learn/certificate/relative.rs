//! Values up to a constant of each stage: much narrower bounds than those of the values themselves.
//!
//! Whatever is not known far ahead raises or lowers all values alike, and only differences of values decide. Suppose that at the
//! next stage V(y) = κ + m(y) + f(y) with |f(y)| ≤ w(y) and a number κ that nobody knows. Then for any distribution ρ
//!
//! ```text
//! Σ_c P(c | s, a) p_c·V = (κ + ρ·f) + Σ_c P(c | s, a) p_c·m + (p_a − ρ)·f,   |(p_a − ρ)·f| ≤ Σ_y w(y) max |p_a(y) − ρ(y)|,
//! ```
//!
//! with p_a = Σ_c P(c | s, a) p_c, so that at this stage, with κ + ρ·f for κ, every value lies within what r_c + p_c·m plus or minus that sum
//! comes to. What was not known ahead is multiplied by how far interventions differ in where they lead, stage by stage; in the
//! bounds of the values themselves it adds up. Two other choices are as valid: κ as it was, with p_c·f between the worst and the
//! best members for ∓w, and κ = 0 with the bounds of the values. At each stage the one with the smallest sum of widths is taken.
//!
//! With a discount γ and what arriving pays, V(y) above is arrival(y) + γ V(y), and κ becomes γ κ: one number for all next states as before.
//! Not so where episodes end: an ended state is worth what arriving there pays, whatever κ is. There κ = 0 at all stages.

use super::difference::{Difference, Effect, Joint, Other};
use crate::learn::belief::Belief;
use crate::plan::Lookahead;

/// Bounds of values up to a constant of each stage, `[stage][state]`, and one stage of zeros.
#[derive(Clone, Debug, Default)]
pub(super) struct Relative {
    middle: Vec<f64>,
    half: Vec<f64>,
}

impl Relative {
    /// The middle and half the width of a stage.
    pub(super) fn at(&self, stage: usize, n: usize) -> [&[f64]; 2] {
        [&self.middle, &self.half].map(|x| &x[stage * n..(stage + 1) * n])
    }
}

/// Upper and lower ends for every state.
type Ends = [Vec<f64>; 2];

impl Difference<'_> {
    /// The values of the best policy, or of a fixed one, up to a constant of each stage.
    pub(super) fn relative_values(&mut self, other: Other) -> Relative {
        let (n, horizon) = (self.up.n_states, self.up.horizon);
        let ends_early = self.best.ended().is_some();
        let mut relative = Relative { middle: vec![0.0; (horizon + 1) * n], half: vec![0.0; (horizon + 1) * n] };
        for stage in (0..horizon).rev() {
            let mut ends = self.interval(other, stage).map(<[f64]>::to_vec);
            // At the last stage nothing is ahead but what arriving somewhere pays.
            let ahead = stage + 1 < horizon || self.best.pays_on_arrival();
            if self.compares(other) && ahead && !ends_early {
                let [middle, half] = relative.at(stage + 1, n).map(<[f64]>::to_vec);
                for candidate in self.one_stage(other, stage, &middle, &half) {
                    if width(&candidate) < width(&ends) {
                        ends = candidate;
                    }
                }
            }
            for (s, (up, low)) in ends[0].iter().zip(&ends[1]).enumerate() {
                relative.middle[stage * n + s] = low + 0.5 * (up - low);
                relative.half[stage * n + s] = (0.5 * (up - low)).max(0.0);
            }
        }
        relative
    }

    /// The ends with the constant as it was, and with ρ·f added to it.
    fn one_stage(&mut self, other: Other, stage: usize, middle: &[f64], half: &[f64]) -> Vec<Ends> {
        let shifted = |sign: f64| middle.iter().zip(half).map(|(m, w)| m + sign * w).collect::<Vec<f64>>();
        let look = |belief: &mut Belief, next: &[f64]| {
            let mut out = Vec::new();
            belief.expect_by_sets(stage, next, &mut out);
            out.iter_mut().zip(belief.rewards()).for_each(|(q, r)| *q += r);
            out
        };
        let plain = [look(&mut self.best, &shifted(1.0)), look(&mut self.worst, &shifted(-1.0))];
        let mut out = vec![self.choose(other, stage, &plain, None)];
        if !self.entries.is_empty() {
            let centred = [look(&mut self.best, middle), look(&mut self.worst, middle)];
            let (middle, half) = (self.best.worth_of(middle), self.best.later_of(half));
            out.push(self.choose(other, stage, &centred, Some((&middle, &half))));
        }
        out
    }

    /// What the other policy makes of what causes are worth, upper and lower ends; with the middle and half the width of what next states
    /// are worth, of how far these are apart from ρ as well.
    fn choose(&self, other: Other, stage: usize, [up_sc, low_sc]: &Ends, ahead: Option<(&[f64], &[f64])>) -> Ends {
        let (n, n_causes) = (self.up.n_states, up_sc.len() / self.up.n_states);
        let mut joint = Joint::default();
        let rho = ahead.map(|_| self.typical_next(stage, &mut joint));
        let [reward_up, reward_low] = [&self.best, &self.worst].map(Belief::rewards);
        let mut ends = [Vec::with_capacity(n), Vec::with_capacity(n)];
        for state in 0..n {
            let [up, low] = [up_sc, low_sc].map(|q| &q[state * n_causes..(state + 1) * n_causes]);
            if ahead.is_some() {
                self.fill_joint(stage, state, &mut joint);
            }
            let mut of = |a: &Effect| {
                let [mut most, mut least] = [a.mean(up), a.mean(low)];
                let (Some((middle, half)), Some(rho)) = (ahead, &rho) else { return [most, least] };
                let rows = self.rows_together(stage, state);
                if let Some(rows) = rows {
                    let [centre, off] = rows.mean(&a.at, middle, &mut joint.scratch);
                    let of = state * n_causes..(state + 1) * n_causes;
                    most = most.min(a.mean(&reward_up[of.clone()]) + centre + off);
                    least = least.max(a.mean(&reward_low[of]) + centre - off);
                }
                let apart = joint.apart(&a.at, rho, half, rows);
                [most + apart, least - apart]
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
        ends
    }

    /// ρ: the mean of where the plan of the worst members leads.
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

fn width(ends: &Ends) -> f64 {
    ends[0].iter().zip(&ends[1]).map(|(up, low)| up - low).sum()
}
