//! A fitted world: its numbers, world file, evidence for further learning, and report.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::FitError;
use super::confounded::Confounded;
use super::em::{Incomplete, Pattern};
use super::experiments::RandomisedOnly;
use super::fitting::Fitting;
use super::identify::open_questions;
use super::keep::Kept;
use super::report::{EmReport, FitPart, FitReport, OpenQuestion};
use super::tables::{Filled, Rule, Tallies, fill, fitted_terms};
use crate::hash::fnv;
use crate::learn::{Evidence, EvidenceError, NextStateRewards, Options, PaymentEntry, SavedEvidence, View};
use crate::offline::assumptions::{Declared, of_summary};
use crate::offline::episodes::learned_tests;
use crate::offline::summary::ReturnSums;
use crate::offline::{AssumptionRecord, GraphCheck, LogSummary, MissingnessTest, PropensityTest};
use crate::plan::{PlanError, Planner};
use crate::simulate::{Outcome, Simulator};
use crate::world::World;

const FORMAT: &str = "dowise fitted evidence";
const VERSION: u32 = 1;

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fitted {
    world: World,
    text: String,
    kept: Kept,
    evidence: Evidence,
    next_state_rewards: NextStateRewards,
    incomplete: Option<Incomplete>,
    returns: Option<ReturnSums>,
    declared: Declared,
    propensities: Option<PropensityTest>,
    report: FitReport,
}

/// The evidence file beside a fitted world.
#[derive(Serialize, Deserialize)]
struct EvidenceFile {
    format: String,
    version: u32,
    /// Names that were not fitted: a learner that continues knows them.
    kept: Vec<String>,
    /// Those not fitted because of unmeasured confounding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_fitted: Vec<String>,
    /// Those without numbers in the world file; absent if everything was fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    without_numbers: Option<Vec<String>>,
    /// Fingerprint of this file's contents, repeated at the top of the world file. In older files, of the evidence
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// Randomised levers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    randomised: Vec<String>,
    /// Rows that were excluded because of errors, and rows of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    excluded: Option<[u64; 2]>,
    /// Whether EM imputed missing key variables; the evidence contains recorded values only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    em: bool,
    /// Patterns of steps with missing key variables, if EM imputed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    incomplete: Option<Vec<(Pattern, u64)>>,
    /// Moments of the logged returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    returns: Option<ReturnSums>,
    /// Missingness tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "recording")]
    missingness: Vec<MissingnessTest>,
    /// Result of the graph test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    graph: Option<GraphCheck>,
    /// Variables that were learned from randomised steps only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    randomised_steps: Option<RandomisedOnly>,
    /// Result of the sample-ratio test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    propensities: Option<PropensityTest>,
    /// Older files without `next_state_rewards`: next-state reward terms that are missing in many steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unpaid: Vec<String>,
    /// Payments of next-state reward terms by next values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "arrivals")]
    next_state_rewards: Option<Vec<Vec<PaymentEntry>>>,
    evidence: SavedEvidence,
}

impl Fitted {
    pub(super) fn new(
        fitting: Fitting,
        (tallies, drawn): (&Tallies, &[Evidence]),
        rule: Rule,
        em: Option<EmReport>,
    ) -> Result<Fitted, FitError> {
        let (returns, declared) = (fitting.returns(), fitting.declared());
        let Fitting {
            kept,
            world,
            marginalised,
            confounded,
            knowledge,
            evidence,
            seen,
            next_state_rewards,
            options,
            incomplete,
            recorded,
            graph,
            propensities,
            ..
        } = fitting;
        let filled = fill(&world, &knowledge, &evidence, (tallies, &next_state_rewards, drawn), rule, kept.start);
        let propensities = Some(propensities.test()).filter(|test| test.steps > 0);
        let mut open: Vec<OpenQuestion> = confounded.iter().map(Confounded::question).collect();
        open.extend(open_questions(&knowledge, &filled.tables, &seen, evidence.steps()));
        let not_fitted = |name: &String| confounded.iter().any(|c| c.not_fitted.contains(name));
        let mut names: Vec<String> = kept.names.iter().filter(|name| !not_fitted(name)).cloned().collect();
        names.extend(kept.start.then(|| "start".to_owned()));
        let report = FitReport {
            steps: evidence.steps(),
            episodes: seen.episodes,
            evidence: String::new(),
            level: options.level,
            tables: filled.tables.clone(),
            kept: names,
            confounded,
            marginalised,
            missing: seen.missing(&knowledge),
            missingness: learned_tests(&recorded, &knowledge),
            graph: (seen.episodes > 0).then(|| GraphCheck::finished(&graph)),
            open,
            em,
            record: AssumptionRecord::default(),
        };
        let (world, text) = written(filled)?;
        let evidence = Fitting::evidence_of(evidence, &kept, &world)?;
        let next_state_rewards = next_state_rewards.moved_to(&evidence.view);
        let incomplete = report.em.as_ref().filter(|em| em.steps > 0).map(|_| incomplete);
        let mut fitted = Fitted {
            world,
            text: String::new(),
            kept,
            evidence,
            next_state_rewards,
            incomplete,
            returns,
            declared,
            propensities,
            report,
        };
        fitted.report.record = of_summary(&fitted.summary(), fitted.incomplete.is_some());
        fitted.report.evidence = seal(&fitted.written_file(None))?;
        fitted.text = header(&fitted.report, fitted.returns, options.prior, &fitted.declared) + &text;
        Ok(fitted)
    }

