//! Timers of a service: an ordered map, so that a cancelled one is gone at once.

use std::collections::BTreeMap;
use std::time::Instant;

/// Four a row of waiting clients.
pub const TIMERS_MAX: usize = 4 * crate::later::LATER_PER_WORKER_MAX;

/// Timers that fire in one turn; the others do in the next, so that datagrams are not kept waiting.
pub(crate) const TIMERS_PER_TURN: usize = 1024;

/// A timer that is set, to cancel it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimerId {
    at: Instant,
    /// Tells those of one time apart, in the order in which they were set.
    number: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    keys: BTreeMap<TimerId, u64>,
    number: u64,
}

impl Timers {
    /// Sets one; `None` if there are as many as there may be.
    pub(crate) fn set(&mut self, at: Instant, key: u64) -> Option<TimerId> {
        if self.keys.len() >= TIMERS_MAX {
            return None;
        }
        self.number += 1;
        let id = TimerId { at, number: self.number };
        self.keys.insert(id, key);
        Some(id)
    }

    /// Cancels one; its key, if it had not fired.
    pub(crate) fn cancel(&mut self, id: TimerId) -> Option<u64> {
        self.keys.remove(&id)
    }

    /// Takes out the key of the first that is due at `now`.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<u64> {
        let entry = self.keys.first_entry()?;
        (entry.key().at <= now).then(|| entry.remove())
    }

    /// When the first is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.keys.first_key_value().map(|(id, _)| id.at)
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn timers_fire_in_order_and_not_once_cancelled() {
        let (mut timers, start) = (Timers::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        timers.set(at(30), 3);
        let second = timers.set(at(20), 2).unwrap();
        timers.set(at(10), 1);
        timers.set(at(10), 11);
        assert_eq!(timers.next(), Some(at(10)));
        assert_eq!(timers.take_due(at(9)), None);
        assert_eq!(
            [timers.take_due(at(15)), timers.take_due(at(15)), timers.take_due(at(15))],
            [Some(1), Some(11), None]
        );
        assert_eq!((timers.cancel(second), timers.cancel(second)), (Some(2), None));
        assert_eq!([timers.take_due(at(99)), timers.take_due(at(99))], [Some(3), None]);
        for number in 0..TIMERS_MAX {
            assert!(timers.set(start, number as u64).is_some());
        }
        assert_eq!(timers.set(start, 0), None);
    }
}
