//! Rows that have changed since a belief last read them.

use crate::learn::evidence::{Changed, Evidence};

/// Rows of transitions that have changed, each once.
#[derive(Clone, Debug)]
pub(crate) struct Stale {
    /// `[block][factor]`
    rows: Vec<Vec<Vec<u32>>>,
    is_stale: Vec<Vec<Vec<bool>>>,
}

impl Stale {
    /// Every row that was ever visited.
    pub(crate) fn all(evidence: &Evidence) -> Stale {
        let tables = &evidence.transitions;
        let flags =
            |of: &Vec<_>| of.iter().map(|c: &crate::learn::evidence::Counts| vec![false; c.n_r.len()]).collect();
        let mut stale = Stale {
            rows: tables.iter().map(|of| vec![Vec::new(); of.len()]).collect(),
            is_stale: tables.iter().map(flags).collect(),
        };
        for (block, of) in tables.iter().enumerate() {
            for (factor, counts) in of.iter().enumerate() {
                counts.visited().for_each(|row| stale.add(Changed::Transition { block, factor, row }));
            }
        }
        stale
    }

    #[inline]
    pub(crate) fn add(&mut self, changed: Changed) {
        match changed {
            Changed::Transition { block, factor, row } => {
                if !std::mem::replace(&mut self.is_stale[block][factor][row], true) {
                    self.rows[block][factor].push(row as u32);
                }
            }
            // Rewards and mechanisms are read whole before every plan.
            Changed::Mechanism | Changed::Payment => {}
        }
    }

    /// Rows of a table since the last call, moved into `out` in increasing order.
    pub(crate) fn take(&mut self, block: usize, factor: usize, out: &mut Vec<u32>) {
        out.clear();
        out.append(&mut self.rows[block][factor]);
        if out.len() > 1 {
            out.sort_unstable();
        }
        out.iter().for_each(|&row| self.is_stale[block][factor][row as usize] = false);
    }
}
