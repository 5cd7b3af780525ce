//! Zones that come: room for them in the table and among slots, their slots, and what was found above them until then.

use super::{Locked, ViewSource, Writer};
use crate::catalog::groups::Group;
use crate::catalog::partition::PartSet;
use crate::catalog::slots::{CHUNK_SLOTS, NOWHERE_SLOTS, SlotNumber};
use crate::catalog::table::{Table, Tag};
use crate::catalog::view::nowhere;
use crate::catalog::{Inner, Parts, ZONES_MAX, for_each_ancestor, new_chunk, next_version, root_hash};
use crate::index::Hash;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::{Name, SortKey};

/// Zones that are added together: about as many misses of the memory caches as a core has in flight, times two.
const ADDED_TOGETHER: usize = 32;

/// Zones that are added before others who change something have their turn: 0.1 ms, and up to 4 ms while the table grows.
pub(super) const ADDED_AT_A_TIME: usize = 4 * ADDED_TOGETHER;

impl Inner {
    /// The same, with room for as many of the `coming` zones as are added at a time.
    pub(super) fn lock_with_room(&self, coming: usize) -> Locked<'_> {
        let at_a_time = coming.min(ADDED_AT_A_TIME);
        let mut next = None;
        loop {
            let mut writer = self.lock();
            assert!(writer.zones + coming <= ZONES_MAX, "more zones than slot numbers");
            let present = Arc::clone(&self.parts.current().table);
            if writer.growth.is_due(&present, coming) {
                let Some(table) = next.take() else {
                    // Without the lock, as the system has to find memory for it.
                    let zones = writer.zones + coming;
                    drop(writer);
                    next = Some(Table::with_room(zones));
                    continue;
                };
                writer.growth.begin(table);
            }
            let Writer { reader, growth, .. } = &mut *writer;
            self.read(reader, |view| {
                growth.go_on(&present, at_a_time, self.seed, |slot| view.key_of(SlotNumber(slot)));
            });
            let table = growth.finish(&present).unwrap_or(present);
            let has_room = growth.has_room(&table, at_a_time);
            self.make_room(&writer, table, at_a_time);
            if has_room {
                return writer;
            }
        }
    }

    /// Publishes the table, and a list of slots that is large enough for `more` zones.
    fn make_room(&self, writer: &Writer, table: Arc<Table>, more: usize) {
        let parts = self.parts.current();
        let unused = parts.slots.len() * CHUNK_SLOTS - writer.slots_used as usize;
        let wanted = more.saturating_sub(unused + writer.free.lock().len());
        let chunks = wanted.div_ceil(CHUNK_SLOTS);
        if chunks == 0 && Arc::ptr_eq(&table, &parts.table) {
            return;
        }
        let slots = parts.slots.iter().cloned().chain((0..chunks).map(|_| new_chunk())).collect();
        self.publish_parts(Parts { table, slots, ..Parts::clone(&parts) });
    }

    /// Adds zones, for which there is room, and their slots to `slots`.
    pub(super) fn add_some<N: Deref<Target = Name>>(
        self: &Arc<Self>,
        writer: &mut Writer,
        zones: &[(N, ViewSource)],
        slots: &mut Vec<SlotNumber>,
        group: &impl Fn(usize) -> Option<Group>,
    ) {
        let parts = self.parts.current();
        let mut added = Vec::new();
        let mut keys: [SortKey; ADDED_TOGETHER] = std::array::from_fn(|_| SortKey::new());
        let mut tags = [Tag::default(); ADDED_TOGETHER];
        for some in zones.chunks(ADDED_TOGETHER) {
            for ((key, tag), (apex, _)) in keys.iter_mut().zip(&mut tags).zip(some) {
                key.set(apex);
                *tag = tag_of(self.seed, key.octets());
            }
            parts.table.touch(&tags);
            for ((key, tag), (apex, source)) in keys.iter().zip(tags).zip(some) {
                let (slot, is_new) =
                    self.add(writer, &parts, apex, (key, tag), (*source, group(slots.len())));
                if is_new {
                    added.push(slot);
                }
                slots.push(slot);
            }
        }
        if !added.is_empty() {
            self.depths.publish(&writer.depths);
            self.additions.fetch_add(1, Ordering::Release);
            self.raise_enclosers(writer, &added);
        }
    }

    /// Adds a zone, for which there is room; says whether it is new. Nobody else's version is raised yet.
    fn add(
        self: &Arc<Self>,
        writer: &mut Writer,
        parts: &Parts,
        apex: &Name,
        (key, tag): (&SortKey, Tag),
        (source, group): (ViewSource, Option<Group>),
    ) -> (SlotNumber, bool) {
        let there = self.read(&mut writer.reader, |view| {
            view.probe(tag, key.octets(), key.label_count()).map(|hit| hit.found.version())
        });
        if let Some(version) = there {
            if let Some(group) = group {
                self.groups.set(version.slot, group);
            }
            // What was lost has no name of its own any more.
            let named = Some((apex, key.octets()));
            let set = self.set_named_view(writer, (version.slot, named), None, source, Some(PartSet::SHARED));
            set.expect("a zone that is there, and nothing is expected of it");
            return (version.slot, false);
        }
        let number = writer.free.lock().pop().unwrap_or_else(|| {
            writer.slots_used += 1;
            SlotNumber(writer.slots_used - 1)
        });
        let slot = parts.slot(number).expect("room was made");
        self.groups.set(number, group.unwrap_or_default());
        slot.set(writer.shown.use_of(source, apex, key.octets()), &self.domain);
        slot.raise(next_version());
        writer.growth.add(&parts.table, self.seed, (key.octets(), tag), number.0);
        writer.depths.add(key.label_count());
        writer.zones += 1;
        (number, true)
    }

    /// Raises the version of what names at and below these zones were found in before.
    fn raise_enclosers(&self, writer: &mut Writer, added: &[SlotNumber]) {
        let mut enclosers: HashMap<SlotNumber, PartSet> = HashMap::new();
        let mut raise = |slot, parts| *enclosers.entry(slot).or_default() |= parts;
        self.read(&mut writer.reader, |view| {
            let mut key = SortKey::new();
            for name in added.iter().filter_map(|slot| view.name_of(*slot)) {
                key.set(name);
                let labels = key.label_count();
                let above = if labels > 0 { Some(view.find(&key, labels - 1).found) } else { None };
                match above.filter(|above| !above.is_nothing()) {
                    Some(encloser) => {
                        let relative = &key.octets()[key.end(encloser.labels as usize)..];
                        raise(encloser.version().slot, PartSet::of_name(relative));
                    }
                    None if labels < 2 => {
                        (0..NOWHERE_SLOTS).for_each(|slot| raise(SlotNumber(slot), PartSet::NONE));
                    }
                    None => raise(nowhere(upper_hash(self.seed, &key)), PartSet::NONE),
                }
            }
        });
        let parts = self.parts.current();
        for (slot, changed) in enclosers {
            if let Some(slot) = parts.slot(slot) {
                self.raise(slot, changed);
            }
        }
    }
}

pub(super) fn tag_of(seed: u64, key: &[u8]) -> Tag {
    let mut last = None;
    for_each_ancestor(seed, key, |_, tag| last = Some(tag));
    last.expect("the root at least")
}

/// Hash of the two upper labels of a name that has as many.
fn upper_hash(seed: u64, key: &SortKey) -> Hash {
    let upper = root_hash(seed).extend(key.padded(), 0, key.end(1));
    upper.extend(key.padded(), key.end(1), key.end(2))
}
