//! The results of the parts of a reproduction, read from their directories.

use std::io::ErrorKind;
use std::path::Path;

use super::claims::{self, Claim, Finals};
use super::parts::{Part, ReproductionSize};
use super::rules::{ExplorationRule, FIGURES, LITERAL, SETS, rules};
use crate::{Directory, Study, StudyError, Summary, Tables};

/// The parts that are done.
#[derive(Debug, Default)]
pub struct Results {
    /// In the order of [`Part`].
    pub parts: Vec<(Part, Study, Tables)>,
}

impl Results {
    /// Reads every finished part under a directory; parts that are not finished are left out.
    pub fn load(directory: &Path) -> Result<Results, StudyError> {
        let mut results = Results::default();
        for part in Part::EXPERIMENTS.into_iter().chain(Part::EXTRAS) {
            let folder = directory.join(part.folder());
            let summary = folder.join("summary.csv");
            let there = summary.try_exists().map_err(|source| StudyError::Read { path: summary, source })?;
            if there {
                let (folder, study) = Directory::open(&folder)?;
                let tables = Tables::read(&study, &folder)?;
                results.parts.push((part, study, tables));
            }
        }
        Ok(results)
    }

    /// A part, if it is done.
    pub fn part(&self, part: Part) -> Option<(&Study, &Tables)> {
        self.parts.iter().find(|p| p.0 == part).map(|(_, study, tables)| (study, tables))
    }

    /// Seconds of all runs of a part together, on however many threads.
    pub fn seconds(&self, part: Part) -> f64 {
        self.part(part).map_or(0.0, |(_, tables)| tables.seconds.iter().sum())
    }

    /// Final regrets of an experiment under a rule; empty if it was not run.
    pub fn finals(&self, part: Part, rule: &ExplorationRule) -> Finals {
        let mut finals = Finals { rule: rule.key.into(), at: vec![] };
        // The other rules have studies of their own, so that the paper's experiments alone take little time.
        let part = match part {
            Part::Experiment2 if *rule != FIGURES => Part::Others2,
            Part::Experiment3 if *rule == SETS => Part::Others3,
            other => other,
        };
        let Some((study, tables)) = self.part(part) else { return finals };
        for x in sweep_values(study) {
            let find = |learner: usize| {
                let spec = rule.learner(learner);
                let combination =
                    study.combinations.iter().position(|s| s.learner == spec && s.sweep.values().next() == x.as_ref());
                combination.map(|i| tables.summary(i))
            };
            let found = [0, 1, 2, 3].map(find);
            if found.iter().any(Option::is_some) {
                let x = x.as_ref().and_then(|x| x.parse().ok()).unwrap_or(0.0);
                // A learner that was left out has no runs.
                finals.at.push((x, found.map(Option::unwrap_or_default)));
            }
        }
        finals
    }

    /// Final regret of interventions at random in an experiment.
    pub fn uniform(&self, part: Part) -> Option<Summary> {
        let (study, tables) = self.part(part)?;
        let combination = study.combinations.iter().position(|s| s.learner.preset().name() == "uniform")?;
        Some(tables.summary(combination))
    }

    /// The paper's claims under each rule, and whether its printed constants leave the uniform policy.
    pub fn claims(&self) -> Vec<Claim> {
        let mut out = vec![];
        for part in Part::EXPERIMENTS {
            for rule in rules().iter().filter(|r| **r != LITERAL) {
                out.extend(claims::check(part, &self.finals(part, rule)));
            }
        }
        out.extend(self.literal());
        out.extend(self.linear());
        out
    }

    /// Final regrets of each learner of a part on causal linear MDPs, with the size that was swept.
    pub(super) fn linear_rows(&self, part: Part) -> Vec<(String, Vec<(f64, Summary)>)> {
        let Some((study, tables)) = self.part(part) else { return Vec::new() };
        let mut rows: Vec<(String, Vec<(f64, Summary)>)> = Vec::new();
        for (i, combination) in study.combinations.iter().enumerate() {
            let size = combination.sweep.values().next().and_then(|x| x.parse::<f64>().ok());
            let Some(size) = size else { continue };
            // Two levers: as many interventions as pairs of their values.
            let x = if matches!(part, Part::LinearActions | Part::LinearActionsPlain) { size * size } else { size };
            let name = combination.learner.to_string();
            match rows.iter_mut().find(|row| row.0 == name) {
                Some(row) => row.1.push((x, tables.summary(i))),
                None => rows.push((name, vec![(x, tables.summary(i))])),
            }
        }
        rows
    }

    /// What the paper claims of causal linear MDPs: at fixed d regret grows neither with interventions nor with states for learners
    /// that see causes and regress, and does for others.
    fn linear(&self) -> Vec<Claim> {
        let parts = [
            (Part::LinearActions, "interventions", true),
            (Part::LinearActionsPlain, "interventions", false),
            (Part::LinearStates, "states", true),
            (Part::LinearStatesTables, "states", false),
        ];
        let of = |(part, what, flat): (Part, &str, bool)| {
            let rows = self.linear_rows(part);
            rows.iter().filter_map(|(name, at)| claims::linear(what, name, flat, at)).collect::<Vec<_>>()
        };
        parts.into_iter().flat_map(of).collect()
    }

    /// Whether learners with the printed constants never leave the uniform policy: a finding, not a claim of the paper.
    fn literal(&self) -> Option<Claim> {
        let finals = self.finals(Part::Experiment1, &LITERAL);
        let (_, s) = finals.at.first()?;
        let uniform = self.uniform(Part::Experiment1)?;
        // Random policies of different learners are different draws of the same thing.
        let near = |m: &Summary| (m.mean - uniform.mean).abs() <= 0.01 * uniform.mean;
        let means = s.map(|m| format!("{:.1}", m.mean)).join(", ");
        Some(Claim {
            experiment: 1,
            rule: LITERAL.key.into(),
            claim:
                "(a finding, not a claim of the paper) with all printed constants no learner leaves the uniform policy"
                    .into(),
            held: s.iter().all(near),
            numbers: format!("UCBVI, F, C, CF: {means}; interventions at random: {:.1}", uniform.mean),
        })
    }
}

/// Refuses a directory with parts of other episodes, repetitions or seeds than `size`: they do not make one report.
pub fn refuse_other_sizes(size: ReproductionSize, directory: &Path) -> Result<(), StudyError> {
    for part in Part::EXPERIMENTS.into_iter().chain(Part::EXTRAS) {
        let folder = directory.join(part.folder());
        let study = match Directory::open(&folder) {
            Ok((_, study)) => study,
            Err(StudyError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        let file = part.study(size);
        let found = (study.combinations.first().map_or(0, |s| s.episodes), study.repetitions, study.seed);
        let wanted = (file.episodes, file.repetitions, file.seed);
        if found != wanted {
            let say = |(k, n, seed): (u64, u64, u64)| format!("{k} episodes, {n} repetitions, seed {seed}");
            let why = format!(
                "holds results with {} where this reproduction has {}; choose another directory with --out, or delete this one",
                say(found),
                say(wanted)
            );
            return Err(StudyError::OtherStudy { directory: folder, why });
        }
    }
    Ok(())
}

/// The values of the one thing that was swept, in order; one `None` if nothing was.
fn sweep_values(study: &Study) -> Vec<Option<String>> {
    let mut values: Vec<Option<String>> = vec![];
    for combination in &study.combinations {
        let value = combination.sweep.values().next().cloned();
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}
