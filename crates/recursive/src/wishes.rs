//! What of a query its answer depends on: read once, and kept while the client waits.

use crate::limits::UDP_OCTETS_MIN;
use crate::policy::Policy;
use cache::Security;
use wire::Transport;
use wire::cookie;
use wire::edns::{Edns, ResponseOpt};
use wire::header;
use wire::name::NameRoom;

/// What a client wants beside the name; the octets of its query are not needed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub id: u16,
    /// Its flags: RD, CD and AD count.
    pub flags: u16,
    pub qtype: u16,
    /// The largest response that it takes.
    pub octets_max: u16,
    pub has_edns: bool,
    pub dnssec_ok: bool,
    pub wants_nsid: bool,
    /// Gets addresses made by DNS64.
    pub wants_dns64: bool,
    /// Asks for a name of a zone of ours: wherever that leads, the operator has said so.
    pub is_of_ours: bool,
    /// What is said to its cookie.
    pub cookie: Option<cookie::Reply>,
}

impl Wishes {
    pub(crate) fn of(id: u16, flags: u16, qtype: u16, edns: Option<&Edns>) -> Wishes {
        Wishes {
            id,
            flags,
            qtype,
            octets_max: UDP_OCTETS_MIN as u16,
            has_edns: edns.is_some(),
            dnssec_ok: edns.is_some_and(|edns| edns.dnssec_ok),
            wants_nsid: edns.is_some_and(Edns::wants_nsid),
            wants_dns64: false,
            is_of_ours: false,
            cookie: None,
        }
    }

    /// Sets how long a response may be.
    pub(crate) fn limit(&mut self, edns: Option<&Edns>, policy: &Policy, transport: Transport) {
        let wanted = edns.map_or(0, |edns| edns.udp_payload_octets.min(policy.udp_payload_octets));
        self.octets_max = if transport.is_stream() { u16::MAX } else { wanted.max(UDP_OCTETS_MIN as u16) };
    }

    /// It takes what is bogus (RFC 4035 3.2.2).
    #[inline(always)]
    pub(crate) fn checking_disabled(&self) -> bool {
        self.flags & header::CD != 0
    }

    /// It is told what is proved (RFC 6840 5.7, 5.8).
    #[inline(always)]
    pub(crate) fn wants_ad(&self) -> bool {
        self.dnssec_ok || self.flags & header::AD != 0
    }

    /// The OPT record of the response, without errors.
    #[inline(always)]
    pub(crate) fn opt<'o>(&'o self, policy: &'o Policy) -> Option<ResponseOpt<'o>> {
        self.has_edns.then(|| ResponseOpt {
            udp_payload_octets: policy.udp_payload_octets,
            dnssec_ok: self.dnssec_ok,
            cookie: self.cookie.as_ref(),
            nsid: if self.wants_nsid { policy.nsid() } else { None },
            ..ResponseOpt::default()
        })
    }
}

/// What was asked of the resolver for a client that waits, if it is not its question itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The question itself.
    #[default]
    Asked,
    /// The addresses that DNS64 makes others of: there are none of the type asked for, for so many seconds, as this has found; or nobody would say.
    Dns64 { ttl: u32, security: Security, has_failed: bool },
}

/// A client that waits: what is needed of its query, 64 octets and the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub(crate) wishes: Wishes,
    pub(crate) stage: Stage,
    /// Local data lead from the name asked for to another one, which the resolver was asked for.
    pub(crate) is_aliased: bool,
    /// The name as the client wrote it (0x20).
    pub(crate) name: NameRoom,
}

const _: () = assert!(size_of::<Waiting>() <= 80, "64 octets, and where the name is");

impl Waiting {
    /// The name asked for, in the case in which it came.
    pub fn name(&self) -> &wire::Name {
        &self.name
    }

    /// The type asked for.
    pub fn qtype(&self) -> u16 {
        self.wishes.qtype
    }

    /// The ID of the query.
    pub fn id(&self) -> u16 {
        self.wishes.id
    }

    /// Whether the answer may be bogus.
    pub fn checking_disabled(&self) -> bool {
        self.wishes.checking_disabled()
    }
}
