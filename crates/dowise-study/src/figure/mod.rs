//! A figure as data: axes, series, labels. [`Figure::draw`] makes SVG and PNG of it.

mod axis;
mod canvas;
mod draw;
mod labels;
mod strips;
mod style;

pub use strips::{Strip, Strips};
pub use style::{Dash, Marker, Style};

use crate::StudyError;

/// How an axis counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// In powers of ten; what is not above zero is left out.
    Log,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// How it counts.
    pub scale: Scale,
    /// Marks at exactly these values instead of round ones.
    pub ticks: Option<Vec<f64>>,
}

/// A point with the ends of its band or error bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Lower end; `y` if there is none.
    pub low: f64,
    /// Upper end; `y` if there is none.
    pub high: f64,
}

/// How a series is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A line with a band around it.
    Band,
    /// Points with error bars, joined by a line.
    Bars,
    /// Points with error bars, each by itself.
    Points,
    /// Hollow points alone: what others published.
    Published,
}

/// One line of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Written at its end; empty for none.
    pub label: String,
    /// Colour, dashes, marker.
    pub style: Style,
    /// How it is shown.
    pub shape: Shape,
    /// From left to right.
    pub points: Vec<Point>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// A few words above it.
    pub title: String,
    /// What a reader must know to judge it: widths, number of runs, what the bands are.
    pub subtitle: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Lines, the first at the back.
    pub series: Vec<Series>,
}

/// A figure, drawn.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// As scalable text.
    pub svg: String,
    /// As pixels.
    pub png: Vec<u8>,
}

impl Figure {
    /// Draws it, as a function of its data alone.
    pub fn draw(&self) -> Result<Drawing, StudyError> {
        let canvas = draw::draw(self);
        let svg = canvas.svg();
        let png = canvas.png().map_err(|message| StudyError::Draw { name: self.title.clone(), message })?;
        Ok(Drawing { svg, png })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(scale: Scale) -> Figure {
        let point = |i: u32| {
            let (x, y) = (f64::from(i), f64::from(i * i) + 1.0);
            Point { x, y, low: y - 3.0, high: y + 3.0 }
        };
        let series = |label: &str, shape| Series {
            label: label.into(),
            style: Style::of_learner("c-ucbvi", 0),
            shape,
            points: (0..20).map(point).collect(),
        };
        Figure {
            title: "Squares & <bands>".into(),
            subtitle: "none".into(),
            x: Axis { label: "x".into(), ..Axis::default() },
            y: Axis { label: "y".into(), scale, ticks: None },
            series: vec![series("one", Shape::Band), series("two", Shape::Bars), series("", Shape::Published)],
        }
    }

    #[test]
    fn a_figure_is_drawn_the_same_twice_and_holds_its_texts() {
        for scale in [Scale::Linear, Scale::Log] {
            let (a, b) = (figure(scale).draw().unwrap(), figure(scale).draw().unwrap());
            assert_eq!((&a.svg, &a.png), (&b.svg, &b.png));
            assert!(a.svg.contains("Squares &amp; &lt;bands&gt;") && a.svg.contains(">one<"));
            assert!(!a.svg.contains("NaN") && !a.svg.contains("inf"));
            assert_eq!(&a.png[1..4], b"PNG");
        }
    }

    #[test]
    fn nothing_to_draw_is_drawn_as_empty_axes() {
        let empty = Figure { series: vec![], ..figure(Scale::Log) };
        assert!(!empty.draw().unwrap().svg.contains("NaN"));
    }
}
