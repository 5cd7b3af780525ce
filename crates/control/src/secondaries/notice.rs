//! NOTIFY from others (RFC 1996), from the worker that received it to its reply.

use std::net::IpAddr;
use std::sync::Arc;

use auth::request::Envelope;
use net::Ticket;
use wire::header;
use wire::tsig::Key;

/// Most octets of a reply: header, question, OPT, TSIG.
const REPLY_OCTETS_MAX: usize = 1232;

/// A NOTIFY for a zone of ours.
pub(crate) struct Notice {
    /// The message.
    pub(crate) message: Box<[u8]>,
    /// Where from.
    pub(crate) address: IpAddr,
    /// The key that signed it.
    pub(crate) key: Option<Arc<Key>>,
    /// Whether access lists let its sender say that the zone has changed. A primary of the zone may without.
    pub(crate) is_let_in: bool,
    /// What a reply needs.
    pub(crate) envelope: Envelope,
    /// The right to reply.
    pub(crate) ticket: Ticket,
}

impl Notice {
    /// Replies. `now`: seconds since 1970.
    pub(crate) fn reply(self, rcode: u16, ede: Option<u16>, now: u64) {
        let mut room = [0; REPLY_OCTETS_MAX];
        let octets = self.envelope.write_with(&mut room, (rcode, ede, header::AA), now, |_| true);
        self.ticket.reply(&room[..octets]);
    }
}
