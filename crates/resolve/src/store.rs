//! From a reply that was read, and what validation found, to what the cache keeps: `docs/design/responses.md` 5.
//!
//! | reply | key | entry |
//! |---|---|---|
//! | answer, chain of aliases | each RRset | `Data`; what proves that a wildcard made it beside |
//! | no data | RRset of the type | `NoData`; SOA, proof beside |
//! | no name | existence | `NameError`; SOA, proof beside. Unchecked or bogus: at the type |
//! | referral | cut | `Cut`; glue beside. DS: `Data`, or `NoData` where denied |

use cache::{Cache, Entry, Key, Kind, Moment, Rank, Security, Subject};
use wire::Name;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::rrset::{RdataList, Rrset, RrsetList};

use crate::response::{self, Asked, Reply, Source};

/// For how long a denial without SOA is kept. RFC 2308 5 says not at all; but some servers never send one, and are not to be asked for each
/// question of each client.
pub const DENIAL_WITHOUT_SOA_SECONDS: u32 = 5;
/// For how long what is bogus is kept (RFC 4035 4.7): while a zone is repaired, or a forger gets tired.
pub const BOGUS_SECONDS: u32 = 60;

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
    /// When the delegation of the zone asked ends: no cut, DS or denial of a DS that its servers give is kept for longer, so that a zone that was
    /// withdrawn cannot live on in zones below it (CVE-2022-30698). `None`: never, as that of the root or of a configured zone.
    pub zone_ends: Option<Moment>,
}

/// What an entry has whatever it says.
struct Common<'c> {
    asked: &'c Asked<'c>,
    cache: &'c Cache,
    times: &'c Times,
}

/// Keeps what a reply says. Replies of other kinds than those above say nothing.
pub fn store(reply: &Reply, asked: &Asked<'_>, verdict: &Verdict<'_>, times: &Times, cache: &Cache) {
    let common = Common { asked, cache, times };
    match reply.kind {
        response::Kind::Answer | response::Kind::Alias | response::Kind::TooLong => {}
        response::Kind::NoData => common.denial(reply, Kind::NoData, &verdict.whole),
        // Servers that say so of an ancestor that has names below are many; only a proof counts for all below (RFC 8020).
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
        for (number, set) in reply.answer.list().iter().enumerate() {
            if set.rtype == rtype::RRSIG {
                continue;
            }
            let finding = verdict.answer.get(number).unwrap_or(&verdict.whole);
            let beside = if is_from_wildcard(&set) { reply.authority.list() } else { RrsetList::EMPTY };
            let entry = self.entry(Kind::Data, rank, finding, set.ttl, Some(&set), beside);
            self.put(set.owner, rrset(set.rtype, finding), &entry);
        }
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
        let subject = match (kind, rrset(self.asked.qtype, finding)) {
            (Kind::NameError, Subject::Rrset(_)) => Subject::Existence,
            (_, subject) => subject,
        };
        self.put(reply.name(), subject, &entry);
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
                self.entry(Kind::NoData, Rank::Authority, finding, ttl, None, proofs)
            }
        };
        self.put(reply.name(), rrset(rtype::DS, finding), &entry);
    }

    /// For how long the zone asked is still delegated.
    fn ttl_of_zone(&self) -> u32 {
        let left = |ends: Moment| (ends.ms_since(self.times.now) / 1000).min(u32::MAX.into()) as u32;
        self.times.zone_ends.map_or(u32::MAX, left)
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
            ttl: ttl.min(finding.ttl_max).min(if is_bogus { BOGUS_SECONDS } else { u32::MAX }),
            zone_labels: self.asked.zone.label_count() as u8,
            rdatas: set.map_or(RdataList::EMPTY, |set| set.rdatas),
            signatures: set.map_or(RdataList::EMPTY, |set| set.signatures),
            beside,
        }
    }

    /// Keeps an entry, unless it would be over at once (RFC 1035 3.2.1).
    fn put(&self, name: &Name, subject: Subject, entry: &Entry<'_>) {
        let mut entry = *entry;
        if matches!(subject, Subject::Cut | Subject::Rrset(rtype::DS) | Subject::Unchecked(rtype::DS)) {
            entry.ttl = entry.ttl.min(self.ttl_of_zone());
        }
        if entry.ttl > 0 {
            let mut room = [0; NAME_OCTETS_MAX];
            let lower = &mut room[..name.octets().len()];
            lower.copy_from_slice(name.octets());
            lower.make_ascii_lowercase();
            self.cache.put(
                &Key { name: Name::trusted(lower), subject },
                &entry,
                self.times.asked,
                self.times.now,
            );
        }
    }
}

/// Where an RRset or its denial is kept: what is not validated and what is bogus apart, for clients with CD.
fn rrset(rtype: u16, finding: &Finding) -> Subject {
    match finding.security {
        Security::Insecure | Security::Secure => Subject::Rrset(rtype),
        Security::Unchecked | Security::Bogus => Subject::Unchecked(rtype),
    }
}

/// Whether a set was made from a wildcard: a signature covers fewer labels than its owner has (RFC 4035 5.3.2).
fn is_from_wildcard(set: &Rrset<'_>) -> bool {
    let labels = set.owner.label_count() - usize::from(set.owner.is_wildcard());
    set.signatures.iter().any(|rdata| rdata.get(3).is_some_and(|covered| usize::from(*covered) < labels))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
