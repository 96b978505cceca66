//! `--learner help`: the learners and their options.

use dowise::{LearnerSpec, Preset};
use serde::Serialize;

use crate::output::{Failure, Output, Status};
use crate::table::{self, Align};

/// Prints the learners and their options.
pub(in crate::commands) fn list_learners(json: bool, output: &Output) -> Result<Status, Failure> {
    if json {
        output.json(&Learners::new())?;
    } else {
        output.data(text(output))?;
    }
    Ok(Status::Fine)
}

/// The learners and their options, as JSON.
#[derive(Serialize)]
struct Learners {
    schema: &'static str,
    learners: Vec<Described>,
    options: Vec<DescribedOption>,
}

#[derive(Serialize)]
struct Described {
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct DescribedOption {
    name: &'static str,
    values: String,
    about: &'static str,
}

impl Learners {
    fn new() -> Learners {
        let options = LearnerSpec::describe_options().into_iter();
        Learners {
            schema: "dowise-learners/1",
            learners: Preset::all().iter().map(|p| Described { name: p.name(), about: p.about() }).collect(),
            options: options.map(|(name, values, about)| DescribedOption { name, values, about }).collect(),
        }
    }
}

/// The learners and their options, for people.
fn text(output: &Output) -> String {
    let rows: Vec<Vec<String>> =
        Preset::all().iter().map(|p| vec![p.name().to_owned(), p.about().to_owned()]).collect();
    let mut text = table::table(&["learner", ""], &rows, &[Align::Left, Align::Left]);
    let rows: Vec<Vec<String>> = LearnerSpec::describe_options()
        .into_iter()
        .map(|(name, values, about)| vec![name.to_owned(), values, about.to_owned()])
        .collect();
    text += &format!("\n{}\n", output.heading("Options, as in c-ucbvi:width=paper-plain,scale=0.002"));
    text += &table::table(&["option", "values", ""], &rows, &[Align::Left, Align::Left, Align::Left]);
    text
}
