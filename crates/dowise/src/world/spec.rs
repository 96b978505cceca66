//! World specification as written by the user: names, forms and source locations, unchecked.
//!
//! A world file is read into a [`WorldSpec`]; programs may also fill one in. [`World::new`](crate::World::new)
//! validates and compiles it.

use super::variable::Kind;
use super::written::{Name, Number, Written};
use crate::diagnostics::{At, Located};

/// The contents of a world file.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// Title.
    pub name: String,
    /// A short description.
    pub about: String,
    /// Number of steps in an episode (H).
    pub horizon: Located<Written<u64>>,
    /// The discount factor per step, above 0 and at most 1; `None`: 1.
    pub discount: Option<Number>,
    /// Terminal states: one of these conditions holds, and no reward follows.
    pub ends: Vec<EndSpec>,
    /// All variables; their order within a kind is the order used everywhere.
    pub variables: Vec<VariableSpec>,
    /// P(next value | scope) for state factors. A state factor without one is unknown with full scope (all state
    /// factors and key variables; in a world without key variables the levers instead).
    pub transitions: Vec<MechanismSpec>,
    /// P(children | parents) within a step, for key variables, hidden variables and levers left alone. Several children
    /// (key variables) form a joint table. A variable without one is unknown, without parents.
    pub mechanisms: Vec<MechanismSpec>,
    /// Reward terms; the reward is their sum less the costs of the levers set.
    pub rewards: Vec<RewardSpec>,
    /// Declared range of the sum of all reward terms, before costs.
    pub reward_range: Option<Located<Written<[f64; 2]>>>,
    /// The allowed interventions.
    pub interventions: InterventionSpec,
    /// The initial-state distribution.
    pub start: StartSpec,
}

/// One variable.
#[derive(Clone, Debug)]
pub struct VariableSpec {
    /// Its name.
    pub name: Located<String>,
    /// Its kind.
    pub kind: Written<Kind>,
    /// Names of its values, in order.
    pub values: Vec<Name>,
    /// Location of the list of values.
    pub values_at: Option<At>,
    /// Levers only: cost of setting it to a value. Other values cost nothing.
    pub costs: Vec<(Name, Number)>,
}

/// P(children | parents).
#[derive(Clone, Debug)]
pub struct MechanismSpec {
    /// The variables that it determines: one, or several for a joint table.
    pub children: Vec<Name>,
    /// Its parents; table rows run over these, the first slowest.
    pub parents: Vec<Name>,
    /// Its numbers; [`Form::Unknown`]: to be learned.
    pub form: Form,
    /// How learners learn it; `None`: they know its numbers, if there are any.
    pub learn: Option<LearnSpec>,
    /// Its location.
    pub at: Option<At>,
}

/// Learning options of a mechanism, as written by the user.
#[derive(Clone, Debug, Default)]
pub struct LearnSpec {
    /// `table`, `logit` or `noisy_or`; by default the form of its numbers.
    pub form: Option<Located<String>>,
    /// Sets of parents with interaction effects (additive logit).
    pub interactions: Vec<Vec<Located<String>>>,
    /// Prior standard deviation of each effect (logit and noisy-or).
    pub sd: Option<Located<f64>>,
    /// The numbers are a guess with this prior weight in visits of every row.
    pub weight: Option<Located<f64>>,
    /// Learners know the numbers anyway; these options apply only if they are withheld.
    pub known: bool,
    /// Its location.
    pub at: Option<At>,
}

