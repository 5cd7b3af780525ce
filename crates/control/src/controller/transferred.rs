//! Zones that come from primaries: data that came as a whole are shown, those that are too old are not any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use validate::Anchors;
use wire::Name;
use zone::catalog::{Absence, View, ViewSource};
use zone::check::Severity;
use zone::delta::{Changed, DeltaWriter, Rebuild};
use zone::{Pack, ZoneView};

use super::Controller;
use super::change::Change;
use super::said::By;
use crate::findings::{Digest, Findings, examine_digest, is_known_as_required};
use crate::load::{Job, Loaded, Origin};
use crate::packs::{PackFolder, StoredPack};
use crate::sources::Source;
use crate::stamp::Stamp;
use crate::stores::StoreName;

impl Controller {
    /// Whether what is transferred of a zone is kept on the disk: not where its settings say so, and where there is no folder for it.
    pub(crate) fn persists(&self, name: &Name) -> bool {
        if !self.folder().is_some_and(PackFolder::is_ours) {
            return false;
        }
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        zones.persists(name, slot)
    }

    /// What becomes of the digest of a zone.
    pub(crate) fn digest_of(&self, name: &Name) -> Digest {
        let zones = self.zones.read();
        if !zones.has_digests() {
            return Digest::Ignore;
        }
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        zones.digest(name, slot)
    }

    /// A writer of its own over what is served of a zone: to see what changes make of it before anybody else does. `None`: it has no data, or they cannot be read.
    pub(crate) fn apart(&self, name: &Name) -> Option<DeltaWriter> {
        enum Served {
            Changed(Changed),
            Pack(Arc<Pack>, u32),
        }
        let served = self.catalog.reader().with(|view| {
            let slot = view.slot_named(name)?;
            match view.view_of(slot)? {
                View::Zone(zone) => match zone.changed() {
                    Some(changed) => Some(Served::Changed(changed.clone())),
                    None => self.pack_of_slot(view, slot).map(|(pack, number)| Served::Pack(pack, number)),
                },
                _ => None,
            }
        });
        match served? {
            Served::Changed(changed) => Rebuild::apart(&changed),
            Served::Pack(pack, number) => DeltaWriter::new(pack, number),
        }
    }

    /// Whether what is stored of a zone may be served as far as its digest is concerned: where one is required it was found right when the pack was made, and nothing has changed since, or
    /// it is right now. `has_text`: see [`is_known_as_required`]. What is wrong is in the log. Cost: where it is looked at, a pass over the zone.
    pub(crate) fn is_as_required(
        &self,
        (name, has_text): (&Name, bool),
        view: &ZoneView<'_>,
        digest: Digest,
    ) -> bool {
        if is_known_as_required(view, has_text, digest) {
            return true;
        }
        let verified = examine_digest(view, &"as it is stored", (digest, &self.anchors()));
        verified.inspect_err(|(_, error)| {
            tracing::error!(zone = %name, error, "zone {name}: {error}; `zonemd` requires one that is right, so it is not served");
        }).is_ok()
    }

    /// Where trust begins: as the resolver has it, or at the keys of the root that are built in.
    pub(crate) fn anchors(&self) -> Arc<Anchors> {
        let anchors = self.recursion.as_ref().map(|recursion| recursion.anchors());
        Arc::new(anchors.unwrap_or_else(Anchors::built_in))
    }

    /// What the folder has of a zone, which is served, is not to be what the next start begins with. Says whether it has anything, so that packs are
    /// to be tidied.
    pub(crate) fn give_up_stored(&self, name: &Name) -> bool {
        let mut zones = self.zones.write();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        let is_stored = zones.is_stored(&self.catalog, name, slot);
        if is_stored {
            zones.gone.add(name);
            self.is_untidy.store(true, Ordering::SeqCst);
        }
        is_stored
    }

    /// Whether there is such a zone, and it has no file here: what it has comes from elsewhere, from this store or from none.
    fn is_filled(&self, name: &Name, from: Option<StoreName>) -> bool {
        let zones = self.zones.read();
        let awaited = zones.awaited.get(&name.to_lowercase()).map(|awaited| awaited.source);
        let shown = self.catalog.reader().with(|view| zones.slot(view, name));
        let source = awaited.or(shown.map(|slot| zones.kept(slot).source));
        source.is_some_and(|source| zones.sources.is_filled(source, from))
    }

