//! Overlap (positivity): rows that a policy reaches and the log never visits.

use std::collections::BTreeMap;
use std::fmt;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::model::Model;
use super::start::StartStates;
use crate::Space;
use crate::learn::{Looked, Observation};
use crate::random::splitmix64;
use crate::simulate::{Outcome, Simulator};
use crate::world::{Action, VarId, World};

/// Prior weight of the simulated model: frequencies where there is data, uniform elsewhere.
pub(super) const HARDLY_ANY: f64 = 1e-9;

/// Visits below which a row is thin.
const THIN: u32 = 20;

/// Whether the log covers the rows that a policy needs (overlap).
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Support {
    /// Share of episodes that pass through an unvisited row.
    pub share: f64,
    /// Share of steps that rest on a row with fewer than 20 visits. There the prior matters, and the posterior interval
    /// is only as good as the prior.
    pub thin: f64,
    /// Unvisited rows, most frequent first.
    pub rows: Vec<Unsupported>,
    /// Episodes simulated in the model.
    pub played: u32,
}

/// A row that the policy reaches and the log never visits (positivity violation).
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Unsupported {
    /// Such as `the next value of loyalty`.
    pub what: String,
    /// Its parent configuration, names and values.
    pub given: Vec<(String, String)>,
    /// Share of episodes that pass through it.
    pub share: f64,
    /// Stage of the first occurrence, from 1.
    pub stage: usize,
    /// State of the first occurrence, by names.
    pub state: String,
    /// The policy's intervention there.
    #[serde(skip)]
    pub action: Action,
    /// The same by names.
    pub intervention: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given: Vec<String> = self.given.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let Unsupported { what, stage, state, intervention, .. } = self;
        if given.is_empty() {
            write!(f, "{what}")?;
        } else {
            write!(f, "{what} where {}", given.join(" "))?;
        }
        write!(f, " (stage {stage}, state {state}, do {intervention})")
    }
}

/// Simulates the policy in the model and looks up every row that it visits.
pub(crate) fn support(model: &Model, policy_hs: &[Action], starts: &StartStates, played: u32, seed: u64) -> Support {
    let world = model.mean_world(HARDLY_ANY, starts.to_start());
    let simulator = Simulator::new(&world).expect("invariant: the mean of the posterior gives every number");
    let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x7375_7070));
    let n = world.n_states();
    let mut outcome = Outcome::default();
    let pairs = Pairs::new(model);
    let pays_for_next = model.view().knowledge.rewards().iter().any(|term| !term.next.is_empty());
    let mut rows: BTreeMap<Looked, (Unsupported, u32, u32)> = BTreeMap::new();
    let (mut episodes, mut thin_steps, mut steps) = (0u32, 0u64, 0u64);
    for episode in 1..=played {
        let mut state = simulator.start(&mut rng);
        let mut found = false;
        for stage in 0..world.horizon() {
            // Nothing has to be known after the end of an episode.
            if world.has_ended(state) {
                break;
            }
            steps += 1;
            // After the last stage only next-state rewards need the next state.
            let is_last = stage + 1 == world.horizon() && !pays_for_next;
            let action = policy_hs[stage * n + state];
            simulator.step(state, action, &mut rng, &mut outcome);
            let mut thin = false;
            let seen = outcome.observation(stage, state, action);
            model.evidence().visits_of(&seen, |row, visits| {
                if is_last && matches!(row, Looked::Transition { .. }) {
                    return;
                }
                let (row, visits) = by_next(model, &world, row, visits, &seen);
                let visits = pairs.visits(model, row, visits);
                if visits >= THIN {
                    return;
                }
                thin = true;
                if visits > 0 {
                    return;
                }
                found = true;
                let first = || (describe(model, &world, row, &outcome.values, stage, state, action), 0, 0);
                let (_, times, last) = rows.entry(row).or_insert_with(first);
                *times += u32::from(*last != episode);
                *last = episode;
            });
            thin_steps += u64::from(thin);
            state = outcome.next_state;
        }
        episodes += u32::from(found);
    }
    let share = |times: u32| f64::from(times) / f64::from(played.max(1));
    let mut rows: Vec<Unsupported> =
        rows.into_values().map(|(row, times, _)| Unsupported { share: share(times), ..row }).collect();
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    let thin = thin_steps as f64 / steps.max(1) as f64;
    Support { share: share(episodes), thin, rows, played }
}

