//! The options of learners that regress on features, from their text.

use super::LearnerSpec;
use super::choice::{number, word};
use crate::learn::{Cap, Schedule};
use crate::linear::{Beta, FeatureChoice, LinearEstimate, LinearOptions, Rewards, Switching};

/// The words for features, with what they stand for.
pub(super) const FEATURES: &[&str] = &[
    "world",
    "one-hot",
    "factors",
    "polynomial-1",
    "polynomial-2",
    "polynomial-3",
    "radial-2",
    "radial-3",
    "radial-4",
];

/// The words for β.
pub(super) const BETAS: &[&str] = &["published", "self-normalised", "deviation"];

impl LearnerSpec {
    /// The options of a learner that regresses on features, for so many episodes and a seed; `None` for others.
    pub fn linear_options(&self, episodes: u64, seed: u64) -> Option<LinearOptions> {
        let mut options = self.preset.linear()?.options(episodes, seed);
        for (name, value) in self.changes() {
            match name {
                "cap" => options.cap = word::<Cap>(value),
                "delta" => options.delta = number(value),
                "schedule" => {
                    options.switching = match word(value) {
                        Schedule::Doubling => Switching::Doubling,
                        Schedule::Episode | Schedule::Visited => Switching::Episode,
                    }
                }
                "stage-dependent" => options.stage_dependent = value == "true",
                "features" => options.features = features(value),
                "beta" => options.beta = word::<Beta>(value),
                "beta-scale" => options.beta_scale = number(value),
                "lambda" => options.lambda = number(value),
                "regress-rewards" => options.rewards = if value == "true" { Rewards::Regressed } else { Rewards::Told },
                // What it is told, not how it learns.
                "unknown" => {}
                other => unreachable!("`{other}` is refused for learners that regress on features"),
            }
        }
        Some(options)
    }

    /// How the weights become values, in words: `published β × 0.01`.
    pub(super) fn linear_estimate(options: &LinearOptions) -> String {
        let beta = match options.beta {
            Beta::Published => "published β".to_owned(),
            Beta::SelfNormalised => "self-normalised β".to_owned(),
            Beta::Deviation => "deviation".to_owned(),
            Beta::Fixed(beta) => format!("β = {beta}"),
        };
        let sampled = if options.estimate == LinearEstimate::Sampled { "sampled, " } else { "" };
        if options.beta_scale == 1.0 {
            format!("{sampled}{beta}")
        } else {
            format!("{sampled}{beta} × {}", options.beta_scale)
        }
    }
}

fn features(word: &str) -> FeatureChoice {
    match word.split_once('-') {
        Some(("polynomial", degree)) => FeatureChoice::Polynomial { degree: number(degree) as usize },
        Some(("radial", centres)) => FeatureChoice::Radial { centres: number(centres) as usize, width: 1.0 },
        Some(_) => FeatureChoice::OneHot,
        None if word == "factors" => FeatureChoice::Factors,
        None => FeatureChoice::World,
    }
}
