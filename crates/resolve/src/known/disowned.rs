//! Names that the servers of their zone disown: asked for them, all of them refer to the zone itself or upwards (RFC 9520 2.4).
//!
//! ```text
//! keyed hash of (zone, name one label below it) -> how many names at or below that were disowned in a row, until when none of them is asked for
//! ```
//!
//! One label below the zone, and no more: what its servers do not know of one name, which anybody may have chosen, says nothing about the others.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use cache::Moment;
use wire::Name;

use crate::limits::{DISOWNED_IN_A_ROW, DISOWNED_MAX, FAILURE_SECONDS_MAX, FAILURE_SECONDS_MIN};

/// Names that all servers of their zone disown. Lossy: what is forgotten is asked once more.
#[derive(Default)]
pub(crate) struct Disowned {
    names: HashMap<u64, Row>,
    /// Its key is random: with equal hashes one name would fail for what another one's servers say.
    hasher: RandomState,
}

#[derive(Clone, Copy)]
struct Row {
    /// Names in a row.
    count: u8,
    /// For how long it was kept last.
    seconds: u32,
    until: Moment,
}

impl Disowned {
    /// All servers of `zone` have disowned `name`, which is two labels below it at least; both in lower case.
    pub(crate) fn keep(&mut self, zone: &Name, name: &Name, now: Moment) {
        let Some(key) = self.key(zone, name) else { return };
        if self.names.len() >= DISOWNED_MAX {
            self.names.retain(|_, row| row.until > now);
        }
        if self.names.len() >= DISOWNED_MAX {
            self.names.clear();
        }
        let known = self.names.get(&key).copied().unwrap_or(Row { count: 0, seconds: 0, until: now });
        let seconds = match known.count >= DISOWNED_IN_A_ROW {
            // Kept once already, and no better since: for longer each time (RFC 9520 3.2).
            true if known.until <= now => known.seconds.saturating_mul(2),
            _ => known.seconds,
        };
        let seconds = seconds.clamp(FAILURE_SECONDS_MIN, FAILURE_SECONDS_MAX);
        let until = now.plus_seconds(seconds);
        self.names.insert(key, Row { count: known.count.saturating_add(1), seconds, until });
    }

    /// The servers of `zone` have answered for `name`.
    pub(crate) fn forget(&mut self, zone: &Name, name: &Name) {
        if !self.names.is_empty()
            && let Some(key) = self.key(zone, name)
        {
            self.names.remove(&key);
        }
    }

    /// Forgets all: something was flushed.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
    }

    /// Whether the servers of `zone` are not worth a question for `name`.
    pub(crate) fn has(&self, zone: &Name, name: &Name, now: Moment) -> bool {
        !self.names.is_empty()
            && self
                .key(zone, name)
                .and_then(|key| self.names.get(&key))
                .is_some_and(|row| row.count >= DISOWNED_IN_A_ROW && row.until > now)
    }

    /// `None`: the name is not two labels below the zone.
    fn key(&self, zone: &Name, name: &Name) -> Option<u64> {
        let labels = zone.label_count() + 1;
        let mut at = name;
        for _ in labels..name.label_count() {
            at = at.parent()?;
        }
        let is_below = name.label_count() > labels && name.is_at_or_below(zone);
        is_below.then(|| self.hasher.hash_one((zone.octets().len(), at.octets())))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    fn name(text: &str) -> NameBuf {
        NameBuf::from_text(text).unwrap()
    }

    #[track_caller]
    fn check(disowned: &Disowned, zone: &str, of: &str, seconds: u32, expected: bool) {
        let now = Moment(0).plus_seconds(seconds);
        assert_eq!(disowned.has(&name(zone), &name(of), now), expected, "{zone} {of} {seconds}");
    }

    #[test]
    fn two_in_a_row_below_one_label() {
        let mut disowned = Disowned::default();
        let evil = name("evil.");
        disowned.keep(&evil, &name("a.x.evil."), Moment(0));
        check(&disowned, "evil.", "b.x.evil.", 1, false);
        disowned.keep(&evil, &name("b.x.evil."), Moment(0));
        check(&disowned, "evil.", "c.x.evil.", 4, true);
        check(&disowned, "evil.", "c.x.evil.", 5, false);
        for other in ["c.y.evil.", "x.evil.", "evil.", "c.x.good."] {
            check(&disowned, "evil.", other, 1, false);
        }
        check(&disowned, "x.evil.", "c.x.evil.", 1, false);
        disowned.keep(&evil, &name("c.x.evil."), Moment(6_000));
        check(&disowned, "evil.", "d.x.evil.", 15, true);
        check(&disowned, "evil.", "d.x.evil.", 16, false);
        disowned.forget(&evil, &name("e.x.evil."));
        check(&disowned, "evil.", "d.x.evil.", 15, false);
        disowned.keep(&evil, &name("x.evil."), Moment(0));
        assert!(disowned.names.is_empty(), "one label below only says something of that name");
    }

    #[test]
    fn bounded() {
        let (mut disowned, evil) = (Disowned::default(), name("evil."));
        for number in 0..3 * DISOWNED_MAX {
            disowned.keep(&evil, &name(&format!("a.n{number}.evil.")), Moment(0));
            assert!(disowned.names.len() <= DISOWNED_MAX);
        }
        (0..1000u64).for_each(|at| disowned.keep(&evil, &name("a.x.evil."), Moment(at * 1_000_000)));
        let row = disowned.names.values().max_by_key(|row| row.seconds).unwrap();
        assert_eq!(row.seconds, FAILURE_SECONDS_MAX);
    }
}
