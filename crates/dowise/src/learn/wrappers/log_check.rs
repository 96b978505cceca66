//! Warm start from a log: compares live steps with the logged ones, and drops the log if they disagree.
//!
//! A log can mislead a learner: something unrecorded acted on its levers, or the world has changed since. Then a row
//! has other probabilities in live steps than in logged ones. With n the logged and m the live counts of a row,
//!
//! ```text
//! ln e = ln mixture(n) + ln mixture(m) − max over p of ln p(n + m)
//! ```
//!
//! has mean of e at most 1 at every time if the row is the same (universal inference), under any choice of
//! interventions. The product of 1 − q + q e over the rows of the log combines them; q is the share of rows that one
//! bets to differ. When the mean over three values of q reaches 1/δ, the log is contradicted: one of the same world
//! with probability at most δ. `docs/theory/guarantees.md` has the proof (theorem 13).

use serde::{Deserialize, Serialize};

use super::row_words::{RowWords, subject};
use crate::learn::belief::{mixture_penalty, mixture_penalty_of_shares};
use crate::learn::evidence::{Evidence, EvidenceError, RowAt, RowSeen, SavedEvidence};
use crate::learn::learner::Kind;
use crate::learn::observation::Observation;
use crate::learn::save::RestoreError;
use crate::learn::tabular::Tabular;
use crate::math::{exp, ln};
use crate::memory::Held;

/// Probability that a log is ever dropped although its rows are those of live steps.
const DELTA: f64 = 0.01;

/// Live steps before the first comparison; the following ones come whenever a tenth more were taken.
const FIRST: u64 = 50;

/// A log that live steps contradict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogContradicted {
    /// In words: the row that differs most.
    pub what: String,
    /// The episode, from 1.
    pub episode: u64,
    /// Logged steps.
    pub logged: u64,
    /// Live steps until then.
    pub live: u64,
    /// Whether the learner dropped the logged steps. A learner with graph repair or forgetting keeps them.
    pub dropped: bool,
}

/// The steps of a log that a learner began with.
#[derive(Debug)]
pub(crate) struct LogCheck {
    log: Evidence,
    /// Live steps at the next comparison.
    due: u64,
    found: Option<LogContradicted>,
    /// Whether the log is dropped if it is contradicted.
    drops: bool,
    _held: Held,
}

/// Serialised form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedLogCheck {
    log: SavedEvidence,
    due: u64,
    found: Option<LogContradicted>,
}

impl Clone for LogCheck {
    fn clone(&self) -> LogCheck {
        LogCheck {
            log: self.log.clone(),
            due: self.due,
            found: self.found.clone(),
            drops: self.drops,
            _held: self._held.clone(),
        }
    }
}

impl LogCheck {
    /// A comparison with all that a learner has counted so far; `None` if there is no memory for a copy.
    pub(crate) fn new(log: &Evidence, drops: bool) -> Option<LogCheck> {
        let held = Held::ask(log.bytes_taken()).ok()?;
        Some(LogCheck { log: log.clone(), due: FIRST, found: None, drops, _held: held })
    }

    pub(crate) fn found(&self) -> Option<&LogContradicted> {
        self.found.as_ref()
    }

    /// Counts one more step of the log, which came between episodes.
    pub(crate) fn add(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), EvidenceError> {
        self.log.add_times(observation, times)
    }

    /// Compares, if enough live steps came since the last comparison, and drops the log if it is contradicted.
    pub(crate) fn learn(&mut self, inside: &mut Kind, episode: u64) {
        let Kind::Tabular(tabular) = inside else { return };
        let live = tabular.evidence.steps().saturating_sub(self.log.steps());
        if self.found.is_some() || live < self.due {
            return;
        }
        self.due = live + live / 10;
        // Graph repair may have changed the tables.
        let Some(live) = tabular.evidence.without(&self.log) else { return };
        let Some(what) = contradiction(&self.log, &live) else { return };
        let [logged, steps] = [&self.log, &live].map(Evidence::steps);
        let dropped = self.drops && replace(tabular, live);
        self.found = Some(LogContradicted { what, episode, logged, live: steps, dropped });
    }

