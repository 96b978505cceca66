//! Posterior means and credible intervals of every row, and the fitted parameters of forms.

use super::beta::beta_quantile;
use super::report::{FitAxis, FitPart, FitRow, FitTable, IntervalKind};
use crate::Space;
use crate::learn::{Counts, Evidence, Fit, Knowledge, MechanismRow, MechanismRows, NextStateRewards, Payments, View};
use crate::offline::evaluate::moments;
use crate::world::{FormEffect, FormNumbers, Kind, LearnedForm, Mechanism, RewardTerm, Start, VarId, World};

/// Prior weight and interval level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Prior weight in visits, shared equally by the values of a row.
    pub(super) prior: f64,
    /// Level of the intervals.
    pub(super) level: f64,
}

/// Fractional counts of every table of a view: `[table][row × values + value]`.
pub(super) struct Tallies {
    pub(super) transitions: Vec<Vec<f64>>,
    pub(super) mechanisms: Vec<Vec<f64>>,
}

impl Tallies {
    pub(super) fn of(evidence: &Evidence) -> Tallies {
        let read = |counts: &crate::learn::Counts| counts.n_rv.iter().map(|&n| f64::from(n)).collect();
        Tallies {
            transitions: evidence.transitions[0].iter().map(read).collect(),
            mechanisms: evidence.mechanisms.iter().map(read).collect(),
        }
    }

    /// Transitions first.
    pub(super) fn all(&self) -> Vec<Vec<f64>> {
        self.transitions.iter().chain(&self.mechanisms).cloned().collect()
    }
}

/// The fitted world, the parameters of its forms by mechanism, and the report of every table.
pub(super) struct Filled {
    pub(super) world: World,
    pub(super) numbers: Vec<Option<FormNumbers>>,
    pub(super) tables: Vec<FitTable>,
}

/// Fits everything that is not kept.
pub(super) fn fill(
    world: &World,
    knowledge: &Knowledge,
    evidence: &Evidence,
    (tallies, next_state_rewards, drawn): (&Tallies, &NextStateRewards, &[Evidence]),
    rule: Rule,
    keep_start: bool,
) -> Filled {
    let view = &evidence.view;
    let mut filled = Filled { world: world.clone(), numbers: vec![None; world.mechanisms().len()], tables: Vec::new() };
    let skeleton = knowledge.world();
    for (i, _) in view.layout.factors.iter().enumerate().filter(|(_, layout)| layout.known.is_none()) {
        let m = &skeleton.transitions()[i];
        let mut rows = free_rows(&evidence.transitions[0][i], &tallies.transitions[i], None, rule);
        let drawn: Vec<&Counts> = drawn.iter().map(|draw| &draw.transitions[0][i]).collect();
        widen_free(&mut rows, &drawn, None, rule);
        filled.world.transitions[i].table = Some(means(&rows).into());
        filled.tables.push(table_of(skeleton, m, FitPart::Transition, "table".into(), rows));
    }
    if let Some(rows) = &view.mechanisms {
        for (index, of) in rows.unknown.iter().enumerate() {
            let counted = &evidence.mechanisms[index];
            let drawn: Vec<&Counts> = drawn.iter().map(|draw| &draw.mechanisms[index]).collect();
            filled.mechanism(knowledge, rows, of, (counted, &tallies.mechanisms[index], &drawn), rule);
        }
    }
    for (i, paid) in fitted_terms(view, evidence, next_state_rewards) {
        let reward = &skeleton.rewards()[i];
        let [lo, hi] = reward.range;
        let centre = paid.centre();
        let prior = Payments::prior_at(centre);
        let row = |row: usize| {
            let (n, sum) = (f64::from(paid.n[row]), paid.sum(row));
            let none = n == 0.0;
            let beta = [prior[0] + sum, prior[1] + n - sum];
            let [low, high] = interval(beta, [none || sum == 0.0, none || sum == n], rule.level);
            let at = |share: f64| lo + (hi - lo) * share;
            let mean = at(paid.mean_at(centre, row));
            FitRow { visits: paid.n[row].into(), mean: vec![mean], low: vec![at(low)], high: vec![at(high)] }
        };
        let rows: Vec<FitRow> = (0..paid.n.len()).map(row).collect();
        filled.world.rewards[i].table = Some(means(&rows).into());
        let given = axes_of(skeleton, reward);
        let parents: Vec<&str> = given.iter().map(|axis| axis.name.as_str()).collect();
        filled.tables.push(FitTable {
            what: format!("reward {}({})", reward.name, parents.join(", ")),
            part: FitPart::Reward,
            form: "table".into(),
            interval: IntervalKind::Beta,
            outcomes: vec!["reward".into()],
            range: reward.range,
            given,
            rows,
            unseen: "the mean of the term's payments".into(),
            ended: Vec::new(),
        });
    }
    filled.tables.iter_mut().for_each(|table| table.ended = ended_rows(skeleton, table));
    if !keep_start {
        filled.start(evidence, rule);
    }
    filled
}

