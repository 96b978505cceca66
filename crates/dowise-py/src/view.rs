//! Shows a world's tables to numpy without copying them; the only unsafe call in the project is here.

use numpy::ndarray::ArrayViewD;
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;

/// A read-only array over numbers that `owner` keeps alive and never changes.
///
/// `numbers` must belong to `owner`: a frozen class whose tables are immutable and never freed before it.
pub(crate) fn shown<'py, T: pyo3::PyClass>(
    owner: &Bound<'py, T>,
    shape: &[usize],
    numbers: &[f64],
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let view = ArrayViewD::from_shape(shape, numbers)
        .map_err(|e| crate::error::array(format!("a table does not have its own shape: {e}")))?;
    // SAFETY: the array holds a reference to `owner`, which is frozen, so the memory outlives the array and is not moved
    // or written to; the array is made read-only before it is returned.
    #[allow(unsafe_code)]
    let array = unsafe { PyArrayDyn::borrow_from_array(&view, owner.clone().into_any()) };
    array
        .try_readwrite()
        .map(numpy::PyReadwriteArray::make_nonwriteable)
        .map_err(|e| crate::error::array(format!("a new table cannot be made read-only: {e}")))?;
    Ok(array)
}
