//! Validates low-rank transitions: all rows are probabilities, without multiplying out the factors.

use std::sync::Arc;

use super::check::Check;
use crate::Space;
use crate::math;
use crate::messages::{and, number_text};
use crate::world::basis::Basis;
use crate::world::low_rank::tabulate;
use crate::world::{
    AnchorRows, At, FeatureMap, Kind, Located, LowRank, LowRankSpec, Problem, VarId, World, WorldError,
};

/// Tolerance on the sum of a row: rows are not normalised, since the weights may be features of learners.
const SUM_TOLERANCE: f64 = 1e-9;

/// Rounding tolerance below 0.
const NEGATIVE: f64 = -1e-12;

/// Multiply-adds allowed for finding negative probabilities (seconds); needed for signed numbers only.
const MOST_WORK: u128 = 1 << 33;

impl World {
    /// The same world with low-rank transitions, validated: every P(s' | s, z) is a probability and they sum to 1.
    ///
    /// Every state factor must be specified as [`Form::LowRank`](crate::world::Form::LowRank). Omitted weights are the
    /// world's features ([`World::with_features`] comes first).
    ///
    /// # Cost
    /// O(d) for each configuration of the weights' scope; O(d · S) for each with signed weights or rows.
    pub fn with_low_rank(mut self, spec: &LowRankSpec) -> Result<World, WorldError> {
        let mut check = Check::default();
        check.variables = self.variables.clone();
        check.index = self.variables.iter().enumerate().map(|(i, v)| (v.name.clone(), VarId(i as u16))).collect();
        let low_rank = check.low_rank(spec, &self);
        match (check.finish(), low_rank) {
            (Ok(findings), Some(low_rank)) => {
                self.findings.extend(findings);
                self.low_rank = Some(low_rank);
                Ok(self)
            }
            (Ok(problems) | Err(problems), _) => Err(WorldError { problems, sources: self.sources }),
        }
    }
}

impl Check {
    fn low_rank(&mut self, spec: &LowRankSpec, world: &World) -> Option<LowRank> {
        if !self.stands_alone(spec, world) {
            return None;
        }
        let map: FeatureMap = match (&spec.weights, &world.features) {
            (Some(weights), _) => self.features(weights, world, "`weights` of [low_rank]")?,
            (None, Some(features)) => features.clone(),
            (None, None) => {
                let problem =
                    Problem::error("low-rank", "[low_rank] has no `weights`, and the world has no [features]");
                let help = "add `weights = { kind = … }`, or [features] if learners are to be given them";
                self.push(problem.help(help).at(spec.at));
                return None;
            }
        };
        let dimension = map.dimension(world).expect("invariant: features were counted when they were checked") as usize;
        if !world.is_enumerable() {
            return self.unlisted(spec, map, dimension, world);
        }
        let (scope, weights) = tabulate(world, &map);
        let next = self.anchor_rows(spec, world, dimension)?;
        let signed = weights.iter().chain(next.iter().flatten()).any(|x| *x < 0.0);
        let next = next.into_iter().map(Into::into).collect();
        let mut low_rank = LowRank { map, scope, dimension, weights: Some(weights), basis: None, next, mixture: false };
        let sums = self.rows_sum_to_one(&low_rank, world, spec.at)?;
        if signed {
            self.none_is_negative(&low_rank, world, spec.at)?;
        }
        // With rows that are distributions, weights that sum to 1 are one as well.
        low_rank.mixture = !signed && sums.iter().all(|sum| (sum - 1.0).abs() <= SUM_TOLERANCE);
        Some(low_rank)
    }

    /// The same for non-enumerable states: sampling needs weights and rows that are distributions.
    ///
    /// For a mean of tables every row of every table is checked; Gaussian bumps sum to 1 anyway.
    fn unlisted(&mut self, spec: &LowRankSpec, map: FeatureMap, dimension: usize, world: &World) -> Option<LowRank> {
        let next = self.anchor_rows(spec, world, dimension)?;
        let before = self.errors();
        for (&id, rows) in world.state.iter().zip(&next) {
            let name = self.name(id).to_owned();
            for (j, row) in rows.chunks_exact(self.size(id)).enumerate() {
                self.is_distribution(row, &format!("the next value of \"{name}\" under weight {}", j + 1), spec.at);
            }
        }
        let tables: Vec<(&Vec<VarId>, &[f64])> = match &map {
            FeatureMap::Mean { tables, .. } => tables.iter().map(|(scope, values)| (scope, &**values)).collect(),
            FeatureMap::Table { scope, values, .. } => vec![(scope, &**values)],
            FeatureMap::Radial { .. } => Vec::new(),
            FeatureMap::Indicators { scopes } if scopes.len() == 1 => Vec::new(),
            FeatureMap::Indicators { .. } | FeatureMap::Polynomial { .. } => {
                let kind = map.kind();
                let message =
                    format!("weights of kind \"{kind}\" are no distributions, and states are too many to enumerate");
                let help = "use \"table\", \"mean\" or \"radial\"; or fewer states";
                self.push(Problem::error("low-rank", message).help(help).at(spec.at));
                return None;
            }
        };
        for (scope, values) in tables {
            let space = Space::new(&world.sizes(scope)).expect("invariant: its rows are in memory");
            for (row, weights) in values.chunks_exact(dimension).enumerate() {
                let given = self.combination(scope, &space.digits(row));
                self.is_distribution(weights, &format!("the weights given {given}"), spec.at);
                if self.errors() > before {
                    return None;
                }
            }
        }
        if self.errors() > before {
            return None;
        }
        let (scope, basis) = (map.scope(), Some(Arc::new(Basis::new(world, &map))));
        let next = next.into_iter().map(Into::into).collect();
        Some(LowRank { map, scope, dimension, weights: None, basis, next, mixture: true })
    }

