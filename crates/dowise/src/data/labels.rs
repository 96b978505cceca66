//! Label parsing: maps the cells of one column to values without allocation.

use std::collections::HashMap;

use super::map::ColumnMap;
use crate::world::Variable;

/// Number of labels compared linearly; more are hashed.
const FEW: usize = 16;
/// Maximum number of cached spellings, such as `20.0` for `20`.
const MOST_SPELLINGS: usize = 64;

/// The meaning of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Value(u32),
    Missing,
    Unknown,
}

/// The labels of one column.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    few: Vec<(Box<[u8]>, Option<u32>)>,
    many: HashMap<Box<[u8]>, Option<u32>>,
    /// Numeric labels, for other spellings of the same number.
    numbers: Vec<(f64, u32)>,
    spellings: Vec<(Box<[u8]>, u32)>,
    /// Whether numbers use a decimal comma.
    comma: bool,
    /// Bins: a number in the i-th interval has the i-th value.
    bins: Option<(Vec<f64>, Vec<u32>)>,
}

impl Labels {
    /// The labels of a variable, extended by a map.
    pub(super) fn new(variable: &Variable, map: Option<&ColumnMap>) -> Labels {
        Labels::of(&variable.values.iter().map(String::as_str).collect::<Vec<_>>(), map)
    }

    /// Labels by their values in order.
    pub(super) fn of(values: &[&str], map: Option<&ColumnMap>) -> Labels {
        let position = |label: &str| values.iter().position(|v| *v == label).map(|i| i as u32);
        let mut all: Vec<(Box<[u8]>, Option<u32>)> = Vec::new();
        // The map has precedence over the names of the world: it may swap two of them.
        for (label, value) in map.iter().flat_map(|m| &m.values) {
            all.push((label.as_bytes().into(), value.as_deref().and_then(position)));
        }
        // With bins, a number is cut, also one that looks like the name of a value: days 1, 2, 3 are not weeks 1, 2, 3.
        let has_bins = map.is_some_and(|m| m.bins.is_some());
        for (i, value) in values.iter().enumerate() {
            if has_bins && [false, true].iter().any(|&comma| number(value.as_bytes(), comma).is_some()) {
                continue;
            }
            if !all.iter().take(map.map_or(0, |m| m.values.len())).any(|(label, _)| **label == *value.as_bytes()) {
                all.push((value.as_bytes().into(), Some(i as u32)));
            }
        }
        let number = |(label, value): &(Box<[u8]>, Option<u32>)| Some((number(label, false)?, (*value)?));
        let mut numbers: Vec<(f64, u32)> = all.iter().filter_map(number).collect();
        // Two values that are the same number are distinguished by spelling only.
        let repeated = |x: f64, all: &[(f64, u32)]| all.iter().filter(|(y, _)| *y == x).count() > 1;
        let unique = numbers.clone();
        numbers.retain(|(x, _)| !repeated(*x, &unique));
        let bins = map.and_then(|m| m.bins.as_ref()).map(|bins| {
            let targets = bins.labels.iter().map(|label| position(label));
            (bins.edges.clone(), targets.map(|t| t.expect("invariant: a map was checked against its world")).collect())
        });
        let (few, many) =
            if all.len() <= FEW { (all, HashMap::new()) } else { (Vec::new(), all.into_iter().collect()) };
        Labels { few, many, numbers, spellings: Vec::new(), comma: false, bins }
    }

    /// Sets whether numbers use a decimal comma.
    pub(super) fn with_comma(self, comma: bool) -> Labels {
        Labels { comma, ..self }
    }

    /// Whether numbers are cut into bins.
    pub(super) fn has_bins(&self) -> bool {
        self.bins.is_some()
    }

    /// The known labels, for suggestions.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.few.iter().map(|(label, _)| label).filter_map(|label| std::str::from_utf8(label).ok())
    }

    /// Parses a non-empty cell.
    #[inline]
    pub(super) fn read(&mut self, cell: &[u8]) -> Said {
        // Most labels differ in length or first byte, which is a cheap comparison.
        let same = |label: &[u8]| label.len() == cell.len() && label.first() == cell.first() && label == cell;
        match self.few.iter().find(|(label, _)| same(label)) {
            Some((_, Some(value))) => Said::Value(*value),
            Some((_, None)) => Said::Missing,
            None => self.read_slowly(cell),
        }
    }

    #[inline(never)]
    fn read_slowly(&mut self, cell: &[u8]) -> Said {
        if let Some(value) = self.many.get(cell) {
            return value.map_or(Said::Missing, Said::Value);
        }
        if let Some((_, value)) = self.spellings.iter().find(|(spelling, _)| **spelling == *cell) {
            return Said::Value(*value);
        }
        let trimmed = cell.trim_ascii();
        if trimmed.len() < cell.len() {
            return if trimmed.is_empty() { Said::Missing } else { self.read(trimmed) };
        }
        let Some(x) = number(cell, self.comma) else { return Said::Unknown };
        if let Some((edges, targets)) = &self.bins {
            return Said::Value(targets[edges.partition_point(|edge| *edge <= x)]);
        }
        let Some(&(_, value)) = self.numbers.iter().find(|(y, _)| *y == x) else { return Said::Unknown };
        if self.spellings.len() < MOST_SPELLINGS {
            self.spellings.push((cell.into(), value));
        }
        Said::Value(value)
    }
}

/// A finite number with a decimal point or comma.
pub(super) fn number(cell: &[u8], comma: bool) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    if comma {
        // A point would then group digits or contradict the declared comma; either is rejected.
        let pointed = text.replacen(',', ".", 1);
        return pointed.parse::<f64>().ok().filter(|x| x.is_finite() && !text.contains('.'));
    }
    text.parse::<f64>().ok().filter(|x| x.is_finite())
}

