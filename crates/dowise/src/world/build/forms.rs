//! Written forms of a mechanism, each compiled to a table.

use super::check::{Check, Listed};
use super::distribution::Mended;
use crate::Space;
use crate::messages::some_of;
use crate::world::{Assumed, At, Form, Located, Mechanism, MechanismSpec, Nested, Outcome, Problem, VarId, Written};

/// The mechanism being compiled, P(children | parents), with names for messages.
pub(crate) struct Target<'a> {
    pub(crate) children: &'a [VarId],
    pub(crate) parents: &'a [VarId],
    /// Configurations of the parents.
    pub(crate) space: Space,
    /// Joint values of the children.
    pub(crate) columns: usize,
    /// `"opened"`, or `"z1", "z2"` for a joint table.
    pub(crate) names: String,
    /// `parents of "opened"` or `scope of "loyalty"`.
    pub(crate) role: String,
    /// Whether it determines the next value of a state factor.
    pub(crate) next: bool,
    /// Whether parents and children are valid, so that a table exists; otherwise only names, values and sums are
    /// checked.
    pub(crate) sound: bool,
    pub(crate) at: Option<At>,
}

impl Check {
    /// Quoted names.
    pub(crate) fn names(&self, ids: &[VarId]) -> String {
        ids.iter().map(|&id| format!("\"{}\"", self.name(id))).collect::<Vec<_>>().join(", ")
    }

    /// Compiles one mechanism.
    pub(crate) fn mechanism(
        &mut self,
        children: Vec<VarId>,
        listed: Listed,
        spec: &MechanismSpec,
        next: bool,
    ) -> Option<Mechanism> {
        let sound = listed.sound && !children.iter().any(|id| self.open.contains(id));
        if !sound {
            return self.broken_mechanism(&children, &listed, spec, next);
        }
        let parents = listed.ids;
        if let (Form::LowRank, true) = (&spec.form, next) {
            // Its numbers are specified jointly for all state factors, never as a table.
            return Some(Mechanism { children, parents, table: None, assumed: Assumed::default() });
        }
        let names = self.names(&children);
        let columns = super::product(children.iter().map(|&id| self.size(id)));
        let columns = columns.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        let word = if next { "scope" } else { "parents" };
        let what = format!("the table of {names}");
        let space = self.table_space(&what, &parents, columns, &format!("shorten its `{word}`"), spec.at)?;
        let role = format!("{word} of {names}");
        let (children_, parents_, at) = (&children, &parents, spec.at);
        let target = Target { children: children_, parents: parents_, space, columns, names, role, next, sound, at };
        let assumed = self.assumed(spec, &target);
        let table = match &spec.form {
            Form::Unknown => None,
            Form::LowRank => {
                let message = format!("the mechanism of {} is said to be of low rank", target.names);
                let help = "only next values of state factors can be; give it a table, or leave it to be learned";
                self.push(Problem::error("low-rank", message).help(help).at(spec.at));
                return None;
            }
            form => {
                self.reserve(&what, target.space.len() * columns, spec.at)?;
                Some(self.table(form, &target)?.into())
            }
        };
        let assumed = assumed?;
        Some(Mechanism { children, parents, table, assumed })
    }

    /// Checks everything that does not depend on invalid parents or values.
    fn broken_mechanism(
        &mut self,
        children: &[VarId],
        listed: &Listed,
        spec: &MechanismSpec,
        next: bool,
    ) -> Option<Mechanism> {
        self.pass_over();
        let mut named = names_in(&spec.form);
        named.extend(spec.learn.iter().flat_map(|learn| learn.interactions.iter().flatten()).map(|name| &name.value));
        named.extend(spec.children.iter().filter(|_| next).filter_map(|child| child.value.get())); // `shift` is from it
        let parents = self.widened(listed, &named);
        let names = self.names(children);
        let word = if next { "scope" } else { "parents" };
        let role = format!("{word} of {names}");
        let columns = super::product(children.iter().map(|&id| self.size(id))).unwrap_or(0) as usize;
        let space = Space::new(&[])?;
        let target =
            Target { children, parents: &parents, space, columns, names, role, next, sound: false, at: spec.at };
        self.assumed(spec, &target);
        match &spec.form {
            Form::Unknown | Form::LowRank | Form::Table(_) | Form::Grid(_) => {}
            Form::Nested(nested) => self.innermost_rows(nested, &target),
            Form::Rows(rows) => drop(self.rows(rows, &target)),
            Form::NoisyOr { leak, effects } => drop(self.noisy_or(leak, effects, &target)),
            Form::Logit { base, effects } => drop(self.logit(base, effects, &target)),
        }
        None
    }

