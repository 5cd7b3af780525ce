//! SIG(0): a request signed with a private key whose public half is a KEY record of the zone (RFC 2931, RFC 3007 2.2).
//!
//! ```text
//! message without its last record | SIG record: root, type 0 covered, algorithm, period, tag, signer | signature
//! signed:  RDATA of SIG up to the signature | message without the record, one record less counted
//! ```
//!
//! To verify costs a thousand times what reading does, and anybody can ask for it. So who calls it does so on no worker, has a quota, and has asked
//! access lists and policy before whether the signer that is claimed could do anything at all ([`Signature::signer`],
//! [`crate::policy::Permission::is_known`]). Without it RFC 2931 servers could be kept busy by one client (CVE-2024-1975).

use dnssec::key::Dnskey;
use dnssec::verify::{self, Rrsig};
use wire::header::{HEADER_OCTETS, u16_at};
use wire::iana::{class, ede, rcode, rtype};
use wire::record::{Placed, Records};
use wire::{Name, NameBuf, SortKey};
use zone::{MatchKind, ZoneView};

/// Most keys of the tag and algorithm of a signature that are tried: two may have the same tag by accident; more are there to cost time.
pub const KEYS_TRIED_MAX: usize = 2;
/// Bits of a KEY record's flags (RFC 2535 3.1.2): may not be used to authenticate, and two octets more of flags, which nobody defined.
const NOT_FOR_AUTHENTICATION: u16 = 0x8000;
const EXTENDED: u16 = 0x1000;
/// Protocols of KEY records (RFC 2535 3.1.3): DNSSEC, and all.
const PROTOCOLS: [u8; 2] = [3, 255];

/// Why a message does not count as signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be read, or its SIG record is not its last one.
    Malformed,
    /// It has no SIG(0) record.
    Unsigned,
    /// The signer has no key in the zone with this tag and algorithm that may sign requests.
    Key,
    /// The signature is not valid yet.
    Early,
    /// It is not valid any more.
    Late,
    /// It is not a signature over this message.
    Signature,
    /// The zone cannot be read.
    Damaged,
}

impl Fault {
    /// The response code (RFC 2931 3.3, as of TSIG in RFC 8945 5.2; the codes of TSIG have no record to stand in).
    pub fn rcode(self) -> u16 {
        match self {
            Fault::Malformed => rcode::FORMERR,
            Fault::Unsigned => rcode::REFUSED,
            Fault::Key | Fault::Early | Fault::Late | Fault::Signature => rcode::NOTAUTH,
            Fault::Damaged => rcode::SERVFAIL,
        }
    }

    /// The extended error, where one says what is wrong.
    pub fn ede(self) -> Option<u16> {
        match self {
            Fault::Early => Some(ede::SIGNATURE_NOT_YET_VALID),
            Fault::Late => Some(ede::SIGNATURE_EXPIRED),
            _ => None,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fault::Malformed => "SIG record of no use",
            Fault::Unsigned => "no SIG record",
            Fault::Key => "signer has no such KEY record in the zone",
            Fault::Early => "signature not valid yet: compare the clocks",
            Fault::Late => "signature not valid any more: compare the clocks",
            Fault::Signature => "signature does not verify",
            Fault::Damaged => "zone cannot be read",
        })
    }
}

impl std::error::Error for Fault {}

/// The SIG(0) record of a message, read but not judged.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'m> {
    message: &'m [u8],
    /// Where the record begins.
    at: usize,
    fields: Rrsig<'m>,
}

impl<'m> Signature<'m> {
    /// The SIG(0) record at the end of a message.
    pub fn find(message: &'m [u8]) -> Result<Signature<'m>, Fault> {
        let mut last = None;
        for placed in Records::of(message).ok_or(Fault::Malformed)? {
            let Placed { record, is_additional, is_last } = placed.ok_or(Fault::Malformed)?;
            if is_additional && record.is_sig0() {
                if !is_last {
                    return Err(Fault::Malformed);
                }
                last = Some(record);
            }
        }
        let record = last.ok_or(Fault::Unsigned)?;
        let fields = Rrsig::parse(record.rdata).filter(|_| record.end() == message.len());
        let is_right = message.get(record.owner) == Some(&0) && record.class == class::ANY && record.ttl == 0;
        match fields {
            Some(fields) if is_right => Ok(Signature { message, at: record.owner, fields }),
            _ => Err(Fault::Malformed),
        }
    }

    /// The name of the key, as the record claims.
    pub fn signer(&self) -> &'m Name {
        self.fields.signer
    }

    /// Looks at all but the signature itself, which costs little: its time, and whether the zone has a key for it. `now`: seconds since 1970.
    pub fn check(&self, zone: &ZoneView<'_>, now: u64) -> Result<(), Fault> {
        let (_, rdatas) = self.key_set(zone, now)?;
        self.keys(&rdatas).next().map(drop).ok_or(Fault::Key)
    }

    /// Verifies the signature with keys that the zone has at the signer's name; returns that name, in lower case. `now`: seconds since 1970. At most
    /// [`KEYS_TRIED_MAX`] verifications.
    pub fn verify(&self, zone: &ZoneView<'_>, now: u64) -> Result<NameBuf, Fault> {
        let (owner, rdatas) = self.key_set(zone, now)?;
        let mut head = *self.message.first_chunk::<HEADER_OCTETS>().ok_or(Fault::Malformed)?;
        let count = u16_at(&head, 10).saturating_sub(1);
        head[10..].copy_from_slice(&count.to_be_bytes());
        let parts = [&head[..], &self.message[HEADER_OCTETS..self.at]];
        let (mut buffer, mut fault) = (Vec::new(), Fault::Key);
        for key in self.keys(&rdatas).take(KEYS_TRIED_MAX) {
            match self.fields.verify_message(&parts, &key, &mut buffer) {
                Ok(()) => return Ok(owner),
                Err(_) => fault = Fault::Signature,
            }
        }
        Err(fault)
    }

    /// The KEY records at the signer's name, which is given in lower case, if the signature is of this time.
    fn key_set(&self, zone: &ZoneView<'_>, now: u64) -> Result<(NameBuf, Vec<Vec<u8>>), Fault> {
        self.fields.check_period(now as u32).map_err(|fault| match fault {
            verify::Fault::NotYetValid => Fault::Early,
            _ => Fault::Late,
        })?;
        let owner = self.signer().to_lowercase();
        if !owner.is_at_or_below(zone.apex()) {
            return Err(Fault::Key);
        }
        let found = zone.walk(&SortKey::of(&owner)).ok_or(Fault::Damaged)?;
        let rrset = match found.kind {
            MatchKind::Exact => found.node.rrset(rtype::KEY).ok_or(Fault::Key)?,
            _ => return Err(Fault::Key),
        };
        let rdatas = rrset.rdata(&owner, zone.apex()).ok_or(Fault::Damaged)?;
        Ok((owner, rdatas))
    }

    /// Those that may have made the signature.
    fn keys<'k>(&self, rdatas: &'k [Vec<u8>]) -> impl Iterator<Item = Dnskey<'k>> {
        let (tag, algorithm) = (self.fields.key_tag, self.fields.algorithm);
        rdatas
            .iter()
            .filter_map(|rdata| Dnskey::parse(rdata))
            .filter(move |key| key.tag == tag && key.algorithm == algorithm && may_sign(key))
    }
}

/// Whether a KEY record is one that signs requests.
fn may_sign(key: &Dnskey<'_>) -> bool {
    key.flags & (NOT_FOR_AUTHENTICATION | EXTENDED) == 0 && PROTOCOLS.contains(&key.protocol)
}
