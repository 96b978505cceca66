//! The statement of a world: variables with their parts, mechanisms, transitions, rewards and where episodes start.

use std::collections::BTreeMap;

use dowise::diagnostics::Problems;
use dowise::messages::nearest;
use dowise::world::{
    Condition, Form, Kind, LearnSpec, Located, MechanismSpec, Name, Outcome, Problem, RewardForm, RewardSpec, RowSpec,
    SetSpec, StartSpec, VariableSpec, WorldSpec,
};

use super::assign::{Cast, Part, find};
use crate::findings::some_of;
use crate::limits::MOST_ENTRIES;
use crate::roles::{Missing, Payment, Roles};

/// What an import came to.
pub(super) struct Stated {
    pub(super) spec: WorldSpec,
    /// Variables whose numbers are placeholders.
    pub(super) placeholders: Vec<String>,
    /// What the world file says of itself.
    pub(super) comments: Vec<String>,
}

struct Builder<'a> {
    cast: &'a Cast,
    roles: &'a Roles,
    placeholders: Vec<String>,
}

/// `title` is for a network that has none.
pub(super) fn state(cast: &Cast, roles: &Roles, title: &str, findings: &mut Problems) -> Stated {
    let mut builder = Builder { cast, roles, placeholders: vec![] };
    let kept = builder.kept();
    let hidden: Vec<usize> = (0..kept.len()).filter(|&i| kept[i] && cast.parts[i] == Part::Hidden).collect();
    let mut variables = vec![];
    let states = cast.states.iter().map(|&(now, _)| (now, Kind::State));
    let levers = cast.levers.iter().map(|&i| (i, Kind::Lever));
    let keys = cast.keys.iter().map(|&i| (i, Kind::Key));
    for (i, kind) in states.chain(levers).chain(keys).chain(hidden.iter().map(|&i| (i, Kind::Hidden))) {
        variables.push(builder.variable(i, kind));
    }
    let transitions = cast.states.iter().filter_map(|&(now, next)| builder.transition(now, next, findings)).collect();
    let mut mechanisms = vec![];
    for &i in cast.keys.iter().chain(&hidden) {
        mechanisms.extend(builder.mechanism(i, findings));
    }
    for &i in &cast.levers {
        mechanisms.extend(if builder.levers_act() {
            builder.mechanism(i, findings)
        } else {
            builder.behaviour(i, &kept)
        });
    }
    let rewards = builder.rewards(findings);
    builder.costs(&mut variables, findings);
    let start = builder.start(findings);
    let comments = builder.comments(&kept, findings);
    let name =
        [roles.name.clone(), Some(cast.network.name.clone())].into_iter().flatten().find(|name| !name.is_empty());
    let spec = WorldSpec {
        name: name.unwrap_or_else(|| title.to_owned()),
        about: String::new(),
        horizon: roles.horizon.clone().unwrap_or(1.into()).into(),
        discount: None,
        ends: Vec::new(),
        variables,
        transitions,
        mechanisms,
        rewards,
        reward_range: None,
        interventions: dowise::world::InterventionSpec {
            set: roles.set.clone().unwrap_or_default(),
            ..Default::default()
        },
        start,
    };
    Stated { spec, placeholders: builder.placeholders, comments }
}

