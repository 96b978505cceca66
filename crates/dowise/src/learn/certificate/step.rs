//! One-step comparison of two interventions: a bound, over the confidence sets, on the gain through their next states.
//!
//! Let d_c be the difference of the configurations' probabilities. Let next-state values lie within w of m up to a
//! constant κ, |κ| ≤ k, that counts γ e(y) times in y (e(y) = 1 where the episode continues). Then
//!
//! ```text
//! Σ_c d_c (r_c + p_c·V') ≤ Σ_c d⁺ (r_c + p_c·m)_up − d⁻ (r_c + p_c·m)_low + Σ_y w(y) max |Σ_c d_c p_c(y)| + k max |Σ_c d_c γ p_c·e|.
//! ```
//!
//! Without terminal states the last term is 0, since Σ_c d_c = 0.

use super::joint_set::{Scratch, Together};

/// Effect of an intervention: configurations and their probabilities, in order of configurations.
#[derive(Clone, Debug)]
pub(super) struct Effect {
    pub(super) cost: f64,
    pub(super) at: Vec<(u32, f64)>,
}

/// Inputs of a compared step: values of configurations, `[state][cause]`, under the reference policy's continuation.
#[derive(Default)]
pub(super) struct Ahead {
    /// Upper, and lower bounds.
    pub(super) q: [Vec<f64>; 2],
    pub(super) reward: [Vec<f64>; 2],
    /// Relative values of the next stage; each gives its own bound.
    pub(super) around: Vec<Wrapper>,
}

/// Relative values of next states, as they enter a step.
pub(super) struct Wrapper {
    /// Optimistic and pessimistic r_c + p_c·m, `[state][cause]`.
    pub(super) middle_up: Vec<f64>,
    pub(super) middle_low: Vec<f64>,
    /// m and w as they enter a step, `[next state]`.
    pub(super) middle: Vec<f64>,
    pub(super) half: Vec<f64>,
    /// Bound on |κ|.
    pub(super) constant: f64,
    /// The weight of κ; `None` if it does not depend on the next state.
    pub(super) goes_on: Option<Ends>,
}

/// The weight of the next stage's value in a step: γ p_c(the episode continues).
pub(super) struct Ends {
    /// Optimistic and pessimistic, `[state][cause]`.
    pub(super) up: Vec<f64>,
    pub(super) low: Vec<f64>,
    /// γ 1{y has not ended}, `[next state]`.
    pub(super) weight: Vec<f64>,
}

pub(super) fn sparse(prob: &[f64]) -> Vec<(u32, f64)> {
    prob.iter().enumerate().filter(|(_, p)| **p > 0.0).map(|(c, p)| (c as u32, *p)).collect()
}

/// Bounds of the probability of every next state, `[cause][next state]`; no next states if they are not compared.
#[derive(Default)]
pub(super) struct Joint {
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    pub(super) n_next: usize,
    /// Buffers: the least and the greatest difference of probabilities, and others.
    ends: [Vec<f64>; 2],
    pub(super) scratch: Scratch,
}

/// One state at one stage.
pub(super) struct Here<'a> {
    pub(super) ahead: &'a Ahead,
    /// Its configurations among those of all states.
    pub(super) cells: std::ops::Range<usize>,
    pub(super) joint: &'a mut Joint,
    pub(super) d: &'a mut Vec<(u32, f64)>,
    pub(super) rows: Option<RowsOf<'a>>,
}

/// The joint confidence set of one state's rows.
#[derive(Clone, Copy)]
pub(super) struct RowsOf<'a> {
    pub(super) together: &'a Together,
    pub(super) block: usize,
    pub(super) state: usize,
}

impl RowsOf<'_> {
    /// Σ_c d_c p_c·m: its value at the frequencies, and its maximal error.
    pub(super) fn mean(&self, d: &[(u32, f64)], m: &[f64], scratch: &mut Scratch) -> [f64; 2] {
        self.together.mean(self.block, self.state, d, m, scratch)
    }

    /// Σ_c d_c p_c(y): its value at the frequencies, and its maximal error.
    fn probability(&self, d: &[(u32, f64)], y: usize, scratch: &mut Scratch) -> [f64; 2] {
        self.together.probability(self.block, self.state, d, y, scratch)
    }
}

