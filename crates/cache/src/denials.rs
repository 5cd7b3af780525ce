//! Validated NSEC and NSEC3 records by zone, to deny names that nobody has asked for yet (RFC 8198).
//!
//! ```text
//! zone --hash--> group (one of 16, each under a reader-writer lock) -> zone: SOA
//!                                                                      NSEC  by sort key of the owner     -> span: RRset, stored, TTL
//!                                                                      NSEC3 by hash, of one salt            -> span
//! name -> the span at or before it: matches, covers -> closest encloser -> the span at or before its wildcard
//! ```
//!
//! It finds what may prove something, and decides nothing: who asks runs the records through the validator's rules of denial. What goes in has been
//! validated as secure. Asked after a miss and before servers are; who finds a group's lock taken by a writer goes on as if nothing were known.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use dnssec::nsec::Nsec;
use dnssec::nsec3::{self, Hash, Nsec3, Nsec3Params};
use wire::iana::rtype;
use wire::name::NameBuf;
use wire::rrset::{RdataList, Rrset, RrsetList, RrsetListBuf};
use wire::{Name, SortKey};

use crate::Moment;
use crate::hash::Secret;

/// Zones are in so many groups: what is learned about one keeps readers of a sixteenth of the others away for a microsecond.
const GROUPS: usize = 16;
/// Octets that are counted for a span beside its key and its records: its place in the map, and what the allocator adds.
const SPAN_OCTETS: usize = 160;
/// Octets that are counted for a zone, likewise.
const ZONE_OCTETS: usize = 512;
/// Hashes for one question: labels from its name up to the zone's apex. Real ones have up to five; more would let whoever asks choose how much is hashed.
const HASHES_MAX: usize = 12;
/// Two owners whose hashes begin with so many equal octets have no name of the zone between them but one made for that (RFC 7129, white lies).
const HASH_PREFIX_OCTETS: usize = 7;

/// See the module.
pub struct Denials {
    secret: Secret,
    groups: [RwLock<Group>; GROUPS],
    /// What one group may have.
    octets_max: usize,
}

#[derive(Default)]
struct Group {
    zones: BTreeMap<Box<[u8]>, Zone>,
    octets: usize,
}

#[derive(Default)]
struct Zone {
    soa: Option<Span>,
    nsec: BTreeMap<Box<[u8]>, Span>,
    /// Of the NSEC3 records, which are all hashed once.
    salt: Box<[u8]>,
    nsec3: BTreeMap<Hash, Span>,
    /// When it was asked last, in milliseconds: readers note the second.
    used: AtomicU64,
    octets: usize,
}

/// One RRset, as a list, and until when it is of use.
struct Span {
    set: Box<[u8]>,
    end: Moment,
}

impl Span {
    fn of(set: &Rrset<'_>, now: Moment) -> Span {
        let list: RrsetListBuf = [*set].into_iter().collect();
        Span { set: list.list().octets().into(), end: now.plus_seconds(set.ttl) }
    }

    fn rrset(&self) -> Option<Rrset<'_>> {
        RrsetList::trusted(&self.set).iter().next()
    }

    fn rdata(&self) -> Option<&[u8]> {
        self.rrset()?.rdatas.iter().next()
    }

    fn octets(&self) -> usize {
        self.set.len() + SPAN_OCTETS
    }

    /// Appends it with the TTL that is left; `None`: none is.
    fn copy_to(&self, out: &mut RrsetListBuf, now: Moment) -> Option<()> {
        let left = self.end.ms_since(now).div_ceil(1000) as u32;
        let set = self.rrset().filter(|_| left > 0)?;
        out.push(&Rrset { ttl: left, ..set });
        Some(())
    }
}

impl Denials {
    /// An empty store that will take so many octets at most.
    pub fn new(octets: usize, secret: Secret) -> Denials {
        Denials { secret, groups: std::array::from_fn(|_| RwLock::default()), octets_max: octets / GROUPS }
    }

