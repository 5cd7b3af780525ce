//! How often something may happen.

use std::time::{Duration, Instant};

/// So many at once, and one more each time.
#[derive(Debug)]
pub(crate) struct Rate {
    burst: u32,
    pause: Duration,
    left: u32,
    /// When `left` was last raised.
    raised: Instant,
}

impl Rate {
    pub(crate) fn new(burst: u32, pause: Duration, now: Instant) -> Self {
        Self { burst, pause, left: burst, raised: now }
    }

    /// Takes one; `false` if none is left.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.take_above(0, now)
    }

    /// Takes one if more than `kept` are left.
    pub(crate) fn take_above(&mut self, kept: u32, now: Instant) -> bool {
        while self.left < self.burst && now.saturating_duration_since(self.raised) >= self.pause {
            self.left += 1;
            self.raised += self.pause;
        }
        if self.left == self.burst {
            self.raised = now;
        }
        let is_left = self.left > kept;
        self.left -= u32::from(is_left);
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(60);

    #[test]
    fn some_are_kept_for_others() {
        let start = Instant::now();
        let mut rate = Rate::new(4, PAUSE, start);
        assert_eq!([(); 3].map(|()| rate.take_above(2, start)), [true, true, false]);
        assert_eq!([(); 3].map(|()| rate.take(start)), [true, true, false]);
        assert!(!rate.take_above(2, start + 2 * PAUSE) && rate.take_above(2, start + 3 * PAUSE));
    }

    #[test]
    fn a_burst_and_one_more_each_time() {
        let start = Instant::now();
        let mut rate = Rate::new(3, PAUSE, start);
        assert_eq!([(); 4].map(|()| rate.take(start)), [true, true, true, false]);
        assert!(!rate.take(start + PAUSE - Duration::from_millis(1)));
        assert!(rate.take(start + PAUSE));
        assert!(!rate.take(start + PAUSE + Duration::from_secs(1)));
        // No more than a burst is ever saved up.
        let late = start + PAUSE * 1000;
        assert_eq!([(); 4].map(|()| rate.take(late)), [true, true, true, false]);
    }
}
