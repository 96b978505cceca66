//! How many threads to use: as asked, else as the cluster says, else as many as there are.

use std::num::NonZeroUsize;

use crate::StudyError;
use crate::limits::MOST_THREADS;

/// Environment variables that say how many threads a program may use, the first that is set wins.
const VARIABLES: [&str; 3] = ["RAYON_NUM_THREADS", "SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"];

/// Number of threads: `asked` if given, else the first of RAYON_NUM_THREADS, SLURM_CPUS_PER_TASK and OMP_NUM_THREADS
/// that is a positive number, else the number of cores. More than [`MOST_THREADS`] are refused.
pub fn threads(asked: Option<usize>) -> Result<usize, StudyError> {
    choose(asked, |name| std::env::var(name).ok())
}

fn choose(asked: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> Result<usize, StudyError> {
    let positive = |n: usize| (n > 0).then_some(n);
    let knowledge = || {
        VARIABLES.iter().find_map(|name| {
            let n = variable(name)?.trim().parse().ok().and_then(positive)?;
            Some((format!(" ({name})"), n))
        })
    };
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let asked = asked.and_then(positive).map(|n| (String::new(), n));
    match asked.or_else(knowledge) {
        None => Ok(cores().min(MOST_THREADS)),
        Some((_, n)) if n <= MOST_THREADS => Ok(n),
        Some((by, n)) => Err(StudyError::Invalid(format!(
            "{n} threads are asked for{by}; there may be at most {MOST_THREADS}, and more than the {} cores of this machine \
             make nothing faster",
            cores()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_wins_then_the_cluster() {
        let slurm = |name: &str| match name {
            "RAYON_NUM_THREADS" => Some("0".to_owned()),
            "SLURM_CPUS_PER_TASK" => Some("3".to_owned()),
            _ => Some("7".to_owned()),
        };
        assert_eq!(choose(Some(2), slurm).unwrap(), 2);
        assert_eq!(choose(None, slurm).unwrap(), 3);
        assert_eq!(choose(Some(0), |_| Some("many".into())).unwrap(), threads_of_this_machine());
    }

    #[test]
    fn more_threads_than_a_process_can_have_are_refused_by_whoever_asked() {
        let says = |asked, knowledge: &'static str| choose(asked, |_| Some(knowledge.into())).unwrap_err().to_string();
        assert!(says(Some(100_000), "1").starts_with("100000 threads are asked for; there may be at most 1024"));
        assert!(says(None, "1025").starts_with("1025 threads are asked for (RAYON_NUM_THREADS);"));
        assert_eq!(choose(Some(1024), |_| None).unwrap(), 1024);
    }

    fn threads_of_this_machine() -> usize {
        std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
    }
}
