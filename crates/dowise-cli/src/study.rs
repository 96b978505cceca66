//! Runs a study for a command: progress, interruption, tables, figures.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use dowise_study::{Directory, Ending, Event, Shard, Study, StudyError, Tables, execute, figures, report};

use crate::interrupt;
use crate::output::{Failure, Output};
use crate::progress::Progress;
use crate::render;

/// Says what is wrong with a study and chooses the exit status.
pub(crate) fn failure(error: StudyError, output: &Output) -> Failure {
    match error {
        StudyError::World(problems) => {
            render::problems(&problems, output);
            Failure::Shown
        }
        e if e.is_io() => Failure::Io(e.to_string()),
        e => Failure::Usage(e.to_string()),
    }
}

/// The same for a command that answers in JSON: what is wrong with a world is JSON as well.
pub(crate) fn failure_in(world: &str, error: StudyError, json: bool, output: &Output) -> Failure {
    match error {
        StudyError::World(problems) => render::refused(world, &problems, json, output),
        other => failure(other, output),
    }
}

/// Runs what is not done yet, or what of it belongs to a shard; the tables, if they can be made, are written when this returns.
pub(crate) fn run(
    study: &Study,
    out: &Path,
    shard: Option<Shard>,
    threads: usize,
    output: &Output,
) -> Result<(Directory, Option<Tables>), Failure> {
    let directory = Directory::claim(out, study).map_err(|e| failure(e, output))?;
    let progress = OnceLock::new();
    // Mean regret of each learner so far, for the message.
    let so_far: Mutex<BTreeMap<String, (f64, u32)>> = Mutex::default();
    let tell = |event: Event<'_>| match event {
        Event::Begun { done, total } => {
            if done > 0 && done < total {
                output.talk(format_args!("going on in {}: {done} of {total} runs are done", out.display()));
            }
            let _ = progress.set(Progress::after(output, done as u64, total as u64, "runs"));
        }
        Event::Done { done, combination, record, .. } => {
            let mean = {
                let mut so_far = so_far.lock().expect("invariant: no thread panics while it holds the lock");
                let (sum, n) = so_far.entry(combination.learner.to_string()).or_default();
                *sum += record.total_regret();
                *n += 1;
                *sum / f64::from(*n)
            };
            if let Some(progress) = progress.get() {
                progress.set(done as u64, || format!("{}: mean regret {mean:.1}", combination.learner));
            }
        }
    };
    let ending = execute(study, &directory, shard, threads, interrupt::flag(), &tell);
    if let Some(progress) = progress.get() {
        progress.finish();
    }
    let ending = ending.map_err(|e| match failure(e, output) {
        Failure::Io(message) => {
            Failure::Io(format!("{message}; when it is mended, the same command goes on from there"))
        }
        other => other,
    });
    match ending? {
        Ending::Finished(tables) => Ok((directory, Some(*tables))),
        Ending::Part { done, total } => {
            let place = out.display();
            output.talk(format_args!("{done} of {total} runs are in {place}; `dowise merge` puts the shards together"));
            Ok((directory, None))
        }
        Ending::Interrupted { done, total } => Err(Failure::Interrupted(format!(
            "interrupted; {done} of {total} runs are kept in {}, the same command goes on from there",
            out.display()
        ))),
    }
}

/// Draws all figures of a study into its directory and writes its report; returns the figures' names.
pub(crate) fn draw(
    study: &Study,
    tables: &Tables,
    directory: &Directory,
    output: &Output,
) -> Result<Vec<String>, Failure> {
    let mut names = vec![];
    for (name, figure) in figures(study, tables) {
        let drawn = figure.draw().and_then(|drawing| {
            directory.write(&format!("figures/{name}.svg"), drawing.svg.as_bytes())?;
            directory.write(&format!("figures/{name}.png"), &drawing.png)
        });
        drawn.map_err(|e| failure(e, output))?;
        names.push(name);
    }
    let page = report(study, tables).and_then(|page| directory.write("report.html", page.as_bytes()));
    page.map_err(|e| failure(e, output))?;
    Ok(names)
}
