//! A world as a person states it: names, forms and places, nothing checked yet.
//!
//! A world file is read into a [`WorldSpec`]; programs may also fill one in by hand.
//! [`World::new`](crate::World::new) checks it whole and compiles it.

use super::problem::{At, Located};
use super::variable::Kind;

/// Everything that a world file can say.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// Title.
    pub name: String,
    /// A sentence or two for people.
    pub about: String,
    /// Number of steps in an episode (H).
    pub horizon: Located<u64>,
    /// How much less a reward counts with every step that it comes later, above 0 and at most 1; `None`: 1.
    pub discount: Option<Located<f64>>,
    /// An episode ends in a state in which one of these holds, and nothing is paid after.
    pub ends: Vec<EndSpec>,
    /// All variables; their order within a kind is the order used everywhere.
    pub variables: Vec<VariableSpec>,
    /// P(next value | scope) for state factors; a state factor without one is to be learned with full scope
    /// (all state factors and key variables; in a world without key variables the levers instead).
    pub transitions: Vec<MechanismSpec>,
    /// P(children | parents) within a step, for key variables, hidden variables and levers left alone.
    /// Several children (key variables) make a joint table. A variable without one is to be learned, without parents.
    pub mechanisms: Vec<MechanismSpec>,
    /// Reward terms; the reward is their sum less the costs of the levers that were set.
    pub rewards: Vec<RewardSpec>,
    /// Declared range of the sum of all reward terms, costs not counted.
    pub reward_range: Option<Located<[f64; 2]>>,
    /// Which interventions are allowed.
    pub interventions: InterventionSpec,
    /// Where episodes start.
    pub start: StartSpec,
}

/// One variable.
#[derive(Clone, Debug)]
pub struct VariableSpec {
    /// Its name.
    pub name: Located<String>,
    /// Its part.
    pub kind: Kind,
    /// Names of its values, in order.
    pub values: Vec<Located<String>>,
    /// Where the list of values stands.
    pub values_at: Option<At>,
    /// Levers only: cost of setting it to a value, taken off the reward. Values not named cost nothing.
    pub costs: Vec<(Located<String>, Located<f64>)>,
}

/// P(children | parents).
#[derive(Clone, Debug)]
pub struct MechanismSpec {
    /// The variables it decides: one, or several for a joint table.
    pub children: Vec<Located<String>>,
    /// What it depends on; the table's rows run over these, the first slowest.
    pub parents: Vec<Located<String>>,
    /// Its numbers; [`Form::Unknown`]: to be learned.
    pub form: Form,
    /// How learners learn it; `None`: they know its numbers, if there are any.
    pub learn: Option<LearnSpec>,
    /// Where it stands.
    pub at: Option<At>,
}

/// How a mechanism is learned, as a person states it.
#[derive(Clone, Debug, Default)]
pub struct LearnSpec {
    /// `table`, `logit` or `noisy_or`; the form in which the numbers are written if it is left out.
    pub form: Option<Located<String>>,
    /// Sets of parents that have effects together (additive logit).
    pub interactions: Vec<Vec<Located<String>>>,
    /// Standard deviation of the prior of each effect (logit and noisy-or).
    pub sd: Option<Located<f64>>,
    /// The numbers are a guess that is worth this many visits of every row.
    pub weight: Option<Located<f64>>,
    /// Learners know the numbers all the same: what is said counts only for those from whom they are kept.
    pub known: bool,
    /// Where it stands.
    pub at: Option<At>,
}

