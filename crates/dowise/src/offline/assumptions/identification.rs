//! Identification: why the log shows each mechanism and reward that an answer needs.

use serde::{Deserialize, Serialize};

use super::Declared;
use crate::learn::{Evidence, Knowledge, NextStateRewards};
use crate::messages::and;
use crate::offline::fit::RandomisedOnly;
use crate::world::{Kind, Mechanism, RewardTerm, VarId, World};

/// Why a quantity that an answer needs can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Identification {
    /// The levers that act on it were randomised.
    Randomised,
    /// The levers that act on it were randomised in some steps, from which alone it is learned.
    RandomisedSteps,
    /// By its recorded parents, which block every back-door path if nothing unrecorded acts on both.
    BackDoor,
    /// By the logged values of levers with which it shares hidden causes.
    FrontDoor,
    /// By the numbers of the world file.
    WorldFile,
    /// The log does not identify it: the numbers of the world file stand in.
    NotIdentified,
    /// No logged step shows it.
    PriorOnly,
}

impl Identification {
    /// All methods; those without support by the log come first.
    pub const ALL: [Identification; 7] = [
        Identification::NotIdentified,
        Identification::PriorOnly,
        Identification::Randomised,
        Identification::RandomisedSteps,
        Identification::BackDoor,
        Identification::FrontDoor,
        Identification::WorldFile,
    ];

    /// The method in words.
    pub fn words(self) -> &'static str {
        match self {
            Identification::Randomised => "randomised levers",
            Identification::RandomisedSteps => "randomised steps",
            Identification::BackDoor => "back-door adjustment by its parents",
            Identification::FrontDoor => "front-door adjustment",
            Identification::WorldFile => "numbers of the world file",
            Identification::NotIdentified => "NOT IDENTIFIED",
            Identification::PriorOnly => "PRIOR ONLY",
        }
    }
}

/// A mechanism or reward term, and why the log shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identified {
    /// Such as `P(next mood | mood, reach)`.
    pub quantity: String,
    /// The method.
    pub by: Identification,
    /// The condition under which the method is valid.
    pub if_true: String,
    /// Logged steps that show it.
    pub steps: u64,
    /// Its rows, one for each combination of its parents' values.
    pub rows: u64,
    /// Rows that no logged step shows.
    pub unseen: u64,
}

/// Visits of the rows of a quantity.
struct Visits {
    steps: u64,
    rows: u64,
    unseen: u64,
}

impl Visits {
    fn of(n_r: &[u32]) -> Visits {
        let steps = n_r.iter().map(|&n| u64::from(n)).sum();
        let unseen = n_r.iter().filter(|n| **n == 0).count() as u64;
        Visits { steps, rows: n_r.len() as u64, unseen }
    }
}

/// The identification of every mechanism and reward term of a counted log.
pub(super) fn identified(
    evidence: &Evidence,
    next_state_rewards: Option<&NextStateRewards>,
    declared: &Declared,
) -> Vec<Identified> {
    let knowledge = &evidence.view.knowledge;
    let found = Quantities { knowledge, declared, world: knowledge.world() };
    let mut out = found.transitions(evidence);
    out.extend(found.mechanisms(evidence));
    out.extend(found.rewards(evidence, next_state_rewards));
    out
}

struct Quantities<'a> {
    knowledge: &'a Knowledge,
    declared: &'a Declared,
    world: &'a World,
}