    /// Keeps an NSEC, NSEC3 or SOA RRset of `zone` (in lower case) that was validated as secure, with the TTL that it is to be kept with. `false`: it would never
    /// deny a name beside the one that it was made for, it was made from a wildcard, it is hashed more than once (RFC 9276 3.2), or it is no such set.
    pub fn put(&self, zone: &Name, set: &Rrset<'_>, now: Moment) -> bool {
        if !set.owner.is_at_or_below(zone) || is_from_wildcard(set) || set.ttl == 0 {
            return false;
        }
        let Some(rdata) = set.rdatas.iter().next() else { return false };
        let mut group = self.write(zone);
        match set.rtype {
            rtype::SOA => {
                set.owner.eq_ignore_case(zone)
                    && group.put(zone, now, |known| known.soa.replace(Span::of(set, now)), set)
            }
            rtype::NSEC => {
                let (key, Some(nsec)) = (SortKey::of(set.owner), Nsec::parse(rdata)) else { return false };
                let is_lie = is_made_for_one(set.owner, nsec.next);
                !is_lie
                    && group.put(
                        zone,
                        now,
                        |known| known.nsec.insert(key.octets().into(), Span::of(set, now)),
                        set,
                    )
            }
            rtype::NSEC3 => {
                let Some(owner) = set.owner.labels().next().and_then(nsec3::hash_of_label) else {
                    return false;
                };
                let Ok(nsec3) = Nsec3::parse(rdata) else { return false };
                let is_lie =
                    owner[..HASH_PREFIX_OCTETS] == nsec3.next[..HASH_PREFIX_OCTETS] && owner != *nsec3.next;
                if nsec3.params.iterations() > 0 || is_lie {
                    return false;
                }
                group.put(
                    zone,
                    now,
                    |known| known.put_nsec3(nsec3.params.salt(), owner, Span::of(set, now)),
                    set,
                )
            }
            _ => false,
        }
    }

    /// Collects into `out` what may deny `name` or its types in `zone` (both in lower case): SOA, the NSEC or NSEC3 that match or cover it, its closest encloser and
    /// the wildcard there. `false`: not all that is needed is known.
    pub fn collect(&self, zone: &Name, name: &Name, now: Moment, out: &mut RrsetListBuf) -> bool {
        out.clear();
        let Ok(group) = self.groups[self.number(zone)].try_read() else { return false };
        let Some(known) = group.zones.get(zone.octets()).filter(|_| name.is_at_or_below(zone)) else {
            return false;
        };
        let found = known.collect(zone, name, now, out);
        if found.is_some() && now.0 >= known.used.load(Ordering::Relaxed) + 1_000 {
            known.used.store(now.0, Ordering::Relaxed);
        }
        found.is_some()
    }

    /// Collects into `out` the NSEC or NSEC3 that covers `name` in `zone` (both in lower case): there is no such name, whatever a wildcard makes of it
    /// (RFC 8198 5.3). `false`: none is known.
    pub fn cover(&self, zone: &Name, name: &Name, now: Moment, out: &mut RrsetListBuf) -> bool {
        out.clear();
        let Ok(group) = self.groups[self.number(zone)].try_read() else { return false };
        let Some(known) = group.zones.get(zone.octets()).filter(|_| name.is_at_or_below(zone)) else {
            return false;
        };
        known.cover(zone, name, now, out).is_some()
    }

    /// Forgets what could deny a name at or below `name`: of zones there, and of zones above.
    pub fn flush(&self, name: &Name) {
        for group in &self.groups {
            let mut group = group.write().unwrap_or_else(PoisonError::into_inner);
            group.zones.retain(|zone, _| {
                let zone = Name::trusted(zone);
                !zone.is_at_or_below(name) && !name.is_at_or_below(zone)
            });
            group.octets = group.zones.values().map(|zone| zone.octets).sum();
        }
    }

    /// Octets that it takes now, as counted.
    pub fn octets(&self) -> usize {
        self.groups.iter().map(|group| group.read().map_or(0, |group| group.octets)).sum()
    }

    fn number(&self, zone: &Name) -> usize {
        self.secret.hash(zone.octets()) as usize % GROUPS
    }

