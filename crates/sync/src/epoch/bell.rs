//! How publishers tell the collector that there is something to do.

use std::{sync::PoisonError, time::Instant};

use super::{COLLECT_EVERY, lock};
use crate::primitives::{Condvar, Mutex};

/// Why a bell is rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The first piece waits.
    Garbage,
    /// So many wait that they are worth a collection at once.
    Full,
    /// The collector is to end.
    End,
}

/// Rung by publishers of any number of domains, heard by one collector.
pub(super) struct Bell {
    rung: Mutex<Rung>,
    condition: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Rung {
    garbage: bool,
    full: bool,
    end: bool,
    /// Times that [`Bell::wait`] returned.
    rounds: u64,
}

impl Bell {
    pub(super) fn new() -> Bell {
        Bell { rung: Mutex::new(Rung::default()), condition: Condvar::new() }
    }

    pub(super) fn ring(&self, reason: Reason) {
        {
            let mut rung = lock(&self.rung);
            match reason {
                Reason::Garbage => rung.garbage = true,
                Reason::Full => rung.full = true,
                Reason::End => rung.end = true,
            }
        }
        self.condition.notify_one();
    }

    /// Sleeps until there is garbage (at once if `has_garbage` of before), then until enough was gathered or
    /// [`COLLECT_EVERY`] is over. Says whether the collector is to end.
    pub(super) fn wait(&self, has_garbage: bool) -> bool {
        let mut rung = lock(&self.rung);
        while !(has_garbage || rung.garbage || rung.full || rung.end) {
            rung = self.condition.wait(rung).unwrap_or_else(PoisonError::into_inner);
        }
        let until = Instant::now() + COLLECT_EVERY;
        while !(rung.full || rung.end) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            rung = self.condition.wait_timeout(rung, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        (rung.garbage, rung.full) = (false, false);
        rung.rounds += 1;
        rung.end
    }

    pub(super) fn rounds(&self) -> u64 {
        lock(&self.rung).rounds
    }
}
