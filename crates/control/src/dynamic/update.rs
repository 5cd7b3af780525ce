//! A request for an update, from the worker that received it to its reply.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use auth::request::Envelope;
use change::{Asker, Failure};
use net::Ticket;
use wire::tsig::Key;
use wire::{Name, Transport};

/// Most octets of a reply: header, question, OPT, TSIG.
const REPLY_OCTETS_MAX: usize = 1232;

/// A request that access lists let in.
pub(crate) struct Update {
    /// The message.
    pub(crate) message: Box<[u8]>,
    /// Where from.
    pub(crate) client: SocketAddr,
    /// How it came.
    pub(crate) transport: Transport,
    /// The key that signed it.
    pub(crate) key: Option<Arc<Key>>,
    /// What a reply needs.
    pub(crate) envelope: Envelope,
    /// The right to reply.
    pub(crate) ticket: Ticket,
}

/// What is said to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) rcode: u16,
    pub(crate) ede: Option<u16>,
}

impl Said {
    pub(crate) const DONE: Said = Said::rcode(wire::iana::rcode::NOERROR);
    pub(crate) const FAILED: Said = Said::rcode(wire::iana::rcode::SERVFAIL);

    pub(crate) const fn rcode(rcode: u16) -> Said {
        Said { rcode, ede: None }
    }

    /// SERVFAIL, which is a matter of this server for now.
    pub(crate) const fn not_now() -> Said {
        Said { rcode: wire::iana::rcode::SERVFAIL, ede: Some(wire::iana::ede::OTHER) }
    }
}

impl From<&Failure> for Said {
    fn from(failure: &Failure) -> Said {
        Said { rcode: failure.rcode(), ede: failure.ede() }
    }
}

impl Update {
    /// Octets that it takes while it waits.
    pub(crate) fn octets(&self) -> usize {
        size_of::<Update>() + self.message.len()
    }

    /// Who sends it, for policies.
    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker { address: self.address(), transport: self.transport, key: self.key_name() }
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.client.ip()
    }

    pub(crate) fn key_name(&self) -> Option<&Name> {
        self.key.as_ref().map(|key| key.name())
    }

    /// Replies. `now`: seconds since 1970.
    pub(crate) fn reply(self, said: Said, now: u64) {
        let mut room = [0; REPLY_OCTETS_MAX];
        let octets = self.envelope.write(&mut room, said.rcode, said.ede, now);
        self.ticket.reply(&room[..octets]);
    }
}
