//! Structural analysis of a world: sizes, parameters to learn, regret bounds, and unknown parameters.

use serde::Serialize;

use super::factored_view::FactoredView;
use super::{Kind, VarId, World};
use crate::math::powi;

/// The result of [`World::analyse`]. Numbers beyond 64 bits saturate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Title of the world.
    pub name: String,
    /// The class of decision process.
    pub kind: &'static str,
    /// Steps in an episode (H).
    pub horizon: usize,
    /// State factors, levers, key variables and hidden variables with their sizes.
    pub variables: Vec<VariableSize>,
    /// Number of states (S).
    pub states: u64,
    /// Number of interventions, including forbidden combinations (A).
    pub interventions: u64,
    /// Whether some interventions are forbidden in some states.
    pub restricted: bool,
    /// Number of joint values of the variables that act on the next state or the reward (Z).
    pub causes: u64,
    /// Least and greatest reward of one step before costs.
    pub reward_range: [f64; 2],
    /// Least and greatest cost of an intervention.
    pub cost_range: [f64; 2],
    /// Number of distributions that each learner has to learn.
    pub cells: Vec<Cells>,
    /// Number of episodes of the bounds (K).
    pub episodes: u64,
    /// Regret bounds without constants and logarithms: they compare learners, they do not predict regret.
    pub bounds: Vec<Bound>,
    /// Whether a factored learner without key variables is well specified.
    pub factored_view: FactoredView,
    /// Unknown mechanisms and rewards.
    pub unknown: Vec<Unknown>,
}

/// One variable and its number of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableSize {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Number of values.
    pub size: usize,
}

/// Number of distributions that a learner has to learn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// The learner.
    pub learner: &'static str,
    /// The formula of the count.
    pub formula: &'static str,
    /// The count.
    pub cells: u64,
}

/// A regret bound, without constants and logarithms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// The learner.
    pub learner: &'static str,
    /// The bound.
    pub formula: &'static str,
    /// Its reference.
    pub source: &'static str,
    /// Its value for this world.
    pub value: f64,
    /// Its value divided by that of UCBVI.
    pub relative: f64,
}

/// An unknown mechanism or reward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// Such as `P(opened | subject, loyalty)`.
    pub what: String,
    /// Number of configurations of its parents.
    pub cells: u64,
}

impl World {
    /// Analyses the structure of this world for a number of episodes.
    pub fn analyse(&self, episodes: u64) -> Analysis {
        let sizes = Sizes::of(self);
        let variables = self.variables.iter();
        let bounds = sizes.bounds(self.horizon as f64, episodes as f64);
        Analysis {
            name: self.name.clone(),
            kind: self.kind(),
            horizon: self.horizon,
            variables: variables.map(|v| VariableSize { name: v.name.clone(), kind: v.kind, size: v.size() }).collect(),
            states: sizes.states,
            interventions: sizes.interventions,
            restricted: !self.interventions.forbid().is_empty(),
            causes: sizes.causes,
            reward_range: self.reward_range,
            cost_range: self.interventions.cost_range(),
            cells: sizes.cells(),
            episodes,
            bounds,
            factored_view: FactoredView::of(self),
            unknown: self.unknown(),
        }
    }

