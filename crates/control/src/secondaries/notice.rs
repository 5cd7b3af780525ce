//! NOTIFY from others (RFC 1996), from the worker that received it to its reply.

use wire::header;

use crate::requests::Handed;

/// A NOTIFY for a zone of ours.
pub(crate) struct Notice {
    /// The request.
    pub(crate) request: Box<Handed>,
    /// Whether access lists let its sender say that the zone has changed. A primary of the zone may without.
    pub(crate) is_let_in: bool,
}

impl Notice {
    /// Replies. `now`: seconds since 1970.
    pub(crate) fn reply(self, rcode: u16, ede: Option<u16>, now: u64) {
        self.request.reply_with((rcode, ede, header::AA), now);
    }
}
