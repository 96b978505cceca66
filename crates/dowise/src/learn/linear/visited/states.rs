//! Visited states, with the features of their configurations as far as memory allows.

use std::collections::BTreeMap;

use crate::learn::Knowledge;
use crate::learn::linear::features::LENGTH_TOLERANCE;
use crate::learn::linear::{FeatureError, LinearError};
use crate::plan::RowsAt;

/// Most bytes of cached features; those of further states are recomputed for every plan.
const MOST_KEPT: usize = 1 << 29;

/// Features of one state's configurations, `[cause][feature]`.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    Dense(Box<[f64]>),
    /// If most are 0: for every configuration the end of its entries, and the entries.
    Sparse {
        ends: Box<[u32]>,
        entries: Box<[(u32, f64)]>,
    },
    /// Computed on demand.
    NotKept,
}

impl Rows {
    fn of(phi: &[f64], dimension: usize) -> Rows {
        let filled = phi.iter().filter(|x| **x != 0.0).count();
        // An entry takes the room of two numbers.
        if 3 * filled > phi.len() {
            return Rows::Dense(phi.into());
        }
        let mut entries = Vec::with_capacity(filled);
        let mut end = |row: &[f64]| {
            let own = row.iter().enumerate().filter(|(_, x)| **x != 0.0);
            entries.extend(own.map(|(j, x)| (j as u32, *x)));
            entries.len() as u32
        };
        let ends: Vec<u32> = phi.chunks_exact(dimension).map(&mut end).collect();
        Rows::Sparse { ends: ends.into(), entries: entries.into() }
    }

    fn bytes(&self) -> usize {
        match self {
            Rows::Dense(phi) => 8 * phi.len(),
            Rows::Sparse { ends, entries } => 4 * ends.len() + 16 * entries.len(),
            Rows::NotKept => 0,
        }
    }

    /// ⟨φ(s, c), w⟩ for every configuration.
    pub(super) fn times(&self, weights: &[f64], out: &mut [f64]) {
        match self {
            Rows::Dense(phi) => {
                for (out, row) in out.iter_mut().zip(phi.chunks_exact(weights.len())) {
                    *out = dot(row, weights);
                }
            }
            Rows::Sparse { ends, entries } => {
                let mut begin = 0;
                for (out, &end) in out.iter_mut().zip(ends) {
                    let own = &entries[begin as usize..end as usize];
                    *out = own.iter().map(|&(j, x)| x * weights[j as usize]).sum();
                    begin = end;
                }
            }
            Rows::NotKept => panic!("invariant: rows that are not kept are computed first"),
        }
    }

    /// φᵀGφ for every configuration, with a symmetric matrix of d columns.
    pub(super) fn squares(&self, matrix: &[f64], d: usize, out: &mut [f64]) {
        match self {
            Rows::Dense(phi) => {
                for (out, row) in out.iter_mut().zip(phi.chunks_exact(d)) {
                    *out = row.iter().zip(matrix.chunks_exact(d)).map(|(x, column)| x * dot(column, row)).sum();
                }
            }
            Rows::Sparse { ends, entries } => {
                let mut begin = 0;
                for (out, &end) in out.iter_mut().zip(ends) {
                    let own = &entries[begin as usize..end as usize];
                    let with = |column: &[f64]| own.iter().map(|&(i, x)| x * column[i as usize]).sum::<f64>();
                    *out = own.iter().map(|&(j, x)| x * with(&matrix[j as usize * d..][..d])).sum();
                    begin = end;
                }
            }
            Rows::NotKept => panic!("invariant: rows that are not kept are computed first"),
        }
    }
}

/// Four sums at a time, so that the compiler keeps several multiply-adds under way; the order is fixed.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (fours, rest) = (a.chunks_exact(4), a.chunks_exact(4).remainder());
    for (a, b) in fours.zip(b.chunks_exact(4)) {
        (0..4).for_each(|i| sums[i] += a[i] * b[i]);
    }
    let tail: f64 = rest.iter().zip(&b[a.len() - rest.len()..]).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// One visited next state.
#[derive(Clone, Debug)]
pub(super) struct MetState {
    pub(super) state: usize,
    pub(super) rows: Rows,
}

