//! Packs that the log is to name and that are in memory yet: stored on a thread of their own, while what would change their zones waits.
//!
//! ```text
//! change of a zone, not based --> contents are small: into the log
//!                             `-> pack has no file --> thread: written, synced    the change comes again until it has, and is refused where it cannot
//! ```

use std::collections::HashSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use journal::Entry;
use wire::{Name, NameBuf};

use super::changer::{Changer, wall};
use super::checkpoint::{self, NoBase};
use super::group::Payload;
use super::log::Log;
use super::origin::Sums;

/// How long a pack that could not be stored is not tried again.
const REST: Duration = Duration::from_secs(10);
/// How long a change waits before it is looked whether the pack of its zone is stored.
pub(super) const STORE_PAUSE: Duration = Duration::from_millis(2);

/// The pack that is being stored, and the last that could not be.
#[derive(Default)]
pub(super) struct Storing {
    under_way: Option<(u64, JoinHandle<bool>)>,
    failed: Option<(u64, Instant)>,
    /// Zones whose changes wait.
    zones: HashSet<NameBuf>,
}

impl Storing {
    /// Whether changes of a zone are to wait on, as a pack is being stored.
    pub(super) fn is_awaited_by(&self, zone: &Name) -> bool {
        self.zones.contains(zone) && self.under_way.as_ref().is_some_and(|(_, thread)| !thread.is_finished())
    }
}

/// Why the log does not say what a zone's changes begin from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotBased {
    /// Its pack is being stored.
    Later,
    /// It cannot.
    NotNow,
}

impl Changer {
    /// Has the log say what changes of a zone begin from, if it does not yet.
    pub(super) fn write_base(&mut self, name: &Name) -> Result<(), NotBased> {
        let Some(zone) = self.zones.get(name) else { return Err(NotBased::NotNow) };
        if zone.is_based {
            return Ok(());
        }
        match checkpoint::entries(&self.controller, zone, &self.renewal.rules, wall()) {
            Ok(entries) => self.enqueue_base(name, entries),
            Err(NoBase::TooMuch) => {
                self.renewal.ask([name.to_owned()]);
                Err(NotBased::NotNow)
            }
            Err(NoBase::NotStored) => self.store_pack(name),
        }
    }

    fn enqueue_base(&mut self, name: &Name, entries: Vec<Entry>) -> Result<(), NotBased> {
        let Log::Open(open) = &self.log else { return Err(NotBased::NotNow) };
        let mut sums = Sums::default();
        for entry in entries {
            let (generation, anew) = (open.committer.generation(), sums.anew(&entry));
            let queued = open.committer.enqueue(generation, Some(Arc::new(entry)), Payload::Base(anew));
            queued.map(drop).map_err(|_| NotBased::NotNow)?;
        }
        if let Some(zone) = self.zones.get_mut(name) {
            zone.is_based = true;
            zone.begins_anew();
        }
        Ok(())
    }

    /// Has the pack of a zone be stored, one at a time; says what becomes of who waits for it.
    fn store_pack(&mut self, name: &Name) -> Result<(), NotBased> {
        let Some(pack) = self.zones.get(name).map(|zone| Arc::clone(zone.pack())) else {
            return Err(NotBased::NotNow);
        };
        let storing = &mut self.storing;
        if let Some((_, thread)) = &storing.under_way
            && !thread.is_finished()
        {
            storing.zones.insert(name.to_owned());
            return Err(NotBased::Later);
        }
        storing.zones.clear();
        if let Some((id, thread)) = storing.under_way.take()
            && !thread.join().unwrap_or(false)
        {
            storing.failed = Some((id, Instant::now()));
        }
        if storing.failed.is_some_and(|(id, at)| id == pack.id() && at.elapsed() < REST) {
            return Err(NotBased::NotNow);
        }
        let (id, controller) = (pack.id(), Arc::clone(&self.controller));
        let thread = std::thread::Builder::new().name("store".into()).spawn(move || {
            let is_stored = controller.store_base(&pack);
            controller.dynamic.queue.wake();
            is_stored
        });
        match thread {
            Ok(thread) => {
                storing.under_way = Some((id, thread));
                storing.zones.insert(name.to_owned());
                Err(NotBased::Later)
            }
            Err(_) => Err(NotBased::NotNow),
        }
    }
}
