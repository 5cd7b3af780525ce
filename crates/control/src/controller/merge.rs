//! Packs kept few: those of single changes, and mostly dead ones, are joined by the octets of their zones. No text is read.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wire::NameBuf;
use zone::build::Problem;
use zone::catalog::{SlotNumber, State, View, ViewSource};
use zone::{Pack, PackBuilder};

use super::Controller;
use super::held::{Kind, WAITING_TIME_MAX};
use crate::load::{SEEDS_MAX, SHARED_PACK_OCTETS, store};
use crate::packs::{PackFolder, StoredPack};
use crate::system::{random, trim_memory};

/// Zones that are looked at within one batch of the catalog, and moved within one hold of the lock.
const ZONES_A_BATCH: usize = 1000;
/// Between two times that packs are put in order because one has waited long enough: what keeps its zones there, as they are about to change, may last.
const TIDY_PAUSE: Duration = Duration::from_millis(100);

impl Controller {
    /// Puts packs in order after changes; to be called once nobody waits for them any more. One thread does it
    /// at a time: others leave their work to it and return at once. What is to wait for more is done later, on a thread of its own.
    pub(crate) fn tidy(self: &Arc<Self>) {
        if self.is_held() {
            // What is untidy stays so until the folder is ours.
            return;
        }
        while self.is_untidy.load(Ordering::SeqCst) {
            let Some(_tidying) = self.tidying.try_write() else { return };
            while self.is_untidy.swap(false, Ordering::SeqCst) {
                self.store_again();
                self.merge(Instant::now());
                if self.store_gone() {
                    self.note_no_groups();
                }
                // What a change needs beside the zones is as large as they are where they are small and many.
                trim_memory();
            }
        }
        self.tidy_when_due();
    }

    /// Stores all that waits to be stored, and keeps packs as they are until the guard is dropped.
    pub(crate) fn store_and_rest(&self) -> impl Sized {
        let tidying = self.tidying.write();
        self.merge(Instant::now() + WAITING_TIME_MAX);
        self.store_gone();
        tidying
    }

    /// Has a thread tidy when the packs that wait have waited long enough, unless one does already.
    fn tidy_when_due(self: &Arc<Self>) {
        let due = match self.writable_folder() {
            Some(folder) => {
                let packs = &self.zones.read().packs;
                let again = packs.unstored().next().and_then(|_| folder.retry(WAITING_TIME_MAX));
                packs.due().into_iter().chain(again).min()
            }
            None => None,
        };
        let Some(due) = due else { return };
        if self.is_merge_due.swap(true, Ordering::SeqCst) {
            return;
        }
        let controller = Arc::clone(self);
        let tidy = move || {
            std::thread::sleep(due.saturating_duration_since(Instant::now()).max(TIDY_PAUSE));
            controller.is_merge_due.store(false, Ordering::SeqCst);
            controller.is_untidy.store(true, Ordering::SeqCst);
            controller.tidy();
        };
        // Without a thread the next change tidies.
        if std::thread::Builder::new().name("merge".into()).spawn(tidy).is_err() {
            self.is_merge_due.store(false, Ordering::SeqCst);
        }
    }

    /// Stores packs that could not be stored when they were made.
    fn store_again(&self) {
        let Some(folder) = self.writable_folder() else { return };
        let _making = self.make_packs();
        let packs: Vec<Arc<StoredPack>> = self.zones.read().packs.unstored().cloned().collect();
        for pack in packs {
            let Ok(stored) = self.effort().run(|| folder.store(&pack.pack)) else { return };
            let members = self.members(&pack);
            self.move_to((&stored, Kind::Kept), &members, |_, member| member.number);
        }
    }

    /// Joins the zones of packs that are to be merged in new ones. Zones that change meanwhile stay as they became. A pack that cannot be
    /// merged is said once, and left as it is; the others are merged without it.
    pub(super) fn merge(&self, at: Instant) {
        // Ends: each pack is left once.
        while let Err(packs) = self.merge_sound(at) {
            let mut zones = self.zones.write();
            for pack in packs.iter().filter_map(|id| zones.packs.leave(*id).cloned()) {
                let name =
                    pack.file.as_ref().map_or_else(|| "in memory".into(), |file| file.display().to_string());
                // What was lost is said by whoever sees to its zones.
                if !pack.pack.is_damaged() {
                    tracing::warn!(
                        source = name,
                        "pack {name}: damaged, not merged with others; its zones are served as before"
                    );
                }
            }
        }
    }

