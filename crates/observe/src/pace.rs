//! How long the observer may sleep: as nobody wakes it, it has to be back before the ring is full.

use std::time::{Duration, Instant};

/// Less would be a thread that looks at empty rings for most of a processor.
const PAUSE_MIN: Duration = Duration::from_micros(200);
/// More would have a burst after a quiet second fill a ring: 4 MiB at three million queries a second of 256 octets.
const PAUSE_MAX: Duration = Duration::from_millis(5);
/// For how long a rate counts, at least: as bursts come again.
const REMEMBERED: Duration = Duration::from_secs(1);

/// The highest rate at which one of the rings was filled lately.
pub(crate) struct Pace {
    ring_octets: u64,
    /// When the rings were read last.
    read: Instant,
    /// In octets a second: of this second and of the one before.
    highest: [u64; 2],
    second: Instant,
}

impl Pace {
    pub(crate) fn new(ring_octets: usize, now: Instant) -> Pace {
        Pace { ring_octets: ring_octets as u64, read: now, highest: [0; 2], second: now }
    }

    /// How long to sleep after so many octets were read from the ring that had most.
    pub(crate) fn pause(&mut self, octets: usize, now: Instant) -> Duration {
        // A round that follows at once says little.
        let since = now.saturating_duration_since(self.read).max(PAUSE_MIN);
        self.read = now;
        if now.saturating_duration_since(self.second) >= REMEMBERED {
            self.highest = [0, self.highest[0]];
            self.second = now;
        }
        let rate = u128::from(octets as u64) * 1_000_000_000 / since.as_nanos().max(1);
        self.highest[0] = self.highest[0].max(u64::try_from(rate).unwrap_or(u64::MAX));
        let rate = self.highest[0].max(self.highest[1]).max(1);
        let half = Duration::from_nanos((self.ring_octets / 2).saturating_mul(1_000_000_000) / rate);
        half.clamp(PAUSE_MIN, PAUSE_MAX)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_fuller_the_sooner_and_a_burst_is_remembered() {
        let mut now = Instant::now();
        let mut pace = Pace::new(1 << 20, now);
        let mut after = |octets: usize, wait: Duration| {
            now += wait;
            pace.pause(octets, now)
        };
        let millisecond = Duration::from_millis(1);
        assert_eq!(after(0, millisecond), PAUSE_MAX, "nothing comes");
        // 500 MB a second: half a megabyte takes a millisecond.
        let pause = after(500_000, millisecond);
        assert!((1000..1100).contains(&pause.as_micros()), "{pause:?}");
        assert_eq!(after(0, millisecond), pause, "it may come again");
        assert_eq!(after(1 << 20, millisecond / 5), PAUSE_MIN, "all of a ring at once");
        after(0, Duration::from_secs(1));
        assert_eq!(after(0, Duration::from_secs(1)), PAUSE_MAX, "forgotten");
    }
}
