//! The causal graph as an SVG drawing.

use std::fmt::Write;

use super::layout::layout;
use super::{Graph, Node, Role};
use crate::world::World;

const MARGIN: f64 = 24.0;
/// Room for the names of the layers on the left.
const LABELS: f64 = 96.0;
const TITLE: f64 = 44.0;
const LEGEND: f64 = 34.0;
const BOX_HEIGHT: f64 = 40.0;
const TAG_HEIGHT: f64 = 17.0;
const LAYER_STEP: f64 = 128.0;

/// A drawing of the causal graph: levers (blue) at the bottom, hidden variables (grey), key variables (orange), next
/// state factors and reward terms (green) on top. A violet tag names a state factor among the parents.
pub fn svg(world: &World) -> String {
    let graph = Graph::of(world);
    let widths: Vec<f64> = graph.nodes.iter().map(width).collect();
    let layout = layout(&graph, &widths);
    let title_width = MARGIN * 2.0 + text_width(world.name(), 17.0);
    let picture_width = (LABELS + layout.width + 2.0 * MARGIN).max(title_width).max(LABELS + 480.0);
    // A narrow graph is centred.
    let left = LABELS + MARGIN + (picture_width - LABELS - 2.0 * MARGIN - layout.width) / 2.0;
    let n_layers = graph.n_layers();
    let height = TITLE + n_layers.saturating_sub(1) as f64 * LAYER_STEP + BOX_HEIGHT + 2.0 * TAG_HEIGHT + LEGEND;
    // Centre of the boxes of a layer, counted from the bottom.
    let y_of = |layer: usize| TITLE + (n_layers - 1 - layer) as f64 * LAYER_STEP + BOX_HEIGHT / 2.0 + 8.0;
    let x: Vec<f64> = layout.x.iter().map(|x| x + left).collect();

    let mut out = String::new();
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{picture_width:.0}" height="{height:.0}" viewBox="0 0 {picture_width:.0} {height:.0}" font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">
<title>{0}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{MARGIN}" y="28" font-size="17" font-weight="bold" fill="#1f2933">{0}</text>"##,
        escape(world.name())
    );
    layer_labels(&graph, &y_of, &mut out);
    for (i, &(from, to)) in graph.edges.iter().enumerate() {
        let (a, b) = (&graph.nodes[from], &graph.nodes[to]);
        let start = (x[from], y_of(a.layer) - BOX_HEIGHT / 2.0);
        let curve = if a.layer < b.layer {
            let bends = layout.bends[i].iter().zip(a.layer + 1..).map(|(bx, l)| (bx + left, y_of(l)));
            rising(start, bends, (x[to], bottom(b, y_of(b.layer)) + 7.0))
        } else {
            // An arc leaves near the side and arrives near the centre, so that no line begins at another's tip.
            let side = if x[to] < x[from] { -1.0 } else { 1.0 };
            let (out_at, in_at) = (x[from] + 0.34 * side * widths[from], x[to] - 0.16 * side * widths[to]);
            arc((out_at, start.1), (in_at, y_of(b.layer) - BOX_HEIGHT / 2.0 - 7.0))
        };
        edge(&curve, a.role, graph.behaviour_mechanisms.contains(&to), &mut out);
    }
    for (i, node) in graph.nodes.iter().enumerate() {
        draw_box(node, x[i], y_of(node.layer), widths[i], &mut out);
    }
    legend(&graph, height - 14.0, &mut out);
    out.push_str("</svg>\n");
    out
}

/// Fill and outline.
fn colours(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::Lever => ("#dcebfb", "#2b6cb0"),
        Role::Hidden => ("#eceff2", "#7b8794"),
        Role::Key => ("#fdeacf", "#d9780f"),
        Role::Reward => ("#c9ecd2", "#22764a"),
        Role::Next => ("#e4f6e8", "#22764a"),
    }
}

fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.62
}

fn tag_width(state: &str) -> f64 {
    text_width(state, 10.0) + 12.0
}

fn tags_width(node: &Node) -> f64 {
    node.state.iter().map(|s| tag_width(s) + 3.0).sum::<f64>() - 3.0
}

fn width(node: &Node) -> f64 {
    (text_width(&node.name, 13.0) + 20.0).max(text_width(&node.detail, 10.0) + 20.0).max(tags_width(node))
}

/// Lower edge of a box with its tags, where arrows arrive.
fn bottom(node: &Node, y: f64) -> f64 {
    y + BOX_HEIGHT / 2.0 + if node.state.is_empty() { 0.0 } else { TAG_HEIGHT + 3.0 }
}

/// The line of an edge, and its tip with direction.
struct Curve {
    path: String,
    end: (f64, f64),
    upwards: bool,
}

