//! Recognises files that are not worlds: logs, JSON, networks of other tools, and binary files.

use crate::world::Problem;

/// The type of a text that is certainly not a world file, and the command that reads it.
pub(super) fn no_world(name: &str, text: &str) -> Option<Box<Problem>> {
    let begins = text.trim_start();
    // A world file begins with `key = value` or `[section]`, after comments only.
    let mut lines = begins.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (first, second) = (lines.next()?, lines.next());
    let (what, help) = if text.contains('\0') {
        (BINARY.to_owned(), CHECK_PATH.to_owned())
    } else if begins.starts_with('{') || begins.starts_with("[{") {
        json(name, begins)
    } else if is_network(begins) {
        let help = format!("`dowise import {name}` makes a world of it");
        ("a graph or a network of another tool".to_owned(), help)
    } else if is_table(first, second) {
        let help = format!(
            "`dowise data {name} WORLD` says what it holds, `dowise fit` fills in a world's numbers from it, and `dowise learn WORLD --from \
             {name}` begins with its steps"
        );
        ("a table, such as a log".to_owned(), help)
    } else {
        return None;
    };
    Some(problem(name, &what, &help))
}

/// Whether a first line is a table header: the next line, if there is one, has as many cells.
fn is_table(first: &str, second: Option<&str>) -> bool {
    let cells = |line: &str, by: char| line.matches(by).count();
    let fits = |by: char| cells(first, by) > 0 && second.is_none_or(|line| cells(line, by) == cells(first, by));
    !first.contains('=') && !first.starts_with('[') && [',', ';', '\t'].into_iter().any(fits)
}

/// The same for binary data.
pub(super) fn no_text(name: &str, bytes: &[u8]) -> Option<Box<Problem>> {
    let packed = bytes.starts_with(&[0x1f, 0x8b]);
    if packed {
        let help =
            format!("a log may be packed, a world may not: `gunzip`, or `dowise data {name} WORLD` if it is a log");
        return Some(problem(name, "packed by gzip", &help));
    }
    // UTF-16 text has zero bytes as well; its byte order mark distinguishes it.
    let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    (!wide && bytes.iter().take(4096).any(|&b| b == 0)).then(|| problem(name, BINARY, CHECK_PATH))
}

const BINARY: &str = "no text";
const CHECK_PATH: &str = "check the path; a world file is a text in TOML";

fn problem(name: &str, what: &str, help: &str) -> Box<Problem> {
    Box::new(Problem::error("no-world", format!("{name} is {what}, not a world")).help(help))
}

/// The origin of a JSON file, from its first keys.
fn json(name: &str, text: &str) -> (String, String) {
    let head: String = text.chars().take(400).filter(|c| !c.is_whitespace()).collect();
    let says = |word: &str| head.contains(word);
    let (what, help) = if says("\"dowiselearner\"") || says("\"dowiserun\"") {
        ("a learner that was saved", format!("`dowise learn WORLD --resume {name}` goes on with it"))
    } else if says("evidence\"") {
        ("evidence", format!("`dowise learn WORLD --evidence {name}` begins with it"))
    } else if says("\"policy\":[") || says("dowise-plan/") || says("dowise-policy/") {
        ("a policy", format!("`dowise plan WORLD --evaluate {name}` says what it is worth"))
    } else {
        ("JSON", CHECK_PATH.to_owned())
    };
    (what.to_owned(), help)
}

fn is_network(begins: &str) -> bool {
    let word = begins.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    let after = begins[word.len()..].trim_start();
    begins.starts_with("<?xml")
        || begins.starts_with("<BIF")
        || (["network", "digraph", "graph", "dag", "strict"].contains(&word) && !after.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(name: &str, text: &str) -> Option<String> {
        no_world(name, text).map(|problem| problem.message)
    }

    #[test]
    fn what_is_no_world_is_called_by_its_name() {
        let log = says("log.csv", "episode,stage,mood\n1,1,low\n").unwrap();
        assert_eq!(log, "log.csv is a table, such as a log, not a world");
        assert_eq!(says("p.json", "{ \"policy\": [ ] }").unwrap(), "p.json is a policy, not a world");
        assert!(says("l.json", "{\"format\":\"dowise learner\"}").unwrap().contains("a learner that was saved"));
        assert!(says("e.json", "{\"format\":\"dowise fitted evidence\"}").unwrap().contains("is evidence"));
        assert!(says("x.json", "[{\"a\": 1}]").unwrap().contains("JSON"));
        assert!(says("a.bif", "network unknown {\n}\n").unwrap().contains("another tool"));
        assert!(says("a.dot", "digraph G { a -> b }").unwrap().contains("another tool"));
        assert!(says("a", "x\0y").unwrap().contains("no text"));
        assert!(no_text("a.gz", &[0x1f, 0x8b, 8]).unwrap().message.contains("gzip"));
        assert!(no_text("a.png", b"\x89PNG\r\n\0\0").is_some());
        assert!(no_text("a.txt", "f\u{fc}r".as_bytes()).is_none());
    }

    #[test]
    fn worlds_are_worlds_even_with_mistakes() {
        for text in [
            "dowise = 1\n",
            "# a, b\n\n[state.x]\n",
            "graph = 1",
            "[[start]]\n",
            "dowise 1",
            "",
            "name, about = 1",
            // Markdown notes are no table.
            "# Treatment\n\nFever, pain and what to do about them\nis what this is about.\n",
        ] {
            assert!(no_world("w.toml", text).is_none(), "{text}");
        }
    }
}
