//! Questions for all types (RFC 8482): no work is done for them.

use super::lookup::{fresh, has_soa, left_of, subjects};
use super::put::{denial, note_proofs, put_data, write_proofs};
use super::{Asked, Buffers, End, Parts};
use crate::writer::{Lasts, Writer};
use cache::{Kind, NameHash, Security, Subject};
use wire::RdataList;
use wire::iana::{rcode, rtype};
use wire::rrset::Rrset;

/// Types that a question for ANY is answered with, whichever is there first (RFC 8482 4.1).
const ANY_TYPES: [u16; 12] = [
    rtype::CNAME,
    rtype::A,
    rtype::AAAA,
    rtype::MX,
    rtype::NS,
    rtype::SOA,
    rtype::TXT,
    rtype::HTTPS,
    rtype::SRV,
    rtype::PTR,
    rtype::DS,
    rtype::DNSKEY,
];

/// A question for all types: one RRset that is there, or a denial, else a record that says so (RFC 8482 4).
pub(super) fn any(
    asked: &Asked<'_>,
    hash: NameHash,
    buffers: &mut Buffers,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> End {
    let Buffers { name, copied, proofs, lasts, .. } = buffers;
    let named = asked.cache.named_by(name.name(), hash);
    for rtype in ANY_TYPES {
        for subject in subjects(asked, rtype) {
            let Some(entry) = fresh(asked, &named, subject, copied) else { continue };
            if entry.kind != Kind::Data {
                continue;
            }
            parts.add(&entry, asked);
            let set = Rrset {
                owner: name.name(),
                rtype,
                ttl: entry.ttl,
                rdatas: entry.rdatas,
                signatures: entry.signatures,
            };
            if let Some(end) = put_data(asked, &set, left_of(&entry, asked.now), parts, writer) {
                return end;
            }
            note_proofs(asked, &entry, (proofs, lasts));
            parts.of(copied);
            write_proofs(buffers, writer);
            return parts.verdict(rcode::NOERROR, asked.wishes);
        }
    }
    if let Some(entry) = fresh(asked, &named, Subject::Existence, copied)
        && entry.kind == Kind::NameError
        && has_soa(&entry)
    {
        parts.add(&entry, asked);
        let end = denial(asked, rcode::NXDOMAIN, &entry, (proofs, lasts), parts, writer);
        parts.of(copied);
        return end;
    }
    parts.security = Security::Insecure;
    parts.until = asked.now;
    let lasts = Lasts { ttl: ANY_TTL, until: asked.now.plus_seconds(ANY_TTL) };
    writer.records(name.name(), rtype::HINFO, lasts, 1, |at| [ANY_HINFO].get(at).copied(), RdataList::EMPTY);
    parts.verdict(rcode::NOERROR, asked.wishes)
}

/// CPU "RFC8482", no operating system (RFC 8482 4.2).
const ANY_HINFO: &[u8] = b"\x07RFC8482\0";
/// Seconds: long enough that who asks again and again is answered by a cache of his own.
const ANY_TTL: u32 = 3600;
