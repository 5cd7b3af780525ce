//! Checks signatures over RRsets (RFC 4034 3, RFC 4035 5.3).
//!
//! [`Rrsig::check`] does what needs no key: fields against the RRset, the period of validity against the
//! caller's time. [`Rrsig::verify`] does the arithmetic with one key. The two are apart because a zone
//! checker wants both answers and a validator stops at the first.

use wire::Name;

use crate::canonical::CanonicalSet;
use crate::crypto::verify_octets;
use crate::digest::{digest_of_parts, write_record};
use crate::key::Dnskey;

/// The fields of an RRSIG record.
#[derive(Clone, Copy, Debug)]
pub struct Rrsig<'a> {
    /// Type of the RRset signed.
    pub covered: u16,
    /// See [`wire::iana::algorithm`].
    pub algorithm: u8,
    /// Labels of the owner, root and a leading `*` not counted; fewer than the owner has when a wildcard was
    /// expanded.
    pub labels: u8,
    /// TTL of the RRset in the zone.
    pub original_ttl: u32,
    /// Last second of validity, modulo 2^32.
    pub expiration: u32,
    /// First second of validity, modulo 2^32.
    pub inception: u32,
    /// Tag of the key.
    pub key_tag: u16,
    /// Owner of the key: the apex of the zone.
    pub signer: &'a Name,
    /// In the form of the algorithm.
    pub signature: &'a [u8],
    /// The RDATA up to the signature, which is part of what is signed.
    signed_fields: &'a [u8],
}

/// Why a signature does not prove an RRset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Covers another type.
    WrongType,
    /// More labels than the owner has (RFC 4035 5.3.1).
    TooManyLabels,
    /// The signer is not at or above the owner.
    WrongSigner,
    /// The period of validity lies ahead.
    NotYetValid,
    /// The period of validity is over.
    Expired,
    /// Ends before it begins.
    EmptyPeriod,
    /// Algorithm or tag differ from the key's.
    WrongKey,
    /// An algorithm, or a size of key, that is not verified here.
    Unsupported,
    /// The public key does not have the form of its algorithm.
    MalformedKey,
    /// The signature is not one of this key over this RRset.
    BadSignature,
}

/// SHA-256 of a key, a signature and what is signed.
pub type Statement = [u8; 32];

/// What a signature says about the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The RRset is in the zone under this owner.
    Owner,
    /// The RRset was made from the wildcard below the ancestor with this many labels (RFC 4035 5.3.4).
    Wildcard {
        /// Labels of the closest encloser.
        encloser_labels: u8,
    },
}

