//! Report of detected change points in words: the row, the time, and the probabilities before and after.

use serde::Serialize;

use super::Forgetting;
use super::rows::{Noticed, Part};
use crate::learn::PAID_WHOLE;
use crate::learn::evidence::{RowAt, SeenOf};
use crate::learn::view::View;
use crate::learn::wrappers::row_words::{RowWords, subject};

/// A change point of a row, detected by a learner with `forget=reset`; it serialises to JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeNoticed {
    /// In words.
    pub what: String,
    /// The episode of the detection, from 1, computed from the number of steps: as many as stages make an episode.
    pub episode: u64,
    /// The estimated episode of the change.
    pub since: u64,
    /// The kind of table.
    pub of: SeenOf,
    /// The variables or reward terms; the whole state if there are none.
    pub names: Vec<String>,
    /// The stage, from 1, if stages count separately.
    pub stage: Option<usize>,
    /// The parents of the row: names and values.
    pub given: Vec<(String, String)>,
    /// Visits before, and since.
    pub visits: [u64; 2],
    /// Frequency of each value before, and since; for a reward its mean, as `mean`.
    pub shares: Vec<(String, [f64; 2])>,
}

impl Forgetting {
    /// Number of all detected changes.
    pub(crate) fn n_changes(&self) -> u64 {
        match self {
            Forgetting::Aged(_) => 0,
            Forgetting::Rows(rows) => rows.count,
        }
    }

    /// The latest changes, in order.
    pub(crate) fn changes(&self, view: &View) -> Vec<ChangeNoticed> {
        match self {
            Forgetting::Aged(_) => Vec::new(),
            Forgetting::Rows(rows) => rows
                .noticed
                .iter()
                .map(|noticed| described(view, rows.tables[noticed.table].at(noticed.row), noticed))
                .collect(),
        }
    }
}

fn described(view: &View, at: RowAt, noticed: &Noticed) -> ChangeNoticed {
    let RowWords { of, names, stage, given, values } = RowWords::new(view, at);
    let sides = [&noticed.before, &noticed.after];
    let visits = sides.map(Part::n);
    let shares: Vec<(String, [f64; 2])> = match at {
        RowAt::Payment { term, .. } => {
            let [lo, hi] = view.payments.terms[term].range;
            vec![("mean".to_owned(), sides.map(|side| lo + (hi - lo) * side.share(0)))]
        }
        RowAt::Transition { .. } | RowAt::Mechanism { .. } => {
            let shares = values.into_iter().enumerate().map(|(v, name)| (name, sides.map(|side| side.share(v as u32))));
            shares.filter(|(_, [before, after])| before + after > 0.0).collect()
        }
    };
    let (episode, since) = (noticed.episode, noticed.since);
    let mut change = ChangeNoticed { what: String::new(), episode, since, of, names, stage, given, visits, shares };
    change.what = words(&change);
    change
}

fn words(change: &ChangeNoticed) -> String {
    let ChangeNoticed { episode, since, of, names, stage, given, visits: [before, after], shares, .. } = change;
    let subject = subject((*of, names), *stage, given);
    let most = shares.iter().max_by(|(_, a), (_, b)| (a[0] - a[1]).abs().total_cmp(&(b[0] - b[1]).abs()));
    let by = most.map_or(String::new(), |(value, [was, is])| match of {
        SeenOf::Reward => format!(": {was:.3} on average in {before} visits, {is:.3} in the {after} since"),
        SeenOf::Transition | SeenOf::Mechanism => {
            format!(": {value} in {was:.2} of {before} visits, in {is:.2} of the {after} since")
        }
    });
    format!("{subject}{by} (episode {since}, noticed in {episode})")
}

impl Part {
    fn n(&self) -> u64 {
        match self {
            Part::Values(counts) => counts.iter().map(|(_, n)| u64::from(*n)).sum(),
            Part::Paid(n, _) => (*n).into(),
        }
    }

    /// A value's frequency, or the mean reward as a share of its range.
    fn share(&self, value: u32) -> f64 {
        let n = self.n().max(1) as f64;
        match self {
            Part::Values(counts) => counts.iter().find(|(v, _)| *v == value).map_or(0.0, |(_, k)| f64::from(*k) / n),
            Part::Paid(_, sum) => u128::from_str_radix(sum, 16).map_or(0.0, |sum| sum as f64 / PAID_WHOLE as f64 / n),
        }
    }
}
