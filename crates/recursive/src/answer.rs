//! From the cache: the chain of aliases from a name on to data, or to a denial, all of it fresh.
//!
//! Looked for at each name, the first that is there decides:
//!
//! ```text
//! RRset of the type: Data, NoData -> end        CNAME -> its target        existence: NameError -> end       failure -> end
//! parents, nearest first, PARENTS_MAX of them:  DNAME -> the CNAME made of it -> its target                  NameError, proved -> end
//! ```
//!
//! Records are written as they are found. Where something is missing later on, what was written is of no use: the room is scratch until its octets are given
//! away. So one copy of an entry at a time is enough, however long the chain is.

use crate::limits::{ALIASES_MAX, PARENTS_MAX, PREFETCH_PART, PREFETCH_TTL_MIN, STALE_TTL_MAX};
use crate::policy::Policy;
use crate::rebinding::{Reaction, Rebinding};
use crate::rendered::STAMPS_MAX;
use crate::space::NameSpace;
use crate::verdict::Verdict;
use crate::wishes::{Stage, Wishes};
use crate::writer::{Lasts, Writer};
use cache::{Cache, Copied, Entry, Key, Kind, Moment, Security, Stamp, Subject};
use resolve::outcome::EDES_MAX;
use wire::Name;
use wire::iana::{ede, rcode, rtype};
use wire::render::Section;
use wire::rrset::{RdataList, RdataListBuf, Rrset, RrsetListBuf};

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

/// What an answer depends on.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub wishes: &'a Wishes,
    pub policy: &'a Policy,
    pub cache: &'a Cache,
    pub now: Moment,
    /// What is kept back of the answer, if anything is.
    pub filter: Option<&'a Rebinding>,
    /// Why what has expired is given too (RFC 8767); `None`: it is not.
    pub stale: Option<Stale>,
}

/// Why something that has expired is given: it could not be found out anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    /// As an extended error.
    why: Option<u16>,
}

/// What is used again for question after question.
pub(crate) struct Buffers {
    copied: Copied,
    other: Copied,
    /// The name at hand, in lower case.
    pub name: NameSpace,
    next: NameSpace,
    /// Proofs that belong to steps of the chain, for the authority section.
    proofs: RrsetListBuf,
    lasts: Vec<Lasts>,
    made: RdataListBuf,
}

impl Buffers {
    pub(crate) fn new() -> Buffers {
        Buffers {
            copied: Copied::new(),
            other: Copied::new(),
            name: NameSpace::new(),
            next: NameSpace::new(),
            proofs: RrsetListBuf::new(),
            lasts: Vec::new(),
            made: RdataListBuf::new(),
        }
    }
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The records are written.
    Answer(Verdict),
    /// It has to be found out: for this type, at this stage.
    Miss(u16, Stage),
}

/// What the parts of an answer have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// The worst.
    pub security: Security,
    /// Until when all are fresh.
    pub until: Moment,
    /// When the first is to be asked for anew.
    pub due: Moment,
    /// One has expired.
    pub is_stale: bool,
    /// One is to be asked for anew before it expires.
    pub is_due: bool,
    /// Something was kept back.
    pub is_filtered: bool,
    /// Addresses made.
    pub made: u32,
    /// Entries, as far as they are counted.
    stamps: [Option<Stamp>; STAMPS_MAX],
    count: usize,
    edes: [Option<u16>; EDES_MAX],
}

impl Parts {
    pub(crate) fn new() -> Parts {
        Parts {
            security: Security::Secure,
            until: Moment(u64::MAX),
            due: Moment(u64::MAX),
            is_stale: false,
            is_due: false,
            is_filtered: false,
            made: 0,
            stamps: [None; STAMPS_MAX],
            count: 0,
            edes: [None; EDES_MAX],
        }
    }

    /// Adds an entry.
    #[inline(always)]
    fn add(&mut self, entry: &Entry<'_>, asked: &Asked<'_>) {
        if entry.ttl_left(asked.now).is_none() {
            return self.add_stale(entry, asked);
        }
        self.security = self.security.worst(entry.security);
        if entry.security == Security::Bogus {
            self.note(entry.ede.unwrap_or(ede::DNSSEC_BOGUS));
        }
        let due_ms = match entry.ttl {
            0..PREFETCH_TTL_MIN => u64::from(entry.ttl) * 1000,
            ttl => u64::from(ttl) * 1000 / PREFETCH_PART * (PREFETCH_PART - 1),
        };
        let due = entry.stored.plus_ms(due_ms);
        self.is_due |= asked.now >= due;
        self.due = self.due.min(due);
        self.until = self.until.min(entry.stored.plus_seconds(entry.ttl));
    }

