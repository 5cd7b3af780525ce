//! Each RRset asked for once, so that all of what is served has been touched.

use std::path::Path;

use serde_json::{Value, json};

use crate::{Error, contender::Server, data, experiment::Lab};

/// Queries outstanding: few enough for any server's buffers.
const WINDOW: &str = "100";
/// For how long is asked at most: some 17 million queries, of a server that answers 10,000 a second.
const SECONDS: &str = "1800";

/// A server after it was asked for everything.
pub struct Touched {
    /// Proportional set size, octets.
    pub pss: f64,
    /// Queries sent and lost.
    pub outcome: Value,
}

/// Asks a server for all that is in the file, once.
pub fn all(lab: &Lab, server: &mut Server, queries: &Path) -> Result<Touched, Error> {
    let count = data::queries(queries)?.to_string();
    let words = ["--closed", WINDOW, "--count", &count, "--seconds", SECONDS].map(str::to_owned);
    let outcome = lab.load(server, queries, &words)?["outcome"].take();
    let pss = server.process.pss() as f64;
    Ok(Touched { pss, outcome: json!({ "sent": outcome["sent"], "lost": outcome["lost"] }) })
}
