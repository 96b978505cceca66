//! Catalogue of built-in worlds (benchmarks and examples) by name, as world files.

use super::{
    DeepSea, GeneratorError, Linear, LinearCode, LinearDoses, LinearLock, LinearRiver, LinearWorldError, Paper,
    RiverSwim,
};
use crate::messages::nearest;
use crate::world::{World, WorldError};

/// The ready-made worlds.
#[derive(Clone, Copy)]
enum Template {
    Campaign,
    Treatment,
    RiverSwim,
    DeepSea,
    Paper,
    Linear,
    LinearRiver,
    LinearLock,
    LinearDoses,
    LinearCode,
}

const NAMES: [&str; 10] = [
    "campaign",
    "treatment",
    "river-swim",
    "deep-sea",
    "paper",
    "linear",
    "linear-river",
    "linear-lock",
    "linear-doses",
    "linear-code",
];

/// Names of the ready-made worlds.
pub fn names() -> &'static [&'static str] {
    &NAMES
}

impl Template {
    /// In the order of [`NAMES`].
    const ALL: [Template; NAMES.len()] = [
        Template::Campaign,
        Template::Treatment,
        Template::RiverSwim,
        Template::DeepSea,
        Template::Paper,
        Template::Linear,
        Template::LinearRiver,
        Template::LinearLock,
        Template::LinearDoses,
        Template::LinearCode,
    ];

    fn named(name: &str) -> Option<Template> {
        NAMES.iter().position(|n| *n == name).map(|i| Template::ALL[i])
    }
}

/// A description of a built-in world in one line.
pub fn describe(name: &str) -> Option<&'static str> {
    Some(match Template::named(name)? {
        Template::Campaign => "an e-mail campaign: ten levers, a million mails, four key variables",
        Template::Treatment => {
            "a treatment plan: at most three changes a month, some of them forbidden to some patients"
        }
        Template::RiverSwim => "hard to explore: the feast is far upstream, and forward is rare",
        Template::DeepSea => "hard to explore: one treasure, found only by going right at every step",
        Template::Paper => "the random environment of the paper's experiments",
        Template::Linear => "a random world whose transitions and rewards are linear in features, exactly or nearly",
        Template::LinearRiver => "a river of few places behind many states: features tell what tables cannot",
        Template::LinearLock => {
            "a combination lock of few places behind many states, which pays nothing until it is open"
        }
        Template::LinearDoses => "a pressure and a dose on many levels, with bumps as features",
        Template::LinearCode => "a river of few places in 10^13 states that nobody lists: learned from the states met",
    })
}

/// A setting of a generated world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSetting {
    /// Its name.
    pub key: &'static str,
    /// Its default.
    pub default: String,
    /// Its meaning.
    pub about: &'static str,
}

/// The settings of a built-in world; none for the hand-written ones.
pub fn settings(name: &str) -> Vec<TemplateSetting> {
    match Template::named(name) {
        Some(Template::RiverSwim) => RiverSwim::settings(),
        Some(Template::DeepSea) => DeepSea::settings(),
        Some(Template::Paper) => Paper::settings(),
        Some(Template::Linear) => Linear::settings(),
        Some(Template::LinearRiver) => LinearRiver::settings(),
        Some(Template::LinearLock) => LinearLock::settings(),
        Some(Template::LinearDoses) => LinearDoses::settings(),
        Some(Template::LinearCode) => LinearCode::settings(),
        Some(Template::Campaign | Template::Treatment) | None => vec![],
    }
}

/// The world file of a built-in world.
///
/// `choices` are (setting, value); the others keep their defaults.
///
/// ```
/// let text = dowise::worlds::text("deep-sea", &[("size", "5"), ("seed", "3")]).unwrap();
/// assert_eq!(dowise::World::from_toml(&text, "deep-sea.toml").unwrap().horizon(), 5);
/// ```
pub fn text(name: &str, choices: &[(&str, &str)]) -> Result<String, TemplateError> {
    let written = |text: &'static str| match choices.first() {
        Some((key, _)) => Err(unknown_setting(name, key)),
        None => Ok(text.to_owned()),
    };
    match template(name)? {
        Template::Campaign => written(CAMPAIGN),
        Template::Treatment => written(TREATMENT),
        Template::RiverSwim
        | Template::DeepSea
        | Template::Paper
        | Template::Linear
        | Template::LinearRiver
        | Template::LinearLock
        | Template::LinearDoses
        | Template::LinearCode => Ok(world(name, choices)?.to_toml()),
    }
}

/// A built-in world: the one whose file [`text`] returns.
pub fn world(name: &str, choices: &[(&str, &str)]) -> Result<World, TemplateError> {
    match template(name)? {
        Template::Campaign | Template::Treatment => Ok(World::from_toml(&text(name, choices)?, name)?),
        Template::RiverSwim => generated::<RiverSwim>(name, choices),
        Template::DeepSea => generated::<DeepSea>(name, choices),
        Template::Paper => generated::<Paper>(name, choices),
        Template::Linear => generated::<Linear>(name, choices),
        Template::LinearRiver => generated::<LinearRiver>(name, choices),
        Template::LinearLock => generated::<LinearLock>(name, choices),
        Template::LinearDoses => generated::<LinearDoses>(name, choices),
        Template::LinearCode => generated::<LinearCode>(name, choices),
    }
}

