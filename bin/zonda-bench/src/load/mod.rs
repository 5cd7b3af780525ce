//! `zonda-bench load`.

mod options;
mod search;
mod show;

use std::process::ExitCode;

use bench::{
    Error,
    load::{Generator, Pace, Trial},
    mmsg,
    query::QuerySet,
    sizes::{Sizes, query_hash},
};

pub use options::Arguments;
use options::SECONDS_MAX;

/// Order of the runs of equal length: any fixed one, so that all contenders get the same.
const RUNS_SEED: u64 = 1;
/// Queries outstanding while sizes are recorded: few enough for any server's buffers.
const RECORD_WINDOW: u64 = 100;

pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    options::check(&arguments)?;
    let settings = arguments.settings();
    let mut queries = QuerySet::read(&arguments.queries)?;
    if arguments.trains {
        queries = queries.in_runs(arguments.burst.min(mmsg::TRAIN_MAX) * settings.threads, RUNS_SEED);
    }
    pin(arguments.cpu)?;
    let mut generator = Generator::new(settings, &queries)?;
    if arguments.find_maximum {
        return search::find_maximum(&arguments, &mut generator);
    }
    if let Some(trials) = arguments.staircase {
        return search::walk_staircase(&arguments, trials, &mut generator);
    }
    let mut trial = Trial {
        pace: Pace::Closed { window: arguments.closed.unwrap_or(RECORD_WINDOW) },
        seconds: arguments.seconds,
        queries_max: arguments.count.unwrap_or(u64::MAX),
    };
    if let Some(rate) = arguments.rate {
        trial.pace = Pace::Open { rate };
    }
    if arguments.record_sizes.is_some() {
        (trial.seconds, trial.queries_max) = (SECONDS_MAX, queries.count() as u64);
    }
    let outcome = generator.run(trial)?;
    if let Some(path) = &arguments.record_sizes {
        let sizes = generator.sizes().iter().enumerate().filter(|&(_, &size)| size > 0);
        let pairs: Vec<_> = sizes.map(|(index, &size)| (query_hash(queries.packet(index)), size)).collect();
        Sizes::write(path, &pairs)?;
    }
    show::show(&outcome, arguments.json);
    Ok(if outcome.received > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
