//! Reads DOT: statements, groups and subgraphs, defaults of edges; of the attributes only those that mean something here.

use dowise::WorldError;
use dowise::world::{At, Problem, Source};

use super::{ROLE, VALUES, split};
use crate::findings::Draft;
use crate::limits::DEEPEST;
use crate::network::{GraphFile, Role};
use crate::scan::{Comments, Scanner};

/// Which way an edge points.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Forward,
    Back,
    Both,
    None,
}

/// An attribute with the place of its value.
type Attribute = (String, String, Option<At>);

struct Reader<'t> {
    scanner: Scanner<'t>,
    draft: Draft,
    directed: bool,
}

pub(crate) fn read(source: Source) -> Result<GraphFile, WorldError> {
    let text = source.text.clone();
    let scanner = Scanner::new(&text, Comments { slashes: true, hash: true });
    let mut reader = Reader { scanner, draft: Draft::default(), directed: true };
    if let Err(problem) = reader.graph() {
        reader.draft.findings.push(problem);
    }
    reader.draft.finish(source)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.' || c >= '\u{80}'
}

impl Reader<'_> {
    fn graph(&mut self) -> Result<(), Problem> {
        let mut word = self.scanner.word(is_word);
        if word.is_some_and(|(w, _)| w.eq_ignore_ascii_case("strict")) {
            word = self.scanner.word(is_word);
        }
        match word.map(|(w, at)| (w.to_ascii_lowercase(), at)) {
            Some((w, _)) if w == "digraph" => {}
            Some((w, at)) if w == "graph" => {
                self.directed = false;
                let problem =
                    Problem::error("undirected", "this graph is undirected, so it does not say what acts on what");
                self.draft.findings.push(problem.help("write `digraph`, and `->` for edges").at(at));
            }
            _ => {
                let at = Some(At { source: 0, start: 0, end: self.scanner.position() });
                let problem = Problem::error("syntax", "this does not begin like DOT, with `digraph {`");
                return Err(problem.help("check that it is the file you meant").at(at));
            }
        }
        if let Some((name, _)) = self.name()? {
            self.draft.network.name = name;
        }
        self.scanner.expect("{", " behind `digraph`")?;
        self.statements(0, Direction::Forward)?;
        match self.scanner.peek() {
            None => Ok(()),
            Some(_) => Err(self.scanner.expected("the end of the file").help("one graph in a file")),
        }
    }

    /// A name: a word, a number, a text in quotes (several may be joined by `+`), or markup between angle brackets.
    fn name(&mut self) -> Result<Option<(String, Option<At>)>, Problem> {
        if let Some((text, at)) = self.scanner.quoted(true)? {
            let mut text = unquoted(text);
            while self.scanner.eat("+") {
                let Some((more, _)) = self.scanner.quoted(true)? else {
                    return Err(self.scanner.expected("a text in quotes behind `+`"));
                };
                text += &unquoted(more);
            }
            return Ok(Some((text, at)));
        }
        self.scanner.skip();
        let start = self.scanner.position();
        match self.scanner.peek() {
            Some('<') => {
                let mut depth = 0usize;
                loop {
                    match self.scanner.advance() {
                        Some('<') => depth += 1,
                        Some('>') if depth == 1 => break,
                        Some('>') => depth -= 1,
                        Some(_) => {}
                        None => return Err(self.scanner.expected("`>`, which closes the markup")),
                    }
                }
                Ok(Some((self.scanner.from(start).to_owned(), self.scanner.since(start))))
            }
            Some('-') if self.scanner.rest()[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                self.scanner.advance();
                let _ = self.scanner.word(is_word);
                Ok(Some((self.scanner.from(start).to_owned(), self.scanner.since(start))))
            }
            _ => Ok(self.scanner.word(is_word).map(|(word, at)| (word.to_owned(), at))),
        }
    }

    /// Statements up to the closing brace; the variables that they mention.
    fn statements(&mut self, depth: usize, mut default: Direction) -> Result<Vec<usize>, Problem> {
        let mut mentioned = vec![];
        loop {
            while self.scanner.eat(";") || self.scanner.eat(",") {}
            if self.scanner.eat("}") {
                return Ok(mentioned);
            }
            self.statement(depth, &mut default, &mut mentioned)?;
        }
    }

    fn statement(&mut self, depth: usize, default: &mut Direction, mentioned: &mut Vec<usize>) -> Result<(), Problem> {
        let Some(mut left) = self.side(depth, *default)? else { return Ok(()) };
        if let Side::Defaults(of) = &left {
            let attributes = self.attributes()?;
            if of == "edge" {
                *default = direction(&attributes, *default)?;
            }
            return Ok(());
        }
        let mut pairs = vec![];
        mentioned.extend(left.variables());
        loop {
            self.scanner.skip();
            let start = self.scanner.position();
            let sign = if self.scanner.eat("->") {
                "->"
            } else if self.scanner.eat("--") {
                "--"
            } else {
                break;
            };
            let at = self.scanner.since(start);
            if sign == "--" && self.directed {
                let problem = Problem::error("undirected", "`--` in a directed graph does not say what acts on what");
                self.draft.findings.push(problem.help("write `->`").at(at));
            }
            let Some(right) = self.side(depth, *default)? else { break };
            mentioned.extend(right.variables());
            for &l in left.variables() {
                pairs.extend(right.variables().iter().map(|&r| (l, r, at)));
            }
            left = right;
        }
        let attributes = self.attributes()?;
        if pairs.is_empty() {
            if let Side::One(variable) = &left
                && let [i] = variable[..]
            {
                self.describe(i, &attributes);
            }
            return Ok(());
        }
        let direction = direction(&attributes, *default)?;
        for (l, r, at) in pairs {
            match direction {
                Direction::Forward => self.draft.edge(l, r, at),
                Direction::Back => self.draft.edge(r, l, at),
                Direction::Both => self.draft.bidirected(l, r, at),
                Direction::None => {
                    let problem =
                        Problem::error("undirected", "an edge with `dir=none` does not say what acts on what");
                    self.draft.findings.push(problem.help("take `dir=none` out").at(at));
                }
            }
        }
        Ok(())
    }

    /// One side of an edge; `None`: an attribute of the whole graph, such as `rankdir=LR`.
    fn side(&mut self, depth: usize, default: Direction) -> Result<Option<Side>, Problem> {
        self.scanner.skip();
        let before = self.scanner.position();
        let named = self.name()?;
        let in_quotes = self.scanner.from(before).starts_with('"');
        let word = named.as_ref().filter(|_| !in_quotes).map(|(word, _)| word.to_ascii_lowercase());
        if word.as_deref() == Some("subgraph") {
            self.name()?;
        }
        if (named.is_none() || word.as_deref() == Some("subgraph")) && self.scanner.peek() == Some('{') {
            if depth == DEEPEST {
                return Err(self.scanner.expected("a name").help(format!("groups are nested at most {DEEPEST} deep")));
            }
            self.scanner.eat("{");
            return Ok(Some(Side::Group(self.statements(depth + 1, default)?)));
        }
        let Some((name, at)) = named else {
            return Err(self.scanner.expected("a variable's name or `}`"));
        };
        if let Some(of) = word.filter(|w| ["node", "edge", "graph"].contains(&w.as_str())) {
            return Ok(Some(Side::Defaults(of)));
        }
        if self.scanner.eat("=") {
            if self.name()?.is_none() {
                return Err(self.scanner.expected("a value behind `=`"));
            }
            return Ok(None);
        }
        // A port says where an edge meets the node, which means nothing here.
        while self.scanner.eat(":") {
            self.name()?;
        }
        Ok(Some(Side::One(self.draft.mention(&name, at).into_iter().collect())))
    }

    /// Attributes in brackets, if there are any.
    fn attributes(&mut self) -> Result<Vec<Attribute>, Problem> {
        let mut attributes = vec![];
        while self.scanner.eat("[") {
            while !self.scanner.eat("]") {
                if self.scanner.eat(",") || self.scanner.eat(";") {
                    continue;
                }
                let Some((key, at)) = self.name()? else {
                    return Err(self.scanner.expected("an attribute or `]`"));
                };
                let mut value = ("true".to_owned(), at);
                if self.scanner.eat("=") {
                    let Some(given) = self.name()? else {
                        return Err(self.scanner.expected("a value behind `=`"));
                    };
                    value = given;
                }
                attributes.push((key, value.0, value.1));
            }
        }
        Ok(attributes)
    }

    /// What attributes say of a variable.
    fn describe(&mut self, i: usize, attributes: &[Attribute]) {
        for (key, value, at) in attributes {
            let variable = &mut self.draft.network.variables[i];
            match key.as_str() {
                VALUES => variable.values = split(value),
                ROLE => match Role::of_words(value) {
                    Some(role) => variable.role = Some(role),
                    None => {
                        let message = format!("\"{}\" has the role `{value}`", variable.name);
                        let help = "roles are lever, key, hidden, state and `next of NAME`";
                        self.draft.findings.push(Problem::error("unknown-key", message).help(help).at(*at));
                    }
                },
                _ => {}
            }
        }
    }
}

enum Side {
    One(Vec<usize>),
    Group(Vec<usize>),
    /// `node [...]`, `edge [...]`, `graph [...]`
    Defaults(String),
}

impl Side {
    fn variables(&self) -> &[usize] {
        match self {
            Side::One(variables) | Side::Group(variables) => variables,
            Side::Defaults(_) => &[],
        }
    }
}

fn direction(attributes: &[Attribute], default: Direction) -> Result<Direction, Problem> {
    let Some((_, value, at)) = attributes.iter().rev().find(|(key, _, _)| key == "dir") else { return Ok(default) };
    match value.as_str() {
        "forward" => Ok(Direction::Forward),
        "back" => Ok(Direction::Back),
        "both" => Ok(Direction::Both),
        "none" => Ok(Direction::None),
        _ => {
            let message = format!("an edge has the direction `{value}`");
            Err(Problem::error("unknown-key", message).help("directions are forward, back and both").at(*at))
        }
    }
}

/// In DOT a backslash is taken off in front of a quote, and in front of the end of a line, which goes on then.
fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match letters.next() {
            Some('"') => out.push('"'),
            Some('\n') => {}
            next => out.extend([c].into_iter().chain(next)),
        }
    }
    out
}