    pub(crate) fn saved(&self) -> SavedLogCheck {
        SavedLogCheck { log: self.log.saved(), due: self.due, found: self.found.clone() }
    }

    /// Restores the comparison of a learner with this evidence.
    pub(crate) fn restored(saved: SavedLogCheck, of: &Evidence, drops: bool) -> Result<LogCheck, RestoreError> {
        let log = Evidence::restored(&of.view, &saved.log)?;
        let held = Held::ask(log.bytes_taken())
            .map_err(|_| RestoreError::damaged("log-check", "there is no memory for the steps of its log"))?;
        Ok(LogCheck { log, due: saved.due, found: saved.found, drops, _held: held })
    }
}

/// Replaces the evidence of a learner; `false` if there is no memory to do so.
fn replace(tabular: &mut Tabular, evidence: Evidence) -> bool {
    let Ok(mut changed) = Tabular::with(evidence, tabular.options.clone()) else { return false };
    // Plan numbers continue.
    changed.plans = tabular.plans;
    *tabular = changed;
    true
}

/// The row that differs most, in words, if live steps contradict the log.
fn contradiction(log: &Evidence, live: &Evidence) -> Option<String> {
    let shares = shares(log.n_rows());
    let (mut products, mut most) = ([0.0; 3], None::<(f64, RowAt)>);
    for at in log.rows() {
        let e = log_e(log.row_of(at), live.row_of(at));
        products.iter_mut().zip(shares).for_each(|(product, share)| *product += ln_bet(share, e));
        if most.is_none_or(|(most, _)| e > most) {
            most = Some((e, at));
        }
    }
    (ln_mean(products) >= -ln(DELTA)).then_some(most).flatten().map(|(_, at)| words(log, live, at))
}

/// The shares q of rows that one bets to differ: one row, a few, half of them.
fn shares(n_rows: usize) -> [f64; 3] {
    let n = n_rows.max(2) as f64;
    [1.0 / n, 1.0 / n.sqrt(), 0.5]
}

/// ln(1 − q + q e), also where e overflows.
fn ln_bet(q: f64, ln_e: f64) -> f64 {
    let [stay, bet] = [ln(1.0 - q), ln(q) + ln_e];
    stay.max(bet) + ln(1.0 + exp(-(stay - bet).abs()))
}

/// The logarithm of the mean of exponentials.
fn ln_mean(logs: [f64; 3]) -> f64 {
    let most = logs.into_iter().fold(f64::NEG_INFINITY, f64::max);
    most + ln(logs.into_iter().map(|l| exp(l - most)).sum::<f64>() / 3.0)
}

/// ln e of a row.
fn log_e(log: RowSeen<'_>, live: RowSeen<'_>) -> f64 {
    match (log, live) {
        (RowSeen::Values(n), RowSeen::Values(m)) => {
            let both: Vec<f64> = n.iter().zip(m).map(|(&a, &b)| f64::from(a) + f64::from(b)).collect();
            let own = |counts: &[u32]| match counts.iter().sum::<u32>() {
                0 => 0.0,
                total => fit(counts.iter().map(|&k| f64::from(k))) - mixture_penalty(counts, total),
            };
            own(n) + own(m) - fit(both.into_iter())
        }
        (RowSeen::Paid(n, n_sum), RowSeen::Paid(m, m_sum)) => {
            let parts = |n: u32, sum: u128| {
                let high = sum as f64 / crate::learn::PAID_WHOLE as f64;
                [high, f64::from(n) - high]
            };
            let ([a, b], [c, d]) = (parts(n, n_sum), parts(m, m_sum));
            let own = |[x, y]: [f64; 2]| match x + y > 0.0 {
                true => fit([x, y].into_iter()) - mixture_penalty_of_shares(x, y),
                false => 0.0,
            };
            own([a, b]) + own([c, d]) - fit([a + c, b + d].into_iter())
        }
        _ => 0.0,
    }
}

/// The log-likelihood of counts under their own frequencies.
fn fit(counts: impl Iterator<Item = f64> + Clone) -> f64 {
    let total: f64 = counts.clone().sum();
    counts.filter(|&k| k > 0.0).map(|k| k * ln(k / total)).sum()
}