/// Rows of a table that belong to terminal states only.
fn ended_rows(world: &World, table: &FitTable) -> Vec<usize> {
    if world.ends().is_none() {
        return Vec::new();
    }
    let states = world.state_space();
    // The state factors among the table's axes: axis of the table, axis of the state.
    let place = |axis: &FitAxis| world.state().iter().position(|&id| world.variable(id).name == axis.name);
    let factors: Vec<(usize, usize)> =
        table.given.iter().enumerate().filter_map(|(i, axis)| Some((i, place(axis)?))).collect();
    let sizes: Vec<usize> = table.given.iter().map(|axis| axis.values.len()).collect();
    let rows = Space::new(&sizes).expect("invariant: a world's tables were counted");
    // The values of these factors in non-terminal states.
    let of_state = |s: usize| factors.iter().fold(0, |at, &(i, f)| at * sizes[i] + states.digit(s, f));
    let of_row = |row: usize| factors.iter().fold(0, |at, &(i, _)| at * sizes[i] + rows.digit(row, i));
    let mut goes_on = vec![false; factors.iter().map(|&(i, _)| sizes[i]).product()];
    (0..states.len()).filter(|&s| !world.has_ended(s)).for_each(|s| goes_on[of_state(s)] = true);
    (0..rows.len()).filter(|&row| !goes_on[of_row(row)]).collect()
}

/// Positions of the fitted reward terms, with their payments by table row. Kept terms are left out, even if learners
/// estimate their means because of next values.
pub(super) fn fitted_terms<'a>(
    view: &'a View,
    evidence: &'a Evidence,
    next_state_rewards: &'a NextStateRewards,
) -> impl Iterator<Item = (usize, &'a Payments)> {
    let terms = view.payments.terms.iter().zip(&evidence.payments).map(|(term, paid)| {
        let [i] = term.of[..] else { unreachable!("invariant: factored views learn each term by itself") };
        (i, next_state_rewards.of(i).unwrap_or(paid))
    });
    terms.filter(|(i, _)| view.knowledge.rewards()[*i].table.is_none())
}

impl Filled {
    fn mechanism(
        &mut self,
        knowledge: &Knowledge,
        rows: &MechanismRows,
        of: &MechanismRow,
        (counted, tally, drawn): (&Counts, &[f64], &[&Counts]),
        rule: Rule,
    ) {
        let projected = &rows.world.mechanisms()[of.position];
        let skeleton = knowledge.world();
        let Some(model) = &of.model else {
            let [m] = of.made_from[..] else { unreachable!("invariant: free tables have no hidden variables") };
            let guess = of.guess.as_ref().map(|(table, worth)| (&table[..], *worth));
            let mut found = free_rows(counted, tally, guess, rule);
            widen_free(&mut found, drawn, guess, rule);
            self.world.mechanisms[m].table = Some(means(&found).into());
            // The guess is now part of the numbers.
            (self.world.mechanisms[m].assumed.weight, self.world.mechanisms[m].assumed.guess) = (None, None);
            let mut table = table_of(skeleton, projected, FitPart::Mechanism, "table".into(), found);
            if let Some((_, worth)) = guess {
                table.unseen = format!("the world file's guess, worth {worth} visits, and the prior");
            }
            self.tables.push(table);
            return;
        };
        let fit = Fit::of_tally(model, tally);
        let mean = fit.mean(model);
        let [mut low, mut high] = fit.interval(model, normal_deviations(rule.level));
        let wide = model.with_wide_priors();
        stretch((&mut low, &mut high), &mean, &Fit::of_tally(&wide, tally).mean(&wide));
        let n = of.n_values;
        let row = |row: usize| {
            let part = |from: &[f64]| from[row * n..(row + 1) * n].to_vec();
            FitRow { visits: counted.n_r[row].into(), mean: part(&mean), low: part(&low), high: part(&high) }
        };
        let mut found: Vec<FitRow> = (0..of.rows.len()).map(row).collect();
        let means: Vec<Vec<f64>> = drawn.iter().map(|counts| Fit::new(model, counts).mean(model)).collect();
        widen_form(&mut found, &means, normal_deviations(rule.level));
        let members: Vec<&Mechanism> = of.made_from.iter().map(|&m| &skeleton.mechanisms()[m]).collect();
        let forms: Vec<(&LearnedForm, Space)> = members
            .iter()
            .map(|m| {
                let space = Space::new(&skeleton.sizes(&m.parents));
                (&m.assumed.form, space.expect("invariant: a world's tables were counted"))
            })
            .collect();
        for ((&m, member), (table, numbers)) in
            of.made_from.iter().zip(&members).zip(model.members(fit.theta(), &forms))
        {
            if member.table.is_none() {
                self.world.mechanisms[m].table = Some(table.into());
                (self.world.mechanisms[m].assumed.weight, self.world.mechanisms[m].assumed.guess) = (None, None);
                self.numbers[m] = numbers.map(rounded);
            }
        }
        let form = form_words(skeleton, &members);
        let mut table = table_of(skeleton, projected, FitPart::Mechanism, form, found);
        table.interval = IntervalKind::Laplace;
        table.unseen = "what the form says, learned from the other rows".into();
        self.tables.push(table);
    }

