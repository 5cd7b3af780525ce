//! Validated NSEC and NSEC3 records by zone, to deny names that nobody has asked for yet (RFC 8198).
//!
//! ```text
//! zone --hash--> group (one of 16, each under a reader-writer lock) -> zone: SOA
//!                                                                      NSEC  by sort key of the owner     -> span: RRset, end, key of the next owner
//!                                                                      NSEC3 by hash, of one salt            -> span: RRset, end, next hash
//! name -> the span at or before it: matches, covers -> closest encloser -> the span at or before its wildcard
//! ```
//!
//! It finds what may prove something, and decides nothing: who asks runs the records through the validator's rules of denial. What goes in has been
//! validated as secure. Asked after a miss and before servers are; who finds a group's lock taken by a writer goes on as if nothing were known.
//!
//! `span`: one RRset; `zone`: those of a zone, and what is looked for among them; `group`: the zones under one lock, and what leaves; `walk`: all of them, in steps.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{RwLock, RwLockReadGuard};

use wire::Name;
use wire::rrset::{Rrset, RrsetListBuf};

use crate::Moment;
use crate::hash::Secret;
use crate::locks;

mod group;
mod span;
mod walk;
mod zone;

use group::Group;
use span::Fact;
pub(crate) use walk::Cursor;
use zone::Zone;

/// Zones are in so many groups: what is learned about one keeps readers of a sixteenth of the others away for a microsecond.
pub(crate) const GROUPS: usize = 16;

/// Spans of names that validated NSEC and NSEC3 records prove to be empty, in groups of zones, each under a lock.
pub struct Denials {
    secret: Secret,
    groups: [RwLock<Group>; GROUPS],
    /// What each group takes, as who has its lock left it: read without that.
    octets: [AtomicUsize; GROUPS],
    /// What one group may have.
    octets_max: AtomicUsize,
}

impl Denials {
    /// An empty store that will take so many octets at most.
    pub fn new(octets: usize, secret: Secret) -> Denials {
        let groups = std::array::from_fn(|_| RwLock::default());
        let none = [const { AtomicUsize::new(0) }; GROUPS];
        Denials { secret, groups, octets: none, octets_max: AtomicUsize::new(octets / GROUPS) }
    }

    /// Keeps an NSEC, NSEC3 or SOA RRset of `zone` (in lower case) that was validated as secure, with the TTL that it is to be kept with. `false`: it would never
    /// deny a name beside the one that it was made for, it was made from a wildcard, it is hashed more than once (RFC 9276 3.2), or it is no such set.
    pub fn put(&self, zone: &Name, set: &Rrset<'_>, now: Moment) -> bool {
        let Some(fact) = Fact::of(zone, set, now) else { return false };
        self.change(self.number(zone), |group| group.put(zone, fact, now, self.group_octets_max()));
        true
    }

    /// The same of what was dumped, unless something is known of the same owner, or of another salt: that is newer.
    pub(crate) fn restore(&self, zone: &Name, set: &Rrset<'_>, now: Moment) -> bool {
        let Some(fact) = Fact::of(zone, set, now) else { return false };
        self.change(self.number(zone), |group| {
            let is_known = group.zones.get(zone.octets()).is_some_and(|known| known.knows(&fact));
            if !is_known {
                group.put(zone, fact, now, self.group_octets_max());
            }
            !is_known
        })
    }

    /// Collects into `out` what may deny `name` or its types in `zone` (both in lower case): SOA, the NSEC or NSEC3 that match or cover it, its closest encloser and
    /// the wildcard there. `false`: not all that is needed is known.
    pub fn collect(&self, zone: &Name, name: &Name, now: Moment, out: &mut RrsetListBuf) -> bool {
        self.look(zone, name, out, |known, out| {
            known.collect(zone, name, now, out)?;
            known.note_use(now);
            Some(())
        })
    }

    /// Collects into `out` the NSEC or NSEC3 that covers `name` in `zone` (both in lower case): there is no such name, whatever a wildcard makes of it
    /// (RFC 8198 5.3). `false`: none is known.
    pub fn cover(&self, zone: &Name, name: &Name, now: Moment, out: &mut RrsetListBuf) -> bool {
        self.look(zone, name, out, |known, out| known.cover(name, now, out))
    }

    fn look(
        &self,
        zone: &Name,
        name: &Name,
        out: &mut RrsetListBuf,
        look: impl FnOnce(&Zone, &mut RrsetListBuf) -> Option<()>,
    ) -> bool {
        out.clear();
        let Ok(group) = self.groups[self.number(zone)].try_read() else { return false };
        let known = group.zones.get(zone.octets()).filter(|_| name.is_at_or_below(zone));
        known.and_then(|known| look(known, out)).is_some()
    }

    /// Forgets what could deny a name at or below `name`: of zones there, and of zones above.
    pub fn flush(&self, name: &Name) {
        for number in 0..GROUPS {
            self.change(number, |group| group.flush(name));
        }
    }

    /// Octets that it takes now, as counted. Waits for nobody.
    pub fn octets(&self) -> usize {
        self.octets.iter().map(|octets| octets.load(Ordering::Relaxed)).sum()
    }

    /// Will take so many octets at most. Fewer than there are: as [`Denials::trim`] has them leave.
    pub(crate) fn set_octets(&self, octets: usize) {
        self.octets_max.store(octets / GROUPS, Ordering::Relaxed);
    }

    /// Has some leave of a group that has more than it may, as it has fewer octets since. `false`: none has.
    pub(crate) fn trim(&self) -> bool {
        let most = self.group_octets_max();
        let over = (0..GROUPS).find(|number| self.octets[*number].load(Ordering::Relaxed) > most);
        over.is_some_and(|number| self.change(number, Group::forget_some))
    }

    fn group_octets_max(&self) -> usize {
        self.octets_max.load(Ordering::Relaxed)
    }

    fn number(&self, zone: &Name) -> usize {
        self.secret.hash(zone.octets()) as usize % GROUPS
    }

    fn read(&self, number: usize) -> RwLockReadGuard<'_, Group> {
        locks::read(&self.groups[number])
    }

    /// Does something to a group, and shows what it takes from then on.
    fn change<T>(&self, number: usize, change: impl FnOnce(&mut Group) -> T) -> T {
        let group = &mut *locks::write(&self.groups[number]);
        let changed = change(group);
        self.octets[number].store(group.octets, Ordering::Relaxed);
        changed
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
