//! From a reply that was read, and what validation found, to what the cache keeps: `docs/design/responses.md` 5.
//!
//! | reply | key | entry |
//! |---|---|---|
//! | answer, chain of aliases | each RRset | `Data`; what proves that a wildcard made it beside |
//! | no data | RRset of the type | `NoData`; SOA, proof beside |
//! | no name | existence; RRset of the type where little speaks for it | `NameError`; SOA, proof beside |
//! | referral | cut | `Cut`; glue beside. DS: `Data`, or `NoData` where denied |

use cache::{Cache, Entry, Key, Kind, Moment, Rank, Security, Subject};
use wire::Name;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::rrset::{RdataList, Rrset, RrsetList, RrsetListBuf};

use crate::response::{self, Asked, Reply, Source};

/// For how long a denial without SOA is kept. RFC 2308 5 says not at all; but some servers never send one, and are not to be asked for each
/// question of each client.
pub const DENIAL_WITHOUT_SOA_SECONDS: u32 = 5;
/// For how long what is bogus is kept (RFC 4035 4.7): while a zone is repaired, or a forger gets tired.
pub const BOGUS_SECONDS: u32 = 60;

/// For how long what a server has from others is kept, though it should be an authority: an open resolver in an NS RRset, or at an address that
/// was a server's, has old data, and is believed only when the others are silent.
pub const SECOND_HAND_SECONDS: u32 = 60;
/// Octets of what stands beside an entry, beyond which it is not kept: SOA and proofs of the largest sound denials, each signed with two keys of 4,096
/// bits, have 5,200. With more a zone of an attacker would fill the cache for each name that he has asked for.
pub const BESIDE_OCTETS_MAX: usize = 8_192;

/// What validation found of one RRset, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it is.
    pub security: Security,
    /// For how long it may be kept by its signatures (RFC 4035 5.3.3); `u32::MAX` where there are none.
    pub ttl_max: u32,
    /// Why it is bogus (RFC 8914).
    pub ede: Option<u16>,
}

impl Finding {
    /// Validation is off, or said the same of all.
    pub const fn of(security: Security) -> Finding {
        Finding { security, ttl_max: u32::MAX, ede: None }
    }
}

/// What validation found of a reply.
#[derive(Clone, Copy, Debug)]
pub struct Verdict<'v> {
    /// Of the reply as a whole, and so of its denial; of a referral, of DS or its denial.
    pub whole: Finding,
    /// Of each set of [`Reply::answer`], in their order; where there are less, `whole` is said of the others.
    pub answer: &'v [Finding],
}

impl Verdict<'_> {
    /// One finding for all.
    pub const fn of(security: Security) -> Verdict<'static> {
        Verdict { whole: Finding::of(security), answer: &[] }
    }
}

/// When things happen to what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// When the response was asked for: what was flushed since is not kept.
    pub asked: Moment,
    /// When it came.
    pub now: Moment,
}

/// What an entry has whatever it says.
struct Common<'c> {
    asked: &'c Asked<'c>,
    /// The longest TTL, whatever records say.
    ttl_max: u32,
    cache: &'c Cache,
    times: &'c Times,
}

/// Keeps what a reply says. Replies of other kinds than those above say nothing.
pub fn store(reply: &Reply, asked: &Asked<'_>, verdict: &Verdict<'_>, times: &Times, cache: &Cache) {
    let ttl_max = if reply.is_second_hand(asked) { SECOND_HAND_SECONDS } else { u32::MAX };
    let common = Common { asked, ttl_max, cache, times };
    match reply.kind {
        response::Kind::Answer | response::Kind::Alias | response::Kind::TooLong | response::Kind::Exists => {
        }
        response::Kind::NoData => common.denial(reply, Kind::NoData, &verdict.whole),
        // Servers that say so of an ancestor that has names below are many; only a proof counts.
        response::Kind::NameError if !asked.is_minimised() || verdict.whole.security == Security::Secure => {
            common.denial(reply, Kind::NameError, &verdict.whole);
        }
        response::Kind::NameError => {}
        response::Kind::Referral => {
            common.cut(reply, &verdict.whole);
            common.ds(reply, &verdict.whole);
            return;
        }
        _ => return,
    }
    // What of ANY comes is a choice of the server, or made up (RFC 8482).
    if asked.qtype != rtype::ANY {
        common.answer(reply, verdict);
    }
    // Priming.
    if !reply.referral.list().is_empty() {
        common.cut(reply, &verdict.whole);
    }
}

