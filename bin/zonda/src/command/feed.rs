//! `zonda feed`

use super::complain;

/// Read a store for a server: started by `zonda serve` alone, for `[[store]]`.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs until the server ends; says whether nothing was wrong.
pub fn run(_arguments: &Arguments) -> bool {
    match feeder::run() {
        Ok(()) => true,
        Err(line) => {
            complain([format!("feed: {line}").as_str()]);
            false
        }
    }
}
