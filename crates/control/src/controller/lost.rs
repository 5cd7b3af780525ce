//! Packs whose files are cut off, or cannot be read any more, while they are served: their zones get SERVFAIL, and their texts are read again.
//!
//! ```text
//! SIGBUS, or a shorter file    mappings     the pack is all zeros; workers see its zones as lost
//! here                        pack named in the log; names from lists, as zeros have none: slots found by them show absent zones
//!                             texts read, as of any zone without data; those that fail are tried again for some minutes
//! ```

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::{Name, NameBuf};
use zone::CatalogReader;
use zone::catalog::{Absence, SlotNumber, View, ViewSource};
use zone::pack::Mapping;

use super::arrange::Candidate;
use super::change::{Change, Scope};
use super::said::By;
use super::zones::{Rare, Zones};
use super::{Changing, Controller};
use crate::mappings;
use crate::packs::{Stored, StoredPack};
use crate::progress::Progress;
use crate::reload::summary;
use crate::serve::all_wanted;
use crate::text::count;

/// How often the lengths of packs are looked at: some microseconds each time, for what no signal says.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// Packs that are looked at each time; the others have their turn after.
const LOOKS_MAX: usize = 256;
/// Zones that are found within one batch of the catalog and one hold of the lock.
const ZONES_A_BATCH: usize = 1000;
/// The first pause before zones that could not be read again are tried once more, which doubles each time: a pack that somebody copies over the one that is
/// served is whole after seconds.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Attempts: two minutes.
const RETRIES_MAX: u32 = 7;

/// Zones that could not be read again.
#[derive(Default)]
struct Retries {
    names: Vec<NameBuf>,
    next: Option<Instant>,
    made: u32,
}

/// Looks after mapped packs on a thread of its own, as long as there is a server.
pub(crate) fn watch(controller: &Arc<Controller>) -> std::io::Result<()> {
    let event = mappings::event()?;
    let controller: Weak<Controller> = Arc::downgrade(controller);
    let watch = move || {
        let (mut retries, mut looked_at) = (Retries::default(), 0);
        loop {
            let pause = Timespec::try_from(LOOK_PAUSE).ok();
            let _ = poll(&mut [PollFd::new(event, PollFlags::IN)], pause.as_ref());
            let _ = rustix::io::read(event, &mut [0; 8]);
            let Some(controller) = controller.upgrade() else { return };
            controller.look_at_lengths(&mut looked_at);
            controller.mend(&mut retries);
        }
    };
    std::thread::Builder::new().name("packs".into()).spawn(watch).map(drop)
}

impl Controller {
    /// Has packs be damaged whose files are shorter now, some at a time.
    fn look_at_lengths(&self, looked_at: &mut usize) {
        let some: Vec<Arc<StoredPack>> = {
            let zones = self.zones.read();
            let mapped = || zones.packs.iter().filter(|held| held.pack.pack.is_mapped());
            if mapped().nth(*looked_at).is_none() {
                *looked_at = 0;
            }
            mapped().skip(*looked_at).take(LOOKS_MAX).map(|held| Arc::clone(&held.pack)).collect()
        };
        *looked_at += some.len();
        some.iter().filter_map(|pack| pack.pack.mapping()).for_each(Mapping::look);
    }

    /// Sees to the zones of damaged packs, if there are any that it has not been seen to.
    fn mend(self: &Arc<Self>, retries: &mut Retries) {
        if self.zones.read().packs.damaged().next().is_some() {
            let mut changing = self.change();
            let damaged = self.zones.write().packs.take_damaged();
            damaged.iter().for_each(|(pack, live)| say(pack, *live));
            let progress = Progress::default();
            let change = progress.show_while(|| self.read_lost(&mut changing, &progress));
            tracing::info!("zones of damaged packs: {}", summary(&change));
            *retries = Retries { names: change.failed, next: Some(Instant::now() + RETRY_PAUSE), made: 0 };
        } else if retries.next.is_none_or(|next| Instant::now() < next) {
            return;
        } else {
            let mut changing = self.change();
            retries.names.retain(|name| {
                let is_left = self.has_zone(name) && !self.has_data(name);
                is_left && {
                    let change = self.look_again(&mut changing, &[&**name], Scope::All, By::Damage);
                    !change.failed.is_empty()
                }
            });
            retries.made += 1;
            let is_last = retries.names.is_empty() || retries.made >= RETRIES_MAX;
            let pause = RETRY_PAUSE * 2_u32.pow(retries.made);
            retries.next = (!is_last).then(|| Instant::now() + pause);
        }
        self.tidy();
    }

