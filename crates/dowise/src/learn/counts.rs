//! What was seen: how often each row of each factor, and what came of it. Only counts are stored; all else is derived.

/// Visits of the rows of one factor, for one block of stages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    pub(crate) n_values: usize,
    /// N(row)
    pub(crate) n_r: Vec<u32>,
    /// N(row, value), `[row][value]`
    pub(crate) n_rv: Vec<u32>,
    /// Rows seen since [`Counts::take_touched`], each once: some learners never ask, so the list must not outgrow the rows.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

impl Counts {
    pub(crate) fn new(n_rows: usize, n_values: usize) -> Counts {
        let (touched, is_touched) = (Vec::new(), vec![false; n_rows]);
        Counts { n_values, n_r: vec![0; n_rows], n_rv: vec![0; n_rows * n_values], touched, is_touched }
    }

    pub(crate) fn add(&mut self, row: usize, value: usize) {
        self.n_r[row] += 1;
        self.n_rv[row * self.n_values + value] += 1;
        self.touch(row);
    }

    fn touch(&mut self, row: usize) {
        if !std::mem::replace(&mut self.is_touched[row], true) {
            self.touched.push(row as u32);
        }
    }

    /// Counts of the values of a row.
    pub(crate) fn values(&self, row: usize) -> &[u32] {
        &self.n_rv[row * self.n_values..(row + 1) * self.n_values]
    }

    /// Everything that was seen, as (row, value, how often), in order.
    pub(crate) fn entries(&self) -> Vec<(u32, u32, u32)> {
        let cells = self.n_rv.iter().enumerate().filter(|(_, n)| **n > 0);
        cells.map(|(i, &n)| ((i / self.n_values) as u32, (i % self.n_values) as u32, n)).collect()
    }

    /// Visits of all rows.
    pub(crate) fn total(&self) -> u128 {
        self.n_r.iter().map(|&n| u128::from(n)).sum()
    }

    /// Replaces everything by saved entries; `false` if one does not fit, is empty or comes twice.
    pub(crate) fn restore(&mut self, entries: &[(u32, u32, u32)]) -> bool {
        *self = Counts::new(self.n_r.len(), self.n_values);
        for &(row, value, n) in entries {
            let (row, value) = (row as usize, value as usize);
            if row >= self.n_r.len() || value >= self.n_values || n == 0 || self.values(row)[value] > 0 {
                return false;
            }
            let Some(total) = self.n_r[row].checked_add(n) else { return false };
            self.n_r[row] = total;
            self.n_rv[row * self.n_values + value] = n;
            self.touch(row);
        }
        true
    }

    /// Rows seen since the last call, moved into `out`, each once.
    pub(crate) fn take_touched(&mut self, out: &mut Vec<u32>) {
        out.clear();
        out.append(&mut self.touched);
        out.sort_unstable();
        out.iter().for_each(|&row| self.is_touched[row as usize] = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_asked_for_does_not_pile_up() {
        let mut counts = Counts::new(3, 2);
        (0..1000).for_each(|i| counts.add(i % 2, i % 2));
        assert!(counts.touched.len() <= 3);
        let mut rows = Vec::new();
        counts.take_touched(&mut rows);
        assert_eq!(rows, [0, 1]);
        counts.take_touched(&mut rows);
        assert!(rows.is_empty());
        counts.add(2, 1);
        counts.take_touched(&mut rows);
        assert_eq!(rows, [2]);
        assert_eq!((counts.total(), counts.values(0)), (1001, &[500, 0][..]));
    }
}
