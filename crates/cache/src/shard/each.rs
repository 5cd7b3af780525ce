//! All entries of a shard, in steps, for who looks at each.

use crate::index::Which;
use crate::shard::{Shard, Shared};

/// Entries that are copied under one taking of a lock: about 20 us.
const STEP_ENTRIES: usize = 128;

impl Shard {
    /// Shows `each` the octets of all entries of a ring that are in the index and not flushed, and whether they were read lately. What comes or leaves meanwhile may be among them or
    /// not.
    pub(crate) fn each(&self, shared: &Shared, ring: Which, mut each: impl FnMut(&[u8], bool)) {
        let mut octets = Vec::new();
        let (mut place, until) = {
            let _writing = self.lock();
            (0, self.head(ring))
        };
        while place < until {
            let _writing = self.lock();
            place = self.ring(ring).tail().max(place);
            for _ in 0..STEP_ENTRIES {
                if place >= until {
                    break;
                }
                let count =
                    self.ring(ring).copy(place, &mut octets).expect("places before the head have entries");
                if let Some(is_visited) = self.is_live(shared, ring, place, &octets[..count]) {
                    each(&octets[..count], is_visited);
                }
                place = self.ring(ring).beyond(place, count / 8);
            }
        }
    }
}
