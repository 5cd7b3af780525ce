//! Zonda, a DNS server: arguments to commands, one file each.

mod command;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Exit status of a finding or failure; fine is 0, and wrong usage 2, which clap sees to.
const FAILURE: u8 = 1;

/// Zonda, a DNS server.
#[derive(Parser)]
#[command(name = "zonda", version, about, long_about = None, after_help = AFTER_HELP, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  zonda serve                                  serve the root zone on 127.0.0.1:5300 and [::1]:5300, to try
  zonda serve --config /etc/zonda/zonda.toml   serve what the settings say
  zonda check-zone example.com example.zone    all problems of a zone file
  zonda ctl status                             how the running server is
  zonda top                                    what it does from moment to moment, and who asks for what

Exit status: 0 fine, 1 a finding or failure, 2 wrong usage.";

#[derive(Subcommand)]
enum Command {
    Serve(command::serve::Arguments),
    CheckConfig(command::check_config::Arguments),
    CheckZone(command::check_zone::Arguments),
    Compile(command::compile::Arguments),
    Stat(command::stat::Arguments),
    Ctl(command::ctl::Arguments),
    Top(command::top::Arguments),
    Journal(command::journal::Arguments),
    Store(command::store::Arguments),
    ApiKey(command::api_key::Arguments),
    Settings(command::settings::Arguments),
    #[command(hide = true)]
    Api(command::api::Arguments),
    #[command(hide = true)]
    Http(command::http::Arguments),
    #[command(hide = true)]
    Feed(command::feed::Arguments),
    Man(command::man::Arguments),
    Completion(command::completion::Arguments),
}

fn main() -> ExitCode {
    let ok = match Arguments::parse().command {
        Command::Serve(arguments) => command::serve::run(arguments),
        Command::CheckConfig(arguments) => command::check_config::run(&arguments),
        Command::CheckZone(arguments) => command::check_zone::run(&arguments),
        Command::Compile(arguments) => command::compile::run(&arguments),
        Command::Stat(arguments) => command::stat::run(&arguments),
        Command::Ctl(arguments) => command::ctl::run(&arguments),
        Command::Top(arguments) => command::top::run(&arguments),
        Command::Journal(arguments) => command::journal::run(&arguments),
        Command::Store(arguments) => command::store::run(&arguments),
        Command::ApiKey(arguments) => command::api_key::run(&arguments),
        Command::Api(arguments) => command::api::run(&arguments),
        Command::Http(arguments) => command::http::run(&arguments),
        Command::Feed(arguments) => command::feed::run(&arguments),
        Command::Settings(arguments) => command::settings::run(&arguments),
        Command::Man(arguments) => command::man::run(&arguments, Arguments::command()),
        Command::Completion(arguments) => command::completion::run(&arguments, Arguments::command()),
    };
    if ok { ExitCode::SUCCESS } else { ExitCode::from(FAILURE) }
}
