//! Tests a declared graph against a log: every implied conditional independence, with family-wise error control.
//!
//! `claims.rs` lists what the graph implies (by d-separation in the graph of one step, `graph.rs`); `counts.rs` counts
//! a log, with the previous step for the Markov property; [`contingency`](super::contingency) makes a p-value of the
//! counts of a claim; `effect.rs` says how large a dependence is.

mod claims;
mod counts;
mod effect;
mod graph;
mod report;

pub use effect::{Effect, RowEffect};
pub use report::{GraphReport, Tested, Untested};

use self::claims::{Claim, Steps};
use self::counts::{Counted, Panel, RowCounts};
use self::effect::Words;
use self::report::holm;
pub(crate) use self::report::rejected;
use super::contingency::{Draws, LEAST_VISITS, Merge, Prepared, Tables};
use super::evaluate::Projection;
use super::missingness::MissingnessCounts;
use crate::data::{BinnedVariable, LogStep};
use crate::learn::{EvidenceError, Knowledge};
use crate::math::ln;

/// Rows with fewer visits do not count.
const LEAST_IN_ROW: f64 = 3.0;

/// Tests a declared graph against a log, episode by episode. Memory grows with the visited rows, not with the log.
///
/// For every pair of variables that the graph d-separates (a *claim*), the two are compared within each row of the
/// separating set. Only the first visit of a row in each episode counts. If the graph is true and the behaviour policy
/// does not change during the log, visits of different episodes are independent. The outcomes of a row are then
/// exchangeable, which is all that the p-values use.
///
/// ```
/// use dowise::data::LogStep;
/// use dowise::offline::GraphTest;
/// use dowise::simulate::Outcome;
/// use dowise::{Knowledge, Simulator, worlds};
///
/// let world = worlds::world("river-swim", &[])?;
/// let (knowledge, simulator) = (Knowledge::of(&world), Simulator::new(&world)?);
/// let mut test = GraphTest::new(&knowledge);
/// let [mut starts, mut steps] = Simulator::streams(1);
/// for episode in 0..300 {
///     let mut state = simulator.start(&mut starts);
///     let mut played = Vec::new();
///     for stage in 0..world.horizon() {
///         let (action, mut outcome) = (simulator.any_allowed(state, &mut steps), Outcome::default());
///         simulator.step(state, action, &mut steps, &mut outcome);
///         played.push(LogStep::new(episode, outcome.observation(stage, state, action).into_owned()));
///         state = outcome.next_state;
///     }
///     test.add_episode(&played)?;
/// }
/// let report = test.finish(0.05);
/// assert!(!report.is_contradicted(), "{}", report.verdict());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GraphTest {
    knowledge: Knowledge,
    /// Claims about one step, then those about a step and the previous one, then those about the time, then those about
    /// whether the levers were set by a draw.
    claims: Vec<Claim>,
    n_of_step: usize,
    n_timeless: usize,
    n_of_time: usize,
    /// Steps that say that their levers were set otherwise, and by a draw.
    randomised: [u64; 2],
    /// Variables whose numbers were cut into bins.
    binned: Vec<BinnedVariable>,
    panels: Vec<Panel>,
    episodes: u64,
    steps: u64,
    incomplete_steps: u64,
    recorded: MissingnessCounts,
}

impl GraphTest {
    /// The claims of a graph, without data. Only the structure matters, not the known numbers.
    pub fn new(knowledge: &Knowledge) -> GraphTest {
        GraphTest::of(knowledge, None)
    }

    /// The claims of the graph of steps whose levers were set by a draw. In other steps the graph is `as_logged`: claims
    /// that it does not imply are tested in randomised steps only.
    pub(crate) fn with_experiments(knowledge: &Knowledge, as_logged: &Knowledge) -> GraphTest {
        GraphTest::of(knowledge, Some(as_logged))
    }

    fn of(knowledge: &Knowledge, as_logged: Option<&Knowledge>) -> GraphTest {
        let mut claims = claims::implied(knowledge);
        let n_of_step = claims.len();
        claims.extend(claims::implied_markov(knowledge));
        let n_timeless = claims.len();
        claims.extend(claims::implied_stationarity(knowledge));
        let n_of_time = claims.len();
        let holds = |claims: &[Claim]| match as_logged {
            Some(as_logged) => claims::hold_as_logged(knowledge, claims, as_logged),
            None => vec![true; claims.len()],
        };
        let of_experiments = claims::implied_confounding(knowledge);
        let valid = holds(&of_experiments);
        claims.extend(of_experiments.into_iter().zip(valid).filter(|(_, valid)| *valid).map(|(claim, _)| claim));
        let randomised_only: Vec<bool> = holds(&claims).into_iter().map(|holds| !holds).collect();
        let panels = counts::panels(knowledge, &claims, &randomised_only);
        let recorded = MissingnessCounts::new(knowledge);
        let knowledge = knowledge.clone();
        GraphTest {
            knowledge,
            claims,
            n_of_step,
            n_timeless,
            n_of_time,
            randomised: [0; 2],
            binned: Vec::new(),
            panels,
            episodes: 0,
            steps: 0,
            incomplete_steps: 0,
            recorded,
        }
    }