impl Common<'_> {
    /// The RRsets of the answer.
    fn answer(&self, reply: &Reply, verdict: &Verdict<'_>) {
        let is_authority = reply.is_authoritative && self.asked.source == Source::Authority;
        let rank = if is_authority { Rank::Authoritative } else { Rank::Answer };
        let sets = reply.answer.list();
        let proof = match sets.iter().any(|set| is_from_wildcard(&set)) {
            true => proof(reply.authority.list()),
            false => RrsetListBuf::new(),
        };
        for (number, set) in sets.iter().enumerate() {
            // What a DNAME makes is made again from it, with its signatures.
            if set.rtype == rtype::RRSIG || reply.is_made(number) {
                continue;
            }
            let finding = verdict.answer.get(number).unwrap_or(&verdict.whole);
            let beside = if is_from_wildcard(&set) { proof.list() } else { RrsetList::EMPTY };
            let entry = self.entry(Kind::Data, rank, finding, set.ttl, Some(&set), beside);
            self.put(set.owner, rrset(set.rtype, finding), &entry);
            // What it was made from is proved as well, for other names that it stands for (RFC 8198 5.3).
            if finding.security == Security::Secure && is_from_wildcard(&set) {
                self.wildcard(&set, &Entry { beside: RrsetList::EMPTY, ..entry });
            }
        }
    }

    /// Keeps the RRset of the wildcard that a set was made from: its owner has the labels that the signatures cover.
    fn wildcard(&self, set: &Rrset<'_>, entry: &Entry<'_>) {
        let Some(&labels) = set.signatures.iter().next().and_then(|rdata| rdata.get(3)) else { return };
        let mut encloser = set.owner;
        while encloser.label_count() > usize::from(labels)
            && let Some(parent) = encloser.parent()
        {
            encloser = parent;
        }
        let mut room = [0; NAME_OCTETS_MAX];
        let length = 2 + encloser.octets().len();
        // Shorter than its owner, of which it has a label less at least, unless that was `*` itself.
        let Some(owner) = room.get_mut(..length) else { return };
        owner[..2].copy_from_slice(b"\x01*");
        owner[2..].copy_from_slice(encloser.octets());
        self.put(Name::trusted(owner), Subject::Rrset(set.rtype), entry);
    }

    /// That the name of the reply, or its RRset of the type, is not there.
    fn denial(&self, reply: &Reply, kind: Kind, finding: &Finding) {
        let sets = reply.authority.list();
        let soa = sets.iter().find(|set| set.rtype == rtype::SOA);
        let ttl = match soa {
            Some(soa) => soa.ttl,
            None => sets.iter().map(|set| set.ttl).min().unwrap_or(DENIAL_WITHOUT_SOA_SECONDS),
        };
        let is_authority = reply.is_authoritative && self.asked.source == Source::Authority;
        let rank = if is_authority { Rank::Authority } else { Rank::Answer };
        let mut entry = self.entry(kind, rank, finding, ttl, None, sets);
        if let Some(soa) = soa {
            entry.zone_labels = soa.owner.label_count() as u8;
        }
        let subject = rrset(self.asked.qtype, finding);
        let is_of_name = matches!(subject, Subject::Rrset(_)) && self.is_of_name(soa.is_some(), finding);
        // Refused where there are fresh data at the name that are worth as much: then it is of the type alone.
        if kind != Kind::NameError || !is_of_name || !self.put(reply.name(), Subject::Existence, &entry) {
            self.put(reply.name(), subject, &entry);
        }
    }

    /// Whether a name error counts for all types of the name. Servers that say so for types they do not know, and have addresses at the name, are
    /// common (RFC 4074 4.2): unproved it is believed of the type asked alone, unless that was an address, by a server that has the zone.
    fn is_of_name(&self, has_soa: bool, finding: &Finding) -> bool {
        finding.security == Security::Secure || has_soa && self.asked.qtype == rtype::A
    }

    /// The delegation that the reply refers to.
    fn cut(&self, reply: &Reply, finding: &Finding) {
        let Some(servers) = reply.referral.list().iter().find(|set| set.rtype == rtype::NS) else { return };
        let glue = reply.glue.list();
        // Without its own addresses a delegation leads nowhere, and nobody but the parent has them.
        let own = glue.iter().filter(|set| set.owner.is_at_or_below(servers.owner)).map(|set| set.ttl);
        let ttl = own.fold(servers.ttl, u32::min);
        let servers = Rrset { signatures: RdataList::EMPTY, ..servers };
        let entry = self.entry(Kind::Cut, Rank::Referral, finding, ttl, Some(&servers), glue);
        self.put(servers.owner, Subject::Cut, &entry);
    }

    /// DS of the zone that the reply refers to, or its denial.
    fn ds(&self, reply: &Reply, finding: &Finding) {
        let sets = reply.referral.list();
        let proofs = reply.authority.list();
        let entry = match sets.iter().find(|set| set.rtype == rtype::DS) {
            Some(ds) => self.entry(Kind::Data, Rank::Authority, finding, ds.ttl, Some(&ds), RrsetList::EMPTY),
            None => {
                let Some(ttl) = proofs.iter().map(|set| set.ttl).min() else { return };
                // Less than DS itself: a zone that becomes signed is so at once.
                self.entry(Kind::NoData, Rank::Referral, finding, ttl, None, proofs)
            }
        };
        self.put(reply.name(), rrset(rtype::DS, finding), &entry);
    }

    fn entry<'e>(
        &self,
        kind: Kind,
        rank: Rank,
        finding: &Finding,
        ttl: u32,
        set: Option<&Rrset<'e>>,
        beside: RrsetList<'e>,
    ) -> Entry<'e> {
        let is_bogus = finding.security == Security::Bogus;
        Entry {
            kind,
            rank,
            security: finding.security,
            ede: finding.ede,
            stored: self.times.now,
            ttl: ttl.min(finding.ttl_max).min(self.ttl_max).min(if is_bogus {
                BOGUS_SECONDS
            } else {
                u32::MAX
            }),
            zone_labels: self.asked.zone.label_count() as u8,
            rdatas: set.map_or(RdataList::EMPTY, |set| set.rdatas),
            signatures: set.map_or(RdataList::EMPTY, |set| set.signatures),
            beside,
        }
    }

    /// Keeps an entry, unless it would be over at once (RFC 1035 3.2.1) or is too large, or the cache has better. `false`: it was not kept.
    fn put(&self, name: &Name, subject: Subject, entry: &Entry<'_>) -> bool {
        // Glue is bounded where it is read.
        let is_beside_too_much = subject != Subject::Cut && entry.beside.octets().len() > BESIDE_OCTETS_MAX;
        if entry.ttl == 0 || is_beside_too_much {
            return false;
        }
        let mut room = [0; NAME_OCTETS_MAX];
        let lower = &mut room[..name.octets().len()];
        lower.copy_from_slice(name.octets());
        lower.make_ascii_lowercase();
        let key = Key { name: Name::trusted(lower), subject };
        self.cache.put(&key, entry, self.times.asked, self.times.now)
    }
}

/// Where an RRset or its denial is kept: what is not validated and what is bogus apart, for clients with CD.
fn rrset(rtype: u16, finding: &Finding) -> Subject {
    match finding.security {
        Security::Insecure | Security::Secure => Subject::Rrset(rtype),
        Security::Unchecked | Security::Bogus => Subject::Unchecked(rtype),
    }
}

/// What of an authority section proves something. An alias may come with the denial of its target, whose SOA is no part of the alias: beside a positive
/// answer it would make a denial of it (RFC 2308 2).
fn proof(authority: RrsetList<'_>) -> RrsetListBuf {
    let mut proof = RrsetListBuf::new();
    let proofs = authority.iter().filter(|set| matches!(set.rtype, rtype::NSEC | rtype::NSEC3));
    proofs.for_each(|set| proof.push(&set));
    proof
}

/// Whether a set was made from a wildcard: a signature covers fewer labels than its owner has (RFC 4035 5.3.2).
fn is_from_wildcard(set: &Rrset<'_>) -> bool {
    let labels = set.owner.label_count() - usize::from(set.owner.is_wildcard());
    set.signatures.iter().any(|rdata| rdata.get(3).is_some_and(|covered| usize::from(*covered) < labels))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
