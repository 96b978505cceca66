//! Views for decomposed planning: the learners that plan by components, and their requirements.

use std::sync::Arc;

use super::MechanismRows;
use crate::kernel::{CauseSpace, Components, Kernel, Reach, Sure};
use crate::learn::options::{Causes, Estimate, Options, Schedule, States};
use crate::learn::{Knowledge, LearnResult};
use crate::world::World;

/// A decomposed world.
#[derive(Clone, Debug)]
pub(crate) struct Decomposed {
    pub(crate) components: Components,
    /// Effects of interventions, if known; otherwise they are rebuilt for every plan.
    pub(crate) known: Option<(Arc<Kernel>, Reach)>,
}

impl Decomposed {
    /// Whether a learner uses decomposed planning: joint key values are many, every factor is counted by its own key
    /// variables alone, and the estimator supports components.
    ///
    /// Posterior samples and optimistic estimates do. Plans must not depend on earlier ones.
    pub(crate) fn serve(knowledge: &Knowledge, options: &Options) -> bool {
        let Some(sure) = sure(options).filter(|_| joint_only(knowledge, options).is_none()) else { return false };
        with_counted(knowledge, |world| Components::pay(world, sure)).unwrap_or(false)
    }

    /// If a learner enumerates too many joint key values: their number, and why decomposed planning does not apply,
    /// with advice.
    pub(crate) fn why_not(knowledge: &Knowledge, options: &Options) -> Option<(usize, String)> {
        let n_causes = CauseSpace::new(knowledge.world()).len();
        if options.causes == Causes::Actions || !Components::are_many(n_causes) || Decomposed::serve(knowledge, options)
        {
            return None;
        }
        let large = |world: &World| Components::too_large(world, sure(options).unwrap_or(Sure::Numbers));
        let why = match (joint_only(knowledge, options), with_counted(knowledge, large).flatten()) {
            (Some(why), _) => why.to_owned(),
            (None, Some(part)) => format!(
                "a part of the world is too large to be planned by itself: {part}; split it (fewer key variables behind one next value or reward term), \
                 or give its levers fewer values"
            ),
            (None, None) => format!(
                "with {} states it would be no faster by components; use fewer state factors or values",
                knowledge.n_states()
            ),
        };
        Some((n_causes, why))
    }

    /// The components of a supported world; with the world in which unknown mechanisms are counted.
    pub(crate) fn new(world: &World, mechanisms: Option<&MechanismRows>) -> LearnResult<Decomposed> {
        if let Some(rows) = mechanisms {
            return Ok(Decomposed { components: Components::new(&rows.world), known: None });
        }
        let (kernel, components) = (Kernel::new(world)?, Components::new(world));
        let reach = Reach::new(&components, &kernel);
        Ok(Decomposed { components, known: Some((Arc::new(kernel), reach)) })
    }

    /// Most bytes, with a kernel of the components; for unknown mechanisms, with the objects rebuilt for every plan.
    pub(crate) fn bytes(world: &World, mechanisms: Option<&MechanismRows>, options: &Options) -> u128 {
        let sure = sure(options).unwrap_or(Sure::Numbers);
        let blocks = if options.stage_dependent { world.horizon() as u128 } else { 1 };
        let (world, kernel) = match mechanisms {
            None => (world, Kernel::bytes(world)),
            Some(rows) => (&rows.world, Kernel::bytes_learned(&rows.world, sure == Sure::Sets)),
        };
        // What the settings of parts set off is there once or twice; the kernels of a plan, which take less, for every block, and those of
        // the plan before.
        Components::bytes(world, sure).saturating_mul(1 + blocks).saturating_add(kernel)
    }

    /// Whether every component is small enough for optimistic planning with confidence sets, whatever the learner's
    /// estimator.
    pub(crate) fn fits_sets(knowledge: &Knowledge) -> bool {
        with_counted(knowledge, |world| Components::sizes(world, Sure::Sets).is_ok()).unwrap_or(false)
    }
}

/// The world in which unknown mechanisms are counted; `None` if they cannot be counted.
fn with_counted<T>(knowledge: &Knowledge, ask: impl FnOnce(&World) -> T) -> Option<T> {
    match MechanismRows::new(knowledge.world()) {
        Ok(None) => Some(ask(knowledge.world())),
        Ok(Some(rows)) => Some(ask(&rows.world)),
        Err(_) => None,
    }
}

/// Why a learner needs all joint key values in any world, with advice; `None` if it does not.
fn joint_only(knowledge: &Knowledge, options: &Options) -> Option<&'static str> {
    let graph = options.causes == Causes::OwnKeys && options.states == States::Factored;
    let of_rule = match options.estimate {
        Estimate::Posterior { .. } | Estimate::Sets(_) => None,
        Estimate::Width(_) => Some(
            "widths are added to joint values; use confidence sets or samples (graph-ucbvi, graph-psrl without width=…)",
        ),
        Estimate::Greedy | Estimate::EpsilonGreedy { .. } | Estimate::Uniform => Some(
            "this rule plans with joint values never seen; use confidence sets or samples (graph-ucbvi, graph-psrl)",
        ),
        Estimate::Linear => Some("regressions have features of joint values; use graph-psrl or graph-ucbvi"),
    };
    match options.schedule {
        _ if !graph => Some("graph-psrl and graph-ucbvi plan such worlds by components"),
        _ if of_rule.is_some() => of_rule,
        _ if options.monotone => Some("monotone=true compares joint values from plan to plan; leave it out"),
        _ if !knowledge.world().joined.is_empty() => {
            Some("state factors are counted together, as a guard found them dependent")
        }
        Schedule::Visited => {
            Some("schedule=visited looks at joint values one state at a time; use schedule=episode or doubling")
        }
        Schedule::Episode | Schedule::Doubling | Schedule::Growing => None,
    }
}

/// The uncertainty of an estimator that supports components; `None` for the others.
fn sure(options: &Options) -> Option<Sure> {
    match options.estimate {
        Estimate::Posterior { .. } => Some(Sure::Numbers),
        Estimate::Sets(_) => Some(Sure::Sets),
        Estimate::Width(_)
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform
        | Estimate::Linear => None,
    }
}
