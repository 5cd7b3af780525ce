//! `zonda-bench lab`.

mod records;

use std::process::ExitCode;

use clap::Args;

/// Options of the laboratory.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: records::Command,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, bench::Error> {
    Ok(records::run(arguments.command))
}
