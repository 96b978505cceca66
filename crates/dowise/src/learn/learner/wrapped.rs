//! Wrappers of a learner: their construction, and their reports.

use super::{Kind, Learner};
use crate::learn::Knowledge;
use crate::learn::error::{LearnError, LearnResult, check_delta};
use crate::learn::monitor::{GraphWatch, Monitor};
use crate::learn::options::Options;
use crate::learn::wrappers::{Amendment, Baseline, BaselineReport, ChangeNoticed, Forgetting, Guard, Wrapper};
use crate::world::Action;

impl Learner {
    /// With a guard: the episode in which the causal model was given up, if it was.
    pub fn gave_up_causes(&self) -> Option<u64> {
        self.guard().and_then(Guard::gave_up)
    }

    /// With a guard: how the declared graph was changed, in order; from then on knowledge, evidence and plans are of the changed
    /// graph.
    pub fn amendments(&self) -> &[Amendment] {
        self.guard().map_or(&[], Guard::amendments)
    }

    /// The options that it was made with, which a guard may have changed since; `None` if it regresses on features.
    pub fn declared_options(&self) -> Option<&Options> {
        self.guard().map_or_else(|| self.options(), |guard| Some(guard.declared_options()))
    }

    /// Begins to test the declared graph on every step that is taken in: a lever that acts past the key variables, a parent that a scope
    /// lacks, factors that share a cause. A true graph is ever said to be contradicted with probability `delta` at most, whoever chooses
    /// the interventions. Nothing else changes; see [`Learner::graph_watch`].
    ///
    /// A learner with a guard tests its graph already.
    pub fn watch_graph(&mut self, delta: f64) -> LearnResult<()> {
        self.watch_by(delta, Monitor::of_declared)
    }

    /// The same for a log that is to be taken in: all of its first 8,192 steps are tested, and of the others one in 128, so that
    /// taking in a million steps costs no more than reading them. The promise is the same.
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
            // A baseline comes last.
            let last = self.around.iter().position(|a| matches!(a, Wrapper::Baseline(_)));
            self.around.insert(last.unwrap_or(self.around.len()), watch);
        }
        Ok(())
    }

    /// How the graph fares on the steps that were taken in, if it is tested: by a guard, or since [`Learner::watch_graph`].
    pub fn graph_watch(&self) -> Option<GraphWatch> {
        self.around.iter().find_map(|around| match around {
            Wrapper::Guard(guard) => guard.report(),
            Wrapper::Watch(monitor) => Some(monitor.report(&[])),
            Wrapper::Explore(_) | Wrapper::Baseline(_) | Wrapper::Forget(_) => None,
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

    /// The same with another probability δ with which the promise may be broken than the learner's own.
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

    /// How the baseline was kept, if there is one.
    pub fn baseline(&self) -> Option<BaselineReport> {
        self.around.iter().find_map(|around| match around {
            Wrapper::Baseline(baseline) => Some(baseline.report()),
            Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Forget(_) => None,
        })
    }

    /// Whether the steps that were taken in contradict the graph that is tested now; false where none is.
    pub fn graph_contradicted(&self) -> bool {
        self.around.iter().any(|around| match around {
            Wrapper::Watch(monitor) => monitor.contradicted(),
            // It changes a graph at once, unless there is none to change it to.
            Wrapper::Guard(guard) => guard.contradicted(),
            Wrapper::Explore(_) | Wrapper::Baseline(_) | Wrapper::Forget(_) => false,
        })
    }

    fn guard(&self) -> Option<&Guard> {
        self.around.iter().find_map(|around| match around {
            Wrapper::Guard(guard) => Some(guard.as_ref()),
            Wrapper::Explore(_) | Wrapper::Watch(_) | Wrapper::Baseline(_) | Wrapper::Forget(_) => None,
        })
    }

    fn forgetting(&self) -> Option<&Forgetting> {
        self.around.iter().find_map(|around| match around {
            Wrapper::Forget(forget) => Some(forget.as_ref()),
            Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Baseline(_) => None,
        })
    }

    /// With `forget=reset`: changes of the world that were noticed, in order; of more than 1,024 the latest.
    ///
    /// If a row never changed, it is ever among them with a probability that sums to δ over all rows, at most.
    pub fn changes(&self) -> Vec<ChangeNoticed> {
        match (&self.kind, self.forgetting()) {
            (Kind::Tabular(tabular), Some(forget)) => forget.changes(tabular.view()),
            (Kind::Tabular(_) | Kind::Linear(_), _) => Vec::new(),
        }
    }

    /// With `forget=reset`: how many changes of the world were ever noticed.
    pub fn n_changes(&self) -> u64 {
        self.forgetting().map_or(0, Forgetting::n_changes)
    }

    /// Whether it forgets, so that what rests on a world that stays as it is cannot be promised.
    pub fn forgets(&self) -> bool {
        self.forgetting().is_some()
    }

    /// What it was given when it was made; a guard may have changed the graph since.
    pub(in crate::learn) fn declared(&self) -> &Knowledge {
        self.guard().map_or_else(|| self.knowledge(), Guard::declared)
    }
}
