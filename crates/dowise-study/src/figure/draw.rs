//! Lays a figure out: title, axes, bands, lines, and labels at the lines' ends.

use super::axis::{Range, rounding};
use super::canvas::{Anchor, Canvas, text_width};
use super::labels::space_out;
use super::{Dash, Figure, Point, Scale, Series, Shape, Style};

/// About one column and a half of a paper; texts stay legible at one column (85 mm).
const WIDTH: f64 = 560.0;
/// From the top of the frame to its bottom, however many lines of words are above.
const PLOT: f64 = 244.0;
/// Below the frame: marks, and the name of the axis.
const BELOW: f64 = 52.0;
const TITLE: u32 = 15;
const SMALL: u32 = 11;
const TEXT: u32 = 13;
const INK: [u8; 3] = [30, 30, 30];
const MUTED: [u8; 3] = [95, 95, 95];
const GRID: [u8; 3] = [228, 228, 228];
/// How far lines must be apart on paper to be seen as two.
const NOT_SEEN: f64 = 1.0;
/// Said where a line runs along the lower edge of a logarithmic axis.
const ZEROS: &str = "What is 0 is on the lower edge.";

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
    let widest = figure.series.iter().map(|s| text_width(&s.label, TEXT)).fold(0.0, f64::max);
    let has_legend = figure.series.iter().filter(|s| !s.label.is_empty()).count() > MOST_LABELS;
    // Long labels make the picture wider instead of the frame narrow, or the labels short.
    let beside = widest + if has_legend { SAMPLE + 6.0 } else { 0.0 };
    let width = WIDTH + (beside - 200.0).max(0.0);
    let points = || figure.series.iter().flat_map(|s| &s.points);
    let zero = rounding(points().map(|p| p.y));
    let log = figure.y.scale == Scale::Log;
    let zeros = if log && points().any(|p| p.y <= zero) { ZEROS } else { "" };
    let title = wrap(&figure.title, TITLE, width - 24.0);
    let subtitle = wrap(&format!("{} {zeros}", figure.subtitle), SMALL, width - 24.0);
    let under_title = 24.0 + 19.0 * (title.len().max(1) - 1) as f64;
    // The name of the upward axis stands above it, where it is read without turning the head.
    let axis_name = under_title + 26.0 + 15.0 * subtitle.len() as f64;
    let top = axis_name + 14.0;
    let bars = figure.series.iter().any(|s| matches!(s.shape, Shape::Bars | Shape::Points));
    let x = Range::new(&figure.x, points().map(|p| p.x), !bars, bars);
    // Bands may reach below zero; on a logarithmic axis they must not stretch it.
    let floor = points().map(|p| p.y).filter(|y| *y > zero).fold(f64::INFINITY, f64::min) / 2.0;
    let heights = points().flat_map(|p| [p.y, if log { p.low.max(floor) } else { p.low.max(0.0) }, p.high]);
    let y = Range::new(&figure.y, heights, false, false);
    let widest_tick = y.ticks.iter().map(|t| text_width(&t.1, TEXT)).fold(0.0, f64::max);
    let frame = Frame { left: 20.0 + widest_tick, right: width - 22.0 - beside, top, bottom: top + PLOT, x, y };
    let mut canvas = Canvas::new(width, frame.bottom + BELOW);
    for (i, line) in title.iter().enumerate() {
        canvas.text((12.0, 24.0 + 19.0 * i as f64), line, TITLE, Anchor::Start, INK);
    }
    for (i, line) in subtitle.iter().enumerate() {
        canvas.text((12.0, under_title + 18.0 + 15.0 * i as f64), line, SMALL, Anchor::Start, MUTED);
    }
    canvas.text((12.0, axis_name), &figure.y.label, TEXT, Anchor::Start, INK);
    axes(figure, &frame, &mut canvas);
    for series in figure.series.iter().filter(|s| s.shape == Shape::Band) {
        band(series, &frame, &mut canvas);
    }
    let styles = told_apart(figure, &frame);
    for (series, style) in figure.series.iter().zip(&styles) {
        lines(series, *style, figure, &frame, &mut canvas);
    }
    if has_legend {
        legend(figure, &styles, &frame, &mut canvas);
    } else {
        end_labels(figure, &frame, &mut canvas);
    }
    canvas
}

