//! Empirical or posterior mean of transitions, optionally with an exploration bonus (width): dense tables.

use super::added::Added;
use super::frame::Frame;
use super::stale::Stale;
use crate::learn::evidence::Evidence;
use crate::learn::view::FactorLayout;
use crate::plan::Mean;

/// Rows of means, `[block][factor]`, with their widths.
#[derive(Clone, Debug)]
pub(crate) struct MeanBelief {
    tables: Vec<Vec<Mean>>,
    /// Weight of the prior in visits, shared equally by the values of a row; 0: frequencies, and zero for unvisited
    /// rows.
    prior: f64,
    added: Option<Added>,
    /// Visits of states at the last update, `[stage][state]`; empty if the width does not need them.
    visits_hs: Vec<u32>,
    /// E[V], E[(V − centre)²] and the mean of the terms of visits.
    moments: [Vec<f64>; 3],
    /// The function to average besides the next value.
    terms: Vec<f64>,
    touched: Vec<u32>,
}

/// The rows of a factor, known or without visits.
pub(super) fn table(factor: &FactorLayout, n_causes: usize, prior: f64) -> Mean {
    let n_values = factor.n_values;
    let unseen = if prior > 0.0 { 1.0 / n_values as f64 } else { 0.0 };
    let prob = match &factor.known {
        Some(known) => known.to_vec(),
        None => vec![unseen; factor.n_state_rows * n_causes * n_values],
    };
    Mean { prob, n_values, n_causes }
}

