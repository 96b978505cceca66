//! What cases are made from: the ready-made worlds, small ones, studies, and learners and evidence after a few episodes.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use dowise::data::{Chooser, LogWriter, WrittenColumns, simulate_log};
use dowise::learn::{Evidence, Forget, LearnError};
use dowise::{Arena, Knowledge, Learner, LearnerSpec, Options, Preset, Simulator, World, worlds};
use dowise_formats::{Format, export};
use dowise_study::StudyFile;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Kind;
use crate::random_world::{Sizes, random_world};

const SMALL: [&str; 7] = [
    include_str!("../seeds/small.toml"),
    include_str!("../seeds/features.toml"),
    include_str!("../seeds/direct.toml"),
    include_str!("../seeds/forms.toml"),
    include_str!("../seeds/onward.toml"),
    include_str!("../../dowise/tests/world_errors/base.toml"),
    include_str!("../../dowise/tests/world_errors/other.toml"),
];

const STUDIES: [&str; 2] = [include_str!("../seeds/study.toml"), include_str!("../seeds/study-deep.toml")];

const GRAPHS: [&str; 1] = [include_str!("../seeds/graph.bif")];

/// One of each format, with what dowise itself does not write.
const WRITTEN_BY_HAND: [&str; 5] = [
    include_str!("../seeds/graph.bif"),
    include_str!("../seeds/graph.xmlbif"),
    include_str!("../seeds/graph.dagitty"),
    include_str!("../seeds/graph.dot"),
    include_str!("../seeds/graph.gml"),
];

/// Learners whose saves are tried.
const LEARNERS: [&str; 21] = [
    "ucbvi",
    "f-ucbvi",
    "c-ucbvi",
    "cf-ucbvi",
    "graph-ucbvi",
    "graph-ucbvi:guard=true",
    "graph-ucbvi:unknown=kernel",
    "graph-ucbvi:unknown=rewards",
    "c-ucbvi:width=rlberry",
    "graph-ucbvi:schedule=doubling",
    "psrl",
    "graph-psrl",
    "graph-psrl:unknown=kernel",
    "graph-psrl:guard=true",
    "graph-ucbvi:unknown=all",
    "graph-psrl:unknown=all",
    "graph-psrl:unknown=all,forget=reset",
    "c-ucbvi:unknown=rewards,forget=window:2",
    "graph-psrl:forget=discount:0.7",
    "lsvi-ucb",
    "c-rlsvi",
];

/// Learners whose saves are tried with what can be put around them afterwards: a test of the graph, a baseline.
const WRAPPED: [&str; 2] = ["graph-psrl", "c-ucbvi:unknown=rewards"];

/// Worlds whose learners are saved.
const PLAYED: [&str; 6] = ["small", "features", "direct", "forms", "onward", "river-swim"];

/// Worlds drawn at random: each is drawn when it is first asked for, since drawing takes as long as several cases.
const RANDOM: usize = 4096;

/// Every learner by its name, alone and with each option that it takes and a value to begin with.
fn specs() -> Vec<String> {
    let mut list = Vec::new();
    for preset in Preset::all() {
        let name = preset.name();
        list.push(name.to_owned());
        let plain: LearnerSpec = name.parse().expect("invariant: a learner");
        for option in LearnerSpec::option_names() {
            for value in [
                "2", "0.5", "1e-3", "true", "kernel", "all", "rlberry", "mixture", "doubling", "stage", "s", "reset",
                "window:3",
            ] {
                list.extend(plain.with(option, value).map(|spec| spec.to_string()));
            }
        }
        list.push(format!("{name}:prior=1,unknown=all,schedule=doubling"));
    }
    list
}

/// Worlds whose logs are tried.
const LOGGED: [&str; 4] = ["treatment", "river-swim", "campaign", "onward"];

/// A small world or a ready-made one as text.
fn text_of(world: &str) -> String {
    match world {
        "small" => SMALL[0].to_owned(),
        "features" => SMALL[1].to_owned(),
        "direct" => SMALL[2].to_owned(),
        "forms" => SMALL[3].to_owned(),
        "onward" => SMALL[4].to_owned(),
        name => worlds::text(name, &[]).expect("invariant: a ready-made world"),
    }
}

/// A small log of a world.
fn log_of(world: &World) -> String {
    let simulator = Simulator::new(world).expect("invariant: a known world");
    let with =
        WrittenColumns { reward: true, propensity: true, policy: true, weight: true, end: true, randomised: false };
    let mut writer = LogWriter::new(world, Vec::new(), with).expect("invariant: memory can be written");
    simulate_log(&simulator, Chooser::AtRandom, 3, 1, |steps| {
        let name = steps[0].episode.to_string();
        writer.episode(&name, steps, &["at random"]).expect("invariant: memory can be written");
        ControlFlow::Continue(())
    });
    String::from_utf8(writer.finish().expect("invariant: memory can be written")).expect("invariant: names are text")
}

/// A world with a learner in it that was saved.
pub(crate) struct Played {
    pub(crate) arena: Arena,
    pub(crate) knowledge: Knowledge,
    /// For evidence: how it was counted.
    pub(crate) options: Option<Options>,
}

/// All that cases are made from.
pub struct Corpus {
    worlds: Vec<String>,
    studies: Vec<String>,
    learners: Vec<String>,
    evidence: Vec<String>,
    /// Every graph in every format, one after the other.
    graphs: Vec<String>,
    specs: Vec<String>,
    random: Vec<OnceCell<String>>,
    /// The worlds in which learners are played.
    pub(crate) arenas: Vec<Played>,
    logs: Vec<String>,
    /// The world of each log, and what a learner of everything but the graph knows of it.
    pub(crate) of_logs: Vec<(World, Knowledge)>,
    /// Of each saved learner.
    pub(crate) of_learners: Vec<Played>,
    /// Of each saved evidence.
    pub(crate) of_evidence: Vec<Played>,
}