    /// The initial-state distribution, from the states at the first stage.
    fn start(&mut self, evidence: &Evidence, rule: Rule) {
        let space = self.world.state_space().clone();
        let first = &evidence.visits_hs[..space.len()];
        if first.iter().all(|&n| n == 0) {
            return;
        }
        let table = |what: String, outcomes: Vec<String>, row: FitRow| FitTable {
            what,
            part: FitPart::Start,
            form: "table".into(),
            interval: IntervalKind::Beta,
            given: Vec::new(),
            outcomes,
            range: [0.0, 1.0],
            rows: vec![row],
            unseen: "nothing".into(),
            ended: Vec::new(),
        };
        let start = match &self.world.start {
            Start::Product(_) => {
                let mut factors = Vec::new();
                for (i, &id) in self.world.state().iter().enumerate() {
                    if self.world.time_index() == Some(id) {
                        // Every episode begins at the first stage, so the time index is known.
                        factors.push((0..space.sizes()[i]).map(|v| f64::from(u8::from(v == 0))).collect());
                        continue;
                    }
                    let mut counts = vec![0.0; space.sizes()[i]];
                    first.iter().enumerate().for_each(|(s, &n)| counts[space.digit(s, i)] += f64::from(n));
                    let total: f64 = counts.iter().sum();
                    let row = free_row((total as u64, &counts), &counts, None, rule);
                    factors.push(row.mean.clone());
                    let variable = self.world.variable(id);
                    self.tables.push(table(format!("P(first {})", variable.name), variable.values.clone(), row));
                }
                Start::Product(factors)
            }
            Start::States(_) => {
                let seen: Vec<usize> = (0..space.len()).filter(|&s| first[s] > 0).collect();
                let counts: Vec<f64> = seen.iter().map(|&s| f64::from(first[s])).collect();
                let total: f64 = counts.iter().sum();
                let mut row = free_row((total as u64, &counts), &counts, None, rule);
                // A prior on the observed states alone would not change their support, so frequencies are used.
                row.mean = counts.iter().map(|n| n / total).collect();
                let words = seen.iter().map(|&s| self.world.describe_state(s)).collect();
                let start = seen.iter().copied().zip(row.mean.iter().copied()).collect();
                self.tables.push(table("P(first state)".into(), words, row));
                Start::States(start)
            }
        };
        self.world.start = start;
    }
}

/// Rows learned separately, from the recorded counts and the tally that includes expected counts.
fn free_rows(counted: &Counts, tally: &[f64], guess: Option<(&[f64], f64)>, rule: Rule) -> Vec<FitRow> {
    let n_values = counted.n_values;
    let of = |(row, counts): (usize, &[f64])| {
        let guess = guess.map(|(table, worth)| (&table[row * n_values..(row + 1) * n_values], worth));
        let seen: Vec<f64> = counted.values(row).iter().map(|&n| f64::from(n)).collect();
        free_row((counted.n_r[row].into(), &seen), counts, guess, rule)
    };
    tally.chunks_exact(n_values).enumerate().map(of).collect()
}

