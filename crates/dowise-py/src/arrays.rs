//! Arrays as users give them: any number type and memory layout in, checked rows of `f64` out.

use dowise::tolerance::STATED_PROBABILITIES;
use numpy::{AllowTypeChange, PyArrayLikeDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::array;

/// Numbers in C order with their shape, and what the user calls them.
pub(crate) struct Numbers {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

impl Numbers {
    /// Reads anything that numpy takes for an array of real numbers.
    pub(crate) fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Numbers> {
        if let Ok(untyped) = given.cast::<PyUntypedArray>() {
            let kind = untyped.dtype().getattr("kind")?.extract::<char>()?;
            if !"fiub".contains(kind) {
                let dtype = untyped.dtype();
                return Err(array(format!("{name} holds {dtype}, expected real numbers such as float64")));
            }
        }
        if let Ok(mask) = given.getattr("mask")
            && mask.call_method0("any").and_then(|any| any.is_truthy()).unwrap_or(false)
        {
            return Err(array(format!("{name} is a masked array, expected numbers everywhere; fill what is masked")));
        }
        if given.is_none() {
            return Err(array(format!("{name} is None, expected an array of real numbers")));
        }
        let read: PyArrayLikeDyn<'_, f64, AllowTypeChange> = given.extract().map_err(|_| {
            let kind = given.get_type().name().map_or("this".to_owned(), |n| n.to_string());
            array(format!("{name} is not an array of real numbers (it is a {kind})"))
        })?;
        let view = read.as_array();
        let values = match view.as_slice() {
            Some(slice) => slice.to_vec(),
            None => view.iter().copied().collect(),
        };
        Ok(Numbers { name: name.to_owned(), shape: view.shape().to_vec(), values })
    }

    /// Fails unless the shape is one of these; `axes` says what the first one means.
    pub(crate) fn expect(&self, shapes: &[&[usize]], axes: &str) -> PyResult<()> {
        if shapes.contains(&self.shape.as_slice()) {
            return Ok(());
        }
        let mut wanted: Vec<String> = shapes.iter().map(|s| tuple(s)).collect();
        wanted.dedup();
        Err(array(format!(
            "{} has shape {}, expected {} for [{axes}]",
            self.name,
            tuple(&self.shape),
            wanted.join(" or ")
        )))
    }

    /// Fails at the first number that is not finite.
    pub(crate) fn finite(&self) -> PyResult<()> {
        match self.values.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(i) => {
                Err(array(format!("{}{} is {}, expected a finite number", self.name, self.at(i), self.values[i])))
            }
        }
    }

    /// Fails at the first row (last `columns` numbers) that is no probability distribution.
    pub(crate) fn rows(&self, columns: usize) -> PyResult<()> {
        for (r, row) in self.values.chunks_exact(columns.max(1)).enumerate() {
            if let Some(i) = row.iter().position(|p| !p.is_finite() || *p < 0.0) {
                let at = self.at(r * columns + i);
                return Err(array(format!("{}{at} is {}, expected a probability from 0 to 1", self.name, row[i])));
            }
            let sum: f64 = row.iter().sum();
            if (sum - 1.0).abs() > STATED_PROBABILITIES {
                let at = self.row_at(r * columns, columns);
                let sum = (sum * 1e9).round() / 1e9;
                return Err(array(format!(
                    "{}{at} sums to {sum}, expected 1 (up to {STATED_PROBABILITIES:e})",
                    self.name
                )));
            }
        }
        Ok(())
    }

    /// `[3, 1, 0]`: the place of a number.
    pub(crate) fn at(&self, index: usize) -> String {
        let digits = self.digits(index).iter().map(ToString::to_string).collect::<Vec<_>>();
        format!("[{}]", digits.join(", "))
    }

    /// `[3, 1, :]`: the place of a row that begins at a number and covers the last axes.
    fn row_at(&self, index: usize, columns: usize) -> String {
        let mut left = columns;
        let mut digits: Vec<String> = self.digits(index).iter().map(ToString::to_string).collect();
        for (digit, size) in digits.iter_mut().zip(&self.shape).rev() {
            if left <= 1 {
                break;
            }
            *digit = ":".to_owned();
            left /= size.max(&1);
        }
        format!("[{}]", digits.join(", "))
    }

    fn digits(&self, mut index: usize) -> Vec<usize> {
        let mut digits = vec![0; self.shape.len()];
        for (digit, size) in digits.iter_mut().zip(&self.shape).rev() {
            *digit = index % size.max(&1);
            index /= size.max(&1);
        }
        digits
    }
}

/// A shape as Python writes it.
pub(crate) fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Variables as `{name: number of values or their names}`, in order.
pub(crate) fn variables(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Vec<String>)>> {
    let wrong = || {
        array(format!("{what} is not a dict of names with a number of values or their names, such as {{\"mood\": 2}}"))
    };
    let items = given.call_method0("items").map_err(|_| wrong())?;
    let mut out = Vec::new();
    for item in items.try_iter()? {
        let (name, values): (String, Bound<'_, PyAny>) = item?.extract().map_err(|_| wrong())?;
        let values = match values.extract::<usize>() {
            Ok(0) => return Err(array(format!("{what}[\"{name}\"] has 0 values, expected at least 1"))),
            Ok(n) => (0..n).map(|i| i.to_string()).collect(),
            Err(_) if values.is_instance_of::<PyString>() => return Err(wrong()),
            Err(_) => values
                .try_iter()
                .map_err(|_| wrong())?
                .map(|v| v.and_then(|v| v.str()).map(|v| v.to_string()))
                .collect::<PyResult<Vec<_>>>()?,
        };
        out.push((name, values));
    }
    Ok(out)
}