/// The style of every series; one that lies on an earlier one on paper has dashes, so that both show.
fn told_apart(figure: &Figure, frame: &Frame) -> Vec<Style> {
    let height = |p: &Point| frame.at(p.x, p.y).1;
    let same = |a: &Series, b: &Series| {
        let pairs = a.points.iter().zip(&b.points);
        let near = |(p, q): (&Point, &Point)| p.x == q.x && (height(p) - height(q)).abs() <= NOT_SEEN;
        a.points.len() == b.points.len() && pairs.into_iter().all(near)
    };
    let mut styles: Vec<Style> = figure.series.iter().map(|s| s.style).collect();
    for i in 1..styles.len() {
        let under =
            (0..i).rev().find(|&j| !figure.series[i].points.is_empty() && same(&figure.series[i], &figure.series[j]));
        if let Some(j) = under {
            styles[i].dash = match styles[j].dash {
                Dash::Solid => Dash::Dashed,
                Dash::Dashed | Dash::Dotted => Dash::Dotted,
            };
        }
    }
    styles
}

fn axes(figure: &Figure, frame: &Frame, canvas: &mut Canvas) {
    for (value, text) in &frame.y.ticks {
        let y = frame.bottom - frame.y.place(*value) * (frame.bottom - frame.top);
        canvas.line((frame.left, y), (frame.right, y), GRID, 1.0);
        canvas.text((frame.left - 8.0, y + 4.5), text, TEXT, Anchor::End, INK);
    }
    for (value, text) in &frame.x.ticks {
        let x = frame.left + frame.x.place(*value) * (frame.right - frame.left);
        canvas.line((x, frame.bottom), (x, frame.bottom + 5.0), INK, 1.0);
        canvas.text((x, frame.bottom + 19.0), text, TEXT, Anchor::Middle, INK);
    }
    canvas.line((frame.left, frame.bottom), (frame.right, frame.bottom), INK, 1.2);
    canvas.line((frame.left, frame.top), (frame.left, frame.bottom), INK, 1.2);
    let middle = (frame.left + frame.right) / 2.0;
    canvas.text((middle, frame.bottom + BELOW - 12.0), &figure.x.label, TEXT, Anchor::Middle, INK);
}

/// What can be shown: on a logarithmic axis across only what is above zero. Upwards a zero is on the lower edge.
fn shown<'a>(series: &'a Series, figure: &Figure) -> impl Iterator<Item = &'a Point> {
    let scale = figure.x.scale;
    series.points.iter().filter(move |p| scale == Scale::Linear || p.x > 0.0)
}

fn band(series: &Series, frame: &Frame, canvas: &mut Canvas) {
    let upper = series.points.iter().map(|p| frame.at(p.x, p.high));
    let lower = series.points.iter().rev().map(|p| frame.at(p.x, p.low));
    let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
    if series.points.iter().any(|p| p.high > p.low) {
        canvas.area(&outline, series.style.colour, 0.18);
    }
}

fn lines(series: &Series, style: Style, figure: &Figure, frame: &Frame, canvas: &mut Canvas) {
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
                    // A bar that goes on below a logarithmic axis has no lower end.
                    let has_end = figure.y.scale == Scale::Linear || p.low > 0.0;
                    for end in [Some(high), has_end.then_some(low)].into_iter().flatten() {
                        canvas.line((x - 3.5, end), (x + 3.5, end), style.colour, 1.2);
                    }
                }
                canvas.marker((x, y), style.marker, style.colour, false);
            }
        }
        Shape::Published => at.iter().for_each(|&p| canvas.marker(p, style.marker, style.colour, true)),
    }
}

/// Labels at the ends of lines, up to this number; more get a legend.
const MOST_LABELS: usize = 8;

/// Length of the sample of a line in a legend.
const SAMPLE: f64 = 22.0;

/// A sample of each line with its label, from the highest end to the lowest.
fn legend(figure: &Figure, styles: &[Style], frame: &Frame, canvas: &mut Canvas) {
    let end = |s: &Series| shown(s, figure).last().map_or(f64::NEG_INFINITY, |p| p.y);
    let mut order: Vec<usize> = (0..figure.series.len()).filter(|&i| !figure.series[i].label.is_empty()).collect();
    order.sort_by(|&a, &b| end(&figure.series[b]).total_cmp(&end(&figure.series[a])).then(a.cmp(&b)));
    let step = (f64::from(TEXT) + 3.0).min((frame.bottom - frame.top) / order.len().max(1) as f64);
    let start = frame.right + 12.0;
    for (place, i) in order.into_iter().enumerate() {
        let (series, style) = (&figure.series[i], styles[i]);
        let y = frame.top + 6.0 + place as f64 * step;
        match series.shape {
            Shape::Published => canvas.marker((start + SAMPLE / 2.0, y), style.marker, style.colour, true),
            Shape::Band | Shape::Bars | Shape::Points => {
                canvas.curve(&[(start, y), (start + SAMPLE, y)], style.colour, 1.9, style.dash);
                if series.shape != Shape::Band {
                    canvas.marker((start + SAMPLE / 2.0, y), style.marker, style.colour, false);
                }
            }
        }
        let at = (start + SAMPLE + 6.0, y + 4.5);
        canvas.text(at, &series.label, TEXT, Anchor::Start, style.text_colour());
    }
}

