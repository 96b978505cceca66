//! Validates the learning options of a mechanism.

use std::ops::RangeInclusive;

use super::check::Check;
use super::forms::Target;
use crate::messages::{nearest, number_text};
use crate::world::{Assumed, Form, LearnSpec, LearnedForm, Located, MechanismSpec, Outcome, Problem, RowSpec, Written};

/// Permitted prior standard deviations of log-odds. Below, data has no influence; above, the prior vanishes in
/// rounding, and effects that only occur together have no proper posterior.
const SDS: RangeInclusive<f64> = 1e-4..=100.0;
/// Permitted prior weights of a guess, in visits.
const WEIGHTS: RangeInclusive<f64> = 1e-6..=1e6;

impl Check {
    /// The assumptions of learners about a mechanism.
    pub(crate) fn assumed(&mut self, spec: &MechanismSpec, target: &Target<'_>) -> Option<Assumed> {
        let before = self.errors();
        let is_infinite = |amount: &Written<f64>| amount.get().is_some_and(|amount| amount.is_infinite());
        let as_written = match &spec.form {
            // An infinite amount has no learnable effect, so each row is learned separately.
            Form::Logit { base, effects }
                if base.iter().chain(effects.iter().flat_map(|e| &e.amounts)).any(is_infinite) =>
            {
                LearnedForm::Table
            }
            Form::Logit { .. } => LearnedForm::Logit { interactions: Vec::new() },
            Form::NoisyOr { .. } => LearnedForm::NoisyOr,
            Form::Unknown | Form::LowRank | Form::Table(_) | Form::Nested(_) | Form::Grid(_) | Form::Rows(_) => {
                LearnedForm::Table
            }
        };
        let names_form = spec.learn.as_ref().is_some_and(|learn| learn.form.is_some());
        if let (Form::Rows(rows), true, false) = (&spec.form, target.sound, names_form) {
            self.note_form_in_rows(rows, spec, target);
        }
        let Some(learn) = &spec.learn else { return Some(Assumed { form: as_written, ..Assumed::default() }) };
        let mut form = match learn.form.as_ref().map(|f| f.value.as_str()) {
            None => as_written,
            Some("table") => LearnedForm::Table,
            Some("logit") => LearnedForm::Logit { interactions: Vec::new() },
            Some("noisy_or" | "noisy-or") => LearnedForm::NoisyOr,
            Some(other) => {
                let words = ["table", "logit", "noisy_or"];
                let meant =
                    nearest(other, words.into_iter()).map_or(String::new(), |w| format!(" (did you mean \"{w}\"?)"));
                let message = format!("\"{other}\" is not a form in which {} can be learned{meant}", target.names);
                let problem =
                    Problem::error("unknown-form", message).help("write \"table\", \"logit\" or \"noisy_or\"");
                self.push(problem.at(learn.form.as_ref().and_then(|f| f.at)));
                self.prior_numbers(learn, target);
                return None;
            }
        };
        if form == LearnedForm::NoisyOr && target.columns != 2 && !target.open_child(self) {
            let message = format!("noisy_or needs a variable with two values; {} has {}", target.names, target.columns);
            self.push(Problem::error("not-binary", message).help("learn it as \"logit\" or \"table\"").at(learn.at));
        }
        if target.children.len() > 1 && form != LearnedForm::Table {
            let message = format!("{} are decided together, so they are learned as a table", target.names);
            self.push(Problem::error("unknown-form", message).help("leave `form` out").at(learn.at));
        }
        let named = self.interactions(learn, target);
        match &mut form {
            LearnedForm::Logit { interactions } => *interactions = named,
            LearnedForm::Table | LearnedForm::NoisyOr if !learn.interactions.is_empty() => {
                let message = format!("{} is learned as \"{}\", which has no interactions", target.names, form.word());
                let help = "they belong to form = \"logit\"; a \"table\" has all of them";
                self.push(Problem::error("unknown-key", message).help(help).at(learn.at));
            }
            LearnedForm::Table | LearnedForm::NoisyOr => {}
        }
        self.prior_numbers(learn, target);
        if let Some(sd) = learn.sd.as_ref().filter(|_| form == LearnedForm::Table) {
            let message = format!("{} is learned as a table, whose prior has no `sd`", target.names);
            let help = "a guess with a `weight` in visits is a table's prior";
            self.push(Problem::error("unknown-key", message).help(help).at(sd.at.or(learn.at)));
        }
        if let Some(weight) = learn.weight.as_ref().filter(|_| matches!(spec.form, Form::Unknown)) {
            let message = format!("{} has a `weight` but no numbers that could be worth it", target.names);
            let help = "write the guess as `p`, `rows`, `logit` or `noisy_or`, or leave `weight` out";
            self.push(Problem::error("no-guess", message).help(help).at(weight.at.or(learn.at)));
        }
        if learn.known && learn.weight.is_some() {
            let message = format!("the numbers of {} are known and a guess at the same time", target.names);
            self.push(Problem::error("two-forms", message).help("leave out `known` or `weight`").at(learn.at));
        }
        let number = |given: &Option<Located<f64>>| given.as_ref().map(|g| g.value);
        let assumed =
            Assumed { form, sd: number(&learn.sd), weight: number(&learn.weight), guess: None, learned: !learn.known };
        (self.errors() == before).then_some(assumed)
    }

