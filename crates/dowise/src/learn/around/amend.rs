//! The smallest change of a graph, or of how it is seen, that a finding does not contradict.

use serde::{Deserialize, Serialize};

use crate::learn::monitor::{Other, Outcome};
use crate::learn::options::{Causes, Estimate, Options, Schedule, Sets, States};
use crate::learn::{Knowledge, LearnError, LearnResult};
use crate::world::{LearnedForm, VarId, World};

/// How a graph is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    /// An arrow is added, or two factors are no longer taken to be independent.
    Arrow(Outcome, Other),
    /// Interventions are causes of their own, states are seen whole, and nothing that followed from the graph is believed.
    NoCauses,
}

impl Change {
    /// What a learner is told after it, and its options.
    pub(crate) fn apply(self, told: &Knowledge, options: &Options) -> LearnResult<(Knowledge, Options)> {
        let mut options = Options { guard: false, ..options.clone() };
        let world = told.world();
        let of = |other: Other| match other {
            Other::Lever(l) => world.levers().get(l).copied(),
            Other::Before(i) | Other::Next(i) => world.state().get(i).copied(),
        };
        let told = match self {
            Change::Arrow(Outcome::Next(i), Other::Next(k)) if i < world.state().len() && k < i => {
                // What is counted are single factors or whole states.
                options.states = States::Flat;
                told.clone().without_transitions()
            }
            Change::Arrow(outcome, other) => {
                let parent = of(other).ok_or(LearnError::NothingToGuard)?;
                let mut changed = Ok(());
                let told = told.clone().changed(|world| changed = add_arrow(world, outcome, parent));
                changed?;
                told
            }
            Change::NoCauses => {
                options.states = States::Flat;
                options.causes = Causes::Actions;
                options.estimate = Estimate::Sets(Sets::default());
                options.schedule = Schedule::Episode;
                told.clone().without_rewards().without_transitions()
            }
        };
        Ok((told, options))
    }

    /// What the learner does from then on, in words.
    pub(crate) fn words(self, told: &Knowledge) -> String {
        let world = told.world();
        let name = |id: VarId| world.variable(id).name.as_str();
        match self {
            Change::Arrow(_, Other::Next(_)) => "next states are counted whole, not factor by factor".to_owned(),
            Change::Arrow(outcome, other) => {
                let parent = match other {
                    Other::Lever(l) => name(world.levers()[l]),
                    Other::Before(i) | Other::Next(i) => name(world.state()[i]),
                };
                match outcome {
                    Outcome::Next(i) => format!("{parent} is added to the scope of {}", name(world.state()[i])),
                    Outcome::Paid(i) => format!("{parent} is added to the scope of {}", world.rewards()[i].name),
                    Outcome::Key(id) => format!("{parent} is added to the parents of {}", name(VarId(id))),
                }
            }
            Change::NoCauses => "the causes are given up for plain UCBVI".to_owned(),
        }
    }
}

/// Adds a parent of an outcome; its numbers have to be learned from then on.
fn add_arrow(world: &mut World, outcome: Outcome, parent: VarId) -> LearnResult<()> {
    let missing = LearnError::NothingToGuard;
    match outcome {
        Outcome::Next(i) => {
            let transition = world.transitions.get_mut(i).ok_or(missing)?;
            transition.table = None;
            transition.parents.push(parent);
        }
        Outcome::Paid(i) => {
            let term = world.rewards.get_mut(i).ok_or(missing)?;
            term.table = None;
            term.scope.push(parent);
        }
        Outcome::Key(id) => {
            let decides = |m: &crate::world::Mechanism| m.children.contains(&VarId(id));
            let at = world.mechanisms.iter().position(decides).ok_or(missing)?;
            // Parents come before children: a lever that is decided later may follow from this very variable.
            if world.mechanisms[at..].iter().any(|m| m.children.contains(&parent)) {
                return Err(LearnError::NothingToGuard);
            }
            let mechanism = &mut world.mechanisms[at];
            (mechanism.table, mechanism.assumed) = (None, Default::default());
            mechanism.assumed.form = LearnedForm::Table;
            mechanism.parents.push(parent);
        }
    }
    Ok(())
}
