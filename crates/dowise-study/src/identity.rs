//! What makes a study the one it is, and a world: all that decides results, and nothing else.

use dowise::World;

use crate::{Combination, Study, WorldChoice};
use dowise::saved::checksum;

/// Fingerprint of all that decides what happens in a world: variables and values with their names and order, mechanisms,
/// transitions, rewards, costs, interventions, features, start and horizon. Its title and description do not.
pub fn world_fingerprint(world: &World) -> String {
    let text = world.to_toml();
    // Title and description stand before the horizon, each on one line, since line ends in them are escaped.
    let from = text.find("\nhorizon = ").expect("invariant: the text of every world has a horizon");
    checksum(&text.as_bytes()[from..])
}

impl Study {
    /// Fingerprint of all that decides the tables of a study: not its title, nor the directories of world files.
    pub fn identity(&self) -> String {
        let mut bare = self.clone();
        bare.name.clear();
        bare.combinations.iter_mut().for_each(|s| s.world = s.world.without_directory());
        checksum(bare.to_toml().as_bytes())
    }
}

impl WorldChoice {
    /// The same with a file's name only: what is in the file has a fingerprint.
    pub(crate) fn without_directory(&self) -> WorldChoice {
        match self {
            WorldChoice::File(file) => WorldChoice::File(file.file_name().map_or_else(|| file.clone(), Into::into)),
            named @ WorldChoice::Named { .. } => named.clone(),
        }
    }
}

/// Whether a study has all runs of a smaller one, and more.
pub(crate) fn grows(smaller: &Study, larger: &Study) -> bool {
    let same = |a: &Combination, b: &Combination| {
        a.world.without_directory() == b.world.without_directory()
            && (&a.fingerprint, &a.learner, a.episodes, a.monte_carlo)
                == (&b.fingerprint, &b.learner, b.episodes, b.monte_carlo)
    };
    (&smaller.dowise, &smaller.streams, smaller.seed, &smaller.checkpoints)
        == (&larger.dowise, &larger.streams, larger.seed, &larger.checkpoints)
        && smaller.repetitions <= larger.repetitions
        && smaller.combinations.iter().all(|a| larger.combinations.iter().any(|b| same(a, b)))
}

/// Says what is different about the study that a directory holds.
pub(crate) fn difference(found: &Study, wanted: &Study) -> String {
    if found.dowise != wanted.dowise {
        return format!("by dowise {}, and this is {}", found.dowise, wanted.dowise);
    }
    if found.streams != wanted.streams {
        return format!("with other random draws ({}; now {})", found.streams, wanted.streams);
    }
    let pairs = found.combinations.iter().zip(&wanted.combinations);
    if let Some((a, b)) = pairs.clone().find(|(a, b)| a.world == b.world && a.monte_carlo != b.monte_carlo) {
        return format!("with evaluation {} in {} where it is now {}", a.evaluation(), a.world, b.evaluation());
    }
    if found.seed != wanted.seed {
        return format!("with seed {} instead of {}", found.seed, wanted.seed);
    }
    if found.repetitions != wanted.repetitions {
        return format!("with {} repetitions instead of {}", found.repetitions, wanted.repetitions);
    }
    let world = |w: &WorldChoice| w.without_directory();
    for (a, b) in pairs {
        if a.episodes != b.episodes {
            return format!("of {} episodes instead of {}", a.episodes, b.episodes);
        }
        if a.learner != b.learner {
            return format!("with {} where there is now {}", a.learner, b.learner);
        }
        if world(&a.world) != world(&b.world) {
            return format!("in {} where there is now {}", a.world, b.world);
        }
        if a.fingerprint != b.fingerprint {
            return format!("in {}, which has changed since", a.world);
        }
    }
    if found.combinations.len() != wanted.combinations.len() {
        return format!("of {} combinations instead of {}", found.combinations.len(), wanted.combinations.len());
    }
    if found.checkpoints != wanted.checkpoints {
        return "with other checkpoints".into();
    }
    "with other sweeps".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: &str = r#"
dowise = 1
name = "A name"
about = "Some words"
horizon = 3
[state.mood]
values = ["low", "high"]
scope = ["mood", "press"]
next = [[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]]
start = [0.7, 0.3]
[lever.push]
values = ["no", "yes"]
cost = { yes = 0.1 }
[key.press]
values = ["off", "on"]
parents = ["push"]
p = [[0.8, 0.2], [0.3, 0.7]]
[reward.joy]
scope = ["mood"]
value = [0.0, 1.0]
[interventions]
set = "all"
"#;

    #[test]
    fn words_for_people_are_not_part_of_a_world_and_everything_else_is() {
        let of = |text: &str| {
            let read = World::from_toml(text, "w.toml");
            world_fingerprint(&read.unwrap_or_else(|e| panic!("{text}\n{e}")))
        };
        let first = of(WORLD);
        let same = [
            ("A name", "Another\\nhorizon = 9"),
            ("Some words", "Others"),
            ("about = \"Some words\"", ""),
            ("[lever.push]", "# a comment\n[lever.push]"),
            ("0.9, 0.1", "0.90, 0.1"),
        ];
        for (from, to) in same {
            assert!(WORLD.contains(from));
            assert_eq!(of(&WORLD.replacen(from, to, 1)), first, "{from} -> {to}");
        }
        let other = [
            ("horizon = 3", "horizon = 4"),
            ("0.9, 0.1", "0.8, 0.2"),
            ("0.7, 0.3", "0.3, 0.7"),
            ("0.8, 0.2", "0.7, 0.3"),
            ("yes = 0.1", "yes = 0.2"),
            ("value = [0.0, 1.0]", "value = [0.0, 0.5]"),
            ("\"low\", \"high\"", "\"high\", \"low\""),
            ("\"off\", \"on\"", "\"off\", \"lit\""),
            ("set = \"all\"", "set = \"any\""),
            ("[reward.joy]", "[reward.fun]"),
            ("value = [0.0, 1.0]", "value = [0.0, 1.0]\nrange = [0.0, 2.0]"),
        ];
        for (from, to) in other {
            assert!(WORLD.contains(from));
            let text = if from.starts_with("0.8") {
                WORLD.replace("p = [[0.8, 0.2]", "p = [[0.7, 0.3]")
            } else {
                WORLD.replacen(from, to, 1)
            };
            assert_ne!(of(&text), first, "{from} -> {to}");
        }
    }
}