/// Cache of parsed numbers: logs repeat a few of them, and comparing bytes is faster than parsing.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    known: Vec<(u8, [u8; LONGEST], f64)>,
    comma: bool,
}

/// Maximum length of a cached number.
const LONGEST: usize = 23;
/// Number of cache slots; the bytes determine the slot.
const REMEMBERED: usize = 32;

impl Numbers {
    pub(super) fn new(comma: bool) -> Numbers {
        Numbers { known: vec![(0, [0; LONGEST], 0.0); REMEMBERED], comma }
    }

    /// [`number`] of a non-empty cell.
    #[inline]
    pub(super) fn read(&mut self, cell: &[u8]) -> Option<f64> {
        let n = cell.len();
        if n > LONGEST {
            return number(cell, self.comma);
        }
        let place = usize::from(cell[n - 1]) ^ (usize::from(cell[n / 2]) << 1) ^ n;
        let (length, bytes, value) = &mut self.known[place % REMEMBERED];
        if usize::from(*length) == n && bytes[..n] == *cell {
            return Some(*value);
        }
        let x = number(cell, self.comma)?;
        *length = n as u8;
        bytes[..n].copy_from_slice(cell);
        *value = x;
        Some(x)
    }
}

/// An integer, also with a decimal point and zeros.
pub(super) fn whole(cell: &[u8]) -> Option<i64> {
    if cell.len() <= 18 && !cell.is_empty() && cell.iter().all(u8::is_ascii_digit) {
        return Some(cell.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')));
    }
    if let Ok(text) = std::str::from_utf8(cell)
        && let Ok(n) = text.trim().parse()
    {
        return Some(n);
    }
    // Beyond 2^53 a floating-point number does not identify an integer.
    number(cell, false).filter(|x| x.trunc() == *x && x.abs() < 9e15).map(|x| x as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::map::Bins;

    #[test]
    fn labels_are_read_as_written_trimmed_and_as_the_same_number() {
        let mut labels = Labels::of(&["20", "40", "6 h"], None);
        assert_eq!(labels.read(b"40"), Said::Value(1));
        assert_eq!(labels.read(b" 6 h "), Said::Value(2));
        for _ in 0..2 {
            assert_eq!(labels.read(b"20.0"), Said::Value(0), "frames write whole numbers with a point");
        }
        assert_eq!(labels.read(b"21"), Said::Unknown);
        assert_eq!(labels.read(b"   "), Said::Missing);
        let mut alike = Labels::of(&["1", "1.0"], None);
        assert_eq!((alike.read(b"1.0"), alike.read(b"1.00")), (Said::Value(1), Said::Unknown));
    }

    #[test]
    fn numbers_are_cut_into_bins_also_if_they_look_like_names_of_values() {
        let bins = Bins { edges: vec![8.0, 15.0], labels: ["1", "2", "late"].map(str::to_owned).to_vec() };
        let map = ColumnMap { bins: Some(bins), ..ColumnMap::default() };
        let mut labels = Labels::of(&["1", "2", "late"], Some(&map));
        for (day, week) in [("1", 0), ("2", 0), ("7", 0), ("8", 1), ("14", 1), ("15", 2), ("late", 2)] {
            assert_eq!(labels.read(day.as_bytes()), Said::Value(week), "{day}");
        }
        // A map that names the text has precedence.
        let values = vec![("2".to_owned(), Some("late".to_owned()))];
        let mut labels = Labels::of(&["1", "2", "late"], Some(&ColumnMap { values, ..map }));
        assert_eq!((labels.read(b"2"), labels.read(b"1")), (Said::Value(2), Said::Value(0)));
    }

    #[test]
    fn many_labels_are_read_like_few() {
        let names: Vec<String> = (0..100).map(|i| format!("v{i}")).collect();
        let mut labels = Labels::of(&names.iter().map(String::as_str).collect::<Vec<_>>(), None);
        for (i, name) in names.iter().enumerate() {
            assert_eq!(labels.read(name.as_bytes()), Said::Value(i as u32));
        }
        assert_eq!(labels.read(b"v100"), Said::Unknown);
    }

    #[test]
    fn numbers_that_are_remembered_are_those_that_are_read() {
        let mut numbers = Numbers::new(false);
        for _ in 0..3 {
            for i in 0..500 {
                let text = format!("{}", f64::from(i) / 7.0);
                assert_eq!(numbers.read(text.as_bytes()), number(text.as_bytes(), false), "{text}");
            }
        }
        for text in ["x", "1,5", "nan", "inf", "-", "0x1"] {
            assert_eq!(numbers.read(text.as_bytes()), None);
        }
    }

    #[test]
    fn a_decimal_comma_is_read_where_it_is_announced_and_a_group_of_digits_never() {
        let mut numbers = Numbers::new(true);
        assert_eq!(numbers.read(b"4,8"), Some(4.8));
        assert_eq!(numbers.read(b"-0,5e1"), Some(-5.0));
        assert_eq!(numbers.read(b"7"), Some(7.0));
        for text in ["4.8", "1.234", "1.234,5", "1,234,5", "1,234.5", ","] {
            assert_eq!(numbers.read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Numbers::new(false).read(b"4,8"), None);
    }

    #[test]
    fn whole_numbers_may_have_a_point() {
        assert_eq!(whole(b"3"), Some(3));
        assert_eq!(whole(b"3.0"), Some(3));
        assert_eq!(whole(b"3.5"), None);
        assert_eq!(whole(b"1e300"), None);
        assert_eq!(whole(b"inf"), None);
    }
}