    /// States which variables were cut into bins: a contradicted independence given one of them may be due to that.
    pub fn cut(&mut self, binned: &[BinnedVariable]) {
        self.binned = binned.to_vec();
    }

    /// Every claim about one step in words, such as `next loyalty ⊥ subject | loyalty, opened, price`.
    pub fn claims(&self) -> Vec<String> {
        self.claims[..self.n_of_step].iter().map(|claim| claim.formula(&self.knowledge)).collect()
    }

    /// Counts the steps of one episode, in the order of their stages.
    ///
    /// # Cost
    /// O(steps · claims).
    pub fn add_episode(&mut self, steps: &[LogStep<'_>]) -> Result<(), EvidenceError> {
        for step in steps {
            let sizes = self.knowledge.variables().iter().map(|v| v.size() as u32);
            match step.observation.done(&self.knowledge, sizes) {
                // A step without an intervention may still have an outcome.
                Ok(_) | Err(EvidenceError::NothingDone) => {}
                Err(error) => return Err(error),
            }
        }
        self.episodes += 1;
        // Readers hand on an episode when it ends, so one whose end is missing comes late. Who does not number episodes
        // gives 0 to all.
        let place = steps.first().map_or(0, |step| step.episode);
        let place = if place == 0 { self.episodes } else { place + 1 };
        let mut last: [Option<&LogStep<'_>>; 2] = [None; 2];
        for step in steps.iter().filter(|step| step.weight > 0) {
            self.steps += 1;
            step.randomised.into_iter().for_each(|yes| self.randomised[usize::from(yes)] += 1);
            let now = &step.observation;
            let ago =
                |i: usize| last[i].map(|last| &last.observation).filter(|before| before.stage() + 1 + i == now.stage());
            let (before, earlier) = (ago(0), ago(1));
            let mut complete = true;
            for panel in &mut self.panels {
                let seen = Steps { now, before, earlier, episode: self.episodes, place, randomised: step.randomised };
                complete &= panel.add(&self.knowledge, seen, step.weight);
            }
            self.incomplete_steps += u64::from(!complete);
            self.recorded.add(now, step.weight);
            last = [Some(step), last[0]];
        }
        Ok(())
    }

    /// The state factors and levers of every claim that the log cannot test although it is about one of them.
    pub(crate) fn untested_projections(&self) -> Vec<Projection> {
        let counted = self.panels.iter().flat_map(Panel::counted).filter(|found| found.claim < self.n_of_step);
        let is_tested = |found: &Counted<'_>| self.tables(found).visits() >= LEAST_VISITS || outcome_is_constant(found);
        let ends = self.ends_at_once();
        let matters = |found: &Counted<'_>| !(ends && matches!(self.claims[found.claim].outcome, graph::Part::Next(_)));
        let untested = counted.filter(|found| matters(found) && !is_tested(found));
        untested.filter_map(|found| self.claims[found.claim].projection(&self.knowledge)).collect()
    }

    /// Whether the log need not record the outcome of a claim, and does not: a known payment, or what follows the only
    /// step of an episode.
    fn is_not_needed(&self, found: &Counted<'_>) -> bool {
        let is_spared = match self.claims[found.claim].outcome {
            graph::Part::Reward(j) => self.knowledge.rewards()[j].table.is_some(),
            graph::Part::Next(_) => self.ends_at_once(),
            _ => false,
        };
        is_spared && found.rows.iter().all(|row| row.cells.is_empty())
    }

    /// Whether the next state does not matter: episodes have one step, and nothing is paid for what follows it.
    fn ends_at_once(&self) -> bool {
        self.knowledge.horizon() == 1 && self.knowledge.rewards().iter().all(|term| term.next.is_empty())
    }

    /// Whether one side of a claim has a single value.
    fn is_vacuous(&self, claim: &Claim) -> bool {
        [claim.other, claim.outcome].iter().any(|&part| claims::size(&self.knowledge, part) < 2)
    }

    /// The contingency tables of a claim.
    fn tables(&self, found: &Counted<'_>) -> Tables {
        let claim = &self.claims[found.claim];
        let [n_other, n_outcome] = [claim.other, claim.outcome].map(|part| claims::size(&self.knowledge, part));
        let rows = found.rows.iter().map(|row| row.table(n_other, n_outcome));
        Tables::new(rows, n_other, n_outcome, LEAST_IN_ROW)
    }

    /// The p-value of every claim, adjusted so that a true graph is rejected with probability at most `level` (above 0,
    /// below 1), and likewise a true Markov property. Permutations use a fixed seed: the same counts give the same
    /// report.
    pub fn finish(&self, level: f64) -> GraphReport {
        assert!(level > 0.0 && level < 1.0, "invariant: a level is a probability, not {level}");
        let mut counted: Vec<Counted<'_>> = self.panels.iter().flat_map(Panel::counted).collect();
        counted.sort_by_key(|c| c.claim);
        let mut of_experiments = counted.split_off(counted.partition_point(|c| c.claim < self.n_of_time));
        let of_time = counted.split_off(counted.partition_point(|c| c.claim < self.n_timeless));
        let of_previous = counted.split_off(counted.partition_point(|c| c.claim < self.n_of_step));
        let (tested, untested) = self.family(&counted, level);
        let (markov, markov_untested) = self.family(&of_previous, level);
        let (stationarity, stationarity_untested) = self.family(&of_time, level);
        // Without steps of both kinds there is nothing to compare.
        let has_both = !self.randomised.contains(&0);
        of_experiments.retain(|found| has_both && !self.is_not_needed(found));
        let (confounding, confounding_untested) = self.family(&of_experiments, level);
        let (episodes, steps, incomplete_steps) = (self.episodes, self.steps, self.incomplete_steps);
        let missingness = self.recorded.tests();
        GraphReport {
            level,
            episodes,
            steps,
            incomplete_steps,
            tested,
            untested,
            markov,
            markov_untested,
            stationarity,
            stationarity_untested,
            confounding,
            confounding_untested,
            missingness,
        }
    }

    /// Tests a family of claims: p-values adjusted by Holm's method, smallest first, and the claims with too little
    /// data.
    fn family(&self, counted: &[Counted<'_>], level: f64) -> (Vec<Tested>, Vec<Untested>) {
        let mut untested = Vec::new();
        let mut ready: Vec<(&Counted<'_>, Prepared)> = Vec::new();
        for found in counted {
            let claim = &self.claims[found.claim];
            match Prepared::new(self.tables(found)) {
                Ok(prepared) => ready.push((found, prepared)),
                // A constant, such as the stage where there is only one, says nothing.
                Err(_) if self.is_vacuous(claim) => {}
                Err(tables) => untested.push(Untested {
                    claim: claim.formula(&self.knowledge),
                    why: why_not(claim, &self.knowledge, found, tables.visits()),
                    visits: tables.visits() as u64,
                    missing: found.missing,
                    outcome_is_constant: outcome_is_constant(found),
                }),
            }
        }
        // Holm's method adjusts the p-values.
        let most = Draws::enough(ready.len(), level);
        let mut tested: Vec<Tested> = ready
            .iter()
            .map(|(found, prepared)| self.tested(found, prepared, (most, level / ready.len() as f64)))
            .collect();
        let adjusted = holm(&tested.iter().map(|t| t.p).collect::<Vec<_>>());
        tested.iter_mut().zip(adjusted).for_each(|(t, p)| t.adjusted_p = p);
        // The sort is stable, so ties stay in causal order.
        tested.sort_by(|a, b| a.adjusted_p.total_cmp(&b.adjusted_p).then(a.p.total_cmp(&b.p)));
        (tested, untested)
    }

    fn tested(&self, found: &Counted<'_>, prepared: &Prepared, (most, level): (u32, f64)) -> Tested {
        let claim = &self.claims[found.claim];
        let tables = &prepared.tables;
        let (p, drawn) = prepared.p_value(Draws { most, seed: found.claim as u64 });
        let words = InWords { knowledge: &self.knowledge, claim, rows: &found.rows, merged: &tables.merged };
        Tested {
            claim: claim.formula(&self.knowledge),
            meaning: claim.meaning(&self.knowledge) + &claim.of_bins(&self.knowledge, &self.binned),
            p,
            adjusted_p: p,
            drawn,
            rows: tables.tables.len(),
            visits: tables.visits() as u64,
            missing: found.missing,
            detectable: detectable(tables, level),
            effect: Effect::of(tables, &words),
        }
    }
}

/// The difference in the probability of the most frequent outcome that a test at this level detects with a probability
/// of 80 %: (z + 0.84) √(p (1 − p) / n), with n = Σ_rows N w (1 − w) and w the share of the most frequent class.
fn detectable(tables: &Tables, level: f64) -> f64 {
    let most = |margin: &[f64]| margin.iter().copied().fold(0.0, f64::max);
    let n: f64 = tables.tables.iter().map(|t| most(&t.others) * (1.0 - most(&t.others) / t.total)).sum();
    let mut outcomes = vec![0.0; tables.merged[1].n];
    tables.tables.iter().for_each(|t| outcomes.iter_mut().zip(&t.outcomes).for_each(|(sum, x)| *sum += x));
    let p = most(&outcomes) / tables.visits();
    // P(|Z| > z) is at most 2 exp(−z²/2).
    let z = (2.0 * ln(2.0 / level)).sqrt();
    ((z + 0.84) * (p * (1.0 - p) / n).sqrt()).min(1.0)
}

/// Whether the outcome never varies within a row, although the other side does in enough visits.
fn outcome_is_constant(found: &Counted<'_>) -> bool {
    let constant = |row: &RowCounts<'_>, side: fn(&(u32, u32, u32)) -> u32| {
        row.cells.windows(2).all(|w| side(&w[0]) == side(&w[1]))
    };
    let visits = |row: &RowCounts<'_>| row.cells.iter().map(|cell| f64::from(cell.2)).sum::<f64>();
    let varying = found.rows.iter().filter(|row| !constant(row, |cell| cell.0));
    found.rows.iter().all(|row| constant(row, |cell| cell.1)) && varying.map(visits).sum::<f64>() >= LEAST_VISITS
}

/// Why a claim was not tested.
fn why_not(claim: &Claim, knowledge: &Knowledge, found: &Counted<'_>, visits: f64) -> String {
    let all: u64 = found.rows.iter().flat_map(|row| &row.cells).map(|cell| u64::from(cell.2)).sum();
    let constant = |side: fn(&(u32, u32, u32)) -> u32| {
        let same = |row: &RowCounts<'_>| row.cells.windows(2).all(|w| side(&w[0]) == side(&w[1]));
        found.rows.iter().all(same)
    };
    if all == 0 {
        return "never seen together".to_owned();
    }
    if constant(|c| c.1) {
        return format!("{} does not vary within a row", claims::name(knowledge, claim.outcome));
    }
    if constant(|c| c.0) {
        return format!("{} does not vary within a row", claims::name(knowledge, claim.other));
    }
    match visits as u64 {
        0 => "no row has visits in which both vary".to_owned(),
        n => format!("{n} visits of rows in which both vary, {LEAST_VISITS} needed"),
    }
}

/// Names of merged classes and of rows.
struct InWords<'a> {
    knowledge: &'a Knowledge,
    claim: &'a Claim,
    rows: &'a [RowCounts<'a>],
    merged: &'a [Merge; 2],
}

impl InWords<'_> {
    /// The names of merged classes, abbreviated if there are many.
    fn classes(&self, part: graph::Part, merge: &Merge, group: usize) -> String {
        let seen = |class: &usize| {
            self.rows
                .iter()
                .flat_map(|row| &row.cells)
                .any(|&(x, y, _)| (if part == self.claim.other { x } else { y }) as usize == *class)
        };
        let members: Vec<usize> = (0..merge.to.len()).filter(|&c| merge.to[c] == group).filter(seen).collect();
        let names: Vec<String> =
            members.iter().take(3).map(|&c| claims::class_name(self.knowledge, part, c as u32)).collect();
        names.join(" or ") + if members.len() > 3 { " or …" } else { "" }
    }
}

impl Words for InWords<'_> {
    fn other(&self, class: usize) -> String {
        self.classes(self.claim.other, &self.merged[0], class)
    }

    fn outcome(&self, class: usize) -> String {
        self.classes(self.claim.outcome, &self.merged[1], class)
    }

    fn row(&self, place: usize) -> String {
        let values = self.claim.given.iter().zip(self.rows[place].row);
        let words = values.map(|(&part, &class)| {
            format!("{}={}", claims::name(self.knowledge, part), claims::class_name(self.knowledge, part, class))
        });
        words.collect::<Vec<_>>().join(" ")
    }
}
