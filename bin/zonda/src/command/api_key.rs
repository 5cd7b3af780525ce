//! `zonda api-key`

use std::io::Write;

use super::complain;

/// Make a key for the HTTP API.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  zonda api-key new acme        print a section [[api-key]] for the settings, and its secret

The secret is shown once and kept nowhere: the settings have its hash. Clients send it as X-API-Key. A key that is
taken out of the settings is none any more after `zonda ctl reconfigure`; `zonda ctl api-key revoke NAME` is at once.";

#[derive(clap::Subcommand)]
enum Command {
    /// Print a section for the settings, and its secret.
    New {
        /// Its name, for rules (`api:NAME`) and the log.
        name: String,
    },
}

/// Prints it; says whether nothing was wrong.
pub fn run(arguments: &Arguments) -> bool {
    let Command::New { name } = &arguments.command;
    let printed = control::new_api_key(name).and_then(|(section, secret)| {
        let text = format!("{section}\n# The secret, which is shown once: {secret}\n");
        std::io::stdout().write_all(text.as_bytes()).map_err(|error| format!("cannot write: {error}"))
    });
    match printed {
        Ok(()) => true,
        Err(line) => {
            complain([format!("api-key: {line}").as_str()]);
            false
        }
    }
}
