//! Words and numbers of messages: the nearest known name, lists of names, numbers without needless digits.

/// The known name that a misspelt word is probably meant to be: the one with the fewest edits, if these are few, or one
/// that begins as the word does.
///
/// ```
/// use dowise::messages::nearest;
/// assert_eq!(nearest("campain", ["campaign", "treatment"].into_iter()), Some("campaign"));
/// assert_eq!(nearest("Lever", ["levers", "levels"].into_iter()), Some("levers"));
/// assert_eq!(nearest("dose", ["price"].into_iter()), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Edit distance takes quadratic time, so long names are not compared.
    if word.chars().count() > 100 {
        return None;
    }
    let lower = word.to_lowercase();
    let most = (lower.chars().count() / 3).max(1);
    let near = |c: &'a str| {
        let other = c.to_lowercase();
        let begins = lower.len() > 2 && other.len() > 2 && (other.starts_with(&lower) || lower.starts_with(&other));
        let distance = strsim::damerau_levenshtein(&lower, &other);
        let close = distance <= most && (distance == 0 || distance < lower.chars().count().min(c.chars().count()));
        (close || begins).then_some((distance, c))
    };
    candidates.filter(|c| c.len() <= 400).filter_map(near).min_by_key(|&(distance, _)| distance).map(|(_, c)| c)
}

/// Joins words as `"a", "b" and "c"`.
pub fn and(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Quoted values, the first few only.
pub fn some_of<S: AsRef<str>>(values: &[S]) -> String {
    let quoted: Vec<String> = values.iter().take(8).map(|v| format!("\"{}\"", v.as_ref())).collect();
    if values.len() > 8 { format!("{}, … ({} in all)", quoted.join(", "), values.len()) } else { and(&quoted) }
}

/// A number for messages: no trailing zeros, at most nine decimals.
pub fn number_text(number: f64) -> String {
    if !number.is_finite() {
        return if number.is_nan() { "nan".to_owned() } else { format!("{number}") };
    }
    if number != 0.0 && (number.abs() >= 1e9 || number.abs() < 1e-4) {
        return format!("{number:e}");
    }
    let text = format!("{number:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number with a comma between thousands.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<&str> = groups.map(|g| std::str::from_utf8(g).expect("invariant: digits are ASCII")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
        nearest(word, known.iter().copied())
    }

    #[test]
    fn edits_and_beginnings_are_forgiven() {
        assert_eq!(near("wrold", &["learner", "world"]), Some("world"));
        assert_eq!(near("MOOD", &["mode", "mood"]), Some("mood"));
        assert_eq!(near("reps", &["repetitions", "episodes"]), None);
        assert_eq!(near("rep", &["repetitions", "episodes"]), Some("repetitions"));
        assert_eq!(near("moods", &["mood", "moodiness"]), Some("mood"));
    }

    #[test]
    fn short_and_very_long_words_are_not_guessed() {
        assert_eq!(near("a", &["b"]), None);
        assert_eq!(near("ab", &["cd"]), None);
        assert_eq!(near("", &["a"]), None);
        let long = "a".repeat(101);
        assert_eq!(near(&long, &[&long]), None);
    }

    #[test]
    fn lists_are_cut_and_numbers_have_no_needless_digits() {
        assert_eq!(some_of(&["a", "b", "c"]), "\"a\", \"b\" and \"c\"");
        assert!(some_of(&["x"; 9]).ends_with(", … (9 in all)"));
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.5, 1e-5, 0.1 + 0.2, -2.0].map(number_text), ["0.5", "1e-5", "0.3", "-2"]);
    }
}
