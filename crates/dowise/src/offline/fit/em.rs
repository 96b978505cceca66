//! Expectation–maximisation (EM): missing key variables are imputed from the rest of the step.
//!
//! A step has s, the intervention, some key variables and s′. With θ for all tables, the missing ones have P(z | rest,
//! θ) ∝ Π P(z_k | parents) Π P(s′_i | scope). Each affected table counts them as fractional visits, and the tables are
//! fitted again. The posterior density of θ never falls. Valid if values are missing at random given the recorded step,
//! s′ included; biased if missingness depends on the missing value itself.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::report::EmReport;
use super::tables::{Rule, Tallies};
use crate::Space;
use crate::kernel::groups;
use crate::learn::{Counts, Evidence, Fit, Knowledge, MISSING, Observation, dirichlet_of, sampled_tables};
use crate::math::ln;
use crate::world::{Kind, Mechanism, VarId, World};

/// Maximum number of joint missing values per step.
const MOST_JOINT: usize = 4096;
/// Maximum number of rounds.
const MOST_ROUNDS: usize = 1000;
/// Convergence: the density rises by less than this, absolutely and relatively.
const CLOSE: f64 = 1e-9;

/// Steps with missing values, grouped by pattern.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incomplete {
    /// Multiplicity, and rank in order of first occurrence.
    seen: BTreeMap<Pattern, (u64, usize)>,
}

/// The recorded part of a step; `values` by [`VarId`], with [`MISSING`] for missing ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Pattern {
    values: Vec<u32>,
    /// Levers that were set, as bits.
    set: u64,
    next_state: Option<usize>,
}

/// A table whose cell in a step is unknown because a value is missing.
pub(super) struct Open<'a> {
    mechanism: &'a Mechanism,
    /// Its index among the tables, transitions first.
    table: usize,
    /// The next value, for a transition.
    next: Option<usize>,
}

/// One incomplete step: its missing variables, and the tables that they affect.
pub(super) struct Case<'a> {
    values: &'a [u32],
    pub(super) times: f64,
    missing: Vec<VarId>,
    pub(super) joint: Space,
    pub(super) open: Vec<Open<'a>>,
}

impl Case<'_> {
    /// All values, with the missing ones taken from their joint index.
    pub(super) fn filled(&self, joint: usize) -> Vec<u32> {
        let mut values = self.values.to_vec();
        self.missing.iter().enumerate().for_each(|(i, id)| values[id.ix()] = self.joint.digit(joint, i) as u32);
        values
    }
}

impl Incomplete {
    /// Stores a step in which a key variable, or a lever that was left alone, is missing; returns its pattern.
    pub(crate) fn add(&mut self, knowledge: &Knowledge, step: &Observation<'_>, times: u32) -> Option<usize> {
        if knowledge.keys().iter().chain(knowledge.levers()).any(|&id| step.value(id).is_none()) {
            let mut values = step.values().to_vec();
            // A simulated step contains hidden values; a log does not, so they are removed.
            knowledge.world().hidden().iter().for_each(|id| values[id.ix()] = MISSING);
            let pattern = Pattern { values, set: step.levers_set(knowledge), next_state: step.whole_next_state() };
            let id = self.seen.len();
            let entry = self.seen.entry(pattern).or_insert((0, id));
            entry.0 += u64::from(times);
            return Some(entry.1);
        }
        None
    }

