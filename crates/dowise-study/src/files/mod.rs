//! Files: read whole and within a limit, written whole or not at all.

mod read;
mod stale;
mod target;
mod write;

pub(crate) use read::open_regular;
pub use read::{MOST_TEXT, read_text_file};
pub(crate) use stale::{is_temporary, sweep};
pub(crate) use write::write_one_of_many;
pub use write::{check_writable, create_file, make_directory, stream_file, write_file};
