//! What became of changes: of many together it is noted, and said in the log, before their feeder is told.

use std::sync::Weak;
use std::time::{Duration, Instant};

use feed::frame::{Frame, Version};
use wire::NameBuf;

use super::{Done, StoreName, Stores};
use crate::dynamic::NotTaken;
use crate::text::count;

/// Lines of the log in a second that are of one change each: nobody reads more, and each takes as long as much else that a change takes. Of others it is said how many they were, and each has a line at
/// level `debug`.
const LINES_A_SECOND: usize = 100;
const SECOND: Duration = Duration::from_secs(1);

/// What became of changes of a zone.
pub(super) struct Outcome {
    pub(super) zone: NameBuf,
    pub(super) from: Version,
    pub(super) to: Version,
    pub(super) result: Result<(), NotTaken>,
}

impl Outcome {
    /// As the feeder is told.
    pub(super) fn into_frame(self) -> Frame {
        match self.result {
            Ok(()) => Frame::Served(self.zone, self.to),
            Err(NotTaken::DoesNotFit) => Frame::Whole(self.zone),
            Err(NotTaken::NotNow) => Frame::Refused(self.zone),
        }
    }
}

/// Who notes and says it, of one store.
pub(super) struct Outcomes {
    stores: Weak<Stores>,
    key: (StoreName, u64),
    lines: Lines,
}

impl Outcomes {
    pub(super) fn of(stores: Weak<Stores>, key: (StoreName, u64)) -> Outcomes {
        Outcomes { stores, key, lines: Lines::default() }
    }

    /// The store that they are of.
    pub(super) fn store(&self) -> StoreName {
        self.key.0
    }

    /// Notes and says them.
    pub(super) fn take<'o>(&mut self, outcomes: impl Iterator<Item = &'o Outcome> + Clone) {
        if outcomes.clone().next().is_none() {
            return;
        }
        if let Some(stores) = self.stores.upgrade() {
            let done = stores.with(self.key, |store, _, _| {
                let mut done = Vec::new();
                for Outcome { zone, to, result, .. } in outcomes.clone() {
                    match result {
                        Ok(()) => done.extend(store.about.served(zone, to.serial)),
                        Err(NotTaken::DoesNotFit) => drop(store.about.unled.insert(zone.clone())),
                        Err(NotTaken::NotNow) => {}
                    }
                }
                done
            });
            done.unwrap_or_default().into_iter().for_each(Done::tell);
        }
        self.say_others(false);
        outcomes.filter(|outcome| outcome.result.is_ok()).for_each(|outcome| self.say(outcome));
    }

    fn say(&mut self, Outcome { zone, from, to, .. }: &Outcome) {
        let (name, serial, before) = (self.key.0, to.serial, from.serial);
        match self.lines.may(Instant::now()) {
            true => {
                tracing::info!(%zone, serial, "zone {zone}: serial {serial} from store {name}, was {before}")
            }
            false => {
                tracing::debug!(%zone, serial, "zone {zone}: serial {serial} from store {name}, was {before}")
            }
        }
    }

    /// When it is to be said how many have no line of their own, if there are any.
    pub(super) fn due(&self) -> Option<Instant> {
        self.lines.due()
    }

    /// Says how many have no line of their own, once their second is over, or all is.
    pub(super) fn say_others(&mut self, is_over: bool) {
        let now = if is_over { self.lines.due() } else { None };
        let others = self.lines.others(now.unwrap_or_else(Instant::now));
        if others > 0 {
            tracing::info!(
                changes = others,
                "{} from store {}; at level debug each has a line",
                count(others, "more change"),
                self.key.0
            );
        }
    }
}

/// Lines of a second.
#[derive(Default)]
struct Lines {
    began: Option<Instant>,
    said: usize,
    /// Those that are only counted.
    others: usize,
}

impl Lines {
    /// Whether one more has a line of its own; else it is counted.
    fn may(&mut self, now: Instant) -> bool {
        self.began.get_or_insert(now);
        let may = self.said < LINES_A_SECOND;
        *(if may { &mut self.said } else { &mut self.others }) += 1;
        may
    }

    fn due(&self) -> Option<Instant> {
        self.began.filter(|_| self.others > 0).map(|began| began + SECOND)
    }

    /// How many were counted of a second that is over; then another one begins.
    fn others(&mut self, now: Instant) -> usize {
        match self.began.is_some_and(|began| now >= began + SECOND) {
            true => std::mem::take(self).others,
            false => 0,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn of_many_changes_it_is_said_how_many() {
        let (mut lines, began) = (Lines::default(), Instant::now());
        let at = |millis| began + Duration::from_millis(millis);
        assert!((0..LINES_A_SECOND).all(|_| lines.may(at(0))));
        // Few are never counted.
        assert_eq!((lines.due(), lines.others(at(999))), (None, 0));
        assert!(!lines.may(at(999)) && !lines.may(at(1_500)), "until its end is noticed");
        assert_eq!((lines.due(), lines.others(at(999))), (Some(at(1_000)), 0));
        assert_eq!((lines.others(at(1_500)), lines.due()), (2, None));
        // A second begins with its first change.
        assert!((0..LINES_A_SECOND).all(|_| lines.may(at(5_000))) && !lines.may(at(5_100)));
        assert_eq!((lines.others(at(5_900)), lines.others(at(6_000))), (0, 1));
        assert!(lines.may(at(6_000)));
    }
}
