//! A linear MDP with non-enumerable states: a river whose symbols determine which key values lead forward.

use rand::RngExt;

use super::anchored::Sizes;
use super::build::{at_least, probability};
use super::{GeneratorError, LinearWorldError};
use crate::world::{AnchorRows, FeatureForm, FeatureSpec, Form, LowRankSpec, World};

/// A river of places behind a word of symbols: S = places · letters^symbols, 10¹³ by default.
///
/// At every place each symbol votes for some key values, drawn for every place, key value, symbol and letter. A key
/// value leads one place forward with probability equal to its share of votes, and one place back otherwise. Every step
/// draws a new word. The optimal key value thus depends on the whole state, and no state is visited twice. Still,
/// transitions and rewards are linear in d = 2 · places − 1 features: one part of φ(s, z) encodes the destination, the
/// other the present place (without the near end, which is implied). The far end pays 1 per step, the near end a
/// little; rewards are unknown to learners.
///
/// ```
/// let world = dowise::worlds::LinearCode::default().world().unwrap();
/// assert!(world.n_states() > 1 << 40 && !world.is_enumerable());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearCode {
    /// Number of places along the river; there are twice as many features (d), less one.
    pub places: usize,
    /// Number of symbols in a state.
    pub symbols: usize,
    /// Number of values of each symbol.
    pub letters: usize,
    /// Number of values of the key variable (Z).
    pub causes: usize,
    /// Number of levers.
    pub levers: usize,
    /// Number of values of each lever.
    pub levels: usize,
    /// Steps in an episode (H).
    pub horizon: u64,
    /// Probability that levers bring about the key value that they aim at, besides chance.
    pub aim: f64,
    /// Seed of the environment.
    pub seed: u64,
}

impl Default for LinearCode {
    fn default() -> Self {
        LinearCode {
            places: 6,
            symbols: 10,
            letters: 16,
            causes: 16,
            levers: 2,
            levels: 4,
            horizon: 20,
            aim: 0.9,
            seed: 0,
        }
    }
}

/// Reward per step at the near end.
const CRUMB: f64 = 0.005;

