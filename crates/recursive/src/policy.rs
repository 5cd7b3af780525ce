//! All that operators set about what clients of the resolver get, as one value.

use crate::dns64::Dns64;
use crate::limits::NSID_OCTETS_MAX;
use crate::local::Local;
use crate::names::Names;
use crate::networks::Networks;
use crate::rebinding::Rebinding;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use wire::Transport;
use wire::cookie::Secrets;

/// Who asks, as far as who may ask depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Where from; a mapped IPv4 address is as good as the address.
    pub address: IpAddr,
    /// How the query came.
    pub transport: Transport,
    /// Whether the client was seen to receive at its address: by a connection, or a good cookie.
    pub is_proved: bool,
}

/// What is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// The client is not let in.
    #[default]
    Denied,
    /// It would be, if it had shown that it receives at its address.
    Unproved,
    /// It is let in.
    Allowed,
}

/// Which clients.
#[derive(Clone)]
pub enum Clients {
    /// All.
    All,
    /// Those of networks.
    Of(Networks),
    /// Whom somebody else knows: access lists.
    By(Arc<dyn Fn(&Asker) -> Decision + Send + Sync>),
}

impl Clients {
    /// This machine: who else may ask is for operators to say. An open resolver is one for everybody's attacks.
    pub fn loopback() -> Clients {
        Clients::Of(Networks::built_in(&["127.0.0.0/8", "::1/128"]))
    }

    /// Whether a client is one of them.
    #[inline]
    pub fn decide(&self, asker: &Asker) -> Decision {
        match self {
            Clients::All => Decision::Allowed,
            Clients::Of(networks) if networks.has(asker.address) => Decision::Allowed,
            Clients::Of(_) => Decision::Denied,
            Clients::By(decide) => decide(asker),
        }
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clients::All => f.write_str("All"),
            Clients::Of(networks) => f.debug_tuple("Of").field(networks).finish(),
            Clients::By(_) => f.write_str("By(..)"),
        }
    }
}

/// The settings; see the module.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Another for each change of any setting: what is kept of answers was made under one of them.
    pub version: u64,
    /// Who gets recursion.
    pub clients: Clients,
    /// Whether queries without RD read what is kept, which tells what others asked for.
    pub answers_without_rd: bool,
    /// How many questions a second clients of a prefix (/24, /56) may have the resolver find out, those with a proved address apart; 0: any number. Beyond it they
    /// get what is kept, else TC, or SERVFAIL where their address is proved. Mail servers with block lists ask for thousands of names that do not exist.
    pub misses_per_second: u32,
    /// The largest UDP response that is sent, whatever the client allows.
    pub udp_payload_octets: u16,
    /// Whether records of a set change their places from answer to answer.
    pub rotates: bool,
    /// Whether denials of a name that are not proved hold for what is below it too (RFC 8020).
    pub cuts_below_unproved: bool,
    /// For how many seconds what has expired is given where it could not be found out anew (RFC 8767); 0: it is not.
    pub stale_seconds: u32,
    /// Names from which on downwards others are asked than those that the DNS names: forwarded zones, stub zones, zones of ours. What is denied of names above
    /// does not hold below them.
    pub points: Names,
    /// Our name for clients that ask with the NSID option (RFC 5001).
    pub nsid: Option<Box<[u8]>>,
    /// What server cookies are made with (RFC 9018); without them COOKIE is an option like those that nobody knows.
    pub cookies: Option<Secrets>,
    /// Whether queries over UDP that have a cookie, but no good one of ours, are answered with BADCOOKIE (RFC 7873 5.2.3).
    pub demands_cookies: bool,
    /// Names that are answered from here.
    pub local: Local,
    /// Addresses made of others, if they are.
    pub dns64: Option<Dns64>,
    /// What is kept back of answers from outside, if anything is.
    pub rebinding: Option<Rebinding>,
}

impl Default for Policy {
    /// For this machine, with the names that are special, nothing else.
    fn default() -> Policy {
        Policy {
            version: 0,
            clients: Clients::loopback(),
            answers_without_rd: false,
            misses_per_second: 0,
            // What passes every path without fragments (DNS flag day 2020): IPv6's 1280 less its headers.
            udp_payload_octets: 1232,
            rotates: true,
            cuts_below_unproved: false,
            stale_seconds: 86_400,
            points: Names::default(),
            nsid: None,
            cookies: None,
            demands_cookies: false,
            local: Local::default(),
            dns64: None,
            rebinding: None,
        }
    }
}

impl Policy {
    pub(crate) fn nsid(&self) -> Option<&[u8]> {
        self.nsid.as_deref().map(|nsid| &nsid[..nsid.len().min(NSID_OCTETS_MAX)])
    }
}
