//! The forms in which a mechanism may be written, each compiled to a table.

use super::check::{Check, number_text, some_of};
use super::distribution::Mended;
use super::rows::each_point;
use crate::Space;
use crate::world::{At, Effect, Form, Located, Mechanism, MechanismSpec, Nested, Outcome, Problem, RowSpec, VarId};

/// What is being compiled: P(children | parents), and how to speak of it.
pub(crate) struct Target<'a> {
    pub(crate) children: &'a [VarId],
    pub(crate) parents: &'a [VarId],
    /// Combinations of the parents.
    pub(crate) space: Space,
    /// Combinations of the children.
    pub(crate) columns: usize,
    /// `"opened"`, or `"z1", "z2"` for a joint table.
    pub(crate) names: String,
    /// `parents of "opened"` or `scope of "loyalty"`.
    pub(crate) role: String,
    /// Whether it decides the next value of a state factor.
    pub(crate) next: bool,
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
        parents: Vec<VarId>,
        spec: &MechanismSpec,
        next: bool,
    ) -> Option<Mechanism> {
        let names = self.names(&children);
        let columns = super::product(children.iter().map(|&id| self.size(id)));
        let columns = columns.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        let word = if next { "scope" } else { "parents" };
        let what = format!("the table of {names}");
        let space = self.table_space(&what, &parents, columns, &format!("shorten its `{word}`"), spec.at)?;
        let role = format!("{word} of {names}");
        let target = Target { children: &children, parents: &parents, space, columns, names, role, next, at: spec.at };
        let table = match &spec.form {
            Form::Unknown => None,
            form => Some(self.table(form, &target)?.into()),
        };
        Some(Mechanism { children, parents, table })
    }

    fn table(&mut self, form: &Form, target: &Target<'_>) -> Option<Vec<f64>> {
        match form {
            Form::Unknown => None,
            Form::Table(table) => self.flat(table.clone(), target),
            Form::Nested(nested) => self.nested(nested, target),
            Form::Grid(grid) => self.grid(grid, target),
            Form::Rows(rows) => self.rows(rows, target),
            Form::NoisyOr { leak, effects } => self.noisy_or(leak, effects, target),
            Form::Logit { base, effects } => self.logit(base, effects, target),
        }
    }

    fn flat(&mut self, mut table: Vec<f64>, target: &Target<'_>) -> Option<Vec<f64>> {
        let expected = target.space.len() * target.columns;
        if table.len() != expected {
            let message = format!("the table of {} has {} entries, not {expected}", target.names, table.len());
            let help = "one for each combination of its parents and each value";
            self.push(Problem::error("shape", message).help(help).at(target.at));
            return None;
        }
        let before = self.errors();
        let mut mended = Mended::default();
        for (r, row) in table.chunks_exact_mut(target.columns).enumerate() {
            let given = self.combination(target.parents, &target.space.digits(r));
            let what = target.row_name(&given);
            self.distribution(row, &what, target.at, &mut mended);
        }
        self.note_mended(&format!("the table of {}", target.names), &mended);
        (self.errors() == before).then_some(table)
    }

    fn nested(&mut self, nested: &Located<Nested>, target: &Target<'_>) -> Option<Vec<f64>> {
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
        if !self.flatten(nested, &levels, &mut table, &mut places) {
            return None;
        }
        let before = self.errors();
        let mut mended = Mended::default();
        for (r, row) in table.chunks_exact_mut(target.columns).enumerate() {
            let given = self.combination(target.parents, &target.space.digits(r));
            let what = target.row_name(&given);
            self.distribution(row, &what, places[r], &mut mended);
        }
        self.note_mended(&format!("the table of {}", target.names), &mended);
        (self.errors() == before).then_some(table)
    }

    /// Takes lists in lists apart; `levels` says what each list runs over, outermost first, and how long it must be.
    pub(crate) fn flatten(
        &mut self,
        nested: &Located<Nested>,
        levels: &[(String, usize)],
        out: &mut Vec<f64>,
        places: &mut Vec<Option<At>>,
    ) -> bool {
        let unit = |innermost: bool| if innermost { "number" } else { "list" };
        match (&nested.value, levels) {
            (Nested::Number(number), []) => out.push(*number),
            (Nested::List(items), [(over, size), deeper @ ..]) => {
                if items.len() != *size {
                    let unit = unit(deeper.is_empty());
                    let s = if *size == 1 { "" } else { "s" };
                    let message = format!("expected {size} {unit}{s} here, {over}, found {}", items.len());
                    let help = "the lists run over the parents in order, innermost over the values";
                    self.push(Problem::error("shape", message).help(help).at(nested.at));
                    return false;
                }
                if deeper.is_empty() {
                    places.push(nested.at);
                }
                let mut good = true;
                for item in items {
                    let item = Located { value: item.value.clone(), at: item.at.or(nested.at) };
                    good &= self.flatten(&item, deeper, out, places);
                }
                return good;
            }
            (Nested::Number(_), [(over, size), ..]) => {
                let message = format!("expected a list of {size} here, {over}, found a number");
                self.push(Problem::error("shape", message).at(nested.at));
                return false;
            }
            (Nested::List(_), []) => {
                let help = "there are more lists in lists than parents";
                let problem = Problem::error("shape", "expected a number here, found a list");
                self.push(problem.help(help).at(nested.at));
                return false;
            }
        }
        true
    }

    fn rows(&mut self, rows: &[RowSpec], target: &Target<'_>) -> Option<Vec<f64>> {
        let before = self.errors();
        let what = format!("the table of {}", target.names);
        let mut masks = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(mask) = self.masks(&row.when, target.parents, &target.role) {
                masks.push((mask, row.at));
            }
        }
        if self.errors() > before {
            return None;
        }
        let owners = self.owners(&what, target.parents, &target.space, &masks, target.at);
        let mut mended = Mended::default();
        let mut table = vec![0.0; target.space.len() * target.columns];
        for (r, (row, (masks, _))) in rows.iter().zip(&masks).enumerate() {
            let name = format!("probabilities of {}{}", target.names, self.given(target.parents, masks));
            let Some(filler) = self.outcome(row, masks, &name, target, &mut mended) else { continue };
            let Some(owners) = &owners else { continue };
            each_point(&target.space, masks, |index| {
                if owners[index] == r as u32 {
                    filler.fill(index, &target.space, &mut table[index * target.columns..][..target.columns]);
                }
            });
        }
        self.note_mended(&what, &mended);
        (self.errors() == before).then_some(table)
    }

    /// What a row writes into the combinations it covers.
    fn outcome(
        &mut self,
        row: &RowSpec,
        masks: &[Vec<bool>],
        name: &str,
        target: &Target<'_>,
        mended: &mut Mended,
    ) -> Option<Filler> {
        match &row.outcome {
            Outcome::Probabilities(_) | Outcome::Named(_) | Outcome::Is(_) => {
                let mut fixed = self.plain_outcome(&row.outcome, target.children, name, row.at)?;
                self.distribution(&mut fixed, name, row.at, mended).then_some(Filler::Fixed(fixed))
            }
            Outcome::SameAs(parent) => {
                let (axis, places) = self.follow(parent, masks, target, row.at)?;
                Some(Filler::Moved { axis, places, by: vec![(0, 1.0)] })
            }
            Outcome::Shift { of, by } => {
                let own = target.children.first().filter(|_| target.next).map(|&id| self.name(id).to_owned());
                let parent = match (of, own) {
                    (Some(of), _) => of.clone(),
                    (None, Some(own)) => Located::new(own, row.at),
                    (None, None) => {
                        let message = format!("this row of {} shifts, but does not say relative to what", target.names);
                        let help = "add `of = \"…\"` with one of its parents";
                        self.push(Problem::error("shift-of", message).help(help).at(row.at));
                        return None;
                    }
                };
                let mut probabilities: Vec<f64> = by.iter().map(|&(_, p)| p).collect();
                let good = self.distribution(&mut probabilities, name, row.at, mended);
                let (axis, places) = self.follow(&parent, masks, target, row.at)?;
                let by = by.iter().zip(probabilities).map(|(&(step, _), p)| (step, p)).collect();
                good.then_some(Filler::Moved { axis, places, by })
            }
        }
    }

    /// The probabilities of an outcome that does not look at the parents, not yet checked to sum to 1.
    pub(crate) fn plain_outcome(
        &mut self,
        outcome: &Outcome,
        children: &[VarId],
        name: &str,
        at: Option<At>,
    ) -> Option<Vec<f64>> {
        let columns = super::product(children.iter().map(|&id| self.size(id)))? as usize;
        match outcome {
            Outcome::Probabilities(p) if p.len() == columns => Some(p.clone()),
            Outcome::Probabilities(p) => {
                let s = if columns == 1 { "" } else { "s" };
                let message = format!("expected {columns} number{s} for the {name}, found {}", p.len());
                self.push(Problem::error("shape", message).help("write one for each value, in order").at(at));
                None
            }
            Outcome::Named(named) => {
                let before = self.errors();
                let mut fixed = vec![0.0; columns];
                for (value, p) in named {
                    if let Some(column) = self.column(children, value) {
                        fixed[column] = p.value;
                    }
                }
                (self.errors() == before).then_some(fixed)
            }
            Outcome::Is(value) => {
                let mut fixed = vec![0.0; columns];
                fixed[self.column(children, value)?] = 1.0;
                Some(fixed)
            }
            Outcome::SameAs(_) | Outcome::Shift { .. } => {
                let message = format!("the {name} cannot follow another variable");
                self.push(Problem::error("shift-of", message).help("write probabilities or a value").at(at));
                None
            }
        }
    }

    /// Which column a value (`a`, or `a|b` for joint tables) means.
    pub(crate) fn column(&mut self, children: &[VarId], value: &Located<String>) -> Option<usize> {
        if let [child] = children {
            return self.value(*child, value);
        }
        let parts: Vec<&str> = value.value.split('|').collect();
        if parts.len() != children.len() {
            let names = self.names(children);
            let message = format!("\"{}\" does not give one value for each of {names}", value.value);
            self.push(Problem::error("unknown-value", message).help("join them by `|`").at(value.at));
            return None;
        }
        let mut column = 0;
        for (&child, part) in children.iter().zip(parts) {
            column = column * self.size(child) + self.value(child, &Located::new(part.to_owned(), value.at))?;
        }
        Some(column)
    }

    /// For `same_as` and `shift`: the parent's axis, and for each of its values the place among the child's values.
    fn follow(
        &mut self,
        parent: &Located<String>,
        masks: &[Vec<bool>],
        target: &Target<'_>,
        at: Option<At>,
    ) -> Option<(usize, Vec<usize>)> {
        let &[child] = target.children else {
            let message = "a row of a joint table cannot follow a parent";
            self.push(Problem::error("shift-of", message).help("write probabilities").at(at));
            return None;
        };
        let axis = self.axis(parent, target.parents, &target.role)?;
        let from = &self.variables[target.parents[axis].ix()];
        let to = &self.variables[child.ix()];
        let mut places = vec![0; from.size()];
        for (v, value) in from.values.iter().enumerate().filter(|&(v, _)| masks[axis][v]) {
            match to.values.iter().position(|w| w == value) {
                Some(place) => places[v] = place,
                None => {
                    let message = format!(
                        "\"{}\" cannot follow \"{}\": \"{value}\" is not a value of \"{}\"",
                        to.name, from.name, to.name
                    );
                    let help = "use it only where their values have the same names";
                    self.push(Problem::error("unknown-value", message).help(help).at(at));
                    return None;
                }
            }
        }
        Some((axis, places))
    }

    /// The effects by axis and value: `out[axis][value]` is a list of `width` amounts.
    pub(crate) fn effects(
        &mut self,
        effects: &[Effect],
        parents: &[VarId],
        role: &str,
        width: usize,
    ) -> Option<Vec<Vec<Vec<f64>>>> {
        let before = self.errors();
        let mut out: Vec<Vec<Vec<f64>>> = parents.iter().map(|&id| vec![vec![0.0; width]; self.size(id)]).collect();
        for effect in effects {
            let Some(axis) = self.axis(&effect.parent, parents, role) else { continue };
            let Some(value) = self.value(parents[axis], &effect.value) else { continue };
            let name = format!("the effect of {} = \"{}\"", effect.parent.value, effect.value.value);
            if effect.amounts.len() != width {
                let s = if width == 1 { "" } else { "s" };
                let message = format!("{name} has {} numbers, expected {width} number{s}", effect.amounts.len());
                self.push(Problem::error("shape", message).help("as many as `base` has").at(effect.at));
                continue;
            }
            if effect.amounts.iter().all(|&a| self.finite(a, &name, effect.at)) {
                out[axis][value].clone_from(&effect.amounts);
            }
        }
        (self.errors() == before).then_some(out)
    }

    fn noisy_or(&mut self, leak: &Located<f64>, effects: &[Effect], target: &Target<'_>) -> Option<Vec<f64>> {
        let before = self.errors();
        if target.columns != 2 || target.children.len() != 1 {
            let message = format!("noisy_or needs a variable with two values; {} has {}", target.names, target.columns);
            self.push(Problem::error("not-binary", message).help("use `rows` or `logit`").at(target.at));
        }
        self.unit(leak.value, &format!("the leak of {}", target.names), leak.at.or(target.at));
        let pushes = self.effects(effects, target.parents, &target.role, 1);
        for effect in effects {
            let name = format!("the effect of {} = \"{}\"", effect.parent.value, effect.value.value);
            effect.amounts.iter().filter(|a| a.is_finite()).for_each(|&a| {
                self.unit(a, &name, effect.at);
            });
        }
        let pushes = pushes.filter(|_| self.errors() == before)?;
        let mut table = Vec::with_capacity(target.space.len() * 2);
        for index in 0..target.space.len() {
            let mut off = 1.0 - leak.value;
            for (axis, push) in pushes.iter().enumerate() {
                off *= 1.0 - push[target.space.digit(index, axis)][0];
            }
            table.extend([off, 1.0 - off]);
        }
        Some(table)
    }

    /// A number from 0 to 1, or a problem.
    fn unit(&mut self, number: f64, what: &str, at: Option<At>) {
        if !(0.0..=1.0).contains(&number) {
            let message = format!("{what} is {}, not a number from 0 to 1", number_text(number));
            self.push(Problem::error("not-a-probability", message).at(at));
        }
    }

    fn logit(&mut self, base: &[f64], effects: &[Effect], target: &Target<'_>) -> Option<Vec<f64>> {
        let log_odds = base.len() == 1 && target.columns == 2;
        if target.children.len() != 1 || (base.len() != target.columns && !log_odds) {
            let message =
                format!("`base` has {} numbers for the {} values of {}", base.len(), target.columns, target.names);
            let help = "write one for each value; for two values one number, the log-odds of the second, is enough";
            self.push(Problem::error("shape", message).help(help).at(target.at));
            return None;
        }
        let name = format!("the base of {}", target.names);
        let good = base.iter().all(|&b| self.finite(b, &name, target.at));
        let added = self.effects(effects, target.parents, &target.role, base.len()).filter(|_| good)?;
        let mut table = vec![0.0; target.space.len() * target.columns];
        for (index, row) in table.chunks_exact_mut(target.columns).enumerate() {
            let scores = &mut row[target.columns - base.len()..];
            scores.copy_from_slice(base);
            for (axis, amounts) in added.iter().enumerate() {
                let amounts = &amounts[target.space.digit(index, axis)];
                scores.iter_mut().zip(amounts).for_each(|(s, a)| *s += a);
            }
            softmax(row);
        }
        if table.iter().any(|p| !p.is_finite()) {
            let message = format!("the effects on {} add up to more than numbers can hold", target.names);
            self.push(Problem::error("not-a-number", message).help("use smaller ones").at(target.at));
            return None;
        }
        Some(table)
    }
}

impl Target<'_> {
    /// `probabilities of "opened" given loyalty = "new"`
    pub(crate) fn row_name(&self, given: &str) -> String {
        let next = if self.next { "next " } else { "" };
        let given = if given.is_empty() { String::new() } else { format!(" given {given}") };
        format!("probabilities of {next}{}{given}", self.names)
    }
}

/// What a row writes into the combinations it covers.
enum Filler {
    Fixed(Vec<f64>),
    Moved { axis: usize, places: Vec<usize>, by: Vec<(i64, f64)> },
}

impl Filler {
    fn fill(&self, index: usize, space: &Space, out: &mut [f64]) {
        match self {
            Filler::Fixed(row) => out.copy_from_slice(row),
            Filler::Moved { axis, places, by } => {
                let from = places[space.digit(index, *axis)] as i64;
                for &(step, p) in by {
                    let to = from.saturating_add(step).clamp(0, out.len() as i64 - 1);
                    out[to as usize] += p;
                }
            }
        }
    }
}

/// Scores to probabilities; the greatest is taken off first so that nothing overflows.
fn softmax(row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|s| *s = (*s - most).exp());
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|s| *s /= sum);
}
