//! Lays a figure out: title, axes, bands, lines, and labels at the lines' ends.

use super::axis::Range;
use super::canvas::{Anchor, Canvas, text_width};
use super::labels::space_out;
use super::{Figure, Point, Scale, Series, Shape};

/// About one column and a half of a paper; texts stay legible at one column (85 mm).
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;
const TITLE: u32 = 15;
const SMALL: u32 = 11;
const TEXT: u32 = 13;
const INK: [u8; 3] = [30, 30, 30];
const MUTED: [u8; 3] = [95, 95, 95];
const GRID: [u8; 3] = [228, 228, 228];

/// The rectangle between the axes.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Range,
    y: Range,
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.left + self.x.place(x) * (self.right - self.left),
            self.bottom - self.y.place(y) * (self.bottom - self.top),
        )
    }
}

pub(super) fn draw(figure: &Figure) -> Canvas {
    let subtitle = wrap(&figure.subtitle, WIDTH - 24.0);
    let top = 46.0 + 15.0 * subtitle.len() as f64;
    let points = || figure.series.iter().flat_map(|s| &s.points);
    let bars = figure.series.iter().any(|s| matches!(s.shape, Shape::Bars | Shape::Points));
    let x = Range::new(&figure.x, points().map(|p| p.x), true, bars);
    // Bands may reach below zero; on a logarithmic axis they must not stretch it.
    let floor = points().map(|p| p.y).filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min) / 2.0;
    let log = figure.y.scale == Scale::Log;
    let heights = points().flat_map(|p| [p.y, if log { p.low.max(floor) } else { p.low.max(0.0) }, p.high]);
    let y = Range::new(&figure.y, heights, true, false);
    let widest = figure.series.iter().map(|s| text_width(&s.label, TEXT)).fold(0.0, f64::max);
    let widest_tick = y.ticks.iter().map(|t| text_width(&t.1, TEXT)).fold(0.0, f64::max);
    let frame =
        Frame { left: 40.0 + widest_tick, right: WIDTH - 22.0 - widest.min(200.0), top, bottom: HEIGHT - 52.0, x, y };
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    canvas.text((12.0, 24.0), &figure.title, TITLE, Anchor::Start, INK, true);
    for (i, line) in subtitle.iter().enumerate() {
        canvas.text((12.0, 42.0 + 15.0 * i as f64), line, SMALL, Anchor::Start, MUTED, false);
    }
    axes(figure, &frame, &mut canvas);
    for series in figure.series.iter().filter(|s| s.shape == Shape::Band) {
        band(series, &frame, &mut canvas);
    }
    for series in &figure.series {
        lines(series, figure, &frame, &mut canvas);
    }
    end_labels(figure, &frame, &mut canvas);
    canvas
}

fn axes(figure: &Figure, frame: &Frame, canvas: &mut Canvas) {
    for (value, text) in &frame.y.ticks {
        let y = frame.bottom - frame.y.place(*value) * (frame.bottom - frame.top);
        canvas.line((frame.left, y), (frame.right, y), GRID, 1.0);
        canvas.text((frame.left - 8.0, y + 4.5), text, TEXT, Anchor::End, INK, false);
    }
    for (value, text) in &frame.x.ticks {
        let x = frame.left + frame.x.place(*value) * (frame.right - frame.left);
        canvas.line((x, frame.bottom), (x, frame.bottom + 5.0), INK, 1.0);
        canvas.text((x, frame.bottom + 19.0), text, TEXT, Anchor::Middle, INK, false);
    }
    canvas.line((frame.left, frame.bottom), (frame.right, frame.bottom), INK, 1.2);
    canvas.line((frame.left, frame.top), (frame.left, frame.bottom), INK, 1.2);
    let middle = (frame.left + frame.right) / 2.0;
    canvas.text((middle, HEIGHT - 12.0), &figure.x.label, TEXT, Anchor::Middle, INK, false);
    canvas.upright((17.0, (frame.top + frame.bottom) / 2.0), &figure.y.label, TEXT, INK);
}

/// What can be shown: on logarithmic axes only what is above zero.
fn shown<'a>(series: &'a Series, figure: &Figure) -> impl Iterator<Item = &'a Point> {
    let (x, y) = (figure.x.scale, figure.y.scale);
    let positive = |scale: Scale, v: f64| scale == Scale::Linear || v > 0.0;
    series.points.iter().filter(move |p| positive(x, p.x) && positive(y, p.y))
}

fn band(series: &Series, frame: &Frame, canvas: &mut Canvas) {
    let upper = series.points.iter().map(|p| frame.at(p.x, p.high));
    let lower = series.points.iter().rev().map(|p| frame.at(p.x, p.low));
    let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
    if series.points.iter().any(|p| p.high > p.low) {
        canvas.area(&outline, series.style.colour, 0.18);
    }
}

fn lines(series: &Series, figure: &Figure, frame: &Frame, canvas: &mut Canvas) {
    let style = series.style;
    let points: Vec<&Point> = shown(series, figure).collect();
    let at: Vec<(f64, f64)> = points.iter().map(|p| frame.at(p.x, p.y)).collect();
    match series.shape {
        Shape::Band => canvas.curve(&at, style.colour, 1.9, style.dash),
        Shape::Bars | Shape::Points => {
            if series.shape == Shape::Bars {
                canvas.curve(&at, style.colour, 1.7, style.dash);
            }
            for (p, &(x, y)) in points.iter().zip(&at) {
                if p.high > p.low {
                    let (low, high) = (frame.at(p.x, p.low).1, frame.at(p.x, p.high).1);
                    canvas.line((x, low), (x, high), style.colour, 1.2);
                    for end in [low, high] {
                        canvas.line((x - 3.5, end), (x + 3.5, end), style.colour, 1.2);
                    }
                }
                canvas.marker((x, y), style.marker, style.colour, false);
            }
        }
        Shape::Published => at.iter().for_each(|&p| canvas.marker(p, style.marker, style.colour, true)),
    }
}

fn end_labels(figure: &Figure, frame: &Frame, canvas: &mut Canvas) {
    let labelled: Vec<(&Series, (f64, f64))> = figure
        .series
        .iter()
        .filter(|s| !s.label.is_empty())
        .filter_map(|s| shown(s, figure).last().map(|p| (s, frame.at(p.x, p.y))))
        .collect();
    let wanted: Vec<f64> = labelled.iter().map(|(_, (_, y))| *y).collect();
    let heights = space_out(&wanted, f64::from(TEXT) + 2.0, frame.top, frame.bottom);
    for ((series, (x, y)), height) in labelled.into_iter().zip(heights) {
        let start = frame.right + 14.0;
        // A thin line leads to labels that had to move, and to lines that end early.
        if (height - y).abs() > 3.0 || frame.right - x > 12.0 {
            canvas.line((x + 5.0, y), (start - 3.0, height), series.style.colour, 0.6);
        }
        canvas.text((start, height + 4.5), &series.label, TEXT, Anchor::Start, series.style.text_colour(), false);
    }
}

/// Lines that are not wider than this.
fn wrap(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, SMALL) + text_width(word, SMALL) + 4.0 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
