//! The linear learner against the same thing done the plain way, and against the tabular learner.

#[path = "linear/resweep.rs"]
mod resweep;

use dowise::learn::{Agent, Cap, Estimate, Options, Schedule, Width};
use dowise::linear::{Beta, Features, LinearLearner, LinearOptions, LinearPreset, Regression, Rewards, Switching};
use dowise::{Arena, Knowledge, Learner, Preset, World, worlds};

use resweep::{Recorder, Resweep};

fn small() -> World {
    worlds::Linear {
        states: 4,
        causes: 5,
        levers: 2,
        levels: 3,
        dimension: 6,
        horizon: 3,
        seed: 4,
        ..Default::default()
    }
    .world()
    .unwrap()
}

fn options(name: &str, episodes: u64) -> LinearOptions {
    name.parse::<LinearPreset>().unwrap().options(episodes, 7)
}

/// Regret of each episode.
fn regrets(world: &World, agent: &mut impl Agent, episodes: u64, seed: u64) -> Vec<f64> {
    let arena = Arena::new(world).unwrap();
    let mut run = arena.run(seed);
    (0..episodes).map(|_| run.episode(agent).regret).collect()
}

/// Greatest difference of values from a sweep over the whole history, at a few episodes up to `episodes`.
fn greatest_difference(options: LinearOptions, episodes: u64) -> f64 {
    let world = small();
    let Beta::Fixed(beta) = options.beta else { panic!("the plain way knows one β") };
    let learner = LinearLearner::new(&Knowledge::of(&world), options).unwrap();
    let plain = Resweep::new(&world, &learner);
    let mut recorder = Recorder::new(&world, learner);
    let arena = Arena::new(&world).unwrap();
    let mut run = arena.run(1);
    let mut worst: f64 = 0.0;
    for episode in 1..=episodes {
        let before = recorder.history.clone();
        run.episode(&mut recorder);
        if [1, 2, 10, 100, 170, 171, 172, 400, 600].contains(&episode) {
            let plain = plain.values(&before, beta);
            let ours = &recorder.learner.enumerated().unwrap().plan().value_hs;
            worst = plain.iter().zip(ours).map(|(a, b)| (a - b).abs()).fold(worst, f64::max);
        }
    }
    worst
}

#[test]
fn aggregated_values_equal_a_sweep_over_the_whole_history() {
    let fixed =
        |name: &str, beta: f64| LinearOptions { beta: Beta::Fixed(beta), cap: Cap::Horizon, ..options(name, 600) };
    let published = fixed("lsvi-ucb", 0.1);
    let ours = fixed("c-lsvi-ucb", 0.1);
    let cases = [
        published.clone(),
        LinearOptions { rewards: Rewards::Known, stage_dependent: false, ..published },
        ours.clone(),
        LinearOptions { stage_dependent: true, rewards: Rewards::Regressed, ..ours.clone() },
        LinearOptions { lambda: 1e-6, ..ours },
    ];
    for options in cases {
        // With one design for all stages 600 episodes are 1800 updates, three refreshes among them.
        let worst = greatest_difference(options.clone(), 600);
        assert!(worst < 1e-9, "{worst:e} with {options:?}");
    }
}

#[test]
fn rank_one_updates_lose_less_than_ten_digits_of_a_width_between_refreshes() {
    let world = small();
    for lambda in [1.0, 1e-3, 1e-6] {
        let options = LinearOptions { lambda, beta: Beta::Fixed(0.1), ..options("c-lsvi-ucb", 170) };
        let learner = LinearLearner::new(&Knowledge::of(&world), options).unwrap();
        let mut recorder = Recorder::new(&world, learner);
        regrets(&world, &mut recorder, 170, 1); // 510 updates, just short of a refresh
        let kept = recorder.learner.enumerated().unwrap().squared_widths(0);
        // Λ⁻¹φ by elimination with pivots, in the plainest order.
        let exact = exact_squares(&recorder, lambda);
        let worst = kept.iter().zip(&exact).map(|(a, b)| (a - b).abs() / b).fold(0.0, f64::max);
        assert!(worst < 1e-10, "λ = {lambda}: {worst:e}");
    }
}

fn exact_squares(recorder: &Recorder, lambda: f64) -> Vec<f64> {
    use nalgebra::{DMatrix, DVector};
    let features = recorder.learner.enumerated().unwrap().features();
    let (d, cells) = (features.dimension(), features.n_cells());
    let n_causes = cells / 4;
    let column = |cell: usize| DVector::from_column_slice(features.row(cell / n_causes, cell % n_causes));
    let mut gram = DMatrix::from_diagonal_element(d, d, lambda);
    recorder.history.iter().for_each(|seen| gram += column(seen.cell) * column(seen.cell).transpose());
    let lu = gram.full_piv_lu();
    (0..cells).map(|cell| column(cell).dot(&lu.solve(&column(cell)).unwrap())).collect()
}