    /// Adds an entry that has expired: signatures may have too (RFC 8767 5).
    #[cold]
    fn add_stale(&mut self, entry: &Entry<'_>, asked: &Asked<'_>) {
        self.security = self.security.worst(entry.security).worst(Security::Insecure);
        self.until = asked.now;
        self.is_stale = true;
        let code = match entry.kind {
            Kind::NameError => ede::STALE_NXDOMAIN_ANSWER,
            _ => ede::STALE_ANSWER,
        };
        self.note(code);
        if let Some(why) = asked.stale.and_then(|stale| stale.why) {
            self.note(why);
        }
    }

    /// Adds the stamp of the entry that was copied last.
    #[inline(always)]
    fn of(&mut self, copied: &Copied) {
        if let Some(to) = self.stamps.get_mut(self.count) {
            *to = copied.stamp();
        }
        self.count += 1;
    }

    /// Stamps of all entries; `None` where they are too many, or one has none.
    pub(crate) fn stamps(&self) -> Option<&[Option<Stamp>]> {
        let stamps = self.stamps.get(..self.count)?;
        (!stamps.is_empty() && stamps.iter().all(Option::is_some)).then_some(stamps)
    }

    /// Adds an extended error, if there is room.
    fn note(&mut self, code: u16) {
        if !self.edes.contains(&Some(code))
            && let Some(to) = self.edes.iter_mut().find(|ede| ede.is_none())
        {
            *to = Some(code);
        }
    }

    fn verdict(&self, rcode: u16, wishes: &Wishes) -> End {
        End::Answer(Verdict { rcode, edes: self.edes, flags: 0 }.proved(self.security, wishes))
    }
}

/// One step of the chain.
enum Step {
    End(End),
    /// The next name is in the buffers.
    Follow,
}

