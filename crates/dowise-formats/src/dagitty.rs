//! DAGitty's model code: `dag { x [exposure] y [outcome] x -> y x <-> y }`.

use std::fmt::Write;

use dowise::WorldError;
use dowise::messages::nearest;
use dowise::world::{At, Problem, Source};

use crate::findings::Draft;
use crate::limits::DEEPEST;
use crate::network::{GraphFile, Network, Role};
use crate::scan::{Comments, Scanner, quoted, unescaped};

/// Marks of a variable, their short forms, and the roles they mean.
const MARKS: [(&str, &str, Role); 5] = [
    ("exposure", "e", Role::Lever),
    ("outcome", "o", Role::Key),
    ("latent", "l", Role::Hidden),
    ("adjusted", "a", Role::Adjusted),
    ("selected", "s", Role::Selected),
];

/// Longest first, so that no arrow is taken for the beginning of another.
const ARROWS: [(&str, Arrow); 9] = [
    ("<->", Arrow::Both),
    ("@-@", Arrow::Unclear),
    ("@->", Arrow::Unclear),
    ("<-@", Arrow::Unclear),
    ("@--", Arrow::Unclear),
    ("--@", Arrow::Unclear),
    ("->", Arrow::Right),
    ("<-", Arrow::Left),
    ("--", Arrow::Unclear),
];

#[derive(Clone, Copy)]
enum Arrow {
    Right,
    Left,
    Both,
    /// Does not say which of the two acts on the other.
    Unclear,
}

/// The variables on one side of an arrow, and the one that stands there by itself, if it is one.
type Side = (Vec<usize>, Option<usize>);

struct Reader<'t> {
    scanner: Scanner<'t>,
    draft: Draft,
}

pub(crate) fn read(source: Source) -> Result<GraphFile, WorldError> {
    let text = source.text.clone();
    let scanner = Scanner::new(&text, Comments { slashes: true, hash: true });
    let mut reader = Reader { scanner, draft: Draft::default() };
    if let Err(problem) = reader.graph() {
        reader.draft.findings.push(problem);
    }
    reader.draft.finish(source)
}

fn is_word(c: char) -> bool {
    !c.is_whitespace() && !"[]{}()<>;,=\"-@".contains(c)
}

