//! Missingness tests: whether recording depends on the outcome of a step (missing not at random, MNAR).

mod compared;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::compared::{Ancestors, Outcome, What, Within};
use super::contingency::{Draws, Prepared, Table, Tables};
use crate::learn::{Knowledge, Observation};
use crate::world::VarId;

/// Maximum number of counts kept for all states and interventions: 80 MB.
const MOST_CELLS: usize = 20_000_000;

/// Level at which a test rejects.
const LEVEL: f64 = 0.001;

/// A missing value.
const MISSING: u32 = u32::MAX;

/// Test of whether recording depends on the step's outcome, given state, intervention and other recorded variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingnessTest {
    /// Such as `key variable opened`, `lever mail, left alone` or `reward sales`.
    pub what: String,
    /// Whether it is a payment.
    pub is_payment: bool,
    /// Steps without it, among those with a known next state.
    pub missing: u64,
    /// The number of those steps.
    pub steps: u64,
    /// p-value, adjusted for all tests of the log; 1 if nothing could be tested.
    pub p: f64,
    /// The outcome with the clearest difference: such as `next mood`, `what sales paid` or `key variable clicked`.
    pub differs: Option<String>,
    /// Whether that outcome is a next value.
    pub in_next: bool,
}

impl MissingnessTest {
    /// Whether the test rejects at level 0.001.
    pub fn depends_on_outcome(&self) -> bool {
        self.p < LEVEL
    }

    /// Whether the variable is missing not at random, so that estimates from it may be biased. Payments are exempt.
    /// With EM (`em`), missingness may depend on the next state.
    pub fn is_missing_not_at_random(&self, em: bool) -> bool {
        self.depends_on_outcome() && !self.is_payment && !(em && self.in_next)
    }
}

/// Counts of outcomes (next values, payments, dependent key variables), by which values were recorded.
///
/// ```
/// use dowise::offline::MissingnessCounts;
/// use dowise::{Knowledge, Observation, worlds};
/// let world = worlds::world("river-swim", &[])?;
/// let knowledge = Knowledge::of(&world);
/// let mut recorded = MissingnessCounts::new(&knowledge);
/// for i in 0..100 {
///     let step = Observation::at(&knowledge, 0, 1)?.did(&knowledge, 0)?;
///     // Recorded only if the swimmer was carried back.
///     let step = if i % 2 == 0 { step.saw(&knowledge, [("push", "forward")])? } else { step };
///     recorded.add(&step.then(&knowledge, if i % 2 == 0 { 0 } else { 2 })?, 1);
/// }
/// let tests = recorded.tests();
/// assert_eq!((tests[0].what.as_str(), tests[0].missing), ("key variable push", 50));
/// assert!(tests[0].depends_on_outcome());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MissingnessCounts {
    knowledge: Knowledge,
    what: Vec<What>,
    compared: Vec<Compared>,
    cells: usize,
    steps: u64,
    /// Steps in which both are missing, `[what][what]`.
    missing: Vec<u64>,
    /// Steps dropped for lack of memory, of the outcome with most of them.
    not_counted: u64,
}

/// Counts of one outcome.
#[derive(Clone, Debug)]
struct Compared {
    outcome: Outcome,
    within: Within,
    /// For each of `what`: `None` if its recording may depend on this outcome; otherwise which of `within.seen` may
    /// decide its recording.
    tested: Vec<Option<Vec<bool>>>,
    /// Steps by value of the outcome, for each conditioning configuration and missingness pattern.
    strata: BTreeMap<Box<[u32]>, Vec<u32>>,
    not_counted: u64,
}

impl Compared {
    fn new(knowledge: &Knowledge, ancestors: &Ancestors<'_>, what: &[What], outcome: Outcome) -> Option<Compared> {
        let within = ancestors.within(knowledge, &outcome);
        let test = |&what: &What| {
            let concerned = match &outcome {
                Outcome::Next(_) => true,
                // The graph permits that payments are missing depending on other payments.
                Outcome::Paid(..) => !matches!(what, What::Payment(_)),
                Outcome::Key(id) => ancestors.moves_with(what, *id),
            };
            concerned.then(|| within.seen.iter().map(|&id| ancestors.may_decide(id, what)).collect())
        };
        let tested: Vec<Option<Vec<bool>>> = what.iter().map(test).collect();
        let some = tested.iter().any(Option::is_some);
        some.then(|| Compared { outcome, within, tested, strata: BTreeMap::new(), not_counted: 0 })
    }

