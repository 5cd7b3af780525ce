//! `zonda-bench commits`.

use std::{fs, net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use bench::{
    Error,
    commits::{self, CONNECTIONS_MAX, Plan, Settings},
    machine,
};
use clap::Args;
use serde_json::json;

/// Longest loop: an hour.
const SECONDS_MAX: f64 = 3600.0;
/// Longest patience: what latencies tell apart.
const TIMEOUT_MS_MAX: u64 = 60_000;

/// Options of a loop of changes.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench commits --server 127.0.0.1:8081 --key-file key --zones zones.txt --connections 64
  zonda-bench commits --server 127.0.0.1:8081 --key-file key --zones zones.txt --seconds 60 --json
Each connection has one request in flight: PATCH of the address of client-N, a name of its own, in one zone of the file after the
other, REPLACE with another address each time. In clear text; over TLS put what speaks it before.")]
pub struct Arguments {
    /// Address and port of the API.
    #[arg(long, value_name = "ADDR:PORT")]
    server: SocketAddr,
    /// File with the key (X-API-Key).
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// File with the names of the zones to change, one a line.
    #[arg(long, value_name = "FILE")]
    zones: PathBuf,
    /// Connections, each with a request in flight.
    #[arg(long, value_name = "N", default_value_t = 1)]
    connections: usize,
    /// For how long requests are begun.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// So many requests at most.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    requests: u64,
    /// A request without a reply for so long is lost.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    timeout_ms: u64,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let rules = [
        ("--connections", (1..=CONNECTIONS_MAX).contains(&arguments.connections), "must be from 1 to 1024"),
        ("--seconds", (0.001..=SECONDS_MAX).contains(&arguments.seconds), "must be from 0.001 to 3600"),
        ("--requests", arguments.requests > 0, "must be at least 1"),
        ("--timeout-ms", (1..=TIMEOUT_MS_MAX).contains(&arguments.timeout_ms), "must be from 1 to 60000"),
    ];
    if let Some((option, _, rule)) = rules.into_iter().find(|&(_, kept, _)| !kept) {
        return Err(Error::Option { option, rule });
    }
    let path = &arguments.key_file;
    let key = fs::read_to_string(path)
        .map_err(|cause| Error::File { path: path.clone(), action: "read", cause })?
        .trim()
        .to_owned();
    // It stands in a line of a head.
    if key.is_empty() || !key.bytes().all(|octet| octet.is_ascii_graphic()) {
        return Err(Error::Option { option: "--key-file", rule: "must have one key of visible letters" });
    }
    let settings = Settings {
        server: arguments.server,
        key,
        zones: commits::zones(&arguments.zones)?,
        connections: arguments.connections,
        timeout: Duration::from_millis(arguments.timeout_ms),
    };
    let plan = Plan { seconds: arguments.seconds, requests_max: arguments.requests };
    let outcome = commits::run(&settings, plan)?;
    match arguments.json {
        true => println!("{}", json!({ "commits": outcome.to_json(), "machine": machine::describe() })),
        false => print!("{outcome}"),
    }
    Ok(if outcome.accepted() > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
