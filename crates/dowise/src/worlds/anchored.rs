//! Shared parts of the generators of linear MDPs: levers, latent factors, and misspecification.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::build::{at_least, probability, table_len};
use super::{GeneratorError, LinearWorldError};
use crate::random::exponential;
use crate::world::{AnchorRows, FeatureForm, FeatureSpec, Form, LowRankSpec, World};

/// Sizes that every linear world has, named like their settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// S
    pub(super) states: usize,
    /// Z
    pub(super) causes: usize,
    pub(super) levers: usize,
    pub(super) levels: usize,
    /// d
    pub(super) dimension: usize,
    pub(super) horizon: u64,
    /// ε
    pub(super) distance: f64,
    pub(super) seed: u64,
}

impl Sizes {
    /// Checks each setting.
    pub(super) fn check_settings(&self) -> Result<(), GeneratorError> {
        for (setting, value) in [
            ("states", self.states),
            ("causes", self.causes),
            ("levers", self.levers),
            ("levels", self.levels),
            ("dimension", self.dimension),
        ] {
            at_least(setting, 1, value)?;
        }
        probability("distance", self.distance)
    }

    /// Checks the settings, and the table sizes of a low-rank world.
    pub(super) fn check(&self) -> Result<(), GeneratorError> {
        self.check_settings()?;
        let axes = |axes: &[usize]| axes.iter().map(|&n| n as u64).collect::<Vec<u64>>();
        table_len("the table of the features", &axes(&[self.states, self.causes, 2 * self.dimension]))?;
        let mut kernel = axes(&[self.causes]);
        kernel.extend(std::iter::repeat_n(self.levels as u64, self.levers));
        table_len("P(z | levers)", &kernel)?;
        Ok(())
    }

    /// A separate random stream for each purpose.
    pub(super) fn rng(&self, purpose: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(purpose);
        rng
    }

    /// Names of the levers.
    pub(super) fn lever_names(&self) -> Vec<String> {
        (1..=self.levers).map(|i| format!("x{i}")).collect()
    }

    /// P(z | levers): every setting aims at one value of z, which occurs with probability `aim`; otherwise z is
    /// uniform. As many values as there are settings for are aimed at.
    pub(super) fn aimed(&self, aim: f64) -> Vec<f64> {
        let settings = self.levels.pow(self.levers as u32);
        let mut rng = self.rng(11);
        let mut at: Vec<usize> =
            (0..settings).map(|i| if i < self.causes { i } else { rng.random_range(0..self.causes) }).collect();
        at.shuffle(&mut rng);
        let other = (1.0 - aim) / self.causes as f64;
        at.iter().flat_map(|&z| (0..self.causes).map(move |c| other + if c == z { aim } else { 0.0 })).collect()
    }
}

/// The parts of a world with one state factor `s` and one key variable `z`.
pub(super) struct Anchored {
    pub(super) sizes: Sizes,
    pub(super) name: &'static str,
    pub(super) about: String,
    /// P(z | levers).
    pub(super) kernel: Vec<f64>,
    /// φ, `[state][cause][anchor]`, each row in the simplex.
    pub(super) phi: Vec<f64>,
    /// μ, `[anchor][state]`.
    pub(super) mu: Vec<f64>,
    /// ω, between 0 and 1.
    pub(super) omega: Vec<f64>,
    /// The initial-state distribution.
    pub(super) start: Vec<f64>,
    /// Whether rewards are unknown to learners.
    pub(super) learn_rewards: bool,
}

impl Anchored {
    /// P(s' | s, z) = (1 − ε) ⟨φ, μ(s')⟩ + ε P°(s' | s, z), R(s, z) = (1 − ε) ⟨φ, ω⟩ + ε R°(s, z).
    ///
    /// P° sends every pair to one of d further latent factors, drawn for it, and R° is uniform on [0, 1]. Neither is
    /// linear in φ, the only features that learners have. With ε = 0 nothing is added.
    pub(super) fn world(self) -> Result<World, LinearWorldError> {
        let Sizes { states, causes, levels, dimension: d, horizon, distance: far, .. } = self.sizes;
        let table = |dimension: usize, values: Vec<f64>| FeatureSpec {
            form: FeatureForm::Table { scope: Some(vec!["s".into(), "z".into()]), dimension, values },
            scale: false,
            at: None,
        };
        let mut rng = self.sizes.rng(12);
        let dot = |phi: &[f64]| phi.iter().zip(&self.omega).map(|(weight, w)| weight * w).sum::<f64>().clamp(0.0, 1.0);
        let mut reward: Vec<f64> = self.phi.chunks_exact(d).map(dot).collect();
        let mut mu = self.mu;
        let mut weights = None;
        if far > 0.0 {
            let mut mixed = Vec::with_capacity(2 * self.phi.len());
            for (phi, r) in self.phi.chunks_exact(d).zip(&mut reward) {
                mixed.extend(phi.iter().map(|w| (1.0 - far) * w));
                let (stray, other): (usize, f64) = (rng.random_range(0..d), rng.random());
                mixed.extend((0..d).map(|j| if j == stray { far } else { 0.0 }));
                *r = (1.0 - far) * *r + far * other;
            }
            mu.extend(simplex(d, states, &mut rng));
            weights = Some(table(2 * d, mixed));
        }
        let names = self.sizes.lever_names();
        let parents: Vec<&str> = names.iter().map(String::as_str).collect();
        let builder = World::builder(self.name, horizon).about(self.about).state("s", states);
        let builder = names
            .iter()
            .fold(builder, |builder, lever| builder.lever(lever, levels))
            .key("z", causes)
            .mechanism("z", parents, self.kernel)
            .next("s", ["s", "z"], Form::LowRank)
            .reward("r", ["s", "z"], reward)
            .reward_range([0.0, 1.0])
            .start("s", self.start);
        let builder = if self.learn_rewards { builder.rewards_to_learn([0.0, 1.0]) } else { builder };
        let low_rank = LowRankSpec { weights, next: vec![("s".into(), AnchorRows::Table(mu))], at: None };
        Ok(builder.build()?.with_features(&table(d, self.phi))?.with_low_rank(&low_rank)?)
    }
}

/// Uniform points of a simplex.
pub(super) fn simplex(rows: usize, n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut table: Vec<f64> = (0..rows * n).map(|_| exponential(rng)).collect();
    for row in table.chunks_exact_mut(n) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
    table
}