    /// Reads the zones again that were lost. `changing`: proof that nobody else makes a change.
    fn read_lost(&self, changing: &mut Changing, progress: &Progress) -> Change {
        let mut change = Change::new(By::Damage);
        let settings = &changing.settings;
        let wanted = match self.effort().run(|| all_wanted(settings, &self.overrides, progress)) {
            Ok(mut wanted) => {
                // Of a copy: nobody has asked for new settings.
                changing.commanded.clone().apply(&mut wanted);
                self.add_names_of_made(&mut wanted);
                wanted
            }
            Err(faults) => {
                faults.say();
                tracing::error!("zones of damaged packs wait for a reload");
                return change;
            }
        };
        let mut candidates = Vec::new();
        let mut reader = self.catalog.reader();
        for first in (0..wanted.len()).step_by(ZONES_A_BATCH) {
            self.make_room();
            let mut zones = self.zones.write();
            let numbers = first..wanted.len().min(first + ZONES_A_BATCH);
            let lost: Vec<(&Name, SlotNumber)> = reader.with(|view| {
                let named = |number| {
                    let name = wanted.zone(number).0;
                    let slot = zones.slot(view, name)?;
                    matches!(view.view_of(slot), Some(View::Lost(_))).then_some((name, slot))
                };
                numbers.filter_map(named).collect()
            });
            lost.iter().for_each(|(name, slot)| self.empty_lost(&mut zones, &mut reader, name, *slot));
            candidates.extend(lost.iter().map(|(_, slot)| Candidate::of_slot(*slot)));
        }
        if wanted.unread.is_empty() {
            let mut unwanted = Vec::new();
            self.for_each_slot(|slot, view| {
                if matches!(view, View::Lost(_)) {
                    unwanted.push(slot);
                }
            });
            change.removed = unwanted.len();
            self.remove_slots(&unwanted, &mut change.said);
        }
        let jobs = self.look(&candidates, Scope::All, progress);
        self.load(&jobs, &Stored::default(), progress, &mut change, true);
        change.said.end();
        change
    }

    /// Has the slot of a zone that was lost show that there are no data, under its name. Does nothing with other slots.
    pub(super) fn empty_lost(
        &self,
        zones: &mut Zones,
        reader: &mut CatalogReader,
        name: &Name,
        slot: SlotNumber,
    ) {
        let view = reader.with(|view| match view.view_of(slot) {
            Some(View::Lost(pack)) => Some(pack),
            _ => None,
        });
        let Some(pack) = view else { return };
        self.catalog.insert(&[(name, ViewSource::Absent(Absence::NotLoaded))]);
        zones.packs.subtract(pack);
        zones.loaded -= 1;
        let line = "its pack was cut off or cannot be read any more, and its text was not read again yet";
        zones.set_rare(
            slot,
            Some(Rare { problem: Some([line.to_owned()].into()), is_absent: true, ..Rare::default() }),
        );
    }
}

