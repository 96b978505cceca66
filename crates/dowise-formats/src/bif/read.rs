//! Reads BIF: blocks `network`, `variable` and `probability`, in any order.
//!
//! Between names and numbers `,` and `|` mean nothing. Rows of a table are found by the labels of the parents' values.

use std::borrow::Cow;

use dowise::WorldError;
use dowise::world::{At, Problem, Source};

use crate::findings::Draft;
use crate::network::{GraphFile, Variable, split_role};
use crate::scan::{Comments, Scanner, unescaped};
use crate::tables::{Rows, Tables};

/// A name or a label with its place.
type Token<'t> = (Cow<'t, str>, Option<At>);

/// A `probability` block as written.
struct Block<'t> {
    names: Vec<Token<'t>>,
    rows: Rows<'t>,
}

struct Reader<'t> {
    scanner: Scanner<'t>,
    draft: Draft,
    blocks: Vec<Block<'t>>,
}

pub(crate) fn read(source: Source) -> Result<GraphFile, WorldError> {
    let text = source.text.clone();
    let scanner = Scanner::new(&text, Comments { slashes: true, hash: false });
    let mut reader = Reader { scanner, draft: Draft::default(), blocks: vec![] };
    while reader.scanner.peek().is_some() {
        if let Err(problem) = reader.block() {
            reader.draft.findings.push(problem);
            reader.recover();
        }
    }
    let Reader { mut draft, blocks, .. } = reader;
    let mut tables = Tables::new(&mut draft);
    for Block { names, rows } in blocks {
        tables.add(&names, rows);
    }
    tables.finish();
    draft.finish(source)
}

/// Letters of a name, a label or a number.
fn is_word(c: char) -> bool {
    !c.is_whitespace() && !"{}()[],|;\"".contains(c)
}

impl<'t> Reader<'t> {
    fn block(&mut self) -> Result<(), Problem> {
        let before = self.scanner.position();
        match self.scanner.word(is_word) {
            Some(("network", _)) => self.network(),
            Some(("variable", _)) => self.variable(),
            Some(("probability", _)) => self.probability(),
            word => {
                let at = self.scanner.since(before);
                let mut problem = self.scanner.expected("`network`, `variable` or `probability`");
                if let Some((word, place)) = word {
                    problem = Problem::error(
                        "syntax",
                        format!("expected `network`, `variable` or `probability`, found `{word}`"),
                    )
                    .at(place.or(at));
                }
                Err(problem.help("a remark goes behind // or between /* and */"))
            }
        }
    }

    /// Goes on behind the block in which something is wrong.
    fn recover(&mut self) {
        let mut depth = 0usize;
        loop {
            self.scanner.skip();
            // The next block begins: a closing brace was forgotten.
            let rest = self.scanner.rest();
            let begins = |word: &str| rest.strip_prefix(word).is_some_and(|r| r.starts_with(|c: char| !is_word(c)));
            if ["variable", "probability", "network"].into_iter().any(begins) {
                return;
            }
            match self.scanner.peek() {
                None => return,
                Some('{') => depth += 1,
                Some('}') if depth <= 1 => {
                    self.scanner.advance();
                    return;
                }
                Some('}') => depth -= 1,
                Some(_) => {
                    if self.scanner.word(is_word).is_some() {
                        continue;
                    }
                }
            }
            self.scanner.advance();
        }
    }

    /// `,` and `|` mean nothing.
    fn separators(&mut self) {
        while self.scanner.eat(",") || self.scanner.eat("|") {}
    }

