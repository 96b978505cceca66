//! What stands in a statement for something that could not be read and has been reported.
//!
//! Checks pass over it in silence, so that one mistake does not hide the next and brings no others with it. Only the reader of files
//! writes these, and never without an error, so that no world has one.

/// A number that could not be read: a NaN that no text stands for.
pub(crate) const NUMBER: f64 = f64::from_bits(0x7ff8_0000_0000_5eed);
/// A name that could not be read.
pub(crate) const NAME: &str = "\u{0}unread";
/// A variable with this many values that could not be read is one whose kind is not known either.
pub(crate) const KINDLESS: usize = 2;
/// A horizon that could not be read.
pub(crate) const HORIZON: u64 = u64::MAX;

/// Whether this is the number that could not be read, and not any other NaN.
pub(crate) fn is_unread(number: f64) -> bool {
    number.to_bits() == NUMBER.to_bits()
}
