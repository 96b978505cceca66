//! What the linear learner finds out as data grow, that seeds keep their values, and what it says to bad input.

use dowise::learn::{Agent, Observation};
use dowise::linear::{Beta, FeatureError, Features, LinearError, LinearLearner, LinearOptions, LinearPreset, Norms};
use dowise::world::FeatureMap;
use dowise::{Action, Arena, Knowledge, Learner, Planner, Preset, World, worlds};

fn options(name: &str, episodes: u64) -> LinearOptions {
    name.parse::<LinearPreset>().unwrap().options(episodes, 1)
}

fn learner(world: &World, options: LinearOptions) -> Result<LinearLearner, LinearError> {
    LinearLearner::new(&Knowledge::of(world), options)
}

/// Acts at random and lets the linear learner watch.
struct Watched {
    acts: Learner,
    watches: LinearLearner,
}

impl Agent for Watched {
    fn begin_episode(&mut self) {
        self.acts.begin_episode();
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.acts.act(stage, state)
    }

    fn observe(&mut self, step: &Observation<'_>) {
        self.watches.observe(step);
    }

    fn end_episode(&mut self) {
        self.acts.end_episode();
    }

    fn policy(&mut self) -> Option<&[Action]> {
        self.acts.policy()
    }
}

fn play(world: &World, agent: &mut impl Agent, episodes: u64, seed: u64) -> Vec<f64> {
    let arena = Arena::new(world).unwrap();
    let mut run = arena.run(seed);
    (0..episodes).map(|_| run.episode(agent).regret).collect()
}

#[test]
fn weights_recover_the_truth_as_data_grow() {
    let world = worlds::Linear { dimension: 6, seed: 2, ..Default::default() }.world().unwrap();
    let truth = world.transitions()[0].table.as_deref().unwrap();
    let uniform = "uniform".parse::<Preset>().unwrap().options(1, 1);
    let error = |episodes: u64| {
        let acts = Learner::new(&Knowledge::of(&world), uniform.clone()).unwrap();
        let mut watched = Watched { acts, watches: learner(&world, options("c-lsvi-ucb", episodes)).unwrap() };
        play(&world, &mut watched, episodes, 3);
        let mut worst: f64 = 0.0;
        for (row, p) in truth.chunks_exact(8).enumerate() {
            let estimate = watched.watches.enumerated().unwrap().transition(0, row / 16, row % 16);
            worst = estimate.iter().zip(p).map(|(a, b)| (a - b).abs()).fold(worst, f64::max);
        }
        worst
    };
    let errors = [100, 1_000, 10_000].map(error);
    // One over the root of the number of steps: a factor of √10 each time, with room for chance.
    assert!(errors[0] > 1.8 * errors[1] && errors[1] > 1.8 * errors[2], "{errors:?}");
    assert!(errors[2] < 0.03, "{errors:?}");
}

#[test]
fn weights_for_the_true_values_predict_them() {
    let world = worlds::Linear { dimension: 6, seed: 2, ..Default::default() }.world().unwrap();
    let plan = Planner::new(&world).unwrap().plan();
    let next = &plan.value_hs[8..16];
    let truth = world.transitions()[0].table.as_deref().unwrap();
    let uniform = "uniform".parse::<Preset>().unwrap().options(1, 1);
    let acts = Learner::new(&Knowledge::of(&world), uniform).unwrap();
    let mut watched = Watched { acts, watches: learner(&world, options("c-lsvi-ucb", 5_000)).unwrap() };
    play(&world, &mut watched, 5_000, 3);
    let weights = watched.watches.enumerated().unwrap().weights(0, next);
    for (row, p) in truth.chunks_exact(8).enumerate() {
        let expected: f64 = p.iter().zip(next).map(|(p, v)| p * v).sum();
        let phi = watched.watches.enumerated().unwrap().features().row(row / 16, row % 16);
        let found: f64 = phi.iter().zip(&weights).map(|(x, w)| x * w).sum();
        assert!((found - expected).abs() < 0.02, "{found} {expected}");
    }
}

