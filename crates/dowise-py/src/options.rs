//! Learners by name with keyword options: `c-ucbvi`, or `c-ucbvi:scale=0.5`, and Python's keywords on top.

use dowise::Preset;
use dowise::learn::LearnerSpec;
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