/// One row: the mean of its Dirichlet posterior, and the interval of each value's Beta marginal.
///
/// Recorded counts decide whether a value was never observed, because expected counts are never exactly zero.
fn free_row((visits, recorded): (u64, &[f64]), counts: &[f64], guess: Option<(&[f64], f64)>, rule: Rule) -> FitRow {
    let share = rule.prior / counts.len() as f64;
    let guessed = |v: usize| guess.map_or(0.0, |(table, worth)| worth * table[v]);
    let weights: Vec<f64> = counts.iter().enumerate().map(|(v, n)| n + share + guessed(v)).collect();
    let (total, seen): (f64, f64) = (weights.iter().sum(), recorded.iter().sum());
    let mut row = FitRow { visits, mean: Vec::new(), low: Vec::new(), high: Vec::new() };
    for (&weight, &n) in weights.iter().zip(recorded) {
        let [low, high] = match counts.len() {
            1 => [1.0, 1.0],
            _ => interval([weight, total - weight], [n == 0.0, n == seen], rule.level),
        };
        row.mean.push(weight / total);
        row.low.push(low);
        row.high.push(high);
    }
    row
}

/// Widens intervals of rows with imputed values by the variance between imputations. The Beta variable keeps its mean;
/// its variance is the mean variance within plus that between imputed logs.
fn widen_free(rows: &mut [FitRow], drawn: &[&Counts], guess: Option<(&[f64], f64)>, rule: Rule) {
    let logs = drawn.len() as f64;
    for (r, row) in rows.iter_mut().enumerate() {
        let n_values = row.mean.len();
        for v in 0..n_values {
            let of = |counts: &&Counts| {
                let worth = guess.map_or(0.0, |(_, worth)| worth);
                let guessed = guess.map_or(0.0, |(table, worth)| worth * table[r * n_values + v]);
                let total = f64::from(counts.n_r[r]) + rule.prior + worth;
                ((f64::from(counts.values(r)[v]) + rule.prior / n_values as f64 + guessed) / total, total)
            };
            let shares: Vec<(f64, f64)> = drawn.iter().map(of).collect();
            let (_, _, between) = moments(shares.iter().map(|&(p, _)| (p, 1)));
            if between <= 0.0 {
                continue;
            }
            let within: f64 = shares.iter().map(|(p, total)| p * (1.0 - p) / (total + 1.0)).sum::<f64>() / logs;
            let mean = row.mean[v];
            let strength = mean * (1.0 - mean) / (within + between * (1.0 + 1.0 / logs)) - 1.0;
            let open = [row.low[v] == 0.0, row.high[v] == 1.0];
            [row.low[v], row.high[v]] = match strength > 0.0 {
                true => interval([mean * strength, (1.0 - mean) * strength], open, rule.level),
                false => [0.0, 1.0],
            };
        }
    }
}

/// Stretches intervals of a form by the effect of its prior, in log-odds: the prior shrinks every effect, which shifts
/// rows far from the others' mean in one direction.
fn stretch((low, high): (&mut [f64], &mut [f64]), mean: &[f64], without_prior: &[f64]) {
    let odds = |p: f64| {
        let p = p.clamp(1e-12, 1.0 - 1e-12);
        p / (1.0 - p)
    };
    for (((low, high), &mean), &other) in low.iter_mut().zip(high).zip(mean).zip(without_prior) {
        let ratio = odds(other) / odds(mean);
        let shifted = |p: f64, by: f64| if p <= 0.0 || p >= 1.0 { p } else { odds(p) * by / (1.0 + odds(p) * by) };
        *low = shifted(*low, ratio.min(1.0));
        *high = shifted(*high, ratio.max(1.0));
    }
}

/// The same for rows of a form, whose intervals are this many standard deviations to each side.
fn widen_form(rows: &mut [FitRow], means: &[Vec<f64>], deviations: f64) {
    for (r, row) in rows.iter_mut().enumerate() {
        let n_values = row.mean.len();
        for v in 0..n_values {
            let (_, _, between) = moments(means.iter().map(|table| (table[r * n_values + v], 1)));
            let within = (0.5 * (row.high[v] - row.low[v]) / deviations).max(f64::MIN_POSITIVE);
            let wider = (1.0 + between / (within * within)).sqrt();
            let mean = row.mean[v];
            row.low[v] = (mean - wider * (mean - row.low[v])).max(0.0);
            row.high[v] = (mean + wider * (row.high[v] - mean)).min(1.0);
        }
    }
}

