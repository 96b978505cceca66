//! Wrappers of a learner: their construction, and their reports.

use super::{Kind, Learner};
use crate::learn::Knowledge;
use crate::learn::error::{LearnError, LearnResult, check_delta};
use crate::learn::monitor::{GraphWatch, Monitor};
use crate::learn::options::Options;
use crate::learn::wrappers::{
    Amendment, Baseline, BaselineReport, ChangeNoticed, Forgetting, Guard, LogCheck, LogContradicted, Wrapper,
};
use crate::world::Action;

impl Learner {
    /// With graph repair: the episode in which the key variables were abandoned, if they were.
    pub fn gave_up_causes(&self) -> Option<u64> {
        self.guard().and_then(Guard::gave_up)
    }

    /// With graph repair: the revisions of the declared graph, in order; from then on knowledge, evidence and plans
    /// are of the revised graph.
    pub fn amendments(&self) -> &[Amendment] {
        self.guard().map_or(&[], Guard::amendments)
    }

    /// The original options, which graph repair may have changed since; `None` for linear learners.
    pub fn declared_options(&self) -> Option<&Options> {
        self.guard().map_or_else(|| self.options(), |guard| Some(guard.declared_options()))
    }

    /// Starts testing the declared graph on every step: a lever that bypasses the key variables, a missing parent,
    /// factors with a common cause. A true graph is ever contradicted with probability at most `delta`, under any
    /// choice of interventions. Nothing else changes; see [`Learner::graph_watch`].
    ///
    /// A learner with graph repair tests its graph already.
    pub fn watch_graph(&mut self, delta: f64) -> LearnResult<()> {
        self.watch_by(delta, Monitor::of_declared)
    }

    /// The same for a log: all of its first 8,192 steps are tested, and one in 128 of the others, so that testing a
    /// million steps costs no more than reading them. The guarantee is the same.
    pub fn watch_log(&mut self, delta: f64) -> LearnResult<()> {
        self.watch_by(delta, Monitor::of_log)
    }

    fn watch_by(&mut self, delta: f64, monitor: fn(&Knowledge, f64) -> LearnResult<Monitor>) -> LearnResult<()> {
        check_delta(delta)?;
        if self.forgetting().is_some() {
            return Err(LearnError::Forgets {
                what: "a test of the graph",
                why: "a change of the world looks like a wrong arrow to it; leave forget out",
            });
        }
        if !self.around.iter().any(Wrapper::looks_at_rewards) {
            let watch = Wrapper::Watch(Box::new(monitor(self.knowledge(), delta)?));
            // The comparison with a log and a baseline come last.
            let last = self.around.iter().position(|a| matches!(a, Wrapper::LogCheck(_) | Wrapper::Baseline(_)));
            self.around.insert(last.unwrap_or(self.around.len()), watch);
        }
        Ok(())
    }

    /// Report of the graph test, by graph repair or since [`Learner::watch_graph`].
    pub fn graph_watch(&self) -> Option<GraphWatch> {
        self.around.iter().find_map(|around| match around {
            Wrapper::Guard(guard) => guard.report(),
            Wrapper::Watch(monitor) => Some(monitor.report(&[])),
            Wrapper::Explore(_) | Wrapper::Baseline(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_) => None,
        })
    }

