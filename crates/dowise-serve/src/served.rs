//! A world that is served: what the learner knows of it, how it learns, and what is done without it.

use dowise::learn::{Estimate, Estimator, Evidence, LearnError, SafetyBudget};
use dowise::world::{Given, NamingError};
use dowise::{Action, Knowledge, Learner, LearnerSpec, Options, World};
use serde_json::{Map, Value};

use crate::shares::{MOST_SHARES, Share};

/// Why a world cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// A learner whose policies cannot be published.
    #[error("{learner} cannot be served: {why}; choose one that counts, such as graph-psrl or graph-ucbvi")]
    Learner {
        /// As text.
        learner: String,
        /// Why not.
        why: &'static str,
    },
    /// The library refuses.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A baseline of another world.
    #[error("the baseline has {found} decisions, this world needs {expected} (one per stage and state)")]
    Baseline {
        /// Entries given.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
    /// A declared value that the world does not have.
    #[error("the declared value of a key variable does not fit the world: {0}")]
    Default(NamingError),
    /// A rule on shares that does not fit the world.
    #[error("{0}")]
    Share(String),
    /// A baseline that a state forbids.
    #[error("the baseline does not fit the world: {0}")]
    NotAllowed(#[from] NamingError),
}

/// What is chosen for a world when it is served; stored, since it decides what is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// The learner.
    pub learner: LearnerSpec,
    /// Episodes that widths count on.
    pub episodes: u64,
    /// Seed of samples.
    pub seed: u64,
    /// Posterior samples that a policy consists of, for learners that sample: 1 to 64.
    pub samples: usize,
    /// What is done without the learner, `[stage][state]`; by default levers are left alone, or else the first allowed intervention.
    pub baseline: Option<Vec<Action>>,
    /// Milliseconds after which a step is learned with what is there.
    pub timeout: Option<u64>,
    /// Values that key variables have if nothing was heard of them by then: (name, value).
    pub defaults: Vec<(String, String)>,
    /// How often levers are set to values, as text: see [`Share::read`].
    pub shares: Vec<String>,
    /// The share α of the baseline that may be lost, and the probability δ with which that may fail; `None` promises nothing.
    pub promise: Option<[f64; 2]>,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            learner: "graph-psrl".parse().expect("invariant: a preset of the library"),
            episodes: 100_000,
            seed: 1,
            samples: 16,
            baseline: None,
            timeout: None,
            defaults: Vec::new(),
            shares: Vec::new(),
            promise: None,
        }
    }
}

/// A world that is served.
#[derive(Debug)]
pub struct Served {
    /// Its name in addresses.
    pub name: String,
    /// The world.
    pub world: World,
    /// What the learner is given.
    pub knowledge: Knowledge,
    /// How it learns.
    pub options: Options,
    /// As chosen.
    pub choices: Choices,
    /// `[stage][state]`
    pub baseline: Vec<Action>,
    /// Values of key variables at a timeout, by their positions.
    pub defaults: Vec<Option<usize>>,
    /// How often levers are set to values.
    pub shares: Vec<Share>,
    /// Which readings a policy consists of besides the mean.
    pub explores: Explores,
}

/// What a policy explores by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Explores {
    /// One of several posterior samples, by episode.
    Samples {
        /// Weight of the prior.
        prior: f64,
    },
    /// One optimistic plan.
    Optimism(Estimator),
    /// It does not.
    Never,
}

impl Served {
    /// Checks that a world can be served.
    pub fn new(name: &str, world: &World, choices: Choices) -> Result<Served, ServedError> {
        let text = choices.learner.to_string();
        let refuse = |why| Err(ServedError::Learner { learner: text, why });
        if choices.learner.linear_options(1, 0).is_some() {
            return refuse("it regresses on features");
        }
        let knowledge = choices.learner.knowledge(world)?;
        let options = choices.learner.options(choices.episodes, choices.seed);
        if options.guard {
            return refuse("a guard compares steps in their order");
        }
        if !options.forget.is_never() {
            // What a log without a deleted episode comes to must be what is left when its steps are taken back.
            return refuse(
                "what it forgets depends on the order of steps, so that a deleted episode could not be taken out again without a trace",
            );
        }
        let explores = match options.estimate {
            Estimate::Posterior { prior } => Explores::Samples { prior },
            Estimate::Width(width) => Explores::Optimism(Estimator::Width(width, options.scale)),
            Estimate::Sets(sets) => Explores::Optimism(Estimator::Optimistic(sets)),
            Estimate::Greedy => Explores::Never,
            Estimate::EpsilonGreedy { .. } => return refuse("it explores without a plan"),
            Estimate::Uniform => return refuse("it learns nothing"),
            Estimate::Linear => return refuse("it regresses on features"),
        };
        Learner::new(&knowledge, options.clone())?;
        if let Some([alpha, delta]) = choices.promise {
            SafetyBudget::new(alpha, delta)?;
        }
        let expected = world.horizon() * world.n_states();
        let baseline = match &choices.baseline {
            Some(given) if given.len() != expected => {
                return Err(ServedError::Baseline { found: given.len(), expected });
            }
            Some(given) => given.clone(),
            None => (0..expected).map(|i| first_allowed(world, i % world.n_states())).collect(),
        };
        for (i, &action) in baseline.iter().enumerate() {
            world.check_allowed(i % world.n_states(), action)?;
        }
        let named = |(key, value): &(String, String)| (key.clone(), dowise::world::GivenValue::Name(value.clone()));
        let defaults = Given::Named(choices.defaults.iter().map(named).collect());
        let defaults = world.read_values(world.keys(), "key variable", &defaults).map_err(ServedError::Default)?;
        if choices.shares.len() > MOST_SHARES {
            let given = choices.shares.len();
            return Err(ServedError::Share(format!(
                "there are {given} rules on shares, and at most {MOST_SHARES} are possible"
            )));
        }
        let shares: Result<Vec<Share>, String> = choices.shares.iter().map(|text| Share::read(world, text)).collect();
        let shares = shares.map_err(ServedError::Share)?;
        Ok(Served {
            shares,
            name: name.to_owned(),
            world: world.clone(),
            knowledge,
            options,
            choices,
            baseline,
            defaults,
            explores,
        })
    }

    /// What is done without the learner.
    pub fn baseline(&self, stage: usize, state: usize) -> Action {
        self.baseline[stage * self.world.n_states() + state]
    }

    /// The learner that has seen this evidence.
    pub fn learner(&self, evidence: Evidence) -> Result<Learner, LearnError> {
        Learner::with_evidence(evidence, self.options.clone())
    }

    /// An intervention as `{lever: value}`.
    pub fn intervention(&self, action: Action) -> Map<String, Value> {
        object(self.world.action_names(action))
    }

    /// A state as `{factor: value}`.
    pub fn state(&self, state: usize) -> Map<String, Value> {
        object(self.world.state_names(state))
    }
}

fn object(pairs: Vec<(&str, &str)>) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// Levers left alone where that is allowed, or else the first intervention that is.
fn first_allowed(world: &World, state: usize) -> Action {
    let digits = world.state_space().digits(state);
    let all = world.interventions();
    let mut ranks = (0..all.count()).map(|i| all.nth(i));
    ranks.find(|&a| all.allows(&digits, a)).expect("invariant: every state has an allowed intervention")
}