impl MeanBelief {
    pub(crate) fn new(frame: &Frame, prior: f64, added: Option<Added>) -> MeanBelief {
        let layout = frame.layout();
        let tables = || layout.factors.iter().map(|f| table(f, layout.n_causes, prior)).collect();
        MeanBelief {
            tables: (0..frame.view.n_blocks).map(|_| tables()).collect(),
            prior,
            added,
            visits_hs: Vec::new(),
            moments: Default::default(),
            terms: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Updates the changed rows.
    pub(crate) fn update(&mut self, frame: &Frame, evidence: &Evidence, stale: &mut Stale) {
        let (layout, prior) = (frame.layout(), self.prior);
        for (block, counts) in evidence.transitions.iter().enumerate() {
            let mut changed = false;
            for (i, (factor, counts)) in layout.factors.iter().zip(counts).enumerate() {
                stale.take(block, i, &mut self.touched);
                changed |= !self.touched.is_empty();
                for &row in &self.touched {
                    let row = row as usize;
                    let (n, values) = (counts.n_r[row], counts.values(row));
                    let prob = &mut self.tables[block][i].prob;
                    factor.for_each_cell(row, |cell| set(prob, cell, layout.n_causes, values, n, prior));
                    if let Some(added) = &mut self.added {
                        added.set(layout, block, i, row, n);
                    }
                }
            }
            if let Some(added) = self.added.as_mut().filter(|_| changed) {
                added.add_up(layout, block);
            }
        }
        if self.added.as_ref().is_some_and(|a| a.widths.needs_visits()) {
            self.visits_hs.clone_from(&evidence.visits_hs);
        }
    }

    /// q of a stage; returns whether losses were written instead, as `LOSSES` requests.
    pub(crate) fn look<const LOSSES: bool>(
        &mut self,
        frame: &mut Frame,
        stage: usize,
        next_value: &[f64],
        q: &mut Vec<f64>,
    ) -> bool {
        let block = frame.view.block(stage);
        let tables = &self.tables[block];
        frame.contraction.apply(tables, next_value, q, &mut frame.spare);
        let plain = self.added.as_ref().map(|a| a.plain(stage, block));
        if frame.ceiling.is_empty() {
            match plain {
                None => {
                    frame.values::<LOSSES>(stage, q);
                    return LOSSES;
                }
                Some(Some((plain, parts))) => {
                    frame.values_with::<LOSSES>(stage, plain, parts, q);
                    return LOSSES;
                }
                Some(None) => {}
            }
        }
        let (needs_variance, needs_visits) = self.needs();
        let centre = next_value[0];
        if needs_variance {
            // Centred, so that the difference of moments keeps its precision.
            square_into(next_value, centre, &mut self.terms);
            frame.contraction.apply(tables, &self.terms, &mut self.moments[1], &mut frame.spare);
        }
        if needs_visits {
            self.visit_terms(stage, next_value.len());
            frame.contraction.apply(&self.tables[block], &self.terms, &mut self.moments[2], &mut frame.spare);
        }
        for cell in 0..q.len() {
            let mean = q[cell];
            let variance =
                if needs_variance { (self.moments[1][cell] - (mean - centre) * (mean - centre)).max(0.0) } else { 0.0 };
            let visits = if needs_visits { self.moments[2][cell] } else { 0.0 };
            let width = self.added.as_ref().map_or(0.0, |a| a.at(stage, block, cell, variance, visits));
            q[cell] = frame.value(stage, cell, mean, width);
        }
        frame.lower_ceiling(stage, q);
        false
    }

    /// E[next value | s, c] at the first stage, `[state][cause]`: no rewards, no width.
    pub(crate) fn expect(&mut self, frame: &mut Frame, next_value: &[f64], out: &mut Vec<f64>) {
        frame.contraction.apply(&self.tables[0], next_value, out, &mut frame.spare);
    }

    /// q(s, ·) of one state.
    ///
    /// # Cost
    /// O(S · causes), 1/S of a whole stage.
    pub(crate) fn look_at(&mut self, frame: &Frame, stage: usize, state: usize, next_value: &[f64], q: &mut Vec<f64>) {
        let (block, n_causes) = (frame.view.block(stage), frame.n_causes());
        frame.expect_at(&self.tables[block], state, next_value, &mut self.moments[0]);
        let (needs_variance, needs_visits) = self.needs();
        let centre = next_value[0];
        if needs_variance {
            square_into(next_value, centre, &mut self.terms);
            frame.expect_at(&self.tables[block], state, &self.terms, &mut self.moments[1]);
        }
        if needs_visits {
            self.visit_terms(stage, next_value.len());
            frame.expect_at(&self.tables[block], state, &self.terms, &mut self.moments[2]);
        }
        q.clear();
        for c in 0..n_causes {
            let mean = self.moments[0][c];
            let variance =
                if needs_variance { (self.moments[1][c] - (mean - centre) * (mean - centre)).max(0.0) } else { 0.0 };
            let visits = if needs_visits { self.moments[2][c] } else { 0.0 };
            let cell = state * n_causes + c;
            let width = self.added.as_ref().map_or(0.0, |a| a.at(stage, block, cell, variance, visits));
            q.push(frame.value(stage, cell, mean, width));
        }
    }

    /// Whether the width needs the variance of the next value, and visits of next states.
    fn needs(&self) -> (bool, bool) {
        self.added.as_ref().map_or((false, false), |a| (a.widths.needs_variance(), a.widths.needs_visits()))
    }

    fn visit_terms(&mut self, stage: usize, n_states: usize) {
        let visits = &self.visits_hs[(stage + 1) * n_states..(stage + 2) * n_states];
        self.terms.clear();
        let widths = self.added.as_ref().map(|a| &a.widths);
        self.terms.extend(visits.iter().map(|&n| widths.map_or(0.0, |w| w.visit_term(n))));
    }
}

/// Sets the entries of one cell (state row times causes plus cause).
fn set(prob: &mut [f64], cell: usize, n_causes: usize, counts: &[u32], n: u32, prior: f64) {
    let (state_row, cause) = (cell / n_causes, cell % n_causes);
    let (share, total) = (prior / counts.len() as f64, f64::from(n) + prior);
    for (v, &count) in counts.iter().enumerate() {
        let mean = if total == 0.0 { 0.0 } else { (f64::from(count) + share) / total };
        prob[(state_row * counts.len() + v) * n_causes + cause] = mean;
    }
}

/// (V − centre)², of every next value.
fn square_into(next_value: &[f64], centre: f64, out: &mut Vec<f64>) {
    out.clear();
    out.extend(next_value.iter().map(|v| (v - centre) * (v - centre)));
}
