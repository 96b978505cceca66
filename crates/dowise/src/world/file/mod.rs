//! Reads world files (TOML): from bytes to a checked [`World`], with the location of every mistake.
//!
//! The format is described in `docs/reference/world-file.md`.

mod conditions;
mod csv_table;
mod features;
mod interventions;
mod learn;
mod low_rank;
mod mechanisms;
pub(crate) mod node;
mod recognise;
mod rewards;
mod starts;
mod text;
mod variables;

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use self::node::{Node, Reader};
use self::text::{room_for, text_of};
use crate::world::{
    At, EndSpec, FeatureSpec, Located, LowRankSpec, Problem, Severity, Source, StartSpec, World, WorldError, WorldSpec,
    Written,
};

impl World {
    /// Reads a world from the text of a world file; `name` is shown in messages.
    ///
    /// A world that refers to CSV files needs [`World::from_toml_in`] or [`World::from_file`].
    pub fn from_toml(text: &str, name: &str) -> Result<World, WorldError> {
        read(text, name, None)
    }

    /// Reads a world from the text of a world file, with CSV files relative to the directory `dir`.
    pub fn from_toml_in(text: &str, name: &str, dir: &Path) -> Result<World, WorldError> {
        read(text, name, Some(dir))
    }

    /// Reads a world file, with CSV files relative to it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<World, WorldError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match text_of(path) {
            Ok(text) => read(&text, &name, Some(path.parent().unwrap_or(Path::new("")))),
            Err(problem) => Err(WorldError { problems: vec![*problem], sources: Vec::new() }),
        }
    }
}

/// The parsed contents of a world file.
pub(crate) struct Stated {
    pub(crate) spec: WorldSpec,
    pub(crate) features: Option<FeatureSpec>,
    pub(crate) low_rank: Option<LowRankSpec>,
    findings: Vec<Problem>,
    sources: Vec<Source>,
}

impl Stated {
    /// Reads the text, with CSV files relative to the directory, if there is one.
    pub(crate) fn read(text: &str, name: &str, dir: Option<&Path>) -> Result<Stated, WorldError> {
        // Some editors write a byte order mark; it has no meaning in UTF-8.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if let Some(problem) = recognise::no_world(name, text) {
            return Err(WorldError { problems: vec![*problem], sources: Vec::new() });
        }
        let _held = room_for(text, name)?;
        let mut reader = Reader::new(Source { name: name.to_owned(), text: text.to_owned() }, dir);
        let (document, errors) = DeTable::parse_recoverable(text);
        reader.syntax_errors(errors, text);
        if reader.failed() {
            return Err(reader.fail());
        }
        let mut spec = reader.world(document.get_ref());
        let features = reader.features(document.get_ref());
        let low_rank = reader.low_rank(document.get_ref(), &mut spec);
        if reader.failed() {
            // Unreadable parts are skipped, so these are independent mistakes.
            if let Err(error) = World::new(spec) {
                error.problems.into_iter().filter(|p| p.severity == Severity::Error).for_each(|p| reader.push(p));
            }
            return Err(reader.fail());
        }
        let (findings, sources) = reader.done();
        Ok(Stated { spec, features, low_rank, findings, sources })
    }

    /// Validates and compiles the specification.
    pub(crate) fn build(self) -> Result<World, WorldError> {
        let made = World::new(self.spec)
            .and_then(|world| match &self.features {
                Some(features) => world.with_features(features),
                None => Ok(world),
            })
            .and_then(|world| match &self.low_rank {
                Some(low_rank) => world.with_low_rank(low_rank),
                None => Ok(world),
            });
        match made {
            Ok(mut world) => {
                world.findings.splice(0..0, self.findings);
                world.sources = self.sources;
                Ok(world)
            }
            Err(mut error) => {
                error.problems.splice(0..0, self.findings);
                error.sources = self.sources;
                Err(error)
            }
        }
    }
}

/// Maximum number of equal syntax errors shown individually.
const MOST_ALIKE: usize = 5;

impl Reader<'_> {
    fn syntax_errors(&mut self, errors: Vec<toml::de::Error>, text: &str) {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut left_out = 0;
        for error in errors {
            let at = error.span().map(|span| At { source: 0, start: span.start, end: span.end });
            let times = seen.entry(error.message().to_owned()).or_default();
            *times += 1;
            if *times <= MOST_ALIKE {
                self.push(syntax(error.message(), at, text));
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            let end = Some(At { source: 0, start: text.len(), end: text.len() });
            let message = format!("not TOML: and {left_out} more of the same");
            self.push(Problem::error("syntax", message).help("mend these first").at(end));
        }
    }
}