/// All visited states, in the order of their first visits.
#[derive(Clone, Debug)]
pub(super) struct States {
    pub(super) rows: RowsAt,
    pub(super) met: Vec<MetState>,
    place: BTreeMap<usize, u32>,
    kept: usize,
    /// The state of the last request, and its features.
    last: Option<usize>,
    last_phi: Vec<f64>,
}

impl States {
    pub(super) fn new(rows: RowsAt) -> States {
        let room = rows.n_causes() * rows.dimension;
        States { rows, met: Vec::new(), place: BTreeMap::new(), kept: 0, last: None, last_phi: vec![0.0; room] }
    }

    /// The checked φ(s, c) of every configuration of any state.
    pub(super) fn phi(&mut self, knowledge: &Knowledge, state: usize) -> Result<&[f64], LinearError> {
        if self.last != Some(state) {
            self.last = None;
            let filled = self.rows.fill(state, &mut self.last_phi);
            filled.map_err(|why| FeatureError::Function { state: state_text(knowledge, state), why })?;
            if self.rows.is_function() {
                check(knowledge, state, &self.last_phi, self.rows.dimension)?;
            }
            self.last = Some(state);
        }
        Ok(&self.last_phi)
    }

    /// The index of a state among the visited ones; a new state is added.
    pub(super) fn enter(&mut self, knowledge: &Knowledge, state: usize) -> Result<u32, LinearError> {
        if let Some(&place) = self.place.get(&state) {
            return Ok(place);
        }
        let dimension = self.rows.dimension;
        self.phi(knowledge, state)?;
        let rows = Rows::of(&self.last_phi, dimension);
        let bytes = rows.bytes();
        let rows = match (self.kept + bytes > MOST_KEPT, self.rows.is_function()) {
            (true, true) => {
                let (met, limit) = (self.met.len(), MOST_KEPT as u128);
                return Err(LinearError::Full { met, bytes: (self.kept + bytes) as u128, limit });
            }
            (true, false) => Rows::NotKept,
            (false, _) => {
                self.kept += bytes;
                rows
            }
        };
        let place = self.met.len() as u32;
        self.met.push(MetState { state, rows });
        self.place.insert(state, place);
        Ok(place)
    }

    /// The features of a visited state, computed if they are not cached.
    pub(super) fn with_rows<T>(&self, of: &MetState, then: impl FnOnce(&Rows) -> T) -> T {
        match &of.rows {
            Rows::NotKept => {
                let mut phi = vec![0.0; self.rows.n_causes() * self.rows.dimension];
                self.rows.fill(of.state, &mut phi).expect("invariant: features from code are always kept");
                then(&Rows::Dense(phi.into()))
            }
            rows @ (Rows::Dense(_) | Rows::Sparse { .. }) => then(rows),
        }
    }

    /// Bytes of the cached features.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }
}

/// Checks that features are finite, with norm at most 1.
pub(super) fn check(knowledge: &Knowledge, state: usize, phi: &[f64], dimension: usize) -> Result<(), FeatureError> {
    for (cause, row) in phi.chunks_exact(dimension).enumerate() {
        if let Some(at) = row.iter().position(|x| !x.is_finite()) {
            let place = place_text(knowledge, state, cause);
            return Err(FeatureError::NotFinite { place, feature: at + 1, value: row[at] });
        }
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 1.0 + LENGTH_TOLERANCE {
            return Err(FeatureError::TooLong { place: place_text(knowledge, state, cause), norm, longest: None });
        }
    }
    Ok(())
}

/// A state by the names of its values.
pub(super) fn state_text(knowledge: &Knowledge, state: usize) -> String {
    let names = knowledge.world().state_names(state);
    names.iter().map(|(k, v)| format!("{k} = \"{v}\"")).collect::<Vec<_>>().join(", ")
}

fn place_text(knowledge: &Knowledge, state: usize, cause: usize) -> String {
    let causes = crate::kernel::CauseSpace::new(knowledge.world());
    let value = |(i, id): (usize, &crate::world::VarId)| {
        let variable = knowledge.world().variable(*id);
        format!("{} = \"{}\"", variable.name, variable.values[causes.digit(cause, i)])
    };
    let of_cause: Vec<String> = causes.variables().iter().enumerate().map(value).collect();
    format!("{}, {}", state_text(knowledge, state), of_cause.join(", "))
}
