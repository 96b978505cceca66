//! Splits TOML and JSON alike into tokens, which put together are the text again.

/// What a token is, as far as mutations tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// Digits and what belongs to a number.
    Number,
    /// A bare word.
    Word,
    /// A text in quotes.
    Quoted,
    /// A line break.
    Line,
    /// Spaces.
    Space,
    /// One other character.
    Sign,
}

/// The tokens of a text with their kinds.
pub fn tokens(text: &str) -> Vec<(Token, &str)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let take = |of: &dyn Fn(char) -> bool| rest.find(|c| !of(c)).unwrap_or(rest.len());
        let (kind, length) = match first {
            '\n' => (Token::Line, 1),
            ' ' | '\t' | '\r' => (Token::Space, take(&|c| c == ' ' || c == '\t' || c == '\r')),
            '"' => (Token::Quoted, rest[1..].find(['"', '\n']).map_or(rest.len(), |i| i + 2)),
            '0'..='9' | '-' | '+' => (Token::Number, take(&|c| c.is_ascii_digit() || "+-.eE_".contains(c))),
            c if c.is_alphabetic() || c == '_' => (Token::Word, take(&|c| c.is_alphanumeric() || c == '_' || c == '-')),
            c => (Token::Sign, c.len_utf8()),
        };
        let (token, after) = rest.split_at(length);
        out.push((kind, token));
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_put_together_are_the_text() {
        for text in ["a = [1, -2.5e3]\n# ü \"open\n{\"k\":\"v\"}", "\"", "\"a", "é\"\"\t\r\n"] {
            assert_eq!(tokens(text).iter().map(|(_, t)| *t).collect::<String>(), text);
        }
        let kinds: Vec<Token> = tokens("x = -1.5").iter().map(|(k, _)| *k).collect();
        assert_eq!(kinds, [Token::Word, Token::Space, Token::Sign, Token::Space, Token::Number]);
    }
}
