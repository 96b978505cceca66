//! Validates feature maps: known names, matching shapes, finite numbers, norms of at most 1.

use std::borrow::Cow;
use std::sync::Arc;

use super::check::Check;
use super::{MOST_ENTRIES, count_text};
use crate::Space;
use crate::messages::{and, number_text};
use crate::random::splitmix64;
use crate::world::basis::Basis;
use crate::world::features::everything;
use crate::world::{
    At, FeatureForm, FeatureMap, FeatureSpec, Kind, Located, Name, Nested, Problem, VarId, World, WorldError,
};

/// Rounding tolerance on a norm of 1.
const LENGTH_TOLERANCE: f64 = 1e-9;

/// Kinds of variables that features may depend on, if they have effects.
const KINDS: [Kind; 3] = [Kind::State, Kind::Key, Kind::Lever];

type Names = Option<Vec<Located<String>>>;

impl World {
    /// The same world with these features for linear learners, validated against its variables.
    pub fn with_features(mut self, spec: &FeatureSpec) -> Result<World, WorldError> {
        let mut check = Check::default();
        check.variables = self.variables.clone();
        check.index = self.variables.iter().enumerate().map(|(i, v)| (v.name.clone(), VarId(i as u16))).collect();
        let map = check.features(spec, &self, "[features]");
        match (check.finish(), map) {
            (Ok(findings), Some(map)) => {
                self.findings.extend(findings);
                self.features = Some(map);
                Ok(self)
            }
            (Ok(problems) | Err(problems), _) => Err(WorldError { problems, sources: self.sources }),
        }
    }
}

impl Check {
    /// The feature map of a specification for this world; `whose` is the context, for messages.
    pub(super) fn features(&mut self, spec: &FeatureSpec, world: &World, whose: &str) -> Option<FeatureMap> {
        let map = match &spec.form {
            FeatureForm::OneHot => FeatureMap::one_hot(world),
            FeatureForm::Factors { scopes: None } => FeatureMap::factors(world),
            FeatureForm::Factors { scopes: Some(scopes) } => {
                if scopes.is_empty() {
                    let problem = Problem::error("features", format!("`scopes` of {whose} is empty"));
                    self.push(problem.help("name at least one scope, or leave `scopes` out").at(spec.at));
                    return None;
                }
                let all: Vec<Option<Vec<VarId>>> =
                    scopes.iter().map(|scope| self.feature_scope(&Some(scope.clone()), world, whose)).collect();
                FeatureMap::Indicators { scopes: all.into_iter().collect::<Option<_>>()? }
            }
            FeatureForm::Polynomial { scope, degree } => FeatureMap::Polynomial {
                scope: self.feature_scope(scope, world, whose)?,
                degree: degree.value as usize,
            },
            FeatureForm::Radial { scope, centres, width } => {
                let scope = self.feature_scope(scope, world, whose);
                if centres.value == 0 {
                    let problem = Problem::error("features", format!("`centres` of {whose} is 0"));
                    self.push(problem.help("at least one bump for each variable").at(centres.at));
                    return None;
                }
                if !(width.value.is_finite() && width.value > 0.0) {
                    let message = format!("`width` of {whose} is {}", number_text(width.value));
                    let help = "a number above 0, in distances between neighbouring bumps";
                    self.push(Problem::error("features", message).help(help).at(width.at));
                    return None;
                }
                FeatureMap::Radial { scope: scope?, centres: centres.value as usize, width: width.value }
            }
            FeatureForm::Table { scope, dimension, values } => {
                let scope = self.feature_scope(scope, world, whose)?;
                let space =
                    self.table_space("the table of the features", &scope, *dimension, "a smaller scope", spec.at)?;
                if *dimension == 0 || values.len() != space.len() * dimension {
                    let expected = space.len() * dimension;
                    let message = format!("the table of the features has {} numbers, not {expected}", values.len());
                    let help =
                        format!("{dimension} for each of {} combinations", count_text(Some(space.len() as u128)));
                    self.push(Problem::error("shape", message).help(help).at(spec.at));
                    return None;
                }
                let places = vec![spec.at; space.len()];
                self.feature_table(scope, &space, *dimension, values.into(), &places, spec.scale)?
            }
            FeatureForm::Nested { scope, value } => {
                let scope = self.feature_scope(scope, world, whose)?;
                let space = self.table_space("the table of the features", &scope, 1, "a smaller scope", spec.at)?;
                let dimension = innermost(&value.value);
                let over = |id: &VarId| (format!("one for each value of \"{}\"", self.name(*id)), self.size(*id));
                let mut levels: Vec<(String, usize)> = scope.iter().map(over).collect();
                levels.push(("one for each feature, as in the first row".to_owned(), dimension));
                let (mut values, mut places) = (Vec::new(), Vec::new());
                let help = "the lists run over the scope in order, innermost over the features";
                if !self.flatten(value, &levels, help, &mut values, &mut places) {
                    return None;
                }
                if dimension == 0 {
                    let problem = Problem::error("shape", "the rows of the features are empty");
                    self.push(problem.help("at least one number in each").at(value.at));
                    return None;
                }
                let values = self.all_read(&values)?;
                self.feature_table(scope, &space, dimension, values.into(), &places, spec.scale)?
            }
            FeatureForm::Grid { scope, grid } => {
                let allowed = everything(world);
                let scope = match scope {
                    Some(_) => self.feature_scope(scope, world, whose)?,
                    None => allowed.into_iter().filter(|&id| grid.header.iter().any(|h| h == self.name(id))).collect(),
                };
                let named = |h: &&String| !scope.iter().any(|&id| self.name(id) == h.as_str());
                let columns: Vec<String> = grid.header.iter().filter(named).cloned().collect();
                let what = "the table of the features";
                if scope.is_empty() && grid.rows.len() > 1 {
                    let message =
                        "no column of the table of the features is called like a state factor or a key variable";
                    let names: Vec<String> =
                        everything(world).into_iter().map(|id| format!("`{}`", self.name(id))).collect();
                    let help = format!("its rows are distinguished by columns with these names: {}", and(&names));
                    self.push(Problem::error("missing-column", message).help(help).at(grid.header_at));
                    return None;
                }
                let space = self.table_space(what, &scope, columns.len().max(1), "a smaller scope", spec.at)?;
                if columns.is_empty() {
                    let problem =
                        Problem::error("missing-column", "the table of the features has no column of numbers");
                    self.push(problem.help("add one for each feature").at(grid.header_at));
                    return None;
                }
                let (values, places) = self.number_grid(grid, &scope, &columns, &space, what)?;
                self.feature_table(scope, &space, columns.len(), values.into(), &places, spec.scale)?
            }
            FeatureForm::Mean { tables } => self.mean_of_tables(tables, world, whose, spec.at)?,
        };
        self.few_enough(&map, world, spec.at).then_some(map)
    }