/// The written form of a mechanism.
#[derive(Clone, Debug)]
pub enum Form {
    /// Omitted: to be learned.
    Unknown,
    /// Transitions only: specified jointly by [`World::with_low_rank`](crate::World::with_low_rank).
    LowRank,
    /// One probability for each configuration of parents and value, first parent slowest, value fastest.
    Table(Vec<f64>),
    /// The same as nested lists: outermost the first parent, innermost the values.
    Nested(Located<Nested>),
    /// A table with named columns: one for each parent, one for each value.
    Grid(Grid),
    /// Rows with patterns; the first matching row applies.
    Rows(Vec<RowSpec>),
    /// Binary variables: P(second value) = 1 − (1 − leak) Π (1 − amount of each parent's value).
    NoisyOr {
        /// Probability of the second value without any push.
        leak: Number,
        /// Push of each parent's value, each in [0, 1].
        effects: Vec<Effect>,
    },
    /// P(value) ∝ exp(base + Σ effects). A binary variable needs one number: the log-odds of the second value.
    Logit {
        /// One number per value, or one for binary variables.
        base: Vec<Written<f64>>,
        /// Added for each parent's value; as many numbers as `base`.
        effects: Vec<Effect>,
    },
}

/// Nested lists of numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Nested {
    /// A number.
    Number(Written<f64>),
    /// A list of lists or of numbers.
    List(Vec<Located<Nested>>),
}

/// A table with named columns, such as a CSV file; every configuration of parents occurs exactly once.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Names of the columns, in any order.
    pub header: Vec<String>,
    /// Location of the column names.
    pub header_at: Option<At>,
    /// The rows.
    pub rows: Vec<GridRow>,
}

/// One row of a [`Grid`].
#[derive(Clone, Debug)]
pub struct GridRow {
    /// One cell for each column.
    pub cells: Vec<String>,
    /// Location of the row.
    pub at: Option<At>,
}

/// The effect of one value of one parent.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The parent.
    pub parent: Located<String>,
    /// Its value.
    pub value: Located<String>,
    /// The amount(s).
    pub amounts: Vec<Written<f64>>,
    /// Location of the amount.
    pub at: Option<At>,
}

/// A pattern over variables and values; other variables match anything.
///
/// A value may be a comparison along the order of values, such as `>= high` or `!= none`; `*` is any value.
pub type Pattern = Vec<(Name, Vec<Name>)>;

/// A condition on the number of matching variables.
#[derive(Clone, Debug)]
pub struct CountSpec {
    /// The counted variables, each with its matching values.
    pub of: Pattern,
    /// Minimum number of matches; 0 by default.
    pub at_least: Option<Located<u64>>,
    /// Maximum number of matches; all by default.
    pub at_most: Option<Located<u64>>,
    /// Its location.
    pub at: Option<At>,
}

/// A condition: every part of the pattern, and every count.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    /// Variables and values.
    pub when: Pattern,
    /// Conditions on numbers of matching variables.
    pub counts: Vec<CountSpec>,
}

impl Condition {
    /// All readable names of variables in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.when.iter().chain(self.counts.iter().flat_map(|count| &count.of)).filter_map(|(name, _)| name.value.get())
    }
}

impl From<Pattern> for Condition {
    fn from(when: Pattern) -> Condition {
        Condition { when, counts: Vec::new() }
    }
}

/// A terminal condition.
#[derive(Clone, Debug)]
pub struct EndSpec {
    /// The condition on the state.
    pub when: Condition,
    /// Its location.
    pub at: Option<At>,
}

/// One row of a mechanism.
#[derive(Clone, Debug)]
pub struct RowSpec {
    /// The configurations of parents that it covers.
    pub when: Condition,
    /// The outcome there.
    pub outcome: Outcome,
    /// Location of the row.
    pub at: Option<At>,
}

/// The outcome of a row.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A probability for every value, in order (for a joint table: last child fastest).
    Probabilities(Vec<Written<f64>>),
    /// Probabilities by value; values not named have none. For a joint table a value is written `a|b|c`.
    Named(Vec<(Name, Number)>),
    /// Certainly this value.
    Is(Name),
    /// The same value as this parent (by name).
    SameAs(Name),
    /// A random shift along the ordered values, clamped at the ends.
    Shift {
        /// The parent to shift from; by default a state factor shifts from itself.
        of: Option<Name>,
        /// (shift, probability)
        by: Vec<(i64, Written<f64>)>,
    },
    /// The values of this form for the covered configurations: [`Form::Logit`] or [`Form::NoisyOr`].
    Form(Box<Form>),
}