    /// Whether no step has missing values.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    pub(super) fn n_patterns(&self) -> usize {
        self.seen.len()
    }

    /// The steps with enumerable missing values, by pattern.
    pub(super) fn cases<'a>(&'a self, tables: &'a Tables<'a>) -> Vec<(usize, Case<'a>)> {
        let of = |(pattern, &(times, id)): (&'a Pattern, &(u64, usize))| Some((id, tables.case(pattern, times)?));
        self.seen.iter().filter_map(of).collect()
    }

    /// The serialised form.
    pub(crate) fn saved(&self) -> Vec<(Pattern, u64)> {
        self.seen.iter().map(|(pattern, &(times, _))| (pattern.clone(), times)).collect()
    }

    /// Restores a saved value; `None` if it does not fit this world's variables and states.
    pub(crate) fn restored(knowledge: &Knowledge, saved: Vec<(Pattern, u64)>) -> Option<Incomplete> {
        let world = knowledge.world();
        let fits = |pattern: &Pattern| {
            let sizes = world.variables().iter().map(|v| v.size() as u32);
            pattern.values.len() == world.variables().len()
                && pattern.values.iter().zip(sizes).all(|(&v, size)| v == MISSING || v < size)
                && world.state().iter().all(|id| pattern.values[id.ix()] != MISSING)
                && pattern.next_state.is_none_or(|s| s < world.n_states())
        };
        let fitting = saved.iter().all(|(pattern, times)| fits(pattern) && *times > 0 && *times < 1 << 32);
        let seen = saved.into_iter().enumerate().map(|(id, (pattern, times))| (pattern, (times, id)));
        fitting.then(|| Incomplete { seen: seen.collect() })
    }

    /// Adds the expected counts of incomplete steps to the tallies.
    pub(super) fn expect(&self, evidence: &Evidence, tallies: &mut Tallies, rule: Rule) -> EmReport {
        let tables = Tables::new(evidence, rule);
        let mut report = EmReport { steps: 0, left_out: 0, density: Vec::new() };
        let mut cases = Vec::new();
        for (pattern, &(times, _)) in &self.seen {
            match tables.case(pattern, times) {
                Some(case) => {
                    report.steps += times;
                    cases.push(case);
                }
                None => report.left_out += times,
            }
        }
        let seen: Vec<Vec<f64>> = tallies.transitions.iter().chain(&tallies.mechanisms).cloned().collect();
        let mut now = tables.fit(&seen);
        let mut counts = seen.clone();
        for round in 0..MOST_ROUNDS {
            let mut expected = seen.clone();
            let density =
                tables.prior_density(&now) + tables.density(&now, &seen) + expect(&cases, &tables, &now, &mut expected);
            if let Some(&before) = report.density.last()
                && density <= before + CLOSE * (1.0 + before.abs())
            {
                // A form behind hidden variables may reach another mode; the better one is kept.
                if density >= before {
                    counts = expected;
                    report.density.push(density);
                }
                break;
            }
            report.density.push(density);
            counts = expected;
            if round + 1 < MOST_ROUNDS {
                now = tables.fit(&counts);
            }
        }
        let mechanisms = counts.split_off(tallies.transitions.len());
        (tallies.transitions, tallies.mechanisms) = (counts, mechanisms);
        report
    }
}

/// Adds the expected counts of every case, and returns the log likelihood of the recorded values.
fn expect(cases: &[Case<'_>], tables: &Tables<'_>, now: &Fitted, out: &mut [Vec<f64>]) -> f64 {
    let mut likelihood = 0.0;
    let (mut weights, mut at) = (Vec::new(), Vec::new());
    for case in cases {
        weights.clear();
        at.clear();
        for joint in 0..case.joint.len() {
            let values = case.filled(joint);
            let mut weight = 1.0;
            for open in &case.open {
                let cell = tables.cell(open, &values);
                at.push(cell);
                weight *= now.tables[open.table].get(cell).copied().unwrap_or(0.0);
            }
            weights.push(weight);
        }
        let total: f64 = weights.iter().sum();
        if total <= 0.0 {
            // Kept tables give this step probability zero, so nothing is imputed.
            continue;
        }
        likelihood += case.times * ln(total);
        for (joint, weight) in weights.iter().enumerate() {
            let share = case.times * weight / total;
            for (open, &cell) in case.open.iter().zip(&at[joint * case.open.len()..]) {
                if let Some(counts) = out.get_mut(open.table).filter(|_| tables.is_learned(open.table)) {
                    counts[cell] += share;
                }
            }
        }
    }
    likelihood
}

/// All tables of a step: transitions, learned mechanisms, then known mechanisms.
pub(super) struct Tables<'a> {
    evidence: &'a Evidence,
    world: &'a World,
    knowledge: &'a World,
    rule: Rule,
    /// Positions in `world` of learned mechanisms, then of relevant known ones.
    learned: Vec<usize>,
    known: Vec<usize>,
}

/// The tables at the current parameters, and the prior density of forms there.
pub(super) struct Fitted {
    pub(super) tables: Vec<Vec<f64>>,
    forms: f64,
}