/// Credible interval of a Beta variable. `open` says whether it reaches 0, and 1. The density of an unobserved value is
/// greatest there, and its absence must not be ruled out.
fn interval([a, b]: [f64; 2], open: [bool; 2], level: f64) -> [f64; 2] {
    let tail = (1.0 - level) / 2.0;
    let low = if open[0] { 0.0 } else { beta_quantile(tail, a, b) };
    let high = if open[1] { 1.0 } else { beta_quantile(1.0 - tail, a, b) };
    [low, high]
}

/// Number of standard deviations that a two-sided normal interval of this level needs.
pub(super) fn normal_deviations(level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if libm::erf(middle / std::f64::consts::SQRT_2) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Rounds to six decimals: far below statistical precision, and readable.
fn rounded(numbers: FormNumbers) -> FormNumbers {
    let round = |x: f64| (x * 1e6).round() / 1e6;
    let effects = |all: Vec<FormEffect>| {
        let one = |e: FormEffect| FormEffect { amounts: e.amounts.into_iter().map(round).collect(), ..e };
        all.into_iter().map(one).collect()
    };
    match numbers {
        FormNumbers::Logit { base, effects: all } => {
            FormNumbers::Logit { base: base.into_iter().map(round).collect(), effects: effects(all) }
        }
        FormNumbers::NoisyOr { leak, effects: all } => {
            FormNumbers::NoisyOr { leak: round(leak), effects: effects(all) }
        }
    }
}

fn means(rows: &[FitRow]) -> Vec<f64> {
    rows.iter().flat_map(|r| r.mean.iter().copied()).collect()
}

fn table_of(world: &World, m: &Mechanism, part: FitPart, form: String, rows: Vec<FitRow>) -> FitTable {
    let next = if part == FitPart::Transition { "next " } else { "" };
    let given =
        if m.parents.is_empty() { String::new() } else { format!(" | {}", names(world, &m.parents).join(", ")) };
    let children = Space::new(&world.sizes(&m.children)).expect("invariant: a world's tables were counted");
    let value = |joint: usize| {
        let parts = m.children.iter().enumerate();
        let words: Vec<&str> =
            parts.map(|(i, &id)| world.variable(id).values[children.digit(joint, i)].as_str()).collect();
        words.join("|")
    };
    FitTable {
        what: format!("P({next}{}{given})", names(world, &m.children).join(", ")),
        part,
        form,
        interval: IntervalKind::Beta,
        given: axes(world, &m.parents),
        outcomes: (0..children.len()).map(value).collect(),
        range: [0.0, 1.0],
        rows,
        unseen: "the prior: all values alike".into(),
        ended: Vec::new(),
    }
}

/// The forms of the observed variables among some mechanisms, and the hidden variables between them.
fn form_words(world: &World, members: &[&Mechanism]) -> String {
    let is_hidden = |id: &VarId| world.variable(*id).kind == Kind::Hidden;
    let mut words: Vec<&str> = Vec::new();
    for m in members.iter().filter(|m| !m.children.iter().all(is_hidden)) {
        let word = if m.table.is_some() { "kept" } else { m.assumed.form.word() };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let hidden: Vec<VarId> = members.iter().flat_map(|m| &m.children).copied().filter(is_hidden).collect();
    let through =
        if hidden.is_empty() { String::new() } else { format!(", through {}", names(world, &hidden).join(", ")) };
    format!("{}{through}", words.join(" and ").replace('_', "-"))
}

fn names(world: &World, ids: &[VarId]) -> Vec<String> {
    ids.iter().map(|&id| world.variable(id).name.clone()).collect()
}

/// The axes of a reward term, with next values named as in a world file.
fn axes_of(world: &World, term: &RewardTerm) -> Vec<FitAxis> {
    let next = axes(world, &term.next).into_iter().map(|axis| FitAxis { name: format!("next.{}", axis.name), ..axis });
    axes(world, &term.scope).into_iter().chain(next).collect()
}

fn axes(world: &World, ids: &[VarId]) -> Vec<FitAxis> {
    let axis =
        |&id: &VarId| FitAxis { name: world.variable(id).name.clone(), values: world.variable(id).values.clone() };
    ids.iter().map(axis).collect()
}
