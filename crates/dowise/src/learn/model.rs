//! Counts become a look ahead: means, widths, confidence sets or posterior samples. The only place where optimism enters.

use super::counts::Counts;
use super::layout::{FactorLayout, Layout, Walk};
use super::posterior::{Contenders, Posterior};
use super::sets::{Balls, Confidence, Intervals};
use super::sparse::Sparse;
use super::width::{Parts, Widths};
use crate::kernel::mix;
use crate::plan::{Contraction, Lookahead, Mean, Mix, turn_into_losses};
use crate::simd;

/// How rows of counts are turned into rows of a model.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// Frequencies, with a width added later.
    Mean,
    /// Confidence sets.
    Sets(Confidence),
    /// Samples of the Dirichlet posterior with this prior weight.
    Posterior { prior: f64 },
}

/// One factor's rows, ready for a look ahead.
#[derive(Clone, Debug)]
pub(crate) enum Table {
    Mean(Mean),
    Intervals(Intervals),
    Balls(Balls),
}

impl Mix for Table {
    #[inline(always)]
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        match self {
            Table::Mean(t) => t.mix(row, at, out),
            Table::Intervals(t) => t.mix(row, at, out),
            Table::Balls(t) => t.mix(row, at, out),
        }
    }

    fn in_place(&self) -> Option<&Mean> {
        match self {
            Table::Mean(t) => t.in_place(),
            _ => None,
        }
    }

    #[inline(always)]
    fn mix_run<'a>(&self, row: usize, n_blocks: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        match self {
            Table::Mean(t) => t.mix_run(row, n_blocks, at, out),
            Table::Intervals(t) => t.mix_run(row, n_blocks, at, out),
            Table::Balls(t) => t.mix_run(row, n_blocks, at, out),
        }
    }
}

impl Table {
    fn new(rule: &Rule, factor: &FactorLayout, n_causes: usize) -> Table {
        let cells = factor.n_state_rows * n_causes;
        let n_values = factor.n_values;
        match rule {
            Rule::Sets(_) if n_values == 2 => {
                Table::Intervals(Intervals { lo: vec![0.0; cells], hi: vec![1.0; cells] })
            }
            Rule::Sets(_) => Table::Balls(Balls::new(cells, n_values)),
            _ => Table::Mean(Mean { prob: vec![0.0; cells * n_values], n_values, n_causes }),
        }
    }

    /// What a row of counts amounts to besides its frequencies: an interval, or how much mass may be moved.
    fn cell(&self, rule: &Rule, counts: &[u32], n: u32) -> (f64, f64) {
        match (self, rule) {
            (Table::Intervals(_), Rule::Sets(confidence)) => confidence.interval(counts[1], n),
            (Table::Balls(_), Rule::Sets(confidence)) => (confidence.movable(counts.len(), n), 0.0),
            _ => (0.0, 0.0),
        }
    }

    /// Sets the entries of one cell (state row times causes plus cause).
    fn set(&mut self, cell: usize, n_causes: usize, counts: &[u32], n: u32, of: (f64, f64)) {
        let prob = match self {
            Table::Intervals(t) => {
                (t.lo[cell], t.hi[cell]) = of;
                return;
            }
            Table::Balls(t) => {
                t.movable[cell] = of.0;
                &mut t.prob
            }
            Table::Mean(t) => &mut t.prob,
        };
        let (state_row, cause) = (cell / n_causes, cell % n_causes);
        for (v, &count) in counts.iter().enumerate() {
            let frequency = if n == 0 { 0.0 } else { f64::from(count) / f64::from(n) };
            prob[(state_row * counts.len() + v) * n_causes + cause] = frequency;
        }
    }
}

