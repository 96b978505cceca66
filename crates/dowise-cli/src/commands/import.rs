//! `dowise import`: a causal graph or a Bayesian network of another tool becomes a world file.

use std::path::{Path, PathBuf};

use dowise::WorldError;
use dowise::world::{Located, SetSpec, Severity, Source};
use dowise_formats::{Format, Missing, Payment, Roles, import, read_graph};
use dowise_study::{MOST_TEXT, read_text_file};

use super::new::write;
use crate::output::{Failure, Output, Status};
use crate::overwrite::Files;
use crate::render;

/// Make a world of a causal graph or a Bayesian network of another tool
///
/// Reads BIF, XMLBIF, DAGitty, DOT and GML, compressed by gzip or not. A graph does not say what can be set, what is
/// observed and what it is worth: give that by options, or in a file (--roles). Variables without a role are hidden. What
/// was assumed is said, and stands as comments in the world file.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The graph file.
    file: PathBuf,
    /// Where to write the world, `-` for standard output [default: the name of FILE, with .toml].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format of FILE [default: what its name ends in].
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<FormatName>,
    /// A TOML file with roles; options add to it.
    #[arg(long, value_name = "FILE")]
    roles: Option<PathBuf>,
    /// Variables that can be set.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    lever: Vec<String>,
    /// Variables that are observed, and act on the next state or the reward.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    key: Vec<String>,
    /// Variables that are not observed; so is everything that has no role.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    hidden: Vec<String>,
    /// A variable that is kept from step to step, and the variable that is its value at the next step.
    #[arg(long, value_name = "NAME:NEXT,...", value_delimiter = ',')]
    state: Vec<String>,
    /// What is paid when a variable has a value (1 if no amount is given); without a value, the numbers that its values
    /// are.
    #[arg(long, value_name = "NAME[=VALUE[:AMOUNT]]")]
    reward: Vec<String>,
    /// What setting a lever to a value costs.
    #[arg(long, value_name = "NAME=VALUE:AMOUNT")]
    cost: Vec<String>,
    /// Where a state factor starts [default: as the graph says for a root, or uniformly].
    #[arg(long, value_name = "NAME=VALUE")]
    start: Vec<String>,
    /// Values of a variable to which the graph gives none [default: 0,1].
    #[arg(long, value_name = "NAME=VALUE,...")]
    values: Vec<String>,
    /// Steps of an episode [default: 1].
    #[arg(long, value_name = "H")]
    horizon: Option<u64>,
    /// Which levers an intervention sets: `all`, `any`, or the most at once [default: all].
    #[arg(long, value_name = "RULE")]
    set: Option<String>,
    /// Leave mechanisms without numbers to be learned, instead of writing uniform placeholders.
    #[arg(long)]
    learn: bool,
    /// Overwrite the file if it is there.
    #[arg(short, long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise import asia.bif --lever smoke --key dysp --reward dysp=no
  dowise import clinic.bif --state health:health_next --lever dose --reward health=well --horizon 12
  dowise import M-bias.txt --reward D=1          DAGitty marks exposures and outcomes itself
  dowise import graph.dot --roles roles.toml -o world.toml

Exit status: 0 fine, 1 mistakes found, 2 wrong usage, 3 could not read or write.";

/// A format by name.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum FormatName {
    Bif,
    Xmlbif,
    Dagitty,
    Dot,
    Gml,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Format {
        match name {
            FormatName::Bif => Format::Bif,
            FormatName::Xmlbif => Format::XmlBif,
            FormatName::Dagitty => Format::Dagitty,
            FormatName::Dot => Format::Dot,
            FormatName::Gml => Format::Gml,
        }
    }
}

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let target = args.output.clone().unwrap_or_else(|| world_name(&args.file));
    let to_stdout = target == Path::new("-");
    let given = roles_of(&args)?;
    let Some((roles, roles_source)) = shown(roles_file(args.roles.as_deref())?, output) else { return Ok(Status::No) };
    let file = match read_graph(&args.file, args.from.map(Format::from)) {
        Ok(file) => file,
        // Without a source there is no text: nothing could be read.
        Err(error) if error.sources.is_empty() => return Err(unread(&error)),
        Err(error) => {
            render::problems(&error, output);
            return Ok(Status::No);
        }
    };
    if !to_stdout {
        let mut files = Files::default();
        files.read("the graph", Some(&args.file)).read("--roles", args.roles.as_deref());
        files.write("--output", Some(&target)).check_apart()?;
    }
    let Some(imported) = shown(import(&file, &roles.and(given), roles_source), output) else { return Ok(Status::No) };
    for note in &imported.notes {
        let word = if note.severity == Severity::Note { "note" } else { "warning" };
        output.talk(format_args!("{word}: {}", note.render(if note.at.is_some() { &imported.sources } else { &[] })));
    }
    if to_stdout {
        output.data(&imported.text)?;
        return Ok(Status::Fine);
    }
    write(&target, &imported.text, args.force)?;
    output.talk(format_args!("wrote {0}; next: dowise check {0}", target.display()));
    Ok(Status::Fine)
}

