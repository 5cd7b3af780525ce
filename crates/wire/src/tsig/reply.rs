//! Signing responses (RFC 8945 5.3).

use super::check::begin;
use super::mac::{Context, Mac};
use super::record::{Stamp, append};
use super::{FUDGE_SECONDS, Key, Outgoing, Signature, Signatures};
use crate::header::{self, HEADER_OCTETS, u16_at};
use crate::iana::rcode;
use crate::record::skip_name;

/// What signs the response to a request: its key and its MAC.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'k> {
    pub(super) key: &'k Key,
    pub(super) request: Mac,
    /// The error that it says: 0, BADTIME, BADTRUNC.
    error: u16,
    /// Time and fudge of a request of another time, which then stand in the response too.
    request_times: Option<(u64, u16)>,
}

impl<'k> Reply<'k> {
    pub(super) fn new(key: &'k Key, signature: &Signature<'_>) -> Reply<'k> {
        Reply { key, request: Mac::of(signature.mac), error: 0, request_times: None }
    }

    pub(super) fn with_error(self, error: u16) -> Reply<'k> {
        Reply { error, ..self }
    }

    pub(super) fn at_another_time(self, signature: &Signature<'_>) -> Reply<'k> {
        let request_times = Some((signature.time, signature.fudge));
        Reply { request_times, ..self.with_error(rcode::BADTIME) }
    }

    /// Most octets that signing adds.
    pub fn octets(&self) -> usize {
        self.key.octets()
    }

    /// The same without its key, for who replies when the keys may be others.
    pub fn detached(&self) -> Detached {
        let Reply { request, error, request_times, .. } = *self;
        Detached { request, error, request_times }
    }

    /// A stream of messages as the response.
    pub fn stream(self) -> Outgoing<'k> {
        Outgoing::new(self)
    }

    /// Signs the response in `buffer[..octets]`, a whole message: appends the record and counts it. Returns the octets of the
    /// message. What is too long for a signature beside it is cut to its question with TC and NOERROR (RFC 8945 5.3); `None` where
    /// not even that fits.
    pub fn append(&self, buffer: &mut [u8], octets: usize, now: u64) -> Option<usize> {
        let octets = if octets + self.octets_now() > buffer.len() { cut(buffer, octets)? } else { octets };
        let mut context = begin(self.key, &self.request);
        context.update(buffer.get(..octets)?);
        self.finish(context, buffer, octets, now, true).map(|(octets, _)| octets)
    }

    /// Octets of the record.
    fn octets_now(&self) -> usize {
        let other = if self.request_times.is_some() { 0 } else { super::record::OTHER_OCTETS_MAX };
        self.octets() - other - (self.key.algorithm().mac_octets() - self.mac_octets())
    }

    /// MACs are as long as the request's.
    fn mac_octets(&self) -> usize {
        self.request.octets().len()
    }

    /// Ends a digest and appends the record.
    pub(super) fn finish(
        &self,
        mut context: Context,
        buffer: &mut [u8],
        octets: usize,
        now: u64,
        is_first: bool,
    ) -> Option<(usize, Mac)> {
        let [_, _, ours @ ..] = now.to_be_bytes();
        let stamp = match self.request_times {
            None => Stamp { time: now, fudge: FUDGE_SECONDS, error: self.error, other: &[] },
            Some((time, fudge)) => Stamp { time, fudge, error: self.error, other: &ours },
        };
        match is_first {
            true => stamp.digest_variables(self.key, &mut context),
            false => stamp.digest_timers(&mut context),
        }
        let mac = context.finish().cut(self.mac_octets());
        Some((append(buffer, octets, self.key, &stamp, &mac)?, mac))
    }
}

/// A [`Reply`] that does not hold its key: the one that is handed over must be that of the request.
#[derive(Clone, Copy, Debug)]
pub struct Detached {
    request: Mac,
    error: u16,
    request_times: Option<(u64, u16)>,
}

impl Detached {
    /// The reply with the key of the request.
    pub fn with(self, key: &Key) -> Reply<'_> {
        let Detached { request, error, request_times } = self;
        Reply { key, request, error, request_times }
    }

    /// The MAC of the request.
    pub(super) fn request(&self) -> Mac {
        self.request
    }

    /// What signs a stream of messages as the response.
    pub fn stream(self) -> Signatures {
        Signatures::new(self)
    }
}

/// Cuts a message to its question, with TC and NOERROR; returns its octets.
fn cut(buffer: &mut [u8], octets: usize) -> Option<usize> {
    let message = buffer.get_mut(..octets)?;
    let end = match u16_at(message, 4) {
        0 => HEADER_OCTETS,
        _ => skip_name(message, HEADER_OCTETS)? + 4,
    };
    let questions = u16_at(message, 4).min(1);
    let flags = (u16_at(message, 2) | header::TC) & !0xf;
    let fields = [flags, questions, 0, 0, 0];
    for (to, field) in message.get_mut(2..HEADER_OCTETS)?.chunks_exact_mut(2).zip(fields) {
        to.copy_from_slice(&field.to_be_bytes());
    }
    (end <= octets).then_some(end)
}
