//! A run that is evaluated exactly: prepares the learner, and knows what its episodes, files and report are.

use std::path::Path;

use dowise::simulate::Run;
use dowise::{Action, Arena, Learner, LearnerSpec};
use dowise_study::{StudyError, write_file};

use super::program::{Episodes, Running};
use super::promise::{Cannot, Promises, is_svg};
use super::report::{self, Found, Report};
use super::saved::{SavedExact, SavedRun};
use super::{DELTA, Task, initial, program, warm_start};
use crate::output::{Failure, Output, Status};
use crate::{policy_file, render, table};

/// States from which on the optimal policy takes a while to find.
const MANY_STATES: usize = 1 << 15;

/// A run with its learner, between two episodes.
struct ExactRun<'a> {
    arena: &'a Arena,
    run: Run<'a>,
    learner: Learner,
    state: SavedRun,
    /// Certificates, if they are asked for.
    promises: Option<Promises<'a>>,
    /// The true value of the baseline, if there is one.
    baseline: Option<f64>,
    /// Regret so far.
    regret: f64,
    /// Whether the log or the evidence made every guarantee void before the first episode.
    begins_void: bool,
    /// Whether the policy is certified to be as near to optimal as `--until` asks for.
    reached: bool,
}

/// Runs a learner and evaluates its policies by the values of all states.
pub(super) fn run(task: &Task<'_>, learner: &str, resumed: Option<&SavedExact>) -> Result<Status, Failure> {
    let state = match resumed {
        Some(resumed) => resumed.run.clone(),
        None => SavedRun::new(learner.parse().map_err(|e| task.fail(StudyError::Learner(e)))?, task.args.seed),
    };
    let arena = arena(task, state.seed)?;
    program::run(task, prepare(task, &arena, resumed, state)?)
}

/// The simulated world with its optimal policy; says so if that takes long.
fn arena(task: &Task<'_>, seed: u64) -> Result<Arena, Failure> {
    if let Ok(world) = task.choice.make(seed)
        && world.n_states() >= MANY_STATES
    {
        let states = table::count(world.n_states() as u64);
        task.output.talk(format_args!("computing the optimal policy of {states} states first, to measure regret"));
    }
    task.choice.arena(seed).map_err(|e| task.fail(e))
}

/// The run before its first episode, or before the next one if it is resumed.
fn prepare<'a>(
    task: &Task<'_>,
    arena: &'a Arena,
    resumed: Option<&SavedExact>,
    mut state: SavedRun,
) -> Result<ExactRun<'a>, Failure> {
    let spec = state.learner.clone();
    let mut learner = match resumed {
        Some(resumed) => resumed.learner(arena)?,
        None => initial::new(task, arena, &mut state)?,
    };
    initial::watch_graph(task, &spec, &mut learner)?;
    warm_start::take_log(task, arena.world(), &mut learner, &mut state)?;
    let baseline = initial::keep_baseline(task, arena, &mut learner)?;
    // Without memory for the policy, the result would be lost at the end of the run.
    learner.room_to_deploy().map_err(|e| task.cannot_learn(&spec, e))?;
    let promises = certificates(task, arena, &spec, &learner)?;
    let mut run = arena.run(state.seed);
    if let Some(position) = state.position {
        run.go_on(position);
    }
    let (regret, begins_void) = (state.regrets.iter().sum(), !state.void_because.is_empty());
    Ok(ExactRun { arena, run, learner, state, promises, baseline, regret, begins_void, reached: false })
}

/// Certificates, if they are asked for; fails before the run if the learner cannot give them.
fn certificates<'a>(
    task: &Task<'_>,
    arena: &'a Arena,
    spec: &LearnerSpec,
    learner: &Learner,
) -> Result<Option<Promises<'a>>, Failure> {
    let args = task.args;
    if args.until.is_none() && !args.certify && args.draw.is_none() {
        return Ok(None);
    }
    let fresh = args.from.is_none() && args.evidence.is_none();
    let mut promises = Promises::new(arena, args.until, args.delta.unwrap_or(DELTA), learner, fresh);
    promises.check(learner).map_err(|e| match e {
        Cannot::Learn(e) => task.cannot_learn(spec, e),
        Cannot::Until(why) => Failure::Usage(why),
    })?;
    Ok(Some(promises))
}