    /// Checks innermost lists with the length of rows, for any nesting.
    fn innermost_rows(&mut self, nested: &Located<Nested>, target: &Target<'_>) {
        let Nested::List(items) = &nested.value else { return };
        let number = |item: &Located<Nested>| match item.value {
            Nested::Number(number) => Some(number),
            Nested::List(_) => None,
        };
        let row: Option<Vec<Written<f64>>> = items.iter().map(number).collect();
        match row {
            Some(row) if row.len() == target.columns && !target.open_child(self) => {
                self.written_distribution(&row, |_| target.row_name(""), nested.at, &mut Mended::default());
            }
            Some(_) => {}
            None => items.iter().for_each(|item| self.innermost_rows(item, target)),
        }
    }

    fn table(&mut self, form: &Form, target: &Target<'_>) -> Option<Vec<f64>> {
        match form {
            Form::Unknown | Form::LowRank => None,
            Form::Table(table) => self.flat(table.clone(), target),
            Form::Nested(nested) => self.nested(nested, target),
            Form::Grid(grid) => self.grid(grid, target),
            Form::Rows(rows) => self.rows(rows, target),
            Form::NoisyOr { leak, effects } => self.noisy_or(leak, effects, target),
            Form::Logit { base, effects } => self.logit(base, effects, target),
        }
    }

    fn flat(&mut self, table: Vec<f64>, target: &Target<'_>) -> Option<Vec<f64>> {
        let expected = target.space.len() * target.columns;
        if table.len() != expected {
            let message = format!("the table of {} has {} entries, not {expected}", target.names, table.len());
            let help = "one for each combination of its parents and each value";
            self.push(Problem::error("shape", message).help(help).at(target.at));
            return None;
        }
        self.all_rows(table, target, |_| target.at)
    }

    fn nested(&mut self, nested: &Located<Nested>, target: &Target<'_>) -> Option<Vec<f64>> {
        if target.parents.is_empty() && matches!(&nested.value, Nested::List(items) if items.iter().any(is_list)) {
            let (word, of) = if target.next { ("scope", "next value") } else { ("parents", "mechanism") };
            let message = format!("the {of} of {} is written as lists in lists, but has no `{word}`", target.names);
            let help = format!("add `{word} = [\"…\"]`: what the lists run over, outermost first");
            self.push(Problem::error("shape", message).help(help).at(nested.at));
            return None;
        }
        let mut levels: Vec<(String, usize)> = Vec::new();
        for &id in target.parents {
            levels.push((format!("one for each value of \"{}\"", self.name(id)), self.size(id)));
        }
        let values = match target.children {
            [child] => {
                format!("one for each value of {} ({})", target.names, some_of(&self.variables[child.ix()].values))
            }
            _ => format!("one for each combination of {}", target.names),
        };
        levels.push((values, target.columns));
        let mut table = Vec::new();
        let mut places = Vec::new();
        let help = if target.next { "scope" } else { "parents" };
        let help = format!("the lists run over the {help} in order, the innermost over the values");
        if !self.flatten(nested, &levels, &help, &mut table, &mut places) {
            return None;
        }
        let before = self.errors();
        let mut mended = Mended::default();
        let mut rows = Vec::with_capacity(table.len());
        for (r, row) in table.chunks_exact(target.columns).enumerate() {
            let row = self.written_distribution(row, |check| target.row_at(check, r), places[r], &mut mended);
            rows.extend(row.unwrap_or_default());
        }
        self.note_mended(&format!("the table of {}", target.names), &mended);
        (self.errors() == before).then_some(rows)
    }

