//! What an answer is made from: the zones that were found on the way, each in one state, and the names that found them.
//!
//! A kept answer is right as long as these zones have the versions they had. That includes the zones that were not there: one that is
//! added raises the version of the zone above it, or of a slot that stands for no zone at all.

use crate::answer::ToldBy;
use crate::limits::CHAIN_MAX;
use wire::{Places, SortKey};
use zone::CatalogView;
use zone::catalog::{Found, SlotNumber, Version};

/// Most zones that a kept answer depends on. Aliases rarely cross more, and each costs a comparison whenever the answer is given again.
pub(crate) const SOURCES_KEPT_MAX: usize = 4;
/// Most names of a kept answer: each is looked up again before it is kept.
const NAMES_KEPT_MAX: usize = 8;
/// Zones that one answer can come to: two a name, where DS is asked for.
const SOURCES_MAX: usize = 2 * (CHAIN_MAX + 1);

/// A name that was looked up: where it begins in the response, how many of its labels counted, and which of the sources was found.
#[derive(Clone, Copy, Default)]
struct Lookup {
    name: u16,
    labels_max: u8,
    source: u8,
}

/// See the module.
pub(crate) struct Sources {
    found: [Found; SOURCES_MAX],
    found_count: usize,
    names: [Lookup; NAMES_KEPT_MAX],
    /// More than [`NAMES_KEPT_MAX`] where not all are in the list.
    names_count: usize,
    /// What limits tell the answer by.
    pub told_by: ToldBy,
}

impl Default for Sources {
    fn default() -> Sources {
        Sources {
            found: [Found::default(); SOURCES_MAX],
            found_count: 0,
            names: [Lookup::default(); NAMES_KEPT_MAX],
            names_count: 0,
            told_by: ToldBy::Name,
        }
    }
}

impl Sources {
    /// Forgets the answer before.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        (self.found_count, self.names_count) = (0, 0);
        self.told_by = ToldBy::Name;
    }

    /// Takes note of what the name at `name` of the response found with `labels_max` labels. Returns what to go on with, if that is something
    /// else: a zone that was found before is seen as it was then, so that no answer is made of two states of one zone.
    #[inline(always)]
    pub(crate) fn add(&mut self, found: &Found, name: u16, labels_max: usize) -> Option<Found> {
        let mut source = self.found_count;
        let mut before = None;
        if source > 0
            && let Some(at) = self.position(found)
        {
            (source, before) = (at, Some(self.found[at]));
        } else if let Some(place) = self.found.get_mut(source) {
            *place = *found;
            self.found_count = source + 1;
        }
        if let Some(place) = self.names.get_mut(self.names_count) {
            *place = Lookup { name, labels_max: labels_max as u8, source: source as u8 };
        }
        self.names_count += 1;
        before
    }

    /// Which of the zones found before this is.
    #[cold]
    fn position(&self, found: &Found) -> Option<usize> {
        self.found[..self.found_count].iter().position(|before| before.version().slot == found.version().slot)
    }

    /// The slot of the zone that was found first.
    pub(crate) fn first_slot(&self) -> SlotNumber {
        self.found[0].version().slot
    }

    /// Zones and versions, if an answer that depends on these can be kept.
    pub(crate) fn versions(&self) -> Option<impl Iterator<Item = Version>> {
        let is_short = self.found_count <= SOURCES_KEPT_MAX && self.names_count <= NAMES_KEPT_MAX;
        is_short.then(|| self.found[..self.found_count].iter().map(Found::version))
    }

    /// Whether one of the zones is not for everybody: what comes of it must not be given to others unasked.
    pub(crate) fn are_for_some(&self, catalog: &CatalogView<'_>) -> bool {
        let found = &self.found[..self.found_count];
        found.iter().any(|found| catalog.group_of(found.version().slot).is_for_some())
    }

    /// Whether each name still finds what it found. Who was looking while a zone was added can have read the new version of the zone above, and
    /// then looked for the new zone in a table that does not have it; having read that version, the second look sees the table that has it.
    /// Not needed where no zone was added since the batch began ([`CatalogView::has_new_zones`]).
    pub(crate) fn is_found_again(
        &self,
        catalog: &CatalogView<'_>,
        message: &[u8],
        (places, key): (&mut Places, &mut SortKey),
    ) -> bool {
        let Some(names) = self.names.get(..self.names_count) else { return false };
        names.iter().all(|lookup| {
            if places.follow(message, lookup.name as usize).is_err() {
                return false;
            }
            key.set_places(message, places.labels());
            let found = catalog.find(key, lookup.labels_max as usize).found;
            found.version() == self.found[lookup.source as usize].version()
        })
    }
}
