//! Lines, areas and texts on paper. The only file that knows the drawing library.
//!
//! Of kuva only the drawing surface and its two writers are used, not its charts: those number their clip paths with a
//! counter of the process, so that the same figure would differ from one drawing to the next, they have no labels at
//! line ends, and dashes start anew at each point of a curve.

use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};

use super::style::{Dash, Marker};

/// Where a text is held.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Something to draw on.
pub(super) struct Canvas {
    scene: Scene,
}

/// Pixels of the PNG for each unit of the SVG.
const PNG_SCALE: f32 = 2.0;

fn colour([r, g, b]: [u8; 3]) -> Color {
    Color::Rgb(r, g, b)
}

fn path(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        d += &format!("{} {x:.2} {y:.2} ", if i == 0 { 'M' } else { 'L' });
    }
    d + "Z"
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Canvas {
        let mut scene = Scene::new(width, height);
        scene.font_family = Some("DejaVu Sans, Verdana, Arial, sans-serif".into());
        Canvas { scene }
    }

    #[cfg(test)]
    pub(super) fn width(&self) -> f64 {
        self.scene.width
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), rgb: [u8; 3], width: f64) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let stroke = colour(rgb);
        self.scene.add(Primitive::Line { x1, y1, x2, y2, stroke, stroke_width: width, stroke_dasharray: None });
    }

    pub(super) fn curve(&mut self, points: &[(f64, f64)], rgb: [u8; 3], width: f64, dash: Dash) {
        let pieces = match dash {
            Dash::Solid => vec![points.to_vec()],
            Dash::Dashed => dashes(points, 7.0, 4.0),
            Dash::Dotted => dashes(points, 1.5, 3.5),
        };
        for points in pieces.into_iter().filter(|p| p.len() > 1) {
            let stroke = colour(rgb);
            self.scene.add(Primitive::PolyLine { points, stroke, stroke_width: width, stroke_dasharray: None });
        }
    }

    pub(super) fn area(&mut self, points: &[(f64, f64)], rgb: [u8; 3], opacity: f64) {
        self.scene.add(Primitive::Path(Box::new(PathData {
            d: path(points),
            fill: Some(colour(rgb)),
            stroke: Color::None,
            stroke_width: 0.0,
            opacity: Some(opacity),
            stroke_dasharray: None,
        })));
    }

    pub(super) fn marker(&mut self, (x, y): (f64, f64), marker: Marker, rgb: [u8; 3], hollow: bool) {
        let r = if hollow { 4.0 } else { 3.2 };
        let fill = if hollow { Color::Rgb(255, 255, 255) } else { colour(rgb) };
        let corners: Vec<(f64, f64)> = match marker {
            Marker::Circle => {
                self.scene.add(Primitive::Circle {
                    cx: x,
                    cy: y,
                    r,
                    fill,
                    fill_opacity: None,
                    stroke: Some(colour(rgb)),
                    stroke_width: Some(1.3),
                });
                return;
            }
            Marker::Square => vec![(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Triangle => vec![(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Marker::Diamond => vec![(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
        };
        let points: Vec<(f64, f64)> = corners.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect();
        self.scene.add(Primitive::Path(Box::new(PathData {
            d: path(&points),
            fill: Some(fill),
            stroke: colour(rgb),
            stroke_width: 1.3,
            opacity: None,
            stroke_dasharray: None,
        })));
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), text: &str, size: u32, anchor: Anchor, rgb: [u8; 3]) {
        let anchor = match anchor {
            Anchor::Start => TextAnchor::Start,
            Anchor::Middle => TextAnchor::Middle,
            Anchor::End => TextAnchor::End,
        };
        // Neither turned nor bold: the pixels of turned text are blurred, and there is one weight of the font in pixels.
        let (content, color) = (text.to_owned(), Some(colour(rgb)));
        self.scene.add(Primitive::Text { x, y, content, size, anchor, rotate: None, bold: false, color });
    }

    pub(super) fn svg(&self) -> String {
        SvgBackend::new().render_scene(&self.scene)
    }

    pub(super) fn png(&self) -> Result<Vec<u8>, String> {
        PngBackend::new().with_scale(PNG_SCALE).render_scene(&self.scene)
    }
}

/// About how wide a text is.
pub(super) fn text_width(text: &str, size: u32) -> f64 {
    let narrow = |c: char| {
        if "il.,:;|'!() ".contains(c) {
            0.36
        } else if "mwMW—".contains(c) {
            0.95
        } else {
            0.63
        }
    };
    text.chars().map(narrow).sum::<f64>() * f64::from(size)
}

/// Cuts a curve into dashes by its length on paper, so that they do not depend on where its points are.
fn dashes(points: &[(f64, f64)], on: f64, off: f64) -> Vec<Vec<(f64, f64)>> {
    let mut out: Vec<Vec<(f64, f64)>> = vec![];
    let (mut drawing, mut left) = (true, on);
    if let Some(first) = points.first() {
        out.push(vec![*first]);
    }
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if length <= left {
                left -= length;
                if let Some(last) = out.last_mut().filter(|_| drawing) {
                    last.push(to);
                }
                break;
            }
            let t = left / length;
            from = (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1));
            if let Some(last) = out.last_mut().filter(|_| drawing) {
                last.push(from);
            } else {
                out.push(vec![from]);
            }
            drawing = !drawing;
            left = if drawing { on } else { off };
        }
    }
    out
}
