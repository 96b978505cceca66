//! Posterior sample of every row, as whole dense tables.

use super::frame::Frame;
use super::mean::table;
use super::posterior::Posterior;
use super::stale::Stale;
use crate::learn::evidence::Evidence;
use crate::plan::Mean;
use crate::random::splitmix64;

/// Sampled rows and their posteriors, `[block][factor]`.
#[derive(Clone, Debug)]
pub(crate) struct SampleBelief {
    tables: Vec<Vec<Mean>>,
    /// `None` for known transitions.
    posteriors: Vec<Vec<Option<Posterior>>>,
    touched: Vec<u32>,
}

impl SampleBelief {
    pub(crate) fn new(frame: &Frame, prior: f64) -> SampleBelief {
        let layout = frame.layout();
        let posteriors: Vec<Option<Posterior>> = layout
            .factors
            .iter()
            .map(|f| match (&f.known, f.is_shared()) {
                (Some(_), _) => None,
                (None, false) => Some(Posterior::new(f.n_state_rows, f.n_values, layout.n_causes, prior)),
                (None, true) => Some(Posterior::new(1, f.n_values, f.n_rows, prior)),
            })
            .collect();
        let tables = || layout.factors.iter().map(|f| table(f, layout.n_causes, 0.0)).collect();
        SampleBelief {
            tables: (0..frame.view.n_blocks).map(|_| tables()).collect(),
            posteriors: vec![posteriors; frame.view.n_blocks],
            touched: Vec::new(),
        }
    }

    /// Samples every row again; a function of the evidence and the seed.
    pub(crate) fn update(&mut self, frame: &mut Frame, evidence: &Evidence, stale: &mut Stale, mut seed: u64) {
        let Frame { view, spare, .. } = frame;
        let n_causes = view.layout.n_causes;
        for (block, counts) in evidence.transitions.iter().enumerate() {
            for (i, (factor, counts)) in view.layout.factors.iter().zip(counts).enumerate() {
                seed = splitmix64(seed);
                let Some(posterior) = &mut self.posteriors[block][i] else { continue };
                let prob = &mut self.tables[block][i].prob;
                stale.take(block, i, &mut self.touched);
                self.touched.iter().for_each(|&row| posterior.set(row as usize, counts.values(row as usize)));
                if !factor.is_shared() {
                    posterior.sample(seed, prob);
                    continue;
                }
                let (n, n_rows) = (factor.n_values, factor.n_rows);
                spare.resize(n * n_rows, 0.0);
                posterior.sample(seed, spare);
                for state_row in 0..factor.n_state_rows {
                    for cause in 0..n_causes {
                        let row = factor.row(state_row, cause, n_causes);
                        for v in 0..n {
                            prob[(state_row * n + v) * n_causes + cause] = spare[v * n_rows + row];
                        }
                    }
                }
            }
        }
    }

    /// q of a stage; returns whether losses were written instead, as `LOSSES` requests.
    pub(crate) fn look<const LOSSES: bool>(
        &self,
        frame: &mut Frame,
        stage: usize,
        next_value: &[f64],
        q: &mut Vec<f64>,
    ) -> bool {
        let tables = &self.tables[frame.view.block(stage)];
        frame.contraction.apply(tables, next_value, q, &mut frame.spare);
        frame.values::<LOSSES>(stage, q);
        LOSSES
    }

    /// E[next value | s, c] at the first stage, `[state][cause]`: no rewards.
    pub(crate) fn expect(&self, frame: &mut Frame, next_value: &[f64], out: &mut Vec<f64>) {
        frame.contraction.apply(&self.tables[0], next_value, out, &mut frame.spare);
    }

    /// q(s, ·) of one state.
    pub(crate) fn look_at(&self, frame: &Frame, stage: usize, state: usize, next_value: &[f64], q: &mut Vec<f64>) {
        frame.expect_at(&self.tables[frame.view.block(stage)], state, next_value, q);
        for (c, q) in q.iter_mut().enumerate() {
            *q = frame.value(stage, state * frame.n_causes() + c, *q, 0.0);
        }
    }
}
