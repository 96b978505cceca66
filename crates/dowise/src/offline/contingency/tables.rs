//! Contingency tables of one comparison, row by row, with rare classes merged.
//!
//! The margins alone decide which classes are merged and which rows count. Permutations preserve margins, so this
//! choice does not bias the test.

/// Maximum number of classes of each side over all rows.
const MOST_CLASSES: usize = 8;

/// Minimum expected count of a cell: in one row for Pearson's statistic, and over all rows. Over all rows, two classes
/// of each side stay even if the count is smaller: a rare intervention with a rare outcome may be the one that matters.
/// Permutations are exact for such tables, large-sample approximations are not.
const LEAST_IN_ROW: f64 = 2.0;
const LEAST_IN_ALL: f64 = 5.0;

/// Counts `[other][outcome]` of one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) n_other: usize,
    pub(crate) n_outcome: usize,
    pub(crate) counts: Vec<f64>,
    /// Visits of each class of `other`, and of each class of `outcome`.
    pub(crate) others: Vec<f64>,
    pub(crate) outcomes: Vec<f64>,
    /// Visits in all.
    pub(crate) total: f64,
}

impl Table {
    pub(crate) fn new(n_other: usize, n_outcome: usize, counts: Vec<f64>) -> Table {
        let others: Vec<f64> = counts.chunks(n_outcome).map(|row| row.iter().sum()).collect();
        let outcomes: Vec<f64> = (0..n_outcome).map(|y| counts.iter().skip(y).step_by(n_outcome).sum()).collect();
        let total = others.iter().sum();
        Table { n_other, n_outcome, counts, others, outcomes, total }
    }

    /// Whether both sides vary: otherwise permutations change nothing.
    pub(crate) fn varies(&self) -> bool {
        let several = |margin: &[f64]| margin.iter().filter(|&&n| n > 0.0).count() > 1;
        several(&self.others) && several(&self.outcomes)
    }

    /// The table with merged classes.
    pub(crate) fn merged(&self, other: &Merge, outcome: &Merge) -> Table {
        let mut counts = vec![0.0; other.n * outcome.n];
        for x in 0..self.n_other {
            for y in 0..self.n_outcome {
                counts[other.to[x] * outcome.n + outcome.to[y]] += self.counts[x * self.n_outcome + y];
            }
        }
        Table::new(other.n, outcome.n, counts)
    }

    /// Merges classes until every expected count suffices for Pearson's statistic; `None` if one class is left.
    fn coarse(&self) -> Option<[Merge; 2]> {
        let (other, outcome) = coarsen(&self.others, &self.outcomes, [1, usize::MAX], LEAST_IN_ROW);
        (other.n > 1 && outcome.n > 1).then_some([other, outcome])
    }
}

/// The merged class of each class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) to: Vec<usize>,
    pub(crate) n: usize,
}

/// The rows of a comparison in which both sides vary, with the same classes in every row.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) tables: Vec<Table>,
    /// Further merges of each table for Pearson's statistic; `None` if it has too few visits.
    pub(crate) coarse: Vec<Option<[Merge; 2]>>,
    /// The index of each table among the rows.
    pub(crate) places: Vec<usize>,
    /// Merged classes of `other` and of `outcome`.
    pub(crate) merged: [Merge; 2],
    /// Whether some expected count over all rows is too small for large-sample approximations.
    pub(crate) is_sparse: bool,
}

impl Tables {
    /// Of all rows with at least `least` visits. They are passed twice, so that only merged tables are kept.
    pub(crate) fn new(
        rows: impl Iterator<Item = Table> + Clone,
        n_other: usize,
        n_outcome: usize,
        least: f64,
    ) -> Tables {
        let counts = |table: &Table| table.total >= least && table.varies();
        let (mut others, mut outcomes) = (vec![0.0; n_other], vec![0.0; n_outcome]);
        for table in rows.clone().filter(counts) {
            others.iter_mut().zip(&table.others).for_each(|(sum, n)| *sum += n);
            outcomes.iter_mut().zip(&table.outcomes).for_each(|(sum, n)| *sum += n);
        }
        let (other, outcome) = coarsen(&others, &outcomes, [2, MOST_CLASSES], LEAST_IN_ALL);
        let (mut tables, mut places) = (Vec::new(), Vec::new());
        for (at, table) in rows.enumerate().filter(|(_, table)| counts(table)) {
            let table = table.merged(&other, &outcome);
            if table.varies() {
                tables.push(table);
                places.push(at);
            }
        }
        let coarse = tables.iter().map(Table::coarse).collect();
        let is_sparse = least_expected(&tables) < LEAST_IN_ALL;
        Tables { tables, coarse, places, merged: [other, outcome], is_sparse }
    }

