//! A linear MDP with ordered factors (blood pressure, dose, response) and radial features.

use rand::RngExt;

use super::anchored::Sizes;
use super::build::{at_least, probability};
use super::{GeneratorError, LinearWorldError};
use crate::Space;
use crate::world::{AnchorRows, FeatureForm, FeatureSpec, Form, LowRankSpec, World};

/// Two ordered state factors and an ordered key variable, with Gaussian bumps as features.
///
/// A bump sits at each corner of pressure × dose × response, so d = 8 for any number of levels. A strong response
/// lowers the pressure and raises the dose in the body, a weak one does the opposite; low values of both pay. Each bump
/// leads to normal distributions of the next pressure and the next dose. Levers aim at responses, and rewards are
/// unknown to learners.
///
/// ```
/// let world = dowise::worlds::LinearDoses::default().world().unwrap();
/// assert_eq!((world.n_states(), world.low_rank().unwrap().dimension()), (64, 8));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearDoses {
    /// Number of values of the pressure, and of the dose.
    pub levels: usize,
    /// Number of values of the response (Z).
    pub causes: usize,
    /// Number of levers.
    pub levers: usize,
    /// Number of values of each lever.
    pub settings: usize,
    /// Steps in an episode (H).
    pub horizon: u64,
    /// Width of a bump, in distances between neighbouring bumps.
    pub width: f64,
    /// Probability that levers bring about the response that they aim at, besides chance.
    pub aim: f64,
    /// Misspecification: distance from linear (ε), from 0 to 1.
    pub distance: f64,
    /// Seed of the environment: which setting aims at which response.
    pub seed: u64,
}

impl Default for LinearDoses {
    fn default() -> Self {
        LinearDoses {
            levels: 8,
            causes: 8,
            levers: 2,
            settings: 4,
            horizon: 10,
            width: 0.3,
            aim: 0.9,
            distance: 0.0,
            seed: 0,
        }
    }
}

/// Standard deviation of a next value, as a share of the range of the levels.
const SPREAD: f64 = 0.1;

