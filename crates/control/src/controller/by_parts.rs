//! Which parts of a zone a reload changes, so that workers keep the answers that were made from others.

use std::sync::Arc;

use zone::ZoneView;
use zone::catalog::{PARTITIONED_MAX, PartSet, State, View};

use super::Controller;
use super::held::Kind;
use crate::effort::Effort;
use crate::load::{Job, Loaded};
use crate::packs::StoredPack;

/// Zones of a change that are compared with what they were. More than can have versions of parts gain nothing, and a first load of very
/// many must not wait for any of it.
pub(super) const COMPARED_MAX: usize = PARTITIONED_MAX;

/// What a zone that was loaded changes of the one that is served, and in which state that was compared.
pub(super) struct Compared {
    pub(super) state: State,
    pub(super) parts: PartSet,
}

impl Controller {
    /// Compares zones that were loaded with those that are served. `None`: all of a zone is another, or there was none.
    pub(super) fn compare(&self, batch: &[(&Job, Loaded)], effort: Effort) -> Vec<Option<Compared>> {
        let served = batch.iter().map(|(job, _)| self.served(job));
        let both: Vec<_> = served.zip(batch.iter().map(|(_, loaded)| loaded)).collect();
        // Comparing takes its time: without the lock, and not in a batch.
        effort.run(|| both.into_iter().map(|(served, loaded)| served?.compare(loaded)).collect())
    }

    /// What is served of a zone.
    fn served(&self, job: &Job) -> Option<Served> {
        let mut reader = self.catalog.reader();
        let slot = reader.with(|view| view.slot_named(&job.name))?;
        // First, so that nothing older than it is compared.
        let state = self.catalog.state_of(slot)?;
        let zones = self.zones.read();
        let (pack, number) = reader.with(|view| {
            let View::Zone(zone) = view.view_of(slot)? else { return None };
            if zone.is_changed() {
                return None;
            }
            let held = zones.packs.get(zone.pack_id())?;
            // Who writes into such a pack has changed what answers were made from.
            let is_operators = matches!(held.kind, Kind::Operators(_));
            (!is_operators).then(|| (Arc::clone(&held.pack), zone.number()))
        })?;
        Some(Served { state, pack, number })
    }
}

/// A zone as it is served: its state, and where its data are.
struct Served {
    state: State,
    pack: Arc<StoredPack>,
    number: u32,
}

impl Served {
    fn compare(&self, loaded: &Loaded) -> Option<Compared> {
        let old = ZoneView::new(&self.pack.pack, self.number)?;
        let new = ZoneView::new(&loaded.pack.pack, loaded.number)?;
        let parts = PartSet::changed(&old, &new);
        let is_sound = !self.pack.pack.is_damaged() && !loaded.pack.pack.is_damaged();
        is_sound.then_some(Compared { state: self.state, parts })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::controller::Overrides;
    use crate::reload::{add_zone, reload_zones};
    use crate::settings::Settings;
    use wire::{NameBuf, SortKey};
    use zone::catalog::Version;

    /// A reload raises the versions of what differs between the two texts.
    #[test]
    fn a_reload_changes_the_parts_that_differ() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("zone");
        let controller = Controller::new(Settings::default(), Overrides::default()).unwrap();
        let apex: NameBuf = "parts.test".parse().unwrap();
        let write = |serial: u32, a: u8, b: u8| {
            let soa = format!("@ 60 SOA ns h {serial} 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n");
            std::fs::write(&file, format!("{soa}a 60 A 192.0.2.{a}\nb 60 A 192.0.2.{b}\n")).unwrap();
        };
        let reload = || assert_eq!(reload_zones(&controller, std::slice::from_ref(&apex), false).loaded, 1);
        let version = || -> Version {
            let mut reader = controller.catalog.reader();
            reader.with(|view| view.find(&SortKey::of(&apex), 127).found.version())
        };
        let is_current = |version: Version, label: &[u8]| {
            let mut reader = controller.catalog.reader();
            reader.with(|view| view.are_current(version, PartSet::of_name(label)))
        };
        write(1, 1, 1);
        assert_eq!(add_zone(&controller, apex.clone(), &file, None).loaded, 1);
        assert!(!version().has_parts());
        write(2, 22, 1);
        reload();
        let first = version();
        assert!(first.has_parts() && is_current(first, b"a\0"));
        write(3, 133, 1);
        reload();
        assert_eq!([&b"a\0"[..], b"b\0", b"ns\0"].map(|label| is_current(first, label)), [false, true, true]);
        write(1004, 133, 44);
        reload();
        assert_eq!(
            [&b"a\0"[..], b"b\0", b"ns\0"].map(|label| is_current(first, label)),
            [false, false, true]
        );
    }
}
