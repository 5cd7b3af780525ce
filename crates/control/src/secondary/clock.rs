//! The clocks of secondaries.

use rustix::time::{ClockId, clock_gettime};
use transfer::incoming::Times;

/// A clock that only goes forwards and goes on while the machine sleeps, as the age of a zone does; and the time of day.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    /// Milliseconds since the machine started.
    pub fn millis(self) -> u64 {
        let time = clock_gettime(ClockId::Boottime);
        let (seconds, nanos) = (time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u64);
        seconds * 1_000 + nanos / 1_000_000
    }

    /// Seconds since the machine started: the time of a [`transfer::refresh::Schedule`].
    pub fn seconds(self) -> u32 {
        u32::try_from(self.millis() / 1_000).unwrap_or(u32::MAX)
    }

    /// Seconds since 1970, as the clock of the machine has it.
    pub fn unix(self) -> u64 {
        clock_gettime(ClockId::Realtime).tv_sec.max(0) as u64
    }

    /// Both.
    pub fn times(self) -> Times {
        Times { millis: self.millis(), unix: self.unix() }
    }
}
