//! `dowise replay`, `dowise backup` and `dowise keys`: what can be done with a store besides serving it.

use std::path::{Path, PathBuf};

use dowise_serve::{Key, KeyError, OpenError, ReplayError, Role, Sqlite, StoreError, StorePlace, replay};

use super::serve::place;
use crate::output::{Failure, Output, Status};
use crate::table;

/// Play a store's log again from nothing, and compare every answer, every policy and what was learned
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// What `dowise serve --store` writes, a file or postgres://…; it may be in use.
    #[arg(value_parser = place)]
    store: StorePlace,
}

/// Copy a store into another file, while it is in use
#[derive(clap::Args)]
pub(crate) struct BackupArgs {
    /// What `dowise serve --store` writes, if it is a file; pg_dump copies what is in PostgreSQL.
    #[arg(value_parser = place)]
    store: StorePlace,
    /// The copy; it is a store itself.
    to: PathBuf,
}

/// Make a store of a copy that `dowise backup` wrote, after checking it
#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    /// The copy.
    copy: PathBuf,
    /// The store to be made; a store that is there is left alone, with its `-wal` and `-shm` beside it: move all three away first.
    store: PathBuf,
}

/// Make, list and remove API keys of a store
///
/// A key is shown once. Two of a role may be live at a time, so that the next can be handed out before the last is removed.
/// A service that runs takes changes over within a second or two; the first key needs a restart.
#[derive(clap::Args)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
    /// The store: a file, or postgres://…
    #[arg(long, global = true, value_name = "STORE", default_value = "dowise.store", value_parser = place)]
    store: StorePlace,
}

#[derive(clap::Subcommand)]
enum KeysCommand {
    /// Make a key and show it, this once.
    Add {
        /// What it may do: decide, observe or admin.
        #[arg(value_parser = role)]
        role: Role,
    },
    /// List keys by their first part, with their roles.
    List,
    /// Remove a key.
    Remove {
        /// Its first part, as listed.
        id: String,
    },
}

fn role(text: &str) -> Result<Role, String> {
    let found = Role::ALL.iter().find(|(name, _)| *name == text).map(|(_, role)| *role);
    found.ok_or_else(|| "there are decide, observe and admin".to_owned())
}

fn failure(error: StoreError) -> Failure {
    Failure::Io(error.to_string())
}

/// A store that is a file, and sound; what PostgreSQL keeps is PostgreSQL's to check.
fn file(place: &StorePlace) -> Result<Option<Sqlite>, Failure> {
    match place {
        StorePlace::File(file) if !file.exists() => Err(Failure::Io(format!("there is no store {place}"))),
        StorePlace::File(file) => Ok(Some(Sqlite::open_to_read(file).map_err(failure)?)),
        StorePlace::Postgres(_) => Ok(None),
    }
}

pub(crate) fn replay_store(args: ReplayArgs, output: &Output) -> Result<Status, Failure> {
    if let Some(file) = file(&args.store)? {
        file.check().map_err(failure)?;
    }
    let store = args.store.open_to_read().map_err(failure)?;
    // What comes while it is played is left for the next time.
    store.hold_still().map_err(failure)?;
    match replay(store.as_ref()) {
        Ok(replayed) => {
            let count = table::count;
            let mut text = format!(
                "{} events replayed: {} decisions, {} policies, {} steps learned from, all as stored\n",
                count(replayed.events),
                count(replayed.decisions),
                count(replayed.policies),
                count(replayed.steps)
            );
            if replayed.monitors > 0 {
                text += "the graph monitor agrees with the log\n";
            }
            if replayed.policies_not_checked > 0 {
                text += &format!(
                    "{} policies rest on episodes that have been forgotten since, and cannot be made again\n",
                    count(replayed.policies_not_checked)
                );
            }
            if replayed.blank > 0 {
                text +=
                    &format!("{} events are of episodes that were deleted or have expired\n", count(replayed.blank));
            }
            output.data(text)?;
            Ok(Status::Fine)
        }
        Err(ReplayError::Open(OpenError::Store(error))) => Err(failure(error)),
        Err(error) => {
            output.data(format!("{error}\n"))?;
            Ok(Status::No)
        }
    }
}

pub(crate) fn backup(args: BackupArgs, output: &Output) -> Result<Status, Failure> {
    let Some(store) = file(&args.store)? else {
        return Err(Failure::Usage(format!("{} is a PostgreSQL database: copy it with pg_dump", args.store)));
    };
    if args.to.exists() {
        return Err(Failure::Usage(format!("{} is there already; give another name", args.to.display())));
    }
    store.back_up(&args.to).map_err(failure)?;
    output.talk(format_args!("wrote {}", args.to.display()));
    Ok(Status::Fine)
}

pub(crate) fn restore(args: RestoreArgs, output: &Output) -> Result<Status, Failure> {
    if !args.copy.exists() {
        return Err(Failure::Io(format!("there is no store {}", args.copy.display())));
    }
    for beside in ["", "-wal", "-shm"] {
        let mut name = args.store.clone().into_os_string();
        name.push(beside);
        if Path::new(&name).exists() {
            return Err(Failure::Usage(format!("{} is there already; move it away first", Path::new(&name).display())));
        }
    }
    let copy = Sqlite::open_to_read(&args.copy).map_err(failure)?;
    copy.check().and_then(|()| copy.back_up(&args.store)).map_err(failure)?;
    output.talk(format_args!("wrote {}; `dowise replay` plays its log again", args.store.display()));
    Ok(Status::Fine)
}

pub(crate) fn keys(args: KeysArgs, output: &Output) -> Result<Status, Failure> {
    let mut store = args.store.open().map_err(failure)?;
    let wrong = |error: KeyError| match error {
        KeyError::Store(error) => failure(error),
        KeyError::TooMany(_) | KeyError::Unknown(_) | KeyError::Random(_) => Failure::Usage(error.to_string()),
    };
    match args.command {
        KeysCommand::Add { role } => {
            let (_, text) = Key::make(store.as_mut(), role).map_err(wrong)?;
            output.data(format!("{text}\n"))?;
            output.talk("keep it: only its hash is stored, and it is not shown again");
        }
        KeysCommand::List => {
            let lines = Key::all(store.as_ref())
                .map_err(failure)?
                .into_iter()
                .map(|key| format!("{}  {}\n", key.id, key.role.name()));
            output.data(lines.collect::<String>())?;
        }
        KeysCommand::Remove { id } => Key::remove(store.as_mut(), &id).map_err(wrong)?,
    }
    Ok(Status::Fine)
}
