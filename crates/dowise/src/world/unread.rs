//! Placeholders for unreadable parts of a specification that were already reported.
//!
//! Validation skips them silently, so that one mistake neither hides nor causes others. Only the file reader writes
//! them, always with an error, so no world contains one.

/// An unreadable number: a NaN that no text produces.
pub(crate) const NUMBER: f64 = f64::from_bits(0x7ff8_0000_0000_5eed);
/// An unreadable name.
pub(crate) const NAME: &str = "\u{0}unread";
/// A variable with this many unreadable values also has an unknown kind.
pub(crate) const KINDLESS: usize = 2;
/// An unreadable horizon.
pub(crate) const HORIZON: u64 = u64::MAX;

/// Whether this is the placeholder, not another NaN.
pub(crate) fn is_unread(number: f64) -> bool {
    number.to_bits() == NUMBER.to_bits()
}