/// How a mechanism is written.
#[derive(Clone, Debug)]
pub enum Form {
    /// Left out: to be learned.
    Unknown,
    /// Next values only: stated for all state factors together by [`World::with_low_rank`](crate::World::with_low_rank).
    LowRank,
    /// One probability per combination of parents and value, parents' first slowest, value fastest.
    Table(Vec<f64>),
    /// The same numbers as lists in lists, as in a file: outermost the first parent, innermost the values.
    Nested(Located<Nested>),
    /// A table with named columns: one for each parent, one for each value.
    Grid(Grid),
    /// Rows with patterns; for a combination of parents the first row that matches counts.
    Rows(Vec<RowSpec>),
    /// Binary variables: P(second value) = 1 − (1 − leak) Π (1 − amount of each parent's value).
    NoisyOr {
        /// Probability of the second value when no parent pushes.
        leak: Located<f64>,
        /// Push of each parent's value, each in [0, 1].
        effects: Vec<Effect>,
    },
    /// P(value) ∝ exp(base + Σ effects). For a binary variable one number is enough: the log-odds of the second value.
    Logit {
        /// One number per value, or one for binary variables.
        base: Vec<f64>,
        /// Added for each parent's value; as many numbers as `base`.
        effects: Vec<Effect>,
    },
}

/// Numbers as lists in lists.
#[derive(Clone, Debug, PartialEq)]
pub enum Nested {
    /// A number.
    Number(f64),
    /// A list of lists or of numbers.
    List(Vec<Located<Nested>>),
}

/// A table with named columns, such as a CSV file; every combination of parents stands in it exactly once.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Names of the columns, in any order.
    pub header: Vec<String>,
    /// Where the names of the columns stand.
    pub header_at: Option<At>,
    /// The rows.
    pub rows: Vec<GridRow>,
}

/// One row of a [`Grid`].
#[derive(Clone, Debug)]
pub struct GridRow {
    /// One cell for each column.
    pub cells: Vec<String>,
    /// Where the row stands.
    pub at: Option<At>,
}

/// What one value of one parent adds.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The parent.
    pub parent: Located<String>,
    /// Its value.
    pub value: Located<String>,
    /// The amount(s).
    pub amounts: Vec<f64>,
    /// Where the amount stands.
    pub at: Option<At>,
}

/// Which values of which variables a row is for: variables not named match anything.
///
/// A value may be a comparison along the order of the values, such as `>= high` or `!= none`, and `*` is any value.
pub type Pattern = Vec<(Located<String>, Vec<Located<String>>)>;

/// A test on how many of some variables have values that match.
#[derive(Clone, Debug)]
pub struct CountSpec {
    /// The variables that are counted, each with the values that count.
    pub of: Pattern,
    /// At least this many must match; 0 if it is left out.
    pub at_least: Option<Located<u64>>,
    /// At most this many may match; all of them if it is left out.
    pub at_most: Option<Located<u64>>,
    /// Where it stands.
    pub at: Option<At>,
}

/// What has to hold: every part of the pattern, and every count.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    /// Variables and values.
    pub when: Pattern,
    /// Tests on how many of some variables match.
    pub counts: Vec<CountSpec>,
}

impl Condition {
    /// Every variable that it names.
    pub(crate) fn names(&self) -> Vec<&Located<String>> {
        self.when.iter().chain(self.counts.iter().flat_map(|count| &count.of)).map(|(name, _)| name).collect()
    }
}

impl From<Pattern> for Condition {
    fn from(when: Pattern) -> Condition {
        Condition { when, counts: Vec::new() }
    }
}

/// What ends an episode.
#[derive(Clone, Debug)]
pub struct EndSpec {
    /// What holds of the state.
    pub when: Condition,
    /// Where it stands.
    pub at: Option<At>,
}

/// One row of a mechanism.
#[derive(Clone, Debug)]
pub struct RowSpec {
    /// The combinations of parents it covers.
    pub when: Condition,
    /// What happens then.
    pub outcome: Outcome,
    /// Where the row stands.
    pub at: Option<At>,
}