impl Here<'_> {
    /// Upper bound on Σ_c (P(c | s, a) − P(c | s, b)) q(s, c) − cost(a) + cost(b).
    pub(super) fn gain(&mut self, a: &Effect, b: &Effect) -> f64 {
        subtract(&a.at, &b.at, self.d);
        let Ahead { q: [q_up, q_low], reward: [reward_up, reward_low], around } = self.ahead;
        let d = &*self.d;
        let cells = &self.cells;
        let bound = |up: &[f64], low: &[f64]| -> f64 {
            let (up, low) = (&up[cells.clone()], &low[cells.clone()]);
            d.iter().map(|&(c, d)| d * if d > 0.0 { up[c as usize] } else { low[c as usize] }).sum()
        };
        let mut gain = bound(q_up, q_low);
        let around = if self.joint.n_next > 0 { &around[..] } else { &[] };
        for near in around {
            let mut of_middle = bound(&near.middle_up, &near.middle_low);
            if let Some(rows) = self.rows {
                let [centre, off] = rows.mean(d, &near.middle, &mut self.joint.scratch);
                of_middle = of_middle.min(bound(reward_up, reward_low) + centre + off);
            }
            let mut of_constant = 0.0;
            if let Some(Ends { up, low, weight }) = &near.goes_on {
                let mut ends = [bound(low, up), bound(up, low)];
                if let Some(rows) = self.rows {
                    let [centre, off] = rows.mean(d, weight, &mut self.joint.scratch);
                    ends = [ends[0].max(centre - off), ends[1].min(centre + off)];
                }
                of_constant = near.constant * ends[0].abs().max(ends[1].abs());
            }
            gain = gain.min(of_middle + of_constant + self.joint.spread(d, &near.half, self.rows));
        }
        gain - a.cost + b.cost
    }
}

impl Joint {
    /// Σ_y half(y) max |Σ_c P(c) p_c(y) − ρ(y)|
    pub(super) fn apart(&mut self, prob: &[(u32, f64)], rho: &[f64], half: &[f64], rows: Option<RowsOf<'_>>) -> f64 {
        self.mix(prob, half, rows);
        let [least, most] = &self.ends;
        let farthest = least.iter().zip(most).zip(rho).map(|((lo, hi), r)| (hi - r).max(r - lo));
        farthest.zip(half).map(|(d, w)| d * w).sum()
    }

    /// Σ_y half(y) max |Σ_c d_c p_c(y)|
    fn spread(&mut self, d: &[(u32, f64)], half: &[f64], rows: Option<RowsOf<'_>>) -> f64 {
        self.mix(d, half, rows);
        let [least, most] = &self.ends;
        half.iter().zip(least).zip(most).map(|((w, least), most)| w * least.abs().max(most.abs())).sum()
    }

    /// The least and the greatest of Σ_c d_c p_c(y), for every next state.
    fn mix(&mut self, d: &[(u32, f64)], half: &[f64], rows: Option<RowsOf<'_>>) {
        let Joint { low, high, n_next, ends: [least, most], scratch } = self;
        for ends in [&mut *least, &mut *most] {
            ends.clear();
            ends.resize(*n_next, 0.0);
        }
        for &(c, d) in d {
            let row = c as usize * *n_next..(c as usize + 1) * *n_next;
            let (low, high) = (&low[row.clone()], &high[row]);
            let (low, high) = if d > 0.0 { (low, high) } else { (high, low) };
            least.iter_mut().zip(low).for_each(|(x, p)| *x += d * p);
            most.iter_mut().zip(high).for_each(|(x, p)| *x += d * p);
        }
        let Some(rows) = rows else { return };
        for y in (0..*n_next).filter(|&y| half[y] > 0.0) {
            let [centre, off] = rows.probability(d, y, scratch);
            (least[y], most[y]) = (least[y].max(centre - off), most[y].min(centre + off));
        }
    }
}

impl Effect {
    /// Σ_c P(c | s, a) of(c)
    pub(super) fn later(&self, of: &[f64]) -> f64 {
        self.at.iter().map(|&(c, p)| p * of[c as usize]).sum()
    }

    /// Σ_c P(c | s, a) of(c) − cost(a)
    pub(super) fn mean(&self, of: &[f64]) -> f64 {
        self.later(of) - self.cost
    }
}

/// The differences of two lists of probabilities, both in order of configurations.
fn subtract(a: &[(u32, f64)], b: &[(u32, f64)], out: &mut Vec<(u32, f64)>) {
    out.clear();
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (None, None) => return,
            (Some(x), None) => x.0,
            (None, Some(y)) => y.0,
            (Some(x), Some(y)) => x.0.min(y.0),
        };
        let take = |list: &mut std::iter::Peekable<std::slice::Iter<'_, (u32, f64)>>| {
            list.next_if(|(c, _)| *c == next).map_or(0.0, |(_, p)| *p)
        };
        let d = take(&mut a) - take(&mut b);
        if d != 0.0 {
            out.push((next, d));
        }
    }
}