impl<'a> Rrsig<'a> {
    /// Reads RDATA; `None` when it has another shape.
    pub fn parse(rdata: &'a [u8]) -> Option<Rrsig<'a>> {
        let (fixed, rest) = rdata.split_first_chunk::<18>()?;
        let (signer, signature) = Name::split_from(rest).ok()?;
        if signature.is_empty() {
            return None;
        }
        let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        Some(Rrsig {
            covered: u16::from_be_bytes([fixed[0], fixed[1]]),
            algorithm: fixed[2],
            labels: fixed[3],
            original_ttl: word(4),
            expiration: word(8),
            inception: word(12),
            key_tag: u16::from_be_bytes([fixed[16], fixed[17]]),
            signer,
            signature,
            signed_fields: &rdata[..rdata.len() - signature.len()],
        })
    }

    /// Checks type, labels, signer and the period of validity; `now` in seconds since 1970 modulo 2^32.
    pub fn check(&self, owner: &Name, rtype: u16, now: u32) -> Result<Source, Fault> {
        let source = self.check_fields(owner, rtype)?;
        self.check_period(now)?;
        Ok(source)
    }

    /// Checks type, labels and signer (RFC 4035 5.3.1).
    pub fn check_fields(&self, owner: &Name, rtype: u16) -> Result<Source, Fault> {
        if self.covered != rtype {
            return Err(Fault::WrongType);
        }
        if !owner.is_at_or_below(self.signer) {
            return Err(Fault::WrongSigner);
        }
        let labels = owner.label_count() - owner.is_wildcard() as usize;
        match (self.labels as usize).cmp(&labels) {
            std::cmp::Ordering::Less => Ok(Source::Wildcard { encloser_labels: self.labels }),
            std::cmp::Ordering::Equal => Ok(Source::Owner),
            std::cmp::Ordering::Greater => Err(Fault::TooManyLabels),
        }
    }

    /// Checks the period of validity, both ends included (RFC 4034 3.1.5), in serial number arithmetic.
    pub fn check_period(&self, now: u32) -> Result<(), Fault> {
        if is_before(self.expiration, self.inception) {
            Err(Fault::EmptyPeriod)
        } else if is_before(now, self.inception) {
            Err(Fault::NotYetValid)
        } else if is_before(self.expiration, now) {
            Err(Fault::Expired)
        } else {
            Ok(())
        }
    }

    /// Verifies the signature over the RRset with `key`. `set` holds the RRset in canonical form; `buffer` is
    /// working space. The caller has called [`Rrsig::check_fields`].
    pub fn verify(
        &self,
        owner: &Name,
        set: &CanonicalSet,
        key: &Dnskey<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if key.algorithm != self.algorithm || key.tag != self.key_tag {
            return Err(Fault::WrongKey);
        }
        self.write_signed_data(owner, set, buffer)?;
        verify_octets(self.algorithm, key.public_key, buffer, self.signature)
    }

    /// The first half of [`Rrsig::verify`], for those who remember what they have verified: fills `buffer` with what is signed, and returns the SHA-256
    /// of that, key and signature.
    pub fn state(
        &self,
        owner: &Name,
        set: &CanonicalSet,
        key: &Dnskey<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Statement, Fault> {
        if key.algorithm != self.algorithm || key.tag != self.key_tag {
            return Err(Fault::WrongKey);
        }
        self.write_signed_data(owner, set, buffer)?;
        // The algorithm is among what is signed, and lengths keep the parts apart.
        Ok(digest_of_parts(&[key.public_key, self.signature, buffer]))
    }

    /// The second half: verifies what [`Rrsig::state`] has written with the same key.
    pub fn verify_stated(&self, key: &Dnskey<'_>, buffer: &[u8]) -> Result<(), Fault> {
        verify_octets(self.algorithm, key.public_key, buffer, self.signature)
    }

    /// Verifies the signature of a SIG(0) record (RFC 2931 3.1) over a message with `key`. `parts`: the message without that record, as its sender had
    /// it; `buffer` is working space.
    pub fn verify_message(
        &self,
        parts: &[&[u8]],
        key: &Dnskey<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if key.algorithm != self.algorithm || key.tag != self.key_tag {
            return Err(Fault::WrongKey);
        }
        buffer.clear();
        buffer.extend_from_slice(self.signed_fields);
        parts.iter().for_each(|part| buffer.extend_from_slice(part));
        verify_octets(self.algorithm, key.public_key, buffer, self.signature)
    }

    /// Replaces `buffer` by the octets that are signed (RFC 4034 3.1.8.1).
    fn write_signed_data(&self, owner: &Name, set: &CanonicalSet, buffer: &mut Vec<u8>) -> Result<(), Fault> {
        buffer.clear();
        buffer.extend_from_slice(self.signed_fields);
        buffer[SIGNER_AT..].make_ascii_lowercase();
        let mut storage = Vec::new();
        let owner = self.signed_owner(owner, &mut storage)?;
        for (_, rdata) in set.records() {
            write_record(owner, self.covered, self.original_ttl, rdata, buffer);
        }
        Ok(())
    }

    /// The owner as the signer had it: the wildcard where `owner` was made from one (RFC 4035 5.3.2).
    fn signed_owner<'n>(&self, owner: &'n Name, storage: &'n mut Vec<u8>) -> Result<&'n Name, Fault> {
        let labels = owner.label_count();
        if self.labels as usize + owner.is_wildcard() as usize == labels {
            return Ok(owner);
        }
        let above = labels.checked_sub(self.labels as usize).ok_or(Fault::TooManyLabels)?;
        let encloser = (0..above).try_fold(owner, |name, _| name.parent()).ok_or(Fault::TooManyLabels)?;
        storage.extend_from_slice(b"\x01*");
        storage.extend_from_slice(encloser.octets());
        Ok(Name::trusted(storage))
    }
}

/// Where the signer's name begins in RDATA.
const SIGNER_AT: usize = 18;

/// Whether `a` is before `b` in serial number arithmetic (RFC 1982 3.2).
fn is_before(a: u32, b: u32) -> bool {
    a != b && b.wrapping_sub(a) < 1 << 31
}

#[cfg(test)]
mod tests;
