//! Studies of what the paper does not show and a careful reader asks.

use crate::{StudyFile, Sweep};

use super::parts::{Part, Plan};

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

/// Fills in a part that is not one of the paper's experiments. Some are smaller than the plan, so that all of them
/// take minutes, and say so in their figures.
pub(super) fn study(part: Part, base: StudyFile, plan: Plan) -> StudyFile {
    let few = plan.repetitions.min(5);
    match part {
        Part::Scales => StudyFile {
            worlds: texts(&["paper:levels=4,levers=3,factors=3,horizon=5"]),
            learners: ["ucbvi", "f-ucbvi", "c-ucbvi", "cf-ucbvi"]
                .iter()
                .map(|l| format!("{l}:width=paper-plain,cap=horizon"))
                .collect(),
            repetitions: few,
            sweep: Sweep {
                learner: vec![(
                    "scale".into(),
                    texts(&["0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "1"]),
                )],
                ..Sweep::default()
            },
            ..base
        },
        Part::Hard => StudyFile {
            worlds: texts(&["river-swim", "deep-sea"]),
            learners: dowise::Preset::all().iter().map(|p| p.name().to_owned()).filter(|n| tabular(n)).collect(),
            episodes: plan.episodes.min(1000),
            repetitions: few,
            ..base
        },
        Part::Many => StudyFile {
            learners: texts(&["c-ucbvi", "cf-ucbvi", "c-psrl", "cf-psrl", "uniform"]),
            sweep: levels(&["3", "5", "10", "22", "46", "100"]),
            ..many(base, plan, few)
        },
        Part::ManyPlain => StudyFile {
            learners: texts(&["ucbvi", "f-ucbvi"]),
            sweep: levels(&["3", "5", "10"]),
            ..many(base, plan, few)
        },
        _ => StudyFile {
            worlds: texts(&["paper:levels=4,horizon=2", "paper:levels=4,horizon=2,joint=false"]),
            learners: ["c-ucbvi", "cf-ucbvi", "c-psrl", "cf-psrl"]
                .iter()
                .flat_map(|l| [(*l).to_owned(), format!("{l}:unknown=kernel")])
                .chain(texts(&["ucbvi", "psrl"]))
                .collect(),
            episodes: plan.episodes.min(1000),
            repetitions: few,
            ..base
        },
    }
}

/// Learners that need nothing but counts; others may join the presets.
fn tabular(name: &str) -> bool {
    name.ends_with("ucbvi") || name.ends_with("psrl") || ["greedy", "epsilon-greedy", "uniform"].contains(&name)
}

fn many(base: StudyFile, plan: Plan, repetitions: u64) -> StudyFile {
    StudyFile {
        worlds: texts(&["paper:levers=3,factors=3,horizon=2,joint=false"]),
        episodes: plan.episodes.min(2000),
        repetitions,
        ..base
    }
}

fn levels(values: &[&str]) -> Sweep {
    Sweep { world: vec![("levels".into(), texts(values))], ..Sweep::default() }
}
