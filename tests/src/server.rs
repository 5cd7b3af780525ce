//! Starts name servers on loopback, waits until they answer and ends them again.
//!
//! A server is ended when its [`Server`] is dropped, and also when the test program dies in any other way: it runs
//! under a small shell that holds the read end of a pipe from the test program and kills it when that pipe closes.

pub mod peers;
mod port;
mod process;
mod zonda;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::exchange::udp_within;
use crate::message::Query;
use crate::patience::{PATIENCE, await_some};
use crate::rtype;
use crate::zone::ZoneFile;
pub use port::free_address;
pub use process::{Guarded, signal};
pub use zonda::{attack_program, bench_program, ctl, export_program, program, program_command, settings};

/// How often a start is tried: the free port found may be taken by another before the server binds it.
const START_ATTEMPTS: usize = 3;

/// Which server program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// BIND's `named`.
    Named,
    /// NLnet Labs' `nsd`.
    Nsd,
    /// CZ.NIC's `knotd`.
    Knot,
    /// The server under test.
    Zonda,
}

impl Kind {
    /// The three peers.
    pub const PEERS: [Kind; 3] = [Kind::Named, Kind::Nsd, Kind::Knot];

    /// Name in rules, reports and variables.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Named => "named",
            Kind::Nsd => "nsd",
            Kind::Knot => "knot",
            Kind::Zonda => "zonda",
        }
    }

    /// The server that `ZONDA_TEST_SERVER` names: tests of behaviour can be tried on a peer. Default `zonda`.
    pub fn under_test() -> Kind {
        let Ok(wanted) = std::env::var("ZONDA_TEST_SERVER") else { return Kind::Zonda };
        let kinds = [Kind::Named, Kind::Nsd, Kind::Knot, Kind::Zonda];
        let found = kinds.into_iter().find(|kind| kind.label() == wanted);
        found.unwrap_or_else(|| panic!("ZONDA_TEST_SERVER={wanted}: not one of named, nsd, knot, zonda"))
    }
}

/// A running server.
pub struct Server {
    /// Which program.
    pub kind: Kind,
    /// Where it answers, UDP and TCP.
    pub address: SocketAddr,
    /// Folder of its configuration, state and log; removed with the server.
    pub scratch: TempDir,
    /// Its process.
    pub process: Guarded,
}

impl Server {
    /// Starts a server with these zones and waits until it answers for the last of them.
    ///
    /// Panics with the log of the server when it does not come up, and with the name of the Debian package when it is
    /// not installed.
    pub fn start(kind: Kind, zones: &[ZoneFile]) -> Server {
        Server::start_with(kind, zones, "")
    }

    /// As [`Server::start`], with lines added to the `[server]` table of the settings of `zonda`.
    pub fn start_with(kind: Kind, zones: &[ZoneFile], settings: &str) -> Server {
        let mut log = String::new();
        for _ in 0..START_ATTEMPTS {
            match Server::try_start(kind, zones, settings) {
                Ok(server) => return server,
                Err(text) => log = text,
            }
        }
        panic!("{} does not answer; its log:\n{log}", kind.label());
    }

    fn try_start(kind: Kind, zones: &[ZoneFile], settings: &str) -> Result<Server, String> {
        let scratch = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        let address = free_address();
        let command = match kind {
            Kind::Zonda => zonda::command(scratch.path(), address, zones, settings),
            peer => peers::command(peer, scratch.path(), address, zones),
        };
        let process = Guarded::spawn(command, scratch.path());
        let server = Server { kind, address, scratch, process };
        match server.wait_for(zones) {
            true => Ok(server),
            false => Err(server.log()),
        }
    }

    /// Waits until the server answers for every zone with anything but SERVFAIL or REFUSED.
    fn wait_for(&self, zones: &[ZoneFile]) -> bool {
        let until = Instant::now() + PATIENCE;
        let mut waiting = zones.iter().peekable();
        while Instant::now() < until && self.process.is_running() {
            let origin = waiting.peek().map_or(".", |zone| zone.origin.as_str());
            let query = Query::new(origin, rtype::SOA).octets();
            let answer = udp_within(self.address, &query, Duration::from_millis(200));
            match answer {
                Ok(Some(answer)) if zones.is_empty() || answer.get(3).is_some_and(|low| low & 0xf == 0) => {
                    waiting.next();
                    if waiting.peek().is_none() {
                        return true;
                    }
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        false
    }

    /// What the server wrote to its standard output and error so far.
    pub fn log(&self) -> String {
        let octets = std::fs::read(self.scratch.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&octets).into_owned()
    }

    /// Waits until it has all zones, those too that were not stored: before that it takes no updates.
    #[track_caller]
    pub fn await_zones(&self) {
        self.await_log("INFO serving ");
    }

    /// Waits for a line of the log with these words, and returns it. Panics where the server ends without.
    #[track_caller]
    pub fn await_log(&self, words: &str) -> String {
        await_some(
            || format!("waited for a line with {words:?}"),
            || {
                // Looked at first: what it wrote before its end counts.
                let is_running = self.process.is_running();
                let line = self.log().lines().find(|line| line.contains(words)).map(str::to_owned);
                assert!(is_running || line.is_some(), "ended without a line with {words:?}");
                line
            },
        )
    }

    /// A file of the server's scratch folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let tail = log.len().saturating_sub(4000);
            let tail = (tail..log.len()).find(|&at| log.is_char_boundary(at)).unwrap_or(log.len());
            eprintln!("--- end of the log of {} ---\n{}", self.kind.label(), &log[tail..]);
        }
        self.process.stop();
    }
}

/// Writes a file of a scratch folder.
pub fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}