impl<'a> Tables<'a> {
    pub(super) fn new(evidence: &'a Evidence, rule: Rule) -> Tables<'a> {
        let view = &evidence.view;
        let knowledge = view.knowledge.world();
        let world = view.mechanisms.as_ref().map_or(knowledge, |rows| &rows.world);
        let learned: Vec<usize> =
            view.mechanisms.iter().flat_map(|rows| rows.unknown.iter().map(|of| of.position)).collect();
        let mut known: Vec<usize> = groups::groups(world).into_iter().flat_map(|g| g.mechanisms).collect();
        known.retain(|m| !learned.contains(m));
        Tables { evidence, world, knowledge, rule, learned, known }
    }

    fn n_transitions(&self) -> usize {
        self.knowledge.transitions().len()
    }

    pub(super) fn is_learned(&self, table: usize) -> bool {
        let n = self.n_transitions();
        if table < n { self.knowledge.transitions()[table].table.is_none() } else { table - n < self.learned.len() }
    }

    /// The missing variables of a step and the tables that they affect; `None` if there are too many joint values.
    fn case<'b>(&'b self, pattern: &'b Pattern, times: u64) -> Option<Case<'b>> {
        let is_missing = |id: &VarId| pattern.values[id.ix()] == MISSING;
        let touches = |m: &Mechanism| m.parents.iter().any(is_missing);
        let mut open = Vec::new();
        if let Some(next) = pattern.next_state {
            for (i, m) in self.knowledge.transitions().iter().enumerate().filter(|(_, m)| touches(m)) {
                open.push(Open { mechanism: m, table: i, next: Some(self.knowledge.state_space().digit(next, i)) });
            }
        }
        let n = self.n_transitions();
        for (i, &position) in self.learned.iter().chain(&self.known).enumerate() {
            let m = &self.world.mechanisms()[position];
            let was_set = |id: &VarId| {
                let lever = self.world.levers().iter().position(|l| l == id);
                lever.is_some_and(|l| pattern.set >> l & 1 == 1)
            };
            if (touches(m) || m.children.iter().any(is_missing)) && !m.children.iter().any(was_set) {
                open.push(Open { mechanism: m, table: n + i, next: None });
            }
        }
        let mut missing: Vec<VarId> =
            open.iter().flat_map(|o| o.mechanism.parents.iter().chain(&o.mechanism.children)).copied().collect();
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|id| is_missing(id) && self.world.variable(*id).kind != Kind::State);
        let joint = Space::new(&self.world.sizes(&missing)).filter(|space| space.len() <= MOST_JOINT)?;
        Some(Case { values: &pattern.values, times: times as f64, missing, joint, open })
    }

    /// The table cell of a full assignment.
    pub(super) fn cell(&self, open: &Open<'_>, values: &[u32]) -> usize {
        let digit = |at: usize, id: &VarId| at * self.world.variable(*id).size() + values[id.ix()] as usize;
        let row = open.mechanism.parents.iter().fold(0, digit);
        match open.next {
            Some(next) => row * self.world.variable(open.mechanism.children[0]).size() + next,
            None => open.mechanism.children.iter().fold(row, digit),
        }
    }

    fn n_values(&self, table: usize) -> usize {
        let n = self.n_transitions();
        if table < n {
            self.evidence.view.layout.factors[table].n_values
        } else {
            self.evidence.mechanisms[table - n].n_values
        }
    }

    /// Pseudo-counts of the prior and of a guess, for a cell of a free table.
    fn prior_of(&self, table: usize, cell: usize) -> f64 {
        let share = self.rule.prior / self.n_values(table) as f64;
        let guess = table.checked_sub(self.n_transitions()).and_then(|index| {
            let rows = self.evidence.view.mechanisms.as_ref()?;
            rows.unknown[index].guess.as_ref().map(|(guess, worth)| guess[cell] * worth)
        });
        share + guess.unwrap_or(0.0)
    }

    pub(super) fn table_of(&self, open: &Open<'_>) -> usize {
        open.table
    }

    /// Joint key values of an assignment, if none is missing.
    pub(super) fn cause(&self, values: &[u32]) -> Option<u32> {
        let (cause, missing) = self.evidence.view.key_causes.of_seen(values, MISSING);
        (missing == 0).then_some(cause as u32)
    }

