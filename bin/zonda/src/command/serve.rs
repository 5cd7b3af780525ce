//! `zonda serve`

use std::net::SocketAddr;
use std::path::PathBuf;

use control::controller::Overrides;
use control::serve::Start;
use control::wanted::{Embedded, Source, Wanted};
use wire::Name;

use super::{TODAYS_ROOT_ZONE, complain, zone_argument};

/// Run the server.
///
/// What it serves comes from a settings file, from the command line, or both, in which case the command line
/// goes before. With neither it serves the root zone that comes with the program, on loopback, to try it out. With `--recursive` it resolves names of others,
/// with or without zones of its own.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Settings file (TOML)
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address to listen on, for UDP and TCP; can be given several times
    #[arg(short, long, value_name = "ADDR:PORT", value_parser = address)]
    listen: Vec<SocketAddr>,
    /// Zone to serve, from text or from a pack; can be given several times
    #[arg(short, long, value_name = "ORIGIN=FILE", value_parser = zone_argument)]
    zone: Vec<Wanted>,
    /// Threads that answer; 0 means one for each processor
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(..=net::WORKERS_MAX as i64))]
    workers: Option<u16>,
    /// Answer clients of this machine and its networks about names of others too, by asking other servers (a validating resolver)
    #[arg(short, long)]
    recursive: bool,
    /// Count who takes which lock and who waits: for `zonda ctl locks`, and for the log at the end
    #[arg(long)]
    profile_locks: bool,
}

const AFTER_HELP: &str = "\
Examples:
  zonda serve
  zonda serve --config /etc/zonda/zonda.toml
  zonda serve --listen 127.0.0.1:5353 --zone example.com=example.com.zone
  zonda serve --listen [::1]:5353 --zone net=net.pack --workers 1
  zonda serve --recursive

Signals: HUP reads settings and zones again as far as they have changed; USR1 writes the status to the log; TERM
and INT end the server after the queries that have arrived are answered.";

/// The root zone that comes with the program.
static ROOT_ZONE: Embedded = Embedded {
    name: "root.zone",
    text: include_bytes!("../../../../data/root.zone"),
    renewal: TODAYS_ROOT_ZONE,
};

fn address(text: &str) -> Result<SocketAddr, String> {
    control::settings::address(text)
        .ok_or_else(|| "expected ADDRESS:PORT, such as 127.0.0.1:5300 or [::1]:53".into())
}

/// Runs the server; says whether it ended as it was told to.
pub fn run(arguments: Arguments) -> bool {
    let Arguments { config, listen, zone: mut zones, workers, recursive, profile_locks } = arguments;
    let mut welcome = Vec::new();
    let (host, port) = match listen.first() {
        Some(address) => (address.ip().to_string(), address.port()),
        None => ("127.0.0.1".into(), 5300),
    };
    if config.is_none() && recursive {
        welcome.push(format!(
            "Resolving for this machine and its networks. Try:  dig @{host} -p {port} www.example.com"
        ));
    } else if config.is_none() && zones.is_empty() {
        zones.push(Wanted {
            name: Name::root().to_owned(),
            source: Source::Embedded(&ROOT_ZONE),
            listing: None,
        });
        welcome.push(format!("Serving the root zone. Try:  dig @{host} -p {port} +dnssec com. NS"));
        welcome.push("Serve your own:  zonda serve --zone example.com=FILE   (zonda serve --help)".into());
    }
    let overrides = Overrides { listen, workers: workers.map(usize::from), profile_locks, recursive, zones };
    match control::serve::serve(Start { config, overrides, welcome }) {
        Ok(()) => true,
        Err(lines) => {
            complain(lines.iter().map(String::as_str));
            false
        }
    }
}