/// Stage-free parts of the widths of one block.
#[derive(Clone, Debug)]
struct WidthParts {
    /// What each row of each factor contributes, `[factor][row]`.
    of_rows: Vec<Vec<(Parts, f64)>>,
    /// `[state][cause]`; infinite where some factor was never seen.
    first: Vec<f64>,
    second: Vec<f64>,
    /// Whether a row of some factor was seen since they were added up, `[factor][state row][cause]`; empty for a single one.
    stale: Vec<Vec<bool>>,
}

/// What a learner believes, laid out for backward induction.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    rule: Rule,
    contraction: Contraction,
    n_causes: usize,
    horizon: usize,
    n_blocks: usize,
    /// `[block][factor]`; a block is all stages, or one.
    tables: Vec<Vec<Table>>,
    /// What is known of the rows of `tables`, where they are sampled, `[block][factor]`.
    posteriors: Vec<Vec<Posterior>>,
    /// In place of `tables` where rows are better kept by their nonzero entries.
    sparse: Option<Sparse>,
    /// In place of `tables` and `posteriors` where few of the rows need to be drawn.
    contenders: Option<Box<Contenders>>,
    widths: Option<Widths>,
    /// Stage-free parts of the width.
    parts: Vec<WidthParts>,
    /// Expected rewards (with whatever optimism they need), `[state][cause]`.
    pub(crate) reward_sc: Vec<f64>,
    /// Ceiling of q at each stage.
    pub(crate) caps: Vec<f64>,
    /// Earlier q, never to be exceeded, `[stage][state][cause]`; empty if not wanted.
    pub(crate) ceiling: Vec<f64>,
    /// Visits of states, `[stage][state]`, for widths that use them.
    pub(crate) visits_hs: Vec<u32>,
    spare: Vec<f64>,
    moments: [Vec<f64>; 3],
    /// What is averaged besides the next value.
    terms: Vec<f64>,
    touched: Vec<u32>,
    walk: Walk,
    /// Causes of one state of which a row was seen.
    stale_causes: Vec<bool>,
}

impl Model {
    pub(crate) fn new(
        rule: Rule,
        widths: Option<Widths>,
        layout: &Layout,
        n_blocks: usize,
        caps: Vec<f64>,
        monotone: bool,
        contenders: Option<Box<Contenders>>,
    ) -> Model {
        let n_causes = layout.n_causes;
        let cells = layout.n_states() * n_causes;
        let scopes: Vec<Vec<usize>> =
            layout.factors.iter().map(|f| f.scope.iter().map(|(d, _)| *d).collect()).collect();
        let contraction = if layout.flat {
            Contraction::new(&[layout.n_states()], &[vec![0]], n_causes)
        } else {
            Contraction::new(layout.state_space.sizes(), &scopes, n_causes)
        };
        let ceiling =
            if monotone { caps.iter().flat_map(|&cap| std::iter::repeat_n(cap, cells)).collect() } else { vec![] };
        // Only where q is a function of its row and the mean next value alone.
        let plain = matches!(rule, Rule::Mean)
            && layout.flat
            && !monotone
            && widths.as_ref().is_some_and(|w| !w.needs_variance() && !w.needs_visits());
        let sparse = if plain { Sparse::new(layout.n_states(), cells, n_blocks, &caps) } else { None };
        let n_tables = if sparse.is_some() || contenders.is_some() { 0 } else { n_blocks };
        let posterior = |f: &FactorLayout, prior: f64| match f.is_shared() {
            false => Posterior::new(f.n_state_rows, f.n_values, n_causes, prior),
            true => Posterior::new(1, f.n_values, f.n_rows, prior),
        };
        let posteriors = match rule {
            Rule::Posterior { prior } if contenders.is_none() => {
                vec![layout.factors.iter().map(|f| posterior(f, prior)).collect(); n_blocks]
            }
            _ => Vec::new(),
        };
        Model {
            sparse,
            contenders,
            posteriors,
            tables: (0..n_tables)
                .map(|_| layout.factors.iter().map(|f| Table::new(&rule, f, n_causes)).collect())
                .collect(),
            parts: match &widths {
                None => Vec::new(),
                Some(widths) => {
                    let unseen = |(i, f): (usize, &FactorLayout)| vec![widths.of_count(i, 0); f.n_rows];
                    let of_rows = layout.factors.iter().enumerate().map(unseen).collect();
                    let fresh = |f: &FactorLayout| vec![false; f.n_state_rows * n_causes];
                    let stale = if layout.flat { vec![] } else { layout.factors.iter().map(fresh).collect() };
                    let (first, second) = (vec![f64::INFINITY; cells], vec![0.0; cells]);
                    vec![WidthParts { of_rows, first, second, stale }; n_blocks]
                }
            },
            rule,
            contraction,
            n_causes,
            horizon: layout.horizon,
            n_blocks,
            widths,
            reward_sc: vec![0.0; cells],
            caps,
            ceiling,
            visits_hs: vec![0; (layout.horizon + 1) * layout.n_states()],
            spare: Vec::new(),
            moments: Default::default(),
            terms: Vec::new(),
            touched: Vec::new(),
            walk: Walk::default(),
            stale_causes: Vec::new(),
        }
    }

    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    pub(crate) fn needs_visits(&self) -> bool {
        self.widths.as_ref().is_some_and(|w| w.needs_visits())
    }