    /// The mean of tables: equally many features in each, and every row with norm at most 1.
    fn mean_of_tables(
        &mut self,
        tables: &[FeatureSpec],
        world: &World,
        whose: &str,
        at: Option<At>,
    ) -> Option<FeatureMap> {
        let before = self.errors();
        let mut parts: Vec<(Vec<VarId>, Arc<[f64]>)> = Vec::new();
        let mut first: Option<usize> = None;
        for (i, spec) in tables.iter().enumerate() {
            let which = format!("table {} of {whose}", i + 1);
            let rows =
                matches!(spec.form, FeatureForm::Table { .. } | FeatureForm::Nested { .. } | FeatureForm::Grid { .. });
            if !rows || spec.scale {
                let message = format!("{which} is no table of its own numbers, as they are");
                let help = "each is `{ kind = \"table\", scope = […], value = […] }`, without `scale`";
                self.push(Problem::error("features", message).help(help).at(spec.at.or(at)));
                continue;
            }
            let Some(FeatureMap::Table { scope, dimension, values }) = self.features(spec, world, &which) else {
                continue;
            };
            if *first.get_or_insert(dimension) != dimension {
                let message = format!("{which} has {dimension} features, and the first has {}", first.unwrap_or(0));
                self.push(Problem::error("shape", message).help("as many in each").at(spec.at.or(at)));
            }
            parts.push((scope, values));
        }
        if tables.is_empty() {
            let problem = Problem::error("features", format!("`tables` of {whose} is empty"));
            self.push(problem.help("name at least one table").at(at));
        }
        if self.errors() > before {
            return None;
        }
        // Constant and collinear features can be judged only for the mean.
        ["collinear", "constant"].iter().for_each(|code| self.forget(code));
        let dimension = first?;
        self.review_features(&sampled_means(&parts, dimension, world), dimension, at);
        Some(FeatureMap::Mean { dimension, tables: parts })
    }

