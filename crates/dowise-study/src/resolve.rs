//! From a study as it is written to the exact list of what is run, everything checked.

use std::collections::BTreeMap;
use std::path::Path;

use dowise::learn::LearnerSpec;
use serde::{Deserialize, Serialize};

use crate::evaluator::{Evaluator, check_learner};
use crate::identity::world_fingerprint;
use crate::monte_carlo::MONTE_CARLO_EPISODES;
use crate::{Checkpoints, Evaluation, StudyError, StudyFile, WorldChoice, limits};

/// A world, a learner and a number of episodes, run `repetitions` times; files call its number `setting`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combination {
    /// The world.
    pub world: WorldChoice,
    /// Fingerprint of the world of the first repetition, in hexadecimal.
    pub fingerprint: String,
    /// The learner.
    pub learner: LearnerSpec,
    /// Episodes of a run.
    pub episodes: u64,
    /// Whether regret and values are estimated by playing.
    #[serde(rename = "by_play", default, skip_serializing_if = "std::ops::Not::not")]
    pub monte_carlo: bool,
    /// Whether that was chosen for a world whose states can be enumerated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_play_chosen: bool,
    /// What was swept here, and its value: `world.levels` → 4.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<String, String>,
}

/// A study resolved: what `study.toml` in a results directory says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Changes when a field changes its meaning or goes away.
    pub schema: String,
    /// Version of dowise that runs it.
    pub dowise: String,
    /// Versions of the random streams, and of what learners draw from them; others give other numbers.
    pub streams: String,
    /// Title.
    pub name: String,
    /// Runs of each combination.
    pub repetitions: u64,
    /// Seed of the first repetition; repetition r has seed + r, for fresh worlds and for runs.
    pub seed: u64,
    /// Where regret is written down.
    pub checkpoints: Checkpoints,
    /// What was swept, in order.
    pub swept: Vec<String>,
    /// All combinations.
    #[serde(rename = "setting")]
    pub combinations: Vec<Combination>,
}

/// Studies of schema 1 had records without checksums; in those of schema 2 a record belonged to a place in the study.
const SCHEMA: &str = "dowise-study/3";

/// The message for a `study.toml` that is not the record of a study.
pub(crate) const NOT_A_RECORD: &str =
    "this is not the record of a results directory; give the directory that `dowise compare` wrote";

/// As pinned in the workspace, since a seed must keep its bytes.
const STREAMS: &str = "rand 0.10.3, rand_chacha 0.10.0, rand_xoshiro 0.8.1";

impl StudyFile {
    /// Crosses worlds, learners and sweeps, and tries every combination; files are relative to `base`.
    pub fn resolve(&self, base: &Path) -> Result<Study, StudyError> {
        self.resolve_with(base, true)
    }

    /// The same, for studies that are known to be sound: no learner is tried in advance, which takes a while in large worlds.
    pub fn resolve_untried(&self, base: &Path) -> Result<Study, StudyError> {
        self.resolve_with(base, false)
    }

    fn resolve_with(&self, base: &Path, try_learners: bool) -> Result<Study, StudyError> {
        self.check()?;
        let (worlds, learners) = (self.worlds(base)?, self.learners()?);
        let per_world = learners.len() * self.sweep.episodes.len().max(1);
        limits::combinations(worlds.len().saturating_mul(per_world))?;
        let mut combinations = Vec::new();
        for (world, world_sweep) in worlds {
            let made = world.make(self.seed)?;
            let fingerprint = world_fingerprint(&made);
            let evaluation = Evaluation::of(self.evaluation, &made, &world.to_string())?;
            if try_learners {
                Evaluator::new(&made, &world.to_string(), Some(evaluation), self.seed)?;
            }
            for (episodes, episode_sweep) in self.episode_counts() {
                for (learner, learner_sweep) in learners.clone() {
                    // A learner that cannot be made for this world is reported before anything runs.
                    if try_learners {
                        check_learner(&learner, &made, &world.to_string(), evaluation, episodes, self.seed)?;
                    }
                    let sweep: BTreeMap<_, _> =
                        [&world_sweep, &episode_sweep, &learner_sweep].into_iter().flatten().cloned().collect();
                    let combination = Combination {
                        world: world.clone(),
                        fingerprint: fingerprint.clone(),
                        learner,
                        episodes,
                        monte_carlo: evaluation == Evaluation::MonteCarlo,
                        by_play_chosen: evaluation == Evaluation::MonteCarlo && made.is_enumerable(),
                        sweep,
                    };
                    if !combinations.contains(&combination) {
                        combinations.push(combination);
                    }
                }
            }
        }
        let episodes = combinations.iter().map(|s: &Combination| s.episodes);
        limits::size(self.repetitions, self.seed, &self.checkpoints, episodes)?;
        Ok(Study {
            schema: SCHEMA.into(),
            dowise: env!("CARGO_PKG_VERSION").into(),
            streams: format!("{STREAMS}, draws {}", dowise::learn::DRAWS),
            name: self.name.clone(),
            repetitions: self.repetitions,
            seed: self.seed,
            checkpoints: self.checkpoints.clone(),
            swept: self.swept(),
            combinations,
        })
    }