    fn is_distribution(&mut self, row: &[f64], what: &str, at: Option<At>) {
        let sum: f64 = row.iter().sum();
        let (code, wrong) = match row.iter().find(|p| **p < 0.0) {
            Some(p) => ("negative", format!("{what} have a probability of {}", number_text(*p))),
            None if sum.is_nan() || (sum - 1.0).abs() > SUM_TOLERANCE => {
                ("row-sum", format!("{what} sum to {}, not 1", number_text(sum)))
            }
            None => return,
        };
        let help = "where states are too many to enumerate, weights and rows must be distributions, to nine digits";
        self.push(Problem::error(code, wrong).help(help).at(at));
    }

    /// Whether no transition is specified otherwise, and no reward needs a transition table.
    fn stands_alone(&mut self, spec: &LowRankSpec, world: &World) -> bool {
        let before = self.errors();
        for m in world.transitions.iter().filter(|m| m.table.is_some()) {
            let name = self.name(m.children[0]).to_owned();
            let message = format!("\"{name}\" has a next value of its own, and [low_rank] states all of them together");
            let help =
                "take its `next` out, or [low_rank]; a state factor that counts the steps cannot stand beside it";
            self.push(Problem::error("low-rank", message).help(help).at(spec.at));
        }
        for term in world.rewards.iter().filter(|term| !term.next.is_empty() && !term.pays_on_next_state()) {
            let message = format!(
                "reward \"{}\" depends on next values and on the present, which [low_rank] cannot tell",
                term.name
            );
            let help = "let it depend on next values alone, or on the present alone";
            self.push(Problem::error("low-rank", message).help(help).at(spec.at));
        }
        self.errors() == before
    }

    /// The rows of every state factor, in their order.
    fn anchor_rows(&mut self, spec: &LowRankSpec, world: &World, dimension: usize) -> Option<Vec<Vec<f64>>> {
        let before = self.errors();
        let mut found: Vec<Option<Vec<f64>>> = vec![None; world.state.len()];
        let mut named = vec![false; world.state.len()];
        for (name, rows) in &spec.next {
            let Some(id) = self.variable(name, &[Kind::State], "`next` of [low_rank]") else { continue };
            let axis = world.state_axis(id);
            if std::mem::replace(&mut named[axis], true) {
                let message = format!("[low_rank] states the next value of \"{}\" twice", name.value);
                self.push(Problem::error("duplicate-name", message).help("take one out").at(name.at));
            }
            found[axis] = self.rows_of(id, name, rows, dimension);
        }
        for (axis, &id) in world.state.iter().enumerate().filter(|(axis, _)| !named[*axis]) {
            let name = self.name(id).to_owned();
            let message = format!("[low_rank] says nothing about the next value of \"{name}\"");
            let help =
                format!("add `next.{}`, {dimension} rows of {}", super::bare(&name), self.size(world.state[axis]));
            self.push(Problem::error("low-rank", message).help(help).at(spec.at));
        }
        if self.errors() > before { None } else { found.into_iter().collect() }
    }

    fn rows_of(&mut self, id: VarId, name: &Located<String>, rows: &AnchorRows, dimension: usize) -> Option<Vec<f64>> {
        let (n, at) = (self.size(id), name.at);
        let what = format!("the next values of \"{}\" in [low_rank]", name.value);
        let entries = super::product([dimension, n].into_iter()).filter(|&n| n <= super::MOST_ENTRIES as u128);
        self.reserve(&what, entries.map_or(usize::MAX, |n| n as usize), at)?;
        let rows = match rows {
            AnchorRows::Table(rows) if rows.len() == dimension * n => rows.clone(),
            AnchorRows::Table(rows) => {
                let message = format!("{what} have {} numbers, not {}", rows.len(), dimension * n);
                let help = format!("a row of {n} for each of {dimension} weights");
                self.push(Problem::error("shape", message).help(help).at(at));
                return None;
            }
            AnchorRows::Nested(nested) => {
                let levels = [
                    ("one for each weight".to_owned(), dimension),
                    (format!("one for each value of \"{}\"", name.value), n),
                ];
                let (mut out, mut places) = (Vec::new(), Vec::new());
                let help = "a list for each weight, each with a number for every value";
                if !self.flatten(nested, &levels, help, &mut out, &mut places) {
                    return None;
                }
                self.all_read(&out)?
            }
            AnchorRows::Normal { centres, sd } => self.normal_rows(&what, centres, sd, (dimension, n), at)?,
        };
        rows.iter().all(|&x| self.finite(x, &format!("one of {what}"), at)).then_some(rows)
    }