    /// A scope of features: state factors, or variables that affect the next state or the reward.
    fn feature_scope(&mut self, names: &Names, world: &World, whose: &str) -> Option<Vec<VarId>> {
        let allowed = everything(world);
        let Some(names) = names else { return Some(allowed) };
        let names: Vec<Name> = names.iter().cloned().map(Name::from).collect();
        let ids = Some(self.list(&names, &KINDS, whose)).filter(|listed| listed.sound)?.ids;
        let before = self.errors();
        for (id, name) in ids.iter().zip(&names).filter(|(id, _)| !allowed.contains(id)) {
            let message =
                format!("{whose} names \"{}\", on which neither next state nor reward depend", self.name(*id));
            self.push(Problem::error("acts-on-nothing", message).help("take it out").at(name.at));
        }
        (self.errors() == before).then_some(ids)
    }

    /// Validates finite rows with norm at most 1.
    fn feature_table(
        &mut self,
        scope: Vec<VarId>,
        space: &Space,
        dimension: usize,
        mut values: Cow<'_, [f64]>,
        places: &[Option<At>],
        scale: bool,
    ) -> Option<FeatureMap> {
        let before = self.errors();
        let mut longest = (0.0, 0);
        for (r, row) in values.chunks_exact(dimension).enumerate() {
            if row.iter().all(|&x| self.finite(x, "one of the features", places[r])) {
                // Scaled by the greatest entry, since squares of large numbers overflow.
                let greatest = row.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                let unit = if greatest > 1.0 { greatest } else { 1.0 };
                let norm = unit * row.iter().map(|x| (x / unit) * (x / unit)).sum::<f64>().sqrt();
                longest = if norm > longest.0 { (norm, r) } else { longest };
            }
        }
        if self.errors() > before {
            return None;
        }
        let (norm, r) = longest;
        if !norm.is_finite() {
            let given = self.combination(&scope, &space.digits(r));
            let message = format!("the features of {given} are longer than numbers go");
            self.push(Problem::error("feature-length", message).help("write them in a larger unit").at(places[r]));
            return None;
        }
        if norm > 1.0 + LENGTH_TOLERANCE {
            if !scale {
                let given = self.combination(&scope, &space.digits(r));
                let message = format!("the features of {given} have length {}, more than 1", number_text(norm));
                let help = format!("divide all features by {}, or add `scale = true`", number_text(norm));
                self.push(Problem::error("feature-length", message).help(help).at(places[r]));
                return None;
            }
            values.to_mut().iter_mut().for_each(|x| *x /= norm);
        }
        self.review_features(&values, dimension, places.first().copied().flatten());
        Some(FeatureMap::Table { scope, dimension, values: Arc::from(&*values) })
    }

    /// Reports features that are zero, constant or collinear with earlier ones, so that d can be smaller.
    fn review_features(&mut self, values: &[f64], dimension: usize, at: Option<At>) {
        for found in dependent(values, dimension) {
            let (j, problem) = match found {
                Dependence::Zero(j) => {
                    let message = format!("feature {} is 0 everywhere", j + 1);
                    (j, Problem::warning("collinear", message).help("take it out: nothing can be learned about it"))
                }
                Dependence::Constant(j) => {
                    let message = format!("feature {} is the same everywhere", j + 1);
                    (j, Problem::note("constant", message).help("one such feature is an intercept, and fine"))
                }
                Dependence::Of(j, of) => {
                    let names: Vec<String> = of.iter().map(|i| (i + 1).to_string()).collect();
                    let word = if names.len() == 1 { "a multiple of feature" } else { "a combination of features" };
                    let message = format!("feature {} is {word} {} everywhere", j + 1, and(&names));
                    (
                        j,
                        Problem::warning("collinear", message)
                            .help("take one of them out: it costs time and widens widths"),
                    )
                }
            };
            debug_assert!(j < dimension);
            self.push(problem.at(at));
        }
    }

    /// Checks that features of all states and joint key values fit into memory.
    fn few_enough(&mut self, map: &FeatureMap, world: &World, at: Option<At>) -> bool {
        let cells = world.sizes(&world.cause_variables()).iter().fold(world.n_states() as u128, |n, &s| n * s as u128);
        let held = if world.is_enumerable() { cells } else { 1 };
        let numbers = map.dimension(world).and_then(|d| d.checked_mul(held));
        if numbers.is_some_and(|n| n <= MOST_ENTRIES as u128) {
            return true;
        }
        let message = format!(
            "{} features for each of {} states and causes are too many",
            count_text(map.dimension(world)),
            count_text(Some(cells))
        );
        let help =
            format!("at most {} numbers fit: smaller scopes or a lower degree", count_text(Some(MOST_ENTRIES as u128)));
        self.push(Problem::error("too-large", message).help(help).at(at));
        false
    }
}

/// Number of sampled rows for means of tables.
const SAMPLED_ROWS: usize = 1 << 12;