    fn check(&self) -> Result<(), StudyError> {
        if self.worlds.is_empty() || self.learners.is_empty() {
            return Err(StudyError::Invalid("a study needs at least one world and one learner".into()));
        }
        limits::episodes(self.episodes)?;
        self.sweep.episodes.iter().try_for_each(|&k| limits::episodes(k))?;
        // As many as one combination has; more are refused before anything is tried in a world.
        let most = self.sweep.episodes.iter().copied().max().unwrap_or(self.episodes);
        limits::size(self.repetitions, self.seed, &self.checkpoints, [most].into_iter())
    }

    fn swept(&self) -> Vec<String> {
        let of = |kind: &str, list: &[(String, Vec<String>)]| -> Vec<String> {
            list.iter().map(|(k, _)| format!("{kind}.{k}")).collect()
        };
        let episodes = if self.sweep.episodes.is_empty() { vec![] } else { vec!["episodes".to_owned()] };
        [of("world", &self.sweep.world), episodes, of("learner", &self.sweep.learner)].concat()
    }

    fn worlds(&self, base: &Path) -> Result<Vec<(WorldChoice, Pairs)>, StudyError> {
        let given: Vec<WorldChoice> = self.worlds.iter().map(|w| WorldChoice::read(w).relative_to(base)).collect();
        for (setting, _) in &self.sweep.world {
            if given.iter().any(|w| w.takes(setting)) {
                continue;
            }
            // A ready-made world says what settings it has; a file has none.
            given[0].with(setting, "0").make(self.seed)?;
            let world = &given[0];
            return Err(StudyError::Invalid(format!("{world} is a file and has no setting `{setting}` to sweep")));
        }
        let mut out: Vec<(WorldChoice, Pairs)> = given.into_iter().map(|w| (w, vec![])).collect();
        for (setting, values) in &self.sweep.world {
            out = cross(out, values, |world, value| {
                Ok(world.takes(setting).then(|| (world.with(setting, value), format!("world.{setting}"))))
            })?;
        }
        Ok(out)
    }

    fn episode_counts(&self) -> Vec<(u64, Pairs)> {
        if self.sweep.episodes.is_empty() {
            return vec![(self.episodes, vec![])];
        }
        self.sweep.episodes.iter().map(|&n| (n, vec![("episodes".to_owned(), n.to_string())])).collect()
    }

    fn learners(&self) -> Result<Vec<(LearnerSpec, Pairs)>, StudyError> {
        let mut out: Vec<(LearnerSpec, Pairs)> = Vec::new();
        for text in &self.learners {
            let mut spec: LearnerSpec = text.parse()?;
            for (option, value) in &self.options {
                if spec.takes(option)? {
                    spec = spec.with(option, value)?;
                }
            }
            out.push((spec, vec![]));
        }
        for (option, values) in &self.sweep.learner {
            out = cross(out, values, |spec, value| {
                if !spec.takes(option)? {
                    return Ok(None);
                }
                Ok(Some((spec.with(option, value)?, format!("learner.{option}"))))
            })?;
        }
        Ok(out)
    }
}

type Pairs = Vec<(String, String)>;

