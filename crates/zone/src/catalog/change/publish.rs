//! What a slot shows from now on, and whose kept answers are right no longer by it.

use super::add::tag_of;
use super::{Changed, State, ViewSource, Writer};
use crate::catalog::growth::label_count;
use crate::catalog::partition::{Owners, PartSet, block_of, word_of};
use crate::catalog::slots::{Slot, SlotNumber};
use crate::catalog::{Inner, Parts, View, next_version};
use std::sync::Arc;
use sync::epoch::Held;
use wire::Name;

impl Inner {
    /// Publishes that parts of a slot's zone are others, or all of it where it has no versions of parts.
    pub(super) fn raise(&self, slot: &Slot, parts: PartSet) {
        match block_of(slot.version()) {
            Some(block) => self.blocks.raise(block, parts, next_version()),
            None => slot.raise(next_version()),
        }
    }

    /// The same, which gives it versions of parts, if there are any left.
    fn raise_by_parts(&self, owners: &mut Owners, all: &Parts, number: SlotNumber, parts: PartSet) {
        let Some(slot) = all.slot(number) else { return };
        let is_new = block_of(slot.version()).is_none() && !parts.is_everything();
        let Some(taken) = is_new.then(|| owners.take(number, &self.blocks)).flatten() else {
            return self.raise(slot, parts);
        };
        // In this order: who follows the word that it had sees what is newer than both.
        if let Some(before) = taken.from.and_then(|before| all.slot(before)) {
            before.raise(next_version());
        }
        self.blocks.raise(taken.block, PartSet::SHARED, next_version());
        slot.raise(word_of(taken.block));
    }

    /// What readers take note of as the version of a slot.
    pub(super) fn state(&self, slot: &Slot) -> u64 {
        let word = slot.version();
        if block_of(word).is_some() { self.blocks.state(word) } else { word }
    }

    /// Has a slot show something else, in which `changed` is other than before; `None`: nothing is.
    pub(super) fn set_view(
        self: &Arc<Self>,
        writer: &mut Writer,
        number: SlotNumber,
        expected: Option<State>,
        source: ViewSource,
        changed: Option<PartSet>,
    ) -> Result<(), Changed> {
        self.set_named_view(writer, (number, None), expected, source, changed)
    }

    /// The same for a zone of which the caller knows name and key, where what it shows may not say them any more.
    pub(super) fn set_named_view(
        self: &Arc<Self>,
        writer: &mut Writer,
        (number, named): (SlotNumber, Option<(&Name, &[u8])>),
        expected: Option<State>,
        source: ViewSource,
        changed: Option<PartSet>,
    ) -> Result<(), Changed> {
        let parts = self.parts.current();
        let slot = parts.slot(number).ok_or(Changed)?;
        let now = State { word: slot.word(), version: self.state(slot) };
        if now.word == 0 || expected.is_some_and(|expected| expected != now) {
            return Err(Changed);
        }
        let Writer { reader, shown, .. } = writer;
        let held = self.read(reader, |view| {
            let own = || Some((view.name_of(number)?, view.key_of(number)?));
            let (name, key) = named.or_else(own)?;
            Some(shown.use_of(source, name, key))
        });
        let old = slot.set(held.ok_or(Changed)?, &self.domain);
        if let Some(changed) = changed {
            self.raise_by_parts(&mut writer.owners, &parts, number, changed);
            if block_of(slot.version()).is_some() {
                let serial = self.read(&mut writer.reader, |view| match view.view_of(number)? {
                    View::Zone(zone) => Some(zone.row().serial),
                    View::Absent(_) | View::Lost(_) => None,
                });
                self.blocks.set_serial(slot.version(), serial.unwrap_or_default());
            }
        }
        writer.shown.let_go(old, &parts, self);
        Ok(())
    }

    pub(super) fn remove(self: &Arc<Self>, writer: &mut Writer, number: SlotNumber) {
        let parts = self.parts.current();
        let Some(slot) = parts.slot(number).filter(|slot| slot.word() != 0) else { return };
        let key = self.read(&mut writer.reader, |view| view.key_of(number).map(Box::<[u8]>::from));
        // Of what was lost the table alone knows what it was; the counts stay as they are, which costs answers that are shared less and is never wrong.
        let cells = || parts.table.zones_in(0..parts.table.cell_count());
        let found = || cells().find(|(_, slot)| *slot == number.0).map(|(tag, _)| tag);
        let Some(tag) = key.as_ref().map(|key| tag_of(self.seed, key)).or_else(found) else { return };
        writer.growth.remove(&parts.table, self.seed, (key.as_deref(), tag), number.0);
        let old = slot.set(Held::Nothing, &self.domain);
        if let Some(block) = block_of(slot.version()) {
            writer.owners.let_go(block);
        }
        slot.raise(next_version());
        writer.shown.let_go(old, &parts, self);
        if let Some(key) = key {
            writer.depths.subtract(label_count(&key));
        }
        writer.zones -= 1;
        let free = Arc::clone(&writer.free);
        self.domain.retire(Box::new(move || free.lock().push(number)), 0);
    }
}