    /// A name, a label or a number, in quotes or not.
    fn token(&mut self) -> Result<Option<Token<'t>>, Problem> {
        self.separators();
        if let Some((text, at)) = self.scanner.quoted(true)? {
            return Ok(Some((unescaped(text), at)));
        }
        Ok(self.scanner.word(is_word).map(|(word, at)| (Cow::Borrowed(word), at)))
    }

    fn needed(&mut self, what: &str) -> Result<Token<'t>, Problem> {
        match self.token()? {
            Some(token) => Ok(token),
            None => Err(self.scanner.expected(what)),
        }
    }

    fn network(&mut self) -> Result<(), Problem> {
        let (name, _) = self.needed("the network's name")?;
        self.draft.network.name = if name == "unknown" { String::new() } else { name.into_owned() };
        self.scanner.expect("{", " behind the network's name")?;
        while !self.scanner.eat("}") {
            match self.scanner.word(is_word) {
                Some(("property", _)) => {
                    let property = self.property()?;
                    self.draft.network.properties.push(property);
                }
                word => return Err(self.unexpected(word, "`property` or `}` in the network's block")),
            }
        }
        Ok(())
    }

    /// The text of a property, up to the semicolon; quotes around the whole of it are cut off.
    fn property(&mut self) -> Result<String, Problem> {
        if let Some((text, _)) = self.scanner.quoted(true)? {
            if self.scanner.eat(";") {
                return Ok(unescaped(text).into_owned());
            }
            return Err(self.scanner.expected("`;` behind the property"));
        }
        self.scanner.skip();
        let start = self.scanner.position();
        loop {
            match self.scanner.peek() {
                Some(';') => break,
                Some('"') => {
                    self.scanner.quoted(true)?;
                }
                Some('}') | None => return Err(self.scanner.expected("`;` behind the property")),
                Some(_) => {
                    self.scanner.advance();
                }
            }
        }
        let text = self.scanner.from(start).trim().to_owned();
        self.scanner.eat(";");
        Ok(text)
    }

    /// Says that something else was expected where this word stands.
    fn unexpected(&mut self, word: Option<(&str, Option<At>)>, what: &str) -> Problem {
        if let Some((_, Some(at))) = word {
            self.scanner.back(at.start);
        }
        self.scanner.expected(what)
    }

    fn variable(&mut self) -> Result<(), Problem> {
        let (name, at) = self.needed("the variable's name")?;
        let mut variable = Variable { name: name.into_owned(), ..Variable::default() };
        let read = self.variable_block(&mut variable, at);
        // Declared even if something is wrong with it, so that its name is known where it is used.
        self.draft.declare(variable, at);
        read
    }

    fn variable_block(&mut self, variable: &mut Variable, at: Option<At>) -> Result<(), Problem> {
        self.scanner.expect("{", " behind the variable's name")?;
        let mut typed = false;
        let mut properties = vec![];
        while !self.scanner.eat("}") {
            match self.scanner.word(is_word) {
                Some(("type", place)) => {
                    if std::mem::replace(&mut typed, true) {
                        let message = format!("\"{}\" has two types", variable.name);
                        return Err(Problem::error("two-forms", message).help("keep one of them").at(place));
                    }
                    variable.values = self.values(&variable.name)?;
                }
                Some(("property", _)) => properties.push(self.property()?),
                word => {
                    let help = "if the block ends here, close it by `}`";
                    return Err(self.unexpected(word, "`type`, `property` or `}` in a variable's block").help(help));
                }
            }
        }
        if !typed {
            let message = format!("variable \"{}\" has no type", variable.name);
            let help = "add its values, such as `type discrete [ 2 ] { no, yes };`";
            self.draft.findings.push(Problem::error("missing-key", message).help(help).at(at));
        }
        (variable.role, variable.properties) = split_role(properties);
        Ok(())
    }

    /// `discrete [ 2 ] { no, yes };`
    fn values(&mut self, variable: &str) -> Result<Vec<String>, Problem> {
        let (kind, at) = self.needed("`discrete`")?;
        if kind != "discrete" {
            let message = format!("\"{variable}\" is of type `{kind}`");
            let help = "only `discrete` variables are read; cut a continuous one into bins first";
            return Err(Problem::error("wrong-type", message).help(help).at(at));
        }
        let mut stated = None;
        if self.scanner.eat("[") {
            stated = Some(self.needed("the number of values")?);
            self.scanner.expect("]", " behind the number of values")?;
        }
        self.scanner.expect("{", " before the values")?;
        let mut values = vec![];
        while let Some((value, at)) = self.token()? {
            if values.contains(&value.as_ref().to_owned()) {
                let message = format!("\"{variable}\" has two values called \"{value}\"");
                let help = "rename or remove one of them";
                self.draft.findings.push(Problem::error("duplicate-value", message).help(help).at(at));
            }
            values.push(value.into_owned());
        }
        self.scanner.expect("}", " behind the values")?;
        self.scanner.expect(";", " behind the values")?;
        if let Some((number, at)) = stated.filter(|(number, _)| number.parse() != Ok(values.len())) {
            let message = format!("\"{variable}\" should have {number} values, but {} are listed", values.len());
            self.draft.findings.push(Problem::error("values", message).help("correct the number or the list").at(at));
        }
        Ok(values)
    }

    fn probability(&mut self) -> Result<(), Problem> {
        self.scanner.expect("(", " behind `probability`")?;
        let mut names = vec![];
        while let Some(name) = self.token()? {
            names.push(name);
        }
        if names.is_empty() {
            return Err(self.scanner.expected("the variable's name"));
        }
        self.scanner.expect(")", " behind the names")?;
        self.scanner.expect("{", " behind the names")?;
        let mut rows = Rows::default();
        while !self.scanner.eat("}") {
            self.scanner.skip();
            let start = self.scanner.position();
            if self.scanner.eat("(") {
                let mut labels = vec![];
                while let Some(label) = self.token()? {
                    labels.push(label);
                }
                self.scanner.expect(")", " behind the parents' values")?;
                let at = self.scanner.since(start);
                let numbers = self.numbers()?;
                rows.labelled.push((labels, numbers, at));
                continue;
            }
            match self.scanner.word(is_word) {
                Some(("table", at)) => once(&mut rows.table, self.numbers()?, at, "table")?,
                Some(("default", at)) => once(&mut rows.default, self.numbers()?, at, "default")?,
                Some(("property", _)) => {
                    self.property()?;
                }
                Some((word, at)) => {
                    let message = format!("expected a row, `table`, `default`, `property` or `}}`, found `{word}`");
                    let help = "a row begins with the parents' values, such as `(yes, no) 0.2, 0.8;`";
                    return Err(Problem::error("syntax", message).help(help).at(at));
                }
                None => return Err(self.scanner.expected("a row, `table`, `default`, `property` or `}`")),
            }
        }
        self.blocks.push(Block { names, rows });
        Ok(())
    }

    /// Numbers up to a semicolon.
    fn numbers(&mut self) -> Result<Vec<(f64, Option<At>)>, Problem> {
        let mut numbers = vec![];
        while let Some((word, at)) = self.token()? {
            let number = word.parse::<f64>().ok().filter(|p| p.is_finite());
            let Some(number) = number else {
                let message = format!("expected a probability, found `{word}`");
                return Err(Problem::error("wrong-type", message).help("numbers end with `;`").at(at));
            };
            numbers.push((number, at));
        }
        self.scanner.expect(";", " behind the numbers")?;
        Ok(numbers)
    }
}

/// Keeps what may be written once.
fn once<T>(slot: &mut Option<(T, Option<At>)>, given: T, at: Option<At>, what: &str) -> Result<(), Problem> {
    if slot.replace((given, at)).is_some() {
        let message = format!("`{what}` stands twice in this block");
        return Err(Problem::error("two-forms", message).help("keep one of them").at(at));
    }
    Ok(())
}
