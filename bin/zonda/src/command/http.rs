//! `zonda http`

use super::complain;

/// Answer over HTTP for a server: started by `zonda serve` alone, for `[http] listen`.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs until the server ends; says whether nothing was wrong.
pub fn run(_arguments: &Arguments) -> bool {
    match web::serve() {
        Ok(()) => true,
        Err(line) => {
            complain([format!("http: {line}").as_str()]);
            false
        }
    }
}