    fn normal_rows(
        &mut self,
        what: &str,
        centres: &[Located<f64>],
        sd: &Located<f64>,
        (dimension, n): (usize, usize),
        at: Option<At>,
    ) -> Option<Vec<f64>> {
        if centres.len() != dimension {
            let message = format!("{what} have {} centres, not {dimension}", centres.len());
            self.push(Problem::error("shape", message).help("one for each weight").at(at));
            return None;
        }
        if !(sd.value.is_finite() && sd.value > 0.0) {
            let message = format!("{what} have the standard deviation {}", number_text(sd.value));
            self.push(Problem::error("low-rank", message).help("a number above 0, in places").at(sd.at));
            return None;
        }
        let mut rows = Vec::with_capacity(dimension * n);
        for centre in centres {
            let most = n as f64 - 1.0;
            if !(0.0..=most).contains(&centre.value) {
                let message = format!("{what} have a centre at {}", number_text(centre.value));
                let help = format!("a place from 0 to {}", number_text(most));
                self.push(Problem::error("low-rank", message).help(help).at(centre.at));
                return None;
            }
            let density = |v: usize| math::exp(-0.5 * math::powi((v as f64 - centre.value) / sd.value, 2));
            let row: Vec<f64> = (0..n).map(density).collect();
            let sum: f64 = row.iter().sum();
            if sum > 0.0 {
                rows.extend(row.iter().map(|p| p / sum));
            } else {
                // Far narrower than one position: the nearest value has all the mass.
                let nearest = (centre.value + 0.5) as usize;
                rows.extend((0..n).map(|v| if v == nearest { 1.0 } else { 0.0 }));
            }
        }
        Some(rows)
    }

    /// The sum of each latent factor's rows, if every row of P(s' | s, z) sums to 1.
    fn rows_sum_to_one(&mut self, low_rank: &LowRank, world: &World, at: Option<At>) -> Option<Vec<f64>> {
        let mut sums = Vec::new();
        low_rank.worth(&vec![1.0; world.n_states()], &mut sums);
        let total = |row: &[f64]| row.iter().zip(&sums).map(|(w, sum)| w * sum).sum::<f64>();
        let wrong = low_rank.rows().chunks_exact(low_rank.dimension).map(total).enumerate();
        let wrong = wrong.into_iter().find(|(_, sum)| sum.is_nan() || (sum - 1.0).abs() > SUM_TOLERANCE);
        let Some((row, sum)) = wrong else { return Some(sums) };
        let given = self.weights_at(low_rank, world, row);
        let message = format!("the probabilities of the next state given {given} sum to {}, not 1", number_text(sum));
        let odd: Vec<String> = (sums.iter().enumerate())
            .filter(|(_, sum)| (**sum - 1.0).abs() > SUM_TOLERANCE)
            .map(|(i, sum)| format!("row {} sums to {}", i + 1, number_text(*sum)))
            .take(3)
            .collect();
        let help = match odd.is_empty() {
            true => "the rows in `next` sum to 1, so the weights have to, to nine digits".to_owned(),
            false => format!(
                "weights times the sums of the rows in `next` must make 1, to nine digits; of `next`, {}",
                and(&odd)
            ),
        };
        self.push(Problem::error("row-sum", message).help(help).at(at));
        None
    }

    /// Reports a negative P(s' | s, z) and returns `None`.
    fn none_is_negative(&mut self, low_rank: &LowRank, world: &World, at: Option<At>) -> Option<()> {
        let rows = low_rank.rows().len() / low_rank.dimension;
        let work = rows as u128 * world.n_states() as u128 * low_rank.dimension as u128;
        let refused = if low_rank.next.len() > 1 {
            Some("several state factors".to_owned())
        } else if work > MOST_WORK {
            Some(format!("{} states", super::count_text(Some(world.n_states() as u128))))
        } else {
            None
        };
        if let Some(with) = refused {
            let message = format!("[low_rank] has negative numbers, which is not allowed with {with}");
            let help = "write weights that sum to 1 and distributions, none of them negative";
            self.push(Problem::error("negative", message).help(help).at(at));
            return None;
        }
        let mut next = vec![0.0; world.n_states()];
        for row in 0..rows {
            low_rank.distribution(low_rank.weights(row), &world.state_space, &mut next);
            let Some(to) = next.iter().position(|p| *p < NEGATIVE) else { continue };
            let given = self.weights_at(low_rank, world, row);
            let to_text = self.combination(&world.state, &world.state_space.digits(to));
            let message = format!("the probability of the next {to_text} given {given} is {}", number_text(next[to]));
            let help = "Σ weight · row must not be negative anywhere";
            self.push(Problem::error("negative", message).help(help).at(at));
            return None;
        }
        Some(())
    }

    fn weights_at(&self, low_rank: &LowRank, world: &World, row: usize) -> String {
        let space = Space::new(&world.sizes(&low_rank.scope)).expect("invariant: its rows are in memory");
        self.combination(&low_rank.scope, &space.digits(row))
    }
}
