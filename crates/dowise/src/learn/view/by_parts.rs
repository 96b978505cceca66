//! Which learners plan part by part, and what they need for it.

use crate::kernel::{Components, Kernel};
use crate::learn::options::{Causes, Estimate, Options, Schedule, States};
use crate::learn::{Knowledge, LearnResult};
use crate::world::World;

/// A world in parts, for a learner that knows what interventions set off and what that pays.
#[derive(Clone, Debug)]
pub(crate) struct ByParts {
    pub(crate) kernel: Kernel,
    pub(crate) components: Components,
}

impl ByParts {
    /// Whether a learner plans part by part: joint causes are many, every factor is counted by its own key variables alone, and the
    /// rule can be read part by part.
    ///
    /// Posterior samples can. Of confidence sets the best member of a part is a corner if the part has one factor of two values.
    /// P(c | s, a) and rewards have to be known, and no plan may rest on the one before.
    pub(crate) fn serve(told: &Knowledge, options: &Options) -> bool {
        let world = told.world();
        let known = told.knows_mechanisms() && !world.rewards().iter().any(|r| world.mean_is_learned(r));
        let plain = !options.monotone
            && world.joined.is_empty()
            && !options.stage_dependent
            && !options.guard
            && options.forget.is_never()
            && matches!(options.schedule, Schedule::Episode | Schedule::Doubling);
        let read = match options.estimate {
            Estimate::Posterior { .. } => true,
            Estimate::Sets(_) => Components::have_one_binary_factor(world),
            Estimate::Width(_)
            | Estimate::Greedy
            | Estimate::EpsilonGreedy { .. }
            | Estimate::Uniform
            | Estimate::Linear => false,
        };
        let graph = options.causes == Causes::OwnKeys && options.states == States::Factored;
        graph && known && plain && read && Components::pay(world)
    }

    /// The parts of a world that fits.
    pub(crate) fn new(world: &World) -> LearnResult<ByParts> {
        let kernel = Kernel::new(world)?;
        let components = Components::new(world, &kernel);
        Ok(ByParts { kernel, components })
    }

    /// Bytes that it takes at most, with a kernel of the parts.
    pub(crate) fn bytes(world: &World) -> u128 {
        Components::bytes(world).saturating_mul(2).saturating_add(Kernel::bytes(world))
    }
}
