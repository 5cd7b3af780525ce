//! Load generators of others, which check ours: what each offers a server, and what it saw answered.
//!
//! * [`dnsperf`]: over UDP and TCP, up to so many outstanding. * `kxdpgun`: datagrams past the kernel's sockets (AF_XDP), several times as fast.
//! * `file`: our queries in their formats.

pub mod dnsperf;
mod file;
mod kxdpgun;

use std::{net::SocketAddr, path::Path};

use file::Format;
pub use file::QueryFile;

use super::Lab;
use crate::{Error, process};

/// How long a program may take beside the time for which it offers queries: reading a million of them, a link to attach to, a second for late replies.
/// One that hangs is ended then.
const MORE_SECONDS: f64 = 60.0;

/// Which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Foreign {
    /// That of DNS-OARC.
    Dnsperf,
    /// That of Knot DNS.
    Kxdpgun,
}

impl Foreign {
    /// All, in the order in which they are asked to check.
    pub const ALL: [Foreign; 2] = [Foreign::Dnsperf, Foreign::Kxdpgun];

    /// The program.
    pub fn program(self) -> &'static str {
        match self {
            Foreign::Dnsperf => "dnsperf",
            Foreign::Kxdpgun => "kxdpgun",
        }
    }

    /// Debian's package that brings it.
    pub fn package(self) -> &'static str {
        match self {
            Foreign::Dnsperf => "dnsperf",
            Foreign::Kxdpgun => "knot-dnsutils",
        }
    }
}

/// One that is installed.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Which.
    pub which: Foreign,
    /// As it tells it.
    pub version: String,
    /// How it reads queries.
    format: Format,
    /// Further options that this version has.
    options: Vec<&'static str>,
}

/// What a program shall do.
pub struct Offer<'a> {
    /// Whom it asks.
    pub server: SocketAddr,
    /// What.
    pub queries: &'a QueryFile,
    /// Over TCP.
    pub tcp: bool,
    /// Queries a second; as many as it can without.
    pub rate: Option<f64>,
    /// For how long.
    pub seconds: f64,
}

/// What a program counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// Queries that left.
    pub sent: f64,
    /// Those answered before its time-out.
    pub answered: f64,
    /// For how long they left.
    pub seconds: f64,
    /// Mean time to an answer, where it tells that and there was one.
    pub latency_us: Option<f64>,
}

impl Counts {
    /// Queries a second.
    pub fn rate(&self) -> f64 {
        self.sent / self.seconds
    }

    /// Share of them that was answered.
    pub fn share(&self) -> f64 {
        self.answered / self.sent.max(1.0)
    }
}

impl Tool {
    /// The program, where it is installed.
    pub fn find(which: Foreign) -> Option<Tool> {
        process::find(which.program())?;
        match which {
            Foreign::Dnsperf => dnsperf::tool(),
            Foreign::Kxdpgun => kxdpgun::tool(),
        }
    }

    /// The queries of a file in the format that it reads, written into `folder`.
    pub fn queries(&self, queries: &Path, folder: &Path) -> Result<QueryFile, Error> {
        QueryFile::write(queries, folder, self.format)
    }

    /// In what its queries are others than ours, if they are.
    pub fn differs(&self) -> Option<&'static str> {
        self.format.differs()
    }

    /// Runs it from the generator's end, on the generator's cores. Errors are its own: servers that fail show in what it counted.
    pub fn offer(&self, lab: &Lab, offer: &Offer<'_>) -> Result<Counts, Error> {
        let command = match self.which {
            Foreign::Dnsperf => dnsperf::command(self, lab, offer),
            Foreign::Kxdpgun => kxdpgun::command(self, lab, offer),
        };
        let folder = lab.folder(&format!("check-{}", self.which.program()))?;
        let most = offer.seconds + MORE_SECONDS;
        let said = process::run_within(&command, &lab.load_place(), &folder, &lab.stop, most)?;
        let counts = match self.which {
            Foreign::Dnsperf => dnsperf::read(&said),
            Foreign::Kxdpgun => kxdpgun::read(&said),
        };
        let wanted = "how many queries it sent, how many were answered, and in what time";
        counts.ok_or(Error::Output { program: self.which.program(), wanted })
    }
}

/// The words behind `head` in the first line that begins with it, but for spaces.
fn words_behind<'a>(said: &'a str, head: &str) -> Option<impl Iterator<Item = &'a str>> {
    let line = said.lines().find_map(|line| line.trim_start().strip_prefix(head))?;
    Some(line.split_whitespace())
}

/// A number that makes sense as a count or time.
fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}