impl Quantities<'_> {
    fn transitions(&self, evidence: &Evidence) -> Vec<Identified> {
        let mut out = Vec::new();
        for (counts, factor) in evidence.transitions[0].iter().zip(&evidence.view.layout.factors) {
            let members = &self.world.transitions()[factor.members.clone()];
            for m in members.iter().filter(|m| self.world.time_index() != Some(m.children[0])) {
                let next = format!("next {}", self.names(&m.children));
                let visits = factor.known.is_none().then(|| Visits::of(&counts.n_r));
                out.push(self.quantity((&format!("P({next}{})", self.given(&m.parents)), &next), m, visits));
            }
        }
        out
    }

    fn mechanisms(&self, evidence: &Evidence) -> Vec<Identified> {
        let mut out = Vec::new();
        let Some(rows) = &evidence.view.mechanisms else {
            let known = self.world.mechanisms().iter().filter(|m| m.table.is_some() && self.is_observed(m));
            out.extend(known.map(|m| self.mechanism(m, None)));
            return out;
        };
        let unknown: Vec<usize> = rows.unknown.iter().map(|of| of.position).collect();
        for (i, m) in rows.world.mechanisms().iter().enumerate().filter(|(_, m)| self.is_observed(m)) {
            let visits = unknown.iter().position(|&at| at == i).map(|at| Visits::of(&evidence.mechanisms[at].n_r));
            out.push(self.mechanism(m, visits));
        }
        out
    }

    fn mechanism(&self, m: &Mechanism, visits: Option<Visits>) -> Identified {
        let child = self.names(&m.children);
        self.quantity((&format!("P({child}{})", self.given(&m.parents)), &child), m, visits)
    }

    /// Whether a mechanism is of key variables that are not the logged values of levers.
    fn is_observed(&self, m: &Mechanism) -> bool {
        let is_key = |id: &VarId| self.world.variable(*id).kind == Kind::Key && self.world.logged_lever(*id).is_none();
        m.children.iter().all(is_key)
    }

    fn rewards(&self, evidence: &Evidence, next_state_rewards: Option<&NextStateRewards>) -> Vec<Identified> {
        let terms = &evidence.view.payments.terms;
        let of = |(i, term): (usize, &RewardTerm)| {
            let counted = terms.iter().zip(&evidence.payments).find(|(row, _)| row.of[..] == [i]);
            let counted = next_state_rewards.and_then(|next| next.of(i)).or(counted.map(|(_, paid)| paid));
            let visits = counted.filter(|_| term.table.is_none()).map(|paid| Visits::of(&paid.n));
            let mut scope: Vec<String> = term.scope.iter().map(|&id| self.name(id)).collect();
            scope.extend(term.next.iter().map(|&id| format!("next {}", self.name(id))));
            let what = format!("reward {}({})", term.name, scope.join(", "));
            let stand_in = Mechanism {
                children: Vec::new(),
                parents: term.scope.clone(),
                table: term.table.clone(),
                assumed: Default::default(),
            };
            self.quantity((&what, &format!("the reward {}", term.name)), &stand_in, visits)
        };
        self.knowledge.rewards().iter().enumerate().map(of).collect()
    }

    /// The identification of one quantity; without visits, its numbers are known.
    fn quantity(&self, (what, child): (&str, &str), m: &Mechanism, visits: Option<Visits>) -> Identified {
        let (by, if_true) = match &visits {
            None => self.known(m),
            Some(Visits { steps: 0, .. }) => (Identification::PriorOnly, "the prior is right".to_owned()),
            Some(_) => self.learned(child, m),
        };
        let Visits { steps, rows, unseen } = visits.unwrap_or(Visits { steps: 0, rows: 0, unseen: 0 });
        Identified { quantity: what.to_owned(), by, if_true, steps, rows, unseen }
    }

    fn known(&self, m: &Mechanism) -> (Identification, String) {
        let if_true = "these numbers are right".to_owned();
        let is_confounded = m.children.iter().any(|&id| self.declared.not_fitted.contains(&self.name(id)));
        (if is_confounded { Identification::NotIdentified } else { Identification::WorldFile }, if_true)
    }

    fn learned(&self, child: &str, m: &Mechanism) -> (Identification, String) {
        let is_only = |only: &RandomisedOnly| m.children.iter().any(|&id| only.variables.contains(&self.name(id)));
        if self.declared.randomised_only.as_ref().is_some_and(is_only) {
            let if_true = "levers of randomised rows, and which rows are randomised, depend on recorded variables and chance only";
            return (Identification::RandomisedSteps, if_true.to_owned());
        }
        let parents = &m.parents;
        let logged: Vec<String> =
            parents.iter().filter_map(|&id| self.world.logged_lever(id)).map(|id| self.name(id)).collect();
        if !logged.is_empty() {
            let levers = and(&logged);
            let if_true = format!("{levers} acts on {child} only through its other parents");
            return (Identification::FrontDoor, if_true);
        }
        let is_randomised = |id: &VarId| self.declared.randomised.contains(&self.name(*id));
        let is_lever = |id: &&VarId| self.world.variable(**id).kind == Kind::Lever;
        let is_set = |id: &&VarId| matches!(self.world.variable(**id).kind, Kind::Lever | Kind::Key);
        let free: Vec<String> =
            parents.iter().filter(is_set).filter(|id| !is_randomised(id)).map(|&id| self.name(id)).collect();
        if !free.is_empty() {
            let if_true = format!("nothing unrecorded acts on {child} and on {}", and(&free));
            return (Identification::BackDoor, if_true);
        }
        match parents.iter().filter(is_lever).map(|&id| self.name(id)).collect::<Vec<_>>()[..] {
            [] => (Identification::BackDoor, format!("the past acts on {child} only through its parents")),
            ref levers => (Identification::Randomised, format!("{} was set by a draw", and(levers))),
        }
    }

    fn name(&self, id: VarId) -> String {
        self.world.variable(id).name.clone()
    }

    fn names(&self, ids: &[VarId]) -> String {
        ids.iter().map(|&id| self.name(id)).collect::<Vec<_>>().join(", ")
    }

    fn given(&self, parents: &[VarId]) -> String {
        if parents.is_empty() { String::new() } else { format!(" | {}", self.names(parents)) }
    }
}
