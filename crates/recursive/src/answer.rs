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

mod any;
mod lookup;
mod parts;
mod put;

use crate::limits::{ALIASES_MAX, PARENTS_MAX};
use crate::policy::Policy;
use crate::rebinding::Rebinding;
use crate::responder::IsOfOurs;
use crate::space::NameSpace;
use crate::verdict::Verdict;
use crate::wishes::{Stage, Wishes};
use crate::writer::{Lasts, Writer};
use any::any;
use cache::{Cache, Copied, Kind, Moment, NameHash, Security, Subject};
use lookup::{fresh, has_soa, left_of, subjects};
pub(crate) use parts::{Parts, Stale, is_of_validation};
use put::{data, denial, made_of_a, note_proofs, write_proofs};
pub(crate) use put::{put_data, put_made};
use wire::iana::{ede, rcode, rtype};
use wire::rrset::{RdataListBuf, RrsetListBuf};
use wire::{Name, RdataList};

/// What an answer depends on.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub wishes: &'a Wishes,
    pub policy: &'a Policy,
    pub cache: &'a Cache,
    pub now: Moment,
    /// What is kept back of the answer, if anything is.
    pub filter: Option<&'a Rebinding>,
    /// Which names are of zones of ours: the resolver has them asked.
    pub ours: Option<IsOfOurs<'a>>,
    /// Why what has expired is given too (RFC 8767); `None`: it is not.
    pub stale: Option<Stale>,
}

impl Asked<'_> {
    /// Whether a name in lower case is for a zone of ours to say.
    pub(crate) fn is_of_ours(&self, name: &Name) -> bool {
        self.ours.is_some_and(|is_of_ours| is_of_ours(name))
    }
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

/// One step of the chain.
enum Step {
    End(End),
    /// The next name is in the buffers.
    Follow,
}

/// Answers the question for the name in the buffers. `hash`: the name's.
pub(crate) fn answer(
    asked: &Asked<'_>,
    mut hash: NameHash,
    buffers: &mut Buffers,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> End {
    buffers.proofs.clear();
    buffers.lasts.clear();
    if asked.wishes.qtype == rtype::ANY {
        return any(asked, hash, buffers, parts, writer);
    }
    for _ in 0..=ALIASES_MAX {
        match step(asked, hash, buffers, parts, writer) {
            Step::End(end) => return end,
            Step::Follow => hash = asked.cache.name_hash(buffers.name.name()),
        }
    }
    // Nobody has such chains but who wants work done.
    End::Answer(Verdict::of(rcode::SERVFAIL))
}

fn step(
    asked: &Asked<'_>,
    hash: NameHash,
    buffers: &mut Buffers,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Step {
    let qtype = asked.wishes.qtype;
    let Buffers { name, copied, next, other, made, proofs, lasts } = &mut *buffers;
    let named = asked.cache.named_by(name.name(), hash);
    for subject in subjects(asked, qtype) {
        let Some(entry) = fresh(asked, &named, subject, copied) else { continue };
        parts.is_known = true;
        match entry.kind {
            Kind::Data => {
                parts.add(&entry, asked);
                let end = data(asked, &named, qtype, &entry, (other, made), parts, writer);
                if let Some(end) = end {
                    parts.of(copied);
                    return Step::End(end);
                }
                note_proofs(asked, &entry, (proofs, lasts));
                parts.of(copied);
                write_proofs(buffers, writer);
                return Step::End(parts.verdict(rcode::NOERROR, asked.wishes));
            }
            Kind::NoData if has_soa(&entry) => {
                parts.add(&entry, asked);
                if asked.wishes.wants_dns64 && qtype == rtype::AAAA {
                    let left = left_of(&entry, asked.now);
                    let end = made_of_a(asked, &named, left, (other, made), parts, writer);
                    if let Some(end) = end {
                        parts.of(copied);
                        return Step::End(end);
                    }
                }
                let end = denial(asked, rcode::NOERROR, &entry, (proofs, lasts), parts, writer);
                parts.of(copied);
                return Step::End(end);
            }
            _ => {}
        }
    }
    if !rtype::may_be_at_cname(qtype) {
        for subject in subjects(asked, rtype::CNAME) {
            let Some(entry) = fresh(asked, &named, subject, copied) else { continue };
            parts.is_known = true;
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
    if let Some(entry) = fresh(asked, &named, Subject::Existence, copied)
        && parts.knows()
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
    // One that is over is for the resolver to see.
    if let Some(entry) = named.get(Subject::Failure(qtype), copied)
        && parts.knows()
        && entry.ttl_left(asked.now).is_some()
        && !(asked.wishes.checking_disabled() && entry.ede.is_some_and(is_of_validation))
    {
        let (why, is_fact) = (entry.ede, entry.security != Security::Unchecked);
        return failed(asked, (why, is_fact), hash, buffers, parts, writer);
    }
    above(asked, buffers, parts, writer)
}

/// What is said of a name that could not be found out: what was known before, for a while, unless it is for a fault of signatures. A failure that is no fact is a
/// reason for that alone.
#[cold]
fn failed(
    asked: &Asked<'_>,
    (why, is_fact): (Option<u16>, bool),
    hash: NameHash,
    buffers: &mut Buffers,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Step {
    if asked.policy.stale_seconds > 0 && !why.is_some_and(is_of_validation) {
        let asked = Asked { stale: Some(Stale { why }), ..*asked };
        match step(&asked, hash, buffers, parts, writer) {
            Step::End(End::Miss(..)) => {}
            found => return found,
        }
    }
    if !is_fact {
        return Step::End(End::Miss(asked.wishes.qtype, Stage::Asked));
    }
    let edes = match why {
        Some(code) if code != ede::CACHED_ERROR => [why, Some(ede::CACHED_ERROR)],
        _ => [Some(ede::CACHED_ERROR), None],
    };
    Step::End(End::Answer(Verdict::failure(edes)))
}

/// Goes on with the target of an alias, unless the operator has blocked it: an alias of others is no way round that. Nor is it round zones of ours, whatever is known of
/// their names from others.
fn follow(asked: &Asked<'_>, target: &Name) -> Step {
    match asked.policy.local.blocks(target, asked.wishes.qtype) {
        None if asked.is_of_ours(target) => Step::End(End::Miss(asked.wishes.qtype, Stage::Asked)),
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
        // The root exists, and is no other name: nothing is looked for there.
        let Some(parent) = at.parent().filter(|parent| !parent.is_root()) else { break };
        // What is above a zone of ours knows nothing of it.
        if asked.wishes.is_of_ours && !asked.is_of_ours(parent) {
            break;
        }
        at = parent;
        let named = asked.cache.named(parent);
        for subject in subjects(asked, rtype::DNAME) {
            let Some(entry) = fresh(asked, &named, subject, copied) else { continue };
            parts.is_known = true;
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
        if let Some(entry) = fresh(asked, &named, Subject::Existence, copied)
            && parts.knows()
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
