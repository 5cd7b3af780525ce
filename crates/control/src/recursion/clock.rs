//! The wall clock, which says when signatures hold: some machines begin in 1970, until somebody on the network tells them the time.
//!
//! ```text
//! clock says less than it can    -> the time is that of the newest file of this server, or of this program
//! clock jumps beside the steady one -> what was learned by the wrong time is forgotten: failures, and what counted as proved
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::UNIX_EPOCH;

/// No clock that is right says less: 2026-11-01, before this program was finished.
pub(super) const EARLIEST: u64 = 1_793_491_200;

/// Further than clocks are set in steps while all is well; signatures hold for days, and servers say them hours ahead.
const JUMP_SECONDS_MIN: u64 = 3_600;

/// The files of the folder for what outlives the process.
const FILES: [&str; 2] = ["cache", "trust-anchors"];

/// What the time is, as far as it can be told.
pub(super) struct Clock {
    /// What the time is while the clock says less than it can.
    floor: u64,
    /// When that was, by the steady clock.
    began: u64,
    /// By how much the wall clock is ahead of the steady one, in seconds.
    ahead: AtomicI64,
}

impl Clock {
    /// `folder`: of what outlives the process. `steady`: seconds of a clock that is never set.
    pub(super) fn new(folder: Option<&Path>, (wall, steady): (u64, u64)) -> Clock {
        let written = |folder: &Path| {
            let times = FILES.iter().filter_map(|file| {
                let modified =
                    std::fs::metadata(folder.join(file)).and_then(|state| state.modified()).ok()?;
                modified.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
            });
            times.max()
        };
        // Files are looked at while the clock is wrong alone: one that was written by a clock in the future says nothing else.
        let floor = folder.and_then(written).unwrap_or(0).max(EARLIEST);
        if wall < EARLIEST {
            tracing::warn!(
                "the clock is wrong (it says {wall} s since 1970): signatures are looked at as of {floor} s, and many may count as not valid yet until it is set"
            );
        }
        let clock = Clock { floor, began: steady, ahead: AtomicI64::new(0) };
        clock.ahead.store(ahead(clock.wall(wall, steady), steady), Ordering::Relaxed);
        clock
    }

    /// The time in seconds since 1970.
    #[inline]
    pub(super) fn wall(&self, says: u64, steady: u64) -> u64 {
        if says < EARLIEST { self.floor + steady.saturating_sub(self.began) } else { says }
    }

    /// By how many seconds the clock was set since the last look, if that is far.
    pub(super) fn jump(&self, (wall, steady): (u64, u64)) -> Option<i64> {
        let now = ahead(self.wall(wall, steady), steady);
        let jump = now.saturating_sub(self.ahead.load(Ordering::Relaxed));
        if jump.unsigned_abs() < JUMP_SECONDS_MIN {
            return None;
        }
        self.ahead.store(now, Ordering::Relaxed);
        Some(jump)
    }
}

fn ahead(wall: u64, steady: u64) -> i64 {
    wall as i64 - steady as i64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_clock_that_begins_in_1970() {
        let clock = Clock::new(None, (5, 100));
        let check = |clock: &Clock, says, steady, expected| assert_eq!(clock.wall(says, steady), expected);
        check(&clock, 5, 100, EARLIEST);
        check(&clock, EARLIEST - 1, 130, EARLIEST + 30);
        check(&clock, EARLIEST, 130, EARLIEST);
        check(&clock, EARLIEST + 9, 130, EARLIEST + 9);
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("cache")).unwrap();
        let written = EARLIEST + 86_400;
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(written)).unwrap();
        let clock = Clock::new(Some(folder.path()), (5, 0));
        check(&clock, 5, 1, written + 1);
        check(&clock, EARLIEST + 7, 1, EARLIEST + 7);
    }

    #[test]
    fn a_clock_that_is_set() {
        let clock = Clock::new(None, (5, 100));
        let set = EARLIEST + 50_000_000;
        assert_eq!(clock.jump((6, 101)), None);
        assert_eq!(clock.jump((9_000, 9_000)), None, "it goes on from what it cannot be less than");
        assert!(clock.jump((set, 9_103)).unwrap() > 49_000_000);
        // It drifts, and is set by a little.
        assert_eq!(clock.jump((set + 10 + 3_000, 9_113)), None);
        assert_eq!(clock.jump((set + 86_400, 95_503)), None);
        assert!(clock.jump((set + 86_400 - 7_200, 95_504)).unwrap() < -7_000);
    }
}