    /// Keeps to a baseline (`[stage][state]`, such as what is done today) from the next episode on: with probability 1 − δ, at all
    /// times together, the values of the policies played sum to no less than 1 − `alpha` of the baseline's, both measured from the least
    /// that an episode can pay. δ is the learner's.
    ///
    /// Values are means over how episodes start, which has to be alike for all of them. `value_s` is what the baseline is worth by starting
    /// state, if that is known; then each value is that at the state where its episode started, and these may be any. The promise rests on
    /// what episodes pay and on no graph, so all that they pay has to be observed; what is not counts at its worst.
    ///
    /// Whenever what is planned could break the promise, the episode follows the baseline.
    ///
    /// ```
    /// use dowise::{Arena, Knowledge, Learner, Preset, worlds};
    /// let arena = Arena::new(&worlds::world("treatment", &[])?)?;
    /// let knowledge = Knowledge::of(arena.world());
    /// let mut learner = Learner::new(&knowledge, "graph-psrl".parse::<Preset>()?.options(100, 1))?;
    /// let today = arena.best().policy_hs.clone();
    /// learner.keep_baseline(&today, 0.1, None)?;
    /// arena.run(1).episodes(100, &mut learner, |_| std::ops::ControlFlow::Continue(()));
    /// assert!(learner.baseline().unwrap().room >= 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_baseline(&mut self, policy_hs: &[Action], alpha: f64, value_s: Option<&[f64]>) -> LearnResult<()> {
        let delta = match &self.kind {
            Kind::Tabular(tabular) => tabular.options.delta,
            Kind::Linear(linear) => linear.options().delta,
        };
        self.keep_baseline_at(policy_hs, [alpha, delta], value_s)
    }

    /// The same with another error probability δ of the guarantee than the learner's own.
    pub fn keep_baseline_at(
        &mut self,
        policy_hs: &[Action],
        [alpha, delta]: [f64; 2],
        value_s: Option<&[f64]>,
    ) -> LearnResult<()> {
        check_delta(delta)?;
        let cannot = |why: &str| Err(LearnError::Baseline { why: why.to_owned() });
        if self.forgetting().is_some() {
            return cannot(
                "the promise rests on a world that stays as it is, which forgetting doubts; leave forget out",
            );
        }
        if self.baseline().is_some() {
            return cannot("there is one already; make another learner");
        }
        let baseline = Baseline::new(self.knowledge(), policy_hs, [alpha, delta], value_s, self.begun)?;
        self.around.push(Wrapper::Baseline(Box::new(baseline)));
        Ok(())
    }

    /// Starts the comparison of live steps with the steps of a log, which the learner has counted already.
    pub(super) fn compare_with_log(&mut self) {
        let Kind::Tabular(tabular) = &self.kind else { return };
        // A first episode may have been begun again.
        if self.around.iter().any(|around| matches!(around, Wrapper::LogCheck(_))) {
            return;
        }
        let drops = self.may_drop_log();
        if let Some(check) = LogCheck::new(&tabular.evidence, drops) {
            let last = self.around.iter().position(|a| matches!(a, Wrapper::Baseline(_)));
            self.around.insert(last.unwrap_or(self.around.len()), Wrapper::LogCheck(Box::new(check)));
        }
    }

    /// Whether the steps of a log can be dropped: graph repair and forgetting remember steps themselves.
    pub(in crate::learn) fn may_drop_log(&self) -> bool {
        !self.around.iter().any(|a| matches!(a, Wrapper::Guard(_) | Wrapper::Forget(_)))
    }

    /// After a warm start: the contradiction between live steps and the log, if there is one. Something unrecorded
    /// acted on the levers of the log, or the world has changed since. A log with the same rows as live steps is
    /// contradicted with probability at most 0.01.
    pub fn log_contradicted(&self) -> Option<&LogContradicted> {
        self.around.iter().find_map(|around| match around {
            Wrapper::LogCheck(check) => check.found(),
            Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Baseline(_) | Wrapper::Forget(_) => {
                None
            }
        })
    }

    /// Report of conservative exploration, if there is a baseline.
    pub fn baseline(&self) -> Option<BaselineReport> {
        self.around.iter().find_map(|around| match around {
            Wrapper::Baseline(baseline) => Some(baseline.report()),
            Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_) => {
                None
            }
        })
    }

    /// Whether steps contradict what certificates rest on: the tested graph, or a log that the learner still uses.
    pub fn is_contradicted(&self) -> bool {
        self.graph_contradicted() || self.log_contradicted().is_some_and(|found| !found.dropped)
    }

    /// Whether the steps contradict the tested graph; false without a test.
    pub fn graph_contradicted(&self) -> bool {
        self.around.iter().any(|around| match around {
            Wrapper::Watch(monitor) => monitor.contradicted(),
            // It revises a graph at once, if it can.
            Wrapper::Guard(guard) => guard.contradicted(),
            Wrapper::Explore(_) | Wrapper::Baseline(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_) => false,
        })
    }

    fn guard(&self) -> Option<&Guard> {
        self.around.iter().find_map(|around| match around {
            Wrapper::Guard(guard) => Some(guard.as_ref()),
            Wrapper::Explore(_)
            | Wrapper::Watch(_)
            | Wrapper::Baseline(_)
            | Wrapper::Forget(_)
            | Wrapper::LogCheck(_) => None,
        })
    }

    fn forgetting(&self) -> Option<&Forgetting> {
        self.around.iter().find_map(|around| match around {
            Wrapper::Forget(forget) => Some(forget.as_ref()),
            Wrapper::Explore(_)
            | Wrapper::Guard(_)
            | Wrapper::Watch(_)
            | Wrapper::Baseline(_)
            | Wrapper::LogCheck(_) => None,
        })
    }

    /// With `forget=reset`: detected change points, in order; at most the latest 1,024.
    ///
    /// The total probability, over all rows, that an unchanged row is ever among them is at most δ.
    pub fn changes(&self) -> Vec<ChangeNoticed> {
        match (&self.kind, self.forgetting()) {
            (Kind::Tabular(tabular), Some(forget)) => forget.changes(tabular.view()),
            (Kind::Tabular(_) | Kind::Linear(_), _) => Vec::new(),
        }
    }

    /// With `forget=reset`: number of all detected change points.
    pub fn n_changes(&self) -> u64 {
        self.forgetting().map_or(0, Forgetting::n_changes)
    }

    /// Whether it forgets, so that guarantees for stationary worlds do not apply.
    pub fn forgets(&self) -> bool {
        self.forgetting().is_some()
    }

    /// The declared knowledge; graph repair may have revised the graph since.
    pub(in crate::learn) fn declared(&self) -> &Knowledge {
        self.guard().map_or_else(|| self.knowledge(), Guard::declared)
    }
}