    /// The world with the numbers filled in.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world file, with a summary of the fit at its top.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Visits, means, intervals and unidentified quantities.
    pub fn report(&self) -> &FitReport {
        &self.report
    }

    /// The evidence, for a learner that continues ([`Learner::with_evidence`](crate::Learner::with_evidence)).
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The summary of the log, for a plan.
    fn summary(&self) -> LogSummary {
        LogSummary {
            incomplete: self.incomplete.clone(),
            returns: self.returns,
            missingness: self.report.missingness.clone(),
            graph: self.report.graph.clone(),
            declared: self.declared.clone(),
            propensities: self.propensities.clone(),
            ..LogSummary::new(self.evidence.clone(), Some(Arc::new(self.next_state_rewards.clone())))
        }
    }

    /// The evidence file; [`read_evidence`] reads it.
    pub fn evidence_text(&self) -> String {
        self.written_file(Some(self.report.evidence.clone()))
    }

    fn written_file(&self, fingerprint: Option<String>) -> String {
        let confounded = &self.report.confounded;
        let file = EvidenceFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            kept: self.kept.names.iter().cloned().collect(),
            not_fitted: self.declared.not_fitted.clone(),
            without_numbers: (!confounded.is_empty())
                .then(|| confounded.iter().flat_map(|c| c.without_numbers.clone()).collect()),
            fingerprint,
            randomised: self.declared.randomised.clone(),
            excluded: Some(self.declared.excluded).filter(|[rows, _]| *rows > 0),
            em: self.incomplete.is_some(),
            incomplete: self.incomplete.as_ref().map(Incomplete::saved),
            returns: self.returns,
            missingness: self.report.missingness.clone(),
            graph: self.report.graph.clone(),
            randomised_steps: self.declared.randomised_only.clone(),
            propensities: self.propensities.clone(),
            unpaid: Vec::new(),
            next_state_rewards: (!self.next_state_rewards.terms.is_empty()).then(|| self.next_state_rewards.saved()),
            evidence: self.evidence.saved(),
        };
        serde_json::to_string(&file).expect("invariant: numbers and words can be written")
    }

    /// Expected uses of each row in an episode of the fitted world's optimal plan, `[table][row]` as in the report. A
    /// Monte Carlo estimate, a function of the seed.
    pub fn reliance(&self, episodes: u32, seed: u64) -> Result<Vec<Vec<f64>>, PlanError> {
        let planner = Planner::new(&self.world)?;
        let policy = planner.plan().policy_hs;
        let simulator = Simulator::new(&self.world).expect("invariant: a world that can be planned in can be played");
        let mut used = Evidence::of(&self.evidence.view);
        let mut next_state_rewards = NextStateRewards::new(&self.evidence.view);
        let [mut starts, mut steps] = Simulator::streams(seed);
        let mut outcome = Outcome::default();
        let n = self.world.n_states();
        for _ in 0..episodes {
            let mut state = simulator.start(&mut starts);
            for stage in 0..self.world.horizon() {
                if self.world.has_ended(state) {
                    break;
                }
                let action = policy[stage * n + state];
                simulator.step(state, action, &mut steps, &mut outcome);
                let seen = outcome.observation(stage, state, action);
                used.add(&seen).expect("invariant: the steps are of this world");
                next_state_rewards.add(&seen, 1);
                state = outcome.next_state;
            }
        }
        let share = |n: &u32| f64::from(*n) / f64::from(episodes.max(1));
        let layout = &self.evidence.view.layout.factors;
        let transitions =
            used.transitions[0].iter().zip(layout).filter(|(_, f)| f.known.is_none()).map(|(c, _)| &c.n_r);
        let payments = fitted_terms(&self.evidence.view, &used, &next_state_rewards).map(|(_, paid)| &paid.n);
        let rows = transitions.chain(used.mechanisms.iter().map(|c| &c.n_r)).chain(payments);
        let mut out: Vec<Vec<f64>> = rows.map(|n| n.iter().map(share).collect()).collect();
        let starts = self.report.tables.iter().filter(|t| t.part == FitPart::Start);
        out.extend(starts.map(|_| vec![1.0]));
        Ok(out)
    }
}