    /// A form in some rows only is not learned as such: the whole table is, row by row.
    fn note_form_in_rows(&mut self, rows: &[RowSpec], spec: &MechanismSpec, target: &Target<'_>) {
        let form = rows.iter().find_map(|row| match &row.outcome {
            Outcome::Form(form) => Some(match **form {
                Form::NoisyOr { .. } => "noisy_or",
                _ => "logit",
            }),
            _ => None,
        });
        let (Some(form), false) = (form, target.next) else { return };
        let message = format!(
            "only some rows of {} are a `{form}`, so where its numbers are not known it is learned as a table, each combination of its parents by itself",
            target.names
        );
        let help = format!("`learn = {{ form = \"{form}\", known = true }}` lets effects add up over all rows instead");
        self.push(Problem::note("learned-as-table", message).help(help).at(spec.at));
    }

    fn prior_numbers(&mut self, learn: &LearnSpec, target: &Target<'_>) {
        if let Some(sd) = &learn.sd {
            self.prior_number(sd, "sd", SDS, &format!("that is no prior for {}", target.names), learn);
        }
        if let Some(weight) = &learn.weight {
            let else_ = format!("the guess for {} cannot be worth that", target.names);
            self.prior_number(weight, "weight", WEIGHTS, &else_, learn);
        }
    }

    fn interactions(&mut self, learn: &LearnSpec, target: &Target<'_>) -> Vec<Vec<usize>> {
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for names in &learn.interactions {
            let mut set: Vec<usize> =
                names.iter().filter_map(|name| self.axis(name, target.parents, &target.role)).collect();
            set.sort_unstable();
            let at = names.first().and_then(|n| n.at).or(learn.at);
            if set.len() == names.len() && (set.len() < 2 || set.windows(2).any(|w| w[0] == w[1])) {
                let message = format!("an interaction of {} names fewer than two different parents", target.names);
                self.push(Problem::error("interaction", message).help("such as [[\"price\", \"tone\"]]").at(at));
            } else if sets.contains(&set) {
                let message = format!("an interaction of {} is named twice", target.names);
                self.push(Problem::error("interaction", message).help("keep one of them").at(at));
            }
            sets.push(set);
        }
        sets
    }

    fn prior_number(
        &mut self,
        number: &Located<f64>,
        key: &str,
        range: RangeInclusive<f64>,
        else_: &str,
        learn: &LearnSpec,
    ) {
        if !range.contains(&number.value) {
            let message = format!("`{key}` is {}: {else_}", number_text(number.value));
            let ends = [range.start(), range.end()].map(|&end| number_text(end));
            let help = format!("write a number from {} to {}", ends[0], ends[1]);
            self.push(Problem::error("not-a-prior", message).help(help).at(number.at.or(learn.at)));
        }
    }
}
