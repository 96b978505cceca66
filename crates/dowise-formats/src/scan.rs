//! Walks through a text token by token, with the place of everything; what a token is differs from format to format.

use std::borrow::Cow;

use dowise::world::{At, Problem};

/// Which comments a format has.
#[derive(Clone, Copy)]
pub(crate) struct Comments {
    /// `// to the end of the line` and `/* … */`.
    pub(crate) slashes: bool,
    /// `# to the end of the line`.
    pub(crate) hash: bool,
}

/// A place in a text.
pub(crate) struct Scanner<'t> {
    text: &'t str,
    pos: usize,
    comments: Comments,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str, comments: Comments) -> Scanner<'t> {
        Scanner { text, pos: 0, comments }
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.pos..]
    }

    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// Goes back to an earlier place.
    pub(crate) fn back(&mut self, position: usize) {
        self.pos = position;
    }

    /// From a byte up to here.
    pub(crate) fn since(&self, start: usize) -> Option<At> {
        Some(At { source: 0, start, end: self.pos.max(start) })
    }

    /// The text from a byte up to here.
    pub(crate) fn from(&self, start: usize) -> &'t str {
        &self.text[start..self.pos]
    }

    /// Skips white space and comments. A comment that is not closed ends with the file.
    pub(crate) fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.pos += rest.len() - trimmed.len();
            let length = if self.comments.slashes && trimmed.starts_with("//")
                || self.comments.hash && trimmed.starts_with('#')
            {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if self.comments.slashes && trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.pos += length;
        }
    }

    /// The next letter after white space and comments; `None` at the end.
    pub(crate) fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest().chars().next()
    }

    /// Takes these letters if they come next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let here = self.rest().starts_with(token);
        if here {
            self.pos += token.len();
        }
        here
    }

    /// Takes these letters, or says what was found instead.
    pub(crate) fn expect(&mut self, token: &str, why: &str) -> Result<(), Problem> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`{why}"))) }
    }

    /// Takes letters for as long as `accept` holds and no comment begins; `None` if there is none.
    pub(crate) fn word(&mut self, accept: impl Fn(char) -> bool) -> Option<(&'t str, Option<At>)> {
        self.skip();
        let rest = self.rest();
        let mut length = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        if self.comments.slashes {
            for opening in ["//", "/*"] {
                length = rest[..length].find(opening).unwrap_or(length);
            }
        }
        if length == 0 {
            return None;
        }
        let start = self.pos;
        self.pos += length;
        Some((&rest[..length], self.since(start)))
    }

    /// Takes a text in double quotes, with the quotes cut off; `escapes`: a backslash keeps the quote behind it.
    pub(crate) fn quoted(&mut self, escapes: bool) -> Result<Option<(&'t str, Option<At>)>, Problem> {
        if self.peek() != Some('"') {
            return Ok(None);
        }
        let start = self.pos;
        let inside = &self.rest()[1..];
        let mut escaped = false;
        let end = inside.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = escapes && c == '\\' && !escaped;
            closes
        });
        let Some(end) = end else {
            let line = inside.find('\n').unwrap_or(inside.len());
            let at = Some(At { source: 0, start, end: start + 1 + line });
            return Err(Problem::error("syntax", "a quote is opened here and never closed")
                .help("add the closing \"")
                .at(at));
        };
        self.pos += end + 2;
        Ok(Some((&inside[..end], self.since(start))))
    }

    /// Takes one letter, whatever it is.
    pub(crate) fn advance(&mut self) -> Option<char> {
        let letter = self.rest().chars().next()?;
        self.pos += letter.len_utf8();
        Some(letter)
    }

    /// Says that something else was expected here.
    pub(crate) fn expected(&mut self, what: &str) -> Problem {
        self.skip();
        let start = self.pos;
        let rest = self.rest();
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()).min(rest.len());
        let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        let found = match &rest[..length] {
            "" => "the end of the file".to_owned(),
            found if found.chars().count() > 40 => "a long word".to_owned(),
            found => format!("`{found}`"),
        };
        let at = Some(At { source: 0, start, end: start + length });
        Problem::error("syntax", format!("expected {what}, found {found}")).at(at)
    }
}

/// Backslashes taken off in front of quotes and backslashes.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match (c, letters.peek()) {
            ('\\', Some(&next @ ('"' | '\\'))) => {
                out.push(next);
                letters.next();
            }
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A text in quotes, with backslashes in front of quotes and backslashes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
