//! What becomes of one zone.

use std::fmt;

use wire::NameBuf;

use super::claims::{CatalogNumber, ClaimNumber};

/// What becomes of one zone by a state of a catalog, or by other settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The zone.
    pub zone: NameBuf,
    /// What is to be done, if anything is.
    pub event: Option<Event>,
    /// A claim that is new or changed: a line of the file of claims, and where an event's template is.
    pub claim: Option<ClaimNumber>,
    /// The catalog whose claim is gone: likewise.
    pub left: Option<CatalogNumber>,
    /// Why the zone is not served as this catalog says.
    pub clash: Option<Clash>,
}

/// What is to be done with a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is to be served, by the template of the step's claim.
    Added,
    /// It is to be served no more, and its data and keys forgotten (RFC 9432 5.3).
    Removed,
    /// Its data and keys are to be forgotten, then it is as added (5.4).
    Reset,
    /// Another catalog has it now (4.3.1).
    Moved {
        /// The catalog that had it.
        from: CatalogNumber,
        /// Whether it is reset, too.
        is_reset: bool,
    },
    /// Another template: its data stay.
    Regrouped,
    /// The settings have it now: data stay, or come from where they say.
    Yielded,
}

/// Why a zone is not served as a catalog says (5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// The settings have it.
    Settings,
    /// Another catalog has it, and does not offer it to this one.
    Catalog(CatalogNumber),
    /// Its name is none of those that members may have.
    NotAllowed,
}

impl Event {
    /// Whether data are forgotten.
    pub fn is_loss(self) -> bool {
        matches!(self, Event::Removed | Event::Reset | Event::Moved { is_reset: true, .. })
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Event::Added => "added",
            Event::Removed => "removed",
            Event::Reset => "reset",
            Event::Moved { is_reset: false, .. } => "moved",
            Event::Moved { is_reset: true, .. } => "moved and reset",
            Event::Regrouped => "regrouped",
            Event::Yielded => "left to the settings",
        })
    }
}
