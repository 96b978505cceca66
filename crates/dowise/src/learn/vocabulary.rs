//! Vocabularies: closed lists of names, each entry defined once with its written form.

/// Declares an enumeration whose entries have names: reading, writing and listing follow from the one list.
macro_rules! vocabulary {
    (
        $(#[$doc:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$entry_doc:meta])* $entry:ident = $word:literal, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        $vis enum $name {
            $( $(#[$entry_doc])* #[serde(rename = $word)] $entry, )*
        }

        impl $name {
            /// Every entry, in order.
            $vis const ALL: &'static [$name] = &[$($name::$entry,)*];

            /// The names of the entries, in order.
            $vis const WORDS: &'static [&'static str] = &[$($word,)*];

            /// Its name as it is written.
            $vis const fn word(self) -> &'static str {
                match self {
                    $( $name::$entry => $word, )*
                }
            }

            /// The entry of this name.
            $vis fn of(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|entry| entry.word() == word)
            }
        }
    };
}

pub(crate) use vocabulary;
