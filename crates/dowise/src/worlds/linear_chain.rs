//! Linear MDPs that are hard to explore: a combination lock and a river of few places behind many states.

use rand::seq::SliceRandom;

use super::anchored::{Anchored, Sizes};
use super::build::{at_least, probability};
use super::{GeneratorError, LinearWorldError};
use crate::world::World;

/// A combination lock of d places behind S states: the right key value of the present state leads one place on, any
/// other back.
///
/// Every place has equally many states, and the right key value is drawn separately for every state. The features φ(s,
/// z) encode the place that a key value leads to, so only d weights have to be learned. Tables have S · Z rows and
/// hardly visit any of them twice. The last place pays 1 for opening the lock and for staying; nothing else pays.
/// Rewards are unknown to learners. Levers aim at key values: P(z | levers) does not depend on the state.
///
/// ```
/// let world = dowise::worlds::LinearLock::default().world().unwrap();
/// assert_eq!((world.n_states(), world.low_rank().unwrap().dimension()), (64, 8));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearLock {
    /// Number of states (S).
    pub states: usize,
    /// Number of values of the key variable (Z).
    pub causes: usize,
    /// Number of levers.
    pub levers: usize,
    /// Number of values of each lever.
    pub levels: usize,
    /// Number of places, and of features (d).
    pub dimension: usize,
    /// Steps in an episode (H).
    pub horizon: u64,
    /// Probability that levers bring about the key value that they aim at, besides chance.
    pub aim: f64,
    /// Probability that even the right key value leads back.
    pub slip: f64,
    /// Misspecification: distance from linear (ε), from 0 to 1.
    pub distance: f64,
    /// Seed of the environment.
    pub seed: u64,
}

impl Default for LinearLock {
    fn default() -> Self {
        LinearLock {
            states: 64,
            causes: 8,
            levers: 2,
            levels: 4,
            dimension: 8,
            horizon: 10,
            aim: 0.9,
            slip: 0.02,
            distance: 0.0,
            seed: 0,
        }
    }
}

impl LinearLock {
    /// The world, with its features.
    pub fn world(&self) -> Result<World, LinearWorldError> {
        let LinearLock { states, causes, levers, levels, dimension, horizon, aim, distance, seed, .. } = *self;
        let sizes = Sizes { states, causes, levers, levels, dimension, horizon, distance, seed };
        check_chain(&sizes, aim)?;
        probability("slip", self.slip)?;
        let last = dimension - 1;
        let about = format!(
            "A combination lock of {dimension} places behind {states} states: in every state one of {causes} causes leads \
             on, and all others lead back (distance {distance} from linear, seed {seed})."
        );
        let mut omega = vec![0.0; dimension];
        omega[last] = 1.0;
        let step = |place: usize, rank: usize, phi: &mut [f64]| {
            if rank == 0 {
                phi[(place + 1).min(last)] += 1.0 - self.slip;
                phi[0] += self.slip;
            } else {
                phi[0] = 1.0;
            }
        };
        chain(sizes, "Linear combination lock", about, self.aim, omega, step).world()
    }
}

/// A river of d places behind S states: few key values lead forward, all others back; the large reward is at the far
/// end.
///
/// As in [`LinearLock`], features encode the place that a key value leads to. The current carries back one place, not
/// to the start. The near end pays a little, so that greedy learners stay there.
///
/// ```
/// let world = dowise::worlds::LinearRiver { states: 48, dimension: 6, ..Default::default() }.world().unwrap();
/// assert_eq!(world.features().unwrap().dimension(&world), Some(6));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearRiver {
    /// Number of states (S).
    pub states: usize,
    /// Number of values of the key variable (Z).
    pub causes: usize,
    /// Number of levers.
    pub levers: usize,
    /// Number of values of each lever.
    pub levels: usize,
    /// Number of places, and of features (d).
    pub dimension: usize,
    /// Steps in an episode (H).
    pub horizon: u64,
    /// Number of key values that lead forward, drawn separately for each state.
    pub good: usize,
    /// P(forward) under those.
    pub forward: f64,
    /// Probability that levers bring about the key value that they aim at, besides chance.
    pub aim: f64,
    /// Misspecification: distance from linear (ε), from 0 to 1.
    pub distance: f64,
    /// Seed of the environment.
    pub seed: u64,
}

impl Default for LinearRiver {
    fn default() -> Self {
        LinearRiver {
            states: 64,
            causes: 8,
            levers: 2,
            levels: 4,
            dimension: 8,
            horizon: 20,
            good: 1,
            forward: 0.6,
            aim: 0.9,
            distance: 0.0,
            seed: 0,
        }
    }
}

/// Reward per step at the near end.
const CRUMB: f64 = 0.005;