/// What a row says about the variable.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A probability for every value, in order (for a joint table: last child fastest).
    Probabilities(Vec<f64>),
    /// Probabilities by value; values not named have none. For a joint table a value is written `a|b|c`.
    Named(Vec<(Located<String>, Located<f64>)>),
    /// Certainly this value.
    Is(Located<String>),
    /// The same value as this parent has (by name).
    SameAs(Located<String>),
    /// Moves along the ordered values by a random number of places, stopping at the ends.
    Shift {
        /// Moves relative to this parent; a state factor moves relative to itself if none is named.
        of: Option<Located<String>>,
        /// (places, probability)
        by: Vec<(i64, f64)>,
    },
    /// What this form says for the combinations that the row covers: [`Form::Logit`] or [`Form::NoisyOr`].
    Form(Box<Form>),
}

/// One term of the reward.
#[derive(Clone, Debug)]
pub struct RewardSpec {
    /// Its name.
    pub name: Located<String>,
    /// State factors, key variables and (hybrid worlds) levers that it depends on; `next.x` is the next value of the state factor x.
    pub scope: Vec<Located<String>>,
    /// The expected reward for every combination, or that it is to be learned.
    pub form: RewardForm,
    /// Range of one observed reward of this term; needed if it is to be learned or random.
    pub range: Option<Located<[f64; 2]>>,
    /// Whether the reward received is random: one of the ends of `range`, with the mean given by the form.
    pub random: bool,
    /// Whether learners have to learn it although its numbers are given: these are for plans and simulations.
    pub learn: bool,
    /// Where it stands.
    pub at: Option<At>,
}

/// How a reward term is written.
#[derive(Clone, Debug)]
pub enum RewardForm {
    /// Left out: to be learned.
    Unknown,
    /// One number per combination of the scope, first slowest.
    Table(Vec<f64>),
    /// The same numbers as lists in lists, as in a file: outermost the first of the scope.
    Nested(Located<Nested>),
    /// A table with named columns: one for each variable of the scope, and `value`.
    Grid(Grid),
    /// Rows with patterns, first match counts.
    Rows(Vec<RewardRow>),
    /// By the values of the one variable of the scope; values not named pay nothing.
    Named(Vec<(Located<String>, Located<f64>)>),
    /// base + Σ effects.
    Sum {
        /// Constant part.
        base: f64,
        /// One amount each.
        effects: Vec<Effect>,
    },
}

/// One row of a reward term.
#[derive(Clone, Debug)]
pub struct RewardRow {
    /// The combinations it covers.
    pub when: Condition,
    /// The expected reward there.
    pub value: Located<f64>,
    /// Where the row stands.
    pub at: Option<At>,
}

/// Which interventions are allowed.
#[derive(Clone, Debug, Default)]
pub struct InterventionSpec {
    /// How many levers an intervention sets.
    pub set: SetSpec,
    /// Combinations that are not allowed, everywhere or in some states.
    pub forbid: Vec<ForbidSpec>,
    /// Where it stands.
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
    /// Exactly these: each a list of (lever, value); an empty one leaves all alone.
    List(Vec<Vec<(Located<String>, Located<String>)>>),
}

/// In states that match `when`, no intervention may set every lever in `levers` to one of the values listed for it.
#[derive(Clone, Debug)]
pub struct ForbidSpec {
    /// State factors and values; empty: in every state.
    pub when: Pattern,
    /// Levers and values.
    pub levers: Pattern,
    /// Where it stands.
    pub at: Option<At>,
}

/// Where episodes start.
#[derive(Clone, Debug, Default)]
pub enum StartSpec {
    /// Every state equally likely.
    #[default]
    Uniform,
    /// Independently for each state factor named; others are uniform.
    PerFactor(Vec<(Located<String>, Outcome)>),
    /// These states with these weights (normalised); every state factor must be given in each.
    States(Vec<StartRow>),
    /// A mixture: with each weight (normalised) the factors are drawn as in `PerFactor`, given that the condition holds.
    Mixture {
        /// Distributions of single state factors; others are uniform.
        factors: Vec<(Located<String>, Outcome)>,
        /// What must hold, and how likely.
        parts: Vec<StartPart>,
    },
}

