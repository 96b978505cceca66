//! Where an axis begins and ends, where its marks are, and what is written at them.

use super::{Axis, Scale};

/// An axis laid out over a range of data.
#[derive(Clone, Debug)]
pub(super) struct Range {
    low: f64,
    high: f64,
    scale: Scale,
    /// (value, text).
    pub(super) ticks: Vec<(f64, String)>,
}

impl Range {
    /// Covers the values; a linear axis of non-negative values starts at zero. It goes on to the next round value, unless it is
    /// `snug`: then it ends where the values do. With `room` a little is left free on both sides, so that error bars at the ends
    /// stand clear of the frame.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>, snug: bool, room: bool) -> Range {
        let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let rounding = rounding(values.iter().copied());
        let usable = |v: &f64| axis.scale == Scale::Linear || *v > rounding;
        let exact = |v: f64| if v.abs() <= rounding { 0.0 } else { v };
        let (mut low, mut high) = (values.into_iter().filter(usable).map(exact))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        let mut ticks = match axis.scale {
            Scale::Linear => {
                if low >= 0.0 && axis.ticks.is_none() {
                    low = 0.0;
                }
                if low == high {
                    high = low + low.abs().max(1.0);
                }
                linear_ticks(&mut low, &mut high, axis.ticks.is_none() && !snug)
            }
            Scale::Log => {
                if low == high {
                    (low, high) = (low / 2.0, high * 2.0);
                }
                log_ticks(&mut low, &mut high, axis.ticks.is_none() && !snug)
            }
        };
        if let Some(given) = &axis.ticks {
            ticks = given.iter().copied().filter(usable).collect();
        }
        if room {
            let pad = 0.06 * (high - low);
            match axis.scale {
                Scale::Linear => (low, high) = (low - pad, high + pad),
                Scale::Log => (low, high) = (low / (high / low).powf(0.05), high * (high / low).powf(0.05)),
            }
        }
        Range { low, high, scale: axis.scale, ticks: ticks.into_iter().map(|t| (t, tick_text(t))).collect() }
    }

    /// Where a value is, 0 at the low end and 1 at the high end; what lies outside is moved to the end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let at = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value <= 0.0 => 0.0,
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        at.clamp(0.0, 1.0)
    }
}

/// What is no larger than this is what rounding left of a zero, and neither stretches an axis nor counts as above zero.
pub(super) fn rounding(values: impl Iterator<Item = f64>) -> f64 {
    const SHARE: f64 = 1e-9;
    SHARE * values.filter(|v| v.is_finite()).fold(0.0, |most: f64, v| most.max(v.abs()))
}

fn linear_ticks(low: &mut f64, high: &mut f64, widen: bool) -> Vec<f64> {
    let rough = (*high - *low) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough * 0.999).unwrap_or(rough);
    if widen {
        (*low, *high) = ((*low / step).floor() * step, (*high / step).ceil() * step);
    }
    let n = ((*high - *low) / step + 1e-9).floor() as i64;
    (0..=n).map(|i| *low + i as f64 * step).collect()
}

fn log_ticks(low: &mut f64, high: &mut f64, widen: bool) -> Vec<f64> {
    let decades = (*high / *low).log10();
    let steps: &[f64] = if decades < 1.2 {
        &[1.0, 2.0, 3.0, 5.0]
    } else if decades < 3.0 {
        &[1.0, 3.0]
    } else {
        &[1.0]
    };
    let all: Vec<f64> = (-12..16).flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e))).collect();
    if widen {
        let tight = 1.0 + 1e-9;
        *low = all.iter().copied().filter(|t| *t <= *low * tight).fold(*low, |_, t| t);
        *high = all.iter().copied().find(|t| *t * tight >= *high).unwrap_or(*high);
    }
    all.into_iter().filter(|t| *t >= *low * 0.999 && *t <= *high * 1.001).collect()
}

fn tick_text(value: f64) -> String {
    let size = value.abs();
    if size >= 1e5 || (size > 0.0 && size < 1e-3) {
        let power = size.log10().floor() as i32;
        let digit = value / 10f64.powi(power);
        let raised: String = power.to_string().chars().map(superscript).collect();
        let digit = (digit * 100.0).round() / 100.0;
        return if digit == 1.0 { format!("10{raised}") } else { format!("{digit}·10{raised}") };
    }
    let rounded = (value * 1e6).round() / 1e6;
    let text = if rounded == 0.0 { "0".to_owned() } else { rounded.to_string() };
    match text.len() {
        n if n > 3 && !text.contains('.') => format!("{},{}", &text[..n - 3], &text[n - 3..]),
        _ => text,
    }
}

fn superscript(c: char) -> char {
    match c {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        d => char::from_u32('⁰' as u32 + (d as u32 - '0' as u32)).unwrap_or(d),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: Scale, values: &[f64]) -> Vec<String> {
        let axis = Axis { scale, ..Axis::default() };
        Range::new(&axis, values.iter().copied(), false, false).ticks.into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn a_snug_axis_ends_with_its_values() {
        for (scale, last) in [(Scale::Linear, "40"), (Scale::Log, "30")] {
            let axis = Axis { scale, ..Axis::default() };
            let range = Range::new(&axis, [1.0, 47.0].into_iter(), true, false);
            assert_eq!((range.place(47.0), range.ticks.last().unwrap().1.as_str()), (1.0, last));
        }
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(texts(Scale::Linear, &[3.0, 2941.0]), ["0", "1,000", "2,000", "3,000"]);
        assert_eq!(texts(Scale::Linear, &[0.0, 0.9]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(texts(Scale::Log, &[0.8, 2941.0]), ["0.1", "1", "10", "100", "1,000", "10,000"]);
        assert_eq!(texts(Scale::Log, &[20.0, 130.0]), ["20", "30", "50", "100", "200"]);
        assert_eq!(tick_text(1e6), "10⁶");
        // What rounding left of a zero is a zero, on either kind of axis.
        assert_eq!(texts(Scale::Linear, &[-1.8e-15, 2941.0]), ["0", "1,000", "2,000", "3,000"]);
        assert_eq!(texts(Scale::Log, &[1e-12, 20.0, 130.0]), ["20", "30", "50", "100", "200"]);
    }
}