fn words(log: &Evidence, live: &Evidence, at: RowAt) -> String {
    let view = &log.view;
    let RowWords { of, names, stage, given, values } = RowWords::new(view, at);
    let subject = subject((of, &names), stage, &given);
    let difference = match (log.row_of(at), live.row_of(at)) {
        (RowSeen::Values(n), RowSeen::Values(m)) => {
            let [n_total, m_total] = [n, m].map(|counts| counts.iter().map(|&k| u64::from(k)).sum::<u64>());
            let share = |k: u32, total: u64| f64::from(k) / total.max(1) as f64;
            let by = |v: &usize| (share(n[*v], n_total) - share(m[*v], m_total)).abs();
            let v = (0..n.len()).max_by(|a, b| by(a).total_cmp(&by(b))).unwrap_or(0);
            let [logged, now] = [share(n[v], n_total), share(m[v], m_total)];
            format!("{} in {logged:.2} of {n_total} logged steps, in {now:.2} of {m_total} live steps", values[v])
        }
        (RowSeen::Paid(n, n_sum), RowSeen::Paid(m, m_sum)) => {
            let RowAt::Payment { term, .. } = at else { return subject };
            let [lo, hi] = view.payments.terms[term].range;
            let mean = |n: u32, sum: u128| {
                lo + (hi - lo) * (sum as f64 / crate::learn::PAID_WHOLE as f64) / f64::from(n.max(1))
            };
            format!("{:.3} on average in {n} logged steps, {:.3} in {m} live steps", mean(n, n_sum), mean(m, m_sum))
        }
        _ => return subject,
    };
    format!("{subject}: {difference}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::powi;

    #[test]
    fn equal_rows_are_contradicted_as_rarely_as_promised() {
        // The mean of e under equal rows is at most 1: enumerated for all outcomes of three logged and three live steps.
        for p in [0.1, 0.5, 0.8] {
            let mut mean = 0.0;
            for outcome in 0..64u32 {
                let ones = |bits: u32| bits.count_ones();
                let (a, b) = (ones(outcome & 7), ones(outcome >> 3));
                let probability = powi(p, a + b) * powi(1.0 - p, 6 - a - b);
                let e = log_e(RowSeen::Values(&[3 - a, a]), RowSeen::Values(&[3 - b, b]));
                mean += probability * exp(e);
            }
            assert!(mean <= 1.0, "p = {p}: the mean of e is {mean}");
        }
    }

    #[test]
    fn rows_that_live_steps_avoid_count_against_a_contradiction() {
        let e = log_e(RowSeen::Values(&[70, 30, 5]), RowSeen::Values(&[0, 0, 0]));
        assert!((-10.0..0.0).contains(&e), "{e}");
        let paid = log_e(RowSeen::Paid(100, 50 * crate::learn::PAID_WHOLE), RowSeen::Paid(0, 0));
        assert!((-10.0..0.0).contains(&paid), "{paid}");
    }

    #[test]
    fn bets_are_products_of_their_rows() {
        for ln_e in [-800.0, -1.0, 0.0, 2.0, 800.0] {
            for q in shares(40) {
                let plain = ln(1.0 - q + q * exp(f64::min(ln_e, 600.0)));
                let expected = if ln_e > 600.0 { ln(q) + ln_e } else { plain };
                assert!((ln_bet(q, ln_e) - expected).abs() < 1e-12, "q = {q}, ln e = {ln_e}");
            }
        }
        assert!((ln_mean([0.0, ln(2.0), ln(3.0)]) - ln(2.0)).abs() < 1e-12);
    }

    #[test]
    fn rows_that_differ_are_contradicted() {
        let e = |live: [u32; 2]| log_e(RowSeen::Values(&[800, 200]), RowSeen::Values(&live));
        assert!(e([160, 40]) < 0.0, "{}", e([160, 40]));
        assert!(e([80, 120]) > 20.0, "{}", e([80, 120]));
        let half = crate::learn::PAID_WHOLE / 2;
        let paid = |live: u128| log_e(RowSeen::Paid(1000, 1000 * half), RowSeen::Paid(200, live));
        assert!(paid(200 * half) < 0.0 && paid(60 * half) > 20.0, "{} {}", paid(200 * half), paid(60 * half));
    }
}
