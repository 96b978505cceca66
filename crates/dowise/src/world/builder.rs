//! Builder of worlds in code, by names: the contents of a world file as chained calls.

use super::{
    EndSpec, ForbidSpec, Form, InterventionSpec, Kind, Located, MechanismSpec, Name, Outcome, Pattern, RewardForm,
    RewardRow, RewardSpec, RowSpec, SetSpec, StartRow, StartSpec, VariableSpec, World, WorldError, WorldSpec, Written,
};

/// A world under construction.
///
/// Variables are declared with a number of values ("0", "1", …) or their names, and used by name. Tables run over the
/// parents in the given order, the first slowest; each row has the values of the variable.
/// [`build`](WorldBuilder::build) validates everything and reports all errors at once, as for a world file.
///
/// ```
/// use dowise::World;
/// let world = World::builder("a walk a day", 7)
///     .state("mood", ["low", "high"])
///     .lever("shoes", ["by the door", "in the cupboard"])
///     .key("walk", ["no", "yes"])
///     .mechanism("walk", ["mood", "shoes"], [0.3, 0.7, 0.9, 0.1, 0.1, 0.9, 0.5, 0.5])
///     .next("mood", ["mood", "walk"], [0.9, 0.1, 0.4, 0.6, 0.5, 0.5, 0.1, 0.9])
///     .reward("well", "mood", [0.0, 1.0])
///     .start("mood", "low")
///     .build()?;
/// assert_eq!((world.n_states(), world.interventions().count()), (2, 2));
///
/// let error = World::builder("a walk a day", 7).state("mood", 2).next("mood", "walk", [0.5]).build().unwrap_err();
/// assert!(error.to_string().contains("\"walk\""), "{error}");
/// # Ok::<(), dowise::WorldError>(())
/// ```
#[derive(Clone, Debug)]
pub struct WorldBuilder {
    spec: WorldSpec,
}

impl World {
    /// Starts a world with a title and a horizon; by default all levers are set, and initial states are uniform.
    pub fn builder(name: impl Into<String>, horizon: u64) -> WorldBuilder {
        WorldBuilder {
            spec: WorldSpec {
                name: name.into(),
                about: String::new(),
                horizon: horizon.into(),
                discount: None,
                ends: Vec::new(),
                variables: vec![],
                transitions: vec![],
                mechanisms: vec![],
                rewards: vec![],
                reward_range: None,
                interventions: InterventionSpec::default(),
                start: StartSpec::Uniform,
            },
        }
    }
}

impl WorldBuilder {
    /// The discount factor per step, above 0 and at most 1.
    pub fn discount(mut self, discount: f64) -> WorldBuilder {
        self.spec.discount = Some(discount.into());
        self
    }

    /// Terminal states: state factors and their values, or comparisons such as `>= high`. Repeated calls combine by
    /// "or".
    pub fn ends(mut self, when: &[(&str, &[&str])]) -> WorldBuilder {
        let values = |values: &[&str]| values.iter().map(|&v| v.into()).collect();
        let when: Pattern = when.iter().map(|(name, v)| ((*name).into(), values(v))).collect();
        self.spec.ends.push(EndSpec { when: when.into(), at: None });
        self
    }

    /// A short description.
    pub fn about(mut self, about: impl Into<String>) -> WorldBuilder {
        self.spec.about = about.into();
        self
    }

    /// A state factor.
    pub fn state(self, name: impl Into<String>, values: impl Into<Values>) -> WorldBuilder {
        self.variable(Kind::State, name, values)
    }

    /// A lever: a variable that interventions may set.
    pub fn lever(self, name: impl Into<String>, values: impl Into<Values>) -> WorldBuilder {
        self.variable(Kind::Lever, name, values)
    }

    /// A lever with costs of setting it, as (value, cost); other values cost nothing.
    pub fn lever_with_costs(
        self,
        name: impl Into<String>,
        values: impl Into<Values>,
        costs: &[(&str, f64)],
    ) -> WorldBuilder {
        let mut builder = self.lever(name, values);
        let lever = builder.spec.variables.last_mut().expect("invariant: a lever was declared in the line above");
        lever.costs = costs.iter().map(|&(value, cost)| (value.into(), cost.into())).collect();
        builder
    }

    /// A key variable: observed, not settable; next states and rewards may depend on it.
    pub fn key(self, name: impl Into<String>, values: impl Into<Values>) -> WorldBuilder {
        self.variable(Kind::Key, name, values)
    }

