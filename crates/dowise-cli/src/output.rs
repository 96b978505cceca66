//! Where things are printed: data on standard output, talk on standard error, in colour or not.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How a command ended, if nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// All is well.
    Fine,
    /// The answer is no.
    No,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(match status {
            Status::Fine => 0,
            Status::No => 1,
        })
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments or the input are wrong.
    Usage(String),
    /// Something could not be read or written.
    Io(String),
    /// Stopped by the user; what is done is kept.
    Interrupted(String),
    /// What is wrong has been shown already.
    Shown,
    /// The reader of standard output has closed it, such as `head`; this is not reported.
    ClosedPipe,
}

impl Failure {
    /// Says what is wrong and gives the exit status.
    pub(crate) fn report(&self, output: &Output) -> ExitCode {
        match self {
            Failure::Usage(message) => {
                output.error(message);
                ExitCode::from(2)
            }
            Failure::Io(message) => {
                output.error(message);
                ExitCode::from(3)
            }
            Failure::Interrupted(message) => {
                output.talk(message);
                ExitCode::from(130)
            }
            Failure::Shown => ExitCode::from(2),
            Failure::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

/// Whether the terminal knows nothing but lines of text.
pub(crate) fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Prints.
pub(crate) struct Output {
    colour_out: bool,
    colour_err: bool,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(choice: ColorChoice, quiet: bool) -> Output {
        let wanted = |terminal: bool| match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                terminal && !is_dumb_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        Output { colour_out: wanted(io::stdout().is_terminal()), colour_err: wanted(io::stderr().is_terminal()), quiet }
    }

    /// An output without colours that prints results and errors only.
    pub(crate) fn silent() -> Output {
        Output { colour_out: false, colour_err: false, quiet: true }
    }

    /// Whether only results and errors are printed.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    pub(crate) fn colour_err(&self) -> bool {
        self.colour_err
    }

    /// A heading, bold in colour.
    pub(crate) fn heading(&self, text: &str) -> String {
        let text = crate::table::wrapped(text);
        if self.colour_out { format!("\x1b[1m{text}\x1b[0m") } else { text }
    }

    /// Prints data.
    pub(crate) fn data(&self, text: impl Display) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match write!(out, "{text}").and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
            Err(e) => Err(Failure::Io(format!("cannot write to standard output: {e}"))),
        }
    }

    /// Prints data as JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).expect("invariant: names and numbers can be written");
        self.data(format_args!("{text}\n"))
    }

    /// Prints talk, unless asked to be quiet. A closed standard error is no reason to fail.
    pub(crate) fn talk(&self, text: impl Display) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Prints what went wrong, quiet or not.
    pub(crate) fn error(&self, text: impl Display) {
        let (on, off) = if self.colour_err { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
        let _ = writeln!(io::stderr(), "{on}error:{off} {text}");
    }
}