/// Quantities that a fit could not identify or complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFitted {
    /// Variables whose numbers do not come from the log.
    pub names: Vec<String>,
    /// Those without numbers in the world file, replaced by uniform distributions; `None` if the file does not record
    /// them.
    pub without_numbers: Option<Vec<String>>,
    /// Whether EM imputed missing key variables.
    pub em: bool,
    /// Whether the file contains the patterns of these steps, so that EM can run again; older files do not.
    pub holds_incomplete: bool,
    /// In older files, next-state reward terms that are missing in more than 1 % of steps. Their missingness may depend
    /// on the next state, which such a file does not record.
    pub unpaid: Vec<String>,
    /// Fingerprint of the evidence, also at the top of the fitted world ([`fingerprint_in`]); `None` if the file has
    /// none.
    pub fingerprint: Option<String>,
}

/// Prefix of the line of a fitted world file that identifies its evidence.
const FINGERPRINT: &str = "# Fingerprint of the evidence: ";

/// The fingerprint of the evidence that a world was fitted to, from its file; `None` if there is none.
pub fn fingerprint_in(world: &str) -> Option<&str> {
    world.lines().find_map(|line| line.strip_prefix(FINGERPRINT)).map(str::trim)
}

/// Prefix of the line of a fitted world file that states the mean logged return.
const RETURNS: &str = "# Mean logged return: ";

