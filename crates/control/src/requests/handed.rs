//! A request that a worker hands on to another thread, which carries it out and replies.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use auth::request::Envelope;
use change::Asker;
use net::Ticket;
use wire::tsig::Key;
use wire::{Name, NameBuf, Transport};

use crate::dynamic::Proof;

/// Most octets of a reply: header, question, OPT, TSIG.
const REPLY_OCTETS_MAX: usize = 1232;

/// A request that access lists let in.
pub(crate) struct Handed {
    /// The message.
    pub(crate) message: Box<[u8]>,
    /// Where from.
    pub(crate) client: SocketAddr,
    /// The network that limits of clients count it under: its first address.
    pub(crate) network: IpAddr,
    /// How it came.
    pub(crate) transport: Transport,
    /// Whether the client has shown that it receives at its address, or has a key.
    pub(crate) is_proved: bool,
    /// Whether it is signed by SIG(0), which nobody verified when it was handed on.
    pub(crate) is_sig0: bool,
    /// Whose signature was verified.
    pub(crate) signer: Option<Signer>,
    /// What a reply needs.
    pub(crate) envelope: Envelope,
    /// Whether it is to be done by itself, as one of those that it was done with is at fault.
    pub(crate) is_alone: bool,
    /// What was found of signatures that it brings to a signed zone.
    pub(crate) proof: Option<Box<Proof>>,
    /// The right to reply.
    pub(crate) ticket: Ticket,
}

/// Who has signed a request, as was verified.
pub(crate) enum Signer {
    /// Whoever has this key (TSIG).
    Shared(Arc<Key>),
    /// Whoever has the private half of a KEY record at this name, which is in lower case (SIG(0)).
    Public(NameBuf),
}

impl Handed {
    /// Octets that it takes while it waits.
    pub(crate) fn octets(&self) -> usize {
        size_of::<Handed>() + self.message.len()
    }

    /// Who sends it, for policies.
    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker { address: self.address(), transport: self.transport, key: self.key_name() }
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.client.ip()
    }

    /// The name of the key that signed it.
    pub(crate) fn key_name(&self) -> Option<&Name> {
        self.signer.as_ref().map(|signer| match signer {
            Signer::Shared(key) => key.name(),
            Signer::Public(name) => name,
        })
    }

    /// The name in its question: the zone that it is about, as it was written.
    pub(crate) fn zone(&self) -> &Name {
        self.envelope.name()
    }

    /// Replies with this response code, extended error and these flags beside those of every reply. `now`: seconds since 1970.
    pub(crate) fn reply_with(self, said: (u16, Option<u16>, u16), now: u64) {
        let mut room = [0; REPLY_OCTETS_MAX];
        let octets = self.envelope.write_with(&mut room, said, now, |_| true);
        self.ticket.reply(&room[..octets]);
    }

    /// Replies with this response code and extended error, which has these words. `now`: seconds since 1970. `is_few`: see [`Ticket::reply_at_once`].
    pub(crate) fn reply_words(self, said: (u16, Option<u16>, &str), now: u64, is_few: bool) {
        let mut room = [0; REPLY_OCTETS_MAX];
        let octets = self.envelope.write_words(&mut room, said, now);
        match is_few {
            true => self.ticket.reply_at_once(&room[..octets]),
            false => self.ticket.reply(&room[..octets]),
        }
    }
}