impl Corpus {
    /// Makes the corpus; it is the same every time.
    #[allow(clippy::new_without_default)] // it is played for, which takes a moment
    pub fn new() -> Corpus {
        let mut corpus = Corpus {
            worlds: SMALL.iter().map(|text| text.to_string()).collect(),
            studies: STUDIES.iter().map(|text| text.to_string()).collect(),
            learners: vec![],
            evidence: vec![],
            graphs: vec![],
            specs: specs(),
            random: vec![OnceCell::new(); RANDOM],
            arenas: vec![],
            logs: vec![],
            of_logs: vec![],
            of_learners: vec![],
            of_evidence: vec![],
        };
        for (name, settings) in
            [("campaign", &[][..]), ("treatment", &[]), ("paper", &[("factors", "1")]), ("river-swim", &[])]
        {
            corpus.worlds.push(worlds::text(name, settings).expect("invariant: a ready-made world"));
        }
        for text in STUDIES {
            let study = StudyFile::from_toml(text, "study.toml").expect("invariant: a study");
            let study = study.resolve_untried("".as_ref()).expect("invariant: a study that can be run");
            corpus.studies.push(study.to_toml());
        }
        for text in GRAPHS {
            let read = Format::Bif.read(text, "graph").unwrap_or_else(|e| panic!("{e}"));
            corpus.graphs.extend(Format::ALL.map(|format| format.write(&read.network)));
        }
        for text in &SMALL[..3] {
            let world = World::from_toml(text, "world").expect("invariant: a world");
            let network = export(&world).expect("invariant: a small world").network;
            corpus.graphs.extend(Format::ALL.map(|format| format.write(&network)));
        }
        corpus.graphs.extend(WRITTEN_BY_HAND.map(str::to_owned));
        for world in LOGGED {
            let world = World::from_toml(&text_of(world), world).unwrap_or_else(|e| panic!("{e}"));
            corpus.logs.push(log_of(&world));
            let knowledge = Knowledge::of(&world).without_rewards();
            corpus.of_logs.push((world, knowledge));
        }
        for world in PLAYED {
            let world = World::from_toml(&text_of(world), world).unwrap_or_else(|e| panic!("{e}"));
            let arena = Arena::new(&world).expect("invariant: a known world");
            LEARNERS.iter().for_each(|name| corpus.play(&arena, name, |_| Ok(())));
            for name in WRAPPED {
                corpus.play(&arena, name, |learner| learner.watch_graph(0.05));
                corpus.play(&arena, name, |learner| learner.keep_baseline(&arena.best().policy_hs, 0.1, None));
            }
            corpus.arenas.push(Played { knowledge: Knowledge::of(&world), arena, options: None });
        }
        corpus
    }

    /// Adds a learner after a few episodes, and its evidence.
    fn play(&mut self, arena: &Arena, name: &str, wrap: impl FnOnce(&mut Learner) -> Result<(), LearnError>) {
        let spec: LearnerSpec = name.parse().expect("invariant: a learner");
        // Not every learner can be made in every world.
        let Ok(mut learner) = spec.learner(arena.world(), 6, 1) else { return };
        if wrap(&mut learner).is_err() {
            return;
        }
        let mut run = arena.run(1);
        (0..4).for_each(|_| {
            run.episode(&mut learner);
        });
        let knowledge = learner.knowledge().clone();
        self.learners.push(learner.save());
        self.of_learners.push(Played { arena: arena.clone(), knowledge: knowledge.clone(), options: None });
        if let (Some(evidence), Some(options)) = (learner.evidence(), learner.options()) {
            let options = Options { guard: false, forget: Forget::Never, ..options.clone() };
            self.evidence.push(Evidence::save(evidence));
            self.of_evidence.push(Played { arena: arena.clone(), knowledge, options: Some(options) });
        }
    }

    /// A text to begin with, and its number.
    pub(crate) fn base(&self, kind: Kind, rng: &mut Xoshiro256PlusPlus) -> (usize, String) {
        if kind == Kind::World && rng.random_bool(0.5) {
            let i = rng.random_range(0..RANDOM);
            let sizes = Sizes { coarse: i % 2 == 0, cost: 0.3, continuation: i % 3 == 0, ..Sizes::default() };
            let text = self.random[i].get_or_init(|| random_world(i as u64, &sizes).1.to_toml());
            return (0, text.clone());
        }
        let list = self.others(kind);
        // The first ones are small, so that many can be tried.
        let i = match kind {
            Kind::World if rng.random_bool(0.9) => rng.random_range(0..SMALL.len()),
            Kind::Spec => {
                let base = rng.random_range(0..self.arenas.len());
                return (base, list[rng.random_range(0..list.len())].clone());
            }
            Kind::World | Kind::Study | Kind::Learner | Kind::Evidence | Kind::Graph | Kind::Log => {
                rng.random_range(0..list.len())
            }
        };
        (i, list[i].clone())
    }

    /// The format of a graph.
    pub(crate) fn format(&self, base: usize) -> Format {
        Format::ALL[base % Format::ALL.len()]
    }

    /// All texts of a kind.
    pub(crate) fn others(&self, kind: Kind) -> &[String] {
        match kind {
            Kind::World => &self.worlds,
            Kind::Study => &self.studies,
            Kind::Learner => &self.learners,
            Kind::Evidence => &self.evidence,
            Kind::Graph => &self.graphs,
            Kind::Spec => &self.specs,
            Kind::Log => &self.logs,
        }
    }
}
