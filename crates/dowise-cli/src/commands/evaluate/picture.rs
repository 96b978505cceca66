//! Predictions against what was observed, as pictures.

use std::path::{Path, PathBuf};

use dowise::World;
use dowise::offline::{Bin, Calibration};
use dowise_study::{Axis, Dash, Drawing, Figure, Marker, Point, Series, Shape, Style, write_file};

use crate::output::{Failure, Output};

/// Where the pictures go.
pub(super) struct Pictures {
    probabilities: PathBuf,
    returns: PathBuf,
    svg: bool,
}

impl Pictures {
    pub(super) fn from_name(file: &Path) -> Result<Pictures, Failure> {
        let svg = match file.extension().and_then(|e| e.to_str()) {
            Some("svg") => true,
            Some("png") => false,
            _ => {
                let name = file.display();
                return Err(Failure::Usage(format!("--draw {name}: the name must end in .svg or .png")));
            }
        };
        let stem = file.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let returns = file.with_file_name(format!("{stem}-returns.{}", if svg { "svg" } else { "png" }));
        Ok(Pictures { probabilities: file.to_owned(), returns, svg })
    }

    /// All of them.
    pub(super) fn files(&self) -> [&Path; 2] {
        [&self.probabilities, &self.returns]
    }

    pub(super) fn draw(&self, world: &World, calibration: &Calibration, output: &Output) -> Result<(), Failure> {
        for (file, figure) in
            [(&self.probabilities, probabilities(world, calibration)), (&self.returns, returns(world, calibration))]
        {
            let Drawing { svg, png } = figure.draw().map_err(|e| Failure::Io(e.to_string()))?;
            let bytes = if self.svg { svg.into_bytes() } else { png };
            write_file(file, &bytes).map_err(|e| Failure::Io(e.to_string()))?;
            output.talk(format_args!("drew {}", file.display()));
        }
        Ok(())
    }
}

const BLUE: [u8; 3] = [0, 114, 178];
const VERMILION: [u8; 3] = [213, 94, 0];
const GREY: [u8; 3] = [120, 120, 120];

fn style(colour: [u8; 3], dash: Dash, marker: Marker) -> Style {
    Style { colour, dash, marker }
}

fn point(x: f64, bin: &Bin) -> Point {
    Point { x, y: bin.observed, low: bin.interval.low, high: bin.interval.high }
}

/// A line without a band.
fn line(label: &str, style: Style, points: impl Iterator<Item = (f64, f64)>) -> Series {
    let points = points.map(|(x, y)| Point { x, y, low: y, high: y }).collect();
    Series { label: label.into(), style, shape: Shape::Band, points }
}

/// Probabilities of key variables and of next values: what was predicted across, how often it happened up.
fn probabilities(world: &World, calibration: &Calibration) -> Figure {
    let of = |is_key: bool, label: &str, style: Style| {
        let bins = calibration.variables.iter().filter(|v| v.is_key == is_key).flat_map(|v| &v.bins);
        let mut points: Vec<Point> = bins.map(|bin| point(bin.predicted, bin)).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { label: label.into(), style, shape: Shape::Points, points }
    };
    let diagonal = line("", style(GREY, Dash::Dotted, Marker::Circle), [(0.0, 0.0), (1.0, 1.0)].into_iter());
    Figure {
        title: format!("{}: predicted and observed", world.name()),
        subtitle:
            "A point for each variable and tenth of predicted probability, by models that have not seen the episode; \
                   bars: 95 % (Wilson). Right predictions lie on the dotted line."
                .into(),
        x: Axis { label: "predicted probability".into(), ..Axis::default() },
        y: Axis { label: "observed frequency".into(), ..Axis::default() },
        series: vec![
            diagonal,
            of(true, "key variables", style(BLUE, Dash::Solid, Marker::Circle)),
            of(false, "next state", style(VERMILION, Dash::Solid, Marker::Diamond)),
        ],
    }
}

/// What the rest of an episode brings, stage by stage.
fn returns(world: &World, calibration: &Calibration) -> Figure {
    let stages = || calibration.returns.iter().enumerate().map(|(h, bin)| ((h + 1) as f64, bin));
    let predicted =
        line("predicted", style(GREY, Dash::Dashed, Marker::Circle), stages().map(|(h, b)| (h, b.predicted)));
    let observed = Series {
        label: "observed".into(),
        style: style(BLUE, Dash::Solid, Marker::Circle),
        shape: Shape::Points,
        points: stages().map(|(h, b)| point(h, b)).collect(),
    };
    Figure {
        title: format!("{}: what the rest of an episode brings", world.name()),
        subtitle:
            "Of the behaviour policy; predicted by models that have not seen the episode; bars: 95 % of the mean."
                .into(),
        x: Axis { label: "stage".into(), ..Axis::default() },
        y: Axis { label: "rewards less costs from the stage on".into(), ..Axis::default() },
        series: vec![predicted, observed],
    }
}
