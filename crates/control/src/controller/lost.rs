//! Packs whose files are cut off, or cannot be read any more, while they are served: their zones get SERVFAIL, and their texts are read again.
//!
//! ```text
//! SIGBUS, or another length   mappings     the pack is all zeros; workers see its zones as lost
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
    /// Has packs be damaged whose files have another length now, some at a time.
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
        zones.set_rare(slot, Some(Rare { problem: Some([line.to_owned()].into()), ..Rare::default() }));
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