const CAMPAIGN: &str = include_str!("../../worlds/campaign.toml");
const TREATMENT: &str = include_str!("../../worlds/treatment.toml");

fn template(name: &str) -> Result<Template, TemplateError> {
    let unknown = || TemplateError::UnknownName {
        name: name.into(),
        nearest: nearest(name, names().iter().copied()).map(str::to_owned),
    };
    Template::named(name).ok_or_else(unknown)
}

/// Why a built-in world cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The name is unknown.
    #[error("there is no ready-made world \"{name}\"{}; there are {}", did_you_mean(.nearest), names().join(", "))]
    UnknownName {
        /// As asked for.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// The setting is unknown.
    #[error("{world} has no setting \"{key}\"{}; {}", did_you_mean(.nearest), known(.world))]
    UnknownSetting {
        /// The world.
        world: String,
        /// As asked for.
        key: String,
        /// The most similar setting.
        nearest: Option<String>,
    },
    /// The value of a setting cannot be parsed.
    #[error("{world}: {key} = \"{value}\" is not {expected}")]
    BadValue {
        /// The world.
        world: String,
        /// The setting.
        key: String,
        /// As given.
        value: String,
        /// The permitted values.
        expected: &'static str,
    },
    /// The generator failed.
    #[error("{world}: {error}")]
    Generator {
        /// The world.
        world: String,
        /// The reason.
        error: GeneratorError,
    },
    /// The generated world is not valid.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// A world generated from settings.
trait Generator: Default {
    fn settings() -> Vec<TemplateSetting>;
    /// Sets one setting from its text; `None` if it does not exist, otherwise the permitted values on failure.
    fn set(&mut self, key: &str, value: &str) -> Option<Result<(), &'static str>>;
    fn make(&self) -> Result<World, LinearWorldError>;
}

macro_rules! generator {
    ($type:ident, $make:expr, $($field:ident: $kind:literal, $about:literal;)*) => {
        impl Generator for $type {
            fn settings() -> Vec<TemplateSetting> {
                let default = $type::default();
                vec![$(TemplateSetting { key: stringify!($field), default: default.$field.to_string(), about: $about }),*]
            }
            fn set(&mut self, key: &str, value: &str) -> Option<Result<(), &'static str>> {
                match key {
                    $(stringify!($field) => Some(match value.parse() {
                        Ok(parsed) => {
                            self.$field = parsed;
                            Ok(())
                        }
                        Err(_) => Err($kind),
                    }),)*
                    _ => None,
                }
            }
            fn make(&self) -> Result<World, LinearWorldError> {
                $make(self)
            }
        }
    };
}

generator! { Paper, |made: &Paper| Ok(World::new(made.spec()?)?),
    levels: "a whole number", "values of each lever (m)";
    levers: "a whole number", "levers, and key variables (n)";
    factors: "a whole number", "state factors (d_s)";
    horizon: "a whole number", "steps in an episode (H)";
    seed: "a whole number", "which environment is drawn";
    normalise: "true or false", "whether a step pays at most 1";
    joint: "true or false", "one table for all key variables, or each with its own lever";
}

generator! { RiverSwim, |made: &RiverSwim| Ok(World::new(made.spec()?)?),
    positions: "a whole number", "places along the river";
    levels: "a whole number", "values of each of the two levers";
    good: "a whole number", "combinations of the levers that carry one forward";
    forward: "a number", "P(forward) under those";
    rare: "a number", "P(forward) under all others";
    horizon: "a whole number", "steps in an episode (H)";
    seed: "a whole number", "which combinations are the good ones";
}

generator! { DeepSea, |made: &DeepSea| Ok(World::new(made.spec()?)?),
    size: "a whole number", "rows, columns and steps in an episode";
    levers: "a whole number", "number of levers";
    levels: "a whole number", "values of each lever";
    slip: "a number", "chance that a step goes the other way";
    seed: "a whole number", "which levers go right in which cell";
}

generator! { Linear, Linear::world,
    states: "a whole number", "number of states (S)";
    causes: "a whole number", "values of the key variable (Z)";
    levers: "a whole number", "number of levers";
    levels: "a whole number", "values of each lever";
    dimension: "a whole number", "number of features (d)";
    horizon: "a whole number", "steps in an episode (H)";
    distance: "a number", "how far from linear, 0 to 1";
    low_rank: "true or false", "whether transitions are kept as features and anchors, so that there may be many states";
    seed: "a whole number", "which environment is drawn";
}

generator! { LinearRiver, LinearRiver::world,
    states: "a whole number", "number of states (S)";
    causes: "a whole number", "values of the key variable (Z)";
    levers: "a whole number", "number of levers";
    levels: "a whole number", "values of each lever";
    dimension: "a whole number", "number of places, and of features (d)";
    horizon: "a whole number", "steps in an episode (H)";
    good: "a whole number", "causes that carry one forward, in each state other ones";
    forward: "a number", "P(forward) under those";
    aim: "a number", "how surely levers bring about the cause that they aim at";
    distance: "a number", "how far from linear, 0 to 1";
    seed: "a whole number", "which environment is drawn";
}

