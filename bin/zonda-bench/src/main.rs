//! `zonda-bench`: measures name servers. Each command has a file of its own here; the work is in the `bench` crate.
//!
//! Exit status: 0 done, 1 failed or (search) nothing held, 2 wrong usage.

mod commits;
mod durable;
mod echo;
mod engine;
mod generate;
mod host;
mod lab;
mod load;
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures name servers: generators of zones and queries, an echo server as the limit, a load generator, a reader of
/// captures.
#[derive(Parser)]
#[command(name = "zonda-bench", version, about, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make zones, queries, updates or slices; the same options and seed give the same octets.
    #[command(subcommand)]
    Gen(generate::Command),
    /// Answer every UDP packet at once: the limit of what a server on the same calls can reach.
    Echo(echo::Arguments),
    /// Keep every UDP message on the disk and answer it then: the limit of what a server that takes updates can reach.
    Durable(durable::Arguments),
    /// Change records over an HTTP API as PowerDNS has it, as fast as that is done.
    Commits(commits::Arguments),
    /// Send queries to a server and count what comes back, or search its loss-free maximum.
    Load(Box<load::Arguments>),
    /// Answer with exchangeable locks, counters and memory: the server of experiments with locks.
    Engine(Box<engine::Arguments>),
    /// Show what this machine is, and how fast its memory, clock and disk are.
    Host(host::Arguments),
    /// Experiments: what they left, as reports and beside each other.
    Lab(lab::Arguments),
    /// Read captures and say what their queries and replies are.
    Trace(trace::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Gen(command) => generate::run(command),
        Command::Echo(arguments) => echo::run(arguments),
        Command::Durable(arguments) => durable::run(&arguments),
        Command::Commits(arguments) => commits::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
        Command::Engine(arguments) => engine::run(&arguments),
        Command::Host(arguments) => host::run(arguments),
        Command::Lab(arguments) => lab::run(arguments),
        Command::Trace(arguments) => trace::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("zonda-bench: {error}");
        match error {
            bench::Error::Option { .. } => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    })
}
