//! The value of a policy in the worst and in the best case against the strength of unmeasured confounding, as a picture.

use std::path::{Path, PathBuf};

use dowise::World;
use dowise::offline::{Claim, Sensitivity};
use dowise_study::{Axis, Dash, Drawing, Figure, Marker, Point, Scale, Series, Shape, Style, write_file};

use crate::output::{Failure, Output};

/// Where the picture goes.
pub(crate) struct Picture {
    file: PathBuf,
    svg: bool,
}

impl Picture {
    pub(crate) fn from_name(file: &Path) -> Result<Picture, Failure> {
        let svg = match file.extension().and_then(|e| e.to_str()) {
            Some("svg") => true,
            Some("png") => false,
            _ => {
                let name = file.display();
                return Err(Failure::Usage(format!("--draw-sensitivity {name}: the name must end in .svg or .png")));
            }
        };
        Ok(Picture { file: file.to_owned(), svg })
    }

    /// Draws what was found, or says why there is nothing to draw.
    pub(crate) fn draw(&self, world: &World, found: Option<&Sensitivity>, output: &Output) -> Result<(), Failure> {
        let name = self.file.display();
        let Some(found) = found else {
            output.talk(format_args!("did not draw {name}: this answer has no sensitivity to unmeasured confounding"));
            return Ok(());
        };
        let Drawing { svg, png } = figure(world, found).draw().map_err(|e| Failure::Io(e.to_string()))?;
        let bytes = if self.svg { svg.into_bytes() } else { png };
        write_file(&self.file, &bytes).map_err(|e| Failure::Io(e.to_string()))?;
        output.talk(format_args!("drew {name}"));
        Ok(())
    }
}

/// Marks of the axis of Γ.
const TICKS: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 5.0, 10.0];

const BLUE: [u8; 3] = [0, 114, 178];
const GREEN: [u8; 3] = [0, 158, 115];
const VERMILION: [u8; 3] = [213, 94, 0];
const GREY: [u8; 3] = [120, 120, 120];

fn figure(world: &World, found: &Sensitivity) -> Figure {
    // The margin widens the curve that the claim rests on.
    let line = |label: &str, colour, dash, of: &[[f64; 2]], [below, above]: [f64; 2]| {
        let margins = found.margin.iter().map(|pair| pair[1]);
        let point =
            |(&[x, y], margin): (&[f64; 2], f64)| Point { x, y, low: y - below * margin, high: y + above * margin };
        let points = of.iter().zip(margins).map(point).collect();
        Series {
            label: label.into(),
            style: Style { colour, dash, marker: Marker::Circle },
            shape: Shape::Band,
            points,
        }
    };
    let margin = |claim: Claim| if found.claim == claim { 1.0 } else { 0.0 };
    let ends: Vec<[f64; 2]> = found.worst.iter().map(|&[gamma, _]| [gamma, found.behaviour]).collect();
    let greatest = found.worst.last().map_or(1.0, |pair| pair[0]);
    let mut series = vec![
        line("behaviour policy", GREY, Dash::Dashed, &ends, [0.0; 2]),
        line("best case", GREEN, Dash::Solid, &found.best, [0.0, margin(Claim::Worse)]),
        line("worst case", BLUE, Dash::Solid, &found.worst, [margin(Claim::Better), 0.0]),
    ];
    if (1.0..=greatest).contains(&found.gamma) {
        let (x, style) = (found.gamma, |dash| Style { colour: VERMILION, dash, marker: Marker::Diamond });
        let point = |y: f64| Point { x, y, low: y, high: y };
        // The label stands above all curves.
        let values = || found.worst.iter().chain(&found.best).map(|pair| pair[1]);
        let [low, high] = [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)];
        series.push(Series {
            label: format!("tipping Γ = {x:.2}"),
            style: style(Dash::Dotted),
            shape: Shape::Band,
            points: vec![point(found.behaviour), point(high + 0.1 * (high - low))],
        });
        let points = vec![point(found.behaviour)];
        series.push(Series { label: String::new(), style: style(Dash::Solid), shape: Shape::Points, points });
    }
    let is = match found.claim {
        Claim::Better => "better",
        Claim::Worse => "worse",
    };
    Figure {
        title: format!("{}: sensitivity to unmeasured confounding", world.name()),
        subtitle: format!(
            "Γ: an unrecorded cause changes the odds of the logged interventions at most Γ times, given the state. Below the \
             tipping point the policy is {is} than the behaviour policy; shaded: 95 % margin of the difference."
        ),
        x: Axis { label: "Γ".into(), scale: Scale::Log, ticks: Some(TICKS.to_vec()) },
        y: Axis { label: "value of the policy".into(), ..Axis::default() },
        series,
    }
}
