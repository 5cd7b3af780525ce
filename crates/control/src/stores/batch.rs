//! What waits: zones that came as a whole, to be served together, and differences that the changer has.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use feed::frame::{ON_THEIR_WAY_MAX, Version};
use wire::NameBuf;

use crate::findings::Findings;
use crate::read::ZoneText;

/// Zones that are served together, and octets of what came of them: what waits for one sync and one pack.
pub(super) const BATCH_MAX: (usize, usize) = (10_000, 64 << 20);

/// A zone that came as a whole.
pub(super) struct Whole {
    pub(super) zone: NameBuf,
    pub(super) to: Version,
    pub(super) text: ZoneText,
    pub(super) findings: Findings,
}

/// Zones that came as a whole, and wait to be served together.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) zones: Vec<Whole>,
    /// Their names: one pack has a zone once.
    pub(super) names: HashSet<NameBuf>,
    pub(super) octets: usize,
    pub(super) since: Option<Instant>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.zones.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.zones.len() >= BATCH_MAX.0 || self.octets >= BATCH_MAX.1
    }

    /// Since when the first of them waits.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        self.since
    }
}

/// Differences that wait for the changer, and octets of them.
#[derive(Default)]
pub(super) struct UnderWay {
    count: AtomicUsize,
    octets: AtomicUsize,
}

impl UnderWay {
    pub(super) fn has_room(&self) -> bool {
        let (count, octets) = (self.count.load(Ordering::Relaxed), self.octets.load(Ordering::Relaxed));
        count < ON_THEIR_WAY_MAX.0 && octets < ON_THEIR_WAY_MAX.1
    }

    pub(super) fn add(&self, octets: usize) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.octets.fetch_add(octets, Ordering::Relaxed);
    }

    pub(super) fn take(&self, octets: usize) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.octets.fetch_sub(octets, Ordering::Relaxed);
    }
}
