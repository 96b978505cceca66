//! Checksums: whether a text is still what was written.

use xxhash_rust::xxh3::xxh3_128;

/// What stands between a text and its checksum.
const FIELD: &str = ",\"checksum\":\"";

/// XXH3 with 128 bits, in hexadecimal: finds damage and mix-ups; it does not stop a forger.
pub fn checksum(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// Adds a checksum over all of it to the beginning of a JSON text, as its next field; the caller closes the braces.
pub fn seal(open: &str) -> String {
    format!("{open}{FIELD}{}\"", checksum(open.as_bytes()))
}

/// What is wrong with the checksum of a text that [`seal`] wrote.
pub fn seal_fault(text: &str) -> Option<&'static str> {
    let Some((open, rest)) = text.rsplit_once(FIELD) else {
        return Some("it is missing, so an earlier dowise wrote the file, or the file was changed");
    };
    let closed = rest.split_once('"').filter(|(_, end)| end.bytes().all(|b| b == b'}' || b.is_ascii_whitespace()));
    match closed {
        Some((sum, _)) if sum == checksum(open.as_bytes()) => None,
        _ => Some("it does not fit the rest of the file, which was changed or damaged after it was written"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_stability() {
        // Files that were written must stay readable.
        assert_eq!(checksum(b""), "99aa06d3014798d86001c324468d497f");
        assert_eq!(checksum(b"dowise"), checksum(b"dowise"));
    }

    #[test]
    fn every_change_of_one_character_is_noticed() {
        let text = format!("{}}}}}\n", seal("{\"a\":{\"b\":[1.5,2.5]"));
        assert_eq!(seal_fault(&text), None);
        for i in 0..text.trim_end().len() {
            let mut bytes = text.clone().into_bytes();
            bytes[i] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert!(seal_fault(&changed).is_some(), "{changed}");
        }
        assert!(seal_fault("{\"a\":1}").unwrap().contains("missing"));
    }
}