/// Means of tables at evenly sampled configurations, always the same ones: there may be too many to enumerate.
fn sampled_means(parts: &[(Vec<VarId>, Arc<[f64]>)], dimension: usize, world: &World) -> Vec<f64> {
    let map = FeatureMap::Mean { dimension, tables: parts.to_vec() };
    let (basis, scope) = (Basis::new(world, &map), map.scope());
    let mut values = vec![0; world.variables.len()];
    let mut rows = vec![0.0; SAMPLED_ROWS * dimension];
    for (i, row) in rows.chunks_exact_mut(dimension).enumerate() {
        for id in &scope {
            let random = splitmix64(splitmix64(i as u64) ^ id.ix() as u64);
            values[id.ix()] = (random % world.variable(*id).size() as u64) as usize;
        }
        basis.fill(&values, row);
    }
    rows
}

/// A redundant feature.
#[derive(Debug, PartialEq, Eq)]
enum Dependence {
    Zero(usize),
    Constant(usize),
    /// A linear combination of these earlier features.
    Of(usize, Vec<usize>),
}

/// Relative norm of a residual that counts as rounding.
const COLLINEAR: f64 = 1e-9;

/// Multiply-adds allowed for finding collinear features; larger tables are subsampled.
const MOST_WORK: usize = 1 << 28;

/// Features, in order, that are zero, constant, or linear combinations of earlier ones (Gram–Schmidt by the Gram
/// matrix).
fn dependent(values: &[f64], d: usize) -> Vec<Dependence> {
    let every = (values.len().saturating_mul(d) / MOST_WORK).max(1);
    let rows = || values.chunks_exact(d).step_by(every);
    let mut found = Vec::new();
    let Some(first) = rows().next() else { return found };
    let mut gram = nalgebra::DMatrix::<f64>::zeros(d, d);
    let mut same = vec![true; d];
    for row in rows() {
        let row_view = nalgebra::DVectorView::from_slice(row, d);
        gram.syger(1.0, &row_view, &row_view, 1.0);
        same.iter_mut().zip(row).zip(first).for_each(|((same, x), first)| *same &= x == first);
    }
    gram.fill_upper_triangle_with_lower_triangle();
    let mut kept: Vec<usize> = Vec::new();
    for j in 0..d {
        if gram[(j, j)] == 0.0 {
            found.push(Dependence::Zero(j));
            continue;
        }
        let with_kept = nalgebra::DVector::from_iterator(kept.len(), kept.iter().map(|&i| gram[(i, j)]));
        let design = nalgebra::DMatrix::from_fn(kept.len(), kept.len(), |a, b| gram[(kept[a], kept[b])]);
        let weights = design.cholesky().map(|factor| factor.solve(&with_kept));
        match weights.filter(|w| gram[(j, j)] - w.dot(&with_kept) <= COLLINEAR * gram[(j, j)]) {
            Some(w) if !kept.is_empty() => {
                let size = |(i, w): (&usize, &f64)| w.abs() * (gram[(*i, *i)] / gram[(j, j)]).sqrt();
                let of = kept.iter().zip(w.iter()).filter(|&(i, w)| size((i, w)) > 1e-6).map(|(&i, _)| i).collect();
                found.push(Dependence::Of(j, of));
            }
            _ => {
                if same[j] && d > 1 {
                    found.push(Dependence::Constant(j));
                }
                kept.push(j);
            }
        }
    }
    found
}

/// Length of the first innermost list.
fn innermost(nested: &Nested) -> usize {
    match nested {
        Nested::Number(_) => 0,
        Nested::List(items) => match items.first().map(|item| &item.value) {
            Some(first @ Nested::List(_)) => innermost(first),
            _ => items.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_say_nothing_new_are_found() {
        // 1, x, 0, 2 − 3x, 5x.
        let row = |x: f64| [1.0, x, 0.0, 2.0 - 3.0 * x, 5.0 * x];
        let table: Vec<f64> = [0.1, 0.7, -0.3, 0.2].iter().flat_map(|&x| row(x)).collect();
        let expected =
            [Dependence::Constant(0), Dependence::Zero(2), Dependence::Of(3, vec![0, 1]), Dependence::Of(4, vec![1])];
        assert_eq!(dependent(&table, 5), expected);
        // More features than rows.
        assert_eq!(
            dependent(&[0.3, 0.4, 0.5], 3),
            [Dependence::Constant(0), Dependence::Of(1, vec![0]), Dependence::Of(2, vec![0])]
        );
        // A simplex is no combination.
        assert_eq!(dependent(&[0.3, 0.7, 0.6, 0.4, 0.5, 0.5], 2), []);
    }
}
