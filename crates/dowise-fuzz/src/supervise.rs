//! Starts workers, watches over them, keeps what failed, and says what was done.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::minimise::minimise;
use crate::work::{Said, Tally};
use crate::{Case, Corpus, Kind};

/// How much is tried, and where failures go.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Decides all cases.
    pub seed: u64,
    /// Kinds of input.
    pub kinds: Vec<Kind>,
    /// Number of the first case.
    pub from: u64,
    /// Most cases.
    pub cases: u64,
    /// Most time.
    pub time: Duration,
    /// Most time for one case.
    pub case_time: Duration,
    /// Directory for cases that failed.
    pub failures: PathBuf,
}

/// What failed in one way.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What happened.
    pub what: String,
    /// Number of the first case.
    pub case: u64,
    /// How many failed in this way.
    pub times: u64,
    /// The case, made smaller.
    pub file: PathBuf,
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What came of the cases.
    pub tally: Tally,
    /// Cases tried.
    pub executions: u64,
    /// How long it took.
    pub seconds: f64,
    /// What failed, by what happened.
    pub failures: BTreeMap<String, Failure>,
}

/// Times that a case may take, most of which its process waited: for the processor, or for what never comes.
const IDLE: u32 = 30;

/// Tries cases until the time or the cases are used up. `tell` is called about once a second.
pub fn supervise(settings: &Settings, program: &Path, mut tell: impl FnMut(&Report)) -> std::io::Result<Report> {
    let corpus = Corpus::new();
    let begin = Instant::now();
    let mut report = Report::default();
    let place = tempfile::NamedTempFile::new()?;
    let to = settings.from.saturating_add(settings.cases);
    let mut next = settings.from;
    while next < to && begin.elapsed() < settings.time {
        std::fs::write(place.path(), next.to_le_bytes())?;
        let mut worker = Worker::start(settings, program, next, to, place.path())?;
        // Where it was last, and how much of the processor it had used then.
        let mut seen = (next, Duration::ZERO, Instant::now());
        let ended = loop {
            let now = position(place.path())?;
            if now != seen.0 {
                seen = (now, worker.used(), Instant::now());
            }
            report.executions = now - settings.from;
            report.seconds = begin.elapsed().as_secs_f64();
            if begin.elapsed() >= settings.time {
                worker.end();
                break None;
            }
            match worker.said.recv_timeout(settings.case_time) {
                Ok(Said::Done(tally)) => {
                    report.tally.add(tally);
                    tell(&report);
                }
                Ok(Said::Failed(number, what)) => keep(settings, program, &corpus, &mut report, number, what)?,
                Err(RecvTimeoutError::Timeout) if position(place.path())? == now => {
                    // On a busy machine a worker may wait long for the processor, which is no hang.
                    let hangs = worker.used().saturating_sub(seen.1) >= settings.case_time
                        || seen.2.elapsed() >= IDLE * settings.case_time;
                    if hangs {
                        worker.end();
                        break Some(format!("hang: longer than {} s", settings.case_time.as_secs_f64()));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break worker.ended(),
            }
        };
        // What was said while a failure was made smaller.
        for said in worker.said.try_iter() {
            match said {
                Said::Done(tally) => report.tally.add(tally),
                Said::Failed(number, what) => keep(settings, program, &corpus, &mut report, number, what)?,
            }
        }
        let last = position(place.path())?;
        report.executions = last + 1 - settings.from;
        next = last + 1;
        if let Some(what) = ended {
            keep(settings, program, &corpus, &mut report, last, what)?;
        } else if begin.elapsed() < settings.time && next < to {
            return Err(std::io::Error::other("a worker ended before its last case"));
        }
    }
    report.seconds = begin.elapsed().as_secs_f64();
    Ok(report)
}

/// Keeps the first case that failed in a way, made smaller, and counts the others.
fn keep(
    settings: &Settings,
    program: &Path,
    corpus: &Corpus,
    report: &mut Report,
    number: u64,
    what: String,
) -> std::io::Result<()> {
    let way: String = what.chars().filter(|c| !c.is_ascii_digit()).take(160).collect();
    if let Some(failure) = report.failures.get_mut(&way) {
        failure.times += 1;
        return Ok(());
    }
    let case = Case::made(corpus, &settings.kinds, settings.seed, number);
    let case = minimise(case, |smaller| {
        let found = try_alone(program, smaller, settings.case_time);
        found.is_some_and(|found| found.chars().filter(|c| !c.is_ascii_digit()).take(40).eq(way.chars().take(40)))
    });
    std::fs::create_dir_all(&settings.failures)?;
    let file = settings.failures.join(format!("{}-{}-{number}.case", case.kind.word(), settings.seed));
    std::fs::write(&file, case.to_file())?;
    report.failures.insert(way, Failure { what, case: number, times: 1, file });
    Ok(())
}

/// Tries a case in a process of its own; says what happened if it failed.
pub fn try_alone(program: &Path, case: &Case, limit: Duration) -> Option<String> {
    let file = tempfile::NamedTempFile::new().ok()?;
    std::fs::write(file.path(), case.to_file()).ok()?;
    let mut command = Command::new(program);
    command.arg("replay").arg(file.path()).env("RAYON_NUM_THREADS", "1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let begin = Instant::now();
    loop {
        match child.try_wait().ok()? {
            Some(status) if status.success() => return None,
            Some(status) if status.code() == Some(1) => {
                let mut text = String::new();
                child.stdout.take()?.read_to_string(&mut text).ok()?;
                return Some(text);
            }
            Some(status) => return Some(abort(&mut child, status)),
            None if used(&child).unwrap_or(begin.elapsed()) > limit || begin.elapsed() > IDLE * limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Some(format!("hang: longer than {} s", limit.as_secs_f64()));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn abort(child: &mut Child, status: std::process::ExitStatus) -> String {
    let mut text = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut text);
    }
    format!("abort: {} ({status})", text.lines().find(|line| !line.trim().is_empty()).unwrap_or(""))
}

/// Time on the processor that a process has used, where the system says so.
fn used(child: &Child) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // The name, in brackets, may have spaces; user and system time are the twelfth and thirteenth words after it.
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = words.get(11)?.parse::<u64>().ok()? + words.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks)) // a hundred a second wherever Linux says so in this file
}

fn position(file: &Path) -> std::io::Result<u64> {
    let bytes = std::fs::read(file)?;
    bytes.try_into().map(u64::from_le_bytes).map_err(|_| std::io::Error::other("invariant: a number of eight bytes"))
}

struct Worker {
    child: Child,
    started: Instant,
    said: Receiver<Said>,
}

impl Worker {
    fn start(settings: &Settings, program: &Path, from: u64, to: u64, place: &Path) -> std::io::Result<Worker> {
        let kinds: Vec<&str> = settings.kinds.iter().map(|kind| kind.word()).collect();
        let mut command = Command::new(program);
        command.arg("work").arg("--at").arg(place).args(["--kinds", &kinds.join(",")]);
        command.args(["--seed", &settings.seed.to_string(), "--from", &from.to_string(), "--to", &to.to_string()]);
        // One core; and the order of what happens does not depend on threads.
        command.env("RAYON_NUM_THREADS", "1");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| std::io::Error::other("no standard output"))?;
        let (send, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(words) = serde_json::from_str(&line) else { continue };
                if send.send(words).is_err() {
                    break;
                }
            }
        });
        Ok(Worker { child, started: Instant::now(), said })
    }

    /// Time on the processor, or since it was started where the system does not say.
    fn used(&self) -> Duration {
        used(&self.child).unwrap_or(self.started.elapsed())
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// How it ended, if not well.
    fn ended(&mut self) -> Option<String> {
        match self.child.wait() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(abort(&mut self.child, status)),
            Err(e) => Some(e.to_string()),
        }
    }
}