fn say(pack: &StoredPack, live: u32) {
    let path = pack.pack.mapping().map(|mapping| mapping.path().display().to_string());
    let (path, zones) = (path.unwrap_or_default(), count(live as usize, "zone"));
    tracing::error!(
        source = path,
        "pack {path}: was cut off or cannot be read any more; {zones} of it get SERVFAIL until their texts were read again"
    );
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::controller::Overrides;
    use crate::controller::held::Kind;
    use crate::controller::said::Said;
    use crate::packs::PackFolder;
    use crate::settings::Settings;
    use wire::SortKey;
    use wire::iana::rtype;
    use zone::catalog::View;
    use zone::contents::SourcePosition;
    use zone::{ContentsBuilder, Pack, PackBuilder, TextStamp};

    fn name(number: usize) -> NameBuf {
        format!("z{number}.example").parse().unwrap()
    }

    /// A controller that serves packs of three zones each from files, and an absent zone above them; and the files' folder.
    fn serving(packs: usize) -> (Controller, tempfile::TempDir, Vec<Arc<StoredPack>>) {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.server.pack_directory = folder.path().to_owned();
        let controller = Controller::new(settings, Overrides::default()).unwrap();
        let above: NameBuf = "example".parse().unwrap();
        controller.catalog.insert(&[(&*above, ViewSource::Absent(Absence::NotLoaded))]);
        let made = (0..packs).map(|pack| {
            let mut builder = PackBuilder::new(7);
            for apex in (3 * pack..3 * pack + 3).map(name) {
                let mut contents = ContentsBuilder::new(&apex);
                contents.push(&apex, false, rtype::SOA, 9, &[0; 22], SourcePosition::default()).unwrap();
                builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
            }
            let built = Pack::open(builder.finish().unwrap()).unwrap();
            let stored =
                controller.folder.as_ref().map(|folder| PackFolder::store(folder, &built)).unwrap().unwrap();
            let mut zones = controller.zones.write();
            let number = zones.packs.hold(&controller.catalog, &stored, Kind::Waiting(Instant::now()));
            for zone in 0..3 {
                let apex = name(3 * pack + zone);
                controller.catalog.insert(&[(&*apex, ViewSource::Pack(number, zone as u32))]);
                zones.packs.add(stored.pack.id());
                zones.loaded += 1;
                zones.shown += 1;
            }
            stored
        });
        let made = made.collect();
        (controller, folder, made)
    }

    fn cut_off(pack: &StoredPack) {
        std::fs::File::options().write(true).open(pack.file.as_ref().unwrap()).unwrap().set_len(0).unwrap();
    }

    /// What is found for a name below a zone: labels of the apex, and whether there are data.
    fn found(controller: &Controller, number: usize) -> (u8, bool) {
        let below: NameBuf = format!("www.{}", name(number)).parse().unwrap();
        controller.catalog.reader().with(|view| {
            let hit = view.find(&SortKey::of(&below), 127);
            assert!(hit.zone().is_some() || hit.absence().is_some());
            (hit.found.labels, hit.zone().is_some())
        })
    }

    #[test]
    fn lost_zones_are_found_emptied_and_removed() {
        let (controller, _folder, packs) = serving(2);
        cut_off(&packs[0]);
        // Not the zone above.
        assert_eq!(
            [0, 1, 2, 3].map(|at| found(&controller, at)),
            [(2, false), (2, false), (2, false), (2, true)]
        );
        assert_eq!(controller.zones.read().packs.damaged().count(), 1);
        let slot = |number: usize| {
            controller
                .catalog
                .reader()
                .with(|view| controller.zones.read().slot(view, &name(number)))
                .unwrap()
        };
        let view = |slot| {
            controller.catalog.reader().with(|view| match view.view_of(slot) {
                Some(View::Lost(pack)) => format!("lost {}", pack == packs[0].pack.id()),
                Some(View::Absent(_)) => format!("absent {}", view.name_of(slot).unwrap()),
                Some(View::Zone(_)) => "zone".into(),
                None => "none".into(),
            })
        };
        let [first, second, third] = [slot(0), slot(1), slot(2)];
        assert_eq!(view(first), "lost true");
        let mut reader = controller.catalog.reader();
        for _ in 0..2 {
            controller.empty_lost(&mut controller.zones.write(), &mut reader, &name(0), first);
        }
        assert_eq!(
            (slot(0), view(first), controller.zones.read().loaded()),
            (first, "absent z0.example.".into(), 5)
        );
        // Zones come meanwhile, so many that the table grows; what is lost is found all the same.
        let names: Vec<NameBuf> = (100..3000).map(name).collect();
        let absent = ViewSource::Absent(Absence::NotLoaded);
        controller.catalog.insert(&names.iter().map(|name| (&**name, absent)).collect::<Vec<_>>());
        assert_eq!((slot(1), slot(2), found(&controller, 1)), (second, third, (2, false)));
        let count = controller.catalog.zone_count();
        controller.remove_slots(&[second, third], &mut Said::new(By::Damage));
        assert_eq!((view(second), controller.catalog.zone_count()), ("none".into(), count - 2));
        assert_eq!(found(&controller, 2), (1, false), "the zone above again");
        let zones = controller.zones.read();
        assert!((zones.loaded(), zones.packs.get(packs[0].pack.id()).is_none()) == (3, true));
    }

    #[test]
    fn no_pack_is_made_of_what_was_lost() {
        let (controller, folder, packs) = serving(3);
        let at = Instant::now() + Duration::from_secs(60);
        assert_eq!(controller.zones.read().packs.to_merge(at, true).len(), 3);
        cut_off(&packs[1]);
        // Known already, or found while copying.
        assert_eq!(found(&controller, 4), (2, false));
        controller.merge(at);
        assert_eq!([0, 4, 8].map(|at| found(&controller, at)), [(2, true), (2, false), (2, true)]);
        let files = std::fs::read_dir(folder.path()).unwrap().flatten();
        for file in files.filter(|file| file.file_name().to_string_lossy().ends_with(".zpack")) {
            let stored = crate::system::map_pack(&file.path());
            let is_cut_off = Some(file.path()) == packs[1].file;
            assert_eq!(stored.map(|(pack, _)| pack.zone_count()).ok(), (!is_cut_off).then_some(6));
        }
    }
}