fn end_labels(figure: &Figure, frame: &Frame, canvas: &mut Canvas) {
    let labelled: Vec<(&Series, (f64, f64))> = figure
        .series
        .iter()
        .filter(|s| !s.label.is_empty())
        .filter_map(|s| shown(s, figure).last().map(|p| (s, frame.at(p.x, p.y))))
        .collect();
    // Lines that end early have their labels inside, at their own ends.
    let (outside, inside): (Vec<_>, Vec<_>) = labelled.into_iter().partition(|(_, (x, _))| frame.right - x <= 40.0);
    for labelled in [outside, inside] {
        let wanted: Vec<f64> = labelled.iter().map(|(_, (_, y))| *y).collect();
        let heights = space_out(&wanted, f64::from(TEXT) + 2.0, frame.top, frame.bottom);
        for ((series, (x, y)), height) in labelled.into_iter().zip(heights) {
            let end = if frame.right - x <= 40.0 { frame.right } else { x };
            let start = end + 14.0;
            // A thin, short line leads to labels that had to move.
            if (height - y).abs() > 3.0 {
                canvas.line((end + 3.0, y), (start - 3.0, height), series.style.colour, 0.6);
            }
            canvas.text((start, height + 4.5), &series.label, TEXT, Anchor::Start, series.style.text_colour());
        }
    }
}

/// Lines that are not wider than this; what stands on both sides of an equals sign stays together.
fn wrap(text: &str, size: u32, width: f64) -> Vec<String> {
    const TOGETHER: &str = "\u{a0}=\u{a0}";
    let mut lines: Vec<String> = vec![];
    for word in text.replace(" = ", TOGETHER).split([' ', '\n']).filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + 4.0 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Figure};

    fn series(label: &str, ys: &[f64]) -> Series {
        let points = ys.iter().enumerate().map(|(i, &y)| Point { x: i as f64 + 1.0, y, low: y, high: y }).collect();
        Series { label: label.into(), style: Style::at(0), shape: Shape::Band, points }
    }

    fn figure(series: Vec<Series>) -> Figure {
        let (x, y) = (Axis::default(), Axis::default());
        Figure { title: "T".into(), subtitle: String::new(), x, y, series }
    }

    #[test]
    fn an_equation_is_not_broken() {
        for width in [40.0, 60.0, 80.0, 100.0] {
            let lines = wrap("Mean of 10 runs with K = 5000 and H = 2", SMALL, width);
            assert!(lines.iter().any(|line| line.contains("K\u{a0}=\u{a0}5000")), "{lines:?}");
        }
    }

    #[test]
    fn a_line_on_another_one_has_dashes() {
        let lines = [("a", [1.0, 2.0]), ("b", [1.0, 2.001]), ("c", [1.0, 3.0])];
        let figure = figure(lines.iter().map(|(label, ys)| series(label, ys)).collect());
        let values = |y: bool| figure.series.iter().flat_map(|s| &s.points).map(move |p| if y { p.y } else { p.x });
        let [x, y] = [false, true].map(|y| Range::new(&Axis::default(), values(y), !y, false));
        let frame = Frame { left: 0.0, right: 400.0, top: 0.0, bottom: 300.0, x, y };
        let dashes: Vec<Dash> = told_apart(&figure, &frame).iter().map(|style| style.dash).collect();
        assert_eq!(dashes, [Dash::Solid, Dash::Dashed, Dash::Solid]);
    }

    #[test]
    fn a_zero_on_a_logarithmic_axis_is_on_the_lower_edge_and_is_said() {
        let mut with_zero =
            figure(vec![series("falls", &[1.0, 0.1, 0.0, 0.0]), series("stays", &[1.0, 1.0, 1.0, 1.0])]);
        with_zero.y.scale = Scale::Log;
        assert!(draw(&with_zero).svg().contains(ZEROS));
        with_zero.series.remove(0);
        assert!(!draw(&with_zero).svg().contains(ZEROS));
    }

    #[test]
    fn many_lines_have_a_legend_and_no_label_is_cut() {
        let many: Vec<Series> = (0..13).map(|i| series(&format!("learner {i}"), &[1.0, f64::from(i)])).collect();
        let svg = draw(&figure(many)).svg();
        assert!((0..13).all(|i| svg.contains(&format!(">learner {i}<"))));
        let long = "a label that is so long that it would leave the picture on its right side";
        let canvas = draw(&figure(vec![series(long, &[1.0, 2.0])]));
        assert!(canvas.width() > WIDTH + 100.0);
    }
}