    /// Number of entries of a stratum key for the conditioning set; the missingness pattern follows.
    fn n_within(&self) -> usize {
        self.within.state.len() + 2 * self.within.levers.len() + self.within.seen.len()
    }
}

impl MissingnessCounts {
    /// No counts yet.
    pub fn new(knowledge: &Knowledge) -> MissingnessCounts {
        let keys = knowledge.keys().iter().map(|&id| What::Key(id));
        let levers = knowledge.levers().iter().enumerate().map(|(i, &id)| What::Lever(i, id));
        let what: Vec<What> = keys.chain(levers).chain((0..knowledge.rewards().len()).map(What::Payment)).collect();
        let ancestors = Ancestors::new(knowledge.world());
        let next = (0..knowledge.state().len()).map(Outcome::Next);
        let paid = (0..knowledge.rewards().len()).map(|term| Outcome::Paid(term, Vec::new()));
        let outcomes = next.chain(paid).chain(knowledge.keys().iter().map(|&id| Outcome::Key(id)));
        let compared = outcomes.filter_map(|outcome| Compared::new(knowledge, &ancestors, &what, outcome)).collect();
        let missing = vec![0; what.len() * what.len()];
        MissingnessCounts { knowledge: knowledge.clone(), what, compared, cells: 0, steps: 0, missing, not_counted: 0 }
    }

    /// Counts a step with this multiplicity, if its intervention and next state are known.
    pub fn add(&mut self, step: &Observation<'_>, times: u32) {
        let (Some(action), Some(next)) = (step.action(), step.whole_next_state()) else { return };
        self.steps += u64::from(times);
        let (knowledge, n_what) = (&self.knowledge, self.what.len());
        let (states, all) = (knowledge.state_space(), knowledge.interventions());
        let is_missing = |what: What| match what {
            What::Key(id) => step.value(id).is_none(),
            What::Lever(i, id) => all.lever(action, i).is_none() && step.value(id).is_none(),
            What::Payment(term) => step.rewards()[term].is_nan(),
        };
        let lacking: Vec<usize> = (0..n_what).filter(|&i| is_missing(self.what[i])).collect();
        let mut words = vec![0u32; n_what.div_ceil(32)];
        for &i in &lacking {
            words[i / 32] |= 1 << (i % 32);
            lacking.iter().for_each(|&j| self.missing[i * n_what + j] += u64::from(times));
        }
        let mut at: Vec<u32> = Vec::new();
        for compared in &mut self.compared {
            let Some(value) = compared.outcome.value(knowledge, step, next) else { continue };
            let Within { state, levers, seen } = &compared.within;
            at.clear();
            at.extend(state.iter().map(|&axis| states.digit(step.state(), axis) as u32));
            for part in levers.iter().map(|&lever| all.part(lever, all.lever(action, lever))) {
                at.extend([part as u32, (part >> 32) as u32]);
            }
            at.extend(seen.iter().map(|&id| step.value(id).unwrap_or(MISSING)));
            at.extend(&words);
            if !compared.strata.contains_key(&at[..]) {
                let n_values = compared.outcome.n_values(knowledge);
                if self.cells + n_values + at.len() > MOST_CELLS {
                    compared.not_counted += u64::from(times);
                    self.not_counted = self.not_counted.max(compared.not_counted);
                    continue;
                }
                self.cells += n_values + at.len();
                compared.strata.insert(at.clone().into_boxed_slice(), vec![0; n_values]);
            }
            if let Some(counts) = compared.strata.get_mut(&at[..]) {
                counts[value] = counts[value].saturating_add(times);
            }
        }
    }

    /// Steps dropped for lack of memory; the tests ignore them.
    pub fn not_counted(&self) -> u64 {
        self.not_counted
    }

