//! Checks how a mechanism is to be learned.

use super::check::{Check, number_text};
use super::forms::Target;
use crate::world::{Assumed, Form, LearnSpec, LearnedForm, Located, MechanismSpec, Problem, nearest};

/// Largest standard deviation and weight of a prior: far beyond what is of use, and far from what overflows.
const MOST: f64 = 1e6;
/// Least one: below, squares and their inverses leave what numbers can hold, and a fit would stay where it began.
const LEAST: f64 = 1e-6;

impl Check {
    /// What learners assume of a mechanism.
    pub(crate) fn assumed(&mut self, spec: &MechanismSpec, target: &Target<'_>) -> Option<Assumed> {
        let before = self.errors();
        let as_written = match &spec.form {
            Form::Logit { .. } => LearnedForm::Logit { interactions: Vec::new() },
            Form::NoisyOr { .. } => LearnedForm::NoisyOr,
            Form::Unknown | Form::Table(_) | Form::Nested(_) | Form::Grid(_) | Form::Rows(_) => LearnedForm::Table,
        };
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
                return None;
            }
        };
        if form == LearnedForm::NoisyOr && target.columns != 2 {
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
        if let Some(sd) = &learn.sd {
            self.positive(sd, "sd", &format!("the prior of {} is not proper", target.names), learn);
            if form == LearnedForm::Table {
                let message = format!("{} is learned as a table, whose prior has no `sd`", target.names);
                let help = "a guess with a `weight` in visits is a table's prior";
                self.push(Problem::error("unknown-key", message).help(help).at(sd.at.or(learn.at)));
            }
        }
        if let Some(weight) = &learn.weight {
            self.positive(weight, "weight", &format!("the guess for {} is worth nothing", target.names), learn);
            if matches!(spec.form, Form::Unknown) {
                let message = format!("{} has a `weight` but no numbers that could be worth it", target.names);
                let help = "write the guess as `p`, `rows`, `logit` or `noisy_or`, or leave `weight` out";
                self.push(Problem::error("no-guess", message).help(help).at(weight.at.or(learn.at)));
            }
        }
        if learn.told && learn.weight.is_some() {
            let message = format!("the numbers of {} are told and a guess at the same time", target.names);
            self.push(Problem::error("two-forms", message).help("leave out `told` or `weight`").at(learn.at));
        }
        let number = |given: &Option<Located<f64>>| given.as_ref().map(|g| g.value);
        let assumed =
            Assumed { form, sd: number(&learn.sd), weight: number(&learn.weight), guess: None, learned: !learn.told };
        (self.errors() == before).then_some(assumed)
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

    fn positive(&mut self, number: &Located<f64>, key: &str, else_: &str, learn: &LearnSpec) {
        if !(LEAST..=MOST).contains(&number.value) {
            let message = format!("`{key}` is {}: {else_}", number_text(number.value));
            let problem = Problem::error("not-a-prior", message).help("write a number from 1e-6 to 1e6");
            self.push(problem.at(number.at.or(learn.at)));
        }
    }
}
