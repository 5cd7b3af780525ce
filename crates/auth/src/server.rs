//! What a server is, apart from its zones, and who asks it.

use crate::access::Access;
use crate::keys::Keys;
use crate::limits::NSID_OCTETS_MAX;
use wire::cookie::Secrets;
use wire::{Address, Transport};

/// Facts about the server that answers need. They do not change while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Our name for clients that ask with the NSID option (RFC 5001): at most [`NSID_OCTETS_MAX`] octets are sent.
    pub nsid: Option<Box<[u8]>>,
    /// The answer to `version.bind` and `version.server`; refused when absent.
    pub version: Option<Box<[u8]>>,
    /// The answer to `hostname.bind`; refused when absent.
    pub hostname: Option<Box<[u8]>>,
    /// The answer to `id.server` (RFC 4892); refused when absent.
    pub id_server: Option<Box<[u8]>>,
    /// The largest UDP response that is sent, and the largest query that is taken, whatever the client allows.
    pub udp_payload_octets: u16,
    /// What answers are like where there is a choice.
    pub style: Style,
    /// Answer ANY over TCP with all RRsets of the name instead of one (RFC 8482 4.1).
    pub full_any_over_tcp: bool,
    /// What server cookies are made with (RFC 9018); without them COOKIE is an option like those that nobody knows.
    pub cookies: Option<Secrets>,
    /// Answer queries over UDP that have a cookie, but no good one of ours, with BADCOOKIE (RFC 7873 5.2.3).
    pub demands_cookies: bool,
    /// Who may ask.
    pub access: Access,
    /// The keys that requests may be signed with (RFC 8945).
    pub keys: Keys,
    /// There is a resolver beside: names of no zone of ours, referrals and aliases that lead out of our zones are for it, if the client may
    /// have that (`docs/design/recursion.md` 7).
    pub recurses: bool,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            nsid: None,
            version: None,
            hostname: None,
            id_server: None,
            // What passes every path without fragments (DNS flag day 2020): IPv6's 1280 less its headers.
            udp_payload_octets: 1232,
            style: Style::default(),
            full_any_over_tcp: false,
            cookies: None,
            demands_cookies: false,
            access: Access::default(),
            keys: Keys::default(),
            recurses: false,
        }
    }
}

impl Server {
    pub(crate) fn nsid(&self) -> Option<&[u8]> {
        self.nsid.as_deref().map(|nsid| &nsid[..nsid.len().min(NSID_OCTETS_MAX)])
    }
}

/// What answers are like where there is a choice. Answers that were kept are forgotten when it changes, so it is one octet that each query compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style(u8);

impl Style {
    /// Leave out addresses that a client could ask for itself. Glue is never left out.
    pub const MINIMAL: Style = Style(1);
    /// End an answer where an alias leads into another zone, though it is one of this server's.
    pub const WITHIN_ZONE: Style = Style(2);
    /// Make each answer anew from its zones and keep none: what that costs is measured so.
    pub const ANEW: Style = Style(4);

    /// This one where `is_set`, else the usual one.
    pub const fn when(self, is_set: bool) -> Style {
        if is_set { self } else { Style(0) }
    }

    /// What either asks for.
    pub const fn and(self, other: Style) -> Style {
        Style(self.0 | other.0)
    }

    /// Whether an answer ends where an alias leads into another zone.
    pub const fn ends_within_zone(self) -> bool {
        self.has(Style::WITHIN_ZONE)
    }

    /// Whether all is so that `other` asks for.
    #[inline(always)]
    pub(crate) const fn has(self, other: Style) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Who asks, how, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client<'c> {
    /// How the query came.
    pub transport: Transport,
    /// Where from; a mapped IPv4 address is as good as the address.
    pub address: &'c Address,
    /// Whether the client was seen to receive there: by a handshake or a token. A good cookie is found by the responder.
    pub is_proved: bool,
    /// Seconds since 1970.
    pub now: u64,
}

impl Client<'static> {
    /// One of whom nothing is known but how its query came.
    pub fn unknown(transport: Transport) -> Client<'static> {
        Client { transport, address: &Address::NONE, is_proved: transport.is_stream(), now: 0 }
    }
}