    fn kind(&self) -> &'static str {
        let hybrid = self.cause_variables().iter().any(|&id| self.variable(id).kind == Kind::Lever);
        match (hybrid, self.state.len() > 1) {
            (false, false) => "causal MDP (C-MDP)",
            (false, true) => "causal factored MDP (CF-MDP)",
            (true, false) => "hybrid causal MDP: some levers act directly",
            (true, true) => "hybrid causal factored MDP: some levers act directly",
        }
    }

    fn unknown(&self) -> Vec<Unknown> {
        let names = |ids: &[VarId]| -> String {
            ids.iter().map(|&id| self.variable(id).name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let given = |ids: &[VarId]| if ids.is_empty() { String::new() } else { format!(" | {}", names(ids)) };
        let mut unknown = vec![];
        for m in self.transitions.iter().filter(|m| m.table.is_none() && self.low_rank.is_none()) {
            let what = format!("P(next {}{})", names(&m.children), given(&m.parents));
            unknown.push(Unknown { what, cells: product(&self.sizes(&m.parents)) });
        }
        for m in self.mechanisms.iter().filter(|m| m.table.is_none()) {
            let what = format!("P({}{})", names(&m.children), given(&m.parents));
            unknown.push(Unknown { what, cells: product(&self.sizes(&m.parents)) });
        }
        for r in self.rewards.iter().filter(|r| r.table.is_none()) {
            let scope = self.expected_scope(r);
            let what = format!("reward {}({})", r.name, names(&scope));
            unknown.push(Unknown { what, cells: product(&self.sizes(&scope)) });
        }
        unknown
    }
}

/// Sizes in the formulas of cells and bounds.
struct Sizes {
    states: u64,
    interventions: u64,
    causes: u64,
    factors: Vec<FactorSizes>,
    /// Number of features (d), if the world has features.
    features: Option<u64>,
}

/// Sizes of one state factor's transition.
struct FactorSizes {
    /// Number of its values (S_i).
    values: u64,
    /// Joint values of the state factors in its scope (S[I_i]).
    scope: u64,
    /// Joint values of the key variables in its scope.
    own_causes: u64,
}

impl Sizes {
    fn of(world: &World) -> Sizes {
        let factors = world.transitions.iter().zip(&world.state).map(|(m, &factor)| {
            let (state, causes): (Vec<VarId>, Vec<VarId>) =
                m.parents.iter().partition(|&&id| world.variable(id).kind == Kind::State);
            FactorSizes {
                values: world.variable(factor).size() as u64,
                scope: product(&world.sizes(&state)),
                own_causes: product(&world.sizes(&causes)),
            }
        });
        Sizes {
            states: world.n_states() as u64,
            interventions: world.interventions.count(),
            causes: product(&world.sizes(&world.cause_variables())),
            factors: factors.collect(),
            // Linear learners do not support next-state rewards.
            features: world.n_features().filter(|_| !world.pays_on_next_values()),
        }
    }

    fn cells(&self) -> Vec<Cells> {
        let sum = |cells: &dyn Fn(&FactorSizes) -> u64| -> u64 {
            self.factors.iter().map(cells).fold(0, u64::saturating_add)
        };
        let (s, a, z) = (self.states, self.interventions, self.causes);
        let row = |learner, formula, cells| Cells { learner, formula, cells };
        let mut rows = vec![
            row("UCBVI", "S·A", s.saturating_mul(a)),
            row("F-UCBVI", "Σ S[I_i]·A", sum(&|f| f.scope.saturating_mul(a))),
            row("C-UCBVI", "S·Z", s.saturating_mul(z)),
            row("CF-UCBVI", "Σ S[I_i]·Z", sum(&|f| f.scope.saturating_mul(z))),
            row("graph-UCBVI", "Σ S[I_i]·Z[own]", sum(&|f| f.scope.saturating_mul(f.own_causes))),
        ];
        rows.extend(self.features.map(|d| row("c-blsvi, c-lsvi-ucb", "d weights", d)));
        rows
    }

    /// With T = H·K. UCBVI: Azar, Osband and Munos 2017, F-UCBVI: Tian, Qian and Sra 2020; the others as named.
    fn bounds(&self, horizon: f64, episodes: f64) -> Vec<Bound> {
        let (s, a, z) = (self.states as f64, self.interventions as f64, self.causes as f64);
        let steps = horizon * episodes;
        let over_factors = |inside: &dyn Fn(&FactorSizes) -> f64| -> f64 {
            self.factors.iter().map(|f| horizon * (inside(f) * steps).sqrt()).sum()
        };
        let ucbvi = horizon * (s * a * steps).sqrt();
        let linear = |d: f64| (powi(d, 3) * powi(horizon, 3) * steps).sqrt();
        let row = |learner, formula, source, value| Bound { learner, formula, source, value, relative: value / ucbvi };
        vec![
            row("UCBVI", "H√(SAT)", "published", ucbvi),
            row("F-UCBVI", "HΣ√(S[I_i]AT)", "published", over_factors(&|f| f.scope as f64 * a)),
            row("C-UCBVI", "HS√(ZT)", "the paper", horizon * s * (z * steps).sqrt()),
            row("C-UCBVI, improved width", "H√(SZT)", "derived", horizon * (s * z * steps).sqrt()),
            row("CF-UCBVI", "HΣ√(S_i S[I_i]ZT)", "the paper", over_factors(&|f| f.values as f64 * f.scope as f64 * z)),
            match self.features {
                Some(d) => row("causal linear, [features]", "√(d³H³T)", "the paper", linear(d as f64)),
                None => row("causal linear, d = SZ", "√(d³H³T)", "the paper", linear(s * z)),
            },
        ]
    }
}

/// A saturating product.
fn product(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1, |n, &size| n.saturating_mul(size as u64))
}
