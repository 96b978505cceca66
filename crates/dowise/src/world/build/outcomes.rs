//! Mechanisms written as rows of conditions and outcomes, compiled to a table.

use super::check::Check;
use super::distribution::Mended;
use super::forms::Target;
use super::rows::{Masks, Rule};
use crate::Space;
use crate::world::{At, Form, Located, Name, Outcome, Problem, RowSpec, VarId, Written};

impl Check {
    pub(crate) fn rows(&mut self, rows: &[RowSpec], target: &Target<'_>) -> Option<Vec<f64>> {
        let before = self.errors();
        let what = format!("the table of {}", target.names);
        let rules: Vec<Option<Rule>> =
            rows.iter().map(|row| self.rule(&row.when, target.parents, &target.role)).collect();
        // Coverage can be determined only if every condition is valid.
        let sound: Option<Vec<(Rule, Option<At>)>> =
            rows.iter().zip(&rules).map(|(row, rule)| Some((rule.clone()?, row.at))).collect();
        let sound = sound.filter(|_| target.sound);
        let owners = sound.and_then(|rules| self.owners(&what, target.parents, &target.space, &rules, target.at));
        let conditions_hold = target.sound && rules.iter().all(Option::is_some);
        let mut mended = Mended::default();
        let mut table = vec![0.0; target.space.len() * target.columns];
        for (r, (row, rule)) in rows.iter().zip(&rules).enumerate() {
            let given = rule.as_ref().map_or(String::new(), |rule| self.given(target.parents, &rule.masks));
            let name = target.row_name(&given);
            let met = match (&row.outcome, &owners, rule) {
                (Outcome::SameAs(_) | Outcome::Shift { .. }, Some(owners), Some(rule)) => {
                    met(&target.space, rule, owners, r as u32)
                }
                (_, _, Some(rule)) if conditions_hold => rule.masks.clone(),
                // The row's configurations are unknown, so nothing is reported about following a parent there.
                (_, _, _) => target.parents.iter().map(|&id| vec![false; self.size(id)]).collect(),
            };
            let Some(filler) = self.outcome(row, &met, &name, target, &mut mended) else { continue };
            let (Some(owners), Some(rule)) = (&owners, rule) else { continue };
            rule.each(&target.space, |index| {
                if owners[index] == r as u32 {
                    filler.fill(index, &target.space, &mut table[index * target.columns..][..target.columns]);
                }
            });
        }
        self.note_mended(&what, &mended);
        (self.errors() == before).then_some(table)
    }

