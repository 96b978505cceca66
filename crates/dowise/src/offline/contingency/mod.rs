//! Contingency tables: tests of independence of two variables within rows (strata).
//!
//! `tables.rs` merges rare classes by margins alone; `statistic.rs` has the generalised Cochran–Mantel–Haenszel and
//! Pearson statistics with their permutation moments; `permute.rs` draws permutations; `gamma.rs` has the tails of χ².
//! The graph test and the missingness tests both use [`Prepared`].

mod gamma;
mod permute;
mod statistic;
mod tables;

use self::statistic::Reference;
pub(crate) use self::statistic::pearson;
pub(crate) use self::tables::{Merge, Table, Tables};

/// Comparisons with fewer visits than this, in rows where both sides vary, are not tested.
pub(crate) const LEAST_VISITS: f64 = 20.0;

/// From this many visits on, a moment-based p-value below [`SURE`] is accepted: only the shape of its far tail is
/// uncertain.
const MANY_VISITS: f64 = 3000.0;
const SURE: f64 = 1e-12;

/// Permutations are drawn if the moment-based p-value is below this.
const DOUBTFUL: f64 = 0.1;

/// Limit on drawn visits times draws, and on visits; beyond it, the moments decide.
const MOST_WORK: f64 = 2e8;

/// Tables with the permutation distribution of their statistics.
pub(crate) struct Prepared {
    pub(crate) tables: Tables,
    reference: Reference,
}

/// How permutations are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    /// The most that are drawn.
    pub(crate) most: u32,
    pub(crate) seed: u64,
}

impl Draws {
    /// Enough draws for the smallest of `n` p-values to be significant at this level after adjustment.
    pub(crate) fn enough(n: usize, level: f64) -> u32 {
        (5.0 * n as f64 / level).clamp(2000.0, 100_000.0) as u32
    }
}

impl Prepared {
    /// Of tables with at least [`LEAST_VISITS`]; the other tables are returned.
    pub(crate) fn new(tables: Tables) -> Result<Prepared, Box<Tables>> {
        if tables.tables.is_empty() || tables.visits() < LEAST_VISITS {
            return Err(Box::new(tables));
        }
        let reference = Reference::of_tables(&tables);
        Ok(Prepared { tables, reference })
    }

    /// The p-value of independence within rows by the moments alone.
    pub(crate) fn by_moments(&self) -> f64 {
        self.adjusted(self.reference.least(&self.tables))
    }

    /// Bonferroni's correction of the smaller p-value for two statistics.
    fn adjusted(&self, least: f64) -> f64 {
        if self.reference.is_alone() { least } else { (2.0 * least).min(1.0) }
    }

    /// The p-value of independence within rows, and whether it is from drawn permutations.
    ///
    /// Permutations decide where the moments are doubtful: sparse tables and small p-values. Under independence,
    /// P(p ≤ α) ≤ α for drawn p-values, for any number of visits.
    pub(crate) fn p_value(&self, draws: Draws) -> (f64, bool) {
        let (tables, reference) = (&self.tables, &self.reference);
        let seen = reference.least(tables);
        let p = self.adjusted(seen);
        let sure = tables.visits() >= MANY_VISITS && p < SURE && !tables.is_sparse;
        let doubtful = tables.is_sparse || p < DOUBTFUL;
        let work = permute::work(tables) * f64::from(draws.most);
        let drawn = doubtful && !sure && work.max(tables.visits()) <= MOST_WORK;
        match drawn {
            true => (permute::p_by_permutations(tables, reference, seen, draws.most, draws.seed), true),
            false => (p, false),
        }
    }
}
