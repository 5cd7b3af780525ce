//! How many zones of a store may go in an hour without anybody's word.

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

#[cfg(test)]
mod tests {
    use super::*;

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
