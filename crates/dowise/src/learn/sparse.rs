//! The look ahead of learners that see the state whole: rows have few next states, and between two plans few of them move.
//!
//! Values are kept from plan to plan. A row is computed anew only if it was seen since, or if the value of one of its next
//! states has changed; rows never seen stay at the cap. The results are those of the plain loop, to the bit: the same terms
//! in the same order, zeros left out.

use std::ops::Range;

use super::counts::Counts;

/// Rows of frequencies by their nonzero entries, and q as of the last plan.
#[derive(Clone, Debug)]
pub(crate) struct Sparse {
    n_states: usize,
    /// (next state, frequency) of each row in increasing order, `[block][row]`.
    rows: Vec<Vec<Vec<(u32, f64)>>>,
    /// The next states of each row as bits, if there are at most 64 states, `[block][row]`.
    support: Vec<Vec<u64>>,
    /// Rows seen at all, `[block]`.
    visited: Vec<Vec<u32>>,
    /// Always what the rows make of `next`, `[stage][row]`.
    q: Vec<f64>,
    /// Next values of the last look, `[stage][state]`.
    next: Vec<f64>,
}

/// States up to which a dense table is faster than a list of next states.
const FEW_STATES: usize = 16;

impl Sparse {
    /// `None` where a dense table is better. `caps` has the ceiling of q for every stage.
    pub(crate) fn new(n_states: usize, n_rows: usize, n_blocks: usize, caps: &[f64]) -> Option<Sparse> {
        if n_states <= FEW_STATES {
            return None;
        }
        Some(Sparse {
            n_states,
            rows: vec![vec![Vec::new(); n_rows]; n_blocks],
            support: if n_states <= 64 { vec![vec![0; n_rows]; n_blocks] } else { Vec::new() },
            visited: vec![Vec::new(); n_blocks],
            q: caps.iter().flat_map(|&cap| std::iter::repeat_n(cap, n_rows)).collect(),
            next: vec![f64::NAN; caps.len() * n_states],
        })
    }

    /// Takes in one row of a block; `stages` are those that the block is for.
    pub(crate) fn set(
        &mut self,
        block: usize,
        row: usize,
        counts: &Counts,
        stages: Range<usize>,
        finish: impl Fn(usize, f64) -> f64,
    ) {
        let entries = &mut self.rows[block][row];
        if entries.is_empty() {
            self.visited[block].push(row as u32);
        }
        entries.clear();
        let n = f64::from(counts.n_r[row]);
        let seen = counts.values(row).iter().zip(0..).filter(|(k, _)| **k > 0);
        entries.extend(seen.map(|(&k, v)| (v, f64::from(k) / n)));
        if let Some(support) = self.support.get_mut(block) {
            support[row] = entries.iter().fold(0, |bits, (v, _)| bits | 1 << v);
        }
        for stage in stages {
            let next = &self.next[stage * self.n_states..(stage + 1) * self.n_states];
            self.q[stage * self.rows[block].len() + row] = finish(stage, expected(&self.rows[block][row], next));
        }
    }

    /// The rewards have changed: every row seen has to be computed anew.
    pub(crate) fn forget(&mut self) {
        self.next.fill(f64::NAN);
    }

    /// E[V(s')] of one row.
    pub(crate) fn expected(&self, block: usize, row: usize, next_value: &[f64]) -> f64 {
        expected(&self.rows[block][row], next_value)
    }

    /// q(s, c) of a stage: `finish(row, E[V])` for the rows that need it, the last plan's value for the others.
    pub(crate) fn look(
        &mut self,
        stage: usize,
        block: usize,
        next_value: &[f64],
        finish: impl Fn(usize, f64) -> f64,
        out: &mut Vec<f64>,
    ) {
        let n_rows = self.rows[block].len();
        let q = &mut self.q[stage * n_rows..(stage + 1) * n_rows];
        let known = &mut self.next[stage * self.n_states..(stage + 1) * self.n_states];
        let mut changed = 0u64;
        for (s, (then, now)) in known.iter().zip(next_value).enumerate() {
            changed |= u64::from(then != now) << (s % 64);
        }
        let rows = &self.rows[block];
        let support = self.support.get(block);
        if changed != 0 {
            for &row in &self.visited[block] {
                let row = row as usize;
                if support.is_none_or(|support| support[row] & changed != 0) {
                    q[row] = finish(row, expected(&rows[row], next_value));
                }
            }
        }
        known.copy_from_slice(next_value);
        out.clear();
        out.extend_from_slice(q);
    }
}

/// Σ p V over the entries, in order.
fn expected(entries: &[(u32, f64)], next_value: &[f64]) -> f64 {
    entries.iter().fold(0.0, |sum, &(v, p)| sum + p * next_value[v as usize])
}

#[cfg(test)]
mod tests {
    use crate::learn::{Estimate, Knowledge, Learner, Options, Preset, Width};
    use crate::{Agent, Planner, Run, Simulator, World, worlds};

    #[test]
    fn rows_by_their_nonzero_entries_give_the_same_bits_as_dense_tables() {
        for (factors, stage_dependent, rewards) in [(5, false, true), (5, true, true), (7, false, false)] {
            let spec = worlds::Paper { factors, levels: 3, levers: 2, seed: 3, ..Default::default() }.spec().unwrap();
            let world = World::new(spec).unwrap();
            let planner = Planner::new(&world).unwrap();
            let (simulator, optimal) = (Simulator::new(&world).unwrap(), planner.plan().value_hs);
            let told = Knowledge::of(&world);
            let told = if rewards { told } else { told.without_rewards() };
            for (name, width, scale) in
                [("ucbvi", Width::PaperPlain, 1e-3), ("c-ucbvi", Width::Rlberry, 0.1), ("c-ucbvi", Width::Quasi, 0.0)]
            {
                let preset: Preset = name.parse().unwrap();
                let estimate = Estimate::Width(width);
                let options = Options { estimate, scale, stage_dependent, ..preset.options(60, 1) };
                let mut sparse = Learner::new(&told, options).unwrap();
                let mut dense = sparse.clone();
                dense.model.use_tables(&dense.layout);
                let mut first = Run::new(&simulator, &planner, &optimal, 5);
                let mut second = Run::new(&simulator, &planner, &optimal, 5);
                for episode in 0..60 {
                    assert_eq!(first.episode(&mut sparse), second.episode(&mut dense), "{name} {episode}");
                    assert_eq!(sparse.plan(), dense.plan(), "{name} {episode}");
                }
                assert!(sparse.policy() == dense.policy());
            }
        }
    }
}
