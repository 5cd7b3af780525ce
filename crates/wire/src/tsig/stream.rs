//! Responses of many messages, zone transfers (RFC 8945 5.3.1).

use super::check::begin;
use super::mac::{Context, Mac};
use super::record::digest_mac;
use super::{Detached, Fault, Key, Reply, UNSIGNED_MAX};
use crate::iana::rcode;

/// Signs the messages of a stream one after the other, each of them (RFC 8945 5.3.1).
#[derive(Clone, Debug)]
pub struct Outgoing<'k> {
    reply: Reply<'k>,
    /// The MAC before: first the request's.
    before: Mac,
    is_first: bool,
}

impl<'k> Outgoing<'k> {
    pub(super) fn new(reply: Reply<'k>) -> Outgoing<'k> {
        Outgoing { before: reply.request, reply, is_first: true }
    }

    /// Most octets that signing adds to a message.
    pub fn octets(&self) -> usize {
        self.reply.octets()
    }

    /// Signs the next message, the one in `buffer[..octets]`: appends the record and counts it. Returns the octets of the message;
    /// `None` where the record does not fit, and then the message is as it was.
    pub fn append(&mut self, buffer: &mut [u8], octets: usize, now: u64) -> Option<usize> {
        let mut context = begin(self.reply.key, &self.before);
        context.update(buffer.get(..octets)?);
        let (octets, mac) = self.reply.finish(context, buffer, octets, now, self.is_first)?;
        self.before = mac;
        self.is_first = false;
        Some(octets)
    }
}

/// An [`Outgoing`] that does not hold its key, which is handed over with each message: for streams that live longer than the keys they began with.
#[derive(Clone, Debug)]
pub struct Signatures {
    reply: Detached,
    before: Mac,
    is_first: bool,
}

impl Signatures {
    pub(super) fn new(reply: Detached) -> Signatures {
        Signatures { before: reply.request(), reply, is_first: true }
    }

    /// Signs the next message with the key of the request; see [`Outgoing::append`].
    pub fn append(&mut self, key: &Key, buffer: &mut [u8], octets: usize, now: u64) -> Option<usize> {
        let Signatures { reply, before, is_first } = *self;
        let mut outgoing = Outgoing { reply: reply.with(key), before, is_first };
        let octets = outgoing.append(buffer, octets, now)?;
        (self.before, self.is_first) = (outgoing.before, false);
        Some(octets)
    }
}

/// How far a stream is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// This message and all before it.
    Confirmed {
        /// Octets of the message before its TSIG record.
        octets: usize,
    },
    /// Not yet what came after the last signature, this message included: it must not be acted on.
    Unconfirmed,
}

/// Checks the messages of a stream one after the other.
#[derive(Clone)]
pub struct Incoming<'k> {
    key: &'k Key,
    /// What is digested since the last signature, the MAC before included; `None` once the stream is of no use.
    context: Option<Context>,
    /// Octets of the first MAC, which all others have; 0 before it.
    mac_octets: usize,
    /// Messages since the last signature.
    unsigned: u32,
}

impl<'k> Incoming<'k> {
    /// Begins with the MAC of the request.
    pub fn new(key: &'k Key, request: &Mac) -> Incoming<'k> {
        Incoming { key, context: Some(begin(key, request)), mac_octets: 0, unsigned: 0 }
    }

    /// Checks the next message. After a fault the stream is of no use, and the connection is to be closed.
    pub fn check(&mut self, message: &[u8], now: u64) -> Result<Progress, Fault> {
        let mut context = self.context.take().ok_or(Fault::Mac)?;
        let is_first = self.mac_octets == 0;
        let signature = match self.key.find_in(message) {
            Ok(signature) => signature,
            Err(Fault::Unsigned) if !is_first && self.unsigned < UNSIGNED_MAX => {
                context.update(message);
                self.unsigned += 1;
                self.context = Some(context);
                return Ok(Progress::Unconfirmed);
            }
            Err(fault) => return Err(fault),
        };
        signature.digest_message(&mut context);
        if is_first {
            signature.stamp().digest_variables(self.key, &mut context);
        } else {
            // What the timers leave out nobody has signed: it must say nothing.
            if signature.error != 0 || !signature.other.is_empty() || signature.mac.len() != self.mac_octets {
                return Err(Fault::Malformed);
            }
            signature.stamp().digest_timers(&mut context);
        }
        if !context.verify(signature.mac) {
            return Err(Fault::Mac);
        }
        self.key.judge(&signature, now)?;
        match signature.error {
            0 => {}
            rcode::BADTRUNC => return Err(Fault::Truncated),
            _ => return Err(Fault::Time),
        }
        let mut context = self.key.context();
        digest_mac(&Mac::of(signature.mac), &mut context);
        self.context = Some(context);
        self.mac_octets = signature.mac.len();
        self.unsigned = 0;
        Ok(Progress::Confirmed { octets: signature.at })
    }

    /// Whether the stream may end here: the last message must be signed.
    pub fn end(&self) -> Result<(), Fault> {
        match (&self.context, self.mac_octets, self.unsigned) {
            (None, ..) => Err(Fault::Mac),
            (_, 0, _) | (_, _, 1..) => Err(Fault::Unsigned),
            _ => Ok(()),
        }
    }
}
