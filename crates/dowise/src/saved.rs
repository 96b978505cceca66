//! Saved files: one envelope for every kind of file, with its name, its version and a checksum.
//!
//! A saved file is a JSON object. Its first fields name the kind and the version, its last field is the checksum, and
//! the payload stands between them. Kinds of different ages name these fields differently ([`Tag`], [`Protection`]), so
//! that files on disk stay readable.
//!
//! Two kinds have no envelope: a policy, which people may write by hand, and a snapshot of the service, which is a row
//! of a store.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::hash::fnv;

/// Begins the checksum of [`Protection::Checksum`].
const CHECKSUM: &str = ",\"checksum\":\"";

/// How a file names its kind and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// `"format":"dowise learner","version":3`
    Fields,
    /// `"schema":"dowise-run/2"`
    Schema,
    /// `"format":"dowise unlisted run 2"`
    Words,
}

/// What finds damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Nothing, or a fingerprint inside the payload.
    None,
    /// `"seal"`: FNV-1a of the object without it. Fields that a program appends do not count.
    Seal,
    /// `"checksum"`: XXH3 of all bytes before it.
    Checksum,
}

/// The envelope of one kind of file.
///
/// ```
/// use dowise::saved::{Envelope, Protection, SavedError, Tag};
/// use std::collections::BTreeMap;
/// const COUNTS: Envelope = Envelope::new("dowise counts", 2, Tag::Fields, Protection::Checksum);
///
/// let text = COUNTS.write(&BTreeMap::from([("a", 1)]));
/// assert!(text.starts_with(r#"{"format":"dowise counts","version":2,"a":1,"checksum":""#));
/// assert!(matches!(COUNTS.check(&text[..30]), Err(SavedError::Truncated { .. })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    name: &'static str,
    version: u32,
    tag: Tag,
    protection: Protection,
}

/// Errors of reading a saved file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedError {
    /// The text ends too early.
    #[error("this is not a saved {}: it ends in the middle ({why}), so the rest is lost; use another copy", short(.reads))]
    Truncated {
        /// The kind that is read.
        reads: &'static str,
        /// Where it ends.
        why: String,
    },
    /// Not JSON, or no envelope.
    #[error("this is not a saved {}: {why}", short(.reads))]
    Format {
        /// The kind that is read.
        reads: &'static str,
        /// What the parser says.
        why: String,
    },
    /// An envelope that fits around a payload that does not.
    #[error("this is not a saved {}: {why}", short(.reads))]
    Payload {
        /// The kind that is read.
        reads: &'static str,
        /// What the parser says.
        why: String,
    },
    /// Another kind of file.
    #[error("this is {found}, and this dowise reads {reads} here; give a file of that kind")]
    Kind {
        /// Kind and version that the file names.
        found: String,
        /// Kind and version that are read.
        reads: String,
    },
    /// Another version of the same kind.
    #[error("this is {found}, and this dowise reads {reads}; {}", version_remedy(*.newer))]
    Version {
        /// Kind and version that the file names.
        found: String,
        /// Kind and version that are read.
        reads: String,
        /// Whether the file is newer than this dowise.
        newer: bool,
    },
    /// There is no checksum.
    #[error("it is missing, so an earlier dowise wrote the file, or the file was changed")]
    NoChecksum,
    /// The checksum belongs to another text.
    #[error(
        "it does not fit the rest of the file, which was changed or damaged after it was written: \
         the file says {written}, and the rest has {computed}"
    )]
    Damaged {
        /// The checksum in the file.
        written: String,
        /// That of the rest of the file.
        computed: String,
    },
}

impl SavedError {
    /// The part of the envelope that is wrong.
    pub fn field(&self) -> &'static str {
        match self {
            SavedError::Payload { .. } | SavedError::Kind { .. } | SavedError::Version { .. } => "schema",
            SavedError::Truncated { .. }
            | SavedError::Format { .. }
            | SavedError::NoChecksum
            | SavedError::Damaged { .. } => "checksum",
        }
    }
}