    /// Brings the model up to date with the counts (`[block][factor]`); rows not seen since the last call are not touched.
    pub(crate) fn refresh(&mut self, layout: &Layout, counts: &mut [Vec<Counts>]) {
        let n_causes = self.n_causes;
        for (block, counts) in counts.iter_mut().enumerate() {
            let mut changed = false;
            for (i, (factor, counts)) in layout.factors.iter().zip(counts.iter_mut()).enumerate() {
                counts.take_touched(&mut self.touched);
                changed |= !self.touched.is_empty();
                for &row in &self.touched {
                    let row = row as usize;
                    let n = counts.n_r[row];
                    if let Some(table) = self.tables.get_mut(block).map(|tables| &mut tables[i]) {
                        let cell_of = table.cell(&self.rule, counts.values(row), n);
                        factor.for_each_cell(row, |cell| table.set(cell, n_causes, counts.values(row), n, cell_of));
                    }
                    if let Some(widths) = &self.widths {
                        let parts = &mut self.parts[block];
                        parts.of_rows[i][row] = widths.of_count(i, n);
                        if layout.flat {
                            let joined = widths.join(std::iter::once(parts.of_rows[0][row]));
                            (parts.first[row], parts.second[row]) = (joined.first, joined.second);
                        } else {
                            factor.for_each_cell(row, |cell| parts.stale[i][cell] = true);
                        }
                    }
                }
            }
            if changed && !layout.flat && self.widths.is_some() {
                self.refresh_parts(layout, block);
            }
            if let Some(mut sparse) = self.sparse.take() {
                let stages = if self.n_blocks == 1 { 0..self.horizon } else { block..block + 1 };
                for &row in &self.touched {
                    let row = row as usize;
                    let finish = |stage, mean| self.value(stage, block, row, mean, 0.0, 0.0);
                    sparse.set(block, row, &counts[0], stages.clone(), finish);
                }
                self.sparse = Some(sparse);
            }
        }
    }

    /// Goes back to dense tables, to compare with.
    #[cfg(test)]
    pub(super) fn use_tables(&mut self, layout: &Layout) {
        assert!(self.sparse.take().is_some());
        let tables = || layout.factors.iter().map(|f| Table::new(&self.rule, f, self.n_causes)).collect();
        self.tables = (0..self.n_blocks).map(|_| tables()).collect();
    }

    /// Tells the model that `reward_sc` was changed.
    pub(crate) fn rewards_changed(&mut self) {
        if let Some(sparse) = &mut self.sparse {
            sparse.forget();
        }
    }