    fn write(&self, zone: &Name) -> Writing<'_> {
        let group = self.groups[self.number(zone)].write().unwrap_or_else(PoisonError::into_inner);
        Writing { group, octets_max: self.octets_max }
    }
}

/// A group that is written to, with its bound.
struct Writing<'d> {
    group: RwLockWriteGuard<'d, Group>,
    octets_max: usize,
}

impl Writing<'_> {
    /// Puts a span into a zone, `insert` gives back what it replaced; then has others leave until the group is within its bound.
    fn put(
        &mut self,
        zone: &Name,
        now: Moment,
        insert: impl FnOnce(&mut Zone) -> Option<Span>,
        set: &Rrset<'_>,
    ) -> bool {
        let group = &mut *self.group;
        let known = group.zones.entry(zone.octets().into()).or_insert_with(|| {
            group.octets += ZONE_OCTETS;
            Zone { octets: ZONE_OCTETS, ..Zone::default() }
        });
        known.used.fetch_max(now.0, Ordering::Relaxed);
        let before = known.octets;
        let replaced = insert(known);
        // The key of a span is about as long as its owner.
        let key = set.owner.octets().len();
        known.octets += key + Span::of(set, now).octets();
        known.octets -= replaced.map_or(0, |replaced| key + replaced.octets()).min(known.octets);
        group.octets = group.octets + known.octets - before;
        while group.octets > self.octets_max && group.forget_something(zone) {}
        true
    }
}

impl Group {
    /// The zone that was asked longest ago goes; where there is only `present`, half of its spans. Whether something went.
    fn forget_something(&mut self, present: &Name) -> bool {
        let idle = self.zones.iter().filter(|(zone, _)| ***zone != *present.octets());
        let idle =
            idle.min_by_key(|(_, zone)| zone.used.load(Ordering::Relaxed)).map(|(zone, _)| zone.clone());
        if let Some(gone) = idle.and_then(|idle| self.zones.remove(&idle)) {
            self.octets -= gone.octets;
            return true;
        }
        let Some(zone) = self.zones.get_mut(present.octets()) else { return false };
        let mut parity = 0_u32;
        let mut every_other = || {
            parity += 1;
            parity.is_multiple_of(2)
        };
        let before = zone.octets;
        zone.nsec.retain(|_, _| every_other());
        zone.nsec3.retain(|_, _| every_other());
        zone.count();
        self.octets = self.octets + zone.octets - before;
        zone.octets < before
    }
}

impl Zone {
    /// Those with another salt go: a zone has one set of them, but for a moment (RFC 5155 8.2).
    fn put_nsec3(&mut self, salt: &[u8], owner: Hash, span: Span) -> Option<Span> {
        if *self.salt != *salt {
            self.nsec3.clear();
            self.count();
            self.salt = salt.into();
        }
        self.nsec3.insert(owner, span)
    }

    fn count(&mut self) {
        let owner = |span: &Span| span.rrset().map_or(0, |set| set.owner.octets().len());
        let spans = self.soa.iter().chain(self.nsec.values()).chain(self.nsec3.values());
        self.octets = ZONE_OCTETS + spans.map(|span| owner(span) + span.octets()).sum::<usize>();
    }

    fn collect(&self, zone: &Name, name: &Name, now: Moment, out: &mut RrsetListBuf) -> Option<()> {
        self.soa.as_ref()?.copy_to(out, now)?;
        self.collect_nsec(zone, name, now, out).or_else(|| self.collect_nsec3(zone, name, now, out))
    }

