//! Experiments in a confounded log: mechanisms that are learned from steps whose levers were set by a draw.
//!
//! Where a hidden variable acts on a lever and on an outcome, other steps do not show what setting the lever does to
//! the outcome. In a randomised step nothing hidden acts on the levers, so its rows are those of the world with the
//! levers randomised. All other quantities are the same in both kinds of steps.

use serde::{Deserialize, Serialize};

use super::FitError;
use super::confounded::Confounded;
use super::keep::Kept;
use super::structure::{Structure, structure};
use crate::data::LogStep;
use crate::learn::{Evidence, Knowledge};
use crate::world::{Kind, World};

/// Variables whose mechanisms are learned from randomised steps only, and the levers that are confounded with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RandomisedOnly {
    pub(crate) variables: Vec<String>,
    pub(crate) levers: Vec<String>,
}

/// What is learned from randomised steps only.
#[derive(Clone, Debug)]
pub(crate) struct Experiments {
    pub(crate) of: RandomisedOnly,
    /// The graph of the other steps: hidden variables act on levers.
    pub(super) as_logged: Knowledge,
    /// For each learned mechanism, whether it is learned from randomised steps only.
    mechanisms: Vec<bool>,
}

impl Experiments {
    /// The mechanisms that a step does not count for.
    pub(crate) fn left_out(&self, step: &LogStep<'_>) -> &[bool] {
        if step.randomised == Some(true) { &[] } else { &self.mechanisms }
    }

    /// The same for counts of the given evidence.
    pub(super) fn new((of, as_logged): (RandomisedOnly, Knowledge), evidence: &Evidence) -> Experiments {
        let of_rows = |rows: &crate::learn::MechanismRows| -> Vec<bool> {
            let learned = |position: usize| {
                let children = &rows.world.mechanisms()[position].children;
                children.iter().any(|&id| of.variables.contains(&rows.world.variable(id).name))
            };
            rows.unknown.iter().map(|unknown| learned(unknown.position)).collect()
        };
        let mechanisms = evidence.view.mechanisms.as_ref().map_or(Vec::new(), of_rows);
        Experiments { of, as_logged, mechanisms }
    }
}

/// The structure of a log with randomised steps.
pub(super) struct ByDraw {
    pub(super) structure: Structure,
    pub(super) kept: Kept,
    /// What is learned from randomised steps only, and the graph of the other steps.
    pub(super) only: (RandomisedOnly, Knowledge),
}

/// The structure of a log with randomised steps, and what is learned from these only; `None` if they identify nothing
/// more. `kept` are the names that the user keeps, `found` is the structure without randomised steps, and `as_logged`
/// its knowledge.
pub(super) fn with_experiments(
    world: &World,
    mut kept: Kept,
    (found, as_logged): (&Structure, Knowledge),
    randomised: &[String],
) -> Result<Option<ByDraw>, FitError> {
    let by_behaviour: Vec<&Confounded> = found.confounded.iter().filter(|of| of.always_set).collect();
    let levers: Vec<String> = by_behaviour.iter().map(|of| of.lever.clone()).collect();
    if levers.is_empty() {
        return Ok(None);
    }
    let structure = structure(world, &mut kept, &[randomised, &levers].concat())?;
    let is_open = |name: &String| structure.confounded.iter().any(|of| of.not_fitted.contains(name));
    let is_hidden = |name: &String| world.find(name).is_some_and(|id| world.variable(id).kind == Kind::Hidden);
    let names = by_behaviour.iter().flat_map(|of| of.not_fitted.clone());
    let mut variables: Vec<String> = names.filter(|name| !is_open(name) && !is_hidden(name)).collect();
    variables.sort();
    variables.dedup();
    Ok(Some(ByDraw { structure, kept, only: (RandomisedOnly { variables, levers }, as_logged) }))
}