/// Answers the question for the name in the buffers.
pub(crate) fn answer(
    asked: &Asked<'_>,
    buffers: &mut Buffers,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> End {
    buffers.proofs.clear();
    buffers.lasts.clear();
    if asked.wishes.qtype == rtype::ANY {
        return any(asked, buffers, parts, writer);
    }
    for _ in 0..=ALIASES_MAX {
        match step(asked, buffers, parts, writer) {
            Step::End(end) => return end,
            Step::Follow => {}
        }
    }
    // Nobody has such chains but who wants work done.
    End::Answer(Verdict::of(rcode::SERVFAIL))
}

fn step(asked: &Asked<'_>, buffers: &mut Buffers, parts: &mut Parts, writer: &mut Writer<'_>) -> Step {
    let qtype = asked.wishes.qtype;
    for subject in subjects(asked, qtype) {
        let Some(entry) = fresh(asked, buffers.name.name(), subject, &mut buffers.copied) else { continue };
        match entry.kind {
            Kind::Data => {
                parts.add(&entry, asked);
                let Buffers { name, other, made, proofs, lasts, .. } = buffers;
                let end = data(asked, name.name(), qtype, &entry, (other, made), parts, writer);
                if let Some(end) = end {
                    parts.of(&buffers.copied);
                    return Step::End(end);
                }
                note_proofs(asked, &entry, (proofs, lasts));
                parts.of(&buffers.copied);
                write_proofs(buffers, writer);
                return Step::End(parts.verdict(rcode::NOERROR, asked.wishes));
            }
            Kind::NoData if has_soa(&entry) => {
                parts.add(&entry, asked);
                let Buffers { name, other, made, proofs, lasts, .. } = buffers;
                if asked.wishes.wants_dns64 && qtype == rtype::AAAA {
                    let left = left_of(&entry, asked.now);
                    let end = made_of_a(asked, name.name(), left, (other, made), parts, writer);
                    if let Some(end) = end {
                        parts.of(&buffers.copied);
                        return Step::End(end);
                    }
                }
                let end = denial(asked, rcode::NOERROR, &entry, (proofs, lasts), parts, writer);
                parts.of(&buffers.copied);
                return Step::End(end);
            }
            _ => {}
        }
    }
    if !rtype::may_be_at_cname(qtype) {
        for subject in subjects(asked, rtype::CNAME) {
            let Buffers { name, copied, next, proofs, lasts, .. } = buffers;
            let Some(entry) = fresh(asked, name.name(), subject, copied) else { continue };
            let target = entry.rdatas.iter().next().and_then(|rdata| Name::from_wire(rdata).ok());
            let (Kind::Data, Some(target)) = (entry.kind, target) else { continue };
            parts.add(&entry, asked);
            writer.set(
                name.name(),
                rtype::CNAME,
                left_of(&entry, asked.now),
                (entry.rdatas, entry.signatures),
            );
            note_proofs(asked, &entry, (proofs, lasts));
            next.set_lower(target);
            parts.of(copied);
            std::mem::swap(name, next);
            return follow(asked, name.name());
        }
    }
    let Buffers { name, copied, proofs, lasts, .. } = buffers;
    if let Some(entry) = fresh(asked, name.name(), Subject::Existence, copied)
        && entry.kind == Kind::NameError
        && has_soa(&entry)
    {
        parts.add(&entry, asked);
        let end = denial(asked, rcode::NXDOMAIN, &entry, (proofs, lasts), parts, writer);
        parts.of(copied);
        return Step::End(end);
    }
    if asked.stale.is_some() {
        return Step::End(End::Miss(qtype, Stage::Asked));
    }
    if let Some(entry) = fresh(asked, name.name(), Subject::Failure(qtype), copied)
        && !(asked.wishes.checking_disabled() && entry.ede.is_some_and(is_of_validation))
    {
        let why = entry.ede;
        return failed(asked, why, buffers, parts, writer);
    }
    above(asked, buffers, parts, writer)
}

/// What is said of a name that could not be found out: what was known before, for a while, unless it is for a fault of signatures.
#[cold]
fn failed(
    asked: &Asked<'_>,
    why: Option<u16>,
    buffers: &mut Buffers,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Step {
    if asked.policy.stale_seconds > 0 && !why.is_some_and(is_of_validation) {
        let asked = Asked { stale: Some(Stale { why }), ..*asked };
        match step(&asked, buffers, parts, writer) {
            Step::End(End::Miss(..)) => {}
            found => return found,
        }
    }
    let edes = match why {
        Some(code) if code != ede::CACHED_ERROR => [why, Some(ede::CACHED_ERROR)],
        _ => [Some(ede::CACHED_ERROR), None],
    };
    Step::End(End::Answer(Verdict::failure(edes)))
}

/// Goes on with the target of an alias, unless the operator has blocked it: an alias of others is no way round that.
fn follow(asked: &Asked<'_>, target: &Name) -> Step {
    match asked.policy.local.blocks(target, asked.wishes.qtype) {
        None => Step::Follow,
        Some(rcode) => Step::End(End::Answer(Verdict::with_ede(rcode, ede::BLOCKED))),
    }
}

/// What the parents of a name say of it.
fn above(asked: &Asked<'_>, buffers: &mut Buffers, parts: &mut Parts, writer: &mut Writer<'_>) -> Step {
    let Buffers { name, copied, next, proofs, lasts, .. } = buffers;
    let mut at = name.name();
    for _ in 0..PARENTS_MAX {
        if asked.policy.points.has_itself(at) {
            break;
        }
        let Some(parent) = at.parent() else { break };
        at = parent;
        for subject in subjects(asked, rtype::DNAME) {
            let Some(entry) = fresh(asked, parent, subject, copied) else { continue };
            let target = entry.rdatas.iter().next().and_then(|rdata| Name::from_wire(rdata).ok());
            let (Kind::Data, Some(target)) = (entry.kind, target) else { continue };
            parts.add(&entry, asked);
            let lasts_for = left_of(&entry, asked.now);
            writer.set(parent, rtype::DNAME, lasts_for, (entry.rdatas, entry.signatures));
            note_proofs(asked, &entry, (proofs, lasts));
            let kept = name.name().octets().len() - parent.octets().len();
            let is_name = next.join(name.name(), kept, target);
            parts.of(copied);
            if !is_name {
                return Step::End(parts.verdict(rcode::YXDOMAIN, asked.wishes));
            }
            // It has no signature: the DNAME's is enough (RFC 6672 5.3.1).
            let rdata = [next.name().octets()];
            let record = |at: usize| rdata.get(at).copied();
            writer.records(name.name(), rtype::CNAME, lasts_for, 1, record, RdataList::EMPTY);
            if asked.wishes.qtype == rtype::CNAME {
                return Step::End(parts.verdict(rcode::NOERROR, asked.wishes));
            }
            name.set_lower(next.name());
            return follow(asked, name.name());
        }
        if let Some(entry) = fresh(asked, parent, Subject::Existence, copied)
            && entry.kind == Kind::NameError
            && has_soa(&entry)
            && (entry.security == Security::Secure || asked.policy.cuts_below_unproved)
        {
            parts.add(&entry, asked);
            let end = denial(asked, rcode::NXDOMAIN, &entry, (proofs, lasts), parts, writer);
            parts.of(copied);
            return Step::End(end);
        }
    }
    Step::End(End::Miss(asked.wishes.qtype, Stage::Asked))
}

/// Where an RRset is looked for: clients with CD see what nobody has validated too.
fn subjects(asked: &Asked<'_>, rtype: u16) -> impl Iterator<Item = Subject> + use<> {
    let unchecked = asked.wishes.checking_disabled().then_some(Subject::Unchecked(rtype));
    std::iter::once(Subject::Rrset(rtype)).chain(unchecked)
}

/// An entry that has not expired, or not for long where that will do, and is for this client.
fn fresh<'c>(asked: &Asked<'_>, name: &Name, subject: Subject, copied: &'c mut Copied) -> Option<Entry<'c>> {
    let entry = asked.cache.get(&Key { name, subject }, copied)?;
    if entry.ttl_left(asked.now).is_none() {
        let is_kept = entry.expired_for(asked.now) < u64::from(asked.policy.stale_seconds);
        asked.stale.filter(|_| is_kept)?;
    }
    let is_checked = !matches!(entry.security, Security::Unchecked | Security::Bogus);
    (is_checked || entry.kind == Kind::Failure || asked.wishes.checking_disabled()).then_some(entry)
}

/// Whether a denial has the SOA record that clients keep it by (RFC 2308 5): one that came with a referral has none.
fn has_soa(entry: &Entry<'_>) -> bool {
    entry.beside.iter().any(|set| set.rtype == rtype::SOA)
}

/// From when on and for how long an entry is good.
fn span_of(entry: &Entry<'_>, now: Moment) -> (Moment, u32) {
    match entry.ttl_left(now) {
        Some(_) => (entry.stored, entry.ttl),
        None => (now, STALE_TTL_MAX),
    }
}

/// For how long an entry is good.
#[inline(always)]
fn left_of(entry: &Entry<'_>, now: Moment) -> Lasts {
    let (stored, ttl) = span_of(entry, now);
    Lasts::from(stored, ttl, now)
}

/// Writes the data that were asked for, less what is kept back. What ends the answer, if it is something else.
fn data(
    asked: &Asked<'_>,
    name: &Name,
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
        let end = made_of_a(asked, name, lasts, (other, made), parts, writer);
        return end.or_else(|| Some(parts.verdict(rcode::NOERROR, asked.wishes)));
    }
    let (rdatas, signatures) = (entry.rdatas, entry.signatures);
    let set = Rrset { owner: name, rtype, ttl: lasts.ttl, rdatas, signatures };
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
fn made_of_a(
    asked: &Asked<'_>,
    name: &Name,
    left: Lasts,
    (other, made): (&mut Copied, &mut RdataListBuf),
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Option<End> {
    for subject in subjects(asked, rtype::A) {
        let Some(entry) = fresh(asked, name, subject, other) else { continue };
        match entry.kind {
            Kind::Data => {
                parts.add(&entry, asked);
                let lasts = left_of(&entry, asked.now);
                let lasts = if left.until < lasts.until { left } else { lasts };
                let set = Rrset {
                    owner: name,
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
    Some(End::Miss(rtype::A, Stage::Dns64 { ttl: left.ttl, security: parts.security }))
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
fn denial(
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
fn note_proofs(asked: &Asked<'_>, entry: &Entry<'_>, (proofs, lasts): (&mut RrsetListBuf, &mut Vec<Lasts>)) {
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

fn write_proofs(buffers: &Buffers, writer: &mut Writer<'_>) {
    if !buffers.lasts.is_empty() {
        writer.begin_section(Section::Authority);
        put_proofs(&buffers.proofs, &buffers.lasts, writer);
    }
}

fn put_proofs(proofs: &RrsetListBuf, lasts: &[Lasts], writer: &mut Writer<'_>) {
    proofs.list().iter().zip(lasts).for_each(|(set, lasts)| writer.rrset(&set, *lasts));
}

/// A question for all types: one RRset that is there, or a denial, else a record that says so (RFC 8482 4).
fn any(asked: &Asked<'_>, buffers: &mut Buffers, parts: &mut Parts, writer: &mut Writer<'_>) -> End {
    let Buffers { name, copied, proofs, lasts, .. } = buffers;
    for rtype in ANY_TYPES {
        for subject in subjects(asked, rtype) {
            let Some(entry) = fresh(asked, name.name(), subject, copied) else { continue };
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
    if let Some(entry) = fresh(asked, name.name(), Subject::Existence, copied)
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

/// Whether an extended error says that something is wrong with signatures: who sets CD does not mind.
pub(crate) fn is_of_validation(code: u16) -> bool {
    matches!(
        code,
        ede::UNSUPPORTED_DNSKEY_ALGORITHM | ede::UNSUPPORTED_DS_DIGEST_TYPE | ede::DNSSEC_INDETERMINATE
            ..=ede::NSEC_MISSING | ede::SIGNATURE_EXPIRED_BEFORE_VALID | ede::UNSUPPORTED_NSEC3_ITERATIONS
    )
}
