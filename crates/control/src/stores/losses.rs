//! How many zones of a store may go in an hour without anybody's word, and how many lines the log is told in a minute.

use transfer::catalog_zone::RemoveMax;

/// For so long losses are added up.
const SECONDS: u64 = 3_600;

/// Losses of an hour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// When it began; `None`: nothing was lost yet.
    since: Option<u64>,
    /// Zones that there were then.
    zones: u32,
    lost: u32,
}

impl Losses {
    /// Whether so many more may go, of a store that has `held` zones now; they are counted then. `now`: seconds of a clock that only goes forwards.
    pub(super) fn allow(&mut self, max: RemoveMax, losses: usize, held: usize, now: u64) -> bool {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        if self.since.is_none_or(|since| now.saturating_sub(since) >= SECONDS) {
            *self = Losses { since: Some(now), zones: number(held), lost: 0 };
        }
        self.zones = self.zones.max(number(held));
        let is_allowed = max.allows(number(losses), self.lost, self.zones, number(held));
        if is_allowed {
            self.lost = self.lost.saturating_add(number(losses));
        }
        is_allowed
    }
}

/// Lines of the log in a minute that are of what a feeder says: a database can have any number of zones that are wrong, and a feeder that was taken over any number of
/// words. Some screens of them say what kind of thing is wrong.
const LINES_A_MINUTE: u32 = 200;

/// Lines of a minute.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lines {
    /// Which minute.
    minute: u64,
    said: u32,
}

impl Lines {
    /// Whether one more may be said, and whether it is the first that may not. `now`: seconds of a clock that only goes forwards.
    pub(super) fn may(&mut self, now: u64) -> (bool, bool) {
        if self.minute != now / 60 {
            *self = Lines { minute: now / 60, said: 0 };
        }
        self.said = self.said.saturating_add(1);
        (self.said <= LINES_A_MINUTE, self.said == LINES_A_MINUTE + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_minute() {
        let mut lines = Lines::default();
        assert!((0..LINES_A_MINUTE).all(|_| lines.may(59) == (true, false)));
        assert_eq!((lines.may(59), lines.may(59)), ((false, true), (false, false)));
        assert_eq!(lines.may(60), (true, false));
    }

    #[test]
    fn losses_of_an_hour_add_up() {
        let mut losses = Losses::default();
        let max = RemoveMax::Percent(10);
        assert!(losses.allow(max, 60, 1_000, 0));
        assert!(!losses.allow(max, 60, 940, 10), "more than a hundred");
        assert!(losses.allow(max, 40, 940, 20) && !losses.allow(max, 1, 900, 30));
        assert!(losses.allow(max, 60, 900, SECONDS), "another hour");
        // Never all of them, but for the only one.
        assert!(!Losses::default().allow(max, 5, 5, 0) && Losses::default().allow(max, 1, 1, 0));
        assert!(Losses::default().allow(RemoveMax::Any, 5, 5, 0));
    }
}