/// A TOML syntax error; an unquoted word, the most common mistake, is named.
fn syntax(message: &str, at: Option<At>, text: &str) -> Problem {
    let rest = at.and_then(|at| text.get(at.start..)).unwrap_or("");
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
    let word = &rest[..end];
    let is_word = word.chars().next().is_some_and(char::is_alphabetic);
    if is_word && message.contains("must be quoted") {
        let problem = Problem::error("syntax", format!("not TOML: the word {word} stands without quotes"));
        return problem.help(format!("write \"{word}\"")).at(at);
    }
    Problem::error("syntax", format!("not TOML: {message}")).at(at)
}

fn read(text: &str, name: &str, dir: Option<&Path>) -> Result<World, WorldError> {
    Stated::read(text, name, dir)?.build()
}

/// The keys at the top of a world file.
const KEYS: [&str; 17] = [
    "dowise",
    "name",
    "about",
    "horizon",
    "discount",
    "ends",
    "state",
    "lever",
    "key",
    "hidden",
    "reward",
    "rewards",
    "interventions",
    "joint",
    "start",
    "features",
    "low_rank",
];

impl Reader<'_> {
    fn world(&mut self, top: &DeTable<'_>) -> WorldSpec {
        self.known_keys(top, "a world", &KEYS);
        self.version(top);
        let mut spec = WorldSpec {
            name: top.get("name").and_then(|n| self.text(n, "`name`")).unwrap_or_default(),
            about: top.get("about").and_then(|n| self.text(n, "`about`")).unwrap_or_default(),
            horizon: self.horizon(top),
            discount: top.get("discount").map(|n| self.written_number(n, "`discount`")),
            ends: top.get("ends").map(|n| self.ends(n)).unwrap_or_default(),
            variables: Vec::new(),
            transitions: Vec::new(),
            mechanisms: Vec::new(),
            rewards: Vec::new(),
            reward_range: None,
            interventions: top.get("interventions").map(|n| self.interventions(n)).unwrap_or_default(),
            start: StartSpec::Uniform,
        };
        self.variables(top, &mut spec);
        self.rewards(top, &mut spec);
        self.start(top, &mut spec);
        spec
    }

    fn version(&mut self, top: &DeTable<'_>) {
        match top.get("dowise") {
            None => {
                let problem = Problem::error("version", "the first line does not say which form this file has");
                self.push(problem.help("begin it with `dowise = 1`").at(self.place(0..0)));
            }
            Some(node) => match self.whole(node, "`dowise`") {
                None | Some(1) => {}
                Some(other) => {
                    let message = format!("this file has form {other}; this version of dowise reads form 1");
                    self.push(
                        Problem::error("version", message).help("write `dowise = 1`").at(self.place(node.span())),
                    );
                }
            },
        }
    }

    /// `ends = { when = { … } }`, or a list of these: any of them.
    fn ends(&mut self, node: &Node<'_>) -> Vec<EndSpec> {
        let items: Vec<&Node<'_>> = match node.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![node],
        };
        items.into_iter().filter_map(|node| self.end(node)).collect()
    }

    fn end(&mut self, node: &Node<'_>) -> Option<EndSpec> {
        let table = self.table(node, "`ends`")?;
        self.known_keys(table, "`ends`", &["when", "count"]);
        if table.get("when").is_none() && table.get("count").is_none() {
            let misspelt = self.misspelt(table, "when") || self.misspelt(table, "count");
            if !misspelt {
                self.missing(
                    "`ends`",
                    "when",
                    "say in which states an episode ends, `ends = { when = { … } }`",
                    node.span(),
                );
            }
            return None;
        }
        Some(EndSpec { when: self.condition(table, "`ends`"), at: self.place(node.span()) })
    }

    fn horizon(&mut self, top: &DeTable<'_>) -> Located<Written<u64>> {
        let Some(node) = top.get("horizon") else {
            if self.misspelt(top, "horizon") {
                return Written::UNREAD.into();
            }
            let problem = Problem::error("missing-key", "`horizon` is missing");
            self.push(
                problem.help("add the number of steps of an episode, such as `horizon = 10`").at(self.place(0..0)),
            );
            return Written::UNREAD.into();
        };
        let steps = self.whole(node, "`horizon`");
        if let Some(steps) = steps.filter(|&steps| steps < 0) {
            let message = format!("the horizon is {steps}");
            self.push(
                Problem::error("horizon", message).help("an episode has at least one step").at(self.place(node.span())),
            );
        }
        Located::of(steps.and_then(|s| u64::try_from(s).ok()), self.place(node.span()))
    }
}
