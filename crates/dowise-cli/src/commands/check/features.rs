//! What `dowise check` says about the features that a world carries: their lengths, and how far it is from linear in them.

use dowise::World;
use dowise::linear::{Features, Misspecification};
use dowise::tolerance::LINEAR;
use serde::Serialize;

use crate::table::{self, Align};

/// What was found about the features.
#[derive(Serialize)]
pub(super) struct FeatureReport {
    kind: &'static str,
    dimension: usize,
    /// Greatest length of a feature vector.
    longest: f64,
    /// Not there if the world is not fully known, or too large to measure.
    misspecification: Option<Misspecification>,
}

impl FeatureReport {
    /// `None` if the world has no features of its own.
    pub(super) fn of(world: &World) -> Option<FeatureReport> {
        let kind = world.features()?.kind();
        let features = Features::of(world).ok()?;
        let misspecification = features.misspecification(world);
        Some(FeatureReport { kind, dimension: features.dimension(), longest: features.longest(), misspecification })
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let d = table::count(self.dimension as u64);
        let mut text = format!("kind {}, d = {d}, greatest length {}.\n", self.kind, table::short(self.longest));
        let Some(fit) = &self.misspecification else {
            let why = "How far the world is from linear in them is not known: something is to be learned, or there is too much to measure.";
            return text + &table::wrapped(why) + "\n";
        };
        let row = |what: &str, max, mean, norm: f64| {
            vec![what.to_owned(), error(max), error(mean), table::short(norm), table::short(fit.norm_limit())]
        };
        let rows = [
            row("P(s' | s, z)", fit.transition_max, fit.transition_mean, fit.transition_norm),
            row("R(s, z)", fit.reward_max, fit.reward_mean, fit.reward_norm),
        ];
        let header = ["least squares", "greatest error", "mean error", "length of weights", "allowed (√d)"];
        text += &table::table(&header, &rows, &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
        let dependent = if fit.rank < fit.dimension {
            format!(" Only {} of the features are independent.", table::count(fit.rank as u64))
        } else {
            String::new()
        };
        let verdict = if fit.variation_max.max(fit.reward_max) < LINEAR {
            "The world is linear in them.".to_owned()
        } else if fit.variation_max < LINEAR {
            format!(
                "Next states are linear in them, rewards are not (off by up to {}): a learner that knows the rewards adds them as they are, and one \
                 that regresses them (unknown=rewards, lsvi-ucb) keeps some regret however long it runs.",
                error(fit.reward_max)
            )
        } else {
            format!(
                "The world is not linear in them: next states are off by up to {} in total variation, so a learner that \
                 relies on them keeps some regret however long it runs.",
                error(fit.variation_max)
            )
        };
        text + &table::wrapped(&(verdict + &dependent)) + "\n"
    }
}

fn error(x: f64) -> String {
    if x < LINEAR { "0".to_owned() } else { table::short(x) }
}
