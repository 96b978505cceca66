//! DOT, the language of Graphviz: `digraph { a -> b; a -> c [dir=both]; }`.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

/// The attributes in which files written by dowise keep what DOT has no word for.
const ROLE: &str = "role";
const VALUES: &str = "values";

/// Names of values as one text, with commas between them.
fn join(values: &[String]) -> String {
    let escaped: Vec<String> = values.iter().map(|v| v.replace('\\', "\\\\").replace(',', "\\,")).collect();
    escaped.join(",")
}

/// The values of such a text.
fn split(text: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        let last = values.last_mut().expect("invariant: there is always a last value");
        match c {
            '\\' => last.extend(letters.next()),
            ',' => values.push(String::new()),
            _ => last.push(c),
        }
    }
    values.iter().map(|v| v.trim().to_owned()).collect()
}
