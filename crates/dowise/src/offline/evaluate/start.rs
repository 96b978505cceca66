//! Initial-state distribution of an evaluation: estimated from the log with its uncertainty, or given.

use rand::Rng;

use super::interval::mean_may_be_off;
use crate::Space;
use crate::offline::Episodes;
use crate::random::gamma;
use crate::world::Start;

/// The initial-state distribution that a value refers to.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Starts {
    /// Estimated from the log, which is a sample.
    #[default]
    Log,
    /// Given.
    Given(Start),
}

/// Initial states and their probabilities.
#[derive(Clone, Debug)]
pub(crate) struct StartStates {
    /// In the order of the states.
    pub(crate) shares: Vec<(usize, f64)>,
    /// Number of episodes behind the estimate; `None` if the distribution is given.
    episodes: Option<f64>,
}

impl StartStates {
    /// `None` if the log is to supply the distribution and no episode begins at the first stage.
    pub(crate) fn new(log: &Episodes, starts: &Starts) -> Option<StartStates> {
        match starts {
            Starts::Log => {
                let mut counts = vec![0.0; log.view.layout.n_states()];
                for episode in &log.episodes {
                    let first = &log.steps[episode.first];
                    if first.stage == 0 {
                        counts[first.state as usize] += f64::from(episode.weight);
                    }
                }
                StartStates::counted(&counts)
            }
            Starts::Given(start) => Some(StartStates::given(start, &log.view.layout.state_space)),
        }
    }

    /// A given distribution.
    pub(crate) fn given(start: &Start, states: &Space) -> StartStates {
        StartStates { shares: listed(start, states), episodes: None }
    }

    /// From the number of episodes that started in each state; `None` if there are none.
    pub(crate) fn counted(counts: &[f64]) -> Option<StartStates> {
        let n: f64 = counts.iter().sum();
        let shares = counts.iter().enumerate().filter(|(_, c)| **c > 0.0).map(|(s, c)| (s, c / n));
        (n > 0.0).then(|| StartStates { shares: shares.collect(), episodes: Some(n) })
    }

    /// The distribution as the start of a world.
    pub(crate) fn to_start(&self) -> Start {
        Start::States(self.shares.clone())
    }

    /// Whether the distribution is estimated.
    pub(crate) fn is_sample(&self) -> bool {
        self.episodes.is_some()
    }

    /// Σ_s share(s) value(s).
    pub(crate) fn mean(&self, value_s: &[f64]) -> f64 {
        self.shares.iter().map(|&(s, p)| p * value_s[s]).sum()
    }

    /// The mean with probabilities drawn from their posterior, Dirichlet(initial counts): the Bayesian bootstrap of the
    /// episodes.
    pub(crate) fn drawn_mean(&self, value_s: &[f64], rng: &mut impl Rng) -> f64 {
        let Some(n) = self.episodes else { return self.mean(value_s) };
        let (mut sum, mut total) = (0.0, 0.0);
        for &(s, share) in &self.shares {
            let weight = gamma(share * n, rng);
            sum += weight * value_s[s];
            total += weight;
        }
        sum / total
    }

    /// Deviation of the mean of the true values over logged starts that holds with probability 1 − δ, for values
    /// between `low_s` and `high_s`; 0 for a given distribution.
    ///
    /// The true values are fixed numbers whose range is at most max high − min low. Their variance over logged starts
    /// is at most ½ Σ_{s,t} p_s p_t max(high_s − low_t, high_t − low_s)².
    pub(crate) fn may_be_off(&self, low_s: &[f64], high_s: &[f64], delta: f64) -> f64 {
        let Some(n) = self.episodes else { return 0.0 };
        let least = low_s.iter().copied().fold(f64::INFINITY, f64::min);
        let most = high_s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut variance = 0.0;
        for (i, &(s, p)) in self.shares.iter().enumerate() {
            for &(t, q) in &self.shares[..i] {
                let apart = (high_s[s] - low_s[t]).max(high_s[t] - low_s[s]);
                variance += p * q * apart * apart;
            }
        }
        let variance = variance * n / (n - 1.0).max(1.0);
        mean_may_be_off(n, (most - least).max(0.0), variance, delta)
    }
}

/// All possible initial states with their probabilities.
fn listed(start: &Start, states: &Space) -> Vec<(usize, f64)> {
    match start {
        Start::States(states) => states.clone(),
        Start::Product(factors) => {
            let share = |s: usize| factors.iter().enumerate().map(|(f, p)| p[states.digit(s, f)]).product();
            (0..states.len()).map(|s| (s, share(s))).filter(|(_, p): &(usize, f64)| *p > 0.0).collect()
        }
    }
}