    /// As [`Controller::merge`]. The error is the packs that cannot be merged.
    fn merge_sound(&self, at: Instant) -> Result<(), Vec<u64>> {
        let folder = self.writable_folder();
        let _making = self.make_packs();
        let (stored, passing) = {
            let packs = &self.zones.read().packs;
            (packs.to_merge(at, folder.is_some()), packs.to_merge_in_memory())
        };
        self.merge_packs(&stored, folder, Kind::Kept)?;
        self.merge_packs(&passing, None, Kind::Passing)
    }

    /// Joins the zones of these packs.
    fn merge_packs(
        &self,
        packs: &[Arc<StoredPack>],
        folder: Option<&PackFolder>,
        kind: Kind,
    ) -> Result<(), Vec<u64>> {
        let mut members: Vec<Member> = packs.iter().flat_map(|pack| self.members(pack)).collect();
        if members.is_empty() {
            packs.iter().for_each(|pack| self.ask_for(pack));
            return Ok(());
        }
        let (count, zones) = (packs.len(), members.len());
        tracing::debug!(packs = count, zones, "merging {count} packs with {zones} zones");
        while !members.is_empty() {
            let copied = || copy(packs, &members).map(|(pack, count)| (store(folder, pack), count));
            let (pack, count) = self.effort().run(copied)?;
            let rest = members.split_off(count);
            self.move_to((&pack, kind), &members, |at, _| at);
            members = rest;
        }
        packs.iter().for_each(|pack| self.ask_for(pack));
        Ok(())
    }

    /// Asks the changer for the zones of a pack that has been merged but for those that change in place.
    fn ask_for(&self, pack: &Arc<StoredPack>) {
        let changed = self.changed_members(pack);
        if !changed.is_empty() {
            self.zones.write().packs.ask(pack.pack.id());
            self.ask_to_merge(changed);
        }
    }

    /// The zones that are over a pack and have changed in place since.
    fn changed_members(&self, pack: &Arc<StoredPack>) -> Vec<NameBuf> {
        let mut changed = Vec::new();
        let mut reader = self.catalog.reader();
        let count = pack.pack.zone_count();
        for first in (0..count).step_by(ZONES_A_BATCH) {
            reader.with(|view| {
                let numbers = first..count.min(first.saturating_add(ZONES_A_BATCH as u32));
                changed.extend(numbers.filter_map(|number| {
                    let (name, _) = pack.pack.apex(&pack.pack.zone_row(number))?;
                    let View::Zone(zone) = view.view_of(view.slot_named(name)?)? else { return None };
                    let is_here = zone.is_changed() && zone.pack_id() == pack.pack.id();
                    (is_here && zone.number() == number).then(|| name.to_lowercase())
                }));
            });
        }
        changed
    }

    /// The zones that are served from a pack.
    fn members(&self, pack: &Arc<StoredPack>) -> Vec<Member> {
        let mut members = Vec::new();
        let mut reader = self.catalog.reader();
        let count = pack.pack.zone_count();
        let claimed = self.zones.read().claimed.clone();
        for first in (0..count).step_by(ZONES_A_BATCH) {
            reader.with(|view| {
                for number in first..count.min(first.saturating_add(ZONES_A_BATCH as u32)) {
                    let row = pack.pack.zone_row(number);
                    let Some((name, _)) = pack.pack.apex(&row) else { continue };
                    let Some(slot) = view.slot_named(name) else { continue };
                    // The state first: if the zone is then of this pack, any later change is one of the state.
                    let Some(state) = self.catalog.state_of(slot) else { continue };
                    if let Some(View::Zone(zone)) = view.view_of(slot)
                        // One that changes in place stays where its changes are.
                        && !zone.is_changed()
                        && !claimed.contains(&slot)
                        && zone.pack_id() == pack.pack.id()
                        && zone.row().first_block == row.first_block
                    {
                        members.push(Member { slot, state, pack: pack.pack.id(), number });
                    }
                }
            });
        }
        members
    }

