//! Random causal linear MDPs: transitions and rewards exactly linear in features, or misspecified by a chosen distance.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::GeneratorError;
use super::anchored::{Anchored, Sizes};
use super::build::table_len;
use crate::random::{exponential, gamma};
use crate::world::{FeatureForm, FeatureSpec, World, WorldError, WorldSpec};

/// Dirichlet weight of each latent factor in φ: below 1, so that φ concentrates on a few of them.
const ANCHOR_WEIGHT: f64 = 0.3;

/// One state factor, one key variable, features in the simplex of d latent factors.
///
/// φ(s, z) is drawn from Dirichlet(0.3, …, 0.3). Each latent factor j has a distribution μ_j over next states, uniform
/// on the simplex, and a reward ω_j uniform on [0, 1]. Then
///
///   P(s' | s, z) = (1 − ε) Σ_j φ_j(s, z) μ_j(s') + ε P°(s' | s, z)
///   R(s, z)      = (1 − ε) Σ_j φ_j(s, z) ω_j + ε R°(s, z)
///
/// with P° and R° drawn independently for each pair. With ε = `distance` = 0 this is a causal linear MDP as defined in
/// the paper: ‖φ‖ ≤ 1, ‖μ(S)‖ = √d, ‖ω‖ ≤ √d. Otherwise the misspecification is at most ε, in total variation and in
/// rewards. P(z | s, a) is uniform on the simplex for every state and intervention.
///
/// With `low_rank`, transitions are kept as φ and μ and never multiplied out, so that S may be large. P(z | a) then
/// does not depend on the state, and P° leads each pair to one of d further latent factors, drawn for it.
///
/// ```
/// let linear = dowise::worlds::Linear { dimension: 5, ..Default::default() };
/// let world = linear.world().unwrap();
/// let features = dowise::linear::Features::of(&world).unwrap();
/// assert!(features.misspecification(&world).unwrap().variation_max < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// Number of states (S).
    pub states: usize,
    /// Number of values of the key variable (Z).
    pub causes: usize,
    /// Number of levers.
    pub levers: usize,
    /// Number of values of each lever.
    pub levels: usize,
    /// Number of latent factors (d).
    pub dimension: usize,
    /// Steps in an episode (H).
    pub horizon: u64,
    /// Misspecification: distance from linear (ε), from 0 to 1.
    pub distance: f64,
    /// Whether transitions are kept as φ and μ.
    pub low_rank: bool,
    /// Seed of the environment.
    pub seed: u64,
}

impl Default for Linear {
    fn default() -> Self {
        Linear {
            states: 8,
            causes: 16,
            levers: 3,
            levels: 4,
            dimension: 8,
            horizon: 5,
            distance: 0.0,
            low_rank: false,
            seed: 0,
        }
    }
}

/// All tables of a draw.
struct Draw {
    kernel: Vec<f64>,
    /// `[state][cause][anchor]`
    phi: Vec<f64>,
    next: Vec<f64>,
    reward: Vec<f64>,
}

impl Linear {
    /// The world as a specification, without its features; transitions as tables even with `low_rank`.
    pub fn spec(&self) -> Result<WorldSpec, GeneratorError> {
        let draw = self.draw()?;
        let Linear { states, causes, levers, levels, dimension, distance, seed, .. } = self;
        let about = format!(
            "A random causal linear MDP with {dimension} features, at distance {distance} from linear, seed {seed}."
        );
        let names: Vec<String> = (1..=*levers).map(|i| format!("x{i}")).collect();
        let parents: Vec<&str> = std::iter::once("s").chain(names.iter().map(String::as_str)).collect();
        let builder = World::builder("Random causal linear MDP", self.horizon).about(about).state("s", *states);
        Ok(names
            .iter()
            .fold(builder, |builder, lever| builder.lever(lever, *levels))
            .key("z", *causes)
            .mechanism("z", parents, draw.kernel)
            .next("s", ["s", "z"], draw.next)
            .reward("r", ["s", "z"], draw.reward)
            .reward_range([0.0, 1.0])
            .spec())
    }

    /// φ(s, z) of the world.
    pub fn features(&self) -> Result<FeatureSpec, GeneratorError> {
        let scope = Some(vec!["s".into(), "z".into()]);
        let form = FeatureForm::Table { scope, dimension: self.dimension, values: self.draw()?.phi };
        Ok(FeatureSpec { form, scale: false, at: None })
    }

    /// The world, with its features.
    pub fn world(&self) -> Result<World, LinearWorldError> {
        if self.low_rank {
            return self.anchored()?.world();
        }
        Ok(World::new(self.spec()?)?.with_features(&self.features()?)?)
    }

    fn sizes(&self) -> Sizes {
        let &Linear { states, causes, levers, levels, dimension, horizon, distance, seed, .. } = self;
        Sizes { states, causes, levers, levels, dimension, horizon, distance, seed }
    }

    /// The same as φ and μ.
    fn anchored(&self) -> Result<Anchored, GeneratorError> {
        let &Linear { states, causes, levers, levels, dimension, distance, seed, .. } = self;
        let sizes = self.sizes();
        sizes.check()?;
        let mut rng = sizes.rng(14);
        let settings = levels.pow(levers as u32);
        Ok(Anchored {
            sizes,
            name: "Random causal linear MDP",
            about: format!(
                "A random causal linear MDP with {dimension} features, at distance {distance} from linear, seed {seed}."
            ),
            kernel: rows(settings * causes, causes, &mut rng, exponential),
            phi: rows(states * causes * dimension, dimension, &mut rng, |rng| gamma(ANCHOR_WEIGHT, rng)),
            mu: rows(dimension * states, states, &mut rng, exponential),
            omega: (0..dimension).map(|_| rng.random()).collect(),
            start: vec![1.0 / states as f64; states],
            learn_rewards: false,
        })
    }

