//! Checking the features that a world carries: known names, shapes that fit, finite numbers, lengths of at most 1.

use super::check::{Check, number_text};
use super::{MOST_ENTRIES, count_text};
use crate::Space;
use crate::world::features::everything;
use crate::world::{
    At, FeatureForm, FeatureMap, FeatureSpec, Kind, Located, Nested, Problem, VarId, World, WorldError,
};

/// Rounding that a length of 1 may be off by.
const LENGTH_TOLERANCE: f64 = 1e-9;

/// Kinds of variables that features may depend on, besides the check that they act.
const KINDS: [Kind; 3] = [Kind::State, Kind::Key, Kind::Lever];

type Names = Option<Vec<Located<String>>>;

impl World {
    /// The same world with these features for linear learners, checked against its variables.
    pub fn with_features(mut self, spec: &FeatureSpec) -> Result<World, WorldError> {
        let mut check = Check::default();
        check.variables = self.variables.clone();
        check.index = self.variables.iter().enumerate().map(|(i, v)| (v.name.clone(), VarId(i as u16))).collect();
        let map = check.features(spec, &self);
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
    fn features(&mut self, spec: &FeatureSpec, world: &World) -> Option<FeatureMap> {
        let map = match &spec.form {
            FeatureForm::OneHot => FeatureMap::one_hot(world),
            FeatureForm::Factors { scopes: None } => FeatureMap::factors(world),
            FeatureForm::Factors { scopes: Some(scopes) } => {
                if scopes.is_empty() {
                    let problem = Problem::error("features", "`scopes` of [features] is empty");
                    self.push(problem.help("name at least one scope, or leave `scopes` out").at(spec.at));
                    return None;
                }
                let all: Vec<Option<Vec<VarId>>> =
                    scopes.iter().map(|scope| self.feature_scope(&Some(scope.clone()), world)).collect();
                FeatureMap::Indicators { scopes: all.into_iter().collect::<Option<_>>()? }
            }
            FeatureForm::Polynomial { scope, degree } => {
                FeatureMap::Polynomial { scope: self.feature_scope(scope, world)?, degree: degree.value as usize }
            }
            FeatureForm::Radial { scope, centres, width } => {
                let scope = self.feature_scope(scope, world);
                if centres.value == 0 {
                    let problem = Problem::error("features", "`centres` of [features] is 0");
                    self.push(problem.help("at least one bump for each variable").at(centres.at));
                    return None;
                }
                if !(width.value.is_finite() && width.value > 0.0) {
                    let message = format!("`width` of [features] is {}", number_text(width.value));
                    let help = "a number above 0, in distances between neighbouring bumps";
                    self.push(Problem::error("features", message).help(help).at(width.at));
                    return None;
                }
                FeatureMap::Radial { scope: scope?, centres: centres.value as usize, width: width.value }
            }
            FeatureForm::Table { scope, dimension, values } => {
                let scope = self.feature_scope(scope, world)?;
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
                self.feature_table(scope, &space, *dimension, values.clone(), &places, spec.scale)?
            }
            FeatureForm::Nested { scope, value } => {
                let scope = self.feature_scope(scope, world)?;
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
                self.feature_table(scope, &space, dimension, values, &places, spec.scale)?
            }
            FeatureForm::Grid { scope, grid } => {
                let allowed = everything(world);
                let scope = match scope {
                    Some(_) => self.feature_scope(scope, world)?,
                    None => allowed.into_iter().filter(|&id| grid.header.iter().any(|h| h == self.name(id))).collect(),
                };
                let named = |h: &&String| !scope.iter().any(|&id| self.name(id) == h.as_str());
                let columns: Vec<String> = grid.header.iter().filter(named).cloned().collect();
                let what = "the table of the features";
                let space = self.table_space(what, &scope, columns.len().max(1), "a smaller scope", spec.at)?;
                if columns.is_empty() {
                    let problem =
                        Problem::error("missing-column", "the table of the features has no column of numbers");
                    self.push(problem.help("add one for each feature").at(grid.header_at));
                    return None;
                }
                let (values, places) = self.number_grid(grid, &scope, &columns, &space, what)?;
                self.feature_table(scope, &space, columns.len(), values, &places, spec.scale)?
            }
        };
        self.few_enough(&map, world, spec.at).then_some(map)
    }

    /// A scope of features: variables that act on the next state or the reward, or parts of the state.
    fn feature_scope(&mut self, names: &Names, world: &World) -> Option<Vec<VarId>> {
        let allowed = everything(world);
        let Some(names) = names else { return Some(allowed) };
        let ids = self.list(names, &KINDS, "[features]")?;
        let before = self.errors();
        for (id, name) in ids.iter().zip(names).filter(|(id, _)| !allowed.contains(id)) {
            let message =
                format!("[features] names \"{}\", on which neither next state nor reward depend", self.name(*id));
            self.push(Problem::error("acts-on-nothing", message).help("take it out").at(name.at));
        }
        (self.errors() == before).then_some(ids)
    }

    /// Finite rows of length at most 1.
    fn feature_table(
        &mut self,
        scope: Vec<VarId>,
        space: &Space,
        dimension: usize,
        mut values: Vec<f64>,
        places: &[Option<At>],
        scale: bool,
    ) -> Option<FeatureMap> {
        let before = self.errors();
        let mut longest = (0.0, 0);
        for (r, row) in values.chunks_exact(dimension).enumerate() {
            if row.iter().all(|&x| self.finite(x, "one of the features", places[r])) {
                let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                longest = if norm > longest.0 { (norm, r) } else { longest };
            }
        }
        if self.errors() > before {
            return None;
        }
        let (norm, r) = longest;
        if norm > 1.0 + LENGTH_TOLERANCE {
            if !scale {
                let given = self.combination(&scope, &space.digits(r));
                let message = format!("the features of {given} have length {}, more than 1", number_text(norm));
                let help = format!("divide all features by {}, or add `scale = true`", number_text(norm));
                self.push(Problem::error("feature-length", message).help(help).at(places[r]));
                return None;
            }
            values.iter_mut().for_each(|x| *x /= norm);
        }
        Some(FeatureMap::Table { scope, dimension, values: values.into() })
    }

    /// Features of all states and causes fit into memory.
    fn few_enough(&mut self, map: &FeatureMap, world: &World, at: Option<At>) -> bool {
        let cells = world.sizes(&world.cause_variables()).iter().fold(world.n_states() as u128, |n, &s| n * s as u128);
        let numbers = map.dimension(world).and_then(|d| d.checked_mul(cells));
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
