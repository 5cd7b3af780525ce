//! What asks for something else than an answer: transfers, updates, notices that a zone has changed. The responder reads and verifies them; whoever
//! carries them out has streams, tickets and disks, which are not known here.

use crate::access::{Asker, Kind};
use std::sync::Arc;
use wire::tsig::{Key, Rejected};

pub use wire::envelope::{Envelope, Opt, Signer};

/// A request that can be read, and whose signature, if it has one, is right.
#[derive(Clone)]
pub struct Request<'m, 's> {
    /// The message as received.
    pub message: &'m [u8],
    /// Octets of the message before its TSIG record, whose additional count still has that.
    pub octets: usize,
    /// What it asks for.
    pub kind: Kind,
    /// The type asked for: AXFR or IXFR, else mostly SOA.
    pub qtype: u16,
    /// The class.
    pub qclass: u16,
    /// The key that signed it.
    pub key: Option<&'s Arc<Key>>,
    /// It has a SIG(0) record (RFC 2931), which was not looked at: an update.
    pub is_sig0: bool,
    /// It is signed by a key (TSIG) that is not known here: what is said to that where it is not sent on to who may know it. An update.
    pub unknown_key: Option<Rejected<'s, 'm>>,
    /// Who asks, for access lists.
    pub asker: Asker<'s>,
    /// What a reply needs.
    pub envelope: Envelope,
}