/// One reward term.
#[derive(Clone, Debug)]
pub struct RewardSpec {
    /// Its name.
    pub name: Located<String>,
    /// Its scope: state factors, key variables and (hybrid worlds) levers; `next.x` is the next value of the state
    /// factor x.
    pub scope: Vec<Name>,
    /// The expected reward for every configuration, or unknown.
    pub form: RewardForm,
    /// Range of one payment of this term; required if it is unknown or random.
    pub range: Option<Located<Written<[f64; 2]>>>,
    /// Whether payments are random: one of the ends of `range`, with the mean given by the form.
    pub random: bool,
    /// Whether learners have to learn it although its numbers are given, for planning and simulation.
    pub learn: bool,
    /// Its location.
    pub at: Option<At>,
}

/// The written form of a reward term.
#[derive(Clone, Debug)]
pub enum RewardForm {
    /// Omitted: to be learned.
    Unknown,
    /// One number for each configuration of the scope, first slowest.
    Table(Vec<f64>),
    /// The same as nested lists: outermost the first of the scope.
    Nested(Located<Nested>),
    /// A table with named columns: one for each variable of the scope, and `value`.
    Grid(Grid),
    /// Rows with patterns; the first match applies.
    Rows(Vec<RewardRow>),
    /// By the values of the only variable of the scope; other values pay nothing.
    Named(Vec<(Name, Number)>),
    /// base + Σ effects.
    Sum {
        /// Constant part.
        base: Written<f64>,
        /// One amount each.
        effects: Vec<Effect>,
    },
}

/// One row of a reward term.
#[derive(Clone, Debug)]
pub struct RewardRow {
    /// The configurations that it covers.
    pub when: Condition,
    /// The expected reward there.
    pub value: Number,
    /// Location of the row.
    pub at: Option<At>,
}

/// The allowed interventions.
#[derive(Clone, Debug, Default)]
pub struct InterventionSpec {
    /// How many levers an intervention sets.
    pub set: SetSpec,
    /// Forbidden combinations, everywhere or in some states.
    pub forbid: Vec<ForbidSpec>,
    /// Its location.
    pub at: Option<At>,
}

/// How many levers an intervention sets.
#[derive(Clone, Debug, Default)]
pub enum SetSpec {
    /// Every lever, always (the paper's experiments).
    #[default]
    All,
    /// Any subset, the empty one included.
    Any,
    /// Any subset of at most this many.
    AtMost(Located<u64>),
    /// Exactly these: each a list of (lever, value); an empty one leaves all levers alone.
    List(Vec<Vec<(Name, Name)>>),
}

/// In states that match `when`, no intervention may set every lever in `levers` to one of the values listed for it.
#[derive(Clone, Debug)]
pub struct ForbidSpec {
    /// State factors and values; empty: in every state.
    pub when: Pattern,
    /// Levers and values.
    pub levers: Pattern,
    /// Its location.
    pub at: Option<At>,
}

/// The initial-state distribution.
#[derive(Clone, Debug, Default)]
pub enum StartSpec {
    /// Every state equally likely.
    #[default]
    Uniform,
    /// Independent state factors; those not named are uniform.
    PerFactor(Vec<(Located<String>, Outcome)>),
    /// These states with these weights (normalised); each must give every state factor.
    States(Vec<StartRow>),
    /// A mixture: with each weight (normalised), factors are drawn as in `PerFactor`, conditional on the part's
    /// condition.
    Mixture {
        /// Distributions of single state factors; others are uniform.
        factors: Vec<(Located<String>, Outcome)>,
        /// The conditions and their weights.
        parts: Vec<StartPart>,
    },
}