impl Reader<'_> {
    fn graph(&mut self) -> Result<(), Problem> {
        match self.scanner.word(is_word) {
            Some(("dag" | "pdag" | "mag" | "pag" | "digraph", _)) => {}
            _ => {
                let at = Some(At { source: 0, start: 0, end: self.scanner.position() });
                let problem = Problem::error("syntax", "this does not begin like DAGitty's model code, with `dag {`");
                return Err(problem.help("copy the model code from DAGitty's page, or save the model again").at(at));
            }
        }
        if let Some((name, _)) = self.name()? {
            self.draft.network.name = name;
        }
        self.scanner.expect("{", " behind `dag`")?;
        self.statements(0)?;
        match self.scanner.peek() {
            None => Ok(()),
            Some(_) => Err(self.scanner.expected("the end of the file").help("one graph in a file")),
        }
    }

    /// A name, in quotes or not.
    fn name(&mut self) -> Result<Option<(String, Option<At>)>, Problem> {
        if let Some((text, at)) = self.scanner.quoted(true)? {
            return Ok(Some((unescaped(text).into_owned(), at)));
        }
        Ok(self.scanner.word(is_word).map(|(word, at)| (word.to_owned(), at)))
    }

    /// Statements up to the closing brace; the variables that they mention.
    fn statements(&mut self, depth: usize) -> Result<Vec<usize>, Problem> {
        let mut mentioned = vec![];
        loop {
            while self.scanner.eat(";") || self.scanner.eat(",") {}
            if self.scanner.eat("}") {
                return Ok(mentioned);
            }
            self.statement(depth, &mut mentioned)?;
        }
    }

    fn statement(&mut self, depth: usize, mentioned: &mut Vec<usize>) -> Result<(), Problem> {
        let Some((mut left, alone)) = self.side(depth)? else { return Ok(()) };
        mentioned.extend(&left);
        let mut edges = false;
        loop {
            self.scanner.skip();
            let start = self.scanner.position();
            let Some(&(_, arrow)) = ARROWS.iter().find(|(sign, _)| self.scanner.eat(sign)) else { break };
            let sign = self.scanner.since(start);
            let Some((right, _)) = self.side(depth)? else { break };
            mentioned.extend(&right);
            for &l in &left {
                for &r in &right {
                    self.connect(l, arrow, r, sign);
                }
            }
            left = right;
            edges = true;
        }
        if self.scanner.eat("[") {
            self.options(if edges { None } else { alone })?;
        }
        Ok(())
    }

    /// One side of an arrow: a variable or a group in braces. `None`: an option of the whole graph, such as `bb="…"`.
    fn side(&mut self, depth: usize) -> Result<Option<Side>, Problem> {
        if self.scanner.peek() == Some('{') {
            if depth == DEEPEST {
                return Err(self.scanner.expected("a name").help(format!("groups are nested at most {DEEPEST} deep")));
            }
            self.scanner.eat("{");
            return Ok(Some((self.statements(depth + 1)?, None)));
        }
        let Some((name, at)) = self.name()? else {
            return Err(self.scanner.expected("a variable's name or `}`"));
        };
        if self.scanner.eat("=") {
            if self.name()?.is_none() {
                return Err(self.scanner.expected("a value behind `=`"));
            }
            return Ok(None);
        }
        let found = self.draft.mention(&name, at);
        Ok(Some((found.into_iter().collect(), found)))
    }

    fn connect(&mut self, left: usize, arrow: Arrow, right: usize, at: Option<At>) {
        match arrow {
            Arrow::Right => self.draft.edge(left, right, at),
            Arrow::Left => self.draft.edge(right, left, at),
            Arrow::Both => self.draft.bidirected(left, right, at),
            Arrow::Unclear => {
                let [l, r] = [left, right].map(|i| self.draft.network.variables[i].name.clone());
                let message = format!("the edge between \"{l}\" and \"{r}\" does not say which acts on which");
                let help = "write ->, <-, or <-> for a common cause that is not in the graph";
                self.draft.findings.push(Problem::error("undirected", message).help(help).at(at));
            }
        }
    }

    /// Options in brackets, behind a variable (`Some`) or an edge.
    fn options(&mut self, variable: Option<usize>) -> Result<(), Problem> {
        while !self.scanner.eat("]") {
            if self.scanner.eat(",") || self.scanner.eat(";") {
                continue;
            }
            let Some((word, at)) = self.name()? else {
                return Err(self.scanner.expected("a mark such as `exposure`, or `]`"));
            };
            let value = if self.scanner.eat("=") {
                // Numbers may be negative, and names have no minus.
                let sign = if self.scanner.eat("-") { "-" } else { "" };
                let Some((value, _)) = self.name()? else {
                    return Err(self.scanner.expected("a value behind `=`"));
                };
                Some(format!("{sign}{value}"))
            } else {
                None
            };
            let Some(i) = variable else { continue };
            match value {
                Some(value) => self.draft.network.variables[i].properties.push(format!("{word}={value}")),
                None => self.mark(i, &word, at),
            }
        }
        Ok(())
    }

    fn mark(&mut self, i: usize, word: &str, at: Option<At>) {
        let Some((_, _, role)) = MARKS.iter().find(|(long, short, _)| word == *long || word == *short) else {
            let known = MARKS.map(|m| m.0);
            let help = match nearest(word, known.into_iter()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the marks are {}", known.join(", ")),
            };
            let message = format!("`{word}` is no mark of a variable");
            self.draft.findings.push(Problem::error("unknown-key", message).help(help).at(at));
            return;
        };
        let variable = &mut self.draft.network.variables[i];
        match &variable.role {
            Some(other) if other != role => {
                let [one, two] = [other, role].map(|r| MARKS.iter().find(|m| m.2 == *r).map_or("", |m| m.0));
                let message = format!("\"{}\" is marked as `{one}` and as `{two}`", variable.name);
                self.draft.findings.push(Problem::error("two-forms", message).help("keep one of them").at(at));
            }
            _ => variable.role = Some(role.clone()),
        }
    }
}

pub(crate) fn write(network: &Network) -> String {
    let mut out = String::from("dag ");
    if !network.name.is_empty() {
        let _ = write!(out, "{} ", quoted(&network.name));
    }
    out.push_str("{\n");
    for variable in &network.variables {
        let mark = variable.role.as_ref().and_then(|role| MARKS.iter().find(|m| m.2 == *role)).map(|m| m.0.to_owned());
        let others = variable.properties.iter().filter_map(|p| p.split_once('='));
        let others = others.map(|(key, value)| format!("{}={}", name(key), quoted(value)));
        let options: Vec<String> = mark.into_iter().chain(others).collect();
        let options = if options.is_empty() { String::new() } else { format!(" [{}]", options.join(",")) };
        let _ = writeln!(out, "{}{options}", name(&variable.name));
    }
    for variable in &network.variables {
        for &parent in &variable.parents {
            let _ = writeln!(out, "{} -> {}", name(&network.variables[parent].name), name(&variable.name));
        }
    }
    for [one, other] in &network.bidirected {
        let [one, other] = [one, other].map(|&i| name(&network.variables[i].name));
        let _ = writeln!(out, "{one} <-> {other}");
    }
    out.push_str("}\n");
    out
}

/// A name: in quotes if it has anything but letters, digits, `_` and `.`.
fn name(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.".contains(c));
    if plain { name.to_owned() } else { quoted(name) }
}