/// Crosses the entries with the values of one sweep; an entry that does not take the swept option stays as it is.
fn cross<T: Clone>(
    given: Vec<(T, Pairs)>,
    values: &[String],
    change: impl Fn(&T, &str) -> Result<Option<(T, String)>, StudyError>,
) -> Result<Vec<(T, Pairs)>, StudyError> {
    let mut out = Vec::new();
    for (thing, pairs) in given {
        limits::combinations(out.len())?;
        for (i, value) in values.iter().enumerate() {
            match change(&thing, value)? {
                Some((changed, key)) => {
                    let mut pairs = pairs.clone();
                    pairs.push((key, value.clone()));
                    out.push((changed, pairs));
                }
                None if i == 0 => out.push((thing.clone(), pairs.clone())),
                None => {}
            }
        }
    }
    Ok(out)
}

impl Combination {
    /// How its policies are evaluated.
    pub fn evaluation(&self) -> Evaluation {
        if self.monte_carlo { Evaluation::MonteCarlo } else { Evaluation::Exact }
    }
}

impl Study {
    /// Number of runs.
    pub fn n_runs(&self) -> usize {
        self.combinations.len() * self.repetitions as usize
    }

    /// What to say where regret and values are estimated by playing: in which worlds, and how.
    pub fn by_play_note(&self) -> Option<String> {
        let of = |chosen: bool| {
            let worlds = self.combinations.iter().filter(|s| s.monte_carlo && s.by_play_chosen == chosen);
            let mut worlds: Vec<String> = worlds.map(|s| s.world.to_string()).collect();
            worlds.dedup();
            (!worlds.is_empty()).then(|| worlds.join(", "))
        };
        let why = [
            of(false)
                .map(|worlds| format!("{worlds}: states are too many to enumerate, so all is estimated by playing.")),
            of(true).map(|worlds| {
                format!("{worlds}: all is estimated by Monte Carlo, as was chosen (evaluate = monte-carlo).")
            }),
        ];
        let why: Vec<String> = why.into_iter().flatten().collect();
        (!why.is_empty()).then(|| {
            format!(
                "{} Regret is what a plan by sampled states receives in the same episodes, less what the learner receives; best is that plan, by \
                 {MONTE_CARLO_EPISODES} episodes, as learned and random are.",
                why.join(" ")
            )
        })
    }

    /// The study as the text of `study.toml`.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("invariant: names and numbers can be written")
    }

    /// Reads what [`Study::to_toml`] wrote, or says why it is not that.
    pub fn from_toml(text: &str) -> Result<Study, String> {
        let other = NOT_A_RECORD;
        let table: toml::Table = text.parse().map_err(|_| other.to_owned())?;
        match table.get("schema").and_then(toml::Value::as_str) {
            Some(SCHEMA) => {}
            Some(schema) if schema.starts_with("dowise-study/") => {
                return Err(format!(
                    "another version of dowise wrote this study (its schema is {schema}, and this one reads {SCHEMA}), \
                     so its runs are not mixed with those of this version; run it again in another directory"
                ));
            }
            _ => return Err(other.into()),
        }
        let study: Study = table.try_into().map_err(|e: toml::de::Error| format!("{other}: {}", e.message()))?;
        let sizes = || {
            let episodes = study.combinations.iter().map(|s| s.episodes);
            episodes.clone().try_for_each(limits::episodes)?;
            limits::size(study.repetitions, study.seed, &study.checkpoints, episodes)
        };
        sizes().map_err(|e| e.to_string())?;
        Ok(study)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_named_are_those_that_are_pinned() {
        let manifest = include_str!("../../../Cargo.toml");
        for stream in STREAMS.split(", ") {
            let (name, version) = stream.split_once(' ').unwrap();
            let line = manifest.lines().find(|l| l.starts_with(&format!("{name} ="))).unwrap();
            assert!(line.contains(&format!("\"={version}\"")), "{line}");
        }
    }

    #[test]
    fn a_resolved_study_survives_its_file() {
        let file = StudyFile {
            worlds: vec!["paper:factors=1,levers=1".into()],
            learners: vec!["c-ucbvi:width=paper".into(), "c-psrl".into()],
            sweep: crate::Sweep {
                world: vec![("levels".into(), vec!["2".into(), "3".into()])],
                learner: vec![("scale".into(), vec!["0.1".into(), "1".into()])],
                episodes: vec![],
            },
            ..StudyFile::default()
        };
        let study = file.resolve(Path::new("")).unwrap();
        // The scale is swept for the learner that has one only.
        assert_eq!(study.combinations.len(), 2 * 3);
        assert_eq!(study.swept, ["world.levels", "learner.scale"]);
        assert_eq!(Study::from_toml(&study.to_toml()).unwrap(), study);
    }
}