    fn collect_nsec(&self, zone: &Name, name: &Name, now: Moment, out: &mut RrsetListBuf) -> Option<()> {
        let key = SortKey::of(name);
        let (owner, span) = self.nsec_at_or_before(key.octets())?;
        if *owner == *key.octets() {
            return span.copy_to(out, now);
        }
        let next = nsec_covers(zone, owner, span, key.octets())?;
        // What is below a delegation or a DNAME is not for this zone to deny (RFC 6840 4.1).
        let nsec = Nsec::parse(span.rdata()?)?;
        let is_elsewhere = nsec.types.contains(rtype::DNAME)
            || nsec.types.contains(rtype::NS) && !nsec.types.contains(rtype::SOA);
        if key.octets().starts_with(owner) && is_elsewhere {
            return None;
        }
        span.copy_to(out, now)?;
        if next.octets().starts_with(key.octets()) {
            // An empty non-terminal: names below it exist.
            return Some(());
        }
        // Its closest encloser is the deepest name that it has in common with one of those that exist.
        let encloser = (0..key.label_count()).rev().find(|labels| {
            let ancestor = key.ancestor(*labels);
            owner.starts_with(ancestor) || next.octets().starts_with(ancestor)
        })?;
        let above = (encloser..key.label_count()).try_fold(name, |name, _| name.parent())?;
        let wildcard = SortKey::of(&wildcard_of(above)?);
        let (second, at) = self.nsec_at_or_before(wildcard.octets())?;
        if *second != *wildcard.octets() {
            nsec_covers(zone, second, at, wildcard.octets())?;
        }
        if second != owner { at.copy_to(out, now) } else { Some(()) }
    }

    fn cover(&self, zone: &Name, name: &Name, now: Moment, out: &mut RrsetListBuf) -> Option<()> {
        let key = SortKey::of(name);
        if let Some((owner, span)) = self.nsec_at_or_before(key.octets())
            && nsec_covers(zone, owner, span, key.octets()).is_some()
        {
            return span.copy_to(out, now);
        }
        let params = Nsec3Params::new(0, &self.salt).ok().filter(|_| !self.nsec3.is_empty())?;
        self.nsec3_covering(&params.hash(name))?.copy_to(out, now)
    }

    fn nsec_at_or_before(&self, key: &[u8]) -> Option<(&[u8], &Span)> {
        let (owner, span) =
            self.nsec.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        Some((owner, span))
    }

    fn collect_nsec3(&self, zone: &Name, name: &Name, now: Moment, out: &mut RrsetListBuf) -> Option<()> {
        let params = Nsec3Params::new(0, &self.salt).ok().filter(|_| !self.nsec3.is_empty())?;
        let mut closer = None;
        let mut ancestor = name;
        for _ in 0..HASHES_MAX {
            let hash = params.hash(ancestor);
            if let Some(span) = self.nsec3.get(&hash) {
                span.copy_to(out, now)?;
                let Some(closer) = closer else { return Some(()) };
                self.nsec3_covering(&closer)?.copy_to(out, now)?;
                let wildcard = wildcard_of(ancestor)?;
                let hash = params.hash(&wildcard);
                return self.nsec3.get(&hash).or_else(|| self.nsec3_covering(&hash))?.copy_to(out, now);
            }
            if ancestor.octets().len() <= zone.octets().len() {
                return None;
            }
            closer = Some(hash);
            ancestor = ancestor.parent()?;
        }
        None
    }

    fn nsec3_covering(&self, hash: &Hash) -> Option<&Span> {
        // Before the first lies what the last covers.
        let (owner, span) = self.nsec3.range(..=*hash).next_back().or_else(|| self.nsec3.last_key_value())?;
        let nsec3 = Nsec3::parse(span.rdata()?).ok()?;
        nsec3::covers(owner, nsec3.next, hash).then_some(span)
    }
}

/// The key of the next owner, if the span covers `key`.
fn nsec_covers(zone: &Name, owner: &[u8], span: &Span, key: &[u8]) -> Option<SortKey> {
    let nsec = Nsec::parse(span.rdata()?)?;
    let next = SortKey::of(nsec.next);
    let is_within = nsec.next.is_at_or_below(zone);
    (is_within && dnssec::nsec::covers(owner, next.octets(), key)).then_some(next)
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

/// `*` below a name; `None`: that is too long.
fn wildcard_of(name: &Name) -> Option<NameBuf> {
    let octets = [b"\x01*", name.octets()].concat();
    Name::from_wire(&octets).ok().map(Name::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