    /// Adds the factors' widths up for every state and cause of which a row was seen.
    fn refresh_parts(&mut self, layout: &Layout, block: usize) {
        let widths = self.widths.as_ref().expect("asked for by the caller");
        let n_causes = self.n_causes;
        let WidthParts { of_rows, first, second, stale } = &mut self.parts[block];
        let now = &mut self.stale_causes;
        layout.for_each_state(&mut self.walk, |s, rows| {
            now.clear();
            now.resize(n_causes, false);
            for (stale, row) in stale.iter().zip(rows) {
                now.iter_mut().zip(&stale[row * n_causes..][..n_causes]).for_each(|(now, stale)| *now |= stale);
            }
            for (c, _) in now.iter().enumerate().filter(|(_, stale)| **stale) {
                let of_factors = layout.factors.iter().zip(rows).zip(&*of_rows);
                let joined = widths.join(of_factors.map(|((factor, &row), of)| of[factor.row(row, c, n_causes)]));
                (first[s * n_causes + c], second[s * n_causes + c]) = (joined.first, joined.second);
            }
        });
        stale.iter_mut().for_each(|stale| stale.fill(false));
    }

    /// Draws every row anew from its posterior; a function of the counts and the seed.
    pub(crate) fn sample(&mut self, layout: &Layout, counts: &mut [Vec<Counts>], mut seed: u64) {
        if let Some(contenders) = &mut self.contenders {
            for (block, counts) in counts.iter_mut().enumerate() {
                counts[0].take_touched(&mut self.touched);
                self.touched
                    .iter()
                    .for_each(|&row| contenders.set(block, row as usize, counts[0].values(row as usize)));
            }
            contenders.draw_anew(seed);
            return;
        }
        let n_causes = self.n_causes;
        for ((tables, posteriors), counts) in self.tables.iter_mut().zip(&mut self.posteriors).zip(counts) {
            let factors = layout.factors.iter().zip(counts).zip(tables).zip(posteriors);
            for (((factor, counts), table), posterior) in factors {
                let Table::Mean(table) = table else { unreachable!("a table is made for its rule") };
                counts.take_touched(&mut self.touched);
                self.touched.iter().for_each(|&row| posterior.set(row as usize, counts.values(row as usize)));
                seed = mix(seed);
                if !factor.is_shared() {
                    posterior.sample(seed, &mut table.prob);
                    continue;
                }
                let (n, n_rows) = (factor.n_values, factor.n_rows);
                self.spare.resize(n * n_rows, 0.0);
                posterior.sample(seed, &mut self.spare);
                for state_row in 0..factor.n_state_rows {
                    for cause in 0..n_causes {
                        let row = factor.row(state_row, cause, n_causes);
                        for v in 0..n {
                            table.prob[(state_row * n + v) * n_causes + cause] = self.spare[v * n_rows + row];
                        }
                    }
                }
            }
        }
    }

    fn block(&self, stage: usize) -> usize {
        if self.n_blocks == 1 { 0 } else { stage }
    }

    /// q(s, ·) of one state, for real-time dynamic programming.
    ///
    /// # Cost
    /// O(S · causes), a share of 1/S of a whole stage.
    pub(crate) fn look_at(
        &mut self,
        layout: &Layout,
        stage: usize,
        state: usize,
        next_value: &[f64],
        q: &mut Vec<f64>,
    ) {
        let block = self.block(stage);
        if let Some(sparse) = &self.sparse {
            q.clear();
            for row in state * self.n_causes..(state + 1) * self.n_causes {
                q.push(self.value(stage, block, row, sparse.expected(block, row, next_value), 0.0, 0.0));
            }
            return;
        }
        if let Some(contenders) = &mut self.contenders {
            let reward_a = &self.reward_sc[state * self.n_causes..(state + 1) * self.n_causes];
            contenders.look_at(block, state, next_value, reward_a, q);
            return;
        }
        self.prepare(block, next_value);
        let [mean, square, _] = &mut self.moments;
        let order = || self.contraction.order();
        expect_at(layout, order(), &self.tables[block], self.n_causes, state, next_value, mean);
        let needs_variance = self.widths.as_ref().is_some_and(|w| w.needs_variance());
        let center = next_value[0];
        if needs_variance {
            square_into(next_value, center, &mut self.terms);
            expect_at(layout, order(), &self.tables[block], self.n_causes, state, &self.terms, square);
        }
        let mut visits = Vec::new();
        if self.needs_visits() {
            self.visit_terms(stage, next_value.len());
            let order = self.contraction.order();
            expect_at(layout, order, &self.tables[block], self.n_causes, state, &self.terms, &mut visits);
        }
        q.clear();
        for c in 0..self.n_causes {
            let mean = self.moments[0][c];
            let variance =
                if needs_variance { (self.moments[1][c] - (mean - center) * (mean - center)).max(0.0) } else { 0.0 };
            let cell = state * self.n_causes + c;
            q.push(self.value(stage, block, cell, mean, variance, visits.get(c).copied().unwrap_or(0.0)));
        }
    }

