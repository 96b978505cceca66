//! Learners by name with keyword options: `c-ucbvi`, or `c-ucbvi:scale=0.5`, and Python's keywords on top.

use dowise::learn::{Estimate, LearnerSpec};
use dowise::linear::{Beta, LinearOptions, LinearPreset};
use dowise::{Options, Preset};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::error::Raise;

/// Keywords as (name, value) texts: `stage_dependent=True` is `stage-dependent=true`.
pub(crate) fn pairs(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(keywords) = keywords else { return Ok(Vec::new()) };
    keywords
        .iter()
        .map(|(key, value)| {
            let text = match value.cast::<PyBool>() {
                Ok(flag) => flag.is_true().to_string(),
                Err(_) => value.str()?.to_string(),
            };
            Ok((key.extract::<String>()?, text))
        })
        .collect()
}

/// A learner from its text and the keywords that change it.
pub(crate) fn spec(text: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<LearnerSpec> {
    let mut text = text.to_owned();
    for (i, (key, value)) in pairs(keywords)?.into_iter().enumerate() {
        text.push(if i == 0 && !text.contains(':') { ':' } else { ',' });
        text.push_str(&format!("{}={value}", key.replace('_', "-")));
    }
    text.parse().map_err(Raise::raise)
}

/// Names of the learners and of their options, each with what it means: `{"learners": {...}, "options": {...}}`.
#[pyfunction]
pub(crate) fn learners(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    for preset in Preset::all() {
        names.set_item(preset.name(), preset.about())?;
    }
    let options = PyDict::new(py);
    for (name, values, about) in LearnerSpec::describe_options() {
        options.set_item(name.replace('-', "_"), format!("{about}: {values}"))?;
    }
    let out = PyDict::new(py);
    out.set_item("learners", names)?;
    out.set_item("options", options)?;
    Ok(out)
}

/// The name of the preset that sees the world and estimates in the same way as a learner.
pub(crate) fn preset_of(learner: &dowise::Learner) -> &'static str {
    match (learner.options(), learner.as_linear()) {
        (Some(options), _) => {
            let kind = |o: &Options| {
                let optimistic = matches!(o.estimate, Estimate::Width(_) | Estimate::Sets(_));
                // Sets and widths are two ways of being optimistic; all others are distinguished.
                (o.states, o.causes, (!optimistic).then_some(std::mem::discriminant(&o.estimate)))
            };
            let same = |p: &&Preset| p.linear().is_none() && kind(&p.options(1, 0)) == kind(options);
            Preset::all().iter().find(same).map_or("restored", Preset::name)
        }
        (None, Some(linear)) => {
            // Samplers are distinguished by where their noise comes from.
            let by_residuals = |o: &LinearOptions| o.beta == Beta::Residuals;
            let kind = |o: &LinearOptions| (o.regression, o.estimate, by_residuals(o));
            let same = |p: &&LinearPreset| kind(&p.options(1, 0)) == kind(linear.options());
            LinearPreset::all().iter().find(same).map_or("restored", LinearPreset::name)
        }
        (None, None) => "restored",
    }
}