impl LinearRiver {
    /// The world, with its features.
    pub fn world(&self) -> Result<World, LinearWorldError> {
        let LinearRiver { states, causes, levers, levels, dimension, horizon, aim, distance, seed, .. } = *self;
        let sizes = Sizes { states, causes, levers, levels, dimension, horizon, distance, seed };
        check_chain(&sizes, aim)?;
        probability("forward", self.forward)?;
        if self.good > causes {
            let (value, must) = (self.good.to_string(), format!("at most the number of causes, {causes}"));
            return Err(GeneratorError::OutOfRange { setting: "good", value, must }.into());
        }
        let last = dimension - 1;
        let about = format!(
            "A river of {dimension} places behind {states} states: in every state {} of {causes} causes carry one forward \
             (distance {distance} from linear, seed {seed}).",
            self.good
        );
        let mut omega = vec![0.0; dimension];
        (omega[0], omega[last]) = (CRUMB, 1.0);
        let step = |place: usize, rank: usize, phi: &mut [f64]| {
            let (forward, back) = if rank < self.good { (self.forward, 0.05) } else { (0.05, 0.7) };
            phi[(place + 1).min(last)] += forward;
            phi[place.saturating_sub(1)] += back * (1.0 - forward);
            phi[place] += (1.0 - back) * (1.0 - forward);
        };
        chain(sizes, "Linear river-swim", about, self.aim, omega, step).world()
    }
}

/// Checks the settings of a chain.
fn check_chain(sizes: &Sizes, aim: f64) -> Result<(), GeneratorError> {
    sizes.check()?;
    at_least("dimension", 2, sizes.dimension)?;
    at_least("states", sizes.dimension, sizes.states)?;
    probability("aim", aim)
}

/// A chain of places: `step(place, rank, φ)` writes the destination of the key value with this rank in a state; ranks
/// are drawn separately for each state.
fn chain(
    sizes: Sizes,
    name: &'static str,
    about: String,
    aim: f64,
    omega: Vec<f64>,
    step: impl Fn(usize, usize, &mut [f64]),
) -> Anchored {
    let Sizes { states, causes, dimension: d, .. } = sizes;
    let place = |s: usize| s * d / states;
    let mut rng = sizes.rng(13);
    let mut order: Vec<usize> = (0..causes).collect();
    let mut phi = vec![0.0; states * causes * d];
    for (s, rows) in phi.chunks_exact_mut(causes * d).enumerate() {
        order.shuffle(&mut rng);
        order.iter().enumerate().for_each(|(rank, &z)| step(place(s), rank, &mut rows[z * d..][..d]));
    }
    let mut members = vec![0.0; d];
    (0..states).for_each(|s| members[place(s)] += 1.0);
    let within = |j: usize, s: usize| if place(s) == j { 1.0 / members[j] } else { 0.0 };
    let mu = (0..d).flat_map(|j| (0..states).map(move |s| (j, s))).map(|(j, s)| within(j, s)).collect();
    let start = (0..states).map(|s| within(0, s)).collect();
    Anchored { sizes, name, about, kernel: sizes.aimed(aim), phi, mu, omega, start, learn_rewards: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;
    use crate::learn::linear::Features;

    #[test]
    fn they_are_linear_in_their_features_and_at_the_distance_asked_for() {
        let lock =
            |distance| LinearLock { states: 24, dimension: 4, distance, ..LinearLock::default() }.world().unwrap();
        let river =
            |distance| LinearRiver { states: 24, dimension: 4, distance, ..LinearRiver::default() }.world().unwrap();
        for (exact, off) in [(lock(0.0), lock(0.2)), (river(0.0), river(0.2))] {
            let fit = |world: &World| Features::of(world).unwrap().misspecification(world).unwrap();
            let (exact, off) = (fit(&exact), fit(&off));
            assert!(exact.variation_max < 1e-9 && exact.reward_max < 1e-9, "{exact:?}");
            assert!(off.variation_max > 0.02 && off.variation_max <= 0.2 + 1e-9, "{off:?}");
            assert!(off.reward_max > 0.02 && off.reward_max <= 0.2 + 1e-9, "{off:?}");
        }
    }

    #[test]
    fn rewards_are_far_away_and_not_known_to_learners() {
        let world = LinearLock::default().world().unwrap();
        let arena = Arena::new(&world).unwrap();
        let (random, exact) = arena.at_random();
        assert!(exact && random < 0.01 * arena.optimal(), "{random} {}", arena.optimal());
        assert!(!crate::Knowledge::of(&world).knows_rewards());
    }

    #[test]
    fn value_stability() {
        let arena = |world: World| Arena::new(&world).unwrap().optimal();
        let found = [arena(LinearLock::default().world().unwrap()), arena(LinearRiver::default().world().unwrap())];
        assert_eq!(found.map(|v| (v * 1e6).round()), [1829248.0, 6258643.0]);
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let says = |lock: LinearLock| lock.world().unwrap_err().to_string();
        assert_eq!(says(LinearLock { slip: 2.0, ..LinearLock::default() }), "slip is 2, and must be between 0 and 1");
        assert_eq!(says(LinearLock { states: 4, ..LinearLock::default() }), "states is 4, and must be at least 8");
        let river = LinearRiver { good: 9, ..LinearRiver::default() }.world().unwrap_err().to_string();
        assert_eq!(river, "good is 9, and must be at most the number of causes, 8");
    }
}