    /// The tables fit for Pearson's statistic.
    pub(crate) fn for_pearson(&self) -> Vec<Table> {
        let both = self.tables.iter().zip(&self.coarse);
        both.filter_map(|(t, merge)| merge.as_ref().map(|[x, y]| t.merged(x, y))).collect()
    }

    /// Visits in all rows.
    pub(crate) fn visits(&self) -> f64 {
        self.tables.iter().map(|t| t.total).sum()
    }
}

/// The least expected count of a cell, with all rows taken together.
fn least_expected(tables: &[Table]) -> f64 {
    let least = |margin: fn(&Table) -> &[f64]| {
        let sum = |class: usize| tables.iter().map(|t| margin(t)[class]).sum::<f64>();
        let n = tables.first().map_or(0, |t| margin(t).len());
        (0..n).map(sum).filter(|&n| n > 0.0).fold(f64::INFINITY, f64::min)
    };
    let total: f64 = tables.iter().map(|t| t.total).sum();
    least(|t| &t.others) * least(|t| &t.outcomes) / total.max(1.0)
}

/// Merges rare classes until no side has more than `most` classes and the least expected count is `least`, or only the
/// `fewest` classes are left. Classes without visits join the first one.
fn coarsen(others: &[f64], outcomes: &[f64], [fewest, most]: [usize; 2], least: f64) -> (Merge, Merge) {
    let total: f64 = others.iter().sum();
    let mut sides = [Classes::new(others), Classes::new(outcomes)];
    loop {
        let too_many = (0..2).find(|&i| sides[i].groups.len() > most);
        let expected = sides[0].least() * sides[1].least() / total.max(1.0);
        let side = match too_many {
            Some(side) => side,
            None if expected >= least => break,
            None => {
                let share = |i: usize| sides[i].least() * sides[i].groups.len() as f64;
                // Chooses the side whose rarest class is rarest relative to its number of classes, unless it has only
                // the fewest classes.
                let side = usize::from(share(1) < share(0));
                if sides[side].groups.len() > fewest { side } else { 1 - side }
            }
        };
        if sides[side].groups.len() <= fewest {
            break;
        }
        sides[side].merge();
    }
    let [other, outcome] = sides;
    (other.map(others.len()), outcome.map(outcomes.len()))
}

/// Visited classes, in groups.
struct Classes {
    /// (visits, members)
    groups: Vec<(f64, Vec<usize>)>,
}

impl Classes {
    fn new(margin: &[f64]) -> Classes {
        let visited = margin.iter().enumerate().filter(|(_, n)| **n > 0.0);
        Classes { groups: visited.map(|(i, &n)| (n, vec![i])).collect() }
    }

    fn least(&self) -> f64 {
        self.groups.iter().map(|g| g.0).fold(f64::INFINITY, f64::min)
    }

    /// Merges the two rarest groups; ties go to the first.
    fn merge(&mut self) {
        self.groups.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (n, members) = self.groups.remove(0);
        self.groups[0].0 += n;
        self.groups[0].1.extend(members);
        self.groups[0].1.sort_unstable();
    }

    fn map(mut self, size: usize) -> Merge {
        self.groups.sort_by(|a, b| a.1.cmp(&b.1));
        let mut to = vec![0; size];
        for (g, (_, members)) in self.groups.iter().enumerate() {
            members.iter().for_each(|&i| to[i] = g);
        }
        Merge { to, n: self.groups.len().max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_classes_are_merged_by_margins_alone() {
        let (other, outcome) = coarsen(&[90.0, 1.0, 0.0, 9.0], &[50.0, 50.0], [1, 8], 2.0);
        assert_eq!((other.n, outcome.n), (2, 2));
        assert_eq!(other.to, [0, 1, 0, 1], "the two rarest go together, what was never seen goes anywhere");
        let (other, outcome) = coarsen(&[3.0, 1.0], &[2.0, 2.0], [1, 8], 2.0);
        assert!(other.n == 1 || outcome.n == 1, "too few visits");
        let (other, outcome) = coarsen(&[3.0, 1.0, 1.0], &[2.0, 2.0, 1.0], [2, 8], 5.0);
        assert_eq!((other.n, outcome.n), (2, 2), "two classes of each side stay");
        let many = vec![100.0; 40];
        let (other, _) = coarsen(&many, &[2000.0, 2000.0], [2, 8], 5.0);
        assert_eq!(other.n, 8);
    }

    #[test]
    fn merging_keeps_all_visits() {
        let table = Table::new(3, 2, vec![4.0, 1.0, 2.0, 2.0, 0.0, 7.0]);
        let merged = table.merged(&Merge { to: vec![0, 1, 1], n: 2 }, &Merge { to: vec![0, 1], n: 2 });
        assert_eq!(merged.counts, [4.0, 1.0, 2.0, 9.0]);
        assert_eq!((merged.total, merged.others, merged.outcomes), (16.0, vec![5.0, 11.0], vec![6.0, 10.0]));
    }
}