impl LinearCode {
    /// The world, with its features.
    pub fn world(&self) -> Result<World, LinearWorldError> {
        let &LinearCode { places, symbols, letters, causes, levers, levels, horizon, aim, seed } = self;
        at_least("places", 2, places)?;
        at_least("symbols", 1, symbols)?;
        at_least("letters", 2, letters)?;
        let sizes = Sizes {
            states: places * letters,
            causes,
            levers,
            levels,
            dimension: 2 * places - 1,
            horizon,
            distance: 0.0,
            seed,
        };
        sizes.check()?;
        probability("aim", aim)?;
        let most = crate::math::powi(letters as f64, symbols as u32) * (places * causes) as f64;
        if most.is_nan() || most > (1u64 << 62) as f64 {
            let must = format!("fewer: states and causes are numbered up to 2^62, and there would be {most:.1e}");
            return Err(GeneratorError::OutOfRange { setting: "symbols", value: symbols.to_string(), must }.into());
        }
        let names: Vec<String> = (1..=symbols).map(|i| format!("c{i}")).collect();
        let mut rng = sizes.rng(15);
        let last = places - 1;
        // For each symbol a table over (place, letter, key value): the destination by that symbol's vote, and the
        // present place.
        let (mut weights, mut features) = (Vec::new(), Vec::new());
        for name in &names {
            let (mut leads, mut both) = (Vec::new(), Vec::new());
            for place in 0..places {
                for _ in 0..letters * causes {
                    let to = if rng.random() { (place + 1).min(last) } else { place.saturating_sub(1) };
                    leads.extend((0..places).map(|p| if p == to { 1.0 } else { 0.0 }));
                    both.extend((0..places).map(|p| if p == to { 0.5 } else { 0.0 }));
                    both.extend((1..places).map(|p| if p == place { 0.5 } else { 0.0 }));
                }
            }
            let table = |dimension: usize, values: Vec<f64>| FeatureSpec {
                form: FeatureForm::Table {
                    scope: Some(vec!["place".into(), name.as_str().into(), "z".into()]),
                    dimension,
                    values,
                },
                scale: false,
                at: None,
            };
            weights.push(table(places, leads));
            features.push(table(2 * places - 1, both));
        }
        let mean =
            |tables: Vec<FeatureSpec>| FeatureSpec { form: FeatureForm::Mean { tables }, scale: false, at: None };
        let about = format!(
            "A river of {places} places; {symbols} symbols of {letters} letters say in every state which of {causes} causes carry \
             forward (seed {seed})."
        );
        let lever_names = sizes.lever_names();
        let mut builder = World::builder("Linear river in code", horizon).about(about).state("place", places);
        let all: Vec<&str> = ["place"].into_iter().chain(names.iter().map(String::as_str)).chain(["z"]).collect();
        for name in &names {
            builder = builder.state(name, letters).next(name, all.clone(), Form::LowRank);
            builder = builder.start(name, vec![1.0 / letters as f64; letters]);
        }
        let mut reward = vec![0.0; places];
        (reward[0], reward[last]) = (CRUMB, 1.0);
        let parents: Vec<&str> = lever_names.iter().map(String::as_str).collect();
        let world = lever_names
            .iter()
            .fold(builder, |builder, lever| builder.lever(lever, levels))
            .key("z", causes)
            .mechanism("z", parents, sizes.aimed(aim))
            .next("place", all.clone(), Form::LowRank)
            .start("place", "0")
            .reward("r", "place", reward)
            .reward_range([0.0, 1.0])
            .rewards_to_learn([0.0, 1.0])
            .build()?
            .with_features(&mean(features))?;
        let uniform = vec![1.0 / letters as f64; letters * places];
        let own = (0..places * places).map(|i| if i / places == i % places { 1.0 } else { 0.0 }).collect();
        let mut next = vec![("place".into(), AnchorRows::Table(own))];
        next.extend(names.iter().map(|name| (name.as_str().into(), AnchorRows::Table(uniform.clone()))));
        Ok(world.with_low_rank(&LowRankSpec { weights: Some(mean(weights)), next, at: None })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::linear::Features;
    use crate::{Arena, Simulator, simulate};

    fn small() -> World {
        LinearCode { places: 3, symbols: 2, letters: 2, causes: 4, ..LinearCode::default() }.world().unwrap()
    }

    #[test]
    fn small_ones_are_linear_in_their_features() {
        let world = small();
        let features = Features::of(&world).unwrap();
        let fit = features.misspecification(&world).unwrap();
        assert_eq!((fit.dimension, fit.rank), (5, 5));
        assert!(features.longest() <= 1.0);
        assert!(fit.variation_max < 1e-9 && fit.reward_max < 1e-9, "{fit:?}");
    }

    #[test]
    fn a_plan_by_sampled_states_is_near_the_best_and_never_better() {
        let world = small();
        let arena = Arena::new(&world).unwrap();
        let plan = simulate::SampledValueIteration::new(&world, 400, 1).unwrap();
        let n = world.n_states();
        let policy = (0..world.horizon() * n).map(|i| plan.decide(i / n, i % n).0).collect::<Vec<_>>();
        let (value, best) = (arena.value_of(&policy).unwrap(), arena.optimal());
        assert!(value <= best + 1e-9 && value > 0.995 * best, "{value} {best}");
        let returns = Simulator::new(&world).unwrap().returns(&mut plan.clone(), 2000, 5);
        let played = simulate::Estimate::of(returns.iter().copied(), world.return_range());
        assert!((played.mean - value).abs() < 2.0 * played.half, "{played:?} {value}");
    }

    /// With a power of two episodes, seeds combined by XOR alone would give the same episodes in another order.
    #[test]
    fn episodes_of_another_seed_are_other_ones_and_not_the_same_in_another_order() {
        let world = small();
        let simulator = Simulator::new(&world).unwrap();
        let plan = simulate::SampledValueIteration::new(&world, 50, 1).unwrap();
        let sorted = |seed| {
            let mut returns = simulator.returns(&mut plan.clone(), 256, seed);
            returns.sort_by(f64::total_cmp);
            returns
        };
        assert_eq!(sorted(0), sorted(0));
        for seed in 1..8 {
            assert_ne!(sorted(0), sorted(seed), "{seed}");
        }
    }

    #[test]
    fn non_enumerable_states_are_simulated_by_the_same_rules() {
        let world = LinearCode { symbols: 10, ..LinearCode::default() }.world().unwrap();
        let simulator = Simulator::new(&world).unwrap();
        let error = crate::Planner::new(&world).unwrap_err().to_string();
        assert!(
            error.starts_with("a plan has an entry for each of 6597069766656 states at each of 20 stages"),
            "{error}"
        );
        let [mut starts, mut steps] = Simulator::streams(1);
        let state = simulator.start(&mut starts);
        let mut outcome = simulate::Outcome::default();
        simulator.step(state, crate::Action(3), &mut steps, &mut outcome);
        let place = world.state_space().digit(outcome.next_state, 0);
        assert!(state < world.n_states() && place <= 1, "{place}");
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let says = |code: LinearCode| code.world().unwrap_err().to_string();
        assert_eq!(says(LinearCode { places: 1, ..LinearCode::default() }), "places is 1, and must be at least 2");
        let many = says(LinearCode { symbols: 100, ..LinearCode::default() });
        assert!(
            many.starts_with("symbols is 100, and must be fewer: states and causes are numbered up to 2^62"),
            "{many}"
        );
    }
}
