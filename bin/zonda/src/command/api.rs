//! `zonda api`

use super::complain;

/// Read the HTTP API's requests for a server: started by `zonda serve` alone, for `[api] listen`.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs until the server ends; says whether nothing was wrong.
pub fn run(_arguments: &Arguments) -> bool {
    match web::serve_api() {
        Ok(()) => true,
        Err(line) => {
            complain([format!("api: {line}").as_str()]);
            false
        }
    }
}
