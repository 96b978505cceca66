//! A network and roles become a world.

mod assign;
mod build;

use dowise::diagnostics::Problems;
use dowise::world::{Problem, Severity, Source};
use dowise::{World, WorldError};

use self::assign::Cast;
use crate::findings::{finish, some_of};
use crate::network::GraphFile;
use crate::roles::Roles;

/// A world made of a graph.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The world.
    pub world: World,
    /// The same as a world file, with what was assumed as comments at its top.
    pub text: String,
    /// What was assumed, left out or mended; none is an error.
    pub notes: Vec<Problem>,
    /// The texts that the places of `notes` point into.
    pub sources: Vec<Source>,
}

/// Makes a world of a graph; `roles_source` is the file that the roles were read from, if any.
///
/// Variables that have no role are hidden: they are marginalised out, and left out where nothing observed depends on them. A
/// bidirected edge becomes a hidden variable that acts on both ends. Numbers that the graph does not have are stated by
/// [`Roles::missing`].
pub fn import(file: &GraphFile, roles: &Roles, roles_source: Option<Source>) -> Result<Imported, WorldError> {
    let sources: Vec<Source> = [file.source.clone()].into_iter().chain(roles_source).collect();
    let mut findings = Problems::default();
    file.findings.iter().for_each(|finding| findings.push(finding.clone()));
    let cast = Cast::of(file, roles, &mut findings);
    let stated = cast.map(|cast| build::state(&cast, roles, title(&file.source.name), &mut findings));
    let (mut notes, sources) = finish(findings, sources)?;
    let stated = stated.expect("invariant: without a cast there is an error");
    let world = World::new(stated.spec).map_err(|error| {
        let problems = error.problems.into_iter().filter(|p| p.severity == Severity::Error);
        WorldError { problems: problems.collect(), sources: sources.clone() }
    })?;
    let mut comments = vec![format!("Imported from {}.", file_name(&sources[0].name))];
    if !stated.placeholders.is_empty() {
        let message = format!(
            "the numbers of {} are placeholders: uniform tables, since the graph has none",
            some_of(&stated.placeholders)
        );
        comments.push(format!(
            "The numbers of these are placeholders, uniform tables, since the graph has none: {}.",
            all_of(&stated.placeholders)
        ));
        let help = "write in what is known, or leave them to be learned (--learn); plans mean nothing before that";
        notes.push(Problem::warning("placeholder", message).help(help));
    }
    comments.extend(stated.comments);
    // A comment of TOML ends at a line break and has no other control characters; names of another tool may have any.
    let header: String = comments.iter().map(|c| format!("# {}\n", c.replace(char::is_control, " "))).collect();
    let text = header + &world.to_toml();
    Ok(Imported { world, text, notes, sources })
}

/// The last part of a path, so that a world file does not tell where its maker keeps files.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// What a file is called, without its ending.
fn title(path: &str) -> &str {
    let name = file_name(path);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.rsplit_once('.').map_or(name, |(title, _)| title)
}

/// All names, in quotes.
fn all_of(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
