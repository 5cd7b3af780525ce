//! `zonda-bench lab`.

mod all;
mod copies;
mod experiment;
mod peers;
mod records;

use std::{
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

use clap::{Args, Subcommand};

/// Options of the laboratory.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = experiment::EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    experiment: experiment::Experiment,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run every recipe, one after the other; goes on where it was interrupted.
    #[command(after_help = all::EXAMPLES)]
    All(Box<all::Recipes>),
    /// Measure the server beside a copy of itself, or a dearer one, again and again: what do intervals claim?
    #[command(name = "self", after_help = copies::EXAMPLES)]
    Copies(Box<copies::Copies>),
    #[command(flatten)]
    Records(records::Command),
}

pub fn run(arguments: Arguments) -> Result<ExitCode, bench::Error> {
    Ok(match arguments.command {
        Some(Command::All(recipes)) => all::run(*recipes),
        Some(Command::Copies(copies)) => copies::run(*copies),
        Some(Command::Records(command)) => records::run(command),
        None => experiment::run(arguments.experiment),
    })
}

/// Has the signals by which a user ends a program set a flag, so that all is put back.
fn end_on_signals(stop: &Arc<AtomicBool>) -> Result<(), lab::Error> {
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let installed = signal_hook::flag::register(signal, Arc::clone(stop));
        installed.map_err(|cause| lab::Error::System { action: "install a signal handler", cause })?;
    }
    Ok(())
}
