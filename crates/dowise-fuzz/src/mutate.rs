//! Changes of a text: numbers, words, structure, lines, bytes, and parts of other texts.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::tokens::{Token, tokens};

/// Numbers at the edges of what is read, stored and added up.
const NUMBERS: [&str; 52] = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-0",
    "0.0",
    "-0.0",
    "0.5",
    "1.0",
    "0.1",
    "0.25",
    "1e-9",
    "1e-15",
    "1e-300",
    "5e-324",
    "1e-330",
    "1e9",
    "1e12",
    "1e15",
    "1e16",
    "1e100",
    "1e154",
    "1e300",
    "1.7976931348623157e308",
    "1e309",
    "-1e300",
    "inf",
    "-inf",
    "nan",
    "7",
    "16",
    "31",
    "64",
    "100",
    "255",
    "256",
    "1000",
    "65535",
    "65536",
    "1000000",
    "16777217",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.9999999999",
];

const WORDS: [&str; 40] = [
    "true",
    "false",
    "null",
    "uniform",
    "stay",
    "unknown",
    "all",
    "any",
    "at_most",
    "set",
    "forbid",
    "when",
    "levers",
    "values",
    "scope",
    "next",
    "parents",
    "p",
    "value",
    "range",
    "cost",
    "start",
    "state",
    "lever",
    "key",
    "hidden",
    "joint",
    "reward",
    "rewards",
    "features",
    "file",
    "horizon",
    "weight",
    "noisy_or",
    "random",
    "kind",
    "scale",
    "about",
    "name",
    "interventions",
];

const BYTES: [&str; 24] = [
    "\"", "'", "[", "]", "{", "}", "=", ",", ".", "#", "\n", "\\", "\u{0}", "\u{feff}", "é", "\u{202e}", "😀", "\t",
    "\r", ":", "\"\"\"", "[[", "]]", "-",
];

/// The text with this many changes; `others` are texts of the same kind to take parts from.
pub(crate) fn mutate(text: String, changes: usize, others: &[String], rng: &mut Xoshiro256PlusPlus) -> String {
    (0..changes).fold(text, |text, _| change(&text, others, rng))
}

fn change(text: &str, others: &[String], rng: &mut Xoshiro256PlusPlus) -> String {
    match rng.random_range(0..20) {
        0..=5 => replace(text, Token::Number, rng, number),
        6 | 7 => {
            let words = of_kind(text, Token::Word);
            replace(text, Token::Word, rng, |_, rng| pick(&words, &WORDS, rng))
        }
        8 | 9 => {
            let texts = of_kind(text, Token::Quoted);
            replace(text, Token::Quoted, rng, |_, rng| pick(&texts, &["\"\"", "\"a\"", "\"é b\""], rng))
        }
        10 => splice(text, rng, |list, at, _| {
            list.remove(at);
        }),
        11 => splice(text, rng, |list, at, _| list.insert(at, list[at])),
        12 => splice(text, rng, |list, at, rng| {
            let other = rng.random_range(0..list.len());
            list.swap(at, other);
        }),
        13 => lines(text, rng, |list, at, _| {
            list.remove(at);
        }),
        14 => lines(text, rng, |list, at, _| list.insert(at, list[at].clone())),
        15 => lines(text, rng, |list, at, rng| {
            let other = rng.random_range(0..list.len());
            list.swap(at, other);
        }),
        16 => match others.choose(rng) {
            Some(other) => {
                let part = part_of(other, rng);
                lines(text, rng, |list, at, _| list.insert(at, part.clone()))
            }
            None => text.to_owned(),
        },
        17 => inserted(text, BYTES.choose(rng).copied().unwrap_or("\""), rng),
        18 => {
            let deep = [10, 100, 3000].choose(rng).copied().unwrap_or(10);
            let open = ["[", "{a=", "{\"a\":", "(", "a."].choose(rng).copied().unwrap_or("[");
            inserted(text, &open.repeat(deep), rng)
        }
        _ => text[..boundary(text, rng)].to_owned(),
    }
}

/// A number in place of another: an extreme one, one near by, or one with more digits.
fn number(old: &str, rng: &mut Xoshiro256PlusPlus) -> String {
    match rng.random_range(0..6) {
        0 => old.parse::<i128>().map_or_else(|_| "1".to_owned(), |n| n.wrapping_add(1).to_string()),
        1 => old.parse::<i128>().map_or_else(|_| "0".to_owned(), |n| n.wrapping_sub(1).to_string()),
        2 => format!("-{old}"),
        3 => format!("{old}{}", rng.random_range(0..10)),
        _ => NUMBERS.choose(rng).copied().unwrap_or("0").to_owned(),
    }
}

fn pick(own: &[String], known: &[&str], rng: &mut Xoshiro256PlusPlus) -> String {
    let from_own = rng.random_bool(0.7);
    match own.choose(rng) {
        Some(word) if from_own => word.clone(),
        _ => known.choose(rng).copied().unwrap_or("").to_owned(),
    }
}

fn of_kind(text: &str, kind: Token) -> Vec<String> {
    tokens(text).into_iter().filter(|(k, _)| *k == kind).map(|(_, t)| t.to_owned()).collect()
}

/// Replaces one token of a kind.
fn replace(
    text: &str,
    kind: Token,
    rng: &mut Xoshiro256PlusPlus,
    by: impl Fn(&str, &mut Xoshiro256PlusPlus) -> String,
) -> String {
    let all = tokens(text);
    let places: Vec<usize> = (0..all.len()).filter(|&i| all[i].0 == kind).collect();
    let Some(&place) = places.choose(rng) else { return text.to_owned() };
    let new = by(all[place].1, rng);
    all.iter().enumerate().map(|(i, (_, t))| if i == place { new.as_str() } else { t }).collect()
}

fn splice(
    text: &str,
    rng: &mut Xoshiro256PlusPlus,
    change: impl Fn(&mut Vec<&str>, usize, &mut Xoshiro256PlusPlus),
) -> String {
    let mut list: Vec<&str> = tokens(text).into_iter().map(|(_, t)| t).collect();
    if list.is_empty() {
        return text.to_owned();
    }
    let at = rng.random_range(0..list.len());
    change(&mut list, at, rng);
    list.concat()
}

fn lines(
    text: &str,
    rng: &mut Xoshiro256PlusPlus,
    change: impl Fn(&mut Vec<String>, usize, &mut Xoshiro256PlusPlus),
) -> String {
    let mut list: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if list.is_empty() {
        return text.to_owned();
    }
    let at = rng.random_range(0..list.len());
    change(&mut list, at, rng);
    list.concat()
}

/// One to four lines of a text.
fn part_of(text: &str, rng: &mut Xoshiro256PlusPlus) -> String {
    let list: Vec<&str> = text.split_inclusive('\n').collect();
    if list.is_empty() {
        return String::new();
    }
    let from = rng.random_range(0..list.len());
    let to = (from + rng.random_range(1..=4)).min(list.len());
    list[from..to].concat()
}

fn inserted(text: &str, new: &str, rng: &mut Xoshiro256PlusPlus) -> String {
    let at = boundary(text, rng);
    [&text[..at], new, &text[at..]].concat()
}

/// Somewhere between two characters.
fn boundary(text: &str, rng: &mut Xoshiro256PlusPlus) -> usize {
    let at = rng.random_range(0..=text.len());
    (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}
