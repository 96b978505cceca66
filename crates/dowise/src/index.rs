//! Mixed-radix index spaces: the one place that turns named positions into flat indices and back.

/// A finite product of domains, numbered in row-major order: the first position varies slowest.
///
/// ```
/// use dowise::Space;
/// let space = Space::new(&[2, 3]).unwrap();
/// assert_eq!(space.len(), 6);
/// assert_eq!(space.index(&[1, 2]), 5);
/// assert_eq!(space.digit(5, 0), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    sizes: Vec<usize>,
    strides: Vec<usize>,
    len: usize,
}

impl Space {
    /// A space over domains of these sizes; `None` if the number of points overflows.
    pub fn new(sizes: &[usize]) -> Option<Space> {
        let mut strides = vec![1usize; sizes.len()];
        let mut len = 1usize;
        for i in (0..sizes.len()).rev() {
            strides[i] = len;
            len = len.checked_mul(sizes[i])?;
        }
        Some(Space { sizes: sizes.to_vec(), strides, len })
    }

    /// Number of points.
    #[allow(clippy::len_without_is_empty)] // a space over no domains still has one point
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of domains.
    pub fn n_axes(&self) -> usize {
        self.sizes.len()
    }

    /// Size of each domain.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Distance between neighbouring values of each domain.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Flat index of a point.
    pub fn index(&self, digits: &[usize]) -> usize {
        debug_assert_eq!(digits.len(), self.sizes.len());
        digits.iter().zip(&self.strides).map(|(d, s)| d * s).sum()
    }

    /// Value of one domain at a flat index.
    pub fn digit(&self, index: usize, axis: usize) -> usize {
        index / self.strides[axis] % self.sizes[axis]
    }

    /// All values at a flat index.
    pub fn digits(&self, index: usize) -> Vec<usize> {
        let mut out = vec![0; self.sizes.len()];
        self.digits_into(index, &mut out);
        out
    }

    /// All values at a flat index, written into `out`.
    pub fn digits_into(&self, mut index: usize, out: &mut [usize]) {
        for axis in 0..self.sizes.len() {
            out[axis] = index / self.strides[axis];
            index %= self.strides[axis];
        }
    }
}