impl Builder<'_> {
    fn name(&self, i: usize) -> &str {
        &self.cast.network.variables[i].name
    }

    /// Whether levers can be left alone, so that what acts on them matters.
    fn levers_act(&self) -> bool {
        !matches!(self.roles.set, None | Some(SetSpec::All))
    }

    /// Which variables matter: all that have a role, and hidden ones on which something observed depends.
    fn kept(&self) -> Vec<bool> {
        let cast = self.cast;
        let mut kept: Vec<bool> = cast.parts.iter().map(|&part| part != Part::Hidden && part != Part::Next).collect();
        let levers = if self.levers_act() { &cast.levers[..] } else { &[] };
        let mut open: Vec<usize> = [levers, &cast.keys].concat();
        while let Some(i) = open.pop() {
            for &parent in &cast.network.variables[i].parents {
                if cast.parts[parent] == Part::Hidden && !std::mem::replace(&mut kept[parent], true) {
                    open.push(parent);
                }
            }
        }
        kept
    }

    fn variable(&self, i: usize, kind: Kind) -> VariableSpec {
        let variable = &self.cast.network.variables[i];
        VariableSpec {
            name: Located::new(variable.name.clone(), self.cast.places[i]),
            kind: kind.into(),
            values: variable.values.iter().map(|v| v.as_str().into()).collect(),
            values_at: self.cast.places[i],
            costs: vec![],
        }
    }

    /// What stands for numbers that the graph does not have. The one place that decides it.
    fn missing(&mut self, i: usize, findings: &mut Problems) -> Form {
        match self.roles.missing.unwrap_or_default() {
            Missing::Learn => Form::Unknown,
            Missing::Uniform => {
                let variables = &self.cast.network.variables;
                let sizes = variables[i].parents.iter().chain([&i]).map(|&v| variables[v].values.len() as u128);
                let entries = sizes.fold(1u128, u128::saturating_mul);
                if entries > MOST_ENTRIES {
                    let message = format!("a uniform table of \"{}\" would have {entries} entries", self.name(i));
                    let help = format!("at most {MOST_ENTRIES} are written; leave it to be learned (--learn)");
                    findings.push(Problem::error("too-large", message).help(help).at(self.cast.places[i]));
                    return Form::Unknown;
                }
                self.placeholders.push(self.name(i).to_owned());
                let n = self.cast.network.variables[i].values.len();
                let outcome = vec![1.0 / n as f64; n].into();
                Form::Rows(vec![RowSpec { when: Condition::default(), outcome, at: None }])
            }
        }
    }

    /// The numbers of a variable, each row rescaled to sum to 1, its values in the order of `values`.
    fn form(&mut self, i: usize, values: &[String], findings: &mut Problems) -> Form {
        let variable = &self.cast.network.variables[i];
        let Some(table) = &variable.table else { return self.missing(i, findings) };
        let order = values.iter().map(|v| variable.values.iter().position(|w| w == v));
        let order: Vec<usize> = order.map(|p| p.expect("invariant: the values are the same")).collect();
        let rows = table.chunks(variable.values.len()).flat_map(|row| {
            let scale = scale(row);
            order.iter().map(move |&v| row[v] / scale)
        });
        Form::Table(rows.collect())
    }

    fn parents(&self, i: usize) -> Vec<Name> {
        self.cast.network.variables[i].parents.iter().map(|&p| self.name(p).into()).collect()
    }

    /// P(variable | parents) within a step.
    fn mechanism(&mut self, i: usize, findings: &mut Problems) -> Option<MechanismSpec> {
        let cast = self.cast;
        let later = cast.network.variables[i].parents.iter().find(|&&p| cast.parts[p] == Part::Next);
        if let Some(&later) = later {
            let (name, later) = (self.name(i), self.name(later));
            let message = format!("\"{name}\" depends on \"{later}\", which is a value at the next step");
            let help = format!("add --key {later}, so that it is observed within the step, or hide neither of the two");
            findings.push(Problem::error("scope", message).help(help).at(cast.places[i]));
            return None;
        }
        let values = cast.network.variables[i].values.clone();
        let form = self.form(i, &values, findings);
        // Nobody vouches for a placeholder: it is to be learned, and no answer from a log may rest on it.
        let is_placeholder = cast.network.variables[i].table.is_none() && !matches!(form, Form::Unknown);
        let learn = is_placeholder.then(|| LearnSpec { form: Some("table".into()), ..LearnSpec::default() });
        Some(MechanismSpec {
            children: vec![self.name(i).into()],
            parents: self.parents(i),
            form,
            learn,
            at: cast.places[i],
        })
    }

    /// What acts on a lever that is always set: no plan needs it, but by it the lever was chosen in a log. Hidden variables that are
    /// left out give way to what acts on them; there is no placeholder for numbers that nothing needs.
    fn behaviour(&self, i: usize, kept: &[bool]) -> Option<MechanismSpec> {
        let cast = self.cast;
        let own = &cast.network.variables[i].parents;
        let (mut open, mut seen, mut parents): (Vec<usize>, Vec<usize>, Vec<usize>) = (own.clone(), vec![], vec![]);
        open.reverse();
        while let Some(p) = open.pop() {
            if seen.contains(&p) {
                continue;
            }
            seen.push(p);
            match cast.parts[p] {
                Part::Hidden if !kept[p] => open.extend(cast.network.variables[p].parents.iter().rev()),
                // Nothing is chosen by what comes after it.
                Part::Next => {}
                Part::Hidden | Part::State | Part::Lever | Part::Key => parents.push(p),
            }
        }
        let variable = &cast.network.variables[i];
        let form = match &variable.table {
            Some(table) if parents == *own => {
                let rows = table.chunks(variable.values.len());
                Form::Table(rows.flat_map(|row| row.iter().map(|p| p / scale(row))).collect())
            }
            Some(_) | None => Form::Unknown,
        };
        (!parents.is_empty()).then(|| MechanismSpec {
            children: vec![self.name(i).into()],
            parents: parents.iter().map(|&p| self.name(p).into()).collect(),
            form,
            learn: None,
            at: cast.places[i],
        })
    }

    /// P(next value | scope) of a state factor.
    fn transition(&mut self, now: usize, next: usize, findings: &mut Problems) -> Option<MechanismSpec> {
        let cast = self.cast;
        let [a, b] = [now, next].map(|i| &cast.network.variables[i]);
        let at = cast.places[next];
        let mut sorted = [a.values.clone(), b.values.clone()];
        sorted.iter_mut().for_each(|values| values.sort());
        if sorted[0] != sorted[1] {
            let message = format!(
                "\"{}\" has the values {}, but its next value \"{}\" has {}",
                a.name,
                some_of(&a.values),
                b.name,
                some_of(&b.values)
            );
            findings.push(Problem::error("values", message).help("both need the same values").at(at));
            return None;
        }
        let children = vec![a.name.as_str().into()];
        if cast.parts[next] == Part::Key {
            // The next value is observed within the step, and kept.
            let outcome = Outcome::SameAs(b.name.as_str().into());
            let form = Form::Rows(vec![RowSpec { when: Condition::default(), outcome, at: None }]);
            return Some(MechanismSpec { children, parents: vec![b.name.as_str().into()], form, learn: None, at });
        }
        for &parent in &b.parents {
            let what = match cast.parts[parent] {
                Part::Hidden => "is hidden",
                Part::Next => "is a value at the next step as well",
                Part::State | Part::Lever | Part::Key => continue,
            };
            let message = format!("\"{}\" depends on \"{}\", which {what}", b.name, self.name(parent));
            let help = format!(
                "add --key {}, if it is observed, or --key {}: then that is observed within the step, and \"{}\" takes its value",
                self.name(parent),
                b.name,
                a.name
            );
            findings.push(Problem::error("scope", message).help(help).at(at));
            return None;
        }
        let form = self.form(next, &a.values, findings);
        Some(MechanismSpec { children, parents: self.parents(next), form, learn: None, at })
    }

    /// The position of a value, or a problem.
    fn value(&self, i: usize, value: &Located<String>, findings: &mut Problems) -> Option<usize> {
        let values = &self.cast.network.variables[i].values;
        let found = values.iter().position(|v| *v == value.value);
        if found.is_none() {
            let help = match nearest(&value.value, values.iter().map(String::as_str)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("its values are {}", some_of(values)),
            };
            let message = format!("\"{}\" is not a value of \"{}\"", value.value, self.name(i));
            findings.push(Problem::error("unknown-value", message).help(help).at(value.at));
        }
        found
    }

    /// Amounts by variable, one for each of its values; those not named are 0.
    fn amounts(
        &self,
        payments: &[Payment],
        parts: &[Part],
        what: &str,
        findings: &mut Problems,
    ) -> BTreeMap<usize, Vec<f64>> {
        let mut amounts = BTreeMap::new();
        for Payment { variable, value, amount } in payments {
            let Some(i) = find(&self.cast.network, variable, findings, what) else { continue };
            if !parts.contains(&self.cast.parts[i]) {
                let message = match self.cast.parts[i] {
                    Part::Hidden => format!("{what} of \"{}\" cannot be: it is hidden", variable.value),
                    Part::Next => format!("{what} of \"{}\" cannot be: it is a value at the next step", variable.value),
                    Part::Lever | Part::Key | Part::State => {
                        format!("\"{}\" is no lever, and has no cost", variable.value)
                    }
                };
                let help = match self.cast.parts[i] {
                    Part::Hidden | Part::Next => format!("add --key {}", variable.value),
                    Part::Lever | Part::Key | Part::State => "costs are for setting levers; write a reward".to_owned(),
                };
                findings.push(Problem::error("scope", message).help(help).at(variable.at));
                continue;
            }
            let values = &self.cast.network.variables[i].values;
            let row = amounts.entry(i).or_insert_with(|| vec![0.0; values.len()]);
            match value {
                Some(value) => {
                    if let Some(v) = self.value(i, value, findings) {
                        row[v] = amount.value;
                    }
                }
                None => match values
                    .iter()
                    .map(|v| v.parse::<f64>().ok().filter(|x| x.is_finite()))
                    .collect::<Option<Vec<f64>>>()
                {
                    Some(numbers) => *row = numbers,
                    None => {
                        let message =
                            format!("the values of \"{}\" are no numbers: {}", variable.value, some_of(values));
                        let help = format!(
                            "name the value and the amount, such as --reward {}={}:1",
                            variable.value, values[0]
                        );
                        findings.push(Problem::error("values", message).help(help).at(variable.at));
                    }
                },
            }
        }
        amounts
    }

    fn rewards(&self, findings: &mut Problems) -> Vec<RewardSpec> {
        let parts = [Part::State, Part::Key, Part::Lever];
        let amounts = self.amounts(&self.roles.rewards, &parts, "the reward", findings);
        if amounts.is_empty() && findings.errors() == 0 {
            let problem = Problem::warning("no-rewards", "nothing is paid, so every policy is as good as any other");
            findings.push(problem.help("add --reward NAME=VALUE, or a [reward.NAME] section in the world file"));
        }
        let term = |(i, amounts): (usize, Vec<f64>)| RewardSpec {
            name: self.name(i).into(),
            scope: vec![self.name(i).into()],
            form: RewardForm::Table(amounts),
            range: None,
            random: false,
            learn: false,
            at: None,
        };
        amounts.into_iter().map(term).collect()
    }

    fn costs(&self, variables: &mut [VariableSpec], findings: &mut Problems) {
        for (i, amounts) in self.amounts(&self.roles.costs, &[Part::Lever], "the cost", findings) {
            let values = &self.cast.network.variables[i].values;
            let costs = values.iter().zip(amounts).filter(|(_, cost)| *cost != 0.0);
            let costs = costs.map(|(value, cost)| (value.as_str().into(), cost.into())).collect();
            if let Some(variable) = variables.iter_mut().find(|v| v.name.value == self.name(i)) {
                variable.costs = costs;
            }
        }
    }

    /// Where state factors start: as the user says, or as the graph does for one on which nothing acts.
    fn start(&self, findings: &mut Problems) -> StartSpec {
        let mut starts: BTreeMap<usize, Outcome> = BTreeMap::new();
        for (name, value) in &self.roles.starts {
            let Some(i) = find(&self.cast.network, name, findings, "a start") else { continue };
            if self.cast.parts[i] != Part::State {
                let message = format!("\"{}\" is no state factor, so it does not start anywhere", name.value);
                let help = format!("name it as one, such as --state {0}:{0}_next", name.value);
                findings.push(Problem::error("scope", message).help(help).at(name.at));
            } else if self.value(i, value, findings).is_some() {
                starts.insert(i, Outcome::Is(value.clone().into()));
            }
        }
        for &(i, _) in &self.cast.states {
            if starts.contains_key(&i) {
                continue;
            }
            let variable = &self.cast.network.variables[i];
            match &variable.table {
                Some(table) if variable.parents.is_empty() => {
                    let scale = scale(table);
                    starts.insert(i, table.iter().map(|p| p / scale).collect::<Vec<_>>().into());
                }
                _ if variable.parents.is_empty() => {}
                _ => {
                    let parents: Vec<&str> = variable.parents.iter().map(|&p| self.name(p)).collect();
                    let message = format!(
                        "what acts on the state factor \"{}\" in the graph is left out ({}): its value comes from the \
                         step before, and it starts uniformly",
                        variable.name,
                        some_of(&parents)
                    );
                    let help = format!("say where it starts, such as --start {}={}", variable.name, variable.values[0]);
                    findings.push(Problem::warning("start", message).help(help).at(self.cast.places[i]));
                }
            }
        }
        StartSpec::PerFactor(starts.into_iter().map(|(i, outcome)| (self.name(i).into(), outcome)).collect())
    }

    /// What was assumed and left out, for people and for the world file.
    fn comments(&self, kept: &[bool], findings: &mut Problems) -> Vec<String> {
        let cast = self.cast;
        let mut comments = vec![];
        for &(cause, ends) in &cast.common_causes {
            let [a, b] = ends.map(|i| self.name(i));
            comments.push(format!(
                "{:?} stands for a common cause that is not in the graph: {a} <-> {b}.",
                self.name(cause)
            ));
        }
        let guessed: Vec<String> = cast.guessed_values.clone();
        if !guessed.is_empty() {
            let message = format!("the graph has no values for {}; they are taken to be 0 and 1", some_of(&guessed));
            findings.push(Problem::note("values", message).help("--values NAME=LOW,HIGH says otherwise"));
            comments.push(format!("The values of these are guessed, 0 and 1: {}.", super::all_of(&guessed)));
        }
        let out: Vec<String> = (0..kept.len())
            .filter(|&i| !kept[i] && cast.parts[i] == Part::Hidden)
            .map(|i| self.name(i).to_owned())
            .collect();
        if !out.is_empty() {
            let message = format!("left out, since nothing that is observed depends on them: {}", some_of(&out));
            findings.push(Problem::note("left-out", message).help("--key NAME keeps a variable and what acts on it"));
            comments
                .push(format!("Left out, since nothing that is observed depends on them: {}.", super::all_of(&out)));
        }
        let hidden: Vec<&str> = (0..kept.len())
            .filter(|&i| {
                kept[i] && cast.parts[i] == Part::Hidden && !self.roles.hidden.iter().any(|h| h.value == self.name(i))
            })
            .filter(|&i| !cast.common_causes.iter().any(|c| c.0 == i))
            .map(|i| self.name(i))
            .collect();
        if !hidden.is_empty() {
            let message = format!("hidden, since they have no role: {}", some_of(&hidden));
            findings.push(Problem::note("hidden", message).help("name with --key what is observed"));
        }
        comments
    }
}

/// What a row is divided by to sum to 1; a row that does so up to rounding is kept to the last bit.
fn scale(row: &[f64]) -> f64 {
    let sum: f64 = row.iter().sum();
    if (sum - 1.0).abs() < 1e-12 { 1.0 } else { sum }
}