/// What was made, or `None` after what is wrong was shown.
fn shown<T>(made: Result<T, WorldError>, output: &Output) -> Option<T> {
    made.map_err(|error| render::problems(&error, output)).ok()
}

fn unread(error: &WorldError) -> Failure {
    match error.problems[0].code {
        "format" => Failure::Usage(error.to_string()),
        _ => Failure::Io(error.to_string()),
    }
}

/// `asia.bif.gz` becomes `asia.toml`, in the present directory.
fn world_name(file: &Path) -> PathBuf {
    let name = file.file_name().map_or_else(|| "world".into(), |name| name.to_string_lossy().into_owned());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    Path::new(name).with_extension("toml")
}

type FromFile = (Roles, Option<Source>);

fn roles_file(file: Option<&Path>) -> Result<Result<FromFile, WorldError>, Failure> {
    let Some(file) = file else { return Ok(Ok((Roles::default(), None))) };
    let text = read_text_file(file, MOST_TEXT).map_err(|e| Failure::Io(e.to_string()))?;
    let name = file.display().to_string();
    Ok(Roles::from_toml(&text, &name).map(|roles| (roles, Some(Source { name, text }))))
}

/// The roles that options state.
fn roles_of(args: &Args) -> Result<Roles, Failure> {
    let names = |names: &[String]| names.iter().map(|n| n.as_str().into()).collect();
    let pairs = |option: &str, texts: &[String], sign: char, form: &str| {
        let pair = |text: &String| match text.split_once(sign) {
            Some((a, b)) if !a.is_empty() && !b.is_empty() => Ok((a.into(), b.into())),
            _ => Err(Failure::Usage(format!("{option} takes {form}, not \"{text}\""))),
        };
        texts.iter().map(pair).collect::<Result<Vec<(Located<String>, Located<String>)>, Failure>>()
    };
    let values = pairs("--values", &args.values, '=', "NAME=VALUE,VALUE")?;
    let values = values.into_iter().map(|(name, list)| (name, list.value.split(',').map(Located::from).collect()));
    Ok(Roles {
        name: None,
        horizon: args.horizon.map(Located::from),
        levers: names(&args.lever),
        keys: names(&args.key),
        hidden: names(&args.hidden),
        states: pairs("--state", &args.state, ':', "NAME:NEXT")?,
        rewards: args.reward.iter().map(|text| payment("--reward", text, true)).collect::<Result<_, _>>()?,
        costs: args.cost.iter().map(|text| payment("--cost", text, false)).collect::<Result<_, _>>()?,
        starts: pairs("--start", &args.start, '=', "NAME=VALUE")?,
        values: values.collect(),
        set: args.set.as_deref().map(set_rule).transpose()?,
        missing: args.learn.then_some(Missing::Learn),
    })
}

/// `NAME=VALUE:AMOUNT`; where `short`, the amount may be left out, and the value with it. A value may have colons itself.
fn payment(option: &str, text: &str, short: bool) -> Result<Payment, Failure> {
    let form = if short { "NAME, NAME=VALUE or NAME=VALUE:AMOUNT" } else { "NAME=VALUE:AMOUNT" };
    let wrong = || Failure::Usage(format!("{option} takes {form}, not \"{text}\""));
    let Some((variable, rest)) = text.split_once('=') else {
        return if short && !text.is_empty() {
            Ok(Payment { variable: text.into(), value: None, amount: 1.0.into() })
        } else {
            Err(wrong())
        };
    };
    let amount = rest.rsplit_once(':').and_then(|(value, amount)| Some((value, amount.parse::<f64>().ok()?)));
    let (value, amount) = match amount {
        Some((value, amount)) => (value, amount),
        None if short => (rest, 1.0),
        None => return Err(wrong()),
    };
    Ok(Payment { variable: variable.into(), value: Some(value.into()), amount: amount.into() })
}

fn set_rule(text: &str) -> Result<SetSpec, Failure> {
    match (text, text.parse::<u64>()) {
        ("all", _) => Ok(SetSpec::All),
        ("any", _) => Ok(SetSpec::Any),
        (_, Ok(n)) => Ok(SetSpec::AtMost(n.into())),
        _ => Err(Failure::Usage(format!("--set takes all, any, or the most levers at once, not \"{text}\""))),
    }
}