#[test]
fn every_linear_learner_has_a_fraction_of_the_regret_of_chance() {
    let world = worlds::Linear { seed: 5, ..Default::default() }.world().unwrap();
    let sum = |regrets: Vec<f64>| regrets.iter().sum::<f64>();
    let uniform = "uniform".parse::<Preset>().unwrap().options(2000, 1);
    let chance = sum(play(&world, &mut Learner::new(&Knowledge::of(&world), uniform).unwrap(), 2000, 1));
    for (name, scale, share) in [("lsvi-ucb", 0.001, 0.6), ("c-lsvi-ucb", 0.1, 0.1), ("c-rlsvi", 1.0, 0.2)] {
        let options = LinearOptions { beta_scale: scale, ..options(name, 2000) };
        let regret = sum(play(&world, &mut learner(&world, options).unwrap(), 2000, 1));
        assert!(regret < share * chance, "{name}: {regret} of {chance}");
    }
}

#[test]
fn value_stability() {
    let world = worlds::Linear { seed: 5, ..Default::default() }.world().unwrap();
    let total = |name: &str, scale: f64| {
        let options = LinearOptions { beta_scale: scale, ..options(name, 200) };
        play(&world, &mut learner(&world, options).unwrap(), 200, 1).iter().sum::<f64>()
    };
    let found = [total("lsvi-ucb", 0.001), total("c-lsvi-ucb", 0.1), total("c-rlsvi", 1.0)];
    let rounded = found.map(|x| format!("{x:.9}"));
    assert_eq!(rounded, ["60.203259538", "5.005996064", "18.034936428"]);
}

#[test]
fn closed_form_features_have_length_at_most_one_and_the_dimension_that_was_counted() {
    let text = worlds::text("campaign", &[]).unwrap();
    let world = World::from_toml(&text, "campaign.toml").unwrap();
    for map in [
        FeatureMap::one_hot(&world),
        FeatureMap::factors(&world),
        FeatureMap::polynomial(&world, 0),
        FeatureMap::polynomial(&world, 3),
        FeatureMap::polynomial(&world, 99),
        FeatureMap::radial(&world, 2, 0.7),
        FeatureMap::radial(&world, 9, 0.05),
    ] {
        let features = Features::new(&world, &map).unwrap();
        assert_eq!(Some(features.dimension() as u128), map.dimension(&world), "{map:?}");
        assert!(features.longest() <= 1.0 + 1e-12 && features.longest() > 0.1, "{map:?}: {}", features.longest());
    }
}

#[test]
fn bases_that_span_everything_fit_any_world() {
    let world = World::new(worlds::Paper { seed: 3, ..Default::default() }.spec().unwrap()).unwrap();
    for map in [FeatureMap::one_hot(&world), FeatureMap::polynomial(&world, 6), FeatureMap::radial(&world, 2, 0.5)] {
        let fit = Features::new(&world, &map).unwrap().misspecification(&world).unwrap();
        assert_eq!(fit.rank, 64, "{map:?}");
        assert!(fit.transition_max < 1e-10 && fit.reward_max < 1e-10, "{map:?}: {fit:?}");
    }
    // Rewards are sums over the factors, transitions products of them.
    let factors = Features::new(&world, &FeatureMap::factors(&world)).unwrap().misspecification(&world).unwrap();
    assert!(factors.reward_max < 1e-10 && factors.transition_max > 0.01, "{factors:?}");
    let line = Features::new(&world, &FeatureMap::polynomial(&world, 1)).unwrap().misspecification(&world).unwrap();
    assert!(line.dimension == 7 && line.variation_max > factors.variation_max, "{line:?}");
}

