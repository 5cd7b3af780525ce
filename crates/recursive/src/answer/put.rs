//! What is written of entries: data less what is kept back, addresses made of others, denials and proofs.

use super::lookup::{fresh, left_of, span_of, subjects};
use super::{Asked, Buffers, End, Parts};
use crate::rebinding::Reaction;
use crate::verdict::Verdict;
use crate::wishes::Stage;
use crate::writer::{Lasts, Writer};
use cache::{Copied, Entry, Kind, Named, Security};
use wire::RdataList;
use wire::iana::{ede, rcode, rtype};
use wire::render::Section;
use wire::rrset::{RdataListBuf, Rrset, RrsetListBuf};

/// Writes the data that were asked for, less what is kept back. What ends the answer, if it is something else.
pub(super) fn data(
    asked: &Asked<'_>,
    named: &Named<'_, '_>,
    rtype: u16,
    entry: &Entry<'_>,
    (other, made): (&mut Copied, &mut RdataListBuf),
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Option<End> {
    let lasts = left_of(entry, asked.now);
    let dns64 = asked.policy.dns64.as_ref();
    if rtype == rtype::AAAA
        && asked.wishes.wants_dns64
        && let Some(dns64) = dns64
        && !entry.rdatas.into_iter().any(|rdata| dns64.counts(rdata))
    {
        let end = made_of_a(asked, named, lasts, (other, made), parts, writer);
        return end.or_else(|| Some(parts.verdict(rcode::NOERROR, asked.wishes)));
    }
    let (rdatas, signatures) = (entry.rdatas, entry.signatures);
    let set = Rrset { owner: named.name(), rtype, ttl: lasts.ttl, rdatas, signatures };
    put_data(asked, &set, lasts, parts, writer)
}

/// Writes a set of an answer, less IPv6 addresses that do not count for clients of DNS64, and private addresses that names of others must not have.
pub(crate) fn put_data(
    asked: &Asked<'_>,
    set: &Rrset<'_>,
    lasts: Lasts,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Option<End> {
    if set.rtype == rtype::AAAA
        && asked.wishes.wants_dns64
        && let Some(dns64) = &asked.policy.dns64
        && !set.rdatas.into_iter().all(|rdata| dns64.counts(rdata))
    {
        let counted = || set.rdatas.into_iter().filter(|rdata| dns64.counts(rdata));
        parts.security = parts.security.worst(Security::Insecure);
        let record = |at: usize| counted().nth(at);
        writer.records(set.owner, set.rtype, lasts, counted().count(), record, RdataList::EMPTY);
        return None;
    }
    let Some(filter) = asked.filter.filter(|filter| filter.has_any(set.rtype, set.rdatas)) else {
        writer.rrset(set, lasts);
        return None;
    };
    parts.is_filtered = true;
    parts.security = parts.security.worst(Security::Insecure);
    match filter.reaction {
        Reaction::Refuse => Some(End::Answer(Verdict::with_ede(rcode::REFUSED, ede::FILTERED))),
        Reaction::Remove => {
            let others = || set.rdatas.into_iter().filter(|rdata| !filter.has(set.rtype, rdata));
            let record = |at: usize| others().nth(at);
            writer.records(set.owner, set.rtype, lasts, others().count(), record, RdataList::EMPTY);
            parts.note(ede::FILTERED);
            None
        }
    }
}

/// Writes addresses made of those of type A that the name has (RFC 6147 5.1); `left`: for how long it has none of its own. `None`: it has none of
/// that type either.
pub(super) fn made_of_a(
    asked: &Asked<'_>,
    named: &Named<'_, '_>,
    left: Lasts,
    (other, made): (&mut Copied, &mut RdataListBuf),
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Option<End> {
    for subject in subjects(asked, rtype::A) {
        let Some(entry) = fresh(asked, named, subject, other) else { continue };
        match entry.kind {
            Kind::Data => {
                parts.add(&entry, asked);
                let lasts = left_of(&entry, asked.now);
                let lasts = if left.until < lasts.until { left } else { lasts };
                let set = Rrset {
                    owner: named.name(),
                    rtype: rtype::A,
                    ttl: lasts.ttl,
                    rdatas: entry.rdatas,
                    signatures: RdataList::EMPTY,
                };
                let end = put_made(asked, &set, lasts, made, parts, writer);
                parts.of(other);
                return end;
            }
            Kind::NoData => {
                parts.add(&entry, asked);
                parts.of(other);
                return None;
            }
            _ => {}
        }
    }
    let stage = Stage::Dns64 { ttl: left.ttl, security: parts.security, has_failed: false };
    Some(End::Miss(rtype::A, stage))
}

/// Writes what DNS64 makes of a set of type A; `None`: nothing.
pub(crate) fn put_made(
    asked: &Asked<'_>,
    set: &Rrset<'_>,
    lasts: Lasts,
    made: &mut RdataListBuf,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Option<End> {
    let dns64 = asked.policy.dns64.as_ref()?;
    if let Some(filter) = asked.filter
        && filter.has_any(rtype::A, set.rdatas)
    {
        parts.is_filtered = true;
        return Some(End::Answer(Verdict::with_ede(rcode::REFUSED, ede::FILTERED)));
    }
    made.clear();
    dns64.made(set.rdatas).for_each(|octets| made.push(&octets));
    let count = made.list().count();
    if count == 0 {
        return None;
    }
    parts.made += count as u32;
    let record = |at: usize| made.list().iter().nth(at);
    writer.records(set.owner, rtype::AAAA, lasts, count, record, RdataList::EMPTY);
    Some(parts.verdict(rcode::NOERROR, asked.wishes))
}

/// Ends with a denial: SOA and proofs.
pub(super) fn denial(
    asked: &Asked<'_>,
    rcode: u16,
    entry: &Entry<'_>,
    (proofs, lasts): (&RrsetListBuf, &[Lasts]),
    parts: &Parts,
    writer: &mut Writer<'_>,
) -> End {
    writer.begin_section(Section::Authority);
    let (stored, ttl) = span_of(entry, asked.now);
    writer.sets(entry.beside, stored, ttl);
    put_proofs(proofs, lasts, writer);
    parts.verdict(rcode, asked.wishes)
}

/// Takes note of what proves a step of the chain: that nothing is nearer than the wildcard that it was made from.
pub(super) fn note_proofs(
    asked: &Asked<'_>,
    entry: &Entry<'_>,
    (proofs, lasts): (&mut RrsetListBuf, &mut Vec<Lasts>),
) {
    if !asked.wishes.dnssec_ok {
        return;
    }
    let (stored, ttl) = span_of(entry, asked.now);
    for set in entry.beside {
        let is_there = proofs.list().iter().any(|other| other.owner == set.owner && other.rtype == set.rtype);
        if !is_there {
            proofs.push(&set);
            lasts.push(Lasts::from(stored, ttl.min(set.ttl), asked.now));
        }
    }
}

pub(super) fn write_proofs(buffers: &Buffers, writer: &mut Writer<'_>) {
    if !buffers.lasts.is_empty() {
        writer.begin_section(Section::Authority);
        put_proofs(&buffers.proofs, &buffers.lasts, writer);
    }
}

fn put_proofs(proofs: &RrsetListBuf, lasts: &[Lasts], writer: &mut Writer<'_>) {
    proofs.list().iter().zip(lasts).for_each(|(set, lasts)| writer.rrset(&set, *lasts));
}