/// A part of a mixture of starting states.
#[derive(Clone, Debug)]
pub struct StartPart {
    /// What holds of the starting state.
    pub when: Condition,
    /// Relative weight.
    pub weight: Located<f64>,
    /// Where it stands.
    pub at: Option<At>,
}

/// One starting state and its weight.
#[derive(Clone, Debug)]
pub struct StartRow {
    /// (state factor, value)
    pub state: Vec<(Located<String>, Located<String>)>,
    /// Relative weight.
    pub weight: Located<f64>,
}

/// Features φ(s, z) for linear learners as a person states them; [`World::with_features`](crate::World::with_features)
/// checks them.
#[derive(Clone, Debug)]
pub struct FeatureSpec {
    /// Which features.
    pub form: FeatureForm,
    /// Whether features longer than 1 are all divided by the greatest length; otherwise they are an error.
    pub scale: bool,
    /// Where they stand.
    pub at: Option<At>,
}

/// How features are written. A scope left out means all state factors, key variables and levers that act.
#[derive(Clone, Debug)]
pub enum FeatureForm {
    /// One for every state and cause.
    OneHot,
    /// One for every combination of each of these scopes; without them the scopes of transitions and rewards.
    Factors {
        /// The scopes.
        scopes: Option<Vec<Vec<Located<String>>>>,
    },
    /// Chebyshev polynomials of the places of values.
    Polynomial {
        /// Variables whose values are ordered.
        scope: Option<Vec<Located<String>>>,
        /// Greatest total degree.
        degree: Located<u64>,
    },
    /// Gaussian bumps over the places of values.
    Radial {
        /// Variables whose values are ordered.
        scope: Option<Vec<Located<String>>>,
        /// Bumps for each variable.
        centres: Located<u64>,
        /// Their width, in distances between neighbours.
        width: Located<f64>,
    },
    /// One row of `dimension` numbers for each combination of the scope (first slowest).
    Table {
        /// What the rows run over.
        scope: Option<Vec<Located<String>>>,
        /// Numbers in a row (d).
        dimension: usize,
        /// The rows.
        values: Vec<f64>,
    },
    /// The same numbers as lists in lists, as in a file: outermost the first of the scope, innermost the features.
    Nested {
        /// What the lists run over.
        scope: Option<Vec<Located<String>>>,
        /// The lists.
        value: Located<Nested>,
    },
    /// A table with named columns: one for each variable of the scope, every other column a feature. Without a scope,
    /// the columns that are called like a variable are the scope.
    Grid {
        /// Variables that have a column.
        scope: Option<Vec<Located<String>>>,
        /// The table.
        grid: Grid,
    },
    /// The mean of tables, each with a scope of its own: features of many variables without a row for every combination.
    Mean {
        /// Tables of the same number of features, in any of the forms that have rows.
        tables: Vec<FeatureSpec>,
    },
}

/// Transitions of low rank as a person states them; [`World::with_low_rank`](crate::World::with_low_rank) checks them.
///
/// P(s' | s, z) = Σ_j w_j(s, z) Π_i P_i(s'_i | j), with d anchors j.
#[derive(Clone, Debug)]
pub struct LowRankSpec {
    /// w(s, z): one number for each anchor; `None`: the features that the world carries.
    pub weights: Option<FeatureSpec>,
    /// For every state factor its rows P_i(· | j), one for each anchor.
    pub next: Vec<(Located<String>, AnchorRows)>,
    /// Where they stand.
    pub at: Option<At>,
}

/// How the rows of one state factor are written.
#[derive(Clone, Debug)]
pub enum AnchorRows {
    /// The rows one after the other.
    Table(Vec<f64>),
    /// The same numbers as lists in a list, as in a file.
    Nested(Located<Nested>),
    /// Normal distributions on the ordered values: for each anchor a centre, in places from 0 to one less than their number,
    /// and a standard deviation in places; each row is divided by its sum.
    Normal {
        /// One for each anchor.
        centres: Vec<Located<f64>>,
        /// The same for all.
        sd: Located<f64>,
    },
}
