//! API keys: shown once, stored as hashes, with a role each; two of a role may be live at a time, so that one can be changed for the next.

use serde::{Deserialize, Serialize};

use crate::store::{Store, StoreError};

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Ask for decisions.
    Decide,
    /// Send observations, close episodes.
    Observe,
    /// Everything.
    Admin,
}

impl Role {
    /// All, by name.
    pub const ALL: [(&'static str, Role); 3] =
        [("decide", Role::Decide), ("observe", Role::Observe), ("admin", Role::Admin)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Decide => "decide",
            Role::Observe => "observe",
            Role::Admin => "admin",
        }
    }

    /// Whether a key of this role may do what another role is needed for.
    pub fn may(self, needed: Role) -> bool {
        self == needed || self == Role::Admin
    }
}

/// Live keys of a role at most.
pub const MOST_KEYS: usize = 2;

/// A key as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Its name, the first part of the key.
    pub id: String,
    /// What it may do.
    pub role: Role,
    /// Of the whole key.
    hash: String,
}

/// Why there is no new key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are two already.
    #[error("there are {MOST_KEYS} keys of the role {0} already; remove one first")]
    TooMany(&'static str),
    /// No such key.
    #[error("there is no key \"{0}\"")]
    Unknown(String),
    /// No random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl Key {
    /// All keys of a store.
    pub fn all(store: &dyn Store) -> Result<Vec<Key>, StoreError> {
        let read =
            |(_, value): (String, Vec<u8>)| serde_json::from_slice(&value).map_err(|e| StoreError(e.to_string()));
        store.values("apikey/")?.into_iter().map(read).collect()
    }

    /// Makes a key; the text is nowhere else.
    pub fn make(store: &mut dyn Store, role: Role) -> Result<(Key, String), KeyError> {
        if Key::all(store)?.iter().filter(|key| key.role == role).count() >= MOST_KEYS {
            return Err(KeyError::TooMany(role.name()));
        }
        let mut random = [0; 36];
        getrandom::fill(&mut random).map_err(|e| KeyError::Random(e.to_string()))?;
        let id = hex(&random[..4]);
        let text = format!("dw_{id}_{}", hex(&random[4..]));
        let key = Key { id, role, hash: blake3::hash(text.as_bytes()).to_hex().to_string() };
        let value = serde_json::to_vec(&key).expect("invariant: words can be written");
        store.begin()?;
        store.put_value(&format!("apikey/{}", key.id), &value)?;
        store.commit()?;
        Ok((key, text))
    }

    /// Removes a key.
    pub fn remove(store: &mut dyn Store, id: &str) -> Result<(), KeyError> {
        if !Key::all(store)?.iter().any(|key| key.id == id) {
            return Err(KeyError::Unknown(id.to_owned()));
        }
        store.begin()?;
        store.remove_value(&format!("apikey/{id}"))?;
        Ok(store.commit()?)
    }

    /// The key that somebody sent.
    pub fn find<'a>(keys: &'a [Key], text: &str) -> Option<&'a Key> {
        let hash = blake3::hash(text.as_bytes());
        // Compared in constant time.
        let is = |key: &&Key| blake3::Hash::from_hex(&key.hash).is_ok_and(|stored| stored == hash);
        keys.iter().find(is)
    }
}
