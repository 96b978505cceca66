//! How many threads to use: as asked, else as the cluster says, else as many as there are.

use std::num::NonZeroUsize;

/// Environment variables that say how many threads a program may use, the first that is set wins.
const VARIABLES: [&str; 3] = ["RAYON_NUM_THREADS", "SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"];

/// Number of threads: `asked` if given, else the first of RAYON_NUM_THREADS, SLURM_CPUS_PER_TASK and OMP_NUM_THREADS
/// that is a positive number, else the number of cores.
pub fn threads(asked: Option<usize>) -> usize {
    choose(asked, |name| std::env::var(name).ok())
}

fn choose(asked: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> usize {
    let positive = |n: usize| (n > 0).then_some(n);
    let told = || VARIABLES.iter().find_map(|name| variable(name)?.trim().parse().ok().and_then(positive));
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    asked.and_then(positive).or_else(told).unwrap_or_else(cores)
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
        assert_eq!(choose(Some(2), slurm), 2);
        assert_eq!(choose(None, slurm), 3);
        assert_eq!(choose(Some(0), |_| Some("many".into())), threads_of_this_machine());
    }

    fn threads_of_this_machine() -> usize {
        std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
    }
}
