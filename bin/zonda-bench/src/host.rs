//! `zonda-bench host`.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use bench::{
    Error,
    host::report::{self, Options},
};
use clap::Args;

/// Options of `host`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench host
  zonda-bench host --quick --json
  zonda-bench host --directory /var/lib/zonda
What the system does not tell is shown as 'not told', in JSON as null. Takes below 20 seconds, with --quick below 2.")]
pub struct Arguments {
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Fewer sizes and shorter runs.
    #[arg(long)]
    quick: bool,
    /// Measure how often a second this directory's disk keeps a small write.
    #[arg(long, value_name = "PATH")]
    directory: Option<PathBuf>,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let report =
        report::measure(&Options { quick: arguments.quick, directory: arguments.directory.clone() })?;
    let mut output = io::stdout().lock();
    match arguments.json {
        true => writeln!(output, "{}", report.json()),
        false => writeln!(output, "{report}"),
    }
    .map_err(|cause| Error::System { action: "write the report", cause })?;
    Ok(ExitCode::SUCCESS)
}