/// The fields of an envelope, of any [`Tag`].
#[derive(Deserialize)]
struct Found {
    format: Option<String>,
    version: Option<u32>,
    schema: Option<String>,
    seal: Option<String>,
}

impl Envelope {
    /// A kind of file.
    pub const fn new(name: &'static str, version: u32, tag: Tag, protection: Protection) -> Envelope {
        Envelope { name, version, tag, protection }
    }

    /// A kind that names itself with `format` and `version`, and has no checksum of its own.
    pub const fn fields(name: &'static str, version: u32) -> Envelope {
        Envelope::new(name, version, Tag::Fields, Protection::None)
    }

    /// The name of the kind.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The version that is written and read.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// The payload, which is written as an object, in its envelope. The same payload gives the same bytes.
    pub fn write(&self, payload: &impl Serialize) -> String {
        let text = self.unprotected(payload);
        let open = text.strip_suffix('}').expect("invariant: the payload is written as an object");
        match self.protection {
            Protection::None => text,
            Protection::Seal => format!("{open},\"seal\":\"{:016x}\"}}", fnv(text.as_bytes())),
            Protection::Checksum => format!("{}}}", with_checksum(open)),
        }
    }

    /// Checks kind, version and checksum, and reads the payload.
    pub fn read<T: Serialize + DeserializeOwned>(&self, text: &str) -> Result<T, SavedError> {
        let seal = self.found(text)?.seal;
        let payload: T =
            serde_json::from_str(text).map_err(|e| SavedError::Payload { reads: self.name, why: e.to_string() })?;
        if self.protection == Protection::Seal {
            let computed = format!("{:016x}", fnv(self.unprotected(&payload).as_bytes()));
            if seal.as_ref() != Some(&computed) {
                return Err(SavedError::Damaged { written: seal.unwrap_or_else(|| "none".to_owned()), computed });
            }
        }
        Ok(payload)
    }

    /// Checks what can be checked without the payload: kind, version and a checksum of the text.
    pub fn check(&self, text: &str) -> Result<(), SavedError> {
        self.found(text).map(|_| ())
    }

    /// Checks the `format` and `version` of a payload that carries them itself, since it also lies inside other files.
    pub fn check_fields(&self, format: &str, version: u32) -> Result<(), SavedError> {
        self.check_named(format, Some(version))
    }

    /// Whether a text names this kind and version, damaged or not.
    pub fn names(&self, text: &str) -> bool {
        text.starts_with(&self.head())
    }

    fn found(&self, text: &str) -> Result<Found, SavedError> {
        // A text that was changed may name another kind by accident, so a wrong checksum is said first. One without a
        // checksum is more likely of another kind, or cut off.
        let checksum = match self.protection {
            Protection::Checksum => check(text),
            Protection::None | Protection::Seal => Ok(()),
        };
        if let Err(damaged @ SavedError::Damaged { .. }) = checksum {
            return Err(damaged);
        }
        let found: Found = serde_json::from_str(text).map_err(|e| self.parse_error(&e))?;
        self.check_kind(&found)?;
        checksum.map(|()| found)
    }

    fn check_kind(&self, found: &Found) -> Result<(), SavedError> {
        let (name, version) = match (&found.format, found.version, &found.schema) {
            (Some(format), Some(version), _) => (format.as_str(), Some(version)),
            (Some(words), None, _) => name_and_version(words, ' '),
            (None, _, Some(schema)) => name_and_version(schema, '/'),
            (None, _, None) => {
                let why = "it does not say what kind of file it is".to_owned();
                return Err(SavedError::Format { reads: self.name, why });
            }
        };
        self.check_named(name, version)
    }

    fn check_named(&self, name: &str, version: Option<u32>) -> Result<(), SavedError> {
        if (name, version) == (self.name, Some(self.version)) {
            return Ok(());
        }
        let found = title(name, version);
        let reads = title(self.name, Some(self.version));
        Err(match version.filter(|_| name == self.name) {
            Some(version) => SavedError::Version { found, reads, newer: version > self.version },
            None => SavedError::Kind { found, reads },
        })
    }

