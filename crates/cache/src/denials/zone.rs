//! What is known of one zone, and what of it may deny a name.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

use dnssec::nsec3::{self, Hash, Nsec3Params};
use wire::name::NameBuf;
use wire::rrset::RrsetListBuf;
use wire::{Name, SortKey};

use super::span::{Fact, Span};
use crate::Moment;

/// Octets that are counted for a zone beside its spans.
pub(super) const ZONE_OCTETS: usize = 512;
/// Hashes for one question: labels from its name up to the zone's apex. Real ones have up to five; more would let whoever asks choose how much is hashed.
const HASHES_MAX: usize = 12;
/// The sort key of `*` below a name is that of the name, and this.
const WILDCARD: [u8; 2] = *b"*\0";

#[derive(Default)]
pub(super) struct Zone {
    pub(super) soa: Option<Span>,
    pub(super) nsec: BTreeMap<Box<[u8]>, Span>,
    /// Of the NSEC3 records, which are all hashed once.
    pub(super) salt: Box<[u8]>,
    pub(super) nsec3: BTreeMap<Hash, Span>,
    /// When it was asked last, in milliseconds: readers note the second.
    pub(super) used: AtomicU64,
    pub(super) octets: usize,
}

impl Zone {
    /// Puts a span where it belongs: octets are counted.
    pub(super) fn put(&mut self, fact: Fact) {
        let replaced = match fact {
            Fact::Soa(span) => {
                self.octets += span.octets();
                self.soa.replace(span)
            }
            Fact::Nsec(key, span) => {
                self.octets += span.octets();
                self.nsec.insert(key, span)
            }
            Fact::Nsec3(salt, owner, span) => {
                // Those with another salt go: a zone has one set of them, but for a moment (RFC 5155 8.2).
                if self.salt != salt {
                    self.nsec3.clear();
                    self.count();
                    self.salt = salt;
                }
                self.octets += span.octets();
                self.nsec3.insert(owner, span)
            }
        };
        self.octets -= replaced.map_or(0, |replaced| replaced.octets());
    }

    /// Whether something is there that the fact would replace.
    pub(super) fn knows(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Soa(_) => self.soa.is_some(),
            Fact::Nsec(key, _) => self.nsec.contains_key(key),
            Fact::Nsec3(salt, owner, _) => {
                !self.nsec3.is_empty() && self.salt != *salt || self.nsec3.contains_key(owner)
            }
        }
    }

    pub(super) fn count(&mut self) {
        let spans = self.soa.iter().chain(self.nsec.values()).chain(self.nsec3.values());
        self.octets = ZONE_OCTETS + spans.map(Span::octets).sum::<usize>();
    }

    pub(super) fn note_use(&self, now: Moment) {
        if now.0 >= self.used.load(Ordering::Relaxed) + 1_000 {
            self.used.store(now.0, Ordering::Relaxed);
        }
    }

    pub(super) fn collect(
        &self,
        zone: &Name,
        name: &Name,
        now: Moment,
        out: &mut RrsetListBuf,
    ) -> Option<()> {
        self.soa.as_ref()?.copy_to(out, now)?;
        let by_name = if self.nsec.is_empty() { None } else { self.collect_nsec(name, now, out) };
        by_name.or_else(|| self.collect_nsec3(zone, name, now, out))
    }

    fn collect_nsec(&self, name: &Name, now: Moment, out: &mut RrsetListBuf) -> Option<()> {
        let key = SortKey::of(name);
        let (owner, span) = self.nsec_at_or_before(key.octets())?;
        if *owner == *key.octets() {
            return span.copy_to(out, now);
        }
        let next = covers(owner, span, key.octets())?;
        if span.is_elsewhere && key.octets().starts_with(owner) {
            return None;
        }
        span.copy_to(out, now)?;
        if next.starts_with(key.octets()) {
            // An empty non-terminal: names below it exist.
            return Some(());
        }
        // Its closest encloser is the deepest name that it has in common with one of those that exist.
        let mut ancestors = (0..key.label_count()).rev().map(|labels| key.ancestor(labels));
        let encloser =
            ancestors.find(|ancestor| owner.starts_with(ancestor) || next.starts_with(ancestor))?;
        let mut room = [0; wire::sort_key::KEY_OCTETS_MAX + WILDCARD.len()];
        let wildcard = wildcard_of(encloser, &mut room)?;
        // Often the same span covers it.
        if covers(owner, span, wildcard).is_some() {
            return Some(());
        }
        let (second, at) = self.nsec_at_or_before(wildcard)?;
        if *second != *wildcard {
            covers(second, at, wildcard)?;
        }
        if second != owner { at.copy_to(out, now) } else { Some(()) }
    }

    pub(super) fn cover(&self, name: &Name, now: Moment, out: &mut RrsetListBuf) -> Option<()> {
        if !self.nsec.is_empty() {
            let key = SortKey::of(name);
            if let Some((owner, span)) = self.nsec_at_or_before(key.octets())
                && covers(owner, span, key.octets()).is_some()
            {
                return span.copy_to(out, now);
            }
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
                let hash = params.hash(&wildcard_name(ancestor)?);
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
        let next = span.next.as_deref()?.first_chunk()?;
        nsec3::covers(owner, next, hash).then_some(span)
    }
}

/// The key of the next owner, if the span covers `key`.
fn covers<'s>(owner: &[u8], span: &'s Span, key: &[u8]) -> Option<&'s [u8]> {
    let next = span.next.as_deref()?;
    dnssec::nsec::covers(owner, next, key).then_some(next)
}

/// The key of `*` below a name.
fn wildcard_of<'r>(name: &[u8], room: &'r mut [u8]) -> Option<&'r [u8]> {
    let key = room.get_mut(..name.len() + WILDCARD.len())?;
    let (of_name, wildcard) = key.split_at_mut(name.len());
    of_name.copy_from_slice(name);
    wildcard.copy_from_slice(&WILDCARD);
    Some(key)
}

/// `*` below a name; `None`: that is too long.
fn wildcard_name(name: &Name) -> Option<NameBuf> {
    let octets = [b"\x01*", name.octets()].concat();
    Name::from_wire(&octets).ok().map(Name::to_owned)
}