/// The mean return of the complete episodes that a world was fitted to, from its file; `None` if it has none.
pub fn logged_return_in(world: &str) -> Option<f64> {
    let line = world.lines().take_while(|line| line.starts_with('#')).find_map(|line| line.strip_prefix(RETURNS))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The limits of a fit, from its evidence file; every guarantee from its numbers has to state them.
pub fn not_fitted_in(text: &str) -> Result<NotFitted, FitError> {
    let EvidenceFile { not_fitted: names, without_numbers, em, unpaid, fingerprint, incomplete, .. } = read_file(text)?;
    Ok(NotFitted { names, without_numbers, em, holds_incomplete: incomplete.is_some(), unpaid, fingerprint })
}

/// The evidence of a fitted world, for learners that continue.
pub fn read_evidence(world: &World, text: &str) -> Result<Evidence, FitError> {
    Ok(read_summary(world, text)?.evidence)
}

/// The full summary beside a fitted world, for planning.
pub fn read_summary(world: &World, text: &str) -> Result<LogSummary, FitError> {
    let file = read_file(text)?;
    let kept = Kept::read(world, &file.kept)?;
    let (knowledge, options) = (kept.skeleton(world), Options::default());
    let view = View::new(&knowledge, options.states, options.causes, options.stage_dependent)?;
    let view = Arc::new(view);
    let next_state_rewards =
        file.next_state_rewards.map(|saved| NextStateRewards::restored(&view, &saved)).transpose()?;
    let incomplete = match file.incomplete {
        None => None,
        Some(saved) => Some(Incomplete::restored(&knowledge, saved).ok_or_else(|| damaged("incomplete"))?),
    };
    let evidence = Evidence::restored(&view, &file.evidence)?;
    if let Some(why) = file.returns.and_then(|returns| returns.wrong(&knowledge, evidence.steps())) {
        return Err(FitError::Evidence(EvidenceError::Damaged { field: "returns".to_owned(), why }));
    }
    // Older files contain the fingerprint of their counts only.
    let of_before = format!("{:016x}", evidence.fingerprint());
    let holds_all = !file.missingness.is_empty() || file.returns.is_some() || next_state_rewards.is_some();
    if let Some(fingerprint) = &file.fingerprint
        && *fingerprint != seal(text)?
        && (*fingerprint != of_before || holds_all)
    {
        let why = format!(
            "it is not as it was written, or of an earlier dowise: by what it holds its fingerprint is {}; fit again",
            seal(text)?
        );
        return Err(FitError::Evidence(EvidenceError::Damaged { field: "fingerprint".to_owned(), why }));
    }
    let declared = Declared {
        randomised: file.randomised,
        not_fitted: file.not_fitted,
        excluded: file.excluded.unwrap_or_default(),
        randomised_only: file.randomised_steps,
    };
    let (returns, missingness, graph, propensities) = (file.returns, file.missingness, file.graph, file.propensities);
    Ok(LogSummary {
        incomplete,
        declared,
        returns,
        missingness,
        graph,
        propensities,
        ..LogSummary::new(evidence, next_state_rewards.map(Arc::new))
    })
}

/// Fingerprint of a file's contents, independent of layout and without the fingerprint itself.
fn seal(text: &str) -> Result<String, FitError> {
    let mut all: serde_json::Value = serde_json::from_str(text).map_err(|e| FitError::Format(e.to_string()))?;
    if let Some(fields) = all.as_object_mut() {
        fields.remove("fingerprint");
    }
    Ok(format!("{:016x}", fnv(all.to_string().as_bytes())))
}

fn damaged(field: &str) -> FitError {
    let why = "it cannot have been counted in this world".to_owned();
    FitError::Evidence(EvidenceError::Damaged { field: field.to_owned(), why })
}

fn read_file(text: &str) -> Result<EvidenceFile, FitError> {
    let file: EvidenceFile = serde_json::from_str(text).map_err(|e| FitError::Format(e.to_string()))?;
    if file.format != FORMAT || file.version != VERSION {
        let found = format!(
            "this is `{}` version {}, and this dowise reads `{FORMAT}` version {VERSION}",
            file.format, file.version
        );
        return Err(FitError::Format(found));
    }
    Ok(file)
}

/// The world file, and the world read from it.
fn written(filled: Filled) -> Result<(World, String), FitError> {
    let Filled { mut world, numbers, .. } = filled;
    let name = world.name().to_owned();
    let read = |world: &World| {
        let text = world.to_toml_with(&numbers);
        World::from_toml(&text, &name).map(|world| (world, text))
    };
    if let Ok(found) = read(&world) {
        return Ok(found);
    }
    // For unobserved rewards, the midpoints of their ranges may add up to more than the declared range of the sum.
    let sum = |end: usize| world.rewards.iter().map(|r| r.range[end]).sum::<f64>();
    let [lo, hi] = world.reward_range;
    world.reward_range = [lo.min(sum(0)), hi.max(sum(1))];
    Ok(read(&world)?)
}

/// A summary of the fit, as comments at the top of the file.
fn header(report: &FitReport, returns: Option<ReturnSums>, prior: f64, declared: &Declared) -> String {
    let mut lines = vec![
        format!("Fitted to a log of {} steps in {} episodes.", report.steps, report.episodes),
        format!("Fingerprint of the evidence: {}", report.evidence),
    ];
    // Incomplete episodes have bounds on their returns only.
    if let Some(returns) = returns.filter(|returns| returns.middle.n > 0.0 && returns.incomplete == 0.0) {
        let (mean, n) = (returns.middle.mean, returns.middle.n);
        lines.push(format!("{}{mean} ({n} episodes)", RETURNS.trim_start_matches("# ")));
    }
    lines.push(format!(
        "Numbers are posterior means; the prior of a row of a table is worth {prior} visits, shared by its values."
    ));
    if !report.kept.is_empty() {
        lines.push(format!("Kept as the world file gave them: {}", report.kept.join(", ")));
    }
    if !declared.randomised.is_empty() {
        lines.push(format!("Said to have been set by a draw in the log: {}", declared.randomised.join(", ")));
    }
    if let Some(only) = &declared.randomised_only {
        lines.push(format!("Learned from randomised steps only: {}", only.variables.join(", ")));
    }
    for c in &report.confounded {
        lines.push(format!("Not fitted, see below: {}", c.not_fitted.join(", ")));
    }
    for s in &report.marginalised {
        let (hidden, keys) = (s.hidden.join(", "), s.keys.join(", "));
        let them = if s.hidden.len() == 1 { "it" } else { "them" };
        lines.push(format!("Summed out: {hidden}; {keys} learned as one table without {them}."));
    }
    for m in &report.missing {
        lines.push(format!("Not recorded in {} steps: {}.", m.steps, m.what));
    }
    for test in report.missingness.iter().filter(|test| test.is_missing_not_at_random(report.em.is_some())) {
        let differs = test.differs.as_deref().unwrap_or("what followed");
        lines.push(format!(
            "MISSING NOT AT RANDOM: whether {} was recorded depends on {differs}, or on what it was.",
            test.what
        ));
    }
    if let Some(em) = &report.em {
        lines.push(format!("What was not recorded is expected from the rest of the step in {} steps (EM).", em.steps));
    }
    lines.extend(report.open.iter().map(|o| format!("Open: {}: {}.", o.what, o.why)));
    // A name may contain a line break; a comment must not.
    let clean = |line: &String| line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    lines.iter().map(|line| format!("# {}\n", clean(line))).collect::<String>() + "\n"
}
