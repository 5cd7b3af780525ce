//! One RRset that may deny names, and what is looked at of it.

use dnssec::nsec::Nsec;
use dnssec::nsec3::{self, Hash, Nsec3};
use wire::iana::rtype;
use wire::rrset::{RdataList, Rrset, RrsetList, RrsetListBuf};
use wire::{Name, SortKey};

use crate::Moment;

/// Octets that are counted for a span beside its keys and its records: its place in the map, and what the allocator adds.
pub(super) const SPAN_OCTETS: usize = 176;
/// Two owners whose hashes begin with so many equal octets have no name of the zone between them but one made for that (RFC 7129, white lies).
const HASH_PREFIX_OCTETS: usize = 7;

/// One RRset, as a list, and until when it is of use. What is looked at for each question was read when it came.
pub(super) struct Span {
    set: Box<[u8]>,
    pub(super) end: Moment,
    /// The sort key of the next owner; its hash. `None`: it is outside of the zone, and nothing is covered.
    pub(super) next: Option<Box<[u8]>>,
    /// Of NSEC: a delegation or a DNAME. What is below is not for this zone to deny (RFC 6840 4.1).
    pub(super) is_elsewhere: bool,
}

impl Span {
    fn of(set: &Rrset<'_>, now: Moment) -> Span {
        let list: RrsetListBuf = [*set].into_iter().collect();
        let end = now.plus_seconds(set.ttl);
        Span { set: list.list().octets().into(), end, next: None, is_elsewhere: false }
    }

    pub(super) fn rrset(&self) -> Option<Rrset<'_>> {
        RrsetList::trusted(&self.set).iter().next()
    }

    /// Octets that are counted for it, of its key in the map as many as its owner has.
    pub(super) fn octets(&self) -> usize {
        let owner = self.rrset().map_or(0, |set| set.owner.octets().len());
        self.set.len() + self.next.as_ref().map_or(0, |next| next.len()) + owner + SPAN_OCTETS
    }

    /// Appends it with the TTL that is left; `None`: none is.
    pub(super) fn copy_to(&self, out: &mut RrsetListBuf, now: Moment) -> Option<()> {
        let left = self.end.ms_since(now).div_ceil(1000) as u32;
        let set = self.rrset().filter(|_| left > 0)?;
        out.push(&Rrset { ttl: left, ..set });
        Some(())
    }
}

/// A span with its place in its zone.
pub(super) enum Fact {
    Soa(Span),
    /// By the sort key of its owner.
    Nsec(Box<[u8]>, Span),
    /// Of a salt, by the hash of its owner.
    Nsec3(Box<[u8]>, Hash, Span),
}

impl Fact {
    /// What a set of `zone` says, if it denies more than what it was made for.
    pub(super) fn of(zone: &Name, set: &Rrset<'_>, now: Moment) -> Option<Fact> {
        if !set.owner.is_at_or_below(zone) || is_from_wildcard(set) || set.ttl == 0 {
            return None;
        }
        let rdata = set.rdatas.iter().next()?;
        let span = || Span::of(set, now);
        match set.rtype {
            rtype::SOA => set.owner.eq_ignore_case(zone).then(|| Fact::Soa(span())),
            rtype::NSEC => {
                let nsec = Nsec::parse(rdata).filter(|nsec| !is_made_for_one(set.owner, nsec.next))?;
                let is_within = nsec.next.is_at_or_below(zone);
                let next = is_within.then(|| Box::from(SortKey::of(nsec.next).octets()));
                let is_elsewhere = nsec.types.contains(rtype::DNAME)
                    || nsec.types.contains(rtype::NS) && !nsec.types.contains(rtype::SOA);
                let owner = Box::from(SortKey::of(set.owner).octets());
                Some(Fact::Nsec(owner, Span { next, is_elsewhere, ..span() }))
            }
            rtype::NSEC3 => {
                let owner = set.owner.labels().next().and_then(nsec3::hash_of_label)?;
                let nsec3 = Nsec3::parse(rdata).ok()?;
                let is_lie =
                    owner[..HASH_PREFIX_OCTETS] == nsec3.next[..HASH_PREFIX_OCTETS] && owner != *nsec3.next;
                let is_kept = nsec3.params.iterations() == 0 && !is_lie;
                let next = Some(Box::from(&nsec3.next[..]));
                is_kept.then(|| Fact::Nsec3(nsec3.params.salt().into(), owner, Span { next, ..span() }))
            }
            _ => None,
        }
    }
}

/// Whether the record denies no name but those that nobody asks for: the next name is the least that can be below the owner (RFC 9824, RFC 4470).
fn is_made_for_one(owner: &Name, next: &Name) -> bool {
    next.octets().strip_prefix(b"\x01\0").is_some_and(|rest| Name::trusted(rest).eq_ignore_case(owner))
}

/// Whether a signature has fewer labels than the owner: the set stands for one that is made from a wildcard, and its owner is not that of the record (RFC 4035 5.3.4).
fn is_from_wildcard(set: &Rrset<'_>) -> bool {
    let labels = set.owner.label_count() - usize::from(set.owner.is_wildcard());
    let signed = |list: RdataList<'_>| {
        list.iter().all(|rdata| rdata.get(3).is_some_and(|own| usize::from(*own) == labels))
    };
    !signed(set.signatures)
}
