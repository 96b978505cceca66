//! Tests a declared graph against a log: every implied conditional independence, with family-wise error control.
//!
//! `claims.rs` lists what the graph implies (by d-separation in the graph of one step, `graph.rs`); `counts.rs` counts
//! a log; `tables.rs`, `statistic.rs` and `permute.rs` make a p-value of the counts of a claim; `effect.rs` says how large a
//! dependence is.

mod claims;
mod counts;
mod effect;
mod gamma;
mod graph;
mod permute;
mod report;
mod statistic;
mod tables;

pub use effect::{Effect, RowEffect};
pub(crate) use gamma::upper_gamma;
pub use report::{GraphReport, Tested, Untested};

use self::claims::Claim;
use self::counts::{Counted, Panel, RowCounts};
use self::effect::Words;
use self::report::holm;
use self::statistic::Reference;
use self::tables::{Merge, Tables};
use super::missingness::MissingnessCounts;
use crate::data::LogStep;
use crate::learn::{EvidenceError, Knowledge};

/// Claims with fewer visits than this, in rows where both sides vary, are not tested.
const LEAST_VISITS: f64 = 20.0;

/// Limit on visits times draws of a permutation test.
const MOST_WORK: f64 = 2e8;

/// From this many visits on, a moment-based p-value below [`SURE`] is accepted: only the shape of its far tail is
/// uncertain.
const MANY_VISITS: f64 = 3000.0;
const SURE: f64 = 1e-12;

/// Permutations are drawn if the moment-based p-value is below this.
const DOUBTFUL: f64 = 0.1;

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
    claims: Vec<Claim>,
    panels: Vec<Panel>,
    episodes: u64,
    steps: u64,
    incomplete_steps: u64,
    recorded: MissingnessCounts,
}

impl GraphTest {
    /// The claims of a graph, without data. Only the structure matters, not the known numbers.
    pub fn new(knowledge: &Knowledge) -> GraphTest {
        let claims = claims::implied(knowledge);
        let panels = counts::panels(knowledge, &claims);
        let recorded = MissingnessCounts::new(knowledge);
        GraphTest { knowledge: knowledge.clone(), claims, panels, episodes: 0, steps: 0, incomplete_steps: 0, recorded }
    }

    /// Every claim in words, such as `next loyalty ⊥ subject | loyalty, opened, price`.
    pub fn claims(&self) -> Vec<String> {
        self.claims.iter().map(|claim| claim.formula(&self.knowledge)).collect()
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
        for step in steps.iter().filter(|step| step.weight > 0) {
            self.steps += 1;
            let seen = &step.observation;
            let mut complete = true;
            for panel in &mut self.panels {
                complete &= panel.add(&self.knowledge, self.episodes, seen, step.weight);
            }
            self.incomplete_steps += u64::from(!complete);
            self.recorded.add(seen, step.weight);
        }
        Ok(())
    }

    /// The p-value of every claim, adjusted so that a true graph is rejected with probability at most `level` (above 0,
    /// below 1). Permutations use a fixed seed: the same counts give the same report.
    pub fn finish(&self, level: f64) -> GraphReport {
        assert!(level > 0.0 && level < 1.0, "invariant: a level is a probability, not {level}");
        let mut counted: Vec<Counted<'_>> = self.panels.iter().flat_map(Panel::counted).collect();
        counted.sort_by_key(|c| c.claim);
        let mut untested = Vec::new();
        let mut ready: Vec<(&Counted<'_>, Tables, Reference)> = Vec::new();
        for found in &counted {
            let claim = &self.claims[found.claim];
            let [n_other, n_outcome] = [claim.other, claim.outcome].map(|part| claims::size(&self.knowledge, part));
            let tables = Tables::new(&found.rows, n_other, n_outcome);
            let visits = tables.visits();
            if tables.tables.is_empty() || visits < LEAST_VISITS {
                untested.push(Untested {
                    claim: claim.formula(&self.knowledge),
                    why: why_not(claim, &self.knowledge, found, visits),
                    visits: visits as u64,
                    missing: found.missing,
                });
                continue;
            }
            let reference = Reference::new(&tables.tables, &tables.for_pearson());
            ready.push((found, tables, reference));
        }
        // Enough draws for the smallest p-value to be significant after Holm's adjustment.
        let draws = (5.0 * ready.len() as f64 / level).clamp(2000.0, 100_000.0) as u32;
        let mut tested: Vec<Tested> =
            ready.iter().map(|(found, tables, r)| self.tested(found, tables, r, draws)).collect();
        let adjusted = holm(&tested.iter().map(|t| t.p).collect::<Vec<_>>());
        tested.iter_mut().zip(adjusted).for_each(|(t, p)| t.adjusted_p = p);
        // The sort is stable, so ties stay in causal order.
        tested.sort_by(|a, b| a.adjusted_p.total_cmp(&b.adjusted_p).then(a.p.total_cmp(&b.p)));
        let (episodes, steps, incomplete_steps) = (self.episodes, self.steps, self.incomplete_steps);
        let missingness = self.recorded.tests();
        GraphReport { level, episodes, steps, incomplete_steps, tested, untested, missingness }
    }

    fn tested(&self, found: &Counted<'_>, tables: &Tables, reference: &Reference, draws: u32) -> Tested {
        let claim = &self.claims[found.claim];
        let seen = reference.of(&tables.tables, &tables.for_pearson()).least();
        let mut p = if reference.is_alone() { seen } else { (2.0 * seen).min(1.0) };
        let visits = tables.visits();
        let sure = visits >= MANY_VISITS && p < SURE;
        let drawn = p < DOUBTFUL && !sure && visits * f64::from(draws) <= MOST_WORK;
        if drawn {
            p = permute::p_by_permutations(tables, reference, seen, draws, found.claim as u64);
        }
        let words = InWords { knowledge: &self.knowledge, claim, rows: &found.rows, merged: &tables.merged };
        Tested {
            claim: claim.formula(&self.knowledge),
            meaning: claim.meaning(&self.knowledge),
            p,
            adjusted_p: p,
            drawn,
            rows: tables.tables.len(),
            visits: tables.visits() as u64,
            missing: found.missing,
            effect: Effect::of(tables, &words),
        }
    }
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
        0 => "too few visits of each row".to_owned(),
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
