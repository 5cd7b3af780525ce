//! Deltas made anew: without what is past, or onto a new pack.

use super::{Changed, DeltaWriter};
use crate::pack::Pack;
use std::sync::Arc;

/// A delta that is being made from another one, in steps beside the commits of that.
pub struct Rebuild {
    to: DeltaWriter,
}

impl Rebuild {
    /// Onto zone `number` of a pack that was made of the state `pinned`, which was published. `None` if there is no such zone.
    pub fn onto(pack: Arc<Pack>, number: u32, pinned: &Changed) -> Option<Rebuild> {
        let _ = (pack, number, pinned);
        None
    }

    /// Takes over what at most `names_max` names have in the published state `shown`; returns whether all was taken that there was.
    pub fn step(&mut self, shown: &Changed, names_max: usize) -> bool {
        let _ = (shown, names_max);
        true
    }

    /// The writer of the new delta, whose newest state is that of `from`; the change lock is held, and nothing of `from` is unpublished. Takes over what
    /// is left. Then its box takes the place of that of `from` in the slot, with the version as it is.
    pub fn finish(self, from: &DeltaWriter) -> Option<DeltaWriter> {
        let _ = from;
        Some(self.to)
    }
}