    /// One test for each variable and payment that is missing in some steps but not in all.
    ///
    /// Recorded and unrecorded steps are compared in the next value of each state factor. For variables they are also
    /// compared in each payment, and in key variables that are descendants or share a hidden cause.
    ///
    /// Strata are states, interventions and other recorded variables that act on the outcome or are linked with it:
    /// recording may depend on these. A variable that is also missing in more than half of the steps without the tested
    /// one does not define strata.
    ///
    /// Two statistics, as in the graph test: Cochran–Mantel–Haenszel, which detects a dependence of one direction in
    /// small strata, and Pearson's X² summed over strata, which detects differing directions. Permutations decide if
    /// counts are small. The p-value is the smallest times the number of tests of the log (Bonferroni).
    pub fn tests(&self) -> Vec<MissingnessTest> {
        let some = |i: &usize| (1..self.steps).contains(&self.n_missing(*i));
        let partly_missing: Vec<usize> = (0..self.what.len()).filter(some).collect();
        let compared = |of: &usize| self.compared.iter().filter(|c| c.tested[*of].is_some()).count();
        let most = Draws::enough(partly_missing.iter().map(compared).sum(), LEVEL);
        let (mut tests, mut n_tests) = (Vec::new(), 0);
        for of in partly_missing {
            let (test, n) = self.test(of, most);
            tests.push(test);
            n_tests += n;
        }
        tests.iter_mut().for_each(|test| test.p = (test.p * f64::from(n_tests.max(1))).min(1.0));
        tests
    }

    fn n_missing(&self, of: usize) -> u64 {
        self.missing[of * self.what.len() + of]
    }

    /// The test of one variable or payment before the Bonferroni factor, and its number of p-values; `most` is the
    /// maximum number of permutations of each.
    fn test(&self, of: usize, most: u32) -> (MissingnessTest, u32) {
        let (mut least, mut n_tests, mut differs) = ([1.0f64; 2], 0, None);
        for (i, compared) in self.compared.iter().enumerate() {
            let Some(prepared) = self.prepared(of, compared) else { continue };
            let (p, _) = prepared.p_value(Draws { most, seed: (of * self.compared.len() + i) as u64 });
            n_tests += 1;
            // Permutations may not tell the smallest p-values apart.
            let clearest = [p, prepared.by_moments()];
            if clearest < least {
                (least, differs) = (clearest, Some(&compared.outcome));
            }
        }
        let name = |id: VarId| self.knowledge.variable(id).name.clone();
        let test = MissingnessTest {
            what: match self.what[of] {
                What::Key(id) => format!("key variable {}", name(id)),
                What::Lever(_, id) => format!("lever {}, left alone", name(id)),
                What::Payment(term) => format!("reward {}", self.knowledge.rewards()[term].name),
            },
            is_payment: matches!(self.what[of], What::Payment(_)),
            missing: self.n_missing(of),
            steps: self.steps,
            p: least[0],
            differs: differs.map(|outcome| outcome.name(&self.knowledge)),
            in_next: matches!(differs, Some(Outcome::Next(_))),
        };
        (test, n_tests)
    }

    /// Steps with and without the tested value by outcome, in each stratum, if there is enough data.
    fn prepared(&self, of: usize, compared: &Compared) -> Option<Prepared> {
        let may_decide = compared.tested[of].as_ref()?;
        let n_within = compared.n_within();
        let first_seen = n_within - may_decide.len();
        // A variable that is mostly missing together with the tested one cannot define strata.
        let is_there = |id: VarId| match self.what.iter().position(|what| what.id() == Some(id)) {
            Some(other) => 2 * self.missing[of * self.what.len() + other] <= self.n_missing(of),
            None => true,
        };
        let seen = compared.within.seen.iter().zip(may_decide);
        let given: Vec<bool> = seen.map(|(&id, &may)| may && is_there(id)).collect();
        let n_values = compared.outcome.n_values(&self.knowledge);
        let mut strata: BTreeMap<Vec<u32>, [Vec<u32>; 2]> = BTreeMap::new();
        for (at, counts) in &compared.strata {
            let lacks = at[n_within + of / 32] >> (of % 32) & 1 == 1;
            let seen = at[first_seen..n_within].iter().zip(&given);
            let at = at[..first_seen].iter().copied().chain(seen.map(|(&v, &given)| if given { v } else { 0 }));
            let stratum = strata.entry(at.collect()).or_insert_with(|| [vec![0; n_values], vec![0; n_values]]);
            let of_kind = &mut stratum[usize::from(lacks)];
            of_kind.iter_mut().zip(counts).for_each(|(sum, &n)| *sum = sum.saturating_add(n));
        }
        let table =
            |kinds: &[Vec<u32>; 2]| Table::new(2, n_values, kinds.concat().into_iter().map(f64::from).collect());
        Prepared::new(Tables::new(strata.values().map(table), 2, n_values, 2.0)).ok()
    }
}
