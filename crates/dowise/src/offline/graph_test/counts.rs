//! Contingency counts of (other, outcome) in every visited row, shared by claims with the same conditioning set.

use std::collections::BTreeMap;

use super::claims::{self, Claim, Steps};
use super::graph::Part;
use crate::learn::{Knowledge, MISSING};
use crate::offline::contingency::Table;

/// Tables with more cells than this are stored sparsely.
const MOST_DENSE: usize = 256;

/// The counts of one claim.
#[derive(Clone, Debug)]
struct Pair {
    claim: usize,
    other: Part,
    outcome: Part,
    n_other: usize,
    n_outcome: usize,
    /// Whether only steps count whose levers were set by a draw.
    randomised_only: bool,
    cells: Cells,
    /// For each row the episode that last visited it, from 1.
    visited: Vec<u64>,
    missing: u64,
}

#[derive(Clone, Debug)]
enum Cells {
    /// `[row][other][outcome]`
    Dense(Vec<u32>),
    Sparse(BTreeMap<(u32, u32, u32), u32>),
}

/// The claims with one conditioning set.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    given: Vec<Part>,
    /// Visited rows, numbered in order of first visit.
    place: BTreeMap<Vec<u32>, u32>,
    pairs: Vec<Pair>,
    row: Vec<u32>,
}

/// One row: the classes of the conditioning set, and the counts as (other, outcome, visits).
pub(super) struct RowCounts<'a> {
    pub(super) row: &'a [u32],
    pub(super) cells: Vec<(u32, u32, u32)>,
}

impl RowCounts<'_> {
    /// The counts of this row as a contingency table.
    pub(super) fn table(&self, n_other: usize, n_outcome: usize) -> Table {
        let mut counts = vec![0.0; n_other * n_outcome];
        self.cells.iter().for_each(|&(x, y, n)| counts[x as usize * n_outcome + y as usize] = f64::from(n));
        Table::new(n_other, n_outcome, counts)
    }
}

/// The counts of one claim.
pub(super) struct Counted<'a> {
    pub(super) claim: usize,
    pub(super) rows: Vec<RowCounts<'a>>,
    /// Steps with a missing cell.
    pub(super) missing: u64,
}

/// Groups claims by conditioning set; the `randomised_only` count only steps whose levers were set by a draw.
pub(super) fn panels(knowledge: &Knowledge, claims: &[Claim], randomised_only: &[bool]) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for (i, claim) in claims.iter().enumerate() {
        let (n_other, n_outcome) = (claims::size(knowledge, claim.other), claims::size(knowledge, claim.outcome));
        let dense = n_other * n_outcome <= MOST_DENSE;
        let pair = Pair {
            claim: i,
            other: claim.other,
            outcome: claim.outcome,
            n_other,
            n_outcome,
            randomised_only: randomised_only[i],
            cells: if dense { Cells::Dense(Vec::new()) } else { Cells::Sparse(BTreeMap::new()) },
            visited: Vec::new(),
            missing: 0,
        };
        match panels.iter_mut().find(|p| p.given == claim.given) {
            Some(panel) => panel.pairs.push(pair),
            None => panels.push(Panel {
                given: claim.given.clone(),
                place: BTreeMap::new(),
                pairs: vec![pair],
                row: Vec::new(),
            }),
        }
    }
    panels
}

impl Panel {
    /// Counts a step of an episode (from 1) that stands for `weight` equal ones. Only the first visit of a row in an
    /// episode counts, since later ones may depend on its outcome. Returns whether all values that claims about this step
    /// need were recorded.
    /// Pairs with a variable of an earlier step pass over steps without one.
    pub(super) fn add(&mut self, knowledge: &Knowledge, seen: Steps<'_>, weight: u32) -> bool {
        self.row.clear();
        self.row.extend(self.given.iter().map(|&part| claims::class(knowledge, part, seen)));
        if self.row.contains(&MISSING) {
            self.pairs.iter_mut().filter(|pair| pair.applies(seen)).for_each(|pair| pair.missing += 1);
            return self.pairs.iter().all(Pair::is_optional);
        }
        let at = match self.place.get(&self.row) {
            Some(&at) => at,
            None => {
                let at = self.place.len() as u32;
                self.place.insert(self.row.clone(), at);
                at
            }
        };
        let mut complete = true;
        for pair in &mut self.pairs {
            if !pair.applies(seen) {
                continue;
            }
            let (x, y) = (claims::class(knowledge, pair.other, seen), claims::class(knowledge, pair.outcome, seen));
            if x == MISSING || y == MISSING {
                pair.missing += 1;
                complete &= pair.is_optional();
                continue;
            }
            let row = at as usize;
            if pair.visited.len() <= row {
                pair.visited.resize(row + 1, 0);
            }
            if std::mem::replace(&mut pair.visited[row], seen.episode) == seen.episode {
                continue;
            }
            let count = match &mut pair.cells {
                Cells::Dense(cells) => {
                    let size = pair.n_other * pair.n_outcome;
                    if cells.len() <= row * size {
                        cells.resize((row + 1) * size, 0);
                    }
                    &mut cells[row * size + x as usize * pair.n_outcome + y as usize]
                }
                Cells::Sparse(cells) => cells.entry((at, x, y)).or_insert(0),
            };
            *count = count.saturating_add(weight);
        }
        complete
    }

    /// The counts of each claim, rows in increasing order, so that the order of episodes does not matter.
    pub(super) fn counted(&self) -> impl Iterator<Item = Counted<'_>> {
        self.pairs.iter().map(|pair| {
            let rows = self.place.iter().map(|(row, &at)| RowCounts { row, cells: pair.row(at) });
            Counted { claim: pair.claim, rows: rows.collect(), missing: pair.missing }
        })
    }
}

impl Pair {
    fn applies(&self, seen: Steps<'_>) -> bool {
        let has_steps = match self.other {
            Part::Previous(_) => seen.before.is_some(),
            Part::Earlier(_) => seen.earlier.is_some(),
            _ => true,
        };
        has_steps && (!self.randomised_only || seen.randomised == Some(true))
    }

    /// Whether a step without the other variable is complete all the same.
    fn is_optional(&self) -> bool {
        self.is_of_previous() || self.other == Part::Randomised
    }

    fn is_of_previous(&self) -> bool {
        matches!(self.other, Part::Previous(_) | Part::Earlier(_))
    }

    fn row(&self, at: u32) -> Vec<(u32, u32, u32)> {
        match &self.cells {
            Cells::Dense(cells) => {
                let size = self.n_other * self.n_outcome;
                let of_row = cells.iter().skip(at as usize * size).take(size).enumerate().filter(|(_, n)| **n > 0);
                of_row.map(|(i, &n)| ((i / self.n_outcome) as u32, (i % self.n_outcome) as u32, n)).collect()
            }
            Cells::Sparse(cells) => {
                let of_row = cells.range((at, 0, 0)..=(at, u32::MAX, u32::MAX));
                of_row.map(|(&(_, x, y), &n)| (x, y, n)).collect()
            }
        }
    }
}
