//! One input: which kind, what it was made from, and its text; as a file it can be tried again.

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Corpus;
use crate::mutate::mutate;

/// The kinds of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A world file.
    World,
    /// A study file, or the record of a study in its results directory.
    Study,
    /// A saved learner.
    Learner,
    /// Saved evidence.
    Evidence,
    /// A graph or network of another tool.
    Graph,
    /// A learner by its name and options.
    Spec,
    /// A log.
    Log,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 7] =
        [Kind::World, Kind::Study, Kind::Learner, Kind::Evidence, Kind::Graph, Kind::Spec, Kind::Log];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Kind::World => "world",
            Kind::Study => "study",
            Kind::Learner => "learner",
            Kind::Evidence => "evidence",
            Kind::Graph => "graph",
            Kind::Spec => "spec",
            Kind::Log => "log",
        }
    }

    /// The kind of this name.
    pub fn read(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One input.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What it is read as.
    pub kind: Kind,
    /// Which of the corpus it was made from; saved learners and evidence are restored in the world of that one,
    /// graphs are read in its format, and learners are made in the world of this number.
    pub base: usize,
    /// Decides what else is tried with it.
    pub seed: u64,
    /// The input.
    pub text: String,
}

impl Case {
    /// The case of a number: the same for the same seed.
    pub fn made(corpus: &Corpus, kinds: &[Kind], seed: u64, number: u64) -> Case {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let kind = *kinds.choose(&mut rng).expect("invariant: there are kinds");
        let (base, text) = corpus.base(kind, &mut rng);
        // Some cases are left as they are: they have to be accepted, and what must hold then is looked at.
        let changes = [0, 1, 1, 1, 2, 2, 3, 5].choose(&mut rng).copied().unwrap_or(1);
        let text = mutate(text, changes, corpus.others(kind), &mut rng);
        Case { kind, base, seed: rng.random(), text }
    }

    /// The case as a file: one line about it, then the input.
    pub fn to_file(&self) -> String {
        format!("dowise-fuzz {} {} {}\n{}", self.kind.word(), self.base, self.seed, self.text)
    }

    /// Reads such a file.
    pub fn from_file(file: &str) -> Option<Case> {
        let (line, text) = file.split_once('\n')?;
        let words: Vec<&str> = line.split(' ').collect();
        let ["dowise-fuzz", kind, base, seed] = words[..] else { return None };
        Some(Case {
            kind: Kind::read(kind)?,
            base: base.parse().ok()?,
            seed: seed.parse().ok()?,
            text: text.to_owned(),
        })
    }
}