    /// Where the state is seen whole, every row has the same next values.
    fn prepare(&mut self, block: usize, next_value: &[f64]) {
        if let [Table::Balls(balls)] = &mut self.tables[block][..]
            && balls.n_values == next_value.len()
        {
            balls.prepare(next_value);
        }
    }

    fn visit_terms(&mut self, stage: usize, n_states: usize) {
        let widths = self.widths.as_ref().expect("asked for by a width");
        let visits = &self.visits_hs[(stage + 1) * n_states..(stage + 2) * n_states];
        self.terms.clear();
        self.terms.extend(visits.iter().map(|&n| widths.visit_term(n)));
    }

    /// Where the width needs no variance: min(cap, reward + mean + width) for all cells in one loop, or the cap less that.
    fn finish_plainly<const LOSSES: bool>(&self, stage: usize, block: usize, q: &mut [f64]) -> bool {
        let cap = self.caps[stage];
        if !self.ceiling.is_empty() {
            return false;
        }
        let rewards = &self.reward_sc[..q.len()];
        match self.widths.as_ref().map(|w| w.plain(stage)) {
            None => simd::wide(
                #[inline(always)]
                || {
                    for (q, r) in q.iter_mut().zip(rewards) {
                        let value = capped(r + *q, cap);
                        *q = if LOSSES { cap - value } else { value };
                    }
                },
            ),
            Some(Some(plain)) => simd::wide(
                #[inline(always)]
                || {
                    let WidthParts { first, second, .. } = &self.parts[block];
                    let (first, second) = (&first[..q.len()], &second[..q.len()]);
                    for (((q, r), first), second) in q.iter_mut().zip(rewards).zip(first).zip(second) {
                        let value = capped(r + *q + plain.of(*first, *second), cap);
                        *q = if LOSSES { cap - value } else { value };
                    }
                },
            ),
            Some(None) => return false,
        }
        true
    }

    /// min(cap, reward + mean + width), and no more than in earlier plans where that is wanted.
    fn value(&self, stage: usize, block: usize, cell: usize, mean: f64, variance: f64, visits: f64) -> f64 {
        let width = match &self.widths {
            Some(widths) => {
                let parts = &self.parts[block];
                widths.at(stage, Parts { first: parts.first[cell], second: parts.second[cell] }, variance, visits)
            }
            None => 0.0,
        };
        let q = (self.reward_sc[cell] + mean + width).min(self.caps[stage]);
        match self.ceiling.get(stage * self.reward_sc.len() + cell) {
            Some(&earlier) => q.min(earlier),
            None => q,
        }
    }
}

