//! What an operator decides about iteration.

use std::net::{IpAddr, SocketAddr};

use validate::{Anchors, Policy};
use wire::name::NameBuf;

use crate::ask::prime;
use crate::limits::TASKS_MAX;
use crate::response::{NEVER_SERVERS, Prefix};
use crate::world::StreamSecurity;

/// See each.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the root's servers are looked for (RFC 9609): addresses alone, as names of the root's servers mean nothing before it is asked.
    pub hints: Vec<IpAddr>,
    /// Zones whose servers are named here: the deepest at or above a name counts.
    pub zones: Vec<Configured>,
    /// How much of a name servers get to see (RFC 9156).
    pub minimisation: Minimisation,
    /// Whether what is learned is validated. Without it everything is insecure.
    pub is_validating: bool,
    /// Where trust begins and ends.
    pub anchors: Anchors,
    /// What is verified.
    pub policy: Policy,
    /// Whether what was proved of names is answered for others that it says as much of (RFC 8198).
    pub is_aggressive: bool,
    /// Whether servers are asked over IPv4.
    pub has_ipv4: bool,
    /// Whether servers are asked over IPv6.
    pub has_ipv6: bool,
    /// Whether letters of names are asked in random case (draft-vixie-dnsext-dns0x20).
    pub is_case_random: bool,
    /// After how many milliseconds of asking what has expired is given, at once where all has failed (RFC 8767); `None`: it never is.
    pub stale_after_ms: Option<u64>,
    /// Addresses that no server has: those of no host, and the server's own.
    pub not_servers: Vec<Prefix>,
    /// The port of servers that are learned.
    pub port: u16,
    /// Most tasks at a time.
    pub tasks_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            hints: prime::HINTS.to_vec(),
            zones: Vec::new(),
            minimisation: Minimisation::Relaxed,
            is_validating: true,
            is_aggressive: true,
            anchors: Anchors::built_in(),
            policy: Policy::default(),
            has_ipv4: true,
            has_ipv6: true,
            is_case_random: true,
            stale_after_ms: None,
            not_servers: NEVER_SERVERS.to_vec(),
            port: 53,
            tasks_max: TASKS_MAX,
        }
    }
}

/// How much of a name servers get to see that do not need all of it (RFC 9156).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minimisation {
    /// The whole name.
    Off,
    /// One label more at a time; all of it where servers fail on that.
    Relaxed,
    /// The same, but a failure is one, and a denial of a part denies the whole.
    Strict,
}

/// A zone whose servers the operator names.
#[derive(Clone, Debug)]
pub struct Configured {
    /// Its apex, in lower case.
    pub name: NameBuf,
    /// What they are.
    pub kind: ConfiguredKind,
    /// Where they are. None: the zone is resolved as any other, though one above it is configured.
    pub servers: Vec<Endpoint>,
}

/// What servers that the operator names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfiguredKind {
    /// Authoritative for the zone: delegations below it are followed.
    Stub,
    /// Resolvers, which are asked with RD for everything in it.
    Forward {
        /// Whether other servers are asked when all of them fail.
        is_first: bool,
    },
}

/// A server as an operator names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address and port.
    pub address: SocketAddr,
    /// How it is reached.
    pub security: Protection,
}

/// How a server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// UDP, and TCP where that does not do.
    #[default]
    Plain,
    /// TLS (RFC 7858), whoever answers.
    Opportunistic,
    /// TLS with one that proves this name (RFC 8310).
    Named(String),
}

impl Protection {
    /// As `World::connect` takes it.
    pub(crate) fn of_stream(&self) -> StreamSecurity<'_> {
        match self {
            Protection::Plain => StreamSecurity::Plain,
            Protection::Opportunistic => StreamSecurity::Opportunistic,
            Protection::Named(name) => StreamSecurity::Named(name),
        }
    }
}
