//! At which episodes regret is written down.

use serde::{Deserialize, Serialize};

/// How many points a curve has, or which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Checkpoints {
    /// This number of evenly spaced episodes, and 1, 2, 5, 10, 20, … for logarithmic axes.
    Count(u64),
    /// Those of these episodes that the run has, and its last one.
    List(Vec<u64>),
}

impl Default for Checkpoints {
    fn default() -> Self {
        Checkpoints::Count(50)
    }
}

impl Checkpoints {
    /// How many [`Checkpoints::of`] gives, without making more than `most` of them; at least `most + 1` if there are more.
    pub(crate) fn count(&self, episodes: u64, most: u64) -> u64 {
        match self {
            Checkpoints::Count(n) if (*n).min(episodes) > most => (*n).min(episodes),
            Checkpoints::Count(_) | Checkpoints::List(_) => self.of(episodes).len() as u64,
        }
    }

    /// The episodes (from 1), increasing, the last one included.
    pub fn of(&self, episodes: u64) -> Vec<u64> {
        let mut at: Vec<u64> = match self {
            Checkpoints::List(list) => list.clone(),
            Checkpoints::Count(n) => {
                let n = (*n).clamp(1, episodes.max(1));
                let even = (1..=n).map(|i| (u128::from(i) * u128::from(episodes) / u128::from(n)) as u64);
                let decades = (0..19).flat_map(|e| [1, 2, 5].map(|d: u64| d * 10u64.pow(e)));
                even.chain(decades).collect()
            }
        };
        at.push(episodes);
        at.retain(|&k| k >= 1 && k <= episodes);
        at.sort_unstable();
        at.dedup();
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_episode_is_always_there_and_nothing_beyond_it() {
        assert_eq!(Checkpoints::Count(4).of(20), [1, 2, 5, 10, 15, 20]);
        assert_eq!(Checkpoints::List(vec![3, 500, 3]).of(7), [3, 7]);
        assert_eq!(Checkpoints::Count(50).of(1), [1]);
        assert_eq!(Checkpoints::Count(4).count(20, 100), 6);
        assert_eq!(Checkpoints::Count(u64::MAX).count(1 << 60, 100), 1 << 60);
    }
}
