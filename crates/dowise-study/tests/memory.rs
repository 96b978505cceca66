//! Runs at once fit into memory together: in a process of its own, since the limit is that of the process.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use dowise::Arena;
use dowise_study::{Job, Listener, RunRecord, StudyError, WorldChoice, WorldSource, play_batch};

/// Keeps the records by job.
struct Kept(Mutex<Vec<Option<RunRecord>>>);

impl Listener for Kept {
    fn done(&self, job: usize, _: &dowise_study::Evaluator, record: RunRecord) -> Result<(), StudyError> {
        self.0.lock().unwrap()[job] = Some(RunRecord { seconds: 0.0, ..record });
        Ok(())
    }
}

fn played(jobs: &[Job], limit: u128) -> Result<Vec<Option<RunRecord>>, StudyError> {
    let sources =
        [WorldSource::Chosen { choice: WorldChoice::read("paper:factors=3"), evaluation: None, pinned: None }];
    let kept = Kept(Mutex::new(vec![None; jobs.len()]));
    dowise::set_memory_limit(u64::try_from(limit).unwrap());
    play_batch(&sources, jobs, 3, 4, &AtomicBool::new(false), &kept)?;
    assert_eq!(u128::from(dowise::memory_left()), limit, "all that was counted is given back");
    Ok(kept.0.into_inner().unwrap())
}

#[test]
fn as_many_runs_are_simulated_at_once_as_there_is_memory_for() {
    let world = WorldChoice::read("paper:factors=3").make(3).unwrap();
    let job = |learner: &str, repetition| Job {
        source: 0,
        learner: learner.parse().unwrap(),
        repetition,
        checkpoints: [5, 40].into(),
    };
    let jobs: Vec<Job> = (0..6).flat_map(|r| [job("psrl", r), job("graph-psrl", r)]).collect();
    let plenty = played(&jobs, u128::from(dowise::MOST_MEMORY)).unwrap();
    assert!(plenty.iter().all(Option::is_some));
    // One run of the largest: its plan and judge, the learner, and the copy that makes a policy of it.
    let one = Arena::bytes(&world) + 2 * jobs[0].learner.bytes(&world, 40).unwrap();
    for limit in [one, one * 3 / 2, one * 3] {
        assert_eq!(played(&jobs, limit).unwrap(), plenty, "{limit} bytes, one run takes {one}");
    }
    let error = played(&jobs, one - 1).unwrap_err().to_string();
    assert!(error.starts_with("psrl on ") && error.contains("may be taken"), "{error}");
    let error = played(&jobs, 1000).unwrap_err().to_string();
    assert!(error.contains("the limit is 1000"), "{error}");
}
