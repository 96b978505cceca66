//! Study files, and records of studies.

use dowise_study::{Study, StudyFile};

use super::{Outcome, reason};

pub(super) fn run(text: &str, seed: u64) -> Outcome {
    if text.contains("schema") {
        return match Study::from_toml(text) {
            Err(e) => reason(&e),
            Ok(study) => match Study::from_toml(&study.to_toml()) {
                // Numbers that are not equal to themselves are no reason to differ.
                Ok(again) if again.to_toml() == study.to_toml() => Outcome::Accepted,
                Ok(_) => Outcome::Wrong("a study is another one after being written and read".into()),
                Err(e) => Outcome::Wrong(format!("a study that was written cannot be read: {e}")),
            },
        };
    }
    let study = match StudyFile::from_toml(text, "study.toml") {
        Err(e) => return reason(&e.to_string()),
        Ok(study) => study,
    };
    // Making the worlds takes longer than reading.
    if !seed.is_multiple_of(4) {
        return Outcome::Accepted;
    }
    match study.resolve_untried("no such directory".as_ref()) {
        Err(e) => reason(&e.to_string()),
        Ok(study) => match Study::from_toml(&study.to_toml()) {
            Ok(again) if again == study => Outcome::Accepted,
            Ok(_) => Outcome::Wrong("a study is another one after being written and read".into()),
            Err(e) => Outcome::Wrong(format!("a study that was written cannot be read: {e}")),
        },
    }
}
