//! The documentation agrees with the program: commands, options, links and line lengths.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages of the documentation.
fn pages() -> Vec<PathBuf> {
    let mut open = vec![root().join("docs")];
    let mut found =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|f| root().join(f)).to_vec();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("the documentation is there") {
            let path = entry.expect("a directory entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|e| panic!("{}: {e}", page.display()))
}

fn help(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_dowise")).args(arguments).arg("--help").output().expect("the program");
    assert!(done.status.success(), "{arguments:?}");
    String::from_utf8(done.stdout).expect("help is UTF-8")
}

/// The words that begin with `--` in a text.
fn options(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let words = text.split(|c: char| !(is_name(c))).filter(|w| w.len() > 3 && w.starts_with("--"));
    words.filter(|w| w.as_bytes()[2].is_ascii_lowercase()).map(str::to_owned).collect()
}

/// The commands that `dowise --help` lists.
fn commands() -> Vec<String> {
    let text = help(&[]);
    let list = text.split("Commands:").nth(1).and_then(|rest| rest.split("Options:").next()).expect("a list");
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The options that a command declares: at the beginning of a line of its help.
fn declared(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines.flat_map(|line| options(line.split("  ").next().unwrap_or(line))).collect()
}

#[test]
fn the_reference_has_every_command_and_option_and_no_other() {
    let common = ["--color", "--quiet", "--help", "--version"].map(str::to_owned);
    let page = read(&root().join("docs/reference/cli.md"));
    let documented: Vec<&str> = page.split("\n## ").skip(1).filter_map(|s| s.lines().next()).collect();
    for command in commands() {
        assert!(documented.contains(&command.as_str()), "docs/reference/cli.md has no section `{command}`");
        let section = page.split(&format!("\n## {command}\n")).nth(1).and_then(|s| s.split("\n## ").next());
        let section = section.expect("checked");
        let mut text = help(&[&command]);
        if command == "keys" {
            text += &["add", "list", "remove"].map(|sub| help(&["keys", sub])).concat();
        }
        let rows: String =
            section.lines().filter(|l| l.starts_with('|')).map(|l| l.split('|').nth(1).unwrap_or("")).collect();
        let (real, shown) = (declared(&text), options(&rows));
        let missing: Vec<_> = real.iter().filter(|o| !common.contains(o) && !shown.contains(*o)).collect();
        let extra: Vec<_> = shown.iter().filter(|o| !real.contains(*o)).collect();
        assert!(
            missing.is_empty() && extra.is_empty(),
            "{command}: not documented {missing:?}, does not exist {extra:?}"
        );
    }
}

#[test]
fn commands_in_the_documentation_have_only_options_that_exist() {
    let known: Vec<(String, BTreeSet<String>)> = commands()
        .into_iter()
        .map(|c| {
            let text = help(&[&c]);
            (c, declared(&text))
        })
        .collect();
    let mut seen = 0;
    for page in pages().iter().filter(|page| !page.ends_with("CHANGELOG.md")) {
        for line in read(page).lines() {
            for rest in line.split("dowise ").skip(1) {
                let name = rest.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).next().unwrap_or("");
                let Some((_, declared)) = known.iter().find(|(c, _)| c == name && c != "keys") else { continue };
                // Up to the end of the command: a quote of code, a comment, another command.
                let end = rest.find(['`', '|', '#', ';', '&', '(', ')', '"']).unwrap_or(rest.len());
                let wrong: Vec<_> = options(&rest[..end]).into_iter().filter(|o| !declared.contains(o)).collect();
                assert!(wrong.is_empty(), "{}: `dowise {}` has no {wrong:?}", page.display(), &rest[..end]);
                seen += 1;
            }
        }
    }
    assert!(seen > 150, "only {seen} commands were found");
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut seen = 0;
    for page in pages() {
        for target in read(&page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = target.split('#').next().unwrap_or("");
            if target.is_empty() || target.contains("://") || target.contains(' ') || !target.contains('.') {
                continue;
            }
            let file = page.parent().expect("a page is in a directory").join(target);
            assert!(file.exists(), "{} links to {target}", page.display());
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} links were found");
}

#[test]
fn lines_of_prose_are_at_most_120_characters() {
    for page in pages() {
        let mut code = false;
        for (i, line) in read(&page).lines().enumerate() {
            code ^= line.trim_start().starts_with("```");
            let exempt = code
                || line.starts_with('|')
                || line.contains("http")
                || line.starts_with("    ")
                || line.starts_with("![");
            assert!(exempt || line.chars().count() <= 120, "{}:{} is too long", page.display(), i + 1);
        }
    }
}