/// The row of a next-state term for a step, if the term is counted by next values; a known term needs no visits.
fn by_next(model: &Model, world: &World, row: Looked, visits: u32, seen: &Observation<'_>) -> (Looked, u32) {
    let Looked::Payment { term, .. } = row else { return (row, visits) };
    let Some(arriving) = model.arriving(term) else { return (row, visits) };
    let at = arriving.row(world, seen).expect("invariant: a simulated step has all values");
    let visits = if arriving.known.is_some() { u32::MAX } else { arriving.paid.n[at] };
    (Looked::Payment { term, row: at }, visits)
}

/// Visits of pairs of parent values of every mechanism with a form.
///
/// Rows of a form share parameters, so not every row has to be visited. But a form that was never fitted to two values
/// together extrapolates there: a treatment that was never given in a state says nothing about that state.
struct Pairs {
    /// For each unknown mechanism with a form: where the values of each parent begin, and the visits of each pair of
    /// values, `[value][value]`.
    of: Vec<Option<(Vec<usize>, Vec<u64>)>>,
}

impl Pairs {
    fn new(model: &Model) -> Pairs {
        let Some(rows) = &model.view().mechanisms else { return Pairs { of: Vec::new() } };
        let counts = model.evidence().mechanisms.iter();
        let of = rows.unknown.iter().zip(counts).map(|(of, counts)| {
            of.model.as_ref()?;
            let mut begins = vec![0];
            of.rows.sizes().iter().for_each(|size| begins.push(begins[begins.len() - 1] + size));
            let n = begins[begins.len() - 1];
            let mut visits = vec![0u64; n * n];
            for row in counts.visited() {
                each_pair(&of.rows, &begins, row, |a, b| visits[a * n + b] += u64::from(counts.n_r[row]));
            }
            Some((begins, visits))
        });
        Pairs { of: of.collect() }
    }

    /// Visits that a row rests on: its own, or, if its mechanism has a form, those of its rarest pair of parent values.
    fn visits(&self, model: &Model, row: Looked, visits: u32) -> u32 {
        let Looked::Mechanism { index, row } = row else { return visits };
        let Some((begins, of_pair)) = &self.of[index] else { return visits };
        let rows = &model.view().mechanisms.as_ref().expect("invariant: a mechanism is counted only if it is learned");
        let (n, mut least) = (begins[begins.len() - 1], None);
        each_pair(&rows.unknown[index].rows, begins, row, |a, b| {
            let here = of_pair[a * n + b];
            least = Some(least.map_or(here, |least: u64| least.min(here)));
        });
        least.map_or(visits, |least| u32::try_from(least).unwrap_or(u32::MAX))
    }
}

/// The pairs of parent values of a row; a value with itself if there is only one parent.
fn each_pair(rows: &Space, begins: &[usize], row: usize, mut at: impl FnMut(usize, usize)) {
    let n = rows.sizes().len();
    let value = |parent: usize| begins[parent] + rows.digit(row, parent);
    for i in 0..n {
        for j in (if n == 1 { i } else { i + 1 })..n {
            at(value(i), value(j));
        }
    }
}

fn describe(
    model: &Model,
    world: &World,
    row: Looked,
    values: &[u32],
    stage: usize,
    state: usize,
    action: Action,
) -> Unsupported {
    let name = |id: &VarId| world.variable(*id).name.clone();
    let names = |ids: &[VarId]| ids.iter().map(name).collect::<Vec<_>>().join(", ");
    let view = model.view();
    let mut next: Vec<(String, String)> = Vec::new();
    let (what, given): (String, &[VarId]) = match row {
        Looked::Transition { factor, .. } => {
            let m = &world.transitions()[factor];
            (format!("the next value of {}", names(&m.children)), &m.parents)
        }
        Looked::Mechanism { index, .. } => {
            let rows = view.mechanisms.as_ref().expect("invariant: a mechanism is counted only if it is learned");
            let m = &world.mechanisms()[rows.unknown[index].position];
            (names(&m.children), &m.parents)
        }
        Looked::Payment { term, row } => {
            if let Some(arriving) = model.arriving(term) {
                let value = |(axis, v): (usize, usize)| {
                    let factor = world.variable(world.state()[axis]);
                    (format!("next.{}", factor.name), factor.values[v].clone())
                };
                next = arriving.next_values(row).map(value).collect();
            }
            let term = &world.rewards()[view.payments.terms[term].of[0]];
            (format!("the reward {}", term.name), &term.scope)
        }
    };
    let value = |id: &VarId| world.variable(*id).values[values[id.ix()] as usize].clone();
    Unsupported {
        what,
        given: given.iter().map(|id| (name(id), value(id))).chain(next).collect(),
        share: 0.0,
        stage: stage + 1,
        state: world.describe_state(state),
        action,
        intervention: world.describe_intervention(action),
    }
}
