//! How large a study may be: asked before anything is allocated.

use crate::{Checkpoints, StudyError};

/// Combinations of worlds, learners and sweeps.
pub const MOST_COMBINATIONS: usize = 10_000;
/// Runs of a study; each has a file.
pub const MOST_RUNS: u64 = 1_000_000;
/// Points on all curves of a study; each is a row of `curves.csv`, of about 150 bytes.
pub const MOST_POINTS: u64 = 4_000_000;
/// Episodes of a run.
pub const MOST_EPISODES: u64 = 1_000_000_000;
/// Threads.
pub const MOST_THREADS: usize = 1024;

fn refuse<T>(message: String) -> Result<T, StudyError> {
    Err(StudyError::Invalid(message))
}

/// Refuses numbers of episodes that no run has.
pub(crate) fn episodes(episodes: u64) -> Result<(), StudyError> {
    match episodes {
        0 => refuse("episodes is 0; a run needs at least one episode".into()),
        1..=MOST_EPISODES => Ok(()),
        _ => refuse(format!("episodes (--episodes) is {episodes}; a run has at most {MOST_EPISODES}")),
    }
}

/// Refuses more combinations than a study has.
pub(crate) fn combinations(n: usize) -> Result<(), StudyError> {
    if n <= MOST_COMBINATIONS {
        return Ok(());
    }
    refuse(format!(
        "worlds, learners and sweeps make {n} combinations or more; a study has at most {MOST_COMBINATIONS}, so split it"
    ))
}

/// Refuses what would not fit: runs, seeds, points on curves; `episodes` has the number of each combination.
pub(crate) fn size(
    repetitions: u64,
    seed: u64,
    checkpoints: &Checkpoints,
    episodes: impl ExactSizeIterator<Item = u64>,
) -> Result<(), StudyError> {
    if repetitions == 0 {
        return refuse("repetitions is 0; each combination is run at least once".into());
    }
    // Seeds are written into study.toml, whose whole numbers end there.
    if seed.checked_add(repetitions - 1).is_none_or(|last| last > i64::MAX as u64) {
        return refuse(format!(
            "seed (--seed) is {seed}, and {repetitions} repetitions count on from there; the last seed may be {}",
            i64::MAX
        ));
    }
    let n = episodes.len();
    combinations(n)?;
    let runs = u128::from(repetitions) * n as u128;
    if runs > u128::from(MOST_RUNS) {
        return refuse(format!(
            "repetitions (--repetitions) is {repetitions}, and {n} {} {runs} runs; a study has at most {MOST_RUNS}",
            if n == 1 { "combination makes" } else { "combinations make" }
        ));
    }
    let mut points = 0;
    for k in episodes {
        points += u128::from(checkpoints.count(k, MOST_POINTS)) * u128::from(repetitions);
        if points > u128::from(MOST_POINTS) {
            return refuse(format!(
                "checkpoints ask for {points} points or more on the curves of {runs} runs; \
                 a study has at most {MOST_POINTS}, so ask for fewer checkpoints or repetitions"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(repetitions: u64, seed: u64, checkpoints: Checkpoints, n: usize, episodes: u64) -> String {
        size(repetitions, seed, &checkpoints, vec![episodes; n].into_iter())
            .map_or_else(|e| e.to_string(), |()| String::new())
    }

    #[test]
    fn numbers_at_a_limit_pass_and_those_above_it_are_named() {
        let few = || Checkpoints::Count(1);
        assert_eq!(says(1_000, 0, few(), 1_000, 1), "");
        assert!(says(1_001, 0, few(), 1_000, 1).contains("is 1001, and 1000 combinations make 1001000 runs"));
        assert!(says(u64::MAX, 0, few(), 2, 1).contains("the last seed may be 9223372036854775807"));
        assert!(says(1_000_000_000_000_000_000, 0, few(), 2, 1).contains("make 2000000000000000000 runs"));
        assert_eq!(says(2, i64::MAX as u64 - 1, few(), 1, 1), "");
        assert!(says(2, i64::MAX as u64, few(), 1, 1).contains("seed (--seed) is 9223372036854775807"));
        let many = Checkpoints::Count(1_000_000_000_000_000_000);
        assert!(says(5, 0, many.clone(), 1, 1_000_000_000).contains("points or more on the curves of 5 runs"));
        assert_eq!(says(5, 0, many, 1, 1_000), "");
        assert!(episodes(MOST_EPISODES).is_ok() && episodes(MOST_EPISODES + 1).is_err());
    }
}