generator! { LinearLock, LinearLock::world,
    states: "a whole number", "number of states (S)";
    causes: "a whole number", "values of the key variable (Z)";
    levers: "a whole number", "number of levers";
    levels: "a whole number", "values of each lever";
    dimension: "a whole number", "number of places, and of features (d)";
    horizon: "a whole number", "steps in an episode (H)";
    aim: "a number", "how surely levers bring about the cause that they aim at";
    slip: "a number", "chance that even the right cause leads back";
    distance: "a number", "how far from linear, 0 to 1";
    seed: "a whole number", "which environment is drawn";
}

generator! { LinearDoses, LinearDoses::world,
    levels: "a whole number", "values of the pressure, and of the dose";
    causes: "a whole number", "values of the response (Z)";
    levers: "a whole number", "number of levers";
    settings: "a whole number", "values of each lever";
    horizon: "a whole number", "steps in an episode (H)";
    width: "a number", "width of a bump, in distances between neighbours";
    aim: "a number", "how surely levers bring about the response that they aim at";
    distance: "a number", "how far from linear, 0 to 1";
    seed: "a whole number", "which setting aims at which response";
}

generator! { LinearCode, LinearCode::world,
    places: "a whole number", "places along the river; twice as many features (d), less one";
    symbols: "a whole number", "symbols in a state";
    letters: "a whole number", "values of each symbol";
    causes: "a whole number", "values of the key variable (Z)";
    levers: "a whole number", "number of levers";
    levels: "a whole number", "values of each lever";
    horizon: "a whole number", "steps in an episode (H)";
    aim: "a number", "how surely levers bring about the cause that they aim at";
    seed: "a whole number", "which environment is drawn";
}

fn generated<G: Generator>(name: &str, choices: &[(&str, &str)]) -> Result<World, TemplateError> {
    match chosen::<G>(name, choices)?.make() {
        Ok(world) => Ok(world),
        Err(LinearWorldError::Generator(error)) => Err(TemplateError::Generator { world: name.into(), error }),
        Err(LinearWorldError::World(error)) => Err(error.into()),
    }
}

fn chosen<G: Generator>(name: &str, choices: &[(&str, &str)]) -> Result<G, TemplateError> {
    let mut generator = G::default();
    for &(key, value) in choices {
        match generator.set(key, value) {
            None => return Err(unknown_setting(name, key)),
            Some(Err(expected)) => {
                let (world, key, value) = (name.into(), key.into(), value.into());
                return Err(TemplateError::BadValue { world, key, value, expected });
            }
            Some(Ok(())) => {}
        }
    }
    Ok(generator)
}

fn unknown_setting(world: &str, key: &str) -> TemplateError {
    let nearest = nearest(key, settings(world).iter().map(|s| s.key)).map(str::to_owned);
    TemplateError::UnknownSetting { world: world.into(), key: key.into(), nearest }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |n| format!(" (did you mean \"{n}\"?)"))
}

fn known(world: &str) -> String {
    let keys: Vec<&str> = settings(world).iter().map(|s| s.key).collect();
    if keys.is_empty() {
        return "it is written by hand and has none: edit the file instead".into();
    }
    format!("there are {}", keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ready_made_world_is_described_and_checks_without_a_warning() {
        for &name in names() {
            assert!(describe(name).is_some());
            let world = World::from_toml(&text(name, &[]).unwrap(), name).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(world.is_fully_known(), "{name}");
            assert!(world.findings().is_empty(), "{name}: {:?}", world.findings());
            let [lo, hi] = world.reward_range();
            assert!(lo >= 0.0 && hi <= 1.0, "{name} pays {lo} to {hi}");
        }
    }

    #[test]
    fn the_campaign_has_a_million_mails_and_few_causes() {
        let world = World::from_toml(&text("campaign", &[]).unwrap(), "campaign").unwrap();
        assert_eq!(world.interventions().count(), 1 << 20);
        assert_eq!((world.n_states(), world.sizes(&world.cause_variables()).iter().product()), (18, 24usize));
    }

    #[test]
    fn names_settings_and_values_that_do_not_exist_are_named_in_the_error() {
        let says = |name, choices: &[(&str, &str)]| text(name, choices).unwrap_err().to_string();
        assert!(says("campain", &[]).starts_with(
            "there is no ready-made world \"campain\" (did you mean \"campaign\"?); there are campaign, treatment"
        ));
        assert!(
            says("paper", &[("lever", "3")])
                .starts_with("paper has no setting \"lever\" (did you mean \"levers\"?); there are")
        );
        assert_eq!(says("paper", &[("levers", "few")]), "paper: levers = \"few\" is not a whole number");
        assert_eq!(says("deep-sea", &[("slip", "2")]), "deep-sea: slip is 2, and must be between 0 and 1");
        assert!(says("campaign", &[("seed", "1")]).contains("edit the file instead"));
    }
}