/// A component of a mixture of initial states.
#[derive(Clone, Debug)]
pub struct StartPart {
    /// The condition on the initial state.
    pub when: Condition,
    /// Relative weight.
    pub weight: Number,
    /// Its location.
    pub at: Option<At>,
}

/// One initial state and its weight.
#[derive(Clone, Debug)]
pub struct StartRow {
    /// (state factor, value)
    pub state: Vec<(Name, Name)>,
    /// Relative weight.
    pub weight: Number,
}

/// Features φ(s, z) for linear learners, as written by the user; validated by
/// [`World::with_features`](crate::World::with_features).
#[derive(Clone, Debug)]
pub struct FeatureSpec {
    /// The form of the features.
    pub form: FeatureForm,
    /// Whether to divide all features by the greatest norm if that exceeds 1; otherwise it is an error.
    pub scale: bool,
    /// Their location.
    pub at: Option<At>,
}

/// The written form of features. By default the scope is all state factors, key variables and levers with effects.
#[derive(Clone, Debug)]
pub enum FeatureForm {
    /// One for every state and joint key values.
    OneHot,
    /// One for every configuration of each scope; by default the scopes of transitions and rewards.
    Factors {
        /// The scopes.
        scopes: Option<Vec<Vec<Located<String>>>>,
    },
    /// Chebyshev polynomials of value positions.
    Polynomial {
        /// Variables whose values are ordered.
        scope: Option<Vec<Located<String>>>,
        /// Greatest total degree.
        degree: Located<u64>,
    },
    /// Gaussian bumps over value positions.
    Radial {
        /// Variables whose values are ordered.
        scope: Option<Vec<Located<String>>>,
        /// Bumps for each variable.
        centres: Located<u64>,
        /// Their width, in distances between neighbours.
        width: Located<f64>,
    },
    /// One row of `dimension` numbers for each configuration of the scope (first slowest).
    Table {
        /// Variables that index the rows.
        scope: Option<Vec<Located<String>>>,
        /// Numbers in a row (d).
        dimension: usize,
        /// The rows.
        values: Vec<f64>,
    },
    /// The same as nested lists: outermost the first of the scope, innermost the features.
    Nested {
        /// Variables that index the lists.
        scope: Option<Vec<Located<String>>>,
        /// The lists.
        value: Located<Nested>,
    },
    /// A table with named columns: one for each variable of the scope, every other column a feature. By default,
    /// columns named like a variable are the scope.
    Grid {
        /// Variables with a column.
        scope: Option<Vec<Located<String>>>,
        /// The table.
        grid: Grid,
    },
    /// The mean of tables, each with its own scope: features of many variables without a row for every configuration.
    Mean {
        /// Tables with the same number of features, in any form with rows.
        tables: Vec<FeatureSpec>,
    },
}

/// Low-rank transitions as written by the user; validated by [`World::with_low_rank`](crate::World::with_low_rank).
///
/// P(s' | s, z) = Σ_j w_j(s, z) Π_i P_i(s'_i | j), with d latent factors j.
#[derive(Clone, Debug)]
pub struct LowRankSpec {
    /// w(s, z): one number for each latent factor; `None`: the world's features.
    pub weights: Option<FeatureSpec>,
    /// For every state factor its rows P_i(· | j), one for each latent factor.
    pub next: Vec<(Located<String>, AnchorRows)>,
    /// Their location.
    pub at: Option<At>,
}

/// The written form of one state factor's rows.
#[derive(Clone, Debug)]
pub enum AnchorRows {
    /// The concatenated rows.
    Table(Vec<f64>),
    /// The same as nested lists.
    Nested(Located<Nested>),
    /// Discretised normal distributions on the ordered values: for each latent factor a centre, in positions from 0,
    /// and a standard deviation in positions; rows are normalised.
    Normal {
        /// One for each latent factor.
        centres: Vec<Located<f64>>,
        /// The same for all.
        sd: Located<f64>,
    },
}
