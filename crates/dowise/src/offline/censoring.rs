//! Episodes that stop before the horizon without an end: whether stopping depends on what happened.
//!
//! The model takes such episodes to go on as others in the same state. If a lever, a key variable, a payment or the next
//! state makes stopping more likely, stopping may be an end in disguise, after which nothing follows.

use std::collections::BTreeMap;

use super::contingency::{Draws, Prepared, Table, Tables};
use super::episodes::{Episode, Episodes};
use crate::data::{End, LogStep};
use crate::learn::{Knowledge, MISSING};
use crate::world::VarId;

/// Level of the tests, all together.
const LEVEL: f64 = 0.01;

/// Classes of a payment: the lower and the upper half of its range.
const HALVES: usize = 2;

/// A part of a step on which stopping may depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Variable(VarId),
    /// By its position.
    Reward(usize),
    /// By the position of the state factor.
    Next(usize),
}

/// Counts of steps after which an episode goes on or stops.
#[derive(Clone, Debug)]
pub(crate) struct CensoringCounts {
    knowledge: Knowledge,
    /// `[part][(stage, state)]`: pairs of the part's class and whether the episode stops, `[class][stops]`.
    cells: BTreeMap<Part, BTreeMap<(usize, usize), Vec<f64>>>,
    episodes: u64,
    stopped: u64,
}

/// Whether stopping depends on what happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Censoring {
    /// Episodes that stop before the horizon without an end.
    pub(crate) stopped: u64,
    /// Episodes.
    pub(crate) episodes: u64,
    /// Parts of a step that were tested.
    pub(crate) tested: usize,
    /// The part on which stopping depends most clearly, with its p-value times the number of tests.
    pub(crate) depends_on: Option<(String, f64)>,
}

impl CensoringCounts {
    pub(crate) fn new(knowledge: &Knowledge) -> CensoringCounts {
        CensoringCounts { knowledge: knowledge.clone(), cells: BTreeMap::new(), episodes: 0, stopped: 0 }
    }

    /// Whether an episode stops after its last step although it could go on.
    pub(crate) fn stops(&self, steps: &[LogStep<'_>]) -> bool {
        steps.last().is_some_and(|step| {
            let has_ended = |state| self.knowledge.world().has_ended(state);
            step.observation.stage() + 1 < self.knowledge.horizon()
                && step.end != Some(End::Terminated)
                && !step.observation.next_state().is_some_and(has_ended)
        })
    }

    /// Counts an episode.
    pub(crate) fn add(&mut self, steps: &[LogStep<'_>]) {
        let Some(last) = steps.last() else { return };
        let stops = self.stops(steps);
        self.episodes += u64::from(last.weight);
        self.stopped += if stops { u64::from(last.weight) } else { 0 };
        let goes_on = |i: usize| i + 1 < steps.len();
        for (i, step) in steps.iter().enumerate().filter(|(i, _)| goes_on(*i) || stops) {
            self.add_step(step, !goes_on(i));
        }
    }

    fn add_step(&mut self, step: &LogStep<'_>, stops: bool) {
        let (seen, world) = (&step.observation, self.knowledge.world());
        let variable = |&id: &VarId| (Part::Variable(id), self.knowledge.variable(id).size(), seen.values()[id.ix()]);
        let variables = self.knowledge.levers().iter().chain(self.knowledge.keys()).map(variable);
        let next = (0..self.knowledge.state().len()).map(|i| {
            let value = seen.next_value(self.knowledge.state_space(), i).map_or(MISSING, |value| value as u32);
            (Part::Next(i), self.knowledge.variable(self.knowledge.state()[i]).size(), value)
        });
        let rewards = world.rewards().iter().enumerate().map(|(i, term)| {
            let middle = 0.5 * (term.range[0] + term.range[1]);
            let paid = seen.rewards()[i];
            (Part::Reward(i), HALVES, if paid.is_nan() { MISSING } else { u32::from(paid > middle) })
        });
        let at = (seen.stage(), seen.state());
        for (part, size, class) in variables.chain(next).chain(rewards).filter(|(_, _, class)| *class != MISSING) {
            let rows = self.cells.entry(part).or_default();
            let counts = rows.entry(at).or_insert_with(|| vec![0.0; 2 * size]);
            counts[2 * class as usize + usize::from(stops)] += f64::from(step.weight);
        }
    }

    /// Tests whether stopping depends on a part of the step, given stage and state.
    ///
    /// # Cost
    /// That of a contingency test for each lever, key variable, reward term and state factor.
    pub(crate) fn test(&self) -> Censoring {
        let mut found = Censoring { stopped: self.stopped, episodes: self.episodes, ..Censoring::default() };
        if self.stopped == 0 {
            return found;
        }
        let draws = Draws { most: Draws::enough(self.cells.len(), LEVEL), seed: 0 };
        let mut least: Option<(Part, f64)> = None;
        for (&part, rows) in &self.cells {
            let size = rows.values().next().map_or(0, |counts| counts.len() / 2);
            let tables = rows.values().map(|counts| Table::new(size, 2, counts.clone()));
            let Ok(prepared) = Prepared::new(Tables::new(tables, size, 2, 1.0)) else { continue };
            found.tested += 1;
            let (p, _) = prepared.p_value(draws);
            if least.is_none_or(|(_, least)| p < least) {
                least = Some((part, p));
            }
        }
        let adjusted = least.map(|(part, p)| (part, (p * found.tested as f64).min(1.0)));
        found.depends_on = adjusted.filter(|(_, p)| *p <= LEVEL).map(|(part, p)| (self.name(part), p));
        found
    }

    fn name(&self, part: Part) -> String {
        match part {
            Part::Variable(id) => self.knowledge.variable(id).name.clone(),
            Part::Reward(i) => format!("reward {}", self.knowledge.rewards()[i].name),
            Part::Next(i) => format!("the next {}", self.knowledge.variable(self.knowledge.state()[i]).name),
        }
    }
}

impl Episodes {
    /// Least and greatest possible reward, net of costs, of a stage after an episode stopped; 0 if nothing follows.
    pub(crate) fn continuations(&self) -> [f64; 2] {
        let [least, greatest] = self.knowledge().world().step_range();
        let may_end = self.ends_early() || self.censoring().depends_on.is_some();
        if may_end { [least.min(0.0), greatest.max(0.0)] } else { [least, greatest] }
    }

    /// Whether an episode stops before the horizon without an end.
    pub(crate) fn stops(&self, episode: &Episode) -> bool {
        let Some(last) = self.steps_of(episode).last() else { return false };
        let has_ended = |state: u32| self.knowledge().world().has_ended(state as usize);
        (last.stage as usize) + 1 < self.knowledge().horizon()
            && episode.end != Some(End::Terminated)
            && !last.next.is_some_and(has_ended)
    }
}