#[test]
fn bad_input_is_answered_with_what_to_do() {
    let world = World::new(worlds::Paper::default().spec().unwrap()).unwrap();
    let says = |change: &dyn Fn(&mut LinearOptions)| {
        let mut options = options("c-lsvi-ucb", 10);
        change(&mut options);
        learner(&world, options).unwrap_err().to_string()
    };
    assert_eq!(
        says(&|o| o.lambda = 0.0),
        "lambda = 0: with nothing seen yet the design Σ φφᵀ is singular and has no inverse; \
         use a lambda above 0 (the published learner uses 1)"
    );
    assert_eq!(says(&|o| o.lambda = -1.0), "lambda = -1: lambda is a number from 1e-12 to 1e6");
    assert_eq!(says(&|o| o.lambda = f64::NAN), "lambda = NaN: lambda is a number from 1e-12 to 1e6");
    assert_eq!(says(&|o| o.beta_scale = -1.0), "beta-scale = -1: the scale of a width is a number from 0 to 1e100");
    assert_eq!(says(&|o| o.beta = Beta::Fixed(f64::INFINITY)), "beta = inf: beta is a number from 0 on");
    assert_eq!(says(&|o| o.delta = 1.0), "delta = 1: delta is a probability between 0 and 1, neither included");
    assert_eq!(says(&|o| o.episodes = 0), "episodes = 0: at least one episode");

    let many = Features::from_fn(&world, 1 << 40, Norms::Check, |_, _, _| {}).unwrap_err();
    assert_eq!(
        many.to_string(),
        "1099511627776 features for each of 64 combinations of state and cause need 562949953421312 bytes, the limit is \
         4294967296; choose fewer (a smaller scope in [features], a lower degree, fewer centres)"
    );
    let wide = Features::from_fn(&world, 20_000, Norms::Check, |_, _, _| {}).unwrap();
    let error = LinearLearner::with_features(&Knowledge::of(&world), &wide, options("c-lsvi-ucb", 10)).unwrap_err();
    assert!(error.to_string().starts_with("with 20000 features, 1 designs and 64 state-cause pairs"), "{error}");
    assert_eq!(Features::from_fn(&world, 0, Norms::Check, |_, _, _| {}).unwrap_err(), FeatureError::Empty);
    let nan = Features::from_fn(&world, 2, Norms::Check, |s, z, phi| {
        phi[1] = if (s[0], z[1]) == (1, 1) { f64::NAN } else { 0.5 };
    });
    assert_eq!(
        nan.unwrap_err().to_string(),
        "feature 2 at s1 = \"1\", s2 = \"0\", s3 = \"0\", z1 = \"0\", z2 = \"1\", z3 = \"0\" is NaN, not a finite number"
    );
    let long = |norms| Features::from_fn(&world, 1, norms, |s, _, phi| phi[0] = 1.0 + s[2] as f64);
    assert_eq!(
        long(Norms::Check).unwrap_err().to_string(),
        "the features at s1 = \"0\", s2 = \"0\", s3 = \"1\", z1 = \"0\", z2 = \"0\", z3 = \"0\" have length 2, and the \
         definition of a linear MDP allows 1; divide all features by 2, or ask for them to be scaled"
    );
    assert_eq!(long(Norms::Scale).unwrap().longest(), 1.0);
    let radial = Features::new(&world, &FeatureMap::radial(&world, 2, 0.0)).unwrap_err();
    assert_eq!(radial.to_string(), "width = 0: the width of a bump is a number above 0");

    let other = World::new(worlds::Paper { levers: 2, ..Default::default() }.spec().unwrap()).unwrap();
    let features = Features::of(&other).unwrap();
    let error = LinearLearner::with_features(&Knowledge::of(&world), &features, options("c-lsvi-ucb", 10)).unwrap_err();
    assert_eq!(error.to_string(), "the features are for 32 states and causes, this world has 64");
    let knowledge = Knowledge::of(&world).without_mechanisms();
    let error = LinearLearner::new(&knowledge, options("lsvi-ucb", 10)).unwrap_err();
    assert!(matches!(error, LinearError::Kernel(_)), "{error}");
    let text = worlds::text("campaign", &[]).unwrap();
    let campaign = World::from_toml(&text, "campaign.toml").unwrap();
    assert!(learner(&campaign, options("c-lsvi-ucb", 10)).is_ok(), "a million interventions are no trouble");
    let error = "lsvi".parse::<LinearPreset>().unwrap_err();
    assert!(error.to_string().starts_with("there is no linear learner called `lsvi`"), "{error}");
}

#[test]
fn a_world_that_is_not_linear_is_doubted_and_a_linear_one_is_not() {
    let doubts = |name: &str, pairs: &[(&str, &str)]| {
        let world = worlds::world("linear-lock", pairs).unwrap();
        let mut learner = name.parse::<dowise::LearnerSpec>().unwrap().learner(&world, 300, 1).unwrap();
        play(&world, &mut learner, 300, 1);
        learner.as_linear().unwrap().doubts()
    };
    assert_eq!(doubts("c-blsvi", &[]), []);
    assert_eq!(doubts("c-rlsvi", &[]), []);
    // Constant features know of no state and no cause.
    let found = doubts("c-blsvi:features=polynomial-1", &[("causes", "4")]);
    let Some(dowise::linear::Doubt::Residuals { steps, deviations, .. }) = found.first() else { panic!("{found:?}") };
    assert!(*steps > 10 && deviations.abs() > 4.0, "{found:?}");
    let said = found[0].to_string();
    assert!(said.starts_with("where ") && said.contains("is not linear in these features"), "{said}");
}

/// Writes the features of a state and a cause.
type Fill<'a> = dyn Fn(&[usize], &[usize], &mut [f64]) + 'a;