    fn parse_error(&self, error: &serde_json::Error) -> SavedError {
        let (reads, why) = (self.name, error.to_string());
        if error.is_eof() { SavedError::Truncated { reads, why } } else { SavedError::Format { reads, why } }
    }

    /// The beginning of a file, up to the first field of its payload.
    fn head(&self) -> String {
        let Envelope { name, version, .. } = self;
        match self.tag {
            Tag::Fields => format!("{{\"format\":\"{name}\",\"version\":{version}"),
            Tag::Schema => format!("{{\"schema\":\"{name}/{version}\""),
            Tag::Words => format!("{{\"format\":\"{name} {version}\""),
        }
    }

    fn unprotected(&self, payload: &impl Serialize) -> String {
        let body = serde_json::to_string(payload).expect("invariant: numbers and words can be written");
        let fields = body.strip_prefix('{').expect("invariant: the payload is written as an object");
        format!("{}{}{fields}", self.head(), if fields == "}" { "" } else { "," })
    }
}

/// XXH3 with 128 bits, in hexadecimal: finds damage and mix-ups; it does not stop a forger.
pub fn checksum(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// Adds a checksum over all of it to the beginning of a JSON text, as its next field; the caller closes the braces.
pub fn with_checksum(open: &str) -> String {
    format!("{open}{CHECKSUM}{}\"", checksum(open.as_bytes()))
}

/// Checks a text that [`with_checksum`] began.
pub fn check(text: &str) -> Result<(), SavedError> {
    let (open, rest) = text.rsplit_once(CHECKSUM).ok_or(SavedError::NoChecksum)?;
    let (written, end) = rest.split_once('"').unwrap_or((rest, "unclosed"));
    let computed = checksum(open.as_bytes());
    let is_end = end.bytes().all(|b| b == b'}' || b.is_ascii_whitespace());
    if written == computed && is_end {
        return Ok(());
    }
    Err(SavedError::Damaged { written: written.to_owned(), computed })
}

/// `dowise-run/2` as name and version.
fn name_and_version(text: &str, between: char) -> (&str, Option<u32>) {
    let parts = text.rsplit_once(between).and_then(|(name, version)| Some((name, version.parse().ok()?)));
    parts.map_or((text, None), |(name, version)| (name, Some(version)))
}

fn title(name: &str, version: Option<u32>) -> String {
    version.map_or_else(|| format!("`{name}`"), |version| format!("`{name}` version {version}"))
}

/// `learner` of `dowise learner`.
fn short(name: &str) -> &str {
    name.strip_prefix("dowise").map_or(name, |rest| &rest[1..])
}

fn version_remedy(newer: bool) -> &'static str {
    if newer {
        "a newer dowise wrote it, with fields that this one does not know: update dowise"
    } else {
        "an earlier dowise wrote it: read it with that one, or make the file again"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Payload {
        counts: Vec<u32>,
        share: f64,
    }

    const KINDS: [Envelope; 3] = [
        Envelope::new("dowise learner", 3, Tag::Fields, Protection::Seal),
        Envelope::new("dowise-run", 3, Tag::Schema, Protection::Checksum),
        Envelope::new("dowise play", 3, Tag::Words, Protection::Checksum),
    ];

    fn payload() -> Payload {
        Payload { counts: vec![1, 20, 3], share: 0.1 }
    }

    fn refused(kind: Envelope, text: &str) -> SavedError {
        kind.read::<Payload>(text).unwrap_err()
    }

    #[test]
    fn value_stability() {
        // Files that were written must stay readable.
        assert_eq!(checksum(b""), "99aa06d3014798d86001c324468d497f");
        let texts = KINDS.map(|kind| kind.write(&payload()));
        assert_eq!(
            texts[0],
            "{\"format\":\"dowise learner\",\"version\":3,\"counts\":[1,20,3],\"share\":0.1,\"seal\":\"b4eb10cc2d53d82d\"}"
        );
        assert!(texts[1].starts_with("{\"schema\":\"dowise-run/3\",\"counts\":[1,20,3],\"share\":0.1,\"checksum\":\""));
        assert!(texts[2].starts_with("{\"format\":\"dowise play 3\",\"counts\":["));
        assert_eq!(Envelope::fields("a", 1).write(&serde_json::Map::new()), "{\"format\":\"a\",\"version\":1}");
    }

    #[test]
    fn what_is_written_is_read() {
        for kind in KINDS {
            let text = kind.write(&payload());
            assert_eq!(kind.read::<Payload>(&text), Ok(payload()));
            assert_eq!(kind.read::<Payload>(&format!("{text}\n")), Ok(payload()));
            assert!(kind.names(&text));
        }
        // Another program may append to a sealed file.
        let text = KINDS[0].write(&payload()).replace('}', ",\"run\":{\"seed\":1}}");
        assert_eq!(KINDS[0].read::<Payload>(&text), Ok(payload()));
    }

    #[test]
    fn a_file_that_was_cut_off_says_so() {
        for kind in KINDS {
            let text = kind.write(&payload());
            for length in [0, 1, 20, text.len() / 2] {
                let message = refused(kind, &text[..length]).to_string();
                assert!(
                    message.starts_with(&format!("this is not a saved {}: it ends in the middle", short(kind.name)))
                );
                assert!(message.ends_with("so the rest is lost; use another copy"), "{message}");
            }
            assert!((0..text.len()).all(|length| kind.read::<Payload>(&text[..length]).is_err()));
        }
    }

    #[test]
    fn every_flipped_byte_is_noticed() {
        for kind in KINDS {
            let text = kind.write(&payload());
            for i in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[i] ^= 1;
                let changed = String::from_utf8(bytes).unwrap();
                assert!(kind.read::<Payload>(&changed).is_err(), "{changed}");
            }
            let message = refused(kind, &text.replace("20", "21")).to_string();
            assert!(message.starts_with("it does not fit the rest of the file, which was changed or damaged"));
        }
        assert_eq!(check("{\"a\":1}"), Err(SavedError::NoChecksum));
    }

    #[test]
    fn another_kind_of_file_is_named() {
        let texts = KINDS.map(|kind| kind.write(&payload()));
        assert_eq!(
            refused(KINDS[0], &texts[1]).to_string(),
            "this is `dowise-run` version 3, and this dowise reads `dowise learner` version 3 here; \
             give a file of that kind"
        );
        assert_eq!(
            refused(KINDS[1], &texts[0]).to_string(),
            "this is `dowise learner` version 3, and this dowise reads `dowise-run` version 3 here; \
             give a file of that kind"
        );
        assert!(refused(KINDS[0], "{\"a\":1}").to_string().ends_with("it does not say what kind of file it is"));
        let other = KINDS[1].write(&serde_json::json!({ "counts": [1.5] }));
        assert_eq!(refused(KINDS[1], &other).field(), "schema");
        assert!(refused(KINDS[2], "horizon = 3").to_string().starts_with("this is not a saved play: expected"));
    }

    #[test]
    fn another_version_says_which_dowise_wrote_it() {
        for kind in KINDS {
            let newer = Envelope { version: 4, ..kind }.write(&payload());
            let message = refused(kind, &newer).to_string();
            assert_eq!(
                message,
                format!(
                    "this is `{0}` version 4, and this dowise reads `{0}` version 3; \
                     a newer dowise wrote it, with fields that this one does not know: update dowise",
                    kind.name
                )
            );
            let older = refused(kind, &Envelope { version: 1, ..kind }.write(&payload()));
            assert!(older.to_string().contains("an earlier dowise wrote it"));
            assert_eq!(older.field(), "schema");
        }
    }
}
