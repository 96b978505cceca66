//! Learn good interventions when there are too many to try: causal Markov decision processes.
//!
//! Interventions set *levers*. They act through a few *key variables* that one can observe but not set, and only those and
//! the present state decide the next state and the reward. What has to be learned, and what has to be computed, then no
//! longer grows with the number of interventions.
//!
//! # A world
//!
//! A [`World`] is a whole problem, checked when it is made: built by names ([`World::builder`]), read from a file
//! ([`World::from_file`]) or ready-made ([`worlds`]). What is wrong with it is said all at once, with the names used.
//!
//! ```
//! use dowise::World;
//!
//! # fn world() -> Result<World, dowise::WorldError> {
//! let world = World::builder("a walk a day", 7)
//!     .state("mood", ["low", "high"])
//!     .lever("shoes", ["cupboard", "door"])
//!     .key("walk", ["no", "yes"])
//!     .mechanism("walk", ["shoes"], [0.8, 0.2, 0.3, 0.7])
//!     .next("mood", ["mood", "walk"], [0.9, 0.1, 0.4, 0.6, 0.5, 0.5, 0.1, 0.9])
//!     .reward("well", "mood", [0.0, 1.0])
//!     .build()?;
//! # Ok(world) }
//! # assert_eq!(world()?.interventions().count(), 2);
//! # Ok::<(), dowise::WorldError>(())
//! ```
//!
//! # A plan
//!
//! Where everything is known, a [`Planner`] finds the best policy without listing the interventions, and an [`Arena`] has
//! all that playing and evaluation takes.
//!
//! ```
//! use dowise::{Arena, worlds};
//!
//! let arena = Arena::new(&worlds::world("campaign", &[])?)?; // ten levers, a million mails
//! let mail = arena.best().action(0, 0);
//! let words = arena.world().describe_intervention(mail);
//! assert!(words.starts_with("subject=first name hour=evening"), "{words}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Learning
//!
//! A learner knows the graph, never the transitions ([`Knowledge`]). A [`LearnerSpec`] is a learner as text: one of the
//! published names, a [`Preset`], with options. The simulator evaluators: the regret of every episode is exact.
//!
//! ```
//! use dowise::{Arena, LearnerSpec, worlds};
//!
//! let arena = Arena::new(&worlds::world("river-swim", &[])?)?;
//! let spec: LearnerSpec = "graph-psrl".parse()?;
//! let (episodes, seed) = (200, 1);
//! let mut learner = spec.learner(arena.world(), episodes, seed)?;
//! let mut run = arena.run(seed);
//! let regrets: Vec<f64> = (0..episodes).map(|_| run.episode(&mut learner).regret).collect();
//! let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
//! assert!(mean(&regrets[150..]) < mean(&regrets[..50]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # One's own environment
//!
//! Nothing in a [`Learner`] needs the simulator: begin an episode ([`Learner::begin`]), ask what to do, and tell what
//! happened as an [`Observation`], by names or numbers; any number of episodes may be under way at once. The learner can be
//! saved as text and restored to the last bit. The example `own_environment` is a whole loop; in short:
//!
//! ```
//! use dowise::{Knowledge, Learner, Observation, Preset, worlds};
//!
//! let world = worlds::world("river-swim", &[])?;
//! let knowledge = Knowledge::of(&world);
//! let mut learner = Learner::new(&knowledge, "graph-psrl".parse::<Preset>()?.options(10, 1))?;
//! let mut swim = learner.begin();
//! let action = swim.act(&mut learner, 0)?;
//! let step = Observation::at(&knowledge, 0, 0)?.did_action(&knowledge, action)?;
//! swim.observe(&mut learner, &step.saw(&knowledge, [("push", "forward")])?.then(&knowledge, 1)?)?;
//! swim.end(&mut learner);
//! let again = Learner::restore(&knowledge, &learner.save())?;
//! assert_eq!(again.save(), learner.save());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything random is a function of a seed, the same on any number of threads. There is no terminal, clock or network here.
//!
//! # Glossary
//!
//! | word | meaning | also called |
//! |---|---|---|
//! | world | variables, causal graph, mechanisms, rewards, horizon | causal MDP, environment |
//! | state factor | one component of the state | state variable, S_i |
//! | lever | a variable that can be set | manipulable variable, treatment, X |
//! | intervention | a setting of levers, do(x) | action |
//! | key variable | observed, not settable; levers act through it | mediator, Z |
//! | hidden variable | never observed | latent variable |
//! | configuration | a joint value of the key variables (and of levers that act directly); `cause` in older names | c, z |
//! | mechanism | P(variable given its parents) | conditional distribution |
//! | knowledge | what a learner is given: the graph, and known parameters | prior knowledge |
//! | evidence | counts and exact sums of what was observed | sufficient statistics |
//! | estimator, belief | how evidence becomes values: mean, optimistic, pessimistic, sample | posterior, confidence set |
//! | width | what is added to a mean to be optimistic | bonus |
//! | behaviour policy | the policy that chose the interventions of a log | logging policy |
//! | missingness | whether a value was recorded: at random, or not (MNAR) | censoring |
//! | suboptimality certificate | an upper bound on optimal value − value of the policy, with confidence 1 − δ | gap bound |
//! | conservative exploration | learning that stays within a budget of a baseline policy | safe exploration |
//! | e-process | a test statistic that may be looked at after every step | betting test, anytime-valid test |
//! | enumerable states | few enough states for arrays over them | tabular |
//!
//! `docs/glossary.md` has the rest.

// Results have the same bits on every machine: see `math.rs`. Tests may compare with the system's functions.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

// Tests of what is private use the random worlds of the tests of what is public.
#[cfg(test)]
extern crate self as dowise;

pub mod data;
pub mod diagnostics;
pub mod draw;
mod graph;
mod hash;
mod index;
pub mod kernel;
pub mod learn;
mod loops;
mod math;
mod memory;
pub mod messages;
pub mod offline;
pub mod plan;
#[cfg(feature = "probes")]
pub mod probes;
mod random;
pub mod saved;
pub mod simulate;
pub mod tolerance;
pub mod world;
pub mod worlds;

pub use index::Space;
pub use learn::linear;
pub use learn::{Agent, Knowledge, Learner, LearnerSpec, Observation, Options, Preset};
pub use memory::{MOST_MEMORY, memory_left, memory_limit, set_memory_limit};
pub use plan::{Plan, Planner};
pub use simulate::{Arena, ArenaError, Run, Simulator};
pub use world::{Action, World, WorldBuilder, WorldError};