    /// Serves what a primary, or a store, has sent. `from`: that store. `number`: of the zone in the pack, which is stored if that can be. `persists`: whether it is to be.
    /// Says whether there is such a zone still, and it is of that store still, or of none.
    pub(crate) fn take_transferred(
        &self,
        (name, from): (&Name, Option<StoreName>),
        (pack, number): (Arc<StoredPack>, u32),
        findings: Findings,
        persists: bool,
    ) -> bool {
        if !self.is_filled(name, from) {
            return false;
        }
        self.make_room();
        // Also where what the log has of it is damaged, as it is what counts no more.
        let was_changed = self.is_changed(name) || self.fault_of(&name.to_lowercase()).is_some();
        if was_changed {
            // Before it is served: a start must not go back to what was there.
            self.dynamic.replaced(name.to_lowercase());
        }
        let job = Job {
            id: 0,
            name: name.to_owned(),
            source: Source::Primaries("a primary".into()),
            refuse: Severity::Fatal,
            digest: Digest::Ignore,
        };
        let loaded = Loaded {
            pack,
            number,
            stamp: Stamp::default(),
            includes: Box::default(),
            findings,
            origin: if persists { Origin::Text } else { Origin::Passing },
            contents_hash: None,
        };
        let mut change = Change::new(By::Transfer);
        change.told.begin(1);
        {
            let mut zones = self.zones.write();
            let (slot, had_data) = self.catalog.reader().with(|view| {
                let slot = zones.slot(view, name);
                (slot, slot.is_some_and(|slot| zones.pack_of(view, slot).is_some()))
            });
            let awaited = zones.awaited.get(&name.to_lowercase()).map(|awaited| awaited.source);
            let source = awaited.or(slot.map(|slot| zones.kept(slot).source));
            if !source.is_some_and(|source| zones.sources.is_filled(source, from)) {
                return false;
            }
            // What packs of the folder have of it is from before, and must not be what the next start begins with.
            let is_stored = !persists && zones.is_stored(&self.catalog, name, slot);
            self.take(&mut zones, &job, loaded, None, &mut change);
            if is_stored {
                zones.gone.add(name);
            }
            // Data in the place of others hide nothing that was not hidden.
            if !had_data {
                self.arrange_awaited(&mut zones);
            }
        }
        self.is_untidy.store(true, Ordering::SeqCst);
        change.said.end();
        if was_changed {
            self.dynamic.removed(name.to_lowercase());
        }
        self.remove_unused_files();
        change.failed.is_empty()
    }

    /// Serves a zone no longer whose time without a sign of its primaries is over: queries get SERVFAIL until it comes anew. Says whether there were data.
    pub(crate) fn expire(&self, name: &Name) -> bool {
        self.make_room();
        let was_changed = self.is_changed(name);
        {
            let mut zones = self.zones.write();
            let found = self.catalog.reader().with(|view| {
                let slot = zones.slot(view, name)?;
                Some((slot, zones.pack_of(view, slot)?))
            });
            let Some((slot, pack)) = found else { return false };
            if self.catalog.publish(slot, None, ViewSource::Absent(Absence::Expired)).is_err() {
                return false;
            }
            zones.gone.add(name);
            zones.packs.subtract(pack);
            zones.loaded = zones.loaded.saturating_sub(1);
            zones.rare.change(&slot, |rare| rare.is_absent = true);
        }
        if was_changed {
            self.dynamic.removed(name.to_lowercase());
        }
        self.is_untidy.store(true, Ordering::SeqCst);
        self.remove_unused_files();
        true
    }

    /// The store that a zone comes from, if it does.
    pub(crate) fn store_of(&self, name: &Name) -> Option<StoreName> {
        let zones = self.zones.read();
        let awaited = zones.awaited.get(&name.to_lowercase()).map(|awaited| awaited.source);
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        zones.sources.incoming(awaited.or(slot.map(|slot| zones.kept(slot).source))?)
    }

    /// The error: the zone is of a store, where alone it can be changed.
    pub(crate) fn expect_of_no_store(&self, name: &Name) -> Result<(), String> {
        match self.store_of(name) {
            Some(store) => {
                Err(format!("zone {name} is of store {store}: change it there (`zonda store edit`)"))
            }
            None => Ok(()),
        }
    }

    /// Whether a zone is transferred from others, comes from a store, or is a catalog that is made here: it has no text, and takes no updates.
    pub(crate) fn is_secondary(&self, name: &Name) -> bool {
        let zones = self.zones.read();
        if !zones.has_without_file() {
            return false;
        }
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        slot.is_some_and(|slot| zones.is_without_file(slot)) || zones.is_hidden_secondary(name)
    }

    /// Whether a zone has primaries, as far as it is known: it may before lists have been read, and as long as its own cannot be.
    pub(crate) fn may_have_primaries(&self, name: &Name) -> bool {
        let is_known = {
            let zones = self.zones.read();
            let slot = self.catalog.reader().with(|view| zones.slot(view, name));
            zones.is_arranged && slot.is_none_or(|slot| zones.is_listed(slot))
        };
        !is_known || !self.primaries_of(name).is_empty()
    }

    /// Whether what is served of a zone was not read from a text, as far as that can be told from its pack.
    pub(crate) fn has_no_text(&self, name: &Name) -> bool {
        self.catalog.reader().with(|view| {
            let slot = view.slot_named(name);
            matches!(slot.and_then(|slot| view.view_of(slot)), Some(View::Zone(zone)) if zone.row().text_mark == 0)
        })
    }

    /// The names of the servers that a zone is transferred from, in their order.
    pub(crate) fn primaries_of(&self, name: &Name) -> Box<[Box<str>]> {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        let shown = slot.map(|slot| zones.primaries(slot)).filter(|primaries| !primaries.is_empty());
        shown.unwrap_or_else(|| zones.hidden_primaries(name)).into()
    }

    /// Whether a zone has changed in place since its pack was made.
    fn is_changed(&self, name: &Name) -> bool {
        self.catalog.reader().with(|view| {
            let slot = view.slot_named(name);
            matches!(slot.and_then(|slot| view.view_of(slot)), Some(View::Zone(zone)) if zone.is_changed())
        })
    }
}
