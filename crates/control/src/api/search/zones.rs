//! The zones that a search goes through, taken out of the catalog in short batches: whoever lets all others go before it may lose its processor in the midst of one, and what is replaced
//! meanwhile is kept until it goes on.

use std::collections::VecDeque;

use wire::iana::rtype;
use wire::sort_key::{KEY_OCTETS_MAX, name_of};
use wire::{Name, NameBuf};
use zone::catalog::{CatalogReader, CatalogView, FIRST_SLOT, SlotNumber, View};
use zone::{RRset, ZoneView};

/// Slots that are looked at in one batch: some 50 us, as their names are copied.
const SLOTS_A_BATCH: u32 = 1000;
/// RRsets and octets of RDATA that are taken in one, but for those of the last name, and names that are passed: some 50 us.
const SETS_A_BATCH: usize = 64;
const OCTETS_A_BATCH: usize = 64 << 10;
const NAMES_A_BATCH: usize = 256;

/// All zones that a slot shows, in the order of slots: one that is there all the time comes once, one that comes or goes meanwhile may or may not.
pub(super) struct Slots {
    from: SlotNumber,
    ready: VecDeque<(SlotNumber, NameBuf)>,
}

/// What comes next of them.
pub(super) enum Next {
    Zone(SlotNumber, NameBuf),
    /// It was looked for: once more.
    Later,
    /// Those were all.
    End,
}

impl Default for Slots {
    fn default() -> Slots {
        Slots { from: FIRST_SLOT, ready: VecDeque::new() }
    }
}

impl Slots {
    pub(super) fn next(&mut self, reader: &mut CatalogReader) -> Next {
        if let Some((slot, name)) = self.ready.pop_front() {
            return Next::Zone(slot, name);
        }
        let from = self.from;
        let found = reader.with(|view| {
            let slots = view.slots(from, SLOTS_A_BATCH)?;
            Some(slots.filter_map(|slot| Some((slot, view.name_of(slot)?.to_lowercase()))).collect())
        });
        let Some(found) = found else { return Next::End };
        (self.ready, self.from) = (found, SlotNumber(from.0.saturating_add(SLOTS_A_BATCH)));
        Next::Later
    }
}

/// An RRset as it was taken.
pub(super) struct Taken {
    pub(super) owner: NameBuf,
    pub(super) rtype: u16,
    pub(super) ttl: u32,
    pub(super) rdatas: Vec<Vec<u8>>,
}

/// A zone that is read from name to name. It may change meanwhile: what was not reached yet is then as it has become.
pub(super) struct Reading {
    slot: SlotNumber,
    zone: NameBuf,
    /// The name behind which it goes on, as a key below the apex.
    after: Option<Box<[u8]>>,
    has_more: bool,
}

impl Reading {
    pub(super) fn new(slot: SlotNumber, zone: NameBuf) -> Reading {
        Reading { slot, zone, after: None, has_more: true }
    }

    /// The zone.
    pub(super) fn zone(&self) -> &Name {
        &self.zone
    }

    /// Whether more of it is to be taken.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// The next RRsets, without those that prove others. A zone that has gone, or cannot be read, has none.
    pub(super) fn take(&mut self, reader: &mut CatalogReader) -> VecDeque<Taken> {
        let (sets, has_more) = reader.with(|view| self.take_from(view)).unwrap_or_default();
        self.has_more = has_more;
        sets
    }

    fn take_from(&mut self, view: &CatalogView<'_>) -> Option<(VecDeque<Taken>, bool)> {
        let zone = self.find(view)?;
        let (mut sets, mut octets, mut names) = (VecDeque::new(), 0, 0);
        let mut key = [0; KEY_OCTETS_MAX];
        let mut has_more = false;
        for node in zone.cursor(self.after.as_deref().unwrap_or_default()) {
            let length = node.copy_key(&mut key);
            let relative = &key[..length];
            // That was the last one of the batch before.
            if self.after.as_deref() == Some(relative) {
                continue;
            }
            if sets.len() >= SETS_A_BATCH || octets >= OCTETS_A_BATCH || names >= NAMES_A_BATCH {
                has_more = true;
                break;
            }
            names += 1;
            let owner = name_of(zone.apex_key(), relative).ok()?;
            for rrset in node.rrsets().filter(is_told) {
                let rdatas = rrset.rdata(&owner, zone.apex())?;
                octets += rdatas.iter().map(Vec::len).sum::<usize>();
                let (rtype, ttl) = (rrset.rtype(), rrset.ttl());
                sets.push_back(Taken { owner: owner.clone(), rtype, ttl, rdatas });
            }
            self.after = Some(relative.into());
        }
        // What was read of a pack that was written into meanwhile is nothing.
        self.find(view)?;
        Some((sets, has_more))
    }

    /// The zone, unless another one has its slot by now.
    fn find<'v>(&self, view: &CatalogView<'v>) -> Option<ZoneView<'v>> {
        match view.view_of(self.slot)? {
            View::Zone(zone) if *zone.apex() == *self.zone => Some(zone),
            _ => None,
        }
    }
}

/// Whether an RRset is data: signatures are with what they sign, and not told either.
fn is_told(rrset: &RRset<'_>) -> bool {
    !matches!(rrset.rtype(), rtype::RRSIG | rtype::NSEC | rtype::NSEC3)
}