    /// A hidden variable, between levers and key variables.
    pub fn hidden(self, name: impl Into<String>, values: impl Into<Values>) -> WorldBuilder {
        self.variable(Kind::Hidden, name, values)
    }

    /// A variable of any kind.
    pub fn variable(mut self, kind: Kind, name: impl Into<String>, values: impl Into<Values>) -> WorldBuilder {
        let values = values.into().0.into_iter().map(Name::from).collect();
        self.spec.variables.push(VariableSpec {
            name: Located::from(name.into()),
            kind: kind.into(),
            values,
            values_at: None,
            costs: vec![],
        });
        self
    }

    /// P(children | parents) within a step, for key variables, hidden variables and levers left alone; several children
    /// form a joint table. [`Form::Unknown`]: to be learned.
    pub fn mechanism(
        mut self,
        children: impl Into<Names>,
        parents: impl Into<Names>,
        form: impl Into<Form>,
    ) -> WorldBuilder {
        self.spec.mechanisms.push(mechanism(children.into(), parents.into(), form.into()));
        self
    }

    /// P(next value of a state factor | scope). [`Form::Unknown`]: to be learned.
    pub fn next(mut self, factor: impl Into<String>, scope: impl Into<Names>, form: impl Into<Form>) -> WorldBuilder {
        self.spec.transitions.push(mechanism(Names(vec![factor.into()]), scope.into(), form.into()));
        self
    }

    /// A reward term: a number for every configuration of its scope.
    pub fn reward(self, name: impl Into<String>, scope: impl Into<Names>, form: impl Into<RewardForm>) -> WorldBuilder {
        self.term(name.into(), scope.into(), form.into(), None, false)
    }

    /// A random reward term: payments are one of the ends of its range, with the given mean.
    pub fn random_reward(
        self,
        name: impl Into<String>,
        scope: impl Into<Names>,
        mean: impl Into<RewardForm>,
        range: [f64; 2],
    ) -> WorldBuilder {
        self.term(name.into(), scope.into(), mean.into(), Some(range), true)
    }

    /// An unknown reward term with this range.
    pub fn unknown_reward(self, name: impl Into<String>, scope: impl Into<Names>, range: [f64; 2]) -> WorldBuilder {
        self.term(name.into(), scope.into(), RewardForm::Unknown, Some(range), false)
    }

    /// Makes the reward terms so far unknown to learners, each with this range; planning and simulation use their
    /// numbers.
    pub fn rewards_to_learn(mut self, range: [f64; 2]) -> WorldBuilder {
        self.spec.rewards.iter_mut().for_each(|term| (term.learn, term.range) = (true, Some(range.into())));
        self
    }

    fn term(
        mut self,
        name: String,
        scope: Names,
        form: RewardForm,
        range: Option<[f64; 2]>,
        random: bool,
    ) -> WorldBuilder {
        let (name, range) = (Located::from(name), range.map(Into::into));
        self.spec.rewards.push(RewardSpec {
            name,
            scope: scope.located(),
            form,
            range,
            random,
            learn: false,
            at: None,
        });
        self
    }

    /// Declares the range of the sum of all reward terms, before costs.
    pub fn reward_range(mut self, range: [f64; 2]) -> WorldBuilder {
        self.spec.reward_range = Some(range.into());
        self
    }

    /// Which levers an intervention sets; by default every lever.
    pub fn set(mut self, set: SetSpec) -> WorldBuilder {
        self.spec.interventions.set = set;
        self
    }

    /// In states that match `when` (empty: in all), no intervention may set every one of these levers to one of its
    /// values.
    pub fn forbid(mut self, when: &[(&str, &[&str])], levers: &[(&str, &[&str])]) -> WorldBuilder {
        let pattern = |pairs: &[(&str, &[&str])]| -> Pattern {
            pairs.iter().map(|(name, values)| ((*name).into(), values.iter().map(|&v| v.into()).collect())).collect()
        };
        self.spec.interventions.forbid.push(ForbidSpec { when: pattern(when), levers: pattern(levers), at: None });
        self
    }