impl Model {
    /// q of a stage. Says whether losses were written in its place, as wished.
    fn look_for<const LOSSES: bool>(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) -> bool {
        let block = self.block(stage);
        if let Some(mut sparse) = self.sparse.take() {
            sparse.look(stage, block, next_value, |row, mean| self.value(stage, block, row, mean, 0.0, 0.0), q);
            self.sparse = Some(sparse);
            return false;
        }
        if let Some(contenders) = &mut self.contenders {
            contenders.look(block, next_value, &self.reward_sc, q);
            return false;
        }
        self.prepare(block, next_value);
        self.contraction.apply(&self.tables[block], next_value, q, &mut self.spare);
        let (needs_variance, needs_visits) =
            self.widths.as_ref().map_or((false, false), |w| (w.needs_variance(), w.needs_visits()));
        let center = next_value[0];
        if needs_variance {
            // Centred, so that the difference of moments keeps its digits.
            square_into(next_value, center, &mut self.terms);
            self.contraction.apply(&self.tables[block], &self.terms, &mut self.moments[1], &mut self.spare);
        }
        if needs_visits {
            self.visit_terms(stage, next_value.len());
            self.contraction.apply(&self.tables[block], &self.terms, &mut self.moments[2], &mut self.spare);
        }
        if self.finish_plainly::<LOSSES>(stage, block, q) {
            return LOSSES;
        }
        for cell in 0..q.len() {
            let mean = q[cell];
            let variance =
                if needs_variance { (self.moments[1][cell] - (mean - center) * (mean - center)).max(0.0) } else { 0.0 };
            let visits = if needs_visits { self.moments[2][cell] } else { 0.0 };
            q[cell] = self.value(stage, block, cell, mean, variance, visits);
        }
        if !self.ceiling.is_empty() {
            self.ceiling[stage * q.len()..][..q.len()].copy_from_slice(q);
        }
        false
    }
}

impl Lookahead for Model {
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        self.look_for::<false>(stage, next_value, q);
    }

    fn losses(&mut self, stage: usize, next_value: &[f64], out: &mut Vec<f64>) {
        if !self.look_for::<true>(stage, next_value, out) {
            turn_into_losses(out, self.caps[stage]);
        }
    }

    fn cap(&self, stage: usize) -> f64 {
        debug_assert!(stage < self.horizon);
        self.caps[stage]
    }
}

/// (V − center)², of every next value.
fn square_into(next_value: &[f64], center: f64, out: &mut Vec<f64>) {
    out.clear();
    out.extend(next_value.iter().map(|v| (v - center) * (v - center)));
}

/// The lesser of two numbers, neither of which is NaN: one instruction, unlike [`f64::min`].
#[inline(always)]
fn capped(q: f64, cap: f64) -> f64 {
    if q < cap { q } else { cap }
}

/// E[V(s') | s, ·] for one state, factor by factor, in the order of a whole stage: where a factor's row is chosen from a set,
/// the choice may depend on the factors that are still open, so another order would give another value.
fn expect_at(
    layout: &Layout,
    order: impl Iterator<Item = usize>,
    tables: &[Table],
    n_causes: usize,
    state: usize,
    next_value: &[f64],
    out: &mut Vec<f64>,
) {
    let mut input = next_value.to_vec();
    let mut open: Vec<usize> = (0..layout.factors.len()).collect();
    let mut width = 1;
    for f in order {
        let (table, factor) = (&tables[f], &layout.factors[f]);
        let row = factor.state_row(&layout.state_space, state);
        let n_values = factor.n_values;
        let place = open.iter().position(|&o| o == f).expect("summed out once");
        let inner: usize = open[place + 1..].iter().map(|&o| layout.factors[o].n_values).product();
        open.remove(place);
        out.clear();
        out.resize(input.len() / width / n_values * n_causes, 0.0);
        for (i, out) in out.chunks_exact_mut(n_causes).enumerate() {
            let first = i / inner * n_values * inner + i % inner;
            table.mix(row, |v| &input[(first + v * inner) * width..][..width], out);
        }
        std::mem::swap(&mut input, out);
        width = n_causes;
    }
    std::mem::swap(&mut input, out);
    if width == 1 {
        // No state factors at all: the next value is the only one.
        out.resize(n_causes, next_value[0]);
    }
}