#[test]
fn one_hot_features_with_a_small_lambda_are_the_stage_dependent_tabular_learner() {
    let world = World::new(worlds::Paper { levels: 3, seed: 5, ..Default::default() }.spec().unwrap()).unwrap();
    let knowledge = Knowledge::of(&world);
    let (episodes, scale, delta) = (1000u64, 0.0005, 0.1);
    let (s, z, h, k) = (8.0, 8.0, 5.0, episodes as f64);
    let tabular = Options {
        estimate: Estimate::Width(Width::PaperPlain),
        scale,
        delta,
        stage_dependent: true,
        schedule: Schedule::Episode,
        ..("c-ucbvi".parse::<Preset>().unwrap()).options(episodes, 7)
    };
    // 7 H L / √N against β / √(N + λ).
    let beta = scale * 7.0 * h * (5.0 * s * h * k * z * k * h / delta).ln();
    let linear = LinearOptions {
        beta: Beta::Fixed(beta),
        lambda: 1e-10,
        stage_dependent: true,
        ..options("c-lsvi-ucb", episodes)
    };
    let mut tabular = Learner::new(&knowledge, tabular).unwrap();
    let mut linear = LinearLearner::new(&knowledge, linear).unwrap();
    assert_eq!(linear.enumerated().unwrap().features().dimension(), 64);
    let (one, other) = (regrets(&world, &mut tabular, episodes, 3), regrets(&world, &mut linear, episodes, 3));
    assert_eq!(one, other, "the same policies, episode by episode");
    let pairs = tabular.plan().value_hs.iter().zip(&linear.enumerated().unwrap().plan().value_hs);
    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-8, "{worst:e}");
    assert!(one[950..].iter().sum::<f64>() < 0.5 * one[..50].iter().sum::<f64>(), "both learn");
}

#[test]
fn features_of_interventions_are_averages_over_key_variables() {
    let paper = worlds::Paper { levels: 2, levers: 2, factors: 2, seed: 9, ..Default::default() };
    let world = World::new(paper.spec().unwrap()).unwrap();
    let features = Features::from_fn(&world, 3, dowise::linear::Norms::Scale, |state, z, phi| {
        phi.copy_from_slice(&[1.0, (state[0] + 2 * state[1]) as f64, (z[0] + 3 * z[1]) as f64]);
    })
    .unwrap();
    let learner = LinearLearner::with_features(&Knowledge::of(&world), &features, options("lsvi-ucb", 10)).unwrap();
    // P(z1, z2 | s1, s2, x1, x2) as the world states it; interventions are numbered with x1 slowest.
    let joint = world.mechanisms()[0].table.as_deref().unwrap();
    let scale = features.row(0, 0)[0];
    for s in 0..4 {
        for a in 0..4 {
            let p = &joint[(s * 4 + a) * 4..][..4];
            let state = (s / 2 + 2 * (s % 2)) as f64;
            let z = |i: usize| (i / 2 + 3 * (i % 2)) as f64;
            let expected = [scale, scale * state, scale * (0..4).map(|i| p[i] * z(i)).sum::<f64>()];
            let found = learner.enumerated().unwrap().regressor(s, a);
            assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-15), "{found:?} {expected:?}");
        }
    }
}

/// walk ─→ mood ─→ reward: the levers act directly, so an intervention is its own cause.
const MOOD: &str = r#"
    dowise = 1
    horizon = 3
    [state.mood]
    values = ["low", "high"]
    scope = ["mood", "walk"]
    next = [[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.1, 0.9]]]
    [lever.walk]
    values = ["no", "yes"]
    [reward.well]
    scope = ["mood"]
    value = [0, 1]
"#;

#[test]
fn with_point_masses_regression_on_causes_is_the_published_one() {
    let world = World::from_toml(MOOD, "mood.toml").unwrap();
    let published = LinearOptions { beta_scale: 0.01, ..options("lsvi-ucb", 50) };
    let ours = LinearOptions { regression: Regression::Causes, ..published.clone() };
    let run = |options| {
        let mut learner = LinearLearner::new(&Knowledge::of(&world), options).unwrap();
        (regrets(&world, &mut learner, 50, 2), learner.enumerated().unwrap().plan().value_hs.clone())
    };
    assert_eq!(run(published), run(ours));
}

#[test]
fn rare_switching_plans_a_logarithmic_number_of_times() {
    let world = small();
    let rare = LinearOptions { switching: Switching::Doubling, beta_scale: 0.05, ..options("c-lsvi-ucb", 2000) };
    let often = LinearOptions { switching: Switching::Episode, ..rare.clone() };
    let run = |options| {
        let mut learner = LinearLearner::new(&Knowledge::of(&world), options).unwrap();
        (regrets(&world, &mut learner, 2000, 2).iter().sum::<f64>(), learner.plans())
    };
    let ((rare, few), (often, all)) = (run(rare), run(often));
    assert_eq!(all, 2000);
    // d log2(1 + T/(dλ)) = 6 · log2(1001) ≈ 60 doublings at most.
    assert!((10..=60).contains(&few), "{few} plans");
    assert!(rare < 3.0 * often + 5.0, "regret {rare} against {often}");
}
