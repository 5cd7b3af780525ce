//! `zonda-bench load`.

mod join;
mod options;
mod ports;
mod progress;
mod search;
mod show;
mod source;
mod updates;

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bench::{
    Error,
    load::{Generator, Outcome, expect},
    mmsg, percentiles,
    sizes::{Sizes, query_hash},
};
use signal_hook::{
    consts::signal::{SIGINT, SIGTERM},
    flag,
};

pub use options::Arguments;
use show::Shown;

pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    if let Some(coordinator) = &arguments.joining.join {
        return join::serve(arguments, coordinator);
    }
    options::check(arguments)?;
    let shown = match arguments.updates.prepare(arguments.server)? {
        None => run_queries(arguments)?,
        Some(updates) if !arguments.has_queries() => {
            Shown::from(&updates.run_alone(arguments.seconds(), arguments.count.unwrap_or(u64::MAX))?)
        }
        Some(updates) => {
            let (shown, outcome) = updates.run_beside(|| run_queries(arguments))?;
            shown.with(Shown::from(&outcome))
        }
    };
    shown.print(arguments.json)
}

/// Sends queries as asked for.
fn run_queries(arguments: &Arguments) -> Result<Shown, Error> {
    let settings = arguments.settings()?;
    let address = settings.server;
    let queries = source::queries(arguments, &settings)?;
    if arguments.joining.coordinate.is_some() {
        return join::run(arguments, &queries, settings.expected.as_deref());
    }
    pin(arguments.cpu)?;
    let mut generator = Generator::new(settings, &queries)?;
    let stop = generator.stop_flag();
    end_at_interrupt(Arc::clone(&stop))?;
    if arguments.find_maximum {
        return search::find_maximum(arguments, &mut generator);
    }
    if let Some(trials) = arguments.staircase {
        return search::walk_staircase(arguments, trials, &mut generator);
    }
    let progress = generator.progress();
    let watcher = arguments.shows_progress().then(|| progress::Watcher::start(move || progress.look()));
    let outcome = generator.run(arguments.trial(&queries));
    drop(watcher);
    let outcome = outcome?;
    if let Some(path) = &arguments.record_sizes {
        let sizes = generator.sizes().iter().enumerate().filter(|&(_, &size)| size > 0);
        let pairs: Vec<_> = sizes.map(|(index, &size)| (query_hash(queries.packet(index)), size)).collect();
        Sizes::write(path, &pairs)?;
    }
    if let Some(path) = &arguments.record_answers {
        let answers = generator.answers().into_iter().enumerate();
        let pairs = answers.filter_map(|(index, answer)| Some((queries.packet(index), answer?)));
        let written = expect::write(path, pairs)?;
        eprintln!("{written} answers written to {}", path.display());
    }
    write_histogram(arguments.histogram.as_deref(), &outcome)?;
    let mut shown = Shown::from(&outcome);
    // Who asked nothing, as the trial was short and its machine busy, has nothing to say of the server.
    if outcome.sent > 0 && outcome.received == 0 {
        let Outcome { sent: queries, seconds, .. } = outcome;
        shown.fault = Some(Error::Silent { address, queries, seconds });
    }
    Ok(shown.ended_early(stop.load(Ordering::Relaxed)))
}

/// Writes latencies as percentiles, where there is a file for them.
fn write_histogram(path: Option<&Path>, outcome: &Outcome) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    let fault = |action| move |cause| Error::File { path: path.to_owned(), action, cause };
    let mut output = BufWriter::new(File::create(path).map_err(fault("create"))?);
    percentiles::write(&outcome.latency, &mut output).map_err(fault("write"))?;
    output.flush().map_err(fault("write"))
}

/// The first SIGINT or SIGTERM ends the trial, whose result up to then is shown; the second ends the program.
fn end_at_interrupt(stop: Arc<AtomicBool>) -> Result<(), Error> {
    let fault = |cause| Error::System { action: "wait for signals", cause };
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop)).map_err(fault)?;
        flag::register(signal, Arc::clone(&stop)).map_err(fault)?;
    }
    Ok(())
}

/// Keeps this process on one core where asked to.
pub fn pin(core: Option<usize>) -> Result<(), Error> {
    match core {
        Some(core) => {
            mmsg::pin(core).map_err(|cause| Error::System { action: "run on the core of --cpu", cause })
        }
        None => Ok(()),
    }
}
