//! `dowise learn --until`: when a run may stop, what can be promised then, and how the promise came closer.

use std::path::Path;

use dowise::learn::{Certificate, LearnError};
use dowise::{Arena, Learner};
use dowise_study::{Axis, Figure, Point, Scale, Series, Shape, Style};
use serde::Serialize;

use crate::output::Failure;
use crate::table::{self, Amounts};

/// A certificate is asked for whenever the episodes have grown by this share.
const GROWTH: f64 = 0.05;

/// Least episodes between two certificates.
const LEAST_BETWEEN: u64 = 10;

/// How near to best a run must be for sure before it stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Until {
    /// A share of the way from interventions at random to the best policy.
    Share(f64),
    /// A gap in rewards of an episode.
    Gap(f64),
}

impl std::str::FromStr for Until {
    type Err = String;

    fn from_str(text: &str) -> Result<Until, String> {
        let wrong = || format!("'{text}' is neither a share such as 5% nor a gap in rewards of an episode such as 0.2");
        let (number, share) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), true),
            None => (text.trim(), false),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        if !number.is_finite() || number <= 0.0 {
            return Err(format!("'{text}': no run can prove optimality; give a number above 0"));
        }
        match share {
            true if number >= 100.0 => Err(format!("'{text}': interventions at random are within 100 % already")),
            true => Ok(Until::Share(number / 100.0)),
            false => Ok(Until::Gap(number)),
        }
    }
}

impl std::fmt::Display for Until {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Until::Share(share) => write!(f, "{} %", 100.0 * share),
            Until::Gap(gap) => write!(f, "{gap}"),
        }
    }
}

/// What was promised at some time, beside the truth.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Promised {
    /// Episodes played.
    pub(super) episodes: u64,
    /// Probability with which anything promised during the run may be wrong.
    pub(super) delta: f64,
    /// What the policy is worth at least, and is worth.
    pub(super) at_least: f64,
    pub(super) value: f64,
    /// What the best policy is worth at most.
    pub(super) best_at_most: f64,
    /// By how much the best policy exceeds it at most, and does.
    pub(super) gap: f64,
    pub(super) true_gap: f64,
    /// The gap as a share of the way from random to best, at most; missing where that cannot be determined.
    pub(super) share: Option<f64>,
}

impl Promised {
    fn new(arena: &Arena, learner: &Learner, certificate: &Certificate) -> Promised {
        let start = arena.start_distribution();
        let value =
            arena.value_of(&certificate.policy_hs).expect("invariant: a certificate's policy is one of its world");
        Promised {
            episodes: learner.episodes(),
            delta: certificate.delta,
            at_least: certificate.at_least(&start),
            value,
            best_at_most: certificate.best_at_most(&start),
            gap: certificate.gap(&start),
            true_gap: (arena.optimal() - value).max(0.0),
            share: certificate.share(&start),
        }
    }

    /// A sentence for people.
    pub(super) fn text(&self) -> String {
        let share = self
            .share
            .map_or(String::new(), |share| format!(", {:.1} % of the way from random to best", 100.0 * share));
        let amounts = Amounts::of([self.at_least, self.best_at_most, self.value]);
        let [at_least, gap, value, true_gap] =
            [self.at_least, self.gap, self.value, self.true_gap].map(|x| amounts.show(x));
        let text = format!(
            "Suboptimality certificate (confidence 1 − δ, δ = {}): the policy has value at least {at_least}, at most {gap} below the optimum{share}. True value {value}, true gap {true_gap}.",
            self.delta
        );
        table::wrapped(&text) + "\n"
    }
}

/// Why a run cannot stop where it was asked to.
pub(super) enum Cannot {
    /// The learner gives no certificates.
    Learn(LearnError),
    /// What was asked for makes no sense in this world.
    Until(String),
}

impl From<LearnError> for Cannot {
    fn from(error: LearnError) -> Cannot {
        Cannot::Learn(error)
    }
}

/// The least share of the way that can be determined from rounding in every world.
const LEAST_SHARE: f64 = 1e-9;

/// Asks for certificates as a run goes on.
pub(super) struct Promises<'a> {
    arena: &'a Arena,
    until: Option<Until>,
    delta: f64,
    /// Whether nothing was seen before the run.
    fresh: bool,
    next: u64,
    pub(super) history: Vec<Promised>,
    pub(super) last: Option<Certificate>,
}

