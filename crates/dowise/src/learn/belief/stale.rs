//! Stale rows: rows whose counts have changed since the last update of a belief.

use crate::learn::evidence::{Changed, Evidence};

/// Rows of transitions that have changed, each once.
#[derive(Clone, Debug)]
pub(crate) struct Stale {
    n_factors: usize,
    /// `[block][factor]`
    tables: Vec<Table>,
}

#[derive(Clone, Debug)]
struct Table {
    rows: Vec<u32>,
    is_stale: Vec<bool>,
}

impl Stale {
    /// Every visited row.
    pub(crate) fn all(evidence: &Evidence) -> Stale {
        let of = &evidence.transitions;
        // If plans are rare, any row may change between two of them.
        let fresh = |n_rows| Table { rows: Vec::with_capacity(n_rows), is_stale: vec![false; n_rows] };
        let tables = of.iter().flatten().map(|counts| fresh(counts.n_r.len())).collect();
        let mut stale = Stale { n_factors: of[0].len(), tables };
        for (table, counts) in stale.tables.iter_mut().zip(of.iter().flatten()) {
            counts.visited().for_each(|row| table.add(row));
        }
        stale
    }

    #[inline]
    pub(crate) fn add(&mut self, changed: Changed) {
        match changed {
            Changed::Transition { block, factor, row } => self.tables[block * self.n_factors + factor].add(row),
            // Rewards and mechanisms are estimated entirely before every plan.
            Changed::Mechanism | Changed::Payment => {}
        }
    }

    /// Moves the stale rows of a table into `out` in increasing order.
    pub(crate) fn take(&mut self, block: usize, factor: usize, out: &mut Vec<u32>) {
        let Table { rows, is_stale } = &mut self.tables[block * self.n_factors + factor];
        out.clear();
        out.append(rows);
        if out.len() > 1 {
            out.sort_unstable();
        }
        out.iter().for_each(|&row| is_stale[row as usize] = false);
    }
}

impl Table {
    #[inline]
    fn add(&mut self, row: usize) {
        if !std::mem::replace(&mut self.is_stale[row], true) {
            self.rows.push(row as u32);
        }
    }
}