impl Running for ExactRun<'_> {
    fn of(&self) -> (&LearnerSpec, u64) {
        (&self.state.learner, self.state.seed)
    }

    fn done(&self) -> u64 {
        self.state.regrets.len() as u64
    }

    fn planned(&self) -> u64 {
        self.learner.planned_episodes()
    }

    fn beginning(&self, _: &Task<'_>, episodes: &Episodes) -> Vec<String> {
        let mut lines = vec![table::wrapped(&report::knowledge(&self.learner))];
        if let Some(why) = self.learner.wrong_view() {
            lines.push(table::wrapped(&format!("warning: {why}; its values stay wrong however much it sees")));
        }
        let features = self.learner.as_linear().map(|linear| linear.findings()).unwrap_or_default();
        lines.extend(features.iter().map(|finding| table::wrapped(&format!("warning: {finding}"))));
        let of_world = render::decisive(self.arena.world());
        lines.extend(of_world.map(|finding| format!("warning: {}; `dowise check` shows where", finding.message)));
        if episodes.done > 0 {
            lines.push(format!("going on after {} of {} episodes", episodes.done, episodes.total));
        }
        lines
    }

    fn episode(&mut self) {
        let episode = self.run.episode(&mut self.learner);
        self.regret += episode.regret;
        self.state.reward += episode.reward;
        self.state.regrets.push(episode.regret);
    }

    fn so_far(&self) -> String {
        format!("regret {:.1}", self.regret)
    }

    fn may_stop(&mut self) -> bool {
        let near = self.promises.as_mut().is_some_and(|promises| promises.after(&self.learner));
        self.reached = near && !self.is_void();
        self.reached
    }

    /// Asks for the last certificate, and keeps where the run has come to.
    fn end(&mut self) {
        let near = self.promises.as_mut().is_some_and(|promises| promises.now(&self.learner));
        self.reached |= near && !self.is_void();
        self.state.position = Some(self.run.position());
    }

    fn save(&mut self, file: &Path, output: &Output) -> Result<(), Failure> {
        self.state.write(&self.learner, self.arena, file, output)
    }

    fn result(&self, task: &Task<'_>) -> (Report, Result<(), Failure>) {
        let ExactRun { arena, learner, state, promises, .. } = self;
        let learned = learner.learned_policy();
        // A certificate is about one policy, so that policy is shown and written.
        let certified = promises.as_ref().and_then(|promises| promises.last.as_ref());
        let actions = certified.map_or(learned.actions(), |certificate| &certificate.policy_hs);
        let made_by = (learned.plan(), learned.evidence());
        let policy = task.args.policy.as_deref();
        let written = policy.map_or(Ok(()), |file| self.write_policy(task, made_by, actions, file));
        let written = written.and(self.draw(task));
        let promised = promises.as_ref().and_then(|promises| promises.history.last().cloned());
        let found = report::Exact::new(arena, learner, actions, state, task.args.rows, promised);
        let found = Found::Exact(Box::new(found.with_baseline(learner, self.baseline)));
        (Report::new((arena.world().name(), arena.world()), self.of(), self.done(), found), written)
    }

    fn status(&self, task: &Task<'_>) -> Status {
        let Some(until) = task.args.until.filter(|_| !self.reached) else { return Status::Fine };
        let done = table::count(self.done());
        task.output
            .talk(format_args!("not within {until} with confidence 1 − δ after {done} episodes; continue with more"));
        Status::No
    }
}

impl ExactRun<'_> {
    /// Whether guarantees do not hold, because the data contradict what they rest on.
    fn is_void(&self) -> bool {
        self.begins_void || self.learner.is_contradicted()
    }

    /// Writes the policy to deploy.
    fn write_policy(
        &self,
        task: &Task<'_>,
        made_by: (u64, u64),
        actions: &[Action],
        file: &Path,
    ) -> Result<(), Failure> {
        let (plan, evidence) = made_by;
        let spec = self.state.learner.to_string();
        let origin = (spec.as_str(), self.learner.episodes());
        policy_file::write(file, self.arena.world(), origin, (plan, format!("{evidence:016x}")), actions)?;
        task.output.talk(format_args!("the learned policy is in {}", file.display()));
        Ok(())
    }

    /// Draws how the certified gap shrinks.
    fn draw(&self, task: &Task<'_>) -> Result<(), Failure> {
        let Some((promises, file)) = self.promises.as_ref().zip(task.args.draw.as_deref()) else { return Ok(()) };
        let drawing = promises.picture(&self.state.learner.to_string()).draw().map_err(|e| task.fail(e))?;
        let bytes = if is_svg(file)? { drawing.svg.into_bytes() } else { drawing.png };
        write_file(file, &bytes).map_err(|e| task.fail(e))
    }
}
