//! What a transfer may take: octets, records, time; and a sender that is too slow.

use super::fault::{Fault, Limit};

/// Limits of one transfer. Times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Octets of all messages. The default is what fits a pack; who is secondary for small zones sets less.
    pub octets: u64,
    /// Octets of differences, which are in memory until the end. More of them are dearer than the whole zone.
    pub difference_octets: usize,
    /// Records.
    pub records: u64,
    /// Without a message.
    pub idle: u64,
    /// In all. Large zones over slow lines take hours.
    pub time: u64,
    /// Octets in each [`WINDOW`] since the first message: one that sends less holds a place that others wait for.
    pub window_octets: u64,
}

/// Milliseconds after which it is looked at how much has come.
pub const WINDOW: u64 = 60_000;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            octets: 16 << 30,
            difference_octets: 64 << 20,
            records: u64::from(u32::MAX),
            idle: 60_000,
            time: 7_200_000,
            window_octets: 10_240,
        }
    }
}

/// What was taken of it so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    limits: Limits,
    start: u64,
    /// When the last message was complete.
    message: u64,
    /// When the present window began, and octets before it; none before the first octet.
    window: Option<(u64, u64)>,
    octets: u64,
}

impl Meter {
    pub(super) fn new(limits: Limits, now: u64) -> Meter {
        Meter { limits, start: now, message: now, window: None, octets: 0 }
    }

    /// Octets came.
    pub(super) fn received(&mut self, octets: usize, now: u64) -> Result<(), Fault> {
        self.check(now)?;
        self.octets += octets as u64;
        if self.octets > self.limits.octets {
            return Err(Fault::Limit(Limit::Octets));
        }
        self.window.get_or_insert((now, 0));
        Ok(())
    }

    /// A message is complete.
    pub(super) fn message(&mut self, now: u64) -> Result<(), Fault> {
        self.check(now)?;
        self.message = now;
        Ok(())
    }

    /// Looks at the times.
    pub(super) fn check(&mut self, now: u64) -> Result<(), Fault> {
        if now.saturating_sub(self.start) >= self.limits.time {
            return Err(Fault::Limit(Limit::Time));
        }
        if now.saturating_sub(self.message) >= self.limits.idle {
            return Err(Fault::Limit(Limit::Idle));
        }
        if let Some((begin, before)) = self.window
            && now.saturating_sub(begin) >= WINDOW
        {
            if self.octets - before < self.limits.window_octets {
                return Err(Fault::Limit(Limit::Rate));
            }
            self.window = Some((now, self.octets));
        }
        Ok(())
    }

    /// When [`Meter::check`] may find a fault at the earliest.
    pub(super) fn deadline(&self) -> u64 {
        let window = self.window.map_or(u64::MAX, |(begin, _)| begin.saturating_add(WINDOW));
        let idle = self.message.saturating_add(self.limits.idle);
        idle.min(self.start.saturating_add(self.limits.time)).min(window)
    }

    pub(super) fn octets(&self) -> u64 {
        self.octets
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        octets: 100_000,
        difference_octets: 0,
        records: 0,
        idle: 5_000,
        time: 600_000,
        window_octets: 1_000,
    };

    #[test]
    fn a_sender_that_drips_is_cut() {
        let mut meter = Meter::new(LIMITS, 1_000);
        let mut now = 1_000;
        let fault = loop {
            now += 100;
            if let Err(fault) = meter.received(1, now).and_then(|()| meter.message(now)) {
                break fault;
            }
        };
        assert_eq!((fault, now), (Fault::Limit(Limit::Rate), 1_100 + WINDOW));
    }

    #[test]
    fn one_that_is_slow_but_steady_is_not() {
        let mut meter = Meter::new(LIMITS, 0);
        for now in (1_000..600_000).step_by(1_000) {
            meter.received(50, now).unwrap();
            meter.message(now).unwrap();
            assert!(meter.deadline() > now);
        }
        assert_eq!(meter.check(600_000), Err(Fault::Limit(Limit::Time)));
    }

    #[test]
    fn silence_and_octets() {
        let mut meter = Meter::new(LIMITS, 0);
        assert_eq!(meter.deadline(), 5_000);
        meter.received(100_000, 4_999).unwrap();
        // Octets that make no message are not enough.
        assert_eq!(meter.check(5_000), Err(Fault::Limit(Limit::Idle)));
        assert_eq!(meter.received(1, 4_999), Err(Fault::Limit(Limit::Octets)));
    }
}
