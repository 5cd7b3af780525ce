//! Versions of a zone that are sent as one difference (RFC 1995 5), where `ixfr-condense` asks for that and it is shorter by half.
//!
//! What is read of a history, and how long the result may be, is bounded: this is done on the thread that renders all transfers. What is longer is sent version by version.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use journal::history::{Difference, Versions};
use transfer::outgoing::{Changes, HistoryLost};
use zone::Change;
use zone::change::Condenser;

use super::history::change_of;

/// Octets of versions that are read for one answer: others wait meanwhile, some hundred milliseconds.
pub(super) const READ_OCTETS_MAX: u64 = 32 << 20;
/// Octets that differ, at any time while versions are read: with what each record takes beside, some 32 MiB.
const OCTETS_MAX: usize = 8 << 20;
/// Octets of all condensed differences that are being sent: as much as may wait for the historian.
const ALL_OCTETS_MAX: usize = 64 << 20;

/// What condensed differences take together, and how many there were.
#[derive(Default)]
pub(super) struct Condensing {
    octets: AtomicUsize,
    count: AtomicU64,
}

impl Condensing {
    /// What is sent in place of these versions. `None`: it is no shorter than half of them, too long, or cannot be worked out.
    pub(super) fn condense(self: &Arc<Condensing>, mut versions: Versions) -> Option<Condensed> {
        let octets_all = versions.octets();
        if versions.count() < 2 || octets_all > READ_OCTETS_MAX {
            return None;
        }
        let (mut condenser, mut octets_left) = (Condenser::new(OCTETS_MAX), octets_all);
        while let Some(difference) = versions.next() {
            let difference = difference.ok()?;
            octets_left = octets_left.saturating_sub(octets_of(&difference));
            condenser.add(&change_of(difference)?).ok()?;
            // What is left takes back no more than it has itself.
            if condenser.octets() as u64 > octets_all / 2 + octets_left {
                return None;
            }
        }
        let change = condenser.into_change().ok()?;
        let octets = change.octets();
        let is_shorter = octets as u64 <= octets_all / 2;
        let taken = is_shorter.then(|| Taken::new(self, octets)).flatten()?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Some(Condensed { change: Some(change), taken })
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

fn octets_of(difference: &Difference) -> u64 {
    (difference.removed().len() + difference.added().len()) as u64
}

/// Room for what is being sent.
struct Taken {
    of: Arc<Condensing>,
    octets: usize,
}

impl Taken {
    /// `None`: there is not as much.
    fn new(of: &Arc<Condensing>, octets: usize) -> Option<Taken> {
        let more = |taken: usize| taken.checked_add(octets).filter(|all| *all <= ALL_OCTETS_MAX);
        of.octets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Taken { of: Arc::clone(of), octets })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.octets.fetch_sub(self.octets, Ordering::Relaxed);
    }
}

/// One difference in place of many.
pub(super) struct Condensed {
    /// As long as it was not given.
    change: Option<Change>,
    /// Until it was sent.
    taken: Taken,
}

impl Changes for Condensed {
    fn octets(&self) -> u64 {
        self.taken.octets as u64
    }

    fn next(&mut self) -> Result<Option<Change>, HistoryLost> {
        Ok(self.change.take())
    }
}