#[test]
fn features_that_say_nothing_are_named_before_anything_runs() {
    let world = World::new(worlds::Paper::default().spec().unwrap()).unwrap();
    let knowledge = Knowledge::of(&world);
    let found = |fill: &Fill| {
        let features = Features::from_fn(&world, 3, Norms::Scale, fill).unwrap();
        let learner = LinearLearner::with_features(&knowledge, &features, options("c-blsvi", 50)).unwrap();
        learner.findings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let constant = found(&|_, _, phi| phi.fill(0.5));
    assert!(constant[0].starts_with("the features are the same for all states and causes"), "{constant:?}");
    let zero = found(&|s, z, phi| (phi[0], phi[2]) = (0.5, (s[0] + z[1]) as f64));
    assert_eq!(zero, ["feature 2 is 0 for all states and causes, so its weight is never learned; leave it out"]);
    let twice = found(&|s, _, phi| (phi[0], phi[1], phi[2]) = (1.0, s[0] as f64, 2.0 - 3.0 * s[0] as f64));
    assert!(twice[0].starts_with("feature 3 is a combination of those before it, and only 2 of 3"), "{twice:?}");
    assert_eq!(found(&|s, z, phi| (phi[0], phi[1], phi[2]) = (1.0, s[0] as f64, z[0] as f64)).len(), 0);
    // One-hot features of this world: 64 of them, and five steps an episode.
    let hot = learner(&world, options("c-blsvi", 12)).unwrap();
    assert_eq!(
        hot.findings()[0].to_string(),
        "64 weights are to be learned, and there will be 60 steps, so that most of them stay what the prior says; play more episodes, or \
         choose fewer features"
    );
    assert_eq!(learner(&world, options("c-blsvi", 13)).unwrap().findings(), []);
}

#[test]
fn more_weights_than_steps_are_named() {
    let world = worlds::world("linear-lock", &[]).unwrap();
    let mut learner = learner(&world, options("c-blsvi", 1)).unwrap();
    let expected = dowise::linear::Doubt::FewSteps { steps: 0, dimension: 8 };
    assert_eq!(learner.doubts(), [expected]);
    play(&world, &mut learner, 1, 1);
    assert_eq!(learner.doubts(), []);
}

#[test]
fn without_anything_to_tune_posterior_samples_open_the_lock_where_tables_do_not() {
    let world = worlds::world("linear-lock", &[("states", "256"), ("horizon", "10")]).unwrap();
    let arena = Arena::new(&world).unwrap();
    let last = |name: &str| {
        let mut learner = name.parse::<dowise::LearnerSpec>().unwrap().learner(&world, 250, 1).unwrap();
        let regret = play(&world, &mut learner, 250, 1);
        regret[200..].iter().sum::<f64>() / 50.0 / arena.optimal()
    };
    assert!(last("c-blsvi") < 0.05, "{}", last("c-blsvi"));
    assert!(last("c-psrl") > 0.5, "{}", last("c-psrl"));
}

#[test]
fn residuals_are_the_spread_of_samples_and_no_width() {
    let world = worlds::world("linear", &[]).unwrap();
    let bad = LinearOptions { beta: Beta::Residuals, ..options("c-lsvi-ucb", 10) };
    assert_eq!(learner(&world, bad).unwrap_err(), LinearError::ResidualWidth);
}

#[test]
fn rare_plans_have_the_widths_of_plans_before_each_episode() {
    // The same episodes seen: what is kept step by step and what is computed for a plan differ by rounding alone.
    let world = worlds::Linear { dimension: 6, seed: 2, ..Default::default() }.world().unwrap();
    let uniform = "uniform".parse::<Preset>().unwrap().options(1, 1);
    let widths = |switching| {
        let acts = Learner::new(&Knowledge::of(&world), uniform.clone()).unwrap();
        let options = LinearOptions { switching, ..options("c-lsvi-ucb", 40) };
        let mut watched = Watched { acts, watches: learner(&world, options).unwrap() };
        play(&world, &mut watched, 40, 3);
        watched.watches.begin_episode();
        (
            watched.watches.enumerated().unwrap().squared_widths(0),
            watched.watches.enumerated().unwrap().plan().value_hs.clone(),
        )
    };
    let (kept, computed) = (widths(dowise::linear::Switching::Episode), widths(dowise::linear::Switching::Doubling));
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10 * b.abs().max(1.0));
    assert!(near(&kept.0, &computed.0) && near(&kept.1, &computed.1));
}
