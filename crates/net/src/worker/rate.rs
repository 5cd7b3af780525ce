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
        while self.left < self.burst && now.saturating_duration_since(self.raised) >= self.pause {
            self.left += 1;
            self.raised += self.pause;
        }
        if self.left == self.burst {
            self.raised = now;
        }
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => return false,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(60);

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
