//! `zonda-bench load`.

mod options;
mod search;
mod show;
mod source;

use std::process::ExitCode;

use bench::{
    Error,
    load::Generator,
    mmsg,
    sizes::{Sizes, query_hash},
};

pub use options::Arguments;

pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    options::check(arguments)?;
    let settings = arguments.settings();
    let queries = source::queries(arguments, &settings)?;
    pin(arguments.cpu)?;
    let mut generator = Generator::new(settings, &queries)?;
    if arguments.find_maximum {
        return search::find_maximum(arguments, &mut generator);
    }
    if let Some(trials) = arguments.staircase {
        return search::walk_staircase(arguments, trials, &mut generator);
    }
    let trial = arguments.trial(&queries);
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