    /// Validates every row of a table; `place` returns the location of a row.
    fn all_rows(
        &mut self,
        mut table: Vec<f64>,
        target: &Target<'_>,
        place: impl Fn(usize) -> Option<At>,
    ) -> Option<Vec<f64>> {
        let before = self.errors();
        let mut mended = Mended::default();
        for (r, row) in table.chunks_exact_mut(target.columns).enumerate() {
            self.distribution(row, |check| target.row_at(check, r), place(r), &mut mended);
        }
        self.note_mended(&format!("the table of {}", target.names), &mended);
        (self.errors() == before).then_some(table)
    }

    /// Flattens nested lists; `levels` has the index variable and length of each level, outermost first.
    pub(crate) fn flatten(
        &mut self,
        nested: &Located<Nested>,
        levels: &[(String, usize)],
        help: &str,
        out: &mut Vec<Written<f64>>,
        places: &mut Vec<Option<At>>,
    ) -> bool {
        let unit = |innermost: bool| if innermost { "number" } else { "list" };
        match (&nested.value, levels) {
            (Nested::Number(number), []) => out.push(*number),
            (Nested::Number(number), _) if number.get().is_none() => {
                self.pass_over();
                return false;
            }
            (Nested::List(items), [(over, size), deeper @ ..]) => {
                if items.len() != *size {
                    let unit = unit(deeper.is_empty());
                    let s = if *size == 1 { "" } else { "s" };
                    let message = format!("expected {size} {unit}{s} here, {over}, found {}", items.len());
                    self.push(Problem::error("shape", message).help(help).at(nested.at));
                    return false;
                }
                if deeper.is_empty() {
                    places.push(nested.at);
                }
                let mut good = true;
                for item in items {
                    good &= self.flatten(item, deeper, help, out, places);
                    if matches!(item.value, Nested::List(_)) == deeper.is_empty() {
                        break; // its siblings have the same problem
                    }
                }
                return good;
            }
            (Nested::Number(_), [(over, size), ..]) => {
                let message = format!("expected a list of {size} here, {over}, found a number");
                self.push(Problem::error("shape", message).help(help).at(nested.at));
                return false;
            }
            (Nested::List(_), []) => {
                let problem = Problem::error("shape", "expected a number here, found a list");
                self.push(problem.help(help).at(nested.at));
                return false;
            }
        }
        true
    }
}

/// The variables that a form names.
fn names_in(form: &Form) -> Vec<&String> {
    match form {
        Form::Unknown | Form::LowRank | Form::Table(_) | Form::Nested(_) | Form::Grid(_) => Vec::new(),
        Form::NoisyOr { effects, .. } | Form::Logit { effects, .. } => {
            effects.iter().map(|e| &e.parent.value).collect()
        }
        Form::Rows(rows) => rows
            .iter()
            .flat_map(|row| {
                let mut names: Vec<&String> = row.when.names().collect();
                match &row.outcome {
                    Outcome::SameAs(name) | Outcome::Shift { of: Some(name), .. } => names.extend(name.value.get()),
                    Outcome::Form(form) => names.extend(names_in(form)),
                    Outcome::Probabilities(_)
                    | Outcome::Named(_)
                    | Outcome::Is(_)
                    | Outcome::Shift { of: None, .. } => {}
                }
                names
            })
            .collect(),
    }
}

fn is_list(item: &Located<Nested>) -> bool {
    matches!(item.value, Nested::List(_))
}

impl Target<'_> {
    /// Whether the values of a child are unknown.
    pub(crate) fn open_child(&self, check: &Check) -> bool {
        self.children.iter().any(|id| check.open.contains(id))
    }

    /// [`Target::row_name`] for one combination of the parents.
    pub(crate) fn row_at(&self, check: &Check, row: usize) -> String {
        self.row_name(&check.combination(self.parents, &self.space.digits(row)))
    }

    /// `probabilities of "opened" given loyalty = "new"`
    pub(crate) fn row_name(&self, given: &str) -> String {
        let next = if self.next { "next " } else { "" };
        let given = if given.is_empty() { String::new() } else { format!(" given {given}") };
        format!("probabilities of {next}{}{given}", self.names)
    }
}
