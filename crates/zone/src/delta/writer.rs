//! From changes to rows: whoever holds a zone's change lock has its [`DeltaWriter`].

use super::Changed;
use crate::catalog::PartSet;
use crate::change::Change;
use crate::lookup::ZoneView;
use crate::pack::Pack;
use std::sync::Arc;

/// Names that one commit changes at most: an UPDATE message has fewer, and what changes more is better a new pack.
pub const COMMIT_NAMES_MAX: usize = 1 << 16;

/// Why a change is not put in. Nothing of it is then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is of another zone, or the removed record of this number, counted from 0, or the added one, has an owner that is not in the zone.
    OutOfZone,
    /// The removed record of this number, counted from 0, is not there: the change belongs to another state of the zone (RFC 1995 5: then all is transferred).
    NotThere(usize),
    /// The added record of this number is there already.
    AlreadyThere(usize),
    /// The SOA record that comes is none (RFC 1035 3.3.13).
    BadSoa,
    /// An RRset of this type fits no message with its signatures (RFC 1035 4.2.2: 65,535 octets).
    TooLarge(u16),
    /// A name has more types than there is room for.
    TooManyTypes,
    /// More than [`COMMIT_NAMES_MAX`] names change.
    TooManyNames,
    /// How the zone proves absence would be another: signatures of the SOA record, the first or last NSEC record, NSEC3PARAM. That needs a new pack.
    NeedsPack,
    /// The delta has no room: a merge has to come first.
    Full,
    /// The pack below is not sound.
    Damaged,
}

/// What is due for a delta, by its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A copy without what is past, see [`super::Rebuild::copy`].
    Copy,
    /// A new pack.
    Merge,
}

/// What came of a change that was put in: nobody sees it until its box is published.
pub struct Applied {
    /// For the slot of the zone, once the change is durable.
    pub changed: Changed,
    /// The parts of the zone whose versions are to be raised then.
    pub parts: PartSet,
    /// Octets that the delta has more.
    pub octets: usize,
}

/// Writes a delta: one a zone, in the hands of whoever holds the zone's change lock.
pub struct DeltaWriter {
    pub(super) newest: Changed,
}

impl DeltaWriter {
    /// An empty delta over zone `number` of `pack`: state 0. `None` if there is no such zone.
    pub fn new(pack: Arc<Pack>, number: u32) -> Option<DeltaWriter> {
        let _ = (pack, number);
        None
    }

    /// The zone in its newest state, which may not be published yet: what the next change is checked against.
    pub fn newest(&self) -> ZoneView<'_> {
        ZoneView::of_changed(&self.newest).expect("the zone that the writer was made with")
    }

    /// The box of the newest state.
    pub fn newest_box(&self) -> &Changed {
        &self.newest
    }

    /// Puts a change in as the next state. Nobody sees it until its box is published; then say so with [`DeltaWriter::published`], or else take it
    /// back. A record that is removed must be there, one that is added must not, once those removed are gone; letters of names and TTLs do not
    /// tell records apart. Cost: some microseconds a name.
    pub fn apply(&mut self, change: &Change) -> Result<Applied, Refused> {
        let _ = change;
        Err(Refused::Full)
    }

    /// All states up to this one are published: they are not taken back any more.
    pub fn published(&mut self, state: u32) {
        let _ = state;
    }

    /// Takes the newest state back, which could not be made durable; its number is not used again. False, and nothing happens, if `state` is not the
    /// newest or it was published.
    pub fn take_back(&mut self, state: u32) -> bool {
        let _ = state;
        false
    }

    /// What is due.
    pub fn due(&self) -> Option<Due> {
        None
    }
}