/// A smooth curve upwards through the bends.
fn rising(start: (f64, f64), bends: impl Iterator<Item = (f64, f64)>, end: (f64, f64)) -> Curve {
    let mut path = format!("M{:.1} {:.1}", start.0, start.1);
    let mut last = start;
    for point in bends.chain([end]) {
        let middle = (last.1 + point.1) / 2.0;
        let _ = write!(path, " C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}", last.0, point.0, point.0, point.1);
        last = point;
    }
    Curve { path, end, upwards: true }
}

/// An arc over the boxes of a layer, or down to a lower one.
fn arc(start: (f64, f64), end: (f64, f64)) -> Curve {
    let top = start.1.min(end.1) - 34.0;
    let [(x0, y0), (x1, y1)] = [start, end];
    Curve { path: format!("M{x0:.1} {y0:.1} C{x0:.1} {top:.1} {x1:.1} {top:.1} {x1:.1} {y1:.1}"), end, upwards: false }
}

/// Tips are separate triangles, since not every viewer draws markers.
fn edge(curve: &Curve, role: Role, dashed: bool, out: &mut String) {
    let colour = colours(role).1;
    let dash = if dashed { r#" stroke-dasharray="5 3""# } else { "" };
    let Curve { path, end: (x, y), upwards } = curve;
    let (tip, wing) = if *upwards { (y - 7.0, y + 1.0) } else { (y + 7.0, y - 1.0) };
    let (left, right) = (x - 4.0, x + 4.0);
    let _ = writeln!(
        out,
        r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.3" stroke-opacity="0.65"{dash}/>
<path d="M{x:.1} {tip:.1} L{left:.1} {wing:.1} L{right:.1} {wing:.1} Z" fill="{colour}" fill-opacity="0.8"/>"#
    );
}

fn draw_box(node: &Node, x: f64, y: f64, width: f64, out: &mut String) {
    let (fill, stroke) = colours(node.role);
    let dash = if node.unknown { r#" stroke-dasharray="5 3""# } else { "" };
    let _ = writeln!(
        out,
        r##"<rect x="{:.1}" y="{:.1}" width="{width:.1}" height="{BOX_HEIGHT}" rx="7" fill="{fill}" stroke="{stroke}" stroke-width="1.4"{dash}/>
<text x="{x:.1}" y="{:.1}" font-size="13" text-anchor="middle" fill="#1f2933">{}</text>
<text x="{x:.1}" y="{:.1}" font-size="10" text-anchor="middle" fill="#52606d">{}</text>"##,
        x - width / 2.0,
        y - BOX_HEIGHT / 2.0,
        y - 2.0,
        escape(&node.name),
        y + 12.0,
        escape(&node.detail)
    );
    let mut left = x - tags_width(node) / 2.0;
    for state in &node.state {
        let top = y + BOX_HEIGHT / 2.0 + 3.0;
        tag(state, left, top, out);
        left += tag_width(state) + 3.0;
    }
}

fn tag(state: &str, left: f64, top: f64, out: &mut String) {
    let width = tag_width(state);
    let _ = writeln!(
        out,
        r##"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{TAG_HEIGHT}" rx="8" fill="#efe9fb" stroke="#7c5cc4" stroke-width="0.8"/><text x="{:.1}" y="{:.1}" font-size="10" text-anchor="middle" fill="#553c9a">{}</text>"##,
        left + width / 2.0,
        top + 12.0,
        escape(state)
    );
}

fn layer_labels(graph: &Graph, y_of: &dyn Fn(usize) -> f64, out: &mut String) {
    for layer in 0..graph.n_layers() {
        let Some(first) = graph.nodes.iter().find(|n| n.layer == layer) else { continue };
        let words = match first.role {
            Role::Lever => "levers",
            Role::Hidden => "hidden",
            Role::Key => "key variables",
            Role::Reward | Role::Next => "outcomes",
        };
        let y = y_of(layer) + 4.0;
        let colour = colours(first.role).1;
        let _ = writeln!(out, r#"<text x="{MARGIN}" y="{y:.1}" font-size="12" fill="{colour}">{words}</text>"#);
    }
}

fn legend(graph: &Graph, y: f64, out: &mut String) {
    let mut words = vec![];
    if graph.nodes.iter().any(|n| !n.state.is_empty()) {
        words.push("violet: depends on the current value of this state factor");
    }
    if graph.nodes.iter().any(|n| n.state.iter().any(|state| state.starts_with("next "))) {
        words.push("on its next value where it says so");
    }
    if graph.nodes.iter().any(|n| n.unknown) {
        words.push("dashed: to be learned");
    }
    if !graph.behaviour_mechanisms.is_empty() {
        words.push("into a lever, dashed: what those who set it in a log went by");
    }
    let text = words.join("; ");
    let _ = writeln!(out, r##"<text x="{MARGIN}" y="{y:.1}" font-size="11" fill="#52606d">{text}</text>"##);
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
