//! Whole numbers of the command line, with an error that says what is asked for.

/// A whole number from 0 on.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    from(0, text)
}

/// A number of things, of which there has to be one; what is 0 is refused with what it would be for.
pub(crate) fn counted(text: &str) -> Result<u64, String> {
    from(1, text)
}

fn from(least: u64, text: &str) -> Result<u64, String> {
    let digits: String = text.trim().chars().filter(|c| *c != '_').collect();
    digits.parse().map_err(|_| match digits.strip_prefix('-').map(str::parse::<u64>) {
        Some(Ok(_)) => format!("it is less than 0; give a whole number from {least} on"),
        _ if digits.parse::<f64>().is_ok_and(|x| x >= u64::MAX as f64) => "it is too large".to_owned(),
        _ => "give a whole number such as 1000".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{counted, whole};

    #[test]
    fn numbers_that_cannot_be_counted_with_say_why() {
        assert_eq!(whole("1_000"), Ok(1000));
        assert!(whole("-5").unwrap_err().contains("less than 0"));
        assert!(counted("-5").unwrap_err().ends_with("from 1 on"));
        assert!(whole("5.5").unwrap_err().contains("whole number such as"));
        assert!(whole("1e3").unwrap_err().contains("whole number such as"));
        assert!(whole("99999999999999999999").unwrap_err().contains("too large"));
    }
}
