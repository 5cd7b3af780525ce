//! After a start or other settings: which zones of stores there are to be, beside what settings and commands want.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering;

use feed::frame::Frame;
use wire::{Name, NameBuf};

use super::followed::Followed;
use super::lines::{Found, Place};
use super::owned::Owned;
use super::tell::Tell;
use super::{About, State, Store, StoreName, place};
use crate::controller::{Changing, Controller, Said};
use crate::settings::StoreTerms;
use crate::sources::Sources;
use crate::text::count;
use crate::wanted::WantedZones;

impl Controller {
    /// Adds the zones of stores to what settings and commands want. The data of those that these have, and that were a store's until now, are forgotten.
    pub(crate) fn settle_stores(&self, changing: &Changing, wanted: &mut WantedZones, said: &mut Said) {
        let terms = changing.settings.stores();
        let is_first = !self.stores.state.read().is_read;
        // Nobody else reads them: who settles makes a change.
        let read = is_first.then(|| self.read_files());
        let mut locked = self.stores.state.write();
        let state = &mut *locked;
        if let Some((owned, followed)) = read {
            (state.is_read, state.owned, state.followed) = (true, owned, followed);
        }
        self.stores.is_any.store(!terms.is_empty(), Ordering::Relaxed);
        state.configure(terms, &mut wanted.sources);
        let own: HashSet<NameBuf> = match state.owned.iter().next() {
            None => HashSet::new(),
            Some(_) => {
                let names = wanted.iter().map(|(name, _)| name).chain(changing.commanded.removed());
                names.filter(|name| state.owned.of(name).is_some()).map(Name::to_lowercase).collect()
            }
        };
        let mut left = Vec::new();
        for (zone, number) in state.owned.iter() {
            let store = state.stores.iter().find(|store| store.number == Some(number));
            match store.filter(|store| store.terms.zones.allows(zone)) {
                _ if own.contains(zone) => {}
                Some(store) => wanted.push(zone, store.source),
                None => left.push(zone.to_owned()),
            }
        }
        // What was refused may be another owner's no more.
        let tells: Vec<Tell> = state.stores.iter().filter_map(|store| store.about.tell.clone()).collect();
        drop(locked);
        self.strike(left.iter(), self.place_of_stores().as_ref());
        self.take_from_stores(own, is_first, said);
        tells.iter().for_each(|tell| tell.say(Frame::Again));
        self.stores.start_threads();
    }

    /// Forgets the data of zones that settings or commands have from now on, then whose they were. A crash in between has this be done once more; the other way round the next start would
    /// take what packs and log have of them for the new owner's. `is_first`: at a start the log is still to be read, and its end has to be on the disk first.
    fn take_from_stores(&self, taken: HashSet<NameBuf>, is_first: bool, said: &mut Said) {
        if taken.is_empty() {
            return;
        }
        self.forget_data(&taken, said);
        let place = if is_first { None } else { self.place_of_stores() };
        self.strike(taken.iter(), place.as_ref());
        if is_first {
            *self.stores.taken.lock() = taken;
        }
    }

    /// Zones are of no store any more. Without `place` the files have that later, when they are kept next.
    fn strike<'n>(&self, zones: impl Iterator<Item = &'n NameBuf> + Clone, place: Option<&Place>) {
        let mut state = self.stores.state.write();
        state.owned.strike(zones.clone().map(|zone| &**zone));
        state.followed.strike(zones.map(|zone| &**zone));
        drop(state);
        self.stores.keep_owned(place);
        self.stores.keep_followed(place);
    }

    fn read_files(&self) -> (Owned, Followed) {
        let (mut owned, mut followed) = (Owned::default(), Followed::default());
        let Some(folder) = self.folder() else { return (owned, followed) };
        let place = place(folder);
        match Owned::read(&place) {
            Ok((read, file, found)) => {
                owned = read;
                self.stores.owned_file.set(file);
                say("owned", found, "the zones of stores are served once their databases are there");
                let zones = owned.len();
                if zones > 0 {
                    tracing::info!(zones, "{} of stores as they were", count(zones, "zone"));
                }
            }
            Err(error) => fault("owned", &error),
        }
        match Followed::read(&place) {
            Ok((read, file, found)) => {
                followed = read;
                self.stores.followed_file.set(file);
                say("followed", found, "zones of stores are compared as a whole");
            }
            Err(error) => fault("followed", &error),
        }
        (owned, followed)
    }
}

fn say(file: &str, found: Found, what: &str) {
    if found.is_aside {
        tracing::error!("{file}: a file that is not understood, set aside as {file}.damaged; {what}");
    }
    if found.unreadable > 0 {
        tracing::warn!("{file}: {} not understood; {what}", count(found.unreadable, "line"));
    }
}

fn fault(file: &str, error: &io::Error) {
    tracing::error!(%error, "{file}: {}", crate::text::cannot("read", error));
}

impl State {
    /// Has the stores be those of the settings; what is known of those that stay stays.
    fn configure(&mut self, terms: Vec<StoreTerms>, sources: &mut Sources) {
        let mut before = std::mem::take(&mut self.stores);
        let sections: Vec<(StoreName, String)> =
            terms.iter().map(|terms| (terms.name, escaped(&terms.url))).collect();
        let numbers = self.owned.sections(&sections);
        for (terms, number) in terms.into_iter().zip(numbers) {
            let source = sources.without_file(&terms.rules);
            let old = before.iter().position(|store| store.terms.name == terms.name);
            let old = old.map(|at| before.swap_remove(at));
            let (about, generation) = match old {
                // Rules and bounds change nothing of what is under way.
                Some(old)
                    if old.terms.place == terms.place
                        && old.terms.powerdns == terms.powerdns
                        && old.terms.zones == terms.zones =>
                {
                    (old.about, old.generation)
                }
                old => {
                    old.iter().for_each(|old| old.about.hang_up());
                    self.generation += 1;
                    (About::default(), self.generation)
                }
            };
            self.stores.push(Store { terms, source, number, generation, about });
        }
        // Of those that are left out.
        before.iter().for_each(|old| old.about.hang_up());
    }
}

/// An address as one word of printable ASCII, or nearly.
pub(super) fn escaped(url: &str) -> String {
    url.escape_default().to_string()
}
