//! `zonda-bench lab`.

mod experiment;
mod records;

use std::process::ExitCode;

use clap::Args;

/// Options of the laboratory.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = experiment::EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    experiment: experiment::Experiment,
    #[command(subcommand)]
    command: Option<records::Command>,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, bench::Error> {
    Ok(match arguments.command {
        Some(command) => records::run(command),
        None => experiment::run(arguments.experiment),
    })
}
