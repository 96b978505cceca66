//! Feature maps φ(s, z) for every state and configuration, validated: finite, with norm at most 1.

use std::sync::Arc;

use nalgebra::DMatrixView;

use super::error::FeatureError;
use super::{MOST_BYTES, misspecification};
use crate::kernel::CauseSpace;
use crate::memory::Held;
use crate::world::{Basis, FeatureMap, World};

/// Rounding tolerance of a norm of 1.
pub(super) const LENGTH_TOLERANCE: f64 = 1e-9;

/// Treatment of features with norm above 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norms {
    /// An error.
    Check,
    /// All features are divided by the greatest norm, if that is above 1.
    Scale,
}

/// Features of every state and configuration of key variables.
///
/// ```
/// use dowise::linear::{Features, Norms};
/// use dowise::{World, worlds};
/// let world = World::new(worlds::Paper::default().spec()?)?;
/// assert_eq!(Features::of(&world)?.dimension(), 8 * 8); // one-hot, as this world has none of its own
/// let line = Features::from_fn(&world, 2, Norms::Scale, |state, causes, phi| {
///     phi[0] = 1.0;
///     phi[1] = (state[0] + causes[2]) as f64;
/// })?;
/// assert!((line.longest() - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    dimension: usize,
    n_causes: usize,
    /// `[state][cause][feature]`, with configurations numbered as in [`CauseSpace`].
    rows: Arc<[f64]>,
}

impl Features {
    /// The world's own features; one-hot if it has none.
    pub fn of(world: &World) -> Result<Features, FeatureError> {
        match world.features() {
            Some(map) => Features::new(world, map),
            None => Features::new(world, &FeatureMap::one_hot(world)),
        }
    }

    /// A feature map at every state and configuration of a world.
    ///
    /// # Cost
    /// O(S · Z · d) time and memory, checked before any allocation.
    pub fn new(world: &World, map: &FeatureMap) -> Result<Features, FeatureError> {
        let bad = |name, value, expected| Err(FeatureError::Option { name, value, expected });
        match *map {
            FeatureMap::Radial { centres: 0, .. } => return bad("centres", 0.0, "at least one bump for each variable"),
            FeatureMap::Radial { width, .. } if !(width.is_finite() && width > 0.0) => {
                return bad("width", width, "the width of a bump is a number above 0");
            }
            FeatureMap::Indicators { .. }
            | FeatureMap::Polynomial { .. }
            | FeatureMap::Radial { .. }
            | FeatureMap::Table { .. }
            | FeatureMap::Mean { .. } => {}
        }
        let dimension = fits(world, map.dimension(world))?;
        if let FeatureMap::Table { scope, values, .. } = map
            && world.state().iter().chain(CauseSpace::new(world).variables()).eq(scope)
        {
            return Features::shared(world, dimension, values.clone());
        }
        let basis = Basis::new(world, map);
        let ids = (world.state().to_vec(), world.cause_variables());
        let mut values = vec![0; world.variables().len()];
        Features::from_fn(world, dimension, Norms::Check, |state, causes, out| {
            ids.0.iter().zip(state).for_each(|(id, &v)| values[id.ix()] = v);
            ids.1.iter().zip(causes).for_each(|(id, &v)| values[id.ix()] = v);
            basis.fill(&values, out);
        })
    }