    /// The distribution that a row writes into the configurations it covers.
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
                let fixed = self.plain_outcome(&row.outcome, target.children, name, row.at)?;
                self.written_distribution(&fixed, |_| name.to_owned(), row.at, mended).map(Filler::Fixed)
            }
            Outcome::SameAs(parent) => {
                let (axis, places) = self.follow(parent, masks, target, row.at)?;
                Some(Filler::Moved { axis, places, by: vec![(0, 1.0)] })
            }
            Outcome::Shift { of, by } => {
                let own = target.children.first().filter(|_| target.next).map(|&id| self.name(id).to_owned());
                let parent = match (of, own) {
                    (Some(of), _) => of.clone(),
                    (None, Some(own)) => Name::of(Some(own), row.at),
                    (None, None) => {
                        let message = format!("this row of {} shifts, but does not say relative to what", target.names);
                        let help = "add `of = \"…\"` with one of its parents";
                        self.push(Problem::error("shift-of", message).help(help).at(row.at));
                        return None;
                    }
                };
                let probabilities: Vec<Written<f64>> = by.iter().map(|&(_, p)| p).collect();
                let probabilities = self.written_distribution(&probabilities, |_| name.to_owned(), row.at, mended);
                let (axis, places) = self.follow(&parent, masks, target, row.at)?;
                let by = by.iter().zip(probabilities?).map(|(&(step, _), p)| (step, p)).collect();
                Some(Filler::Moved { axis, places, by })
            }
            Outcome::Form(form) => match &**form {
                Form::NoisyOr { leak, effects } => self.noisy_or(leak, effects, target).map(Filler::Whole),
                Form::Logit { base, effects } => self.logit(base, effects, target).map(Filler::Whole),
                Form::Unknown | Form::LowRank | Form::Table(_) | Form::Nested(_) | Form::Grid(_) | Form::Rows(_) => {
                    let message = format!("a row of {} has a form that rows cannot have", target.names);
                    let help = "probabilities, a value, `same_as`, `shift`, `logit` or `noisy_or`";
                    self.push(Problem::error("two-forms", message).help(help).at(row.at));
                    None
                }
            },
        }
    }

    /// The probabilities of an outcome independent of the parents, as written.
    pub(crate) fn plain_outcome(
        &mut self,
        outcome: &Outcome,
        children: &[VarId],
        name: &str,
        at: Option<At>,
    ) -> Option<Vec<Written<f64>>> {
        let columns = super::product(children.iter().map(|&id| self.size(id)))? as usize;
        match outcome {
            Outcome::Probabilities(p) if p.len() == columns => Some(p.clone()),
            Outcome::Probabilities(p) if matches!(&p[..], [one] if one.get().is_none()) => {
                self.pass_over();
                None
            }
            // The expected number is unknown, but the sum can be checked.
            Outcome::Probabilities(p) if children.iter().any(|id| self.open.contains(id)) => {
                self.pass_over();
                Some(p.clone())
            }
            Outcome::Probabilities(p) => {
                let s = if columns == 1 { "" } else { "s" };
                let message = format!("expected {columns} number{s} for the {name}, found {}", p.len());
                self.push(Problem::error("shape", message).help("write one for each value, in order").at(at));
                None
            }
            Outcome::Named(named) => {
                let before = self.errors();
                let mut fixed = vec![Written::from(0.0); columns];
                for (value, p) in named {
                    let value = self.read_at(value);
                    if let Some(column) = value.and_then(|value| self.column(children, &value)) {
                        fixed[column] = p.value;
                    }
                }
                // A wrong name still has its probability.
                if self.errors() > before {
                    let all: Vec<Written<f64>> = named.iter().map(|(_, p)| p.value).collect();
                    self.written_distribution(&all, |_| name.to_owned(), at, &mut Mended::default());
                    return None;
                }
                Some(fixed)
            }
            Outcome::Is(value) => {
                let mut fixed = vec![Written::from(0.0); columns];
                let value = self.read_at(value)?;
                fixed[self.column(children, &value)?] = 1.0.into();
                Some(fixed)
            }
            Outcome::SameAs(_) | Outcome::Shift { .. } | Outcome::Form(_) => {
                let message = format!("the {name} cannot follow another variable");
                self.push(Problem::error("shift-of", message).help("write probabilities or a value").at(at));
                None
            }
        }
    }

    /// The column of a value (`a`, or `a|b` for joint tables).
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

    /// For `same_as` and `shift`: the parent's axis, and for each of its values the position among the child's values.
    fn follow(
        &mut self,
        parent: &Name,
        masks: &[Vec<bool>],
        target: &Target<'_>,
        at: Option<At>,
    ) -> Option<(usize, Vec<usize>)> {
        let &[child] = target.children else {
            let message = "a row of a joint table cannot follow a parent";
            self.push(Problem::error("shift-of", message).help("write probabilities").at(at));
            return None;
        };
        let parent = self.read_at(parent)?;
        let axis = self.axis(&parent, target.parents, &target.role)?;
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
}

/// The values of each parent that a row applies to: those not covered by earlier rows.
fn met(space: &Space, rule: &Rule, owners: &[u32], row: u32) -> Masks {
    let mut met: Masks = rule.masks.iter().map(|m| vec![false; m.len()]).collect();
    rule.each(space, |index| {
        if owners[index] == row {
            met.iter_mut().enumerate().for_each(|(axis, m)| m[space.digit(index, axis)] = true);
        }
    });
    met
}

/// The distribution that a row writes into the configurations it covers.
enum Filler {
    Fixed(Vec<f64>),
    Moved {
        axis: usize,
        places: Vec<usize>,
        by: Vec<(i64, f64)>,
    },
    /// A whole table, of which only covered rows are used.
    Whole(Vec<f64>),
}

impl Filler {
    fn fill(&self, index: usize, space: &Space, out: &mut [f64]) {
        match self {
            Filler::Fixed(row) => out.copy_from_slice(row),
            Filler::Whole(table) => out.copy_from_slice(&table[index * out.len()..][..out.len()]),
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