    /// The counts of a table.
    pub(super) fn counted<'b>(&self, evidence: &'b Evidence, table: usize) -> &'b Counts {
        match table.checked_sub(self.n_transitions()) {
            None => &evidence.transitions[0][table],
            Some(index) => &evidence.mechanisms[index],
        }
    }

    /// The counts of a table, mutable.
    pub(super) fn counted_mut<'b>(&self, evidence: &'b mut Evidence, table: usize) -> &'b mut Counts {
        match table.checked_sub(self.n_transitions()) {
            None => &mut evidence.transitions[0][table],
            Some(index) => &mut evidence.mechanisms[index],
        }
    }

    /// Draws tables from their posterior given counts.
    pub(super) fn draw(&self, counts: &Evidence, rng: &mut ChaCha8Rng) -> Fitted {
        let mut tables: Vec<Vec<f64>> = Vec::new();
        for (table, m) in self.knowledge.transitions().iter().enumerate() {
            tables.push(match &m.table {
                Some(known) => known.to_vec(),
                None => {
                    let counted = self.counted(counts, table);
                    let share = self.rule.prior / counted.n_values as f64;
                    let mut out: Vec<f64> = counted.n_rv.iter().map(|&n| f64::from(n) + share).collect();
                    out.chunks_exact_mut(counted.n_values).for_each(|row| dirichlet_of(row, rng));
                    out
                }
            });
        }
        if let Some(rows) = &counts.view.mechanisms {
            let mut drawn = sampled_tables(&counts.mechanisms, rows, self.rule.prior, rng);
            let of = |&position: &usize| drawn[position].take().expect("invariant: what is learned is drawn");
            tables.extend(self.learned.iter().map(of).collect::<Vec<_>>());
        }
        let known = self.known.iter().map(|&m| self.world.mechanisms()[m].table.as_deref());
        tables.extend(known.map(|table| table.expect("invariant: what is not learned is known").to_vec()));
        Fitted { tables, forms: 0.0 }
    }

    /// Fits tables to counts.
    pub(super) fn fit(&self, counts: &[Vec<f64>]) -> Fitted {
        let n = self.n_transitions();
        let mut forms = 0.0;
        let mut tables: Vec<Vec<f64>> = Vec::new();
        for (table, counts) in counts.iter().enumerate() {
            if table < n
                && let Some(known) = &self.knowledge.transitions()[table].table
            {
                tables.push(known.to_vec());
                continue;
            }
            let model = table.checked_sub(n).and_then(|index| {
                let rows = self.evidence.view.mechanisms.as_ref()?;
                rows.unknown[index].model.as_ref()
            });
            tables.push(match model {
                Some(model) => {
                    let fit = Fit::of_tally(model, counts);
                    forms += fit.prior_density(model);
                    fit.mean(model)
                }
                None => {
                    let mut out: Vec<f64> =
                        counts.iter().enumerate().map(|(cell, n)| n + self.prior_of(table, cell)).collect();
                    for row in out.chunks_exact_mut(self.n_values(table)) {
                        let total: f64 = row.iter().sum();
                        row.iter_mut().for_each(|p| *p /= total);
                    }
                    out
                }
            });
        }
        let known = self.known.iter().map(|&m| self.world.mechanisms()[m].table.as_deref());
        tables.extend(known.map(|table| table.expect("invariant: what is not learned is known").to_vec()));
        Fitted { tables, forms }
    }

    /// Log prior density, up to a constant.
    fn prior_density(&self, now: &Fitted) -> f64 {
        let n = self.n_transitions();
        let mut density = now.forms;
        for table in (0..n + self.learned.len()).filter(|&t| self.is_learned(t)) {
            let has_form = table.checked_sub(n).is_some_and(|index| {
                let rows = self.evidence.view.mechanisms.as_ref();
                rows.is_some_and(|rows| rows.unknown[index].model.is_some())
            });
            if !has_form {
                let cells = now.tables[table].iter().enumerate();
                density += cells.map(|(cell, p)| self.prior_of(table, cell) * ln(*p)).sum::<f64>();
            }
        }
        density
    }

    /// Log likelihood of counts.
    fn density(&self, now: &Fitted, seen: &[Vec<f64>]) -> f64 {
        let of = |(counts, table): (&Vec<f64>, &Vec<f64>)| {
            let cells = counts.iter().zip(table).filter(|(n, _)| **n > 0.0);
            cells.map(|(n, p)| n * ln(p.max(f64::MIN_POSITIVE))).sum::<f64>()
        };
        seen.iter().zip(&now.tables).map(of).sum()
    }
}