    /// Has zones be served from the pack that they were copied to. `number`: the number there of each, of which it is told how many
    /// were before it.
    fn move_to(
        &self,
        (pack, kind): (&Arc<StoredPack>, Kind),
        members: &[Member],
        number: impl Fn(u32, &Member) -> u32,
    ) {
        let id = pack.pack.id();
        let mut at = 0;
        for batch in members.chunks(ZONES_A_BATCH) {
            let mut zones = self.zones.write();
            let to = zones.packs.hold(&self.catalog, pack, kind);
            for member in batch {
                // One that is about to change stays, as one that has.
                if zones.claimed.contains(&member.slot) {
                    at += 1;
                    continue;
                }
                let source = ViewSource::Pack(to, number(at, member));
                at += 1;
                if self.catalog.move_view(member.slot, Some(member.state), source).is_ok() {
                    zones.packs.replace(member.pack, id);
                }
            }
            drop(zones);
            self.make_room();
        }
        self.zones.write().packs.drop_unused();
        self.remove_unused_files();
    }
}

/// A zone that is to be served from another pack.
struct Member {
    slot: SlotNumber,
    state: State,
    /// The pack that it is in, and its number there.
    pack: u64,
    number: u32,
}

/// Copies zones into one pack, as many as it may hold; returns how many these are. The error is the pack that is damaged, or all where
/// no seed fits.
fn copy(packs: &[Arc<StoredPack>], members: &[Member]) -> Result<(Pack, usize), Vec<u64>> {
    let pack_of = |member: &Member| packs.iter().find(|pack| pack.pack.id() == member.pack);
    for _ in 0..SEEDS_MAX {
        let mut builder = PackBuilder::new(random());
        let mut last: Option<&Arc<StoredPack>> = None;
        for member in members {
            if last.is_none_or(|pack| pack.pack.id() != member.pack) {
                last = pack_of(member);
            }
            let damaged = || vec![member.pack];
            match builder.copy_zone(&last.ok_or_else(damaged)?.pack, member.number) {
                Ok(()) => {}
                Err(Problem::PackFull) if builder.zone_count() > 0 => break,
                Err(_) => return Err(damaged()),
            }
            if builder.octets() as u64 > SHARED_PACK_OCTETS {
                break;
            }
        }
        let count = builder.zone_count() as usize;
        let built = builder.finish();
        // Zeros that took the place of octets while they were copied are in no new pack.
        let is_lost = |pack: &&Arc<StoredPack>| pack.pack.is_damaged();
        let lost: Vec<u64> = packs.iter().filter(is_lost).map(|pack| pack.pack.id()).collect();
        if !lost.is_empty() {
            return Err(lost);
        }
        if let Ok(backing) = built {
            return Ok((Pack::open(backing).expect("a pack that was just built opens"), count));
        }
    }
    Err(packs.iter().map(|pack| pack.pack.id()).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::controller::Overrides;
    use crate::load::ALONE_TEXT_OCTETS;
    use crate::settings::Settings;
    use wire::NameBuf;
    use wire::iana::rtype;
    use zone::contents::SourcePosition;
    use zone::section::{Section, checksum, decode_header, encode_header};
    use zone::{Backing, ContentsBuilder, TextStamp};

    /// A pack of three zones.
    fn pack(number: usize, is_damaged: bool) -> (Arc<StoredPack>, NameBuf) {
        let mut builder = PackBuilder::new(7);
        let names = [0, 1, 2].map(|zone| format!("z{zone}.p{number}.example").parse::<NameBuf>().unwrap());
        for apex in &names {
            let mut contents = ContentsBuilder::new(apex);
            contents.push(apex, false, rtype::SOA, 9, &[0; 22], SourcePosition::default()).unwrap();
            builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
        }
        let mut octets = Pack::open(builder.finish().unwrap()).unwrap().octets().to_vec();
        if is_damaged {
            let mut header = decode_header(&octets).unwrap();
            let (range, sum) = &mut header.sections[Section::ShapeOffsets as usize];
            octets[range.clone()].fill(0xff);
            *sum = checksum(&octets[range.clone()]);
            let header = encode_header(&header);
            octets[..header.len()].copy_from_slice(&header);
        }
        let [name, ..] = names;
        (StoredPack::elsewhere(Pack::open(Backing::Memory(octets)).unwrap()), name)
    }

    /// A pack that is damaged in a way that its checksums do not see keeps no others from being merged, and is tried once.
    #[test]
    fn a_damaged_pack_is_left() {
        let controller = Controller::new(Settings::default(), Overrides::default()).unwrap();
        let packs = [pack(0, false), pack(1, true), pack(2, false)];
        for (pack, name) in &packs {
            let mut zones = controller.zones.write();
            let number = zones.packs.hold(&controller.catalog, pack, Kind::Waiting(Instant::now()));
            controller.catalog.insert(&[(&**name, ViewSource::Pack(number, 0))]);
            zones.packs.add(pack.pack.id());
        }
        let to_merge = || controller.zones.read().packs.to_merge(Instant::now(), true).len();
        // One of three zones is served of each.
        assert_eq!(to_merge(), 3);
        let damaged = packs[1].0.pack.id();
        assert_eq!(controller.merge_sound(Instant::now()), Err(vec![damaged]));
        controller.merge(Instant::now());
        assert_eq!(to_merge(), 0);
        let zones = controller.zones.read();
        assert_eq!(zones.packs.iter().count(), 2);
        assert!(zones.packs.get(damaged).is_some_and(|held| held.live == 1));
        assert_eq!(zones.packs.due(), None, "nobody waits for what cannot be merged");
    }

    /// The log says of a zone that is about to change that it is in this pack: nobody moves it before that is published, and then the changer does.
    #[test]
    fn what_is_about_to_change_stays() {
        let controller = Arc::new(Controller::new(Settings::default(), Overrides::default()).unwrap());
        let packs = [pack(0, false), pack(1, false)];
        let mut slots = Vec::new();
        for (pack, name) in &packs {
            let mut zones = controller.zones.write();
            let number = zones.packs.hold(&controller.catalog, pack, Kind::Waiting(Instant::now()));
            slots.extend(controller.catalog.insert(&[(&**name, ViewSource::Pack(number, 0))]));
            zones.packs.add(pack.pack.id());
        }
        let ids = || {
            controller.catalog.reader().with(|view| {
                let id = |slot: &SlotNumber| match view.view_of(*slot) {
                    Some(View::Zone(zone)) => zone.pack_id(),
                    _ => panic!("no data"),
                };
                slots.iter().map(id).collect::<Vec<_>>()
            })
        };
        let before = ids();
        // It comes while the new pack is built.
        let members: Vec<Member> = packs.iter().flat_map(|(pack, _)| controller.members(pack)).collect();
        let (built, _) = copy(&packs.clone().map(|(pack, _)| pack), &members).unwrap();
        let claim = controller.claim(slots[0]);
        controller.move_to((&StoredPack::elsewhere(built), Kind::Kept), &members, |at, _| at);
        assert!(ids()[0] == before[0] && ids()[1] != before[1], "{before:?}, {:?}", ids());
        // Before that.
        controller.merge(Instant::now() + WAITING_TIME_MAX);
        assert_eq!(ids()[0], before[0]);
        drop(claim);
        controller.merge(Instant::now() + WAITING_TIME_MAX);
        assert_ne!(ids()[0], before[0]);
    }

    /// A zone whose text is large and whose pack is small is joined with others, once, and stays; one whose pack is large stays alone,
    /// however short its text is.
    #[test]
    fn large_is_what_makes_a_large_pack() {
        const TEXT: &str = "@ 9 SOA ns host 1 2 3 4 5\n@ 9 NS ns\nns 9 A 192.0.2.1\n";
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.server.pack_directory = folder.path().join("packs");
        let controller = Controller::new(settings, Overrides::default()).unwrap();
        let add = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            assert_eq!(crate::reload::add_zone(&controller, name.parse().unwrap(), &file, None).loaded, 1);
        };
        let blank = |octets: u64| "\n".repeat(octets as usize);
        add("blank.test", &format!("{TEXT}{}", blank(ALONE_TEXT_OCTETS)));
        add("few.test", TEXT);
        // A record takes more octets in a pack than these do in text.
        let records: String = (0..420_000).map(|number| format!("{number:x} 9 A 192.0.2.1\n")).collect();
        assert!((records.len() as u64) < ALONE_TEXT_OCTETS);
        add("records.test", &format!("{TEXT}{records}"));
        let packs = || {
            let zones = controller.zones.read();
            let mut packs: Vec<(u32, bool)> =
                zones.packs.iter().map(|held| (held.live, held.pack.file.is_some())).collect();
            packs.sort();
            packs
        };
        assert_eq!(packs(), [(1, false), (1, false), (1, true)]);
        let later = Instant::now() + WAITING_TIME_MAX;
        for _ in 0..2 {
            controller.merge(later);
            assert_eq!(packs(), [(1, true), (2, true)]);
            let zones = controller.zones.read();
            assert_eq!((zones.packs.due(), zones.packs.to_merge(later, true).len()), (None, 0));
        }
    }
}
