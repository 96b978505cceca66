//! Shows how far long work is: a bar on a terminal, a line now and then otherwise, nothing when quiet.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{Output, is_dumb_terminal};

/// Progress through a known number of things.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Without a terminal: when something was last said.
    lines: Option<Mutex<Instant>>,
    what: &'static str,
    begun: Instant,
    /// What was done before.
    before: u64,
}

/// How often a line is printed where there is no terminal.
const LINES_EVERY: Duration = Duration::from_secs(10);

impl Progress {
    /// `what` is counted: "runs", "episodes".
    pub(crate) fn new(output: &Output, total: u64, what: &'static str) -> Progress {
        Progress::after(output, 0, total, what)
    }

    /// The same where some of them were done before: the time left follows from the others.
    pub(crate) fn after(output: &Output, before: u64, total: u64, what: &'static str) -> Progress {
        let terminal = std::io::stderr().is_terminal() && !is_dumb_terminal();
        let target =
            if terminal && !output.quiet() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let template = "{bar:24} {human_pos}/{human_len} {prefix}, {eta} left  {msg}";
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(what);
        bar.set_position(before);
        bar.reset_eta();
        let lines = (!terminal && !output.quiet()).then(|| Mutex::new(Instant::now()));
        Progress { bar, lines, what, begun: Instant::now(), before }
    }

    /// Sets the number done; `message` describes the last one.
    pub(crate) fn set(&self, done: u64, message: impl FnOnce() -> String) {
        let Some(lines) = &self.lines else {
            self.bar.set_position(done);
            if !self.bar.is_hidden() {
                self.bar.set_message(message());
            }
            return;
        };
        // Another thread is printing a line already; this one is skipped.
        let Ok(mut last) = lines.try_lock() else { return };
        if last.elapsed() >= LINES_EVERY {
            *last = Instant::now();
            let total = self.bar.length().unwrap_or(0);
            let here = done.saturating_sub(self.before).max(1);
            let left = self.begun.elapsed().as_secs_f64() / here as f64 * total.saturating_sub(done) as f64;
            let _ =
                writeln!(std::io::stderr(), "{done} of {total} {}, about {left:.0} s left; {}", self.what, message());
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