    /// Shared rows in the required layout, without a copy.
    fn shared(world: &World, dimension: usize, rows: Arc<[f64]>) -> Result<Features, FeatureError> {
        let n_causes = CauseSpace::new(world).len();
        let features = Features { dimension, n_causes, rows };
        let place = |cell: usize| {
            let causes = CauseSpace::new(world);
            let cause: Vec<usize> = (0..causes.variables().len()).map(|i| causes.digit(cell % n_causes, i)).collect();
            place(world, &world.state_space().digits(cell / n_causes), &cause)
        };
        if let Some(at) = features.rows.iter().position(|x| !x.is_finite()) {
            let (place, feature) = (place(at / dimension), at % dimension + 1);
            return Err(FeatureError::NotFinite { place, feature, value: features.rows[at] });
        }
        let norms = features.rows.chunks_exact(dimension).map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt());
        let longest =
            norms.enumerate().fold((0.0, 0), |most, (cell, norm)| if norm > most.0 { (norm, cell) } else { most });
        match longest {
            (norm, cell) if norm > 1.0 + LENGTH_TOLERANCE => {
                Err(FeatureError::TooLong { place: place(cell), norm, longest: Some(norm) })
            }
            _ => Ok(features),
        }
    }

    /// Features from code: `fill(state, causes, out)` writes φ into `out` (zero before), given the value positions of
    /// the state factors and of [`World::cause_variables`], each in order.
    pub fn from_fn(
        world: &World,
        dimension: usize,
        norms: Norms,
        mut fill: impl FnMut(&[usize], &[usize], &mut [f64]),
    ) -> Result<Features, FeatureError> {
        let dimension = fits(world, Some(dimension as u128))?;
        let causes = CauseSpace::new(world);
        let order = world.cause_variables();
        // Configurations are numbered group by group; the caller uses the order of the file.
        let position = |id| {
            causes
                .variables()
                .iter()
                .position(|v| *v == id)
                .expect("invariant: features and causes have the same variables")
        };
        let places: Vec<usize> = order.iter().map(|&id| position(id)).collect();
        let (n_states, n_causes) = (world.n_states(), causes.len());
        let mut rows = vec![0.0; n_states * n_causes * dimension];
        let mut state = vec![0; world.state().len()];
        let mut cause = vec![0; order.len()];
        let mut longest: (f64, usize) = (0.0, 0);
        for (cell, row) in rows.chunks_exact_mut(dimension).enumerate() {
            world.state_space().digits_into(cell / n_causes, &mut state);
            places.iter().zip(&mut cause).for_each(|(&p, out)| *out = causes.digit(cell % n_causes, p));
            fill(&state, &cause, row);
            if let Some(feature) = row.iter().position(|x| !x.is_finite()) {
                let place = place(world, &state, &cause);
                return Err(FeatureError::NotFinite { place, feature: feature + 1, value: row[feature] });
            }
            let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm > longest.0 {
                longest = (norm, cell);
            }
        }
        let (norm, cell) = longest;
        if norm > 1.0 + LENGTH_TOLERANCE {
            if norms == Norms::Check {
                world.state_space().digits_into(cell / n_causes, &mut state);
                places.iter().zip(&mut cause).for_each(|(&p, out)| *out = causes.digit(cell % n_causes, p));
                return Err(FeatureError::TooLong { place: place(world, &state, &cause), norm, longest: Some(norm) });
            }
            rows.iter_mut().for_each(|x| *x /= norm);
        }
        Ok(Features { dimension, n_causes, rows: rows.into() })
    }

    /// Number of features (d).
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of states times number of configurations.
    pub fn n_cells(&self) -> usize {
        self.rows.len() / self.dimension
    }

    /// φ(s, c); configurations are numbered as in [`CauseSpace`].
    pub fn row(&self, state: usize, cause: usize) -> &[f64] {
        &self.rows[(state * self.n_causes + cause) * self.dimension..][..self.dimension]
    }

    /// Greatest norm of a feature vector.
    pub fn longest(&self) -> f64 {
        let squares = self.rows.chunks_exact(self.dimension).map(|row| row.iter().map(|x| x * x).sum::<f64>());
        squares.fold(0.0, f64::max).sqrt()
    }

    /// A fingerprint of exactly these features, to the last bit.
    pub(super) fn fingerprint(&self) -> String {
        let bits = self.rows.iter().map(|x| x.to_bits()).chain([self.dimension as u64]);
        format!("{:016x}", crate::hash::fnv_words(bits))
    }

    /// Linear approximation error of a world's transitions and rewards in these features; `None` if they are unknown
    /// or too large to compute (see [`Misspecification`](super::Misspecification)).
    pub fn misspecification(&self, world: &World) -> Option<misspecification::Misspecification> {
        misspecification::measure(self, world)
    }

    /// One column for each state and configuration, shared.
    pub(super) fn shared_rows(&self) -> Arc<[f64]> {
        self.rows.clone()
    }

    /// One column for each state and configuration.
    pub(crate) fn columns(&self) -> DMatrixView<'_, f64> {
        DMatrixView::from_slice(&self.rows, self.dimension, self.n_cells())
    }
}

/// The dimension if the features fit into memory.
fn fits(world: &World, dimension: Option<u128>) -> Result<usize, FeatureError> {
    let n_causes = world.sizes(&world.cause_variables()).iter().map(|&n| n as u128).product::<u128>();
    let cells = world.n_states() as u128 * n_causes;
    let bytes = dimension.and_then(|d| d.checked_mul(cells)?.checked_mul(8));
    match (dimension, bytes) {
        (Some(0), _) => Err(FeatureError::Empty),
        // Twice during construction.
        (Some(d), Some(bytes)) if bytes <= MOST_BYTES => match Held::ask(2 * bytes) {
            Ok(_) => Ok(d as usize),
            Err(left) => Err(FeatureError::TooLarge { dimension, cells, bytes: Some(2 * bytes), limit: left.into() }),
        },
        _ => Err(FeatureError::TooLarge { dimension, cells, bytes, limit: MOST_BYTES }),
    }
}

/// `mood = "low", walk = "yes"` for values of the state factors and key variables.
fn place(world: &World, state: &[usize], causes: &[usize]) -> String {
    let ids = world.state().iter().copied().chain(world.cause_variables());
    let part = |(id, &v): (_, &usize)| {
        let variable = world.variable(id);
        format!("{} = \"{}\"", variable.name, variable.values[v])
    };
    ids.zip(state.iter().chain(causes)).map(part).collect::<Vec<_>>().join(", ")
}
