//! What others are told of the layout and of what is kept, at any time and without waiting for who changes it.
//!
//! ```text
//! Layout, changed: under its lock, some ms where memory is cleared --tell--> Outline, a new one each time --> Cache::counts, octets, resident_octets
//! shards, denials: under locks of their own -------------------stores------> words --------------------------^
//! ```
//!
//! The lock here is held while a pointer is replaced or taken, and no worker wants it.

use std::sync::{Arc, Mutex};

use crate::locks;
use crate::marks::Marks;
use crate::shard::{Counts, Shard};

/// The layout, as far as others are told of it.
pub(crate) struct Outline {
    /// All shards that entries are in, each once. None of those that are left by all: their memory could not go.
    pub(crate) shards: Vec<Arc<Shard>>,
    /// What was counted in those.
    pub(crate) past: Counts,
    /// What they take as long as somebody has a table with them.
    pub(crate) left_octets: usize,
    pub(crate) servers_octets: usize,
    /// Octets that all of it may take once nothing moves any more.
    pub(crate) octets: usize,
    pub(crate) is_moving: bool,
}

impl Outline {
    /// What there is, and what came of it.
    pub(crate) fn counts(&self) -> Counts {
        self.shards.iter().fold(self.past, |sum, shard| sum.sum(shard.counts()))
    }

    /// Octets that have been written, at most, denials with their `denials` octets among them.
    pub(crate) fn resident_octets(&self, denials: usize) -> usize {
        let shards: usize = self.shards.iter().map(|shard| shard.resident_octets()).sum();
        let most = if self.is_moving { usize::MAX } else { self.octets };
        (shards + self.servers_octets + Marks::OCTETS + denials).min(most) + self.left_octets
    }
}

/// The outline of now.
pub(crate) struct Told(Mutex<Arc<Outline>>);

impl Told {
    pub(crate) fn new(outline: Outline) -> Told {
        Told(Mutex::new(Arc::new(outline)))
    }

    pub(crate) fn set(&self, outline: Outline) {
        let old = std::mem::replace(&mut *locks::lock(&self.0), Arc::new(outline));
        // Without the lock, as it may be the last to have a shard.
        drop(old);
    }

    pub(crate) fn get(&self) -> Arc<Outline> {
        Arc::clone(&locks::lock(&self.0))
    }
}