    /// The initial distribution of a state factor: a value or probabilities; other factors start uniformly.
    ///
    /// Replaces the states given by [`start_in`](WorldBuilder::start_in).
    pub fn start(mut self, factor: impl Into<String>, outcome: impl Into<Outcome>) -> WorldBuilder {
        let start = (Located::from(factor.into()), outcome.into());
        match &mut self.spec.start {
            StartSpec::PerFactor(factors) | StartSpec::Mixture { factors, .. } => factors.push(start),
            StartSpec::Uniform | StartSpec::States(_) => self.spec.start = StartSpec::PerFactor(vec![start]),
        }
        self
    }

    /// Initial states, each with a value for every state factor, and their weights.
    ///
    /// Replaces the values given by [`start`](WorldBuilder::start).
    pub fn start_in<F: Into<String>, V: Into<String>>(
        mut self,
        states: impl IntoIterator<Item = (Vec<(F, V)>, f64)>,
    ) -> WorldBuilder {
        let row = |(state, weight): (Vec<(F, V)>, f64)| StartRow {
            state: state.into_iter().map(|(factor, value)| (factor.into().into(), value.into().into())).collect(),
            weight: weight.into(),
        };
        self.spec.start = StartSpec::States(states.into_iter().map(row).collect());
        self
    }

    /// Validates and builds the world; reports all problems.
    pub fn build(self) -> Result<World, WorldError> {
        World::new(self.spec)
    }

    /// The unchecked specification.
    pub fn spec(self) -> WorldSpec {
        self.spec
    }
}

/// A builder that starts from an existing specification.
impl From<WorldSpec> for WorldBuilder {
    fn from(spec: WorldSpec) -> WorldBuilder {
        WorldBuilder { spec }
    }
}

fn mechanism(children: Names, parents: Names, form: Form) -> MechanismSpec {
    MechanismSpec { children: children.located(), parents: parents.located(), form, learn: None, at: None }
}

/// Names of variables: one, or a list.
#[derive(Clone, Debug)]
pub struct Names(Vec<String>);

/// The values of a variable: their number ("0", "1", …), or their names.
#[derive(Clone, Debug)]
pub struct Values(Vec<String>);

impl Names {
    fn located(self) -> Vec<Name> {
        self.0.into_iter().map(Name::from).collect()
    }
}

impl From<usize> for Values {
    fn from(n: usize) -> Values {
        Values((0..n).map(|v| v.to_string()).collect())
    }
}

impl From<&str> for Names {
    fn from(name: &str) -> Names {
        Names(vec![name.to_owned()])
    }
}

/// Conversions from names and lists of names.
macro_rules! lists {
    ($($to:ident),*) => {
        $(
            impl<const N: usize> From<[&str; N]> for $to {
                fn from(names: [&str; N]) -> $to {
                    $to(names.iter().map(|&name| name.to_owned()).collect())
                }
            }

            impl<S: AsRef<str>> From<&[S]> for $to {
                fn from(names: &[S]) -> $to {
                    $to(names.iter().map(|name| name.as_ref().to_owned()).collect())
                }
            }

            impl<S: AsRef<str>> From<&Vec<S>> for $to {
                fn from(names: &Vec<S>) -> $to {
                    names.as_slice().into()
                }
            }

            impl<S: AsRef<str>> From<Vec<S>> for $to {
                fn from(names: Vec<S>) -> $to {
                    names.as_slice().into()
                }
            }
        )*
    };
}

lists!(Names, Values);

/// Conversions from numbers and rows.
macro_rules! forms {
    ($($from:ty => $to:ident :: $variant:ident),* $(,)?) => {
        $(impl From<$from> for $to {
            fn from(given: $from) -> $to {
                $to::$variant(given.into())
            }
        })*
    };
}

forms! {
    Vec<f64> => Form::Table,
    Vec<RowSpec> => Form::Rows,
    Vec<f64> => RewardForm::Table,
    Vec<RewardRow> => RewardForm::Rows,
    &str => Outcome::Is,
}

impl<const N: usize> From<[f64; N]> for Form {
    fn from(table: [f64; N]) -> Form {
        Form::Table(table.into())
    }
}

impl<const N: usize> From<[f64; N]> for RewardForm {
    fn from(table: [f64; N]) -> RewardForm {
        RewardForm::Table(table.into())
    }
}

impl From<Vec<f64>> for Outcome {
    fn from(probabilities: Vec<f64>) -> Outcome {
        Outcome::Probabilities(probabilities.into_iter().map(Written::from).collect())
    }
}

impl<const N: usize> From<[f64; N]> for Outcome {
    fn from(probabilities: [f64; N]) -> Outcome {
        Vec::from(probabilities).into()
    }
}
