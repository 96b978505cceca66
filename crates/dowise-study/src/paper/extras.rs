//! Studies of what the paper does not show and a careful reader asks.

use crate::{StudyFile, Sweep};

use super::parts::ReproductionSize;

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

/// Learners, those with confidence sets with a plan before each episode, as in the paper.
fn learners(list: &[&str]) -> Vec<String> {
    let planning = |name: &&str| match (name.contains("ucbvi"), name.contains(':')) {
        (true, true) => format!("{name},schedule=episode"),
        (true, false) => format!("{name}:schedule=episode"),
        (false, _) => (*name).to_owned(),
    };
    list.iter().map(planning).collect()
}

/// Regret against the scale of the width.
pub(super) fn scales(base: StudyFile, size: ReproductionSize) -> StudyFile {
    StudyFile {
        worlds: texts(&["paper:levels=4,levers=3,factors=3,horizon=5"]),
        learners: ["ucbvi", "f-ucbvi", "c-ucbvi", "cf-ucbvi"]
            .iter()
            .map(|l| format!("{l}:width=paper-plain,cap=horizon"))
            .collect(),
        repetitions: few(size),
        sweep: Sweep {
            learner: vec![("scale".into(), texts(&["0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "1"]))],
            ..Sweep::default()
        },
        ..base
    }
}

/// Worlds in which exploration is hard.
pub(super) fn hard(base: StudyFile, size: ReproductionSize) -> StudyFile {
    StudyFile {
        worlds: texts(&["river-swim", "deep-sea"]),
        learners: learners(&dowise::Preset::all().iter().map(|p| p.name()).filter(|n| tabular(n)).collect::<Vec<_>>()),
        episodes: size.episodes.min(1000),
        repetitions: few(size),
        ..base
    }
}

/// Up to a million interventions, learners that know the key variables.
pub(super) fn many(base: StudyFile, size: ReproductionSize) -> StudyFile {
    StudyFile {
        learners: learners(&["c-ucbvi", "cf-ucbvi", "c-psrl", "cf-psrl", "uniform"]),
        sweep: levels(&["3", "5", "10", "22", "46", "100"]),
        ..million(base, size)
    }
}

/// As many interventions as learners that count each of them can bear.
pub(super) fn many_plain(base: StudyFile, size: ReproductionSize) -> StudyFile {
    StudyFile { learners: learners(&["ucbvi", "f-ucbvi"]), sweep: levels(&["3", "5", "10"]), ..million(base, size) }
}

/// P(z | s, a) and the rewards are unknown, to plain learners too: R(s, a) would reveal the effects of interventions.
pub(super) fn unknown(base: StudyFile, size: ReproductionSize) -> StudyFile {
    StudyFile {
        worlds: texts(&["paper:levels=4,horizon=2", "paper:levels=4,horizon=2,joint=false"]),
        learners: learners(&[
            "ucbvi:unknown=rewards",
            "c-ucbvi:unknown=kernel+rewards",
            "cf-ucbvi:unknown=kernel+rewards",
            "psrl:unknown=rewards",
            "c-psrl:unknown=kernel+rewards",
            "cf-psrl:unknown=kernel+rewards",
            "cf-ucbvi",
            "cf-psrl",
        ]),
        episodes: size.episodes.min(1000),
        repetitions: few(size),
        ..base
    }
}

/// Learners of a part on causal linear MDPs, and the world that they can bear: (world, learners).
pub(super) type LinearPart = (&'static str, &'static [&'static str]);

/// Those that see causes and regress.
pub(super) const CAUSAL: LinearPart = (
    "linear-lock:causes=8,dimension=6,horizon=8,levels=8",
    &["c-blsvi", "c-lsvi-ucb:schedule=doubling,beta-scale=0.1"],
);

/// Those that take each intervention for itself, in a world small enough for them to learn something.
pub(super) const PLAIN: LinearPart =
    ("linear-lock:states=6,causes=4,dimension=3,horizon=5", &["lsvi-ucb:beta-scale=0.001", "psrl"]);

/// Tables, in the same.
pub(super) const TABLES: LinearPart = ("linear-lock:causes=4,dimension=3,horizon=5,levels=2", &["c-psrl", "psrl"]);

/// The paper's claim for causal linear MDPs: regret depends on d, and not on A or S.
pub(super) fn linear(
    base: StudyFile,
    size: ReproductionSize,
    (world, learners): &LinearPart,
    (setting, values): (&str, &[&str]),
) -> StudyFile {
    StudyFile {
        worlds: texts(&[world]),
        learners: texts(learners),
        episodes: size.episodes.min(300),
        repetitions: few(size),
        sweep: Sweep { world: vec![(setting.into(), texts(values))], ..Sweep::default() },
        ..base
    }
}

/// Repetitions of these studies: fewer than those of the paper's experiments, so that all of them take minutes.
fn few(size: ReproductionSize) -> u64 {
    size.repetitions.min(5)
}

/// Learners that need nothing but counts; others may join the presets.
fn tabular(name: &str) -> bool {
    name.ends_with("ucbvi") || name.ends_with("psrl") || ["greedy", "epsilon-greedy", "uniform"].contains(&name)
}

fn million(base: StudyFile, size: ReproductionSize) -> StudyFile {
    StudyFile {
        worlds: texts(&["paper:levers=3,factors=3,horizon=2,joint=false"]),
        episodes: size.episodes.min(2000),
        repetitions: few(size),
        ..base
    }
}

fn levels(values: &[&str]) -> Sweep {
    Sweep { world: vec![("levels".into(), texts(values))], ..Sweep::default() }
}
