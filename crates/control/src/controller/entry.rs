//! The data of a zone, or its name without any.

use std::sync::Arc;

use wire::{Name, NameBuf};
use zone::{Pack, ZoneView};

/// What there is of a zone.
pub(crate) enum Entry {
    /// Data to answer from.
    Loaded {
        /// The pack.
        pack: Arc<Pack>,
        /// The zone's number in it.
        number: u32,
    },
    /// Its name: there are no data. Elsewhere than here, as a server can have a million zones, nearly all of them loaded.
    Absent(Box<NameBuf>),
}

const _: () = assert!(size_of::<Entry>() == 16);

impl Entry {
    /// The zone's name, lower-case if it is loaded.
    pub(crate) fn apex(&self) -> &Name {
        match self {
            Entry::Loaded { .. } => self.zone().map_or(Name::root(), |zone| zone.apex()),
            Entry::Absent(apex) => apex,
        }
    }

    /// The zone's data, if there are any.
    pub(crate) fn zone(&self) -> Option<ZoneView<'_>> {
        match self {
            Entry::Loaded { pack, number } => ZoneView::new(pack, *number),
            Entry::Absent(_) => None,
        }
    }
}
