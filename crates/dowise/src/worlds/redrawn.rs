//! Redraws the tables of a world with the same structure, for non-stationary simulations.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::paper::simplex_rows;
use crate::world::World;

/// Redraws rows of a world's tables, each with some probability and uniformly on the simplex; the structure stays.
///
/// In low-rank worlds, the rows of the latent factors are redrawn.
///
/// ```
/// use dowise::worlds::{self, Redrawn};
/// let world = worlds::world("paper", &[])?;
/// let same = Redrawn { share: 0.0, ..Redrawn::default() }.of(&world);
/// assert_eq!(world.transitions(), same.transitions());
/// let other = Redrawn { share: 1.0, ..Redrawn::default() }.of(&world);
/// assert_ne!(world.transitions(), other.transitions());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Redrawn {
    /// Probability that a row is redrawn.
    pub share: f64,
    /// Whether mechanisms within a step are redrawn too, not only transitions.
    pub mechanisms: bool,
    /// Seed of the selection and of the new rows.
    pub seed: u64,
}

impl Default for Redrawn {
    fn default() -> Self {
        Redrawn { share: 1.0, mechanisms: false, seed: 0 }
    }
}

impl Redrawn {
    /// The world with redrawn rows; unknown tables have none.
    pub fn of(&self, world: &World) -> World {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut out = world.clone();
        let n_transitions = out.transitions.len();
        for (i, m) in out.transitions.iter_mut().chain(&mut out.mechanisms).enumerate() {
            let Some(table) = m.table.as_mut().filter(|_| self.mechanisms || i < n_transitions) else { continue };
            let n = world.sizes(&m.children).iter().product();
            *table = self.rows(table, n, &mut rng);
        }
        // Signed weights or rows would not give probabilities with other rows.
        if let Some(low_rank) = out.low_rank.as_mut().filter(|low_rank| low_rank.is_mixture()) {
            for (rows, n) in low_rank.next.iter_mut().zip(world.state_space().sizes()) {
                *rows = self.rows(rows, *n, &mut rng);
            }
        }
        out
    }

    fn rows(&self, table: &[f64], n: usize, rng: &mut ChaCha8Rng) -> Arc<[f64]> {
        let mut rows = table.to_vec();
        for row in rows.chunks_exact_mut(n) {
            // Drawn in any case, so that a larger share changes a superset of the same rows.
            let (drawn, other) = (rng.random::<f64>(), simplex_rows(1, n, rng));
            if drawn < self.share {
                row.copy_from_slice(&other);
            }
        }
        rows.into()
    }
}
