//! Where a store is: a file, or the address of a PostgreSQL database.

use std::fmt;
use std::path::PathBuf;

use super::{Kept, Postgres, Sqlite, Store, StoreError};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// An SQLite file, for one service.
    File(PathBuf),
    /// `postgres://…`, for several.
    Postgres(String),
}

impl StorePlace {
    /// Opens it to write; makes it if there is none.
    pub fn open(&self) -> Kept<Box<dyn Store>> {
        Ok(match self {
            StorePlace::File(file) => Box::new(Sqlite::open(file)?),
            StorePlace::Postgres(address) => Box::new(Postgres::open(address)?),
        })
    }

    /// Keeps others from serving the same file; a database is for several.
    pub fn hold(&self) -> Kept<Option<std::fs::File>> {
        match self {
            StorePlace::File(file) => Sqlite::hold(file).map(Some),
            StorePlace::Postgres(_) => Ok(None),
        }
    }

    /// Opens one that is there, to read.
    pub fn open_to_read(&self) -> Kept<Box<dyn Store>> {
        Ok(match self {
            StorePlace::File(file) if !file.exists() => {
                return Err(StoreError(format!("there is no {}", file.display())));
            }
            StorePlace::File(file) => Box::new(Sqlite::open_to_read(file)?),
            StorePlace::Postgres(address) => Box::new(Postgres::open_to_read(address)?),
        })
    }
}

impl From<&str> for StorePlace {
    fn from(text: &str) -> StorePlace {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            StorePlace::Postgres(text.to_owned())
        } else {
            StorePlace::File(text.into())
        }
    }
}

impl fmt::Display for StorePlace {
    /// Without user and password: it is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorePlace::File(file) => write!(f, "{}", file.display()),
            StorePlace::Postgres(address) => {
                let rest = address.split_once("://").map_or("", |(_, rest)| rest);
                let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
                write!(f, "postgres://{}", host.split('?').next().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_address_has_no_password() {
        let place = StorePlace::from("postgres://ann:secret@db/dowise?password=secret");
        assert_eq!(place.to_string(), "postgres://db/dowise");
        assert_eq!(StorePlace::from("a.store"), StorePlace::File("a.store".into()));
    }
}