impl<'a> Promises<'a> {
    pub(super) fn new(
        arena: &'a Arena,
        until: Option<Until>,
        delta: f64,
        learner: &Learner,
        fresh: bool,
    ) -> Promises<'a> {
        let done = learner.episodes();
        Promises { arena, until, delta, fresh, next: done + LEAST_BETWEEN, history: Vec::new(), last: None }
    }

    /// Whether a certificate can be made at all, and whether what is asked for can be determined, and is not so from the beginning: before the
    /// run, not after it.
    pub(super) fn check(&mut self, learner: &Learner) -> Result<(), Cannot> {
        let first = learner.certificate(self.delta)?;
        let start = self.arena.start_distribution();
        match self.until {
            Some(Until::Share(_)) if first.share(&start).is_none() && first.above_random_s.is_none() => {
                let why = match learner.knowledge().knows_mechanisms() {
                    false => "the effects of levers on key variables have to be learned",
                    true => "interventions are too many to compare, or the world is planned by components",
                };
                Err(LearnError::NoShare { why }.into())
            }
            Some(Until::Share(share)) if share < LEAST_SHARE => Err(Cannot::Until(format!(
                "--until {}: below what rounding allows; ask for 1e-7 % or more",
                Until::Share(share)
            ))),
            Some(Until::Gap(gap)) if gap < first.rounding => Err(Cannot::Until(format!(
                "--until {gap:e}: below what rounding allows in this world, {:.1e}; ask for more",
                first.rounding
            ))),
            Some(Until::Gap(gap))
                if learner.begun() == 0
                    && self.fresh
                    && gap >= first.gap(&start)
                    // Where all is known, a run may stop at once.
                    && first.gap(&start) > 2.0 * first.rounding =>
            {
                Err(Cannot::Until(format!(
                    "--until {gap}: every policy is within {} of the best before anything is learned; a share of the way from random to best is \
                     written with a percent sign, as in --until 5%",
                    Amounts::of([gap]).show(first.gap(&start))
                )))
            }
            Some(Until::Share(_) | Until::Gap(_)) | None => Ok(()),
        }
    }

    /// Whether the run may stop after this many episodes.
    pub(super) fn after(&mut self, learner: &Learner) -> bool {
        if learner.episodes() < self.next {
            return false;
        }
        self.now(learner)
    }

    /// Whether it may stop now.
    pub(super) fn now(&mut self, learner: &Learner) -> bool {
        let episodes = learner.episodes();
        self.next = episodes + ((episodes as f64 * GROWTH) as u64).max(LEAST_BETWEEN);
        if self.history.last().is_some_and(|last| last.episodes == episodes) {
            return false;
        }
        let Ok(certificate) = learner.certificate(self.delta) else { return false };
        let promised = Promised::new(self.arena, learner, &certificate);
        let reached = match self.until {
            None => false,
            Some(Until::Share(share)) => promised.share.is_some_and(|now| now <= share),
            Some(Until::Gap(gap)) => promised.gap <= gap,
        };
        self.last = Some(certificate);
        self.history.push(promised);
        reached
    }

    /// The shrinking gap beside the true one.
    pub(super) fn picture(&self, learner: &str) -> Figure {
        let series = |label: &str, position: usize, of: fn(&Promised) -> f64| Series {
            label: label.to_owned(),
            style: Style::at(position),
            shape: Shape::Band,
            points: (self.history.iter())
                .map(|p| (p.episodes as f64, of(p)))
                .map(|(x, y)| Point { x, y, low: y, high: y })
                .collect(),
        };
        let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Log, ticks: None };
        Figure {
            title: format!("How far from best {learner} can be"),
            subtitle: format!(
                "{}; all bounds hold together with probability {}.",
                self.arena.world().name(),
                1.0 - self.delta
            ),
            x: axis("episodes"),
            y: axis("reward of an episode"),
            series: vec![
                series("upper less lower value", 2, |p| p.best_at_most - p.at_least),
                series("gap at most", 0, |p| p.gap),
                series("true gap", 1, |p| p.true_gap),
            ],
        }
    }
}

/// Whether a picture's name ends in .svg, or else in .png.
pub(in crate::commands) fn is_svg(file: &Path) -> Result<bool, Failure> {
    match file.extension().and_then(|e| e.to_str()) {
        Some("svg") => Ok(true),
        Some("png") => Ok(false),
        _ => Err(Failure::Usage(format!("--draw {}: let its name end in .svg or .png", file.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_gaps_are_read_and_nonsense_is_refused() {
        assert_eq!("5%".parse(), Ok(Until::Share(0.05)));
        assert_eq!("2.5 %".parse(), Ok(Until::Share(0.025)));
        assert_eq!("0.2".parse(), Ok(Until::Gap(0.2)));
        for text in ["", "five", "0", "-1", "0%", "100%", "nan", "inf", "1e400"] {
            assert!(text.parse::<Until>().is_err(), "{text}");
        }
    }
}
