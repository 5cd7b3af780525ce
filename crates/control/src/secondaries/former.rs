//! Transfers that were begun for zones as they were before: of primaries that are theirs no more, or before all of a zone was forgotten.
//!
//! The schedule keeps the number of such a zone until its job is done. What comes of it is not served, as who took a primary out wants nothing of it; what is
//! served all the same, as it was on its way by then, is followed by all of the zone from those that there are now.

use std::collections::HashMap;
use std::sync::Arc;

use sync::Mutex;
use transfer::refresh::ZoneNumber;
use wire::NameBuf;

/// Their zones, in lower case, by number, for both threads: at most as many as there are jobs under way.
#[derive(Clone)]
pub(super) struct Former(Arc<Mutex<HashMap<ZoneNumber, NameBuf>>>);

impl Default for Former {
    fn default() -> Former {
        Former(Arc::new(Mutex::named("former transfers", HashMap::new())))
    }
}

impl Former {
    /// A zone is forgotten while a job of it is under way.
    pub(super) fn add(&self, number: ZoneNumber, zone: NameBuf) {
        self.0.lock().insert(number, zone);
    }

    /// Whether a job is of such a zone.
    pub(super) fn has(&self, number: ZoneNumber) -> bool {
        self.0.lock().contains_key(&number)
    }

    /// The job is done: the name of its zone, if it was one.
    pub(super) fn take(&self, number: ZoneNumber) -> Option<NameBuf> {
        self.0.lock().remove(&number)
    }
}
