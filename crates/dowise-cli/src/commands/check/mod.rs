//! `dowise check`: is a world sound, how large is it, what is its structure worth?

mod effort;
mod features;
mod json;
mod learning;
mod report;

use std::path::{Path, PathBuf};

use dowise::{World, WorldError, draw};
use dowise_study::write_file;

use self::effort::Effort;
use self::features::FeatureReport;
use self::learning::Learning;
use crate::output::{Failure, Output, Status};
use crate::overwrite::{Files, Overwrite};
use crate::render;
use crate::worldfile::{self, WorldFile};

/// Check a world file; print its sizes and how much the graph reduces learning
///
/// Finds every mistake at once and shows where it is. For a sound world it prints the sizes, the number of cells that
/// each learner has to learn, regret bounds side by side, and whether F-UCBVI, which ignores key variables, is well
/// specified.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The world file, `-` for standard input; or a ready-made world.
    file: PathBuf,
    /// Number of episodes that the regret bounds are for.
    #[arg(long, value_name = "K", default_value_t = 5000)]
    episodes: u64,
    /// Draw the causal graph into this file, .svg or .dot.
    #[arg(long, value_name = "FILE")]
    draw: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise check campaign.toml
  dowise check campaign.toml --draw campaign.svg
  dowise check campaign.toml --json | jq .analysis.cells
  dowise new paper -o - | dowise check -

Exit status: 0 sound, 1 mistakes found, 2 wrong usage, 3 could not read or write.";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let picture = args.draw.as_deref().map(Picture::from_name).transpose()?;
    let mut files = Files::default();
    files.read("the world", Some(&args.file)).write("--draw", args.draw.as_deref());
    args.overwrite.check(&files, output)?;
    let name = args.file.display().to_string();
    let WorldFile { world, source } = worldfile::read(&args.file)?;
    let world = match world {
        Ok(world) => world,
        Err(error) => {
            if args.json {
                output.json(&json::Report::new(name, &error, None, None, None, None))?;
            } else {
                render::problems(&error, output);
            }
            return Ok(Status::No);
        }
    };
    if let (Some(picture), Some(file)) = (picture, &args.draw) {
        write_file(file, picture.draw(&world).as_bytes()).map_err(|e| Failure::Io(e.to_string()))?;
        output.talk(format_args!("drew {}", file.display()));
    }
    let analysis = world.analyse(args.episodes);
    let features = FeatureReport::of(&world);
    let effort = Effort::of(&world);
    let learning = Learning::of(&world);
    let findings = WorldError { problems: world.findings().to_vec(), sources: vec![source] };
    if args.json {
        let report = json::Report::new(name, &findings, Some(analysis), features, Some(effort), Some(learning));
        output.json(&report.with_episodes(&world))?;
        return Ok(Status::Fine);
    }
    for finding in &findings.problems {
        render::show(finding, &findings.sources, output);
    }
    output.data(report::report(&world, &analysis, features.as_ref(), &effort, &learning, output))?;
    Ok(Status::Fine)
}

/// A kind of picture.
enum Picture {
    Svg,
    Dot,
}

impl Picture {
    fn from_name(file: &Path) -> Result<Picture, Failure> {
        match file.extension().and_then(|e| e.to_str()) {
            Some("svg") => Ok(Picture::Svg),
            Some("dot" | "gv") => Ok(Picture::Dot),
            _ => Err(Failure::Usage(format!(
                "--draw {}: the name must end in .svg or .dot; other formats can be made from those",
                file.display()
            ))),
        }
    }

    fn draw(&self, world: &World) -> String {
        match self {
            Picture::Svg => draw::svg(world),
            Picture::Dot => draw::dot(world),
        }
    }
}
