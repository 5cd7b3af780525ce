//! Checking signatures: of requests as a server, of responses as a client (RFC 8945 5.2, 5.4).

use super::mac::{Context, Mac};
use super::record::{RECORD_OCTETS_MAX, digest_mac};
use super::{BADSIG, Fault, Key, Keys, Reply, Signature};
use crate::header::u16_at;
use crate::iana::rcode;
use crate::name::NAME_OCTETS_MAX;

/// A request whose signature is right.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'k> {
    /// The key that signed it.
    pub key: &'k Key,
    /// Octets of the message before the TSIG record. Its additional count still has that record.
    pub octets: usize,
    /// What signs the response.
    pub reply: Reply<'k>,
}

/// A request that does not count as signed, and how that is said.
#[derive(Clone, Copy, Debug)]
pub struct Rejected<'k, 'm> {
    /// What is wrong.
    pub fault: Fault,
    answer: Answer<'k, 'm>,
}

#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "on the stack, for one message at a time")]
enum Answer<'k, 'm> {
    /// Without TSIG: there is none in the request, or none that can be read.
    Plain,
    /// With a TSIG record without MAC (RFC 8945 5.3.2): whoever asks has not shown that he has the key.
    Unsigned(Signature<'m>),
    /// Signed: only the time, or the length of the MAC is wrong.
    Signed(Reply<'k>),
}

impl Rejected<'_, '_> {
    /// Appends what belongs to the response in `buffer[..octets]`, a whole message with the response code [`Fault::rcode`], and
    /// counts it. Returns the octets of the message; `None` where there is no room even for question and TSIG.
    pub fn append(&self, buffer: &mut [u8], octets: usize, now: u64) -> Option<usize> {
        match &self.answer {
            Answer::Plain => Some(octets),
            Answer::Signed(reply) => reply.append(buffer, octets, now),
            Answer::Unsigned(signature) => {
                let mut record = [0; RECORD_OCTETS_MAX];
                let record = signature.refusal(u16_at(buffer, 0), self.fault.error(), &mut record);
                let count = u16_at(buffer, 10).checked_add(1)?;
                buffer.get_mut(octets..octets + record.len())?.copy_from_slice(record);
                buffer.get_mut(10..12)?.copy_from_slice(&count.to_be_bytes());
                Some(octets + record.len())
            }
        }
    }
}

/// Checks the signature of a request at `now`: first that there is one that can be read, then the key, the MAC, the time, and at last
/// whether the MAC is as long as the key wants it (RFC 8945 5.2).
pub fn verify<'k, 'm>(
    message: &'m [u8],
    keys: &'k (impl Keys + ?Sized),
    now: u64,
) -> Result<Verified<'k>, Rejected<'k, 'm>> {
    let plain = |fault| Rejected { fault, answer: Answer::Plain };
    let signature = Signature::find(message).map_err(plain)?;
    let unsigned = |fault| Rejected { fault, answer: Answer::Unsigned(signature) };
    let mut name = [0; NAME_OCTETS_MAX];
    let key = keys.find(signature.key(&mut name));
    let key = key.filter(|key| is_of(key, &signature)).ok_or(unsigned(Fault::Key))?;
    if !has_length(key, &signature) {
        return Err(plain(Fault::Malformed));
    }
    if !is_right(key, &Mac::NONE, &signature) {
        return Err(unsigned(Fault::Mac));
    }
    let reply = Reply::new(key, &signature);
    if !signature.is_timely(now) {
        let reply = reply.at_another_time(&signature);
        return Err(Rejected { fault: Fault::Time, answer: Answer::Signed(reply) });
    }
    if signature.mac.len() < key.mac_octets_min() {
        let reply = reply.with_error(rcode::BADTRUNC);
        return Err(Rejected { fault: Fault::Truncated, answer: Answer::Signed(reply) });
    }
    Ok(Verified { key, octets: signature.at, reply })
}

/// A response whose signature is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The error in its TSIG record: 0, BADTIME where the server's clock differs, BADTRUNC.
    pub error: u16,
    /// Octets of the message before the TSIG record.
    pub octets: usize,
    /// The MAC.
    pub mac: Mac,
}

impl Key {
    /// Checks the response to a request that this key signed with this MAC.
    pub fn check(&self, response: &[u8], request: &Mac, now: u64) -> Result<Checked, Fault> {
        let signature = self.find_in(response)?;
        if !is_right(self, request, &signature) {
            return Err(Fault::Mac);
        }
        self.judge(&signature, now)?;
        Ok(Checked { error: signature.error, octets: signature.at, mac: Mac::of(signature.mac) })
    }

    /// The signature of a response, if it is one of this key.
    pub(super) fn find_in<'m>(&self, response: &'m [u8]) -> Result<Signature<'m>, Fault> {
        let signature = Signature::find(response)?;
        // With BADKEY and BADSIG the server has nothing to sign with (RFC 8945 5.3.2).
        if signature.mac.is_empty() && matches!(signature.error, BADSIG | rcode::BADKEY) {
            return Err(Fault::Refused(signature.error));
        }
        let mut name = [0; NAME_OCTETS_MAX];
        if signature.key(&mut name) != self.name() || !is_of(self, &signature) {
            return Err(Fault::Key);
        }
        has_length(self, &signature).then_some(signature).ok_or(Fault::Malformed)
    }

    /// What is looked at once the MAC is right: time and length.
    pub(super) fn judge(&self, signature: &Signature<'_>, now: u64) -> Result<(), Fault> {
        // A server whose clock differs signs with our time and has its own in the other data (RFC 8945 5.2.3).
        if signature.error != rcode::BADTIME && !signature.is_timely(now) {
            return Err(Fault::Time);
        }
        if signature.mac.len() < self.mac_octets_min() {
            return Err(Fault::Truncated);
        }
        Ok(())
    }
}

/// Whether the algorithm is the key's.
fn is_of(key: &Key, signature: &Signature<'_>) -> bool {
    let mut name = [0; NAME_OCTETS_MAX];
    signature.algorithm(&mut name) == key.algorithm().name()
}

/// Whether the MAC has a length that the algorithm allows (RFC 8945 5.2.2.1).
fn has_length(key: &Key, signature: &Signature<'_>) -> bool {
    let algorithm = key.algorithm();
    (algorithm.mac_octets_min()..=algorithm.mac_octets()).contains(&signature.mac.len())
}

/// Whether the MAC is that of the message. `request`: the MAC of the request that it answers.
fn is_right(key: &Key, request: &Mac, signature: &Signature<'_>) -> bool {
    let mut context = begin(key, request);
    signature.digest_message(&mut context);
    signature.stamp().digest_variables(key, &mut context);
    context.verify(signature.mac)
}

/// A digest that begins with the MAC before, if there is one.
pub(super) fn begin(key: &Key, before: &Mac) -> Context {
    let mut context = key.context();
    if !before.octets().is_empty() {
        digest_mac(before, &mut context);
    }
    context
}
