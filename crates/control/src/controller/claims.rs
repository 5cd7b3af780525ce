//! Zones that are about to change in place for the first time: until that is published control moves them to no other pack, as what the log says of them begins
//! from the one that they are in. What publishes something else of them is not held up.

use std::sync::Arc;

use zone::catalog::SlotNumber;

use super::Controller;

/// The zone of a slot stays in its pack as long as this lives.
pub(crate) struct Claim {
    controller: Arc<Controller>,
    slot: SlotNumber,
}

impl Controller {
    /// Has a slot's zone stay in its pack. For the changer, which claims a slot once.
    pub(crate) fn claim(self: &Arc<Controller>, slot: SlotNumber) -> Claim {
        self.zones.write().claimed.insert(slot);
        Claim { controller: Arc::clone(self), slot }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.controller.zones.write().claimed.remove(&self.slot);
    }
}
