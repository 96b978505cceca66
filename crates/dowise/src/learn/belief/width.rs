//! Exploration bonuses (widths) as functions of visit counts: published formulas with their constants and logarithms.

use std::f64::consts::LN_2;

use crate::learn::options::{Causes, Width};
use crate::learn::view::Layout;
use crate::math::{ln, powi};

/// Quantities shared by the formulas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// H
    pub(crate) horizon: f64,
    /// K
    pub(crate) episodes: f64,
    /// δ
    pub(crate) delta: f64,
    /// Range of the rewards of a step, costs included.
    pub(crate) range: f64,
    /// Range of next-state rewards, which are part of the average over next states.
    pub(crate) arrival: f64,
}

/// A width prepared for one learner: coefficients per factor, and the dependence on stages and variances.
#[derive(Clone, Debug)]
pub(crate) struct Widths {
    kind: Width,
    sizes: Sizes,
    scale: f64,
    /// First-order coefficient of each factor.
    first: Vec<f64>,
    /// Coefficient of the L1 radius of each factor, for cross terms; empty if there are none.
    cross: Vec<f64>,
    /// The logarithm, for widths that use a variance.
    log: f64,
    n_states: f64,
    n_causes: f64,
}

/// The stage-free parts of a width at a state and configuration; infinite if some factor's row is unvisited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WidthParts {
    pub(crate) first: f64,
    pub(crate) second: f64,
}

/// A width scale · min(most, first · part + second · other part), and infinite for unvisited rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    first: f64,
    second: f64,
    most: f64,
    scale: f64,
}

impl Plain {
    #[inline(always)]
    pub(crate) fn of(self, first: f64, second: f64) -> f64 {
        let width = self.first * first + self.second * second;
        let width = self.scale * if width < self.most { width } else { self.most };
        // Infinite, whatever the scale.
        if first == f64::INFINITY { first } else { width }
    }
}

impl Widths {
    pub(crate) fn new(kind: Width, causes: Causes, layout: &Layout, sizes: Sizes, scale: f64) -> Widths {
        let Sizes { horizon: h, episodes: k, delta, .. } = sizes;
        let t = k * h;
        let (s, c) = (layout.n_states() as f64, layout.n_causes as f64);
        let m = layout.factors.len() as f64;
        let n_values: Vec<f64> = layout.factors.iter().map(|f| f.n_values as f64).collect();
        let state_rows: f64 = layout.factors.iter().map(|f| f.n_state_rows as f64).sum();
        let cells = layout.cells() as f64;
        let plain_ucbvi = causes == Causes::Actions && layout.flat;
        // UCBVI's logarithm ln(5SAT/δ); the paper's for C- and CF-UCBVI ln(5 S H K Z T/δ) with Σ S[I_i] for S.
        let paper_log =
            if plain_ucbvi { ln(5.0 * s * c * t / delta) } else { ln(5.0 * state_rows * h * k * c * t / delta) };
        let azar_log = ln(5.0 * state_rows * c * t / delta);
        let radius = |n: f64| (2.0 * (n * LN_2 + ln(2.0 * cells * t / delta))).sqrt();
        let root_size = |n: &f64| if plain_ucbvi { 1.0 } else { n.sqrt() };
        let mut cross = Vec::new();
        let (first, log): (Vec<f64>, f64) = match kind {
            Width::Paper => (n_values.iter().map(|n| 7.0 * h * paper_log * root_size(n)).collect(), paper_log),
            Width::PaperPlain => (vec![7.0 * h * paper_log; n_values.len()], paper_log),
            Width::AzarHoeffding => (vec![7.0 * h * azar_log; n_values.len()], azar_log),
            Width::AzarBernstein => (vec![1.0], azar_log),
            Width::Weissman => (n_values.iter().map(|&n| radius(n) / 2.0).collect(), 0.0),
            Width::HoeffdingV if layout.flat => (vec![(ln(2.0 * s * c * h * t / delta) / 2.0).sqrt()], 0.0),
            Width::HoeffdingV => {
                cross = n_values.iter().map(|&n| radius(n)).collect();
                (vec![(ln(4.0 * m * s * c * h * t / delta) / 2.0).sqrt(); n_values.len()], 0.0)
            }
            Width::Bernstein => (vec![1.0], ln(4.0 * s * c * h * t / delta)),
            Width::Quasi | Width::Rlberry => (vec![1.0; n_values.len()], 0.0),
        };
        Widths { kind, sizes, scale, first, cross, log, n_states: s, n_causes: c }
    }

    /// Whether the variance of the next value is needed.
    pub(crate) fn needs_variance(&self) -> bool {
        matches!(self.kind, Width::Bernstein | Width::AzarBernstein)
    }