    /// All random tables, in the order: P(z | s, a), φ, μ, ω, P°, R°.
    fn draw(&self) -> Result<Draw, GeneratorError> {
        self.sizes().check_settings()?;
        let axes = |axes: &[usize]| axes.iter().map(|&n| n as u64).collect::<Vec<u64>>();
        let mut levers = axes(&[self.states, self.causes]);
        levers.extend(std::iter::repeat_n(self.levels as u64, self.levers));
        let kernel = table_len("P(z | s, a)", &levers)?;
        table_len("the table of the features", &axes(&[self.states, self.causes, self.dimension]))?;
        table_len("P(s' | s, z)", &axes(&[self.states, self.causes, self.states]))?;
        let (n, d, pairs) = (self.states, self.dimension, self.states * self.causes);

        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let kernel = rows(kernel, self.causes, &mut rng, exponential);
        let phi = rows(pairs * d, d, &mut rng, |rng| gamma(ANCHOR_WEIGHT, rng));
        let mu = rows(d * n, n, &mut rng, exponential);
        let omega: Vec<f64> = (0..d).map(|_| rng.random()).collect();
        let mut next = rows(pairs * n, n, &mut rng, exponential);
        let mut reward: Vec<f64> = (0..pairs).map(|_| rng.random()).collect();
        let far = self.distance;
        for (pair, phi) in phi.chunks_exact(d).enumerate() {
            let row = &mut next[pair * n..][..n];
            row.iter_mut().for_each(|p| *p *= far);
            for (weight, mu) in phi.iter().zip(mu.chunks_exact(n)) {
                row.iter_mut().zip(mu).for_each(|(p, mu)| *p += (1.0 - far) * weight * mu);
            }
            let linear: f64 = phi.iter().zip(&omega).map(|(weight, w)| weight * w).sum();
            reward[pair] = (far * reward[pair] + (1.0 - far) * linear).min(1.0);
        }
        Ok(Draw { kernel, phi, next, reward })
    }
}

/// Why a random linear world was not generated.
#[derive(Debug, thiserror::Error)]
pub enum LinearWorldError {
    /// A setting of the generator is outside its range.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// The world is not valid.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// Rows of positive numbers, normalised.
fn rows(len: usize, n: usize, rng: &mut ChaCha8Rng, mut draw: impl FnMut(&mut ChaCha8Rng) -> f64) -> Vec<f64> {
    let mut table: Vec<f64> = (0..len).map(|_| draw(rng)).collect();
    for row in table.chunks_exact_mut(n) {
        let sum: f64 = row.iter().sum();
        if sum > 0.0 {
            row.iter_mut().for_each(|p| *p /= sum);
        } else {
            // Every draw underflowed: one latent factor has all the weight.
            row[rng.random_range(0..n)] = 1.0;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::linear::Features;

    #[test]
    fn a_world_at_distance_zero_satisfies_the_definition() {
        let world = Linear { seed: 3, ..Linear::default() }.world().unwrap();
        let features = Features::of(&world).unwrap();
        let fit = features.misspecification(&world).unwrap();
        assert_eq!((fit.dimension, fit.rank), (8, 8));
        assert!(features.longest() <= 1.0);
        assert!(fit.variation_max < 1e-12 && fit.reward_max < 1e-12, "{fit:?}");
        // ‖μ(S)‖ = √d is exactly the limit of the definition.
        assert!((fit.transition_norm - fit.norm_limit()).abs() < 1e-9, "{fit:?}");
        assert!(fit.reward_norm <= fit.norm_limit());
    }

    #[test]
    fn the_distance_is_at_most_what_was_asked_for_and_grows_with_it() {
        let fit = |distance| {
            let world = Linear { distance, seed: 3, ..Linear::default() }.world().unwrap();
            Features::of(&world).unwrap().misspecification(&world).unwrap()
        };
        let (near, far) = (fit(0.05), fit(0.4));
        assert!(near.variation_max > 0.005 && near.variation_max <= 0.05, "{near:?}");
        assert!(far.variation_max > 4.0 * near.variation_max && far.variation_max <= 0.4, "{far:?}");
        assert!(near.reward_max <= 0.05 && near.transition_mean < near.transition_max);
    }

    #[test]
    fn value_stability() {
        let draw = Linear { seed: 1, ..Linear::default() }.draw().unwrap();
        let expected = (
            &[0.21015330439342064, 0.1908835353369655, 0.00854827367164696][..],
            &[0.18541421224348137, 0.03934651267768738][..],
        );
        assert_eq!((&draw.phi[..3], &draw.next[..2]), expected);
    }

    #[test]
    fn a_written_world_keeps_its_features_bit_by_bit() {
        let world = Linear { seed: 2, ..Linear::default() }.world().unwrap();
        let again = World::from_toml(&world.to_toml(), "linear.toml").unwrap();
        assert_eq!(again.features(), world.features());
        assert_eq!(again.to_toml(), world.to_toml());
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let says = |linear: Linear| linear.world().unwrap_err().to_string();
        assert_eq!(says(Linear { dimension: 0, ..Linear::default() }), "dimension is 0, and must be at least 1");
        assert_eq!(says(Linear { distance: 2.0, ..Linear::default() }), "distance is 2, and must be between 0 and 1");
        assert!(
            says(Linear { dimension: 1 << 40, ..Linear::default() })
                .starts_with("the table of the features would have")
        );
    }
}