impl LinearDoses {
    /// The world, with its features.
    pub fn world(&self) -> Result<World, LinearWorldError> {
        let &LinearDoses { levels, causes, levers, settings, horizon, width, aim, distance, seed } = self;
        at_least("levels", 2, levels)?;
        at_least("causes", 2, causes)?;
        let sizes =
            Sizes { states: levels * levels, causes, levers, levels: settings, dimension: 8, horizon, distance, seed };
        sizes.check()?;
        probability("aim", aim)?;
        if !(width.is_finite() && width > 0.0) {
            let (value, must) = (width.to_string(), "a number above 0".to_owned());
            return Err(GeneratorError::OutOfRange { setting: "width", value, must }.into());
        }
        let scope = || Some(["pressure", "dose", "response"].map(Into::into).to_vec());
        let radial = FeatureSpec {
            form: FeatureForm::Radial { scope: scope(), centres: 2.into(), width: width.into() },
            scale: false,
            at: None,
        };
        let corners = Space::new(&[2, 2, 2]).expect("invariant: eight corners");
        let most = (levels - 1) as f64;
        // Strong and weak responses each shift by half the range.
        let next = |corner: usize| {
            let at = |axis: usize| corners.digit(corner, axis) as f64;
            let (pressure, dose, strong) = (at(0), at(1), at(2) == 1.0);
            let moved = |x: f64, up: bool| if up { (x + 0.5).min(1.0) } else { (x - 0.5).max(0.0) };
            // The dose in the body keeps acting: a high dose keeps the pressure from rising.
            [moved(pressure, !strong && dose == 0.0), moved(dose, strong)]
        };
        let mut rng = sizes.rng(16);
        // Destinations of the nonlinear part: one of eight further positions, drawn for each pair.
        let strays: Vec<[f64; 2]> = (0..8).map(|_| [rng.random(), rng.random()]).collect();
        let rows = |axis: usize| {
            let far = strays.iter().filter(|_| distance > 0.0).map(|place| place[axis]);
            let centres = (0..8).map(|corner| next(corner)[axis]).chain(far);
            AnchorRows::Normal { centres: centres.map(|c| (c * most).into()).collect(), sd: (SPREAD * most).into() }
        };
        // Pays 1 if both are low, by proximity to that corner: linear in the features.
        let omega = |corner: usize| if corners.digit(corner, 0) + corners.digit(corner, 1) == 0 { 1.0 } else { 0.0 };
        let names = sizes.lever_names();
        let parents: Vec<&str> = names.iter().map(String::as_str).collect();
        let about = format!("Pressure and dose on {levels} levels each, a response on {causes} (seed {seed}).");
        let all = ["pressure", "dose", "response"];
        let bare = |reward: Vec<f64>| {
            let builder = World::builder("Linear doses", horizon)
                .about(about.clone())
                .state("pressure", levels)
                .state("dose", levels);
            names
                .iter()
                .fold(builder, |builder, lever| builder.lever(lever, settings))
                .key("response", causes)
                .mechanism("response", parents.clone(), sizes.aimed(aim))
                .next("pressure", all, Form::LowRank)
                .next("dose", all, Form::LowRank)
                .reward("well", all, reward)
                .reward_range([0.0, 1.0])
                .start("pressure", (levels - 1).to_string().as_str())
                .start("dose", (levels - 1).to_string().as_str())
                .rewards_to_learn([0.0, 1.0])
                .build()
        };
        let n = levels * levels * causes;
        let features = crate::learn::linear::Features::of(&bare(vec![0.0; n])?.with_features(&radial)?);
        let features = features.expect("invariant: they were counted when the sizes were checked");
        let reward = |cell: usize| {
            let phi = features.row(cell / causes, cell % causes);
            phi.iter().enumerate().map(|(corner, p)| p * omega(corner)).sum::<f64>().clamp(0.0, 1.0)
        };
        let (mut weights, mut paid) = (Vec::new(), Vec::with_capacity(n));
        for cell in 0..n {
            let phi = features.row(cell / causes, cell % causes);
            weights.extend(phi.iter().map(|w| (1.0 - distance) * w));
            let (stray, other): (usize, f64) = (rng.random_range(0..8), rng.random());
            weights.extend((0..8).map(|j| if j == stray { distance } else { 0.0 }));
            paid.push((1.0 - distance) * reward(cell) + distance * other);
        }
        let weights = (distance > 0.0).then(|| FeatureSpec {
            form: FeatureForm::Table { scope: scope(), dimension: 16, values: weights },
            scale: false,
            at: None,
        });
        let low_rank =
            LowRankSpec { weights, next: vec![("pressure".into(), rows(0)), ("dose".into(), rows(1))], at: None };
        Ok(bare(paid)?.with_features(&radial)?.with_low_rank(&low_rank)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;
    use crate::learn::linear::Features;

    #[test]
    fn it_is_linear_in_its_features_on_any_number_of_levels() {
        for levels in [2, 5, 8] {
            let world = LinearDoses { levels, causes: 5, ..LinearDoses::default() }.world().unwrap();
            let fit = Features::of(&world).unwrap().misspecification(&world).unwrap();
            assert_eq!(fit.dimension, 8);
            assert!(fit.variation_max < 1e-9 && fit.reward_max < 1e-9, "{fit:?}");
            let arena = Arena::new(&world).unwrap();
            let random = arena.at_random().0;
            assert!(random < 0.8 * arena.optimal(), "{levels}: {random} {}", arena.optimal());
        }
    }

    #[test]
    fn the_distance_is_at_most_what_was_asked_for() {
        let fit = |distance| {
            let world = LinearDoses { levels: 4, causes: 4, distance, ..LinearDoses::default() }.world().unwrap();
            Features::of(&world).unwrap().misspecification(&world).unwrap()
        };
        let off = fit(0.2);
        assert!(off.variation_max > 0.02 && off.variation_max <= 0.2 + 1e-9, "{off:?}");
        assert!(off.reward_max > 0.02 && off.reward_max <= 0.2 + 1e-9, "{off:?}");
        assert!(LinearDoses { distance: 1.5, ..LinearDoses::default() }.world().is_err());
    }
}