    /// Whether visits of next states are needed.
    pub(crate) fn needs_visits(&self) -> bool {
        self.kind == Width::AzarBernstein
    }

    /// The contribution of a factor's count: the parts, and the L1 radius for cross terms.
    pub(crate) fn of_count(&self, factor: usize, n: u32) -> (WidthParts, f64) {
        if n == 0 {
            return (WidthParts { first: f64::INFINITY, second: 0.0 }, 0.0);
        }
        let k = self.first[factor];
        let n = f64::from(n);
        let (first, second) = match self.kind {
            Width::Quasi => (k / n, 0.0),
            Width::Rlberry => (k / n.sqrt(), 1.0 / n),
            Width::AzarBernstein => (1.0 / n, 0.0),
            // One visit has no empirical variance, so it carries no information.
            Width::Bernstein => (if n > 1.0 { self.log / (n - 1.0) } else { f64::INFINITY }, 0.0),
            Width::Paper | Width::PaperPlain | Width::AzarHoeffding | Width::Weissman | Width::HoeffdingV => {
                (k / n.sqrt(), 0.0)
            }
        };
        (WidthParts { first, second }, self.cross.get(factor).map_or(0.0, |c| (c / n.sqrt()).min(2.0)))
    }

    /// Sums the factors' contributions.
    pub(crate) fn join(&self, of_factors: impl Iterator<Item = (WidthParts, f64)>) -> WidthParts {
        let (mut first, mut second, mut sum, mut squares) = (0.0, 0.0, 0.0, 0.0);
        for (parts, eps) in of_factors {
            first += parts.first;
            second += parts.second;
            sum += eps;
            squares += eps * eps;
        }
        // Σ_{j<i} ε_i ε_j = ((Σ ε)² − Σ ε²) / 2, entering with weight 1/2.
        WidthParts { first: first + (sum * sum - squares) / 4.0, second }
    }

    /// The width at a stage (from 0), given the variance of the next value and, for Azar's, the mean of
    /// [`Widths::visit_term`] over next states.
    pub(crate) fn at(&self, stage: usize, parts: WidthParts, variance: f64, visits: f64) -> f64 {
        let Sizes { horizon, range, arrival, .. } = self.sizes;
        if parts.first.is_infinite() {
            return f64::INFINITY;
        }
        if let Some(plain) = self.plain(stage) {
            return plain.of(parts.first, parts.second);
        }
        let after = (horizon - 1.0 - stage as f64) * range + arrival;
        let width = match self.kind {
            Width::Bernstein => (8.0 * variance * parts.first).sqrt().max(8.0 * after * parts.first),
            Width::AzarBernstein => {
                let (l, u) = (self.log, parts.first);
                (8.0 * l * variance * u).sqrt() + 14.0 * horizon * range * l * u / 3.0 + (8.0 * u * visits).sqrt()
            }
            Width::Paper
            | Width::PaperPlain
            | Width::AzarHoeffding
            | Width::Weissman
            | Width::HoeffdingV
            | Width::Quasi
            | Width::Rlberry => unreachable!("invariant: these widths are plain"),
        };
        self.scale * width
    }

    /// The coefficients of the stage-free parts at a stage, for widths that need nothing else.
    pub(crate) fn plain(&self, stage: usize) -> Option<Plain> {
        let Sizes { horizon, range, arrival, .. } = self.sizes;
        let after = (horizon - 1.0 - stage as f64) * range + arrival;
        let product = |first: f64| Plain { first, second: 0.0, most: f64::INFINITY, scale: 1.0 };
        match self.kind {
            Width::Paper | Width::PaperPlain | Width::AzarHoeffding | Width::Quasi => Some(product(self.scale * range)),
            Width::Weissman | Width::HoeffdingV => Some(product(self.scale * after)),
            Width::Rlberry => {
                let most = after + range;
                Some(Plain { first: range, second: most, most, scale: self.scale })
            }
            Width::Bernstein | Width::AzarBernstein => None,
        }
    }

    /// min(100² H³ S² A L² / N'_{h+1}(y), H²) of Azar's Bernstein width, for a next state with these visits at that
    /// stage.
    pub(crate) fn visit_term(&self, visits: u32) -> f64 {
        let Sizes { horizon: h, range, .. } = self.sizes;
        let most = h * h * range * range;
        if visits == 0 {
            return most;
        }
        let (s, a, l) = (self.n_states, self.n_causes, self.log);
        (1e4 * powi(h, 3) * s * s * a * l * l * range * range / f64::from(visits)).min(most)
    }
}
